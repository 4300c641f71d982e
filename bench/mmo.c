/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory-to-memory engine against the functions that do its work, each called alone: bytes per
 * second of processor time, of text.
 *
 *	mmo copy|memcpy BYTES		mlx5dv_wr_memcpy(); memcpy()
 *	mmo deflate|igzip BYTES		compression with dynamic codes; ISA-L
 *	mmo inflate|igunzip BYTES	decompression; ISA-L
 */
#include <endian.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "loopback.h"

enum { COMPRESS = 2, DECOMPRESS = 3, TOTAL = 1 << 27, LEAST = 20, MOST = 1 << 21 };

#define DYNAMIC (5u << 12 | 15u << 16 | 15u << 20)

static struct {
	struct loopback loop;
	struct ibv_mr *mr;
	uint8_t *in, *out, *back; /* of MOST bytes and a page each */
} b;

static void open_adapter(void)
{
	loopback_open(&b.loop, 0, MLX5DV_QP_EX_WITH_MEMCPY | MLX5DV_QP_EX_WITH_RAW_WQE);
	MUST(b.mr = ibv_reg_mr(b.loop.pd, b.in, 3 * (MOST + 4096), IBV_ACCESS_LOCAL_WRITE));
}

static void request(uint8_t modifier, const uint8_t *from, uint32_t len, uint8_t *to, uint32_t room)
{
	struct {
		struct mlx5_wqe_ctrl_seg ctrl;
		__be32 meta[4];
		struct mlx5_wqe_data_seg from, to;
	} wqe = { .meta = { 0 } };

	mlx5dv_set_ctrl_seg(&wqe.ctrl, 0, MLX5_OPCODE_MMO, modifier, b.loop.qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, sizeof(wqe) / 16, 0,
			    htobe32(modifier == COMPRESS ? DYNAMIC : 0));
	mlx5dv_set_data_seg(&wqe.from, len, b.mr->lkey, (uintptr_t)from);
	mlx5dv_set_data_seg(&wqe.to, room, b.mr->lkey, (uintptr_t)to);
	ibv_wr_start(b.loop.ex);
	mlx5dv_wr_raw_wqe(b.loop.dv, &wqe);
	loopback_complete(&b.loop);
}

static uint32_t igzip(const uint8_t *from, uint32_t len, uint8_t *to, uint32_t room)
{
	static struct isal_zstream z;
	static uint8_t level[ISAL_DEF_LVL1_MEDIUM];

	isal_deflate_stateless_init(&z);
	z.next_in = (uint8_t *)(uintptr_t)from;
	z.avail_in = len;
	z.next_out = to;
	z.avail_out = room;
	z.end_of_stream = 1;
	z.level = 1;
	z.level_buf = level;
	z.level_buf_size = sizeof(level);
	MUST(isal_deflate_stateless(&z) == COMP_OK);
	return z.total_out;
}

static uint32_t igunzip(const uint8_t *from, uint32_t len, uint8_t *to, uint32_t room)
{
	static struct inflate_state z;

	isal_inflate_init(&z);
	z.next_in = (uint8_t *)(uintptr_t)from;
	z.avail_in = len;
	z.next_out = to;
	z.avail_out = room;
	MUST(isal_inflate_stateless(&z) == ISAL_DECOMP_OK);
	return z.total_out;
}

static void run(const char *what, uint32_t len, uint32_t deflated)
{
	if (!strcmp(what, "copy")) {
		ibv_wr_start(b.loop.ex);
		b.loop.ex->wr_flags = IBV_SEND_SIGNALED;
		mlx5dv_wr_memcpy(b.loop.dv, b.mr->lkey, (uintptr_t)b.back, b.mr->lkey,
				 (uintptr_t)b.in, len);
		loopback_complete(&b.loop);
	} else if (!strcmp(what, "memcpy")) {
		memcpy(b.back, b.in, len);
		__asm__ volatile("" ::: "memory");
	} else if (!strcmp(what, "deflate")) {
		request(COMPRESS, b.in, len, b.back, MOST);
	} else if (!strcmp(what, "igzip")) {
		igzip(b.in, len, b.back, MOST);
	} else if (!strcmp(what, "inflate")) {
		request(DECOMPRESS, b.out, deflated, b.back, MOST);
	} else {
		MUST(!strcmp(what, "igunzip") && igunzip(b.out, deflated, b.back, MOST) == len);
	}
}

/* Words of a vocabulary of 1,024. */
static void make_text(uint8_t *to, uint32_t len)
{
	uint32_t seed = 1;
	char word[16];

	for (uint32_t i = 0; i < len;) {
		int n;

		seed = seed * 1103515245 + 12345;
		n = snprintf(word, sizeof(word), "%x ", seed >> 16 & 0x3ff);
		for (int k = 0; k < n && i < len; k++)
			to[i++] = (uint8_t)word[k];
	}
}

int main(int argc, char **argv)
{
	bool fast = argc == 3 && strstr(argv[1], "cpy");
	uint32_t len, rounds, deflated;
	double begin;

	if (argc != 3 || atoi(argv[2]) < 1 || atoi(argv[2]) > MOST) {
		fprintf(stderr, "usage: mmo copy|memcpy|deflate|igzip|inflate|igunzip BYTES\n");
		return 2;
	}
	len = (uint32_t)atoi(argv[2]);
	MUST(b.in = aligned_alloc(4096, 3 * (MOST + 4096)));
	b.out = b.in + MOST + 4096;
	b.back = b.out + MOST + 4096;
	make_text(b.in, MOST);
	setenv("VERBENA_ADAPTERS", "mlx5_0,model=BlueField-2", 1);
	open_adapter();
	deflated = igzip(b.in, len, b.out, MOST);
	run(argv[1], len, deflated);
	rounds = TOTAL / len * (fast || !strcmp(argv[1], "copy") ? 16 : 1);
	if (rounds < LEAST)
		rounds = LEAST;
	begin = cpu_s();
	for (uint32_t i = 0; i < rounds; i++)
		run(argv[1], len, deflated);
	printf("%.0f\n", (double)len * rounds / (cpu_s() - begin));
	return 0;
}
