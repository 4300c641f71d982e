/* SPDX-License-Identifier: BSD-2-Clause */
/* Several threads on the same queues. */
#include "pair.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define HALF    (PAIR_BUF / 2)
#define THREADS 3
#define EACH    400

static struct pair p;
static atomic_uint done, mistakes;

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void post_until_taken(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	while (ibv_post_send(p.qp[0], wr, &bad))
		sched_yield();
}

static void *writer(void *arg)
{
	uintptr_t me = (uintptr_t)arg;
	struct ibv_sge sge = pair_sge(&p, me * 64, 32);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	pair_fill_wr(&p, &wr, HALF + me * 64);
	for (int i = 0; i < EACH; i++) {
		wr.wr_id = me << 32 | i;
		if (i & 1)
			wr.send_flags |= IBV_SEND_INLINE;
		else
			wr.send_flags &= ~IBV_SEND_INLINE;
		post_until_taken(&wr);
	}
	return NULL;
}

static void *poller(void *arg)
{
	uint64_t *last = arg;
	struct ibv_wc wc[4];

	while (atomic_load(&done) < THREADS * EACH) {
		int n = ibv_poll_cq(p.cq[0], 4, wc);

		if (n < 0)
			atomic_fetch_add(&mistakes, 1);
		for (int i = 0; i < n; i++) {
			uint64_t from = wc[i].wr_id >> 32;

			if (wc[i].status != IBV_WC_SUCCESS || from >= THREADS ||
			    (uint32_t)wc[i].wr_id >= EACH)
				atomic_fetch_add(&mistakes, 1);
			else
				last[from]++;
			atomic_fetch_add(&done, 1);
		}
		if (n <= 0)
			sched_yield();
	}
	return NULL;
}

static void threads_share_a_send_queue_and_its_cq(void **state)
{
	uint64_t seen[2][THREADS] = { 0 };
	pthread_t thread[THREADS + 2];

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC,
					   .cap = { .max_send_wr = 16, .max_inline_data = 64 } });
	atomic_store(&done, 0);
	atomic_store(&mistakes, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, (void *)i), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[THREADS + i], NULL, poller, seen[i]), 0);
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(mistakes, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(seen[0][i] + seen[1][i], EACH);
}

static void *sender(void *arg)
{
	struct ibv_sge sge = pair_sge(&p, 0, 8);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	for (int i = 0; i < 2 * EACH; i++) {
		post_until_taken(&wr);
		while (!ibv_poll_cq(p.cq[0], 1, &wc))
			sched_yield();
		if (wc.status != IBV_WC_SUCCESS)
			atomic_fetch_add(&mistakes, 1);
	}
	return NULL;
}

static void *receiver(void *arg)
{
	struct ibv_wc wc;
	int n;

	while (atomic_load(&done) < 2 * EACH) {
		n = ibv_poll_cq(p.cq[1], 1, &wc);
		if (n == 1) {
			if (wc.status != IBV_WC_SUCCESS || wc.byte_len != 8)
				atomic_fetch_add(&mistakes, 1);
			pair_post_recv(&p, 1, wc.wr_id, HALF, 64);
			atomic_fetch_add(&done, 1);
		} else {
			sched_yield();
		}
	}
	return NULL;
}

static void threads_share_a_receive_queue(void **state)
{
	for (int srq = 0; srq < 2; srq++) {
		pthread_t thread[3];

		pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .srq = srq });
		atomic_store(&done, 0);
		atomic_store(&mistakes, 0);
		for (int i = 0; i < 20; i++)
			pair_post_recv(&p, 1, i, HALF, 64);
		assert_int_equal(pthread_create(&thread[0], NULL, sender, NULL), 0);
		assert_int_equal(pthread_create(&thread[1], NULL, receiver, NULL), 0);
		assert_int_equal(pthread_create(&thread[2], NULL, receiver, NULL), 0);
		for (int i = 0; i < 3; i++)
			pthread_join(thread[i], NULL);
		assert_int_equal(mistakes, 0);
		if (!srq)
			pair_drop(&p);
	}
}

static void *resizer(void *arg)
{
	for (int i = 0; atomic_load(&done) < THREADS * EACH; i++) {
		ibv_resize_cq(p.cq[0], i & 1 ? 100 : 1000);
		sched_yield();
	}
	return NULL;
}

static void a_cq_is_resized_while_it_is_used(void **state)
{
	uint64_t seen[THREADS] = { 0 };
	pthread_t thread[THREADS + 2];

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC,
					   .cap = { .max_send_wr = 16, .max_inline_data = 64 } });
	atomic_store(&done, 0);
	atomic_store(&mistakes, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, (void *)i), 0);
	assert_int_equal(pthread_create(&thread[THREADS], NULL, poller, seen), 0);
	assert_int_equal(pthread_create(&thread[THREADS + 1], NULL, resizer, NULL), 0);
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(mistakes, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(seen[i], EACH);
}

/* QPs come and go beside one whose completions are polled all the time. */
static void *comer(void *arg)
{
	while (atomic_load(&done) < THREADS * EACH) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = p.cq[0],
						 .recv_cq = p.cq[0],
						 .cap = { 4, 4, 1, 1, 0 } };
		struct ibv_qp *qp = ibv_create_qp(p.pd, &init);

		if (!qp || ibv_destroy_qp(qp))
			atomic_fetch_add(&mistakes, 1);
		sched_yield();
	}
	return NULL;
}

static void qps_come_and_go_beside_a_busy_one(void **state)
{
	uint64_t seen[THREADS] = { 0 };
	pthread_t thread[THREADS + 2];

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC,
					   .cap = { .max_send_wr = 16, .max_inline_data = 64 } });
	atomic_store(&done, 0);
	atomic_store(&mistakes, 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, (void *)i), 0);
	assert_int_equal(pthread_create(&thread[THREADS], NULL, poller, seen), 0);
	assert_int_equal(pthread_create(&thread[THREADS + 1], NULL, comer, NULL), 0);
	for (int i = 0; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(mistakes, 0);
}

#define T(name) cmocka_unit_test_teardown(name, drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(threads_share_a_send_queue_and_its_cq),
		T(threads_share_a_receive_queue),
		T(a_cq_is_resized_while_it_is_used),
		T(qps_come_and_go_beside_a_busy_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
