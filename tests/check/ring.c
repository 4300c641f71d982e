/* SPDX-License-Identifier: BSD-2-Clause */
#include "ring.h"

#include <time.h>

void ring_open(struct ring *ring, struct rig *r)
{
	struct mlx5dv_obj obj = { .qp = { r->a, &ring->qp }, .cq = { r->cq, &ring->cq } };

	ring->receives = ibv_create_cq(r->context, QUEUE, NULL, NULL, 0);
	must(ring->receives, "ibv_create_cq");
	ibv_destroy_qp(r->b);
	r->b = rig_create_qp(r, IBV_QPT_RC, ring->receives);
	rig_connect(r, &rig_usual_path);
	must(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), "mlx5dv_init_obj");
	ring->posted = ring->consumed = 0;
}

void ring_close(struct ring *ring, struct rig *r)
{
	ibv_destroy_qp(r->b);
	r->b = NULL;
	ibv_destroy_cq(ring->receives);
}

void ring_receive(struct ring *ring)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(ring->receives, 1, &wc))
		;
	must(wc.status == IBV_WC_SUCCESS, "receive");
}

static void *entry(const struct ring *ring, uint32_t index)
{
	return (char *)ring->qp.sq.buf + (size_t)(index % ring->qp.sq.wqe_cnt) * 64;
}

void ring_write(struct ring *ring, const struct rig *r, uint32_t index, const void *from)
{
	struct mlx5_wqe_ctrl_seg *ctrl = entry(ring, index);

	mlx5dv_set_ctrl_seg(ctrl, (uint16_t)index, MLX5_OPCODE_SEND, 0, r->a->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, 2, 0, 0);
	mlx5dv_set_data_seg((void *)(ctrl + 1), MESSAGE, r->mr->lkey, (uintptr_t)from);
}

void ring_doorbell(struct ring *ring)
{
	__atomic_store_n(&ring->qp.dbrec[MLX5_SND_DBR], htobe32(ring->posted & 0xffff),
			 __ATOMIC_RELEASE);
	ring_register(ring);
}

void ring_register(struct ring *ring)
{
	const uint64_t *ctrl = entry(ring, ring->posted - 1);

	__atomic_store_n((uint64_t *)ring->qp.bf.reg, *ctrl, __ATOMIC_RELEASE);
}

void ring_take(struct ring *ring)
{
	const uint8_t *own = (const uint8_t *)ring->cq.buf +
			     (size_t)(ring->consumed % ring->cq.cqe_cnt + 1) * ring->cq.cqe_size -
			     1;
	uint8_t round = !!(ring->consumed & ring->cq.cqe_cnt), now;

	do
		now = __atomic_load_n(own, __ATOMIC_ACQUIRE);
	while (now >> 4 == MLX5_CQE_INVALID || (now & MLX5_CQE_OWNER_MASK) != round);
	must(now >> 4 != MLX5_CQE_REQ_ERR && now >> 4 != MLX5_CQE_RESP_ERR, "completion");
	ring->consumed++;
}

void ring_give_back(struct ring *ring)
{
	__atomic_store_n(&ring->cq.dbrec[0], htobe32(ring->consumed & 0xffffff), __ATOMIC_RELEASE);
}

void do_other_work(struct rig *r, unsigned int milliseconds)
{
	struct ibv_cq *empty = ibv_create_cq(r->context, 1, NULL, NULL, 0);
	struct timespec begin, now;
	struct ibv_wc wc;
	long passed;

	must(empty, "ibv_create_cq");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 100; i++)
			must(!ibv_poll_cq(empty, 1, &wc), "nothing can be completed here");
		clock_gettime(CLOCK_MONOTONIC, &now);
		passed = (now.tv_sec - begin.tv_sec) * 1000 +
			 (now.tv_nsec - begin.tv_nsec) / 1000000;
	} while (passed < (long)milliseconds);
	ibv_destroy_cq(empty);
}

void wait_for_error(struct rig *r)
{
	struct ibv_async_event event;

	do {
		must(!ibv_get_async_event(r->context, &event), "ibv_get_async_event");
		ibv_ack_async_event(&event);
	} while (event.event_type == IBV_EVENT_COMM_EST);
}
