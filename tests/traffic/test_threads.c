/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that share queue pairs, completion queues and the adapter.
 */
#include "rig.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define EACH    1500u

static void start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	check_ok(pthread_create(thread, NULL, fn, arg));
}

static void join(pthread_t thread)
{
	check_ok(pthread_join(thread, NULL));
}

/* ---- one queue pair, one completion queue ---- */

static struct pair shared;
static atomic_uint outstanding, completed;
static atomic_uint seen[THREADS];

static void *post_writes(void *arg)
{
	unsigned int me = (uintptr_t)arg;

	for (unsigned int i = 0; i < EACH; i++) {
		/* never more than the queue holds */
		wait_for(({
			unsigned int now = atomic_load(&outstanding);

			now < 60 && atomic_compare_exchange_strong(&outstanding, &now, now + 1);
		}));
		post(shared.a,
		     &(struct work){ .id = me,
				     .op = i % 4 ? IBV_WR_RDMA_WRITE : IBV_WR_ATOMIC_FETCH_AND_ADD,
				     .flags = IBV_SEND_SIGNALED,
				     .off = me * 64,
				     .len = 8,
				     .raddr = shared.a->to.va + (i % 4 ? 1024 + me * 64 : 0),
				     .rkey = shared.a->to.rkey,
				     .compare = 1 });
	}
	return NULL;
}

static void *poll_writes(void *arg)
{
	(void)arg;
	wait_for(({
		struct ibv_wc wc[8];
		int n = ibv_poll_cq(shared.a->scq, 8, wc);

		check(n >= 0);
		for (int i = 0; i < n; i++) {
			check_equal(wc[i].status, IBV_WC_SUCCESS);
			atomic_fetch_add(&seen[wc[i].wr_id], 1);
			atomic_fetch_sub(&outstanding, 1);
			atomic_fetch_add(&completed, 1);
		}
		atomic_load(&completed) == THREADS *EACH;
	}));
	return NULL;
}

static void threads_share_a_queue_pair_and_a_completion_queue(void)
{
	pthread_t poster[THREADS], poller[2];
	uint64_t adds;

	shared = pair_open(NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		start(&poster[i], post_writes, (void *)i);
	for (int i = 0; i < 2; i++)
		start(&poller[i], poll_writes, NULL);
	for (int i = 0; i < THREADS; i++)
		join(poster[i]);
	for (int i = 0; i < 2; i++)
		join(poller[i]);
	for (int i = 0; i < THREADS; i++)
		check_equal(atomic_load(&seen[i]), EACH);
	memcpy(&adds, shared.b->buf, 8);
	check_equal(adds, THREADS * EACH / 4);
	check_empty(shared.a->scq);
	pair_close(&shared);
}

/* ---- one queue pair each ---- */

static void *ping_pong(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	struct pair p = pair_open(NULL);

	for (unsigned int i = 0; i < 400; i++) {
		struct end *from = i % 2 ? p.b : p.a, *to = i % 2 ? p.a : p.b;
		uint32_t len = 1 + (i * 37 + seed) % 9000;

		post_recv(to, i, 16384, 16384);
		fill(from->buf, len, i + seed);
		post(from,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
		check_equal(expect_ok(to->rcq, i).byte_len, len);
		check_filled(to->buf + 16384, len, i + seed);
		expect_ok(from->scq, i);
	}
	pair_close(&p);
	return NULL;
}

static void threads_with_their_own_queue_pairs_do_not_disturb_each_other(void)
{
	pthread_t thread[THREADS];

	rig_context();
	check_ok(!rig_attr());
	rig_gid_index();
	for (uintptr_t i = 0; i < THREADS; i++)
		start(&thread[i], ping_pong, (void *)(i * 1000));
	for (int i = 0; i < THREADS; i++)
		join(thread[i]);
}

/* ---- objects come and go while others work ---- */

static atomic_bool stop;

static void *churn(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		struct pair p = pair_open(NULL);

		post_recv(p.b, 1, 0, 64);
		post(p.a,
		     &(struct work){
			     .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(p.a->scq, 1);
		/* with work in the queues */
		post(p.a, &(struct work){ .id = 2, .op = IBV_WR_SEND, .len = 8 });
		pair_close(&p);
	}
	return NULL;
}

static void *churn_regions(void *arg)
{
	struct end *e = arg;
	char *buf = pages(65536);

	while (!atomic_load(&stop))
		check_ok(ibv_dereg_mr(must(ibv_reg_mr(e->pd, buf, 65536, e->o.mr_access))));
	return NULL;
}

static void requests_complete_while_other_objects_are_created_and_destroyed(void)
{
	struct pair p = pair_open(NULL);
	pthread_t thread[3];

	start(&thread[0], churn, NULL);
	start(&thread[1], churn, NULL);
	start(&thread[2], churn_regions, p.b);
	for (unsigned int i = 0; i < 3000; i++) {
		post_recv(p.b, i, 0, 4096);
		post(p.a,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 3000 });
		expect_ok(p.a->scq, i);
		expect_ok(p.b->rcq, i);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		join(thread[i]);
	pair_close(&p);
}

/* ---- an event thread beside a posting one ---- */

static struct pair noisy;
static atomic_uint heard;

static void *listen(void *arg)
{
	(void)arg;
	while (atomic_load(&heard) < EACH) {
		struct ibv_wc wc[16];
		struct ibv_cq *cq;
		void *context;
		int n;

		check(is_readable(noisy.b->channel->fd, WAIT_MS));
		check_ok(ibv_get_cq_event(noisy.b->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		check_ok(ibv_req_notify_cq(cq, 0));
		while ((n = ibv_poll_cq(cq, 16, wc)) > 0)
			for (int i = 0; i < n; i++) {
				check_equal(wc[i].status, IBV_WC_SUCCESS);
				post_recv(noisy.b, 0, 0, 64);
				atomic_fetch_add(&heard, 1);
			}
	}
	return NULL;
}

static void an_event_thread_receives_all_messages_of_another_thread(void)
{
	struct options o = options_of(IBV_QPT_RC);
	pthread_t thread;

	o.events = true;
	noisy = pair_open(&o);
	for (int i = 0; i < 32; i++)
		post_recv(noisy.b, 0, 0, 64);
	check_ok(ibv_req_notify_cq(noisy.b->rcq, 0));
	start(&thread, listen, NULL);
	for (unsigned int i = 0; i < EACH; i++) {
		post(noisy.a,
		     &(struct work){
			     .id = i, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
		expect_ok(noisy.a->scq, i);
	}
	join(thread);
	pair_close(&noisy);
}

/* ---- an asynchronous event is acknowledged before its queue pair goes ---- */

static atomic_bool gone;

static void *destroy_qp(void *qp)
{
	check_ok(ibv_destroy_qp(qp));
	atomic_store(&gone, true);
	return NULL;
}

static void destroying_waits_for_the_acknowledgement_of_events(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_async_event event;
	pthread_t thread;

	post(p.a,
	     &(struct work){
		     .id = 1, .op = IBV_WR_RDMA_WRITE, .len = 8, .raddr = p.a->to.va, .rkey = 1 });
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	check(is_readable(p.b->ctx->async_fd, WAIT_MS));
	check_ok(ibv_get_async_event(p.b->ctx, &event));
	check_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	start(&thread, destroy_qp, p.b->qp);
	for (uint64_t end = now_ns() + 30000000; now_ns() < end;)
		check(!atomic_load(&gone));
	ibv_ack_async_event(&event);
	join(thread);
	p.b->qp = NULL;
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_share_a_queue_pair_and_a_completion_queue),
		TEST(threads_with_their_own_queue_pairs_do_not_disturb_each_other),
		TEST(requests_complete_while_other_objects_are_created_and_destroyed),
		TEST(an_event_thread_receives_all_messages_of_another_thread),
		TEST(destroying_waits_for_the_acknowledgement_of_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
