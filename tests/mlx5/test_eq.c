/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues that a program owns: entries, laps, arming, overrun, and the order of their end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "devx_rig.h"

struct eq {
	struct rig *rig;
	struct mlx5dv_devx_msi_vector *vector;
	struct mlx5dv_devx_eq *eq;
	uint32_t eqn, size, ci;
};

static struct rig rig;

/* Its doorbells are in r's page. */
static void make_on(struct rig *r, struct eq *q, unsigned int log_size, uint64_t events)
{
	uint8_t out[ifc_len(create_eq_out)];
	RIG_IN(in, ifc_len(create_eq_in), CREATE_EQ);
	uint8_t *eqc = ifc_ptr(in, create_eq_in, eq_context_entry);

	*q = (struct eq){ .rig = r, .size = 1u << log_size };
	q->vector = mlx5dv_devx_alloc_msi_vector(rig.ctx);
	assert_non_null(q->vector);
	ifc_set(eqc, eqc, log_eq_size, log_size);
	ifc_set(eqc, eqc, uar_page, r->uar->page_id);
	ifc_set(eqc, eqc, intr, q->vector->vector);
	ifc_set(in, create_eq_in, event_bitmask, events);
	q->eq = mlx5dv_devx_create_eq(rig.ctx, in, sizeof(in), out, sizeof(out));
	assert_non_null(q->eq);
	assert_non_null(q->eq->vaddr);
	q->eqn = ifc_get(out, create_eq_out, eq_number);
}

static void make(struct eq *q, unsigned int log_size, uint64_t events)
{
	make_on(&rig, q, log_size, events);
}

static void drop(struct eq *q)
{
	assert_int_equal(mlx5dv_devx_destroy_eq(q->eq), 0);
	assert_int_equal(mlx5dv_devx_free_msi_vector(q->vector), 0);
}

static void tell(struct eq *q, uint32_t offset)
{
	uint8_t *uar = q->rig->uar->base_addr;

	__atomic_store_n((uint32_t *)(uar + offset), htobe32(q->eqn << 24 | (q->ci & 0xffffff)),
			 __ATOMIC_RELEASE);
}

static const uint8_t *entry(const struct eq *q)
{
	return (uint8_t *)q->eq->vaddr + 64 * (size_t)(q->ci & (q->size - 1));
}

static bool is_mine(const struct eq *q)
{
	/* The word as the adapter stores it. */
	uint32_t last = __atomic_load_n((const uint32_t *)entry(q) + 15, __ATOMIC_ACQUIRE);

	return (be32toh(last) & 1) == !!(q->ci & q->size);
}

static void wait_entry(const struct eq *q)
{
	for (int i = 0; i < 20000 && !is_mine(q); i++)
		usleep(1000);
	assert_true(is_mine(q));
}

static void check_signature(const struct eq *q)
{
	uint8_t sum = 0;

	for (int i = 0; i < 64; i++)
		sum ^= entry(q)[i];
	assert_int_equal(sum, 0xff);
}

static void take_completion_event(struct eq *q, uint32_t cqn)
{
	const uint8_t *data = ifc_cptr(entry(q), eqe, data);

	assert_true(is_mine(q));
	check_signature(q);
	assert_int_equal(ifc_get(entry(q), eqe, type), IFC_EVENT_COMP);
	assert_int_equal(ifc_get(data, eqe_comp, cqn), cqn);
	q->ci++;
}

static void clear(int fd)
{
	uint64_t count;

	assert_int_equal(read(fd, &count, sizeof(count)), sizeof(count));
	assert_true(count > 0);
}

/* A queue pair that talks to itself and reports to cq. */
static void complete_one(struct rig_qp *qp, struct rig_cq *cq)
{
	rig_send(qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	assert_int_equal(mlx5dv_get_cqe_opcode((void *)rig_cq_wait(cq)), MLX5_CQE_REQ);
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

static void a_vector_is_nonblocking_and_not_for_query_eqn(void **state)
{
	struct mlx5dv_devx_msi_vector *v = mlx5dv_devx_alloc_msi_vector(rig.ctx), *second;
	uint64_t count;
	uint32_t eqn;

	assert_non_null(v);
	second = mlx5dv_devx_alloc_msi_vector(rig.ctx);
	assert_non_null(second);
	assert_int_not_equal(v->vector, second->vector);
	assert_true(v->vector < rig.ctx->num_comp_vectors);
	assert_false(rig_is_readable(v->fd));
	assert_int_equal(read(v->fd, &count, sizeof(count)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(mlx5dv_devx_query_eqn(rig.ctx, 0, &eqn), 0);
	assert_int_equal(mlx5dv_devx_query_eqn(rig.ctx, v->vector, &eqn), EINVAL);
	assert_int_equal(mlx5dv_devx_query_eqn(rig.ctx, rig.ctx->num_comp_vectors, &eqn), EINVAL);
	assert_int_equal(mlx5dv_devx_free_msi_vector(second), 0);
	eqn = v->vector;
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), 0);
	assert_int_equal(mlx5dv_devx_query_eqn(rig.ctx, eqn, &eqn), 0);
}

static void vectors_end(void **state)
{
	struct mlx5dv_devx_msi_vector *v[512];
	int n = 0;

	while ((v[n] = mlx5dv_devx_alloc_msi_vector(rig.ctx)))
		assert_true(++n < rig.ctx->num_comp_vectors);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(n, rig.ctx->num_comp_vectors - 1);
	while (n--)
		assert_int_equal(mlx5dv_devx_free_msi_vector(v[n]), 0);
}

static void a_fresh_ring_has_nothing_of_its_first_lap(void **state)
{
	struct eq q;

	make(&q, 6, 0);
	for (q.ci = 0; q.ci < q.size; q.ci++)
		assert_false(is_mine(&q));
	drop(&q);
}

static void completions_arrive_over_many_laps(void **state)
{
	struct rig_cq cq;
	struct rig_qp qp;
	struct eq q;

	make(&q, 3, 0);
	rig_cq(&rig, 4, q.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	tell(&q, IFC_UAR_EQ_ARM);
	for (int i = 0; i < 100; i++) {
		rig_cq_arm(&cq);
		rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		rig_wait_readable(q.vector->fd);
		clear(q.vector->fd);
		take_completion_event(&q, cq.cqn);
		assert_false(is_mine(&q));
		rig_cq_wait(&cq);
		rig_cq_take(&cq);
		tell(&q, IFC_UAR_EQ_ARM);
	}
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	drop(&q);
}

static void a_queue_that_is_not_armed_raises_no_interrupt(void **state)
{
	struct rig_cq cq;
	struct rig_qp qp;
	struct eq q;

	make(&q, 4, 0);
	rig_cq(&rig, 4, q.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	/* Neither is the completion queue. */
	complete_one(&qp, &cq);
	rig_cq_arm(&cq);
	complete_one(&qp, &cq);
	wait_entry(&q);
	assert_false(rig_is_readable(q.vector->fd));
	/* Arming speaks of what is there already, */
	tell(&q, IFC_UAR_EQ_ARM);
	rig_wait_readable(q.vector->fd);
	clear(q.vector->fd);
	take_completion_event(&q, cq.cqn);
	/* and the index alone arms nothing. */
	tell(&q, IFC_UAR_EQ_UPDATE);
	rig_cq_arm(&cq);
	complete_one(&qp, &cq);
	wait_entry(&q);
	assert_false(rig_is_readable(q.vector->fd));
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	drop(&q);
}

/* One register for both, and the second word lands on the first before anybody can look. */
static void queues_that_share_a_page_are_both_heard(void **state)
{
	struct rig_cq cq[2];
	struct rig_qp qp[2];
	struct eq q[2];

	for (int i = 0; i < 2; i++) {
		make(&q[i], 3, 0);
		rig_cq(&rig, 4, q[i].eqn, &cq[i]);
		rig_qp(&rig, 4, 4, 0, &cq[i], &qp[i]);
		rig_connect(&qp[i], &qp[i]);
	}
	for (int i = 0; i < 200; i++) {
		struct eq *first = &q[i & 1];

		rig_cq_arm(&cq[i & 1]);
		tell(first, IFC_UAR_EQ_ARM);
		tell(&q[!(i & 1)], IFC_UAR_EQ_ARM);
		rig_send(&qp[i & 1], MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		/* An interrupt may find nothing; it is asked for again then, as after any. */
		for (;;) {
			rig_wait_readable(first->vector->fd);
			clear(first->vector->fd);
			if (is_mine(first))
				break;
			tell(first, IFC_UAR_EQ_ARM);
		}
		take_completion_event(first, cq[i & 1].cqn);
		rig_cq_wait(&cq[i & 1]);
		rig_cq_take(&cq[i & 1]);
	}
	for (int i = 0; i < 2; i++) {
		rig_qp_drop(&qp[i]);
		rig_cq_drop(&cq[i]);
		drop(&q[i]);
	}
}

/* The index that made room may have been written over: what finds none waits for the next. */
static void a_full_ring_that_shares_a_page_keeps_events_back(void **state)
{
	struct rig_cq cq;
	struct rig_qp qp;
	struct eq q, other;

	make(&q, 2, 0);
	make(&other, 2, 0);
	rig_cq(&rig, 4, q.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	for (uint32_t i = 0; i < q.size + 2; i++) {
		rig_cq_arm(&cq);
		complete_one(&qp, &cq);
		q.ci = i;
		if (i < q.size)
			wait_entry(&q);
	}
	rig_wait_readable(q.vector->fd);
	for (q.ci = 0; q.ci < q.size;)
		take_completion_event(&q, cq.cqn);
	tell(&q, IFC_UAR_EQ_ARM);
	for (uint32_t i = 0; i < 2; i++) {
		wait_entry(&q);
		take_completion_event(&q, cq.cqn);
	}
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	drop(&q);
	drop(&other);
}

/* ---- doorbell pages that are rung at once ---- */

#define PAGES  4u
#define ROUNDS 3000u

/* An event queue with a page of its own, and a completion queue and a queue pair with another one. */
struct ringer {
	struct rig eq_rig, cq_rig;
	struct eq q;
	struct rig_cq cq;
	struct rig_qp qp;
	pthread_t thread;
};

static void ringer_make(struct ringer *r, struct ringer *eq_of)
{
	r->eq_rig = r->cq_rig = rig;
	r->eq_rig.uar = mlx5dv_devx_alloc_uar(rig.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	r->cq_rig.uar = mlx5dv_devx_alloc_uar(rig.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	assert_non_null(r->eq_rig.uar);
	assert_non_null(r->cq_rig.uar);
	if (r == eq_of)
		make_on(&r->eq_rig, &r->q, 6, 0);
	rig_cq(&r->cq_rig, 4, eq_of->q.eqn, &r->cq);
	rig_qp(&r->cq_rig, 4, 4, 0, &r->cq, &r->qp);
	rig_connect(&r->qp, &r->qp);
}

static void ringer_drop(struct ringer *r, struct ringer *eq_of)
{
	rig_qp_drop(&r->qp);
	rig_cq_drop(&r->cq);
	if (r == eq_of)
		drop(&r->q);
	mlx5dv_devx_free_uar(r->cq_rig.uar);
	mlx5dv_devx_free_uar(r->eq_rig.uar);
}

static void wait_event(struct eq *q)
{
	while (!is_mine(q)) {
		tell(q, IFC_UAR_EQ_ARM);
		rig_wait_readable(q->vector->fd);
		clear(q->vector->fd);
	}
}

/* The adapter must not find the ring full of entries that were read. */
static void tell_often(struct eq *q)
{
	if (!(q->ci % (q->size / 4)))
		tell(q, IFC_UAR_EQ_UPDATE);
}

static void *ring_for_events(void *arg)
{
	struct ringer *r = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		rig_cq_arm(&r->cq);
		rig_send(&r->qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		wait_event(&r->q);
		take_completion_event(&r->q, r->cq.cqn);
		tell_often(&r->q);
		rig_cq_wait(&r->cq);
		rig_cq_take(&r->cq);
	}
	return NULL;
}

/*
 * Words are in the registers of several pages while the adapter closes them. Each word counts, and the
 * adapter never waits for a page to open.
 */
static void pages_that_are_rung_at_once_are_all_heard(void **state)
{
	struct ringer r[PAGES / 2];

	for (unsigned int i = 0; i < PAGES / 2; i++)
		ringer_make(&r[i], &r[i]);
	for (unsigned int i = 0; i < PAGES / 2; i++)
		assert_int_equal(pthread_create(&r[i].thread, NULL, ring_for_events, &r[i]), 0);
	for (unsigned int i = 0; i < PAGES / 2; i++)
		assert_int_equal(pthread_join(r[i].thread, NULL), 0);
	for (unsigned int i = 0; i < PAGES / 2; i++)
		ringer_drop(&r[i], &r[i]);
}

/* Two completion queues, each with a page, report to one event queue. */
static void completion_queues_of_one_event_queue_ring_at_once(void **state)
{
	struct ringer r[2];
	struct eq *q = &r[0].q;

	for (int i = 0; i < 2; i++)
		ringer_make(&r[i], &r[0]);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint32_t got = 0;

		for (int k = 0; k < 2; k++) {
			rig_cq_arm(&r[k].cq);
			rig_send(&r[k].qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		}
		for (int k = 0; k < 2; k++) {
			wait_event(q);
			got += ifc_get(ifc_cptr(entry(q), eqe, data), eqe_comp, cqn);
			q->ci++;
			tell_often(q);
		}
		assert_int_equal(got, r[0].cq.cqn + r[1].cq.cqn);
		for (int k = 0; k < 2; k++) {
			rig_cq_wait(&r[k].cq);
			rig_cq_take(&r[k].cq);
		}
	}
	for (int i = 2; i--;)
		ringer_drop(&r[i], &r[0]);
}

/* As with registers of hardware: they are not inherited. */
static void the_child_of_a_fork_does_not_ring_its_parents_page(void **state)
{
	volatile uint32_t *unused = (uint32_t *)((uint8_t *)rig.uar->base_addr + 0x900);
	int status;
	pid_t pid;

	*unused = 1;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		*unused = 2;
		_exit(*unused == 2 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(*unused, 1);
}

static uint8_t query_status(const struct eq *q, uint32_t *producer)
{
	uint8_t out[ifc_len(query_eq_out)], *eqc = ifc_ptr(out, query_eq_out, eq_context_entry);
	RIG_IN(in, ifc_len(query_eq_in), QUERY_EQ);

	ifc_set(in, query_eq_in, eq_number, q->eqn);
	assert_int_equal(mlx5dv_devx_general_cmd(rig.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(eqc, eqc, intr), q->vector->vector);
	assert_int_equal(1u << ifc_get(eqc, eqc, log_eq_size), q->size);
	*producer = ifc_get(eqc, eqc, producer_counter);
	return ifc_get(eqc, eqc, status);
}

static void a_full_ring_loses_events_and_says_so(void **state)
{
	struct rig_cq cq;
	struct rig_qp qp;
	struct eq q;
	uint32_t producer;

	make(&q, 2, 0);
	rig_cq(&rig, 4, q.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	for (uint32_t i = 0; i < q.size; i++) {
		rig_cq_arm(&cq);
		complete_one(&qp, &cq);
		q.ci = i;
		wait_entry(&q);
	}
	assert_int_equal(query_status(&q, &producer), 0);
	rig_cq_arm(&cq);
	complete_one(&qp, &cq);
	/* Nothing tells when an event was lost but the status. */
	for (int i = 0; i < 20000 && !query_status(&q, &producer); i++)
		usleep(1000);
	assert_int_equal(query_status(&q, &producer), 0xa);
	assert_int_equal(producer, q.size);
	for (q.ci = 0; q.ci < q.size;)
		take_completion_event(&q, cq.cqn);
	assert_false(is_mine(&q));
	tell(&q, IFC_UAR_EQ_ARM);
	rig_cq_arm(&cq);
	complete_one(&qp, &cq);
	rig_wait_readable(q.vector->fd);
	take_completion_event(&q, cq.cqn);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	drop(&q);
}

static void an_overrun_of_a_completion_queue_is_an_event(void **state)
{
	const uint8_t *data;
	struct rig_cq cq;
	struct rig_qp qp;
	struct eq q;

	make(&q, 4, 1ull << IFC_EVENT_CQ_ERROR);
	rig_cq(&rig, 2, rig.eqn, &cq);
	rig_qp(&rig, 5, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	tell(&q, IFC_UAR_EQ_ARM);
	for (int i = 0; i < 5; i++)
		rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	rig_wait_readable(q.vector->fd);
	assert_true(is_mine(&q));
	check_signature(&q);
	data = ifc_cptr(entry(&q), eqe, data);
	assert_int_equal(ifc_get(entry(&q), eqe, type), IFC_EVENT_CQ_ERROR);
	assert_int_equal(ifc_get(data, eqe_cq_err, cqn), cq.cqn);
	assert_int_equal(ifc_get(data, eqe_cq_err, syndrome), IFC_CQ_ERROR_OVERRUN);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	drop(&q);
}

/* The events of verbs objects go to their own queue as well. */
static void events_of_verbs_objects_arrive_too(void **state)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 4 };
	struct ibv_srq *srq = ibv_create_srq(rig.pd, &attr);
	struct ibv_async_event event;
	const uint8_t *data;
	uint32_t number;
	struct eq q;

	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &number), 0);
	make(&q, 4, 1ull << IFC_EVENT_SRQ_LIMIT);
	tell(&q, IFC_UAR_EQ_ARM);
	assert_int_equal(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), 0);
	rig_wait_readable(q.vector->fd);
	data = ifc_cptr(entry(&q), eqe, data);
	assert_int_equal(ifc_get(entry(&q), eqe, type), IFC_EVENT_SRQ_LIMIT);
	assert_int_equal(ifc_get(data, eqe_qp_srq, number), number);
	assert_int_equal(ibv_get_async_event(rig.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	drop(&q);
}

static void objects_in_use_cannot_be_destroyed(void **state)
{
	struct rig_cq cq;
	struct eq q;

	make(&q, 4, 0);
	rig_cq(&rig, 4, q.eqn, &cq);
	assert_int_equal(mlx5dv_devx_free_msi_vector(q.vector), EBUSY);
	assert_int_equal(mlx5dv_devx_destroy_eq(q.eq), EBUSY);
	rig_cq_drop(&cq);
	assert_int_equal(mlx5dv_devx_free_msi_vector(q.vector), EBUSY);
	drop(&q);
}

static void refuse(uint8_t *in, size_t inlen, uint8_t status)
{
	uint8_t out[ifc_len(create_eq_out)] = { 0 };

	errno = 0;
	assert_null(mlx5dv_devx_create_eq(rig.ctx, in, inlen, out, sizeof(out)));
	assert_int_equal(errno, status ? EREMOTEIO : EINVAL);
	assert_int_equal(ifc_get(out, cmd_out, status), status);
	assert_int_equal(!!ifc_get(out, cmd_out, syndrome), !!status);
}

static void bad_requests_are_refused(void **state)
{
	RIG_IN(in, ifc_len(create_eq_in), CREATE_EQ);
	uint8_t *eqc = ifc_ptr(in, create_eq_in, eq_context_entry);
	struct mlx5dv_devx_msi_vector *v = mlx5dv_devx_alloc_msi_vector(rig.ctx);

	assert_non_null(v);
	ifc_set(eqc, eqc, uar_page, rig.uar->page_id);
	ifc_set(eqc, eqc, intr, v->vector);
	ifc_set(eqc, eqc, log_eq_size, 31);
	refuse(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(eqc, eqc, log_eq_size, 4);
	refuse(in, sizeof(in) - 1, 0);
	/* The adapter's own vector never gets as far as the device; a vector that was not allocated does. */
	ifc_set(eqc, eqc, intr, 0);
	refuse(in, sizeof(in), 0);
	ifc_set(eqc, eqc, intr, v->vector - 1);
	refuse(in, sizeof(in), IFC_STATUS_BAD_PARAM);
	ifc_set(eqc, eqc, intr, v->vector);
	ifc_set(eqc, eqc, uar_page, 0xfffff0);
	refuse(in, sizeof(in), IFC_STATUS_BAD_RES);
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_CQ);
	refuse(in, sizeof(in), 0);
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), 0);
}

static void a_vector_is_freed_by_its_own_number_only(void **state)
{
	struct mlx5dv_devx_msi_vector *v = mlx5dv_devx_alloc_msi_vector(rig.ctx);
	int number;

	assert_non_null(v);
	number = v->vector;
	v->vector = number - 1;
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), EINVAL);
	v->vector = 1 << 20;
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), EINVAL);
	v->vector = -1;
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), EINVAL);
	v->vector = number;
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), 0);
	assert_int_equal(mlx5dv_devx_free_msi_vector(NULL), EINVAL);
	assert_int_equal(mlx5dv_devx_destroy_eq(NULL), EINVAL);
}

static void a_device_is_had_by_its_place_on_the_bus(void **state)
{
	char slot[16];
	struct mlx5dv_vfio_context_attr attr = { .pci_name = "0000:00:00.0" };
	struct mlx5dv_devx_msi_vector *v;
	struct ibv_device **list;
	struct ibv_context *ctx;
	int fd;

	errno = 0;
	assert_null(mlx5dv_get_vfio_device_list(&attr));
	assert_int_equal(errno, ENOENT);
	assert_null(mlx5dv_get_vfio_device_list(NULL));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = 1;
	assert_null(mlx5dv_get_vfio_device_list(&attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = (struct mlx5dv_vfio_context_attr){ .flags = 2, .pci_name = "0000:00:00.0" };
	assert_null(mlx5dv_get_vfio_device_list(&attr));
	assert_int_equal(errno, EOPNOTSUPP);

	/* Adapters count upwards from 0xa0. */
	attr = (struct mlx5dv_vfio_context_attr){ .pci_name = slot };
	for (int i = 0xa0; i < 0xb0; i++) {
		snprintf(slot, sizeof(slot), "0000:%02x:00.0", i);
		list = mlx5dv_get_vfio_device_list(&attr);
		if (list &&
		    !strcmp(ibv_get_device_name(list[0]), ibv_get_device_name(rig.ctx->device)))
			break;
		ibv_free_device_list(list);
		list = NULL;
	}
	assert_non_null(list);
	assert_null(list[1]);
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	assert_non_null(ctx);
	fd = mlx5dv_vfio_get_events_fd(ctx);
	assert_true(fd >= 0);
	assert_int_equal(mlx5dv_vfio_get_events_fd(ctx), fd);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(mlx5dv_vfio_process_events(ctx), 0);
	v = mlx5dv_devx_alloc_msi_vector(ctx);
	assert_non_null(v);
	assert_int_equal(mlx5dv_devx_free_msi_vector(v), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vector_is_nonblocking_and_not_for_query_eqn),
		cmocka_unit_test(vectors_end),
		cmocka_unit_test(a_fresh_ring_has_nothing_of_its_first_lap),
		cmocka_unit_test(completions_arrive_over_many_laps),
		cmocka_unit_test(a_queue_that_is_not_armed_raises_no_interrupt),
		cmocka_unit_test(queues_that_share_a_page_are_both_heard),
		cmocka_unit_test(a_full_ring_that_shares_a_page_keeps_events_back),
		cmocka_unit_test(pages_that_are_rung_at_once_are_all_heard),
		cmocka_unit_test(completion_queues_of_one_event_queue_ring_at_once),
		cmocka_unit_test(the_child_of_a_fork_does_not_ring_its_parents_page),
		cmocka_unit_test(a_full_ring_loses_events_and_says_so),
		cmocka_unit_test(an_overrun_of_a_completion_queue_is_an_event),
		cmocka_unit_test(events_of_verbs_objects_arrive_too),
		cmocka_unit_test(objects_in_use_cannot_be_destroyed),
		cmocka_unit_test(bad_requests_are_refused),
		cmocka_unit_test(a_vector_is_freed_by_its_own_number_only),
		cmocka_unit_test(a_device_is_had_by_its_place_on_the_bus),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
