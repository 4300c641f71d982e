/* SPDX-License-Identifier: BSD-2-Clause */
#include "devx_rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define WAIT_S 60

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

void rig_open(struct rig *r)
{
	rig_open_device(r, "mlx5_0");
}

void rig_open_device(struct rig *r, const char *name)
{
	rig_open_context(r, pair_open(name));
}

void rig_open_context(struct rig *r, struct ibv_context *ctx)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .out = &out } };

	memset(r, 0, sizeof(*r));
	r->ctx = ctx;
	r->pd = ibv_alloc_pd(r->ctx);
	assert_non_null(r->pd);
	obj.pd.in = r->pd;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD), 0);
	r->pdn = out.pdn;
	r->uar = mlx5dv_devx_alloc_uar(r->ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	assert_non_null(r->uar);
	assert_int_equal((uint8_t *)r->uar->reg_addr - (uint8_t *)r->uar->base_addr, IFC_UAR_BF);
	r->memory = pages(RIG_MEMORY);
	r->mr = ibv_reg_mr(r->pd, r->memory, RIG_MEMORY,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(r->mr);
	assert_int_equal(mlx5dv_devx_query_eqn(r->ctx, 0, &r->eqn), 0);
}

void rig_close(struct rig *r)
{
	assert_int_equal(ibv_dereg_mr(r->mr), 0);
	munmap(r->memory, RIG_MEMORY);
	mlx5dv_devx_free_uar(r->uar);
	assert_int_equal(ibv_dealloc_pd(r->pd), 0);
	assert_int_equal(ibv_close_device(r->ctx), 0);
}

struct rig_umem rig_umem(struct rig *r, size_t size)
{
	struct rig_umem u = { .addr = pages(size), .size = size };

	u.umem = mlx5dv_devx_umem_reg(r->ctx, u.addr, size, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(u.umem);
	return u;
}

void rig_umem_drop(struct rig_umem *u)
{
	assert_int_equal(mlx5dv_devx_umem_dereg(u->umem), 0);
	munmap(u->addr, u->size);
}

/* ---- completion queues ---- */

void rig_cq(struct rig *r, uint32_t log_size, uint32_t eqn, struct rig_cq *cq)
{
	uint8_t out[ifc_len(create_cq_out)];
	RIG_IN(in, ifc_len(create_cq_in), CREATE_CQ);
	uint8_t *cqc = ifc_ptr(in, create_cq_in, cq_context);
	size_t ring = (size_t)64 << log_size;

	*cq = (struct rig_cq){ .rig = r, .size = 1u << log_size };
	cq->umem = rig_umem(r, ring + 64);
	cq->db = (void *)(cq->umem.addr + ring);
	for (uint32_t i = 0; i < cq->size; i++)
		cq->umem.addr[64 * i + 63] = MLX5_CQE_INVALID << 4;
	ifc_set(cqc, cqc, log_cq_size, log_size);
	ifc_set(cqc, cqc, uar_page, r->uar->page_id);
	ifc_set(cqc, cqc, c_eqn, eqn);
	ifc_set(cqc, cqc, dbr_umem_valid, 1);
	ifc_set(cqc, cqc, dbr_umem_id, cq->umem.umem->umem_id);
	ifc_set(cqc, cqc, dbr_addr, ring);
	ifc_set(in, create_cq_in, cq_umem_valid, 1);
	ifc_set(in, create_cq_in, cq_umem_id, cq->umem.umem->umem_id);
	cq->obj = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(cq->obj);
	cq->cqn = ifc_get(out, create_cq_out, cqn);
}

void rig_cq_drop(struct rig_cq *cq)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(cq->obj), 0);
	rig_umem_drop(&cq->umem);
}

static struct mlx5_cqe64 *entry(const struct rig_cq *cq)
{
	return (void *)(cq->umem.addr + 64 * (size_t)(cq->ci & (cq->size - 1)));
}

bool rig_cq_ready(const struct rig_cq *cq)
{
	/* The word as the adapter stores it. */
	uint8_t own = be64toh(__atomic_load_n((uint64_t *)entry(cq) + 7, __ATOMIC_ACQUIRE));

	return own >> 4 != MLX5_CQE_INVALID && (own & 1) == !!(cq->ci & cq->size);
}

const struct mlx5_cqe64 *rig_cq_wait(struct rig_cq *cq)
{
	time_t end = time(NULL) + WAIT_S;

	while (!rig_cq_ready(cq)) {
		struct timespec nap = { .tv_nsec = 20000 };

		if (time(NULL) > end)
			fail_msg("no completion %u of queue 0x%x", cq->ci, cq->cqn);
		nanosleep(&nap, NULL);
	}
	return entry(cq);
}

void rig_cq_take(struct rig_cq *cq)
{
	cq->ci++;
	__atomic_store_n(&cq->db[0], htobe32(cq->ci & 0xffffff), __ATOMIC_RELEASE);
}

void rig_cq_arm(struct rig_cq *cq)
{
	uint32_t word = cq->arm_sn++ % 4 << 28 | (cq->ci & 0xffffff);
	uint64_t bell = htobe64((uint64_t)word << 32 | cq->cqn);

	__atomic_store_n(&cq->db[1], htobe32(word), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)((uint8_t *)cq->rig->uar->base_addr + MLX5_CQ_DOORBELL), bell,
			 __ATOMIC_RELEASE);
}

/* ---- queue pairs ---- */

static void make_qp(struct rig *r, uint32_t log_sq, uint32_t log_rq, uint32_t srqn,
		    struct rig_cq *cq, uint8_t dbr_mode, struct rig_qp *qp)
{
	uint8_t out[ifc_len(create_qp_out)];
	RIG_IN(in, ifc_len(create_qp_in), CREATE_QP);
	uint8_t *qpc = ifc_ptr(in, create_qp_in, qpc);
	size_t rq = srqn ? 0 : (size_t)16 << log_rq, sq = (size_t)64 << log_sq;

	*qp = (struct rig_qp){ .rig = r,
			       .sq_size = 1u << log_sq,
			       .rq_size = 1u << log_rq,
			       .no_record = dbr_mode != IFC_DBR_VALID };
	qp->umem = rig_umem(r, rq + sq + 64);
	qp->rq = qp->umem.addr;
	qp->sq = qp->rq + rq;
	qp->db = (void *)(qp->sq + sq);
	ifc_set(qpc, qpc, st, IFC_QP_ST_RC);
	ifc_set(qpc, qpc, pm_state, IFC_PM_MIGRATED);
	ifc_set(qpc, qpc, pd, r->pdn);
	ifc_set(qpc, qpc, uar_page, r->uar->page_id);
	ifc_set(qpc, qpc, cqn_snd, cq->cqn);
	ifc_set(qpc, qpc, cqn_rcv, cq->cqn);
	ifc_set(qpc, qpc, log_sq_size, log_sq);
	ifc_set(qpc, qpc, log_rq_size, log_rq);
	ifc_set(qpc, qpc, rq_type, srqn ? IFC_RQ_SRQ : IFC_RQ_REGULAR);
	ifc_set(qpc, qpc, srqn_rmpn_xrqn, srqn);
	ifc_set(qpc, qpc, user_index, 0x123456);
	ifc_set(qpc, qpc, send_dbr_mode, dbr_mode);
	ifc_set(qpc, qpc, dbr_umem_valid, 1);
	ifc_set(qpc, qpc, dbr_umem_id, qp->umem.umem->umem_id);
	ifc_set(qpc, qpc, dbr_addr, rq + sq);
	ifc_set(in, create_qp_in, wq_umem_valid, 1);
	ifc_set(in, create_qp_in, wq_umem_id, qp->umem.umem->umem_id);
	qp->obj = mlx5dv_devx_obj_create(r->ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(qp->obj);
	qp->qpn = ifc_get(out, create_qp_out, qpn);
}

void rig_qp(struct rig *r, uint32_t log_sq, uint32_t log_rq, uint32_t srqn, struct rig_cq *cq,
	    struct rig_qp *qp)
{
	make_qp(r, log_sq, log_rq, srqn, cq, IFC_DBR_VALID, qp);
}

void rig_qp_without_record(struct rig *r, uint32_t log_sq, uint32_t log_rq, struct rig_cq *cq,
			   struct rig_qp *qp)
{
	make_qp(r, log_sq, log_rq, 0, cq, IFC_DBR_NONE_EXT, qp);
}

void rig_qp_drop(struct rig_qp *qp)
{
	assert_int_equal(mlx5dv_devx_obj_destroy(qp->obj), 0);
	rig_umem_drop(&qp->umem);
}

int rig_modify(struct rig_qp *qp, uint16_t op, uint32_t remote, uint8_t *out)
{
	uint8_t in[ifc_len(modify_qp_in)] = { 0 }, *qpc = ifc_ptr(in, modify_qp_in, qpc);
	uint8_t *path = ifc_ptr(qpc, qpc, primary_address_path);
	union ibv_gid gid;

	assert_int_equal(ibv_query_gid(qp->rig->ctx, 1, 1, &gid), 0);
	ifc_set(in, cmd_in, opcode, op);
	ifc_set(in, modify_qp_in, qpn, qp->qpn);
	ifc_set(path, ads, vhca_port_num, 1);
	ifc_set(path, ads, src_addr_index, 1);
	ifc_set(path, ads, hop_limit, 64);
	ifc_set(path, ads, ack_timeout, 14);
	memcpy(ifc_ptr(path, ads, rgid_rip), gid.raw, sizeof(gid.raw));
	ifc_set(qpc, qpc, rre, 1);
	ifc_set(qpc, qpc, rwe, 1);
	ifc_set(qpc, qpc, rae, 1);
	ifc_set(qpc, qpc, mtu, IFC_MTU_1K);
	ifc_set(qpc, qpc, log_msg_max, 30);
	ifc_set(qpc, qpc, remote_qpn, remote);
	ifc_set(qpc, qpc, log_rra_max, 4);
	ifc_set(qpc, qpc, log_sra_max, 4);
	ifc_set(qpc, qpc, min_rnr_nak, 1);
	ifc_set(qpc, qpc, retry_count, 7);
	ifc_set(qpc, qpc, rnr_retry, 7);
	ifc_set(qpc, qpc, next_send_psn, 0x1234);
	ifc_set(qpc, qpc, next_rcv_psn, 0x1234);
	return mlx5dv_devx_obj_modify(qp->obj, in, sizeof(in), out, ifc_len(modify_qp_out));
}

/* With another, or with itself. */
void rig_connect(struct rig_qp *a, struct rig_qp *b)
{
	uint8_t out[ifc_len(modify_qp_out)];
	struct rig_qp *both[] = { a, b };
	int count = a == b ? 1 : 2;

	for (int i = 0; i < count; i++) {
		assert_int_equal(rig_modify(both[i], IFC_OP_RST2INIT_QP, 0, out), 0);
		assert_int_equal(rig_modify(both[i], IFC_OP_INIT2RTR_QP, both[1 - i]->qpn, out), 0);
	}
	for (int i = 0; i < count; i++)
		assert_int_equal(rig_modify(both[i], IFC_OP_RTR2RTS_QP, 0, out), 0);
}

uint8_t rig_qp_state(struct rig_qp *qp)
{
	uint8_t out[ifc_len(query_qp_out)];
	RIG_IN(in, ifc_len(query_qp_in), QUERY_QP);

	ifc_set(in, query_qp_in, qpn, qp->qpn);
	assert_int_equal(mlx5dv_devx_obj_query(qp->obj, in, sizeof(in), out, sizeof(out)), 0);
	return ifc_get(ifc_ptr(out, query_qp_out, qpc), qpc, state);
}

void rig_ring(struct rig_qp *qp)
{
	uint64_t first = *(uint64_t *)(qp->sq + 64 * (size_t)((qp->post - 1) & (qp->sq_size - 1)));

	if (qp->no_record) {
		__atomic_store_n((uint64_t *)((uint8_t *)qp->rig->uar->base_addr + IFC_UAR_SQ),
				 first, __ATOMIC_RELEASE);
		return;
	}
	__atomic_store_n(&qp->db[MLX5_SND_DBR], htobe32(qp->post & 0xffff), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)qp->rig->uar->reg_addr, first, __ATOMIC_RELEASE);
}

void rig_send(struct rig_qp *qp, uint8_t opcode, uint32_t off, uint32_t len, uint32_t remote_off)
{
	uint8_t *at = qp->sq + 64 * (size_t)(qp->post & (qp->sq_size - 1));
	struct mlx5_wqe_raddr_seg *raddr = (void *)(at + 16);
	bool rdma = opcode == MLX5_OPCODE_RDMA_WRITE || opcode == MLX5_OPCODE_RDMA_READ;
	struct rig *r = qp->rig;

	if (rdma) {
		raddr->raddr = htobe64((uintptr_t)r->memory + remote_off);
		raddr->rkey = htobe32(r->mr->rkey);
		raddr->reserved = 0;
	}
	mlx5dv_set_data_seg((void *)(at + (rdma ? 32 : 16)), len, r->mr->lkey,
			    (uintptr_t)r->memory + off);
	mlx5dv_set_ctrl_seg((void *)at, qp->post & 0xffff, opcode, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, rdma ? 3 : 2, 0, 0);
	qp->post++;
	rig_ring(qp);
}

void rig_recv(struct rig_qp *qp, uint32_t off, uint32_t len)
{
	struct rig *r = qp->rig;
	void *seg = qp->rq + 16 * (size_t)(qp->head & (qp->rq_size - 1));

	mlx5dv_set_data_seg(seg, len, r->mr->lkey, (uintptr_t)r->memory + off);
	qp->head++;
	__atomic_store_n(&qp->db[MLX5_RCV_DBR], htobe32(qp->head & 0xffff), __ATOMIC_RELEASE);
}

/* ---- descriptors ---- */

bool rig_is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

void rig_wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, WAIT_S * 1000) != 1)
		fail_msg("nothing to read");
}
