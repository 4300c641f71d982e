/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5dv_init_obj(): an RDMA write without ibv_post_send() and ibv_poll_cq(). The program takes the
 * rings, writes an entry, rings the doorbell, and reads the completion where the adapter puts it.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

#include "setup.h"

static struct setup s;

/* An entry of three segments of 16 bytes each: what to do, where to, and where from. */
static void write_entry(struct mlx5dv_qp *qp, uint16_t index, size_t to, size_t from, uint32_t len)
{
	char *block = (char *)qp->sq.buf + index % qp->sq.wqe_cnt * qp->sq.stride;
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)block;
	struct mlx5_wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct mlx5_wqe_data_seg *data = (void *)(raddr + 1);

	mlx5dv_set_ctrl_seg(ctrl, index, MLX5_OPCODE_RDMA_WRITE, 0, s.qp[0]->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	raddr->raddr = htobe64((uintptr_t)s.memory + to);
	raddr->rkey = htobe32(s.mr->rkey);
	raddr->reserved = 0;
	mlx5dv_set_data_seg(data, len, s.mr->lkey, (uintptr_t)s.memory + from);

	/* First the record, which says how far the entries go, then the register. */
	__atomic_store_n(&qp->dbrec[MLX5_SND_DBR], htobe32((uint16_t)(index + 1)),
			 __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)qp->bf.reg, *(uint64_t *)ctrl, __ATOMIC_RELEASE);
}

/* An entry belongs to software when it is valid and its owner bit is that of the current lap. */
static uint8_t take_completion(struct mlx5dv_cq *cq, uint32_t index)
{
	struct mlx5_cqe64 *cqe =
		(void *)((char *)cq->buf + index % cq->cqe_cnt * cq->cqe_size + cq->cqe_size - 64);
	uint8_t lap = !!(index & cq->cqe_cnt), own;

	do {
		own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);
	} while (own >> 4 == MLX5_CQE_INVALID || (own & MLX5_CQE_OWNER_MASK) != lap);
	cq->dbrec[0] = htobe32((index + 1) & 0xffffff);
	return own >> 4;
}

int main(int argc, char **argv)
{
	struct mlx5dv_qp qp = { 0 };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_obj obj = { .qp = { .out = &qp }, .cq = { .out = &cq } };

	setup_open(&s, argc > 1 ? argv[1] : "mlx5_0");
	obj.qp.in = s.qp[0];
	obj.cq.in = s.cq;
	setup_check(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), "mlx5dv_init_obj");
	printf("send queue: %u blocks of %u bytes; completion queue: %u entries of %u bytes\n",
	       qp.sq.wqe_cnt, qp.sq.stride, cq.cqe_cnt, cq.cqe_size);

	/* More often than the rings are long. */
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(s.memory, 64, "write %u, written by hand", i);
		write_entry(&qp, i, 2048, 0, 64);
		if (take_completion(&cq, i) != MLX5_CQE_REQ) {
			fprintf(stderr, "write %u failed\n", i);
			return 1;
		}
		if (strcmp(s.memory, s.memory + 2048))
			return 1;
	}
	puts(s.memory + 2048);
	setup_close(&s);
	return 0;
}
