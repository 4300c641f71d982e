/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs, completion queues and shared receive queues that live in the program's memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "devx_rig.h"

static struct rig rig;

struct two {
	struct rig_cq cq[2];
	struct rig_qp qp[2];
};

static void make(struct two *t, uint32_t log_sq, uint32_t log_rq, uint32_t srqn)
{
	for (int i = 0; i < 2; i++) {
		rig_cq(&rig, 5, rig.eqn, &t->cq[i]);
		rig_qp(&rig, log_sq, log_rq, i ? srqn : 0, &t->cq[i], &t->qp[i]);
	}
	rig_connect(&t->qp[0], &t->qp[1]);
}

static void drop(struct two *t)
{
	for (int i = 0; i < 2; i++) {
		rig_qp_drop(&t->qp[i]);
		rig_cq_drop(&t->cq[i]);
	}
}

static void expect(struct rig_cq *cq, uint8_t opcode, uint32_t qpn, uint16_t counter)
{
	const struct mlx5_cqe64 *cqe = rig_cq_wait(cq);

	assert_int_equal(cqe->op_own >> 4, opcode);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, qpn);
	assert_int_equal(be16toh(cqe->wqe_counter), counter);
	assert_int_equal(be32toh(cqe->srqn_uidx) & 0xffffff, 0x123456);
	rig_cq_take(cq);
}

static int setup(void **state)
{
	rig_open(&rig);
	return 0;
}

static int teardown(void **state)
{
	rig_close(&rig);
	return 0;
}

static void sends_go_around_every_ring_many_times(void **state)
{
	struct two t;

	make(&t, 3, 3, 0);
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t len = 1 + i * 7 % 3000;

		pair_pattern(rig.memory, len, (uint8_t)i);
		rig_recv(&t.qp[1], 8192, 4096);
		rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, len, 0);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)i);
		assert_int_equal(be32toh(rig_cq_wait(&t.cq[1])->byte_cnt), len);
		expect(&t.cq[1], MLX5_CQE_RESP_SEND, t.qp[1].qpn, (uint16_t)i);
		assert_true(pair_is_pattern(rig.memory + 8192, len, (uint8_t)i));
	}
	drop(&t);
}

static void writes_and_reads_move_memory(void **state)
{
	struct two t;

	make(&t, 4, 3, 0);
	for (uint32_t i = 0; i < 100; i++) {
		pair_pattern(rig.memory, 5000, (uint8_t)i);
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 5000, 16384);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)(2 * i));
		assert_true(pair_is_pattern(rig.memory + 16384, 5000, (uint8_t)i));
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_READ, 32768, 5000, 16384);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)(2 * i + 1));
		assert_true(pair_is_pattern(rig.memory + 32768, 5000, (uint8_t)i));
	}
	drop(&t);
}

/* Adds 1 to the word at 16384; the reply. */
static uint64_t fetch(struct two *t)
{
	struct rig_qp *qp = &t->qp[0];
	uint8_t *at = qp->sq + 64 * (size_t)(qp->post & (qp->sq_size - 1));
	struct mlx5_wqe_raddr_seg *raddr = (void *)(at + 16);
	struct mlx5_wqe_atomic_seg *atomic = (void *)(at + 32);
	uint64_t reply;

	*raddr = (struct mlx5_wqe_raddr_seg){ .raddr = htobe64((uintptr_t)rig.memory + 16384),
					      .rkey = htobe32(rig.mr->rkey) };
	*atomic = (struct mlx5_wqe_atomic_seg){ .swap_add = htobe64(1) };
	mlx5dv_set_data_seg((void *)(at + 48), 8, rig.mr->lkey, (uintptr_t)rig.memory);
	mlx5dv_set_ctrl_seg((void *)at, qp->post & 0xffff, MLX5_OPCODE_ATOMIC_FA, 0, qp->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 4, 0, 0);
	qp->post++;
	rig_ring(qp);
	expect(&t->cq[0], MLX5_CQE_REQ, qp->qpn, (uint16_t)(qp->post - 1));
	memcpy(&reply, rig.memory, sizeof(reply));
	return reply;
}

static unsigned int reply_order(void)
{
	uint8_t out[ifc_len(query_hca_cap_out)];
	RIG_IN(in, ifc_len(query_hca_cap_in), QUERY_HCA_CAP);

	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_ATOMIC, true));
	assert_int_equal(mlx5dv_devx_general_cmd(rig.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(ifc_ptr(out, query_hca_cap_out, capability), atomic_caps,
				 supported_atomic_req_8B_endianness_mode_1),
			 1);
	return ifc_get(ifc_ptr(out, query_hca_cap_out, capability), atomic_caps,
		       atomic_req_8B_endianness_mode);
}

static int set_reply_order(unsigned int mode)
{
	uint8_t out[0x10];
	RIG_IN(in, ifc_len(set_hca_cap_in), SET_HCA_CAP);

	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_ATOMIC, false));
	ifc_set(ifc_ptr(in, set_hca_cap_in, capability), atomic_caps, atomic_req_8B_endianness_mode,
		mode);
	return mlx5dv_devx_general_cmd(rig.ctx, in, sizeof(in), out, sizeof(out));
}

static void replies_of_atomics_have_the_byte_order_that_the_capability_says(void **state)
{
	uint64_t word = 0x0102030405060708;
	struct two t;

	make(&t, 4, 3, 0);
	memcpy(rig.memory + 16384, &word, sizeof(word));
	assert_int_equal(reply_order(), IFC_ATOMIC_REPLY_HOST);
	assert_true(fetch(&t) == word);
	assert_int_equal(set_reply_order(IFC_ATOMIC_REPLY_BE), 0);
	assert_int_equal(reply_order(), IFC_ATOMIC_REPLY_BE);
	assert_true(fetch(&t) == htobe64(word + 1));
	assert_int_equal(set_reply_order(2), EREMOTEIO);
	assert_int_equal(set_reply_order(IFC_ATOMIC_REPLY_HOST), 0);
	assert_int_equal(reply_order(), IFC_ATOMIC_REPLY_HOST);
	assert_true(fetch(&t) == word + 2);
	drop(&t);
}

static void a_malformed_entry_fails_the_queue_pair(void **state)
{
	const struct mlx5_err_cqe *err;
	struct two t;

	make(&t, 4, 3, 0);
	rig_send(&t.qp[0], 0x3b, 0, 64, 0);
	err = (const void *)rig_cq_wait(&t.cq[0]);
	assert_int_equal(err->op_own >> 4, MLX5_CQE_REQ_ERR);
	assert_int_equal(err->syndrome, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	assert_int_equal(err->vendor_err_synd, 0x68);
	rig_cq_take(&t.cq[0]);
	assert_int_equal(rig_qp_state(&t.qp[0]), IFC_QP_ERR);
	/* What follows is flushed. */
	rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
	err = (const void *)rig_cq_wait(&t.cq[0]);
	assert_int_equal(err->syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	drop(&t);
}

static void states_follow_the_commands(void **state)
{
	uint8_t out[ifc_len(modify_qp_out)];
	struct two t;

	make(&t, 4, 3, 0);
	assert_int_equal(rig_qp_state(&t.qp[0]), IFC_QP_RTS);
	memset(out, 0xff, sizeof(out));
	assert_int_equal(rig_modify(&t.qp[0], IFC_OP_INIT2RTR_QP, t.qp[1].qpn, out), EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_QP_STATE);
	assert_int_equal(rig_qp_state(&t.qp[0]), IFC_QP_RTS);
	assert_int_equal(rig_modify(&t.qp[0], IFC_OP_RTS2SQD_QP, 0, out), 0);
	assert_int_equal(rig_qp_state(&t.qp[0]), IFC_QP_SQD);
	assert_int_equal(rig_modify(&t.qp[0], IFC_OP_SQD2RTS_QP, 0, out), 0);
	assert_int_equal(rig_modify(&t.qp[0], IFC_OP_RTS2RTS_QP, 0, out), 0);
	assert_int_equal(rig_modify(&t.qp[0], IFC_OP_2ERR_QP, 0, out), 0);
	assert_int_equal(rig_qp_state(&t.qp[0]), IFC_QP_ERR);
	/* Both start again from nothing, and talk as before. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig_modify(&t.qp[i], IFC_OP_2RST_QP, 0, out), 0);
		assert_int_equal(rig_qp_state(&t.qp[i]), IFC_QP_RST);
		t.qp[i].post = t.qp[i].head = 0;
		t.qp[i].db[0] = t.qp[i].db[1] = 0;
	}
	rig_connect(&t.qp[0], &t.qp[1]);
	rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, 0);
	drop(&t);
}

/*
 * A program restarts its ring after a reset and leaves the record as it is, as UCX does: what the ring held
 * before is not posted.
 */
static void a_reset_forgets_what_was_posted_before(void **state)
{
	uint8_t out[ifc_len(modify_qp_out)];
	struct two t, other;

	make(&t, 4, 3, 0);
	make(&other, 4, 3, 0);
	for (int i = 0; i < 3; i++) {
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 16384 + 64 * i);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)i);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(rig_modify(&t.qp[i], IFC_OP_2RST_QP, 0, out), 0);
	memset(rig.memory + 16384, 0, 192);
	memset(rig.memory, 0xab, 64);
	t.qp[0].post = 0;
	rig_connect(&t.qp[0], &t.qp[1]);
	/* Another doorbell, which has the adapter look at all records. */
	for (uint16_t i = 0; i < 10; i++) {
		rig_send(&other.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		expect(&other.cq[0], MLX5_CQE_REQ, other.qp[0].qpn, i);
	}
	assert_false(rig_cq_ready(&t.cq[0]));
	rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 8192);
	expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, 0);
	assert_memory_equal(rig.memory + 8192, rig.memory, 64);
	for (int i = 0; i < 192; i++)
		assert_int_equal(rig.memory[16384 + i], 0);
	drop(&other);
	drop(&t);
}

static void a_query_shows_what_was_set(void **state)
{
	uint8_t out[ifc_len(query_qp_out)], *qpc = ifc_ptr(out, query_qp_out, qpc);
	RIG_IN(in, ifc_len(query_qp_in), QUERY_QP);
	struct two t;

	make(&t, 4, 3, 0);
	ifc_set(in, query_qp_in, qpn, t.qp[0].qpn);
	assert_int_equal(mlx5dv_devx_obj_query(t.qp[0].obj, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(qpc, qpc, st), IFC_QP_ST_RC);
	assert_int_equal(ifc_get(qpc, qpc, remote_qpn), t.qp[1].qpn);
	assert_int_equal(ifc_get(qpc, qpc, cqn_snd), t.cq[0].cqn);
	assert_int_equal(ifc_get(qpc, qpc, log_sq_size), 4);
	assert_int_equal(ifc_get(qpc, qpc, log_rq_size), 3);
	assert_int_equal(ifc_get(qpc, qpc, pd), rig.pdn);
	assert_int_equal(ifc_get(qpc, qpc, mtu), IFC_MTU_1K);
	assert_int_equal(ifc_get(qpc, qpc, log_sra_max), 4);
	assert_int_equal(ifc_get(qpc, qpc, next_send_psn), 0x1234);
	/* A command names the object that it is sent for. */
	ifc_set(in, query_qp_in, qpn, t.qp[1].qpn);
	assert_int_equal(mlx5dv_devx_obj_query(t.qp[0].obj, in, sizeof(in), out, sizeof(out)),
			 EINVAL);
	drop(&t);
}

static void query(struct rig_qp *qp, uint8_t *out)
{
	RIG_IN(in, ifc_len(query_qp_in), QUERY_QP);

	ifc_set(in, query_qp_in, qpn, qp->qpn);
	assert_int_equal(mlx5dv_devx_obj_query(qp->obj, in, sizeof(in), out, ifc_len(query_qp_out)),
			 0);
}

static void a_query_shows_how_far_it_has_come(void **state)
{
	uint8_t out[ifc_len(query_qp_out)], *qpc = ifc_ptr(out, query_qp_out, qpc);
	struct two t;

	make(&t, 3, 3, 0);
	for (int i = 0; i < 20; i++) {
		rig_recv(&t.qp[1], 4096, 64);
		rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
		expect(&t.cq[1], MLX5_CQE_RESP_SEND, t.qp[1].qpn, i);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, i);
	}
	query(&t.qp[0], out);
	assert_int_equal(ifc_get(qpc, qpc, next_send_psn), 0x1234 + 20);
	assert_int_equal(ifc_get(qpc, qpc, last_acked_psn), 0x1234 + 19);
	assert_int_equal(ifc_get(qpc, qpc, hw_sq_wqebb_counter), 20);
	assert_int_equal(ifc_get(qpc, qpc, sw_sq_wqebb_counter), 20);
	query(&t.qp[1], out);
	assert_int_equal(ifc_get(qpc, qpc, next_rcv_psn), 0x1234 + 20);
	assert_int_equal(ifc_get(qpc, qpc, rmsn), 20);
	assert_int_equal(ifc_get(qpc, qpc, hw_rq_counter), 20);
	assert_int_equal(ifc_get(qpc, qpc, sw_rq_counter), 20);
	assert_int_equal(rig_modify(&t.qp[1], IFC_OP_2RST_QP, 0, out), 0);
	query(&t.qp[1], out);
	assert_int_equal(ifc_get(qpc, qpc, hw_rq_counter), 0);
	drop(&t);
}

/* ---- shared receive queues ---- */

struct rmp {
	struct rig_umem umem;
	struct mlx5dv_devx_obj *obj;
	uint32_t number;
};

static void make_rmp(struct rmp *m, bool cyclic)
{
	uint8_t out[ifc_len(create_rmp_out)];
	RIG_IN(in, ifc_len(create_rmp_in), CREATE_RMP);
	uint8_t *ctx = ifc_ptr(in, create_rmp_in, ctx), *wq = ifc_ptr(ctx, rmpc, wq);
	const size_t ring = 32 * 8;

	m->umem = rig_umem(&rig, ring + 64);
	ifc_set(ctx, rmpc, state, IFC_WQ_RDY);
	ifc_set(wq, wq, wq_type, cyclic ? IFC_WQ_CYCLIC : IFC_WQ_LINKED_LIST);
	ifc_set(wq, wq, log_wq_stride, 5);
	ifc_set(wq, wq, log_wq_sz, 3);
	ifc_set(wq, wq, pd, rig.pdn);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, m->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, m->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, ring);
	m->obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(m->obj);
	m->number = ifc_get(out, create_rmp_out, rmpn);
	for (int i = 0; i < 8; i++) {
		struct mlx5_wqe_srq_next_seg *link = (void *)(m->umem.addr + 32 * i);

		/* The chain of a list need not be the order of the ring. */
		link->next_wqe_index = htobe16(cyclic ? 0x5555 : (i + 3) & 7);
	}
}

static void traffic_through(bool cyclic)
{
	volatile __be32 *db;
	struct rmp m;
	struct two t;

	make_rmp(&m, cyclic);
	make(&t, 4, 3, m.number);
	db = (void *)(m.umem.addr + 256);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t slot = cyclic ? i & 7 : i * 3 & 7;
		uint8_t *entry = m.umem.addr + 32 * slot;

		mlx5dv_set_data_seg((void *)(entry + 16), 64, rig.mr->lkey,
				    (uintptr_t)rig.memory + 4096 + 64 * slot);
		__atomic_store_n(&db[0], htobe32((i + 1) & 0xffff), __ATOMIC_RELEASE);
		pair_pattern(rig.memory, 64, (uint8_t)i);
		rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
		expect(&t.cq[1], MLX5_CQE_RESP_SEND, t.qp[1].qpn, (uint16_t)slot);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)i);
		assert_true(pair_is_pattern(rig.memory + 4096 + 64 * slot, 64, (uint8_t)i));
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(m.obj), EBUSY);
	drop(&t);
	assert_int_equal(mlx5dv_devx_obj_destroy(m.obj), 0);
	rig_umem_drop(&m.umem);
}

static void a_linked_shared_queue_follows_its_links(void **state)
{
	traffic_through(false);
}

static void a_cyclic_shared_queue_goes_round(void **state)
{
	traffic_through(true);
}

/* ---- who needs whom; what it costs ---- */

static void objects_in_use_cannot_be_destroyed(void **state)
{
	struct two t;

	make(&t, 4, 3, 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(t.cq[0].obj), EBUSY);
	assert_int_equal(mlx5dv_devx_umem_dereg(t.qp[0].umem.umem), EBUSY);
	assert_int_equal(ibv_dealloc_pd(rig.pd), EBUSY);
	rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, 0);
	drop(&t);
}

static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw;
}

/* A busy machine may take its time to get there, and for the pause itself. */
static bool rests(void)
{
	struct timespec begin, end;
	long before = switches(), ms;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	usleep(500000);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ms = (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
	return switches() - before < ms / 5;
}

/* A doorbell is noticed after any rest, and no thread looks for one a thousand times a second. */
static void an_idle_process_rests(void **state)
{
	struct two t;

	make(&t, 4, 3, 0);
	for (uint32_t i = 0; i < 3; i++) {
		rig_send(&t.qp[0], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)i);
		for (int tries = 0; !rests(); tries++)
			assert_true(tries < 20);
	}
	drop(&t);
}

/* Whether the adapter has a way of its own to the pages; where it cannot share them, it has not. */
static bool is_pinned(const void *addr)
{
	char line[512];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long start, end;

		if (sscanf(line, "%lx-%lx", &start, &end) == 2)
			found = (uintptr_t)addr >= start && (uintptr_t)addr < end &&
				strstr(line, "verbena-share");
	}
	fclose(maps);
	return found;
}

/* The addresses stay taken, so that nothing else moves in. */
static void take_away(struct rig_umem *u)
{
	assert_ptr_equal(
		mmap(u->addr, u->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		u->addr);
}

static void rings_that_are_unmapped_too_early_do_no_harm(void **state)
{
	struct two t;

	make(&t, 4, 3, 0);
	rig_recv(&t.qp[1], 8192, 64);
	rig_recv(&t.qp[1], 8192, 64);
	if (!is_pinned(t.cq[1].umem.addr) || !is_pinned(t.qp[1].umem.addr)) {
		drop(&t);
		skip();
	}
	take_away(&t.qp[1].umem);
	take_away(&t.cq[1].umem);
	for (uint32_t i = 0; i < 2; i++) {
		rig_send(&t.qp[0], MLX5_OPCODE_SEND, 0, 64, 0);
		expect(&t.cq[0], MLX5_CQE_REQ, t.qp[0].qpn, (uint16_t)i);
	}
	drop(&t);
}

/* One step up, on a path with forced loopback and no address. */
static void step(struct rig_qp *qp, uint16_t op)
{
	uint8_t in[ifc_len(modify_qp_in)] = { 0 }, out[ifc_len(modify_qp_out)];
	uint8_t *qpc = ifc_ptr(in, modify_qp_in, qpc);
	uint8_t *path = ifc_ptr(qpc, qpc, primary_address_path);

	ifc_set(in, cmd_in, opcode, op);
	ifc_set(in, modify_qp_in, qpn, qp->qpn);
	ifc_set(path, ads, fl, 1);
	ifc_set(path, ads, vhca_port_num, 1);
	ifc_set(path, ads, ack_timeout, 14);
	ifc_set(qpc, qpc, rwe, 1);
	ifc_set(qpc, qpc, mtu, IFC_MTU_1K);
	ifc_set(qpc, qpc, log_msg_max, 30);
	ifc_set(qpc, qpc, remote_qpn, qp->qpn);
	ifc_set(qpc, qpc, retry_count, 7);
	ifc_set(qpc, qpc, rnr_retry, 7);
	assert_int_equal(mlx5dv_devx_obj_modify(qp->obj, in, sizeof(in), out, sizeof(out)), 0);
}

/* As DPDK makes those of its compress and crypto drivers. */
static void a_queue_pair_without_receives_writes_to_itself(void **state)
{
	uint8_t out[ifc_len(create_qp_out)];
	RIG_IN(in, ifc_len(create_qp_in), CREATE_QP);
	uint8_t *qpc = ifc_ptr(in, create_qp_in, qpc);
	struct rig_qp qp = { .rig = &rig, .sq_size = 8, .umem = rig_umem(&rig, 8192) };
	struct rig_cq cq;

	rig_cq(&rig, 3, rig.eqn, &cq);
	qp.sq = qp.umem.addr;
	qp.db = (void *)(qp.umem.addr + 4096);
	ifc_set(qpc, qpc, st, IFC_QP_ST_RC);
	ifc_set(qpc, qpc, pm_state, IFC_PM_MIGRATED);
	ifc_set(qpc, qpc, pd, rig.pdn);
	ifc_set(qpc, qpc, uar_page, rig.uar->page_id);
	ifc_set(qpc, qpc, cqn_snd, cq.cqn);
	ifc_set(qpc, qpc, log_sq_size, 3);
	ifc_set(qpc, qpc, rq_type, IFC_RQ_NONE);
	ifc_set(qpc, qpc, user_index, 0x123456);
	ifc_set(qpc, qpc, dbr_umem_valid, 1);
	ifc_set(qpc, qpc, dbr_umem_id, qp.umem.umem->umem_id);
	ifc_set(qpc, qpc, dbr_addr, 4096);
	ifc_set(in, create_qp_in, wq_umem_valid, 1);
	ifc_set(in, create_qp_in, wq_umem_id, qp.umem.umem->umem_id);
	qp.obj = mlx5dv_devx_obj_create(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(qp.obj);
	qp.qpn = ifc_get(out, create_qp_out, qpn);
	step(&qp, IFC_OP_RST2INIT_QP);
	step(&qp, IFC_OP_INIT2RTR_QP);
	step(&qp, IFC_OP_RTR2RTS_QP);
	pair_pattern(rig.memory, 5000, 1);
	rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 5000, 16384);
	expect(&cq, MLX5_CQE_REQ, qp.qpn, 0);
	assert_true(pair_is_pattern(rig.memory + 16384, 5000, 1));
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
}

static void a_consumer_index_may_wrap_at_twice_the_size(void **state)
{
	struct rig_qp qp;
	struct rig_cq cq;

	rig_cq(&rig, 2, rig.eqn, &cq);
	rig_qp(&rig, 3, 3, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	for (uint16_t i = 0; i < 40; i++) {
		rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		expect(&cq, MLX5_CQE_REQ, qp.qpn, i);
		__atomic_store_n(&cq.db[0], htobe32(cq.ci & 7), __ATOMIC_RELEASE);
	}
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_go_around_every_ring_many_times),
		cmocka_unit_test(writes_and_reads_move_memory),
		cmocka_unit_test(replies_of_atomics_have_the_byte_order_that_the_capability_says),
		cmocka_unit_test(a_malformed_entry_fails_the_queue_pair),
		cmocka_unit_test(a_queue_pair_without_receives_writes_to_itself),
		cmocka_unit_test(a_consumer_index_may_wrap_at_twice_the_size),
		cmocka_unit_test(states_follow_the_commands),
		cmocka_unit_test(a_reset_forgets_what_was_posted_before),
		cmocka_unit_test(a_query_shows_what_was_set),
		cmocka_unit_test(a_query_shows_how_far_it_has_come),
		cmocka_unit_test(a_linked_shared_queue_follows_its_links),
		cmocka_unit_test(a_cyclic_shared_queue_goes_round),
		cmocka_unit_test(objects_in_use_cannot_be_destroyed),
		cmocka_unit_test(an_idle_process_rests),
		cmocka_unit_test(rings_that_are_unmapped_too_early_do_no_harm),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
