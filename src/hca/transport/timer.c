/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of queue pairs: acknowledgement timeouts, RNR delays and probes. A busy QP sets its timer once
 * and lets it expire: the expiry looks whether there was progress meanwhile, so sending and
 * receiving never touch it. Hence a timeout comes after one to two times what was asked.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "fabric/clock.h"
#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/transport/qp_priv.h"
#include "util/forksafe.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* innermost */
FORKSAFE(lock, FORKSAFE_LEAF);
static struct qp **timed; /* QPs with a timer */
static size_t count, room;

uint64_t timer_now(void)
{
	return fabric_now_ns();
}

uint64_t timer_ack_ns(uint8_t timeout)
{
	return timeout ? 4096ull << (timeout & 31) : 0;
}

/* IBTA volume 1, table 45, in units of 10 us. */
uint64_t timer_rnr_ns(uint8_t code)
{
	static const uint32_t table[32] = { 65536, 1,    2,    3,     4,     6,     8,     12,
					    16,    24,   32,   48,    64,    96,    128,   192,
					    256,   384,  512,  768,   1024,  1536,  2048,  3072,
					    4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	return table[code & 31] * 10000ull;
}

static bool add(struct qp *qp)
{
	if (count == room) {
		size_t more = room ? 2 * room : 64;
		struct qp **bigger = realloc(timed, more * sizeof(*bigger));

		if (!bigger)
			return false;
		timed = bigger;
		room = more;
	}
	timed[count++] = qp;
	return true;
}

/* Called with the QP's lock held. */
void timer_wake(struct qp *qp, uint64_t at_ns)
{
	pthread_mutex_lock(&lock);
	if (!qp->timer_on)
		qp->timer_on = add(qp);
	pthread_mutex_unlock(&lock);
	fabric_service_set_deadline(at_ns);
}

/* An RNR delay is told from a timeout by rnr_until. */
void timer_start(struct qp *qp, uint64_t at_ns)
{
	if (at_ns != qp->req.rnr_until)
		qp->req.timeout_at = at_ns;
	timer_wake(qp, at_ns);
}

void timer_forget(struct qp *qp)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		if (timed[i] == qp) {
			timed[i] = timed[--count];
			break;
		}
	pthread_mutex_unlock(&lock);
}

static uint64_t next_of(const struct qp *qp)
{
	uint64_t next = UINT64_MAX;

	if (qp->req.timeout_at)
		next = qp->req.timeout_at;
	if (qp->req.rnr_until && qp->req.rnr_until < next)
		next = qp->req.rnr_until;
	if (qp->req.probe.at && qp->req.probe.at < next)
		next = qp->req.probe.at;
	return next;
}

/* Service thread. Guarded, so that a QP destroyed meanwhile stays in memory until we are done. */
uint64_t timer_run(uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	struct qp **due;
	size_t n;

	epoch_enter();
	pthread_mutex_lock(&lock);
	n = count;
	due = n ? malloc(n * sizeof(*due)) : NULL;
	if (due)
		for (size_t i = 0; i < n; i++)
			due[i] = timed[i];
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; due && i < n; i++) {
		uint64_t then;

		fabric_lock(&due[i]->pub.lock);
		if (!due[i]->dying) {
			completer_timeout(due[i], now_ns);
			then = next_of(due[i]);
			if (then == UINT64_MAX) {
				due[i]->timer_on = false;
				timer_forget(due[i]);
			}
			if (then < next)
				next = then;
		}
		fabric_unlock(&due[i]->pub.lock);
	}
	free(due);
	epoch_exit();
	return n && !due ? now_ns + 1000000 : next;
}

void timer_forked(void)
{
	count = 0;
}
