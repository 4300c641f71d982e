/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels: arming, solicited events, and descriptors that work with poll, epoll and
 * O_NONBLOCK.
 */
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

static struct options with_events(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.events = true;
	return o;
}

static struct pair open_pair(void)
{
	struct options o = with_events();

	return pair_open(&o);
}

static void send_byte(struct end *from, struct end *to, unsigned int flags)
{
	post_recv(to, 1, 0, 8);
	post(from, &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = flags, .len = 1 });
}

/* Fetches one event and acknowledges it. */
static struct ibv_cq *take_event(struct end *e)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	check(is_readable(e->channel->fd, WAIT_MS));
	check_ok(ibv_get_cq_event(e->channel, &cq, &context));
	check(context == e);
	ibv_ack_cq_events(cq, 1);
	return cq;
}

static void an_armed_queue_raises_one_event_for_the_next_completion(void)
{
	struct pair p = open_pair();

	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	check(!is_readable(p.b->channel->fd, 0));
	send_byte(p.a, p.b, 0);
	check(take_event(p.b) == p.b->rcq);
	expect_ok(p.b->rcq, 1);
	/* not armed any more */
	send_byte(p.a, p.b, 0);
	expect_ok(p.b->rcq, 1);
	check(!is_readable(p.b->channel->fd, 0));
	pair_close(&p);
}

static void a_queue_that_is_not_armed_raises_no_event(void)
{
	struct pair p = open_pair();

	send_byte(p.a, p.b, IBV_SEND_SOLICITED);
	expect_ok(p.b->rcq, 1);
	check(!is_readable(p.b->channel->fd, 0));
	check(!is_readable(p.a->channel->fd, 0));
	pair_close(&p);
}

/* The race that every event loop has to live with: arm, then poll once more. */
static void arm_then_poll_never_misses_a_completion(void)
{
	struct pair p = open_pair();

	for (unsigned int i = 0; i < 300; i++) {
		struct ibv_wc wc;

		if (i % 3 == 0)
			send_byte(p.a, p.b, IBV_SEND_SIGNALED);
		check_ok(ibv_req_notify_cq(p.b->rcq, 0));
		if (i % 3 != 0)
			send_byte(p.a, p.b, IBV_SEND_SIGNALED);
		if (i % 2 || !ibv_poll_cq(p.b->rcq, 1, &wc)) {
			take_event(p.b);
			expect_ok(p.b->rcq, 1);
		}
		/* an event of the arm that a poll outran */
		while (is_readable(p.b->channel->fd, 0))
			take_event(p.b);
		check_empty(p.b->rcq);
		expect_ok(p.a->scq, 1);
	}
	pair_close(&p);
}

static void a_solicited_request_ignores_other_messages(void)
{
	struct pair p = open_pair();

	check_ok(ibv_req_notify_cq(p.b->rcq, 1));
	for (int i = 0; i < 3; i++) {
		send_byte(p.a, p.b, 0);
		expect_ok(p.b->rcq, 1);
	}
	check(!is_readable(p.b->channel->fd, 0));
	send_byte(p.a, p.b, IBV_SEND_SOLICITED);
	take_event(p.b);
	expect_ok(p.b->rcq, 1);
	pair_close(&p);
}

static void a_solicited_write_with_immediate_counts(void)
{
	struct pair p = open_pair();

	check_ok(ibv_req_notify_cq(p.b->rcq, 1));
	post_recv(p.b, 1, 0, 8);
	post(p.a, &(struct work){ .op = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .flags = IBV_SEND_SOLICITED,
				  .len = 4,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	take_event(p.b);
	expect_ok(p.b->rcq, 1);
	pair_close(&p);
}

static void an_error_counts_as_solicited(void)
{
	struct pair p = open_pair();

	post_recv(p.b, 1, 0, 8);
	check_ok(ibv_req_notify_cq(p.b->rcq, 1));
	end_to_error(p.b);
	take_event(p.b);
	expect_wc(p.b->rcq, 1, IBV_WC_WR_FLUSH_ERR);
	pair_close(&p);
}

static void asking_for_all_after_asking_for_solicited_means_all(void)
{
	struct pair p = open_pair();

	check_ok(ibv_req_notify_cq(p.b->rcq, 1));
	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	send_byte(p.a, p.b, 0);
	take_event(p.b);
	expect_ok(p.b->rcq, 1);
	pair_close(&p);
}

static void a_channel_serves_several_queues(void)
{
	struct pair p = open_pair();
	struct ibv_cq *first, *second;

	check_ok(ibv_req_notify_cq(p.a->scq, 0));
	check_ok(ibv_req_notify_cq(p.a->rcq, 0));
	send_byte(p.a, p.b, IBV_SEND_SIGNALED);
	send_byte(p.b, p.a, 0);
	first = take_event(p.a);
	second = take_event(p.a);
	check(first != second);
	check(first == p.a->scq || first == p.a->rcq);
	check(second == p.a->scq || second == p.a->rcq);
	check(!is_readable(p.a->channel->fd, 0));
	expect_ok(p.a->scq, 1);
	expect_ok(p.a->rcq, 1);
	expect_ok(p.b->rcq, 1);
	pair_close(&p);
}

static void a_non_blocking_channel_says_eagain(void)
{
	struct pair p = open_pair();
	int flags = fcntl(p.b->channel->fd, F_GETFL);
	struct ibv_cq *cq;
	void *context;

	check_ok(fcntl(p.b->channel->fd, F_SETFL, flags | O_NONBLOCK));
	errno = 0;
	check_equal(ibv_get_cq_event(p.b->channel, &cq, &context), -1);
	check_equal(errno, EAGAIN);
	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	send_byte(p.a, p.b, 0);
	take_event(p.b);
	errno = 0;
	check_equal(ibv_get_cq_event(p.b->channel, &cq, &context), -1);
	check_equal(errno, EAGAIN);
	pair_close(&p);
}

static void epoll_sees_the_channel_level_and_edge_triggered(void)
{
	struct pair p = open_pair();
	int level = epoll_create1(0), edge = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN }, got;

	check_ok(epoll_ctl(level, EPOLL_CTL_ADD, p.b->channel->fd, &ev));
	ev.events = EPOLLIN | EPOLLET;
	check_ok(epoll_ctl(edge, EPOLL_CTL_ADD, p.b->channel->fd, &ev));
	check_equal(epoll_wait(level, &got, 1, 0), 0);
	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	send_byte(p.a, p.b, 0);
	check_equal(epoll_wait(level, &got, 1, WAIT_MS), 1);
	check_equal(epoll_wait(level, &got, 1, 0), 1);
	check_equal(epoll_wait(edge, &got, 1, WAIT_MS), 1);
	check_equal(epoll_wait(edge, &got, 1, 0), 0);
	take_event(p.b);
	check_equal(epoll_wait(level, &got, 1, 0), 0);
	close(level);
	close(edge);
	pair_close(&p);
}

/* ---- destroying ---- */

static void a_channel_in_use_is_busy(void)
{
	struct options o = with_events();
	struct end *e = end_open(&o);

	check_equal(ibv_destroy_comp_channel(e->channel), EBUSY);
	end_close(e);
}

static atomic_bool destroyed;

static void *destroy_cq(void *cq)
{
	check_ok(ibv_destroy_cq(cq));
	atomic_store(&destroyed, true);
	return NULL;
}

static void destroying_a_queue_waits_for_its_events_to_be_acknowledged(void)
{
	struct pair p = open_pair();
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	send_byte(p.a, p.b, 0);
	check(is_readable(p.b->channel->fd, WAIT_MS));
	check_ok(ibv_get_cq_event(p.b->channel, &cq, &context));
	end_drop_qp(p.b);
	check_ok(pthread_create(&thread, NULL, destroy_cq, p.b->rcq));
	for (uint64_t end = now_ns() + 30000000; now_ns() < end;)
		check(!atomic_load(&destroyed));
	ibv_ack_cq_events(cq, 1);
	check_ok(pthread_join(thread, NULL));
	p.b->rcq = must(ibv_create_cq(p.b->ctx, 1, NULL, NULL, 0));
	pair_close(&p);
}

static void events_of_a_destroyed_queue_vanish_from_the_channel(void)
{
	struct pair p = open_pair();

	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	send_byte(p.a, p.b, 0);
	check(is_readable(p.b->channel->fd, WAIT_MS));
	end_drop_qp(p.b);
	check_ok(ibv_destroy_cq(p.b->rcq));
	check(!is_readable(p.b->channel->fd, 0));
	p.b->rcq = must(ibv_create_cq(p.b->ctx, 1, NULL, NULL, 0));
	pair_close(&p);
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	check_ok(getrusage(RUSAGE_SELF, &u));
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000ull + u.ru_utime.tv_usec +
	       u.ru_stime.tv_usec;
}

static void a_process_that_waits_uses_no_processor(void)
{
	struct pair p = open_pair();
	uint64_t before;

	for (int i = 0; i < 100; i++) {
		send_byte(p.a, p.b, IBV_SEND_SIGNALED);
		expect_ok(p.b->rcq, 1);
		expect_ok(p.a->scq, 1);
	}
	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	before = cpu_us();
	check(!is_readable(p.b->channel->fd, 1000));
	check(cpu_us() - before < 20000);
	send_byte(p.a, p.b, IBV_SEND_SIGNALED);
	take_event(p.b);
	pair_close(&p);
}

/* ---- blocked in ibv_get_cq_event, woken from another process ---- */

#define TURNS 300u

static void turns(struct end *e, bool first)
{
	for (unsigned int i = 0; i < TURNS; i++) {
		struct ibv_cq *cq;
		struct ibv_wc wc;
		void *context;

		if (first)
			post(e, &(struct work){ .op = IBV_WR_SEND, .len = 4 });
		while (!ibv_poll_cq(e->rcq, 1, &wc)) {
			check_ok(ibv_req_notify_cq(e->rcq, 0));
			if (ibv_poll_cq(e->rcq, 1, &wc))
				break;
			check_ok(ibv_get_cq_event(e->channel, &cq, &context));
			ibv_ack_cq_events(cq, 1);
		}
		check_equal(wc.status, IBV_WC_SUCCESS);
		post_recv(e, i, 0, 64);
		if (!first)
			post(e, &(struct work){ .id = i,
						.op = IBV_WR_SEND,
						.flags = i % 32 == 31 ? IBV_SEND_SIGNALED : 0,
						.len = 4 });
		if (first && i % 32 == 31) {
			post(e, &(struct work){ .id = i,
						.op = IBV_WR_RDMA_WRITE,
						.flags = IBV_SEND_SIGNALED,
						.len = 4,
						.raddr = e->to.va + 4096,
						.rkey = e->to.rkey });
			expect_ok(e->scq, i);
		}
		if (!first && i % 32 == 31)
			expect_ok(e->scq, i);
	}
}

static void waiter(int fd)
{
	struct options o = with_events();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (int i = 0; i < 4; i++)
		post_recv(e, i, 0, 64);
	tell_mark(fd, 'p');
	turns(e, false);
	hear_mark(fd, 'E');
	end_close(e);
}

static void blocked_processes_wake_each_other(void)
{
	struct peer peer = peer_start(waiter);
	struct options o = with_events();
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (int i = 0; i < 4; i++)
		post_recv(e, i, 0, 64);
	hear_mark(peer.fd, 'p');
	turns(e, true);
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

/* ---- moderation ---- */

#define PERIOD_US 4000

static void moderate(struct ibv_cq *cq, uint16_t count, uint16_t usec)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { .cq_count = count, .cq_period = usec } };

	check_ok(ibv_modify_cq(cq, &attr));
}

/* How long after the first of so many messages their event comes. */
static uint64_t event_after_ns(struct pair *p, int messages)
{
	uint64_t began, took;

	check_ok(ibv_req_notify_cq(p->b->rcq, 0));
	began = now_ns();
	for (int i = 0; i < messages; i++)
		send_byte(p->a, p->b, IBV_SEND_SIGNALED);
	take_event(p->b);
	took = now_ns() - began;
	check(!is_readable(p->b->channel->fd, 0));
	for (int i = 0; i < messages; i++) {
		expect_ok(p->b->rcq, 1);
		expect_ok(p->a->scq, 1);
	}
	return took;
}

static void a_moderated_event_waits_for_more_completions_or_for_its_time(void)
{
	struct pair p = open_pair();
	int at_once = 0;

	moderate(p.b->rcq, 4, PERIOD_US);
	for (int i = 0; i < 5; i++)
		check(event_after_ns(&p, 1) >= PERIOD_US * 1000ull);
	/* enough of them do not wait; a busy machine may be as slow now and then */
	for (int i = 0; i < 200 && !at_once; i++)
		at_once = event_after_ns(&p, 4) < PERIOD_US * 1000ull;
	check(at_once);
	pair_close(&p);
}

static void a_moderated_event_is_raised_when_moderation_is_turned_off(void)
{
	struct pair p = open_pair();
	bool in_time = false;

	for (int i = 0; i < 200 && !in_time; i++) {
		uint64_t began = now_ns();

		moderate(p.b->rcq, 100, PERIOD_US);
		check_ok(ibv_req_notify_cq(p.b->rcq, 0));
		send_byte(p.a, p.b, IBV_SEND_SIGNALED);
		expect_ok(p.a->scq, 1);
		moderate(p.b->rcq, 0, 0);
		take_event(p.b);
		in_time = now_ns() - began < PERIOD_US * 1000ull;
		expect_ok(p.b->rcq, 1);
	}
	check(in_time);
	pair_close(&p);
}

static void a_queue_with_a_moderated_event_can_be_destroyed(void)
{
	struct pair p = open_pair();

	moderate(p.b->rcq, 100, PERIOD_US);
	check_ok(ibv_req_notify_cq(p.b->rcq, 0));
	send_byte(p.a, p.b, IBV_SEND_SIGNALED);
	expect_ok(p.a->scq, 1);
	pair_close(&p);
	p = open_pair();
	send_byte(p.a, p.b, IBV_SEND_SIGNALED);
	check(!is_readable(p.b->channel->fd, 2 * PERIOD_US / 1000)); /* not asked for */
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_armed_queue_raises_one_event_for_the_next_completion),
		TEST(a_queue_that_is_not_armed_raises_no_event),
		TEST(arm_then_poll_never_misses_a_completion),
		TEST(a_solicited_request_ignores_other_messages),
		TEST(a_solicited_write_with_immediate_counts),
		TEST(an_error_counts_as_solicited),
		TEST(asking_for_all_after_asking_for_solicited_means_all),
		TEST(a_channel_serves_several_queues),
		TEST(a_non_blocking_channel_says_eagain),
		TEST(epoll_sees_the_channel_level_and_edge_triggered),
		TEST(a_channel_in_use_is_busy),
		TEST(destroying_a_queue_waits_for_its_events_to_be_acknowledged),
		TEST(events_of_a_destroyed_queue_vanish_from_the_channel),
		TEST(a_process_that_waits_uses_no_processor),
		TEST(blocked_processes_wake_each_other),
		TEST(a_moderated_event_waits_for_more_completions_or_for_its_time),
		TEST(a_moderated_event_is_raised_when_moderation_is_turned_off),
		TEST(a_queue_with_a_moderated_event_can_be_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
