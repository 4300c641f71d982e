/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx4dv_init_obj(): an RDMA write without ibv_post_send() and ibv_poll_cq(). The program takes the
 * rings, writes an entry, rings the doorbell, and reads the completion where the adapter puts it.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/mlx4dv.h>

#include "setup.h"

#define OWNER (1u << 31)

static struct setup s;

/* An entry of three segments of 16 bytes each: what to do, where to, and where from. */
static void write_entry(struct mlx4dv_qp *qp, uint32_t index, size_t to, size_t from, uint32_t len)
{
	char *slot = (char *)qp->buf.buf + qp->sq.offset +
		     ((size_t)(index % qp->sq.wqe_cnt) << qp->sq.wqe_shift);
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)slot;
	struct mlx4_wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct mlx4_wqe_data_seg *data = (void *)(raddr + 1);
	uint32_t lap = index & qp->sq.wqe_cnt ? OWNER : 0;

	raddr->raddr = htobe64((uintptr_t)s.memory + to);
	raddr->rkey = htobe32(s.mr->rkey);
	raddr->reserved = 0;
	mlx4dv_set_data_seg(data, len, s.mr->lkey, (uintptr_t)s.memory + from);
	ctrl->imm = 0;
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	ctrl->bf_qpn = htobe32(3);

	/* The owner bit changes with every lap; it goes last, for it hands the entry over. */
	__atomic_store_n(&ctrl->owner_opcode, htobe32(MLX4_OPCODE_RDMA_WRITE | lap),
			 __ATOMIC_RELEASE);
	__atomic_store_n(qp->sdb, qp->doorbell_qpn, __ATOMIC_RELEASE);
}

/* An entry belongs to software when its owner bit is that of the current lap of the ring. */
static uint8_t take_completion(struct mlx4dv_cq *cq, uint32_t index)
{
	struct mlx4_cqe *cqe = (void *)((char *)cq->buf.buf + index % cq->cqe_cnt * cq->cqe_size +
					cq->cqe_size - 32);
	uint8_t lap = index & cq->cqe_cnt ? MLX4_CQE_OWNER_MASK : 0, own;

	do {
		own = __atomic_load_n(&cqe->owner_sr_opcode, __ATOMIC_ACQUIRE);
	} while ((own & MLX4_CQE_OWNER_MASK) != lap);
	__atomic_store_n(cq->set_ci_db, htobe32((index + 1) & 0xffffff), __ATOMIC_RELEASE);
	return own & MLX4_CQE_OPCODE_MASK;
}

int main(int argc, char **argv)
{
	struct mlx4dv_qp qp = { 0 };
	struct mlx4dv_cq cq = { 0 };
	struct mlx4dv_obj obj = { .qp = { .out = &qp }, .cq = { .out = &cq } };

	setup_open(&s, argc > 1 ? argv[1] : "mlx4_0");
	obj.qp.in = s.qp[0];
	obj.cq.in = s.cq;
	setup_check(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ), "mlx4dv_init_obj");
	printf("send queue: %u slots of %u bytes; completion queue: %u entries of %u bytes\n",
	       (unsigned int)qp.sq.wqe_cnt, 1u << qp.sq.wqe_shift, cq.cqe_cnt, cq.cqe_size);

	/* More often than the rings are long. */
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(s.memory, 64, "write %u, written by hand", i);
		write_entry(&qp, i, 2048, 0, 64);
		if (take_completion(&cq, i) == MLX4_CQE_OPCODE_ERROR) {
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
