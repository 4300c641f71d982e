/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program writes two requests to the ring of a ConnectX-3, the first with the owner bit of the next round.
 */
#include <infiniband/mlx4dv.h>

#include "rig.h"
#include "ring.h"

#define OWNER (1u << 31)

static void write_request(struct rig *r, const struct mlx4dv_qp *qp, uint32_t index, uint32_t owner)
{
	struct mlx4_wqe_ctrl_seg *ctrl =
		(void *)((char *)qp->buf.buf + qp->sq.offset + ((size_t)index << qp->sq.wqe_shift));

	mlx4dv_set_data_seg((void *)(ctrl + 1), MESSAGE, r->mr->lkey, (uintptr_t)r->buffer);
	ctrl->imm = 0;
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	ctrl->bf_qpn = htobe32(2); /* length in units of 16 bytes */
	__atomic_store_n(&ctrl->owner_opcode, htobe32(MLX4_OPCODE_SEND | owner), __ATOMIC_RELEASE);
}

void run(struct rig *r)
{
	struct mlx4dv_qp qp;
	struct mlx4dv_obj obj = { .qp = { r->a, &qp } };

	rig_connect(r, &rig_usual_path);
	must(!mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP), "mlx4dv_init_obj");
	post_receive(r, r->inbox);
	post_receive(r, r->inbox + MESSAGE);
#ifdef MENDED
	write_request(r, &qp, 0, 0);
	write_request(r, &qp, 1, 0);
#else
	write_request(r, &qp, 0, OWNER);
	write_request(r, &qp, 1, 0);
#endif
	do_other_work(r, 300);
}
