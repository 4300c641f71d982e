/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A poll first looks, for the configured time, and then sleeps: on the completion channels of its
 * rsockets, on the ordinary descriptors, and on an eventfd that other threads write to. The rsockets
 * count as used from beginning to end.
 */
#include "rsocket/poll.h"

#include <errno.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <time.h>

#include "rsocket/pollable.h"
#include "rsocket/state.h"
#include "util/explain.h"

/* Polls of so many descriptors need no allocation. */
#define FEW 16

struct poll_call {
	struct pollfd *fds; /* the program's */
	nfds_t count;
	struct rs_pollable *items; /* one for each */
	struct pollfd *sleep_on;   /* one for each, and the eventfd */
	bool has_ordinary;
	int wake_fd;
	const struct rs_poll_interrupt *interrupt;
	struct rs_sleeper sleeper; /* in interrupt->sleepers */
};

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static void get_items(struct poll_call *c)
{
	for (nfds_t i = 0; i < c->count; i++) {
		c->items[i] = (struct rs_pollable){ .entry = rs_table_get(c->fds[i].fd) };
		if (!c->items[i].entry && c->fds[i].fd >= 0)
			c->has_ordinary = true;
	}
}

static void put_items(struct poll_call *c)
{
	for (nfds_t i = 0; i < c->count; i++)
		if (c->items[i].entry)
			rs_table_put(c->items[i].entry);
}

/* Looks at the rsockets, and prepares sleep_on. Returns how many have events. */
static int check(struct poll_call *c, bool arm)
{
	int ready = 0;

	for (nfds_t i = 0; i < c->count; i++) {
		struct pollfd *fd = &c->fds[i], *on = &c->sleep_on[i];

		*on = *fd;
		fd->revents = 0;
		if (!c->items[i].entry)
			continue;
		fd->revents = rs_pollable_check(&c->items[i], fd->events, arm, &on->fd);
		on->events = POLLIN;
		ready += fd->revents != 0;
	}
	return ready;
}

/* Sleeps, or only looks at ordinary descriptors if the time is 0. How many of them have events. */
static int look_at_ordinary(struct poll_call *c, bool armed, int timeout_ms)
{
	int ready = 0;

	if (!c->has_ordinary && !timeout_ms)
		return 0;
	c->sleep_on[c->count] = (struct pollfd){ .fd = armed ? c->wake_fd : -1, .events = POLLIN };
	if (!armed)
		for (nfds_t i = 0; i < c->count; i++)
			if (c->items[i].entry)
				c->sleep_on[i].fd = -1;
	if (poll(c->sleep_on, c->count + 1, timeout_ms) < 0)
		return -errno;
	for (nfds_t i = 0; i < c->count; i++) {
		if (!c->sleep_on[i].revents)
			continue;
		if (c->items[i].entry) {
			rs_pollable_take(&c->items[i]);
		} else {
			c->fds[i].revents = c->sleep_on[i].revents;
			ready++;
		}
	}
	if (c->sleep_on[c->count].revents)
		rs_wake_fd_clear(c->wake_fd);
	return ready;
}

/* Looks once at both kinds of descriptors; returns how many of either have events. */
static int look(struct poll_call *c, bool arm, int timeout_ms)
{
	const int ready = check(c, arm);
	const int ordinary = look_at_ordinary(c, arm, ready ? 0 : timeout_ms);

	return ordinary < 0 ? ordinary : ready + ordinary;
}

/* No longer than the administrator allows, in case an event was missed. */
static int sleep_ms(uint64_t end_us, bool forever)
{
	const uint64_t now = now_us(), most = rs_state.config.wake_up_ms;
	uint64_t left;

	if (forever)
		return most;
	if (now >= end_us)
		return 0;
	left = (end_us - now + 999) / 1000;
	return left < most ? left : most;
}

static bool interrupted(const struct poll_call *c)
{
	bool is_so;

	if (!c->interrupt)
		return false;
	pthread_mutex_lock(c->interrupt->lock);
	is_so = *c->interrupt->generation != c->interrupt->seen;
	pthread_mutex_unlock(c->interrupt->lock);
	return is_so;
}

static void enlist(struct poll_call *c)
{
	for (nfds_t i = 0; i < c->count; i++)
		if (c->items[i].entry)
			rs_pollable_enlist(&c->items[i], c->wake_fd);
	if (c->interrupt) {
		c->sleeper.wake_fd = c->wake_fd;
		pthread_mutex_lock(c->interrupt->lock);
		LIST_INSERT_HEAD(c->interrupt->sleepers, &c->sleeper, link);
		pthread_mutex_unlock(c->interrupt->lock);
	}
}

static void delist(struct poll_call *c)
{
	for (nfds_t i = 0; i < c->count; i++)
		if (c->items[i].entry)
			rs_pollable_delist(&c->items[i]);
	if (c->interrupt) {
		pthread_mutex_lock(c->interrupt->lock);
		LIST_REMOVE(&c->sleeper, link);
		pthread_mutex_unlock(c->interrupt->lock);
	}
}

static int sleep_until_ready(struct poll_call *c, uint64_t end_us, bool forever)
{
	bool over;
	int ready;

	c->wake_fd = rs_wake_fd_get();
	if (c->wake_fd < 0)
		return c->wake_fd;
	enlist(c);
	do {
		const int timeout_ms = sleep_ms(end_us, forever);

		over = !timeout_ms || interrupted(c);
		ready = look(c, true, over ? 0 : timeout_ms);
	} while (!ready && !over);
	delist(c);
	rs_wake_fd_put(c->wake_fd);
	return ready;
}

static int run(struct poll_call *c, int timeout_ms)
{
	const uint64_t start = now_us(), end = start + (timeout_ms < 0 ? 0 : timeout_ms) * 1000ull;
	int ready;

	do {
		ready = look(c, false, 0);
		if (ready || !timeout_ms)
			return ready;
	} while (now_us() - start <= rs_state.config.polling_us);
	return sleep_until_ready(c, end, timeout_ms < 0);
}

int rs_poll(struct pollfd *fds, nfds_t count, int timeout_ms,
	    const struct rs_poll_interrupt *interrupt)
{
	struct rs_pollable few_items[FEW], *many_items = NULL;
	struct pollfd few_fds[FEW + 1], *many_fds = NULL;
	struct poll_call c = { .fds = fds, .count = count, .interrupt = interrupt, .wake_fd = -1 };
	int ready;

	if (count && !fds)
		return explain(EFAULT, "rpoll has no descriptors");
	c.items = few_items;
	c.sleep_on = few_fds;
	if (count > FEW) {
		c.items = many_items = calloc(count, sizeof(*many_items));
		c.sleep_on = many_fds = calloc(count + 1, sizeof(*many_fds));
	}
	if (c.items && c.sleep_on) {
		get_items(&c);
		ready = run(&c, timeout_ms);
		put_items(&c);
	} else {
		ready = explain(ENOMEM, "no memory to poll %zu descriptors", (size_t)count);
	}
	free(many_items);
	free(many_fds);
	return ready;
}
