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

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "bench.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			die(#x);                                                                   \
	} while (0)

enum { COMPRESS = 2, DECOMPRESS = 3, TOTAL = 1 << 27, LEAST = 20, MOST = 1 << 21 };

#define DYNAMIC (5u << 12 | 15u << 16 | 15u << 20)

static struct {
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	struct ibv_mr *mr;
	uint8_t *in, *out, *back; /* of MOST bytes and a page each */
} b;

static void connect_to_itself(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	MUST(!ibv_modify_qp(b.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = b.qp->qp_num,
				     .max_dest_rd_atomic = 1,
				     .ah_attr = { .is_global = 1, .port_num = 1 } };
	MUST(!ibv_query_gid(b.ctx, 1, 0, &attr.ah_attr.grh.dgid));
	MUST(!ibv_modify_qp(b.qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .max_rd_atomic = 1 };
	MUST(!ibv_modify_qp(b.qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void open_adapter(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_pd *pd;

	MUST(list && list[0]);
	MUST(b.ctx = ibv_open_device(list[0]));
	MUST(pd = ibv_alloc_pd(b.ctx));
	MUST(b.cq = ibv_create_cq(b.ctx, 16, NULL, NULL, 0));
	MUST(b.mr = ibv_reg_mr(pd, b.in, 3 * (MOST + 4096), IBV_ACCESS_LOCAL_WRITE));
	MUST(b.qp = mlx5dv_create_qp(
		     b.ctx,
		     &(struct ibv_qp_init_attr_ex){
			     .qp_type = IBV_QPT_RC,
			     .send_cq = b.cq,
			     .recv_cq = b.cq,
			     .cap = { .max_send_wr = 16, .max_send_sge = 2, .max_inline_data = 64 },
			     .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			     .pd = pd },
		     &(struct mlx5dv_qp_init_attr){ .comp_mask =
							    MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
						    .send_ops_flags = MLX5DV_QP_EX_WITH_MEMCPY |
								      MLX5DV_QP_EX_WITH_RAW_WQE }));
	b.ex = ibv_qp_to_qp_ex(b.qp);
	b.dv = mlx5dv_qp_ex_from_ibv_qp_ex(b.ex);
	connect_to_itself();
}

static void complete(void)
{
	struct ibv_wc wc;
	int n;

	MUST(!ibv_wr_complete(b.ex));
	while ((n = ibv_poll_cq(b.cq, 1, &wc)) == 0)
		;
	MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
}

static void request(uint8_t modifier, const uint8_t *from, uint32_t len, uint8_t *to, uint32_t room)
{
	struct {
		struct mlx5_wqe_ctrl_seg ctrl;
		__be32 meta[4];
		struct mlx5_wqe_data_seg from, to;
	} wqe = { .meta = { 0 } };

	mlx5dv_set_ctrl_seg(&wqe.ctrl, 0, MLX5_OPCODE_MMO, modifier, b.qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, sizeof(wqe) / 16, 0,
			    htobe32(modifier == COMPRESS ? DYNAMIC : 0));
	mlx5dv_set_data_seg(&wqe.from, len, b.mr->lkey, (uintptr_t)from);
	mlx5dv_set_data_seg(&wqe.to, room, b.mr->lkey, (uintptr_t)to);
	ibv_wr_start(b.ex);
	mlx5dv_wr_raw_wqe(b.dv, &wqe);
	complete();
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
		ibv_wr_start(b.ex);
		b.ex->wr_flags = IBV_SEND_SIGNALED;
		mlx5dv_wr_memcpy(b.dv, b.mr->lkey, (uintptr_t)b.back, b.mr->lkey, (uintptr_t)b.in,
				 len);
		complete();
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
