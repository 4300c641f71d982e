/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures by a memory key against ISA-L alone: bytes of data per second of processor time, of blocks of
 * 512 bytes.
 *
 *	sig insert|dif BYTES	RDMA WRITE that inserts T10-DIF; ISA-L's CRC with a copy, and the tags
 *	sig check|crc BYTES	RDMA WRITE that checks and strips CRC-32C; ISA-L's CRC, and memcpy()
 */
#include <endian.h>
#include <isa-l/crc.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "loopback.h"

enum { BLOCK = 512, MOST = 1 << 20, ROOM = MOST + MOST / 64, TOTAL = 1 << 30 };

static struct {
	struct loopback loop;
	struct ibv_mr *mr;
	struct mlx5dv_mkey *mkey;
	uint8_t *from, *to;
	uint32_t blocks;
} b;

static void open_adapter(void)
{
	struct mlx5dv_mkey_init_attr key = {
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT |
				MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE,
		.max_entries = 4,
	};

	loopback_open(&b.loop, IBV_QP_EX_WITH_RDMA_WRITE, MLX5DV_QP_EX_WITH_MKEY_CONFIGURE);
	key.pd = b.loop.pd;
	MUST(b.mr = ibv_reg_mr(b.loop.pd, b.from, 2 * ROOM, LOOPBACK_RIGHTS));
	MUST(b.mkey = mlx5dv_create_mkey(&key));
}

static void configure(bool insert)
{
	const struct mlx5dv_sig_t10dif dif = { .bg_type = MLX5DV_SIG_T10DIF_CRC,
					       .flags = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP };
	const struct mlx5dv_sig_crc crc = { .type = MLX5DV_SIG_CRC_TYPE_CRC32C,
					    .seed = UINT32_MAX };
	const struct mlx5dv_sig_block_domain dif_domain = { .sig_type = MLX5DV_SIG_TYPE_T10DIF,
							    .sig.dif = &dif };
	const struct mlx5dv_sig_block_domain crc_domain = { .sig_type = MLX5DV_SIG_TYPE_CRC,
							    .sig.crc = &crc };
	struct mlx5dv_sig_block_attr attr = { .check_mask = 0xff };
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct ibv_sge sge = { (uintptr_t)b.from, b.blocks * (insert ? BLOCK : BLOCK + 4),
			       b.mr->lkey };

	if (insert)
		attr.wire = &dif_domain;
	else
		attr.mem = &crc_domain;
	ibv_wr_start(b.loop.ex);
	b.loop.ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mkey_configure(b.loop.dv, b.mkey, 3, &conf);
	mlx5dv_wr_set_mkey_access_flags(b.loop.dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(b.loop.dv, 1, &sge);
	mlx5dv_wr_set_mkey_sig_block(b.loop.dv, &attr);
	loopback_complete(&b.loop);
}

static void write_key(uint32_t bytes)
{
	ibv_wr_start(b.loop.ex);
	b.loop.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(b.loop.ex, b.mr->rkey, (uintptr_t)b.to);
	ibv_wr_set_sge(b.loop.ex, b.mkey->lkey, 0, bytes);
	loopback_complete(&b.loop);
}

static void insert_alone(void)
{
	const uint8_t *from = b.from;
	uint8_t *to = b.to;

	for (uint32_t i = 0; i < b.blocks; i++, from += BLOCK, to += BLOCK + 8) {
		uint16_t crc = crc16_t10dif_copy(0, to, (uint8_t *)(uintptr_t)from, BLOCK);
		uint64_t field = htobe64((uint64_t)crc << 48 | i);

		memcpy(to + BLOCK, &field, sizeof(field));
	}
}

static void check_alone(void)
{
	uint8_t *from = b.from, *to = b.to;

	for (uint32_t i = 0; i < b.blocks; i++, from += BLOCK + 4, to += BLOCK) {
		uint32_t found;

		memcpy(to, from, BLOCK);
		memcpy(&found, from + BLOCK, sizeof(found));
		MUST(le32toh(found) == (uint32_t)~crc32_iscsi(from, BLOCK, UINT32_MAX));
	}
}

static void run(const char *what)
{
	if (!strcmp(what, "insert"))
		write_key(b.blocks * (BLOCK + 8));
	else if (!strcmp(what, "dif"))
		insert_alone();
	else if (!strcmp(what, "check"))
		write_key(b.blocks * BLOCK);
	else
		check_alone();
}

static void fill(bool insert)
{
	for (uint32_t i = 0; i < ROOM; i++)
		b.from[i] = (uint8_t)(i * 31 + i / 251);
	for (uint32_t i = 0; !insert && i < b.blocks; i++) {
		uint8_t *block = b.from + i * (BLOCK + 4);
		uint32_t crc = htole32(~crc32_iscsi(block, BLOCK, UINT32_MAX));

		memcpy(block + BLOCK, &crc, sizeof(crc));
	}
}

int main(int argc, char **argv)
{
	uint32_t len = argc == 3 ? (uint32_t)atoi(argv[2]) : 0, rounds;
	struct mlx5dv_mkey_err err;
	double begin;
	bool insert;

	if (len < BLOCK || len > MOST ||
	    (strcmp(argv[1], "insert") && strcmp(argv[1], "dif") && strcmp(argv[1], "check") &&
	     strcmp(argv[1], "crc"))) {
		fprintf(stderr, "usage: sig insert|dif|check|crc BYTES (%d to %d)\n", BLOCK, MOST);
		return 2;
	}
	insert = !strcmp(argv[1], "insert") || !strcmp(argv[1], "dif");
	b.blocks = len / BLOCK;
	MUST(b.from = aligned_alloc(4096, 2 * ROOM));
	b.to = b.from + ROOM;
	fill(insert);
	setenv("VERBENA_ADAPTERS", "mlx5_0", 1);
	open_adapter();
	configure(insert);
	run(argv[1]);
	rounds = TOTAL / len;
	begin = cpu_s();
	for (uint32_t i = 0; i < rounds; i++)
		run(argv[1]);
	printf("%.0f\n", (double)b.blocks * BLOCK * rounds / (cpu_s() - begin));
	MUST(!mlx5dv_mkey_check(b.mkey, &err) && err.err_type == MLX5DV_MKEY_NO_ERR);
	return 0;
}
