/* SPDX-License-Identifier: BSD-2-Clause */
#include "devx_frames.h"

#include <endian.h>
#include <string.h>
#include <time.h>

#include "ether/flow_packets.h"

struct mlx5dv_devx_obj *frames_create(struct rig *r, const void *in, size_t len, uint32_t *number)
{
	uint8_t out[0x10] = { 0 };
	struct mlx5dv_devx_obj *obj = mlx5dv_devx_obj_create(r->ctx, in, len, out, sizeof(out));

	assert_non_null(obj);
	*number = ifc_get(out, obj_out, number);
	return obj;
}

/* With all of its entries posted, each a part of the rig's memory from `off` on. */
void frames_rq(struct rig *r, struct frames_rq *q, uint32_t off)
{
	RIG_IN(in, ifc_len(create_rq_in), CREATE_RQ);
	RIG_IN(change, ifc_len(modify_rq_in), MODIFY_RQ);
	uint8_t *ctx = ifc_ptr(in, create_rq_in, ctx), *wq = ifc_ptr(ctx, rqc, wq), out[0x10];

	q->umem = rig_umem(r, 8192);
	rig_cq(r, FRAMES_LOG + 1, r->eqn, &q->cq);
	ifc_set(ctx, rqc, vsd, 1);
	ifc_set(ctx, rqc, cqn, q->cq.cqn);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, r->pdn);
	ifc_set(wq, wq, log_wq_stride, 4);
	ifc_set(wq, wq, log_wq_sz, FRAMES_LOG);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, q->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, q->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 4096);
	q->obj = frames_create(r, in, sizeof(in), &q->number);
	ifc_set(change, modify_rq_in, rqn, q->number);
	ifc_set(change, modify_rq_in, rq_state, IFC_WQ_RST);
	ifc_set(ifc_ptr(change, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_obj_modify(q->obj, change, sizeof(change), out, sizeof(out)),
			 0);
	for (uint32_t i = 0; i < 1u << FRAMES_LOG; i++)
		mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(q->umem.addr + 16 * i),
				    FRAMES_SIZE, r->mr->lkey,
				    (uintptr_t)(r->memory + off + i * FRAMES_SIZE));
	__atomic_store_n((uint32_t *)(q->umem.addr + 4096), htobe32(1u << FRAMES_LOG),
			 __ATOMIC_RELEASE);
}

void frames_rq_drop(struct frames_rq *q)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(q->obj), 0);
	rig_cq_drop(&q->cq);
	rig_umem_drop(&q->umem);
}

uint64_t frames_counted(struct mlx5dv_devx_obj *counter, uint32_t number)
{
	RIG_IN(in, ifc_len(query_flow_counter_in), QUERY_FLOW_COUNTER);
	uint8_t out[ifc_len(query_flow_counter_out) + ifc_len(traffic_counter)] = { 0 };

	ifc_set(in, query_flow_counter_in, flow_counter_id, number);
	assert_int_equal(mlx5dv_devx_obj_query(counter, in, sizeof(in), out, sizeof(out)), 0);
	return ifc_get(out + ifc_len(query_flow_counter_out), traffic_counter, packets);
}

/* From a context of its own: an adapter does not send to itself by default. */
void frames_send(struct rig *r, unsigned int count, uint16_t port)
{
	struct ibv_context *context = ibv_open_device(r->ctx->device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { 16, 1, 1, 1, 0 },
					 .sq_sig_all = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	static struct pkt p;
	struct ibv_mr *mr = ibv_reg_mr(pd, &p, sizeof(p), 0);
	struct ibv_sge sge = { .addr = (uintptr_t)p.b, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	for (enum ibv_qp_state s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		struct ibv_qp_attr attr = { .qp_state = s, .port_num = 1 };

		assert_int_equal(
			ibv_modify_qp(qp, &attr,
				      IBV_QP_STATE | (s == IBV_QPS_INIT ? IBV_QP_PORT : 0)),
			0);
	}
	for (unsigned int i = 0; i < count; i++) {
		time_t end = time(NULL) + 20;
		struct ibv_wc wc;

		p = pkt_plain(i, port);
		sge.length = p.len;
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		while (!ibv_poll_cq(cq, 1, &wc))
			assert_true(time(NULL) < end);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
}
