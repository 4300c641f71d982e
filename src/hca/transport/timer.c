/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/timer.h"

#include <pthread.h>

#include "fabric/epoch.h"

#define BATCH 64

uint64_t timer_ack_ns(uint8_t timeout)
{
	return timeout ? 4096ull << (timeout & 31) : 0;
}

/* In units of 10 us. */
uint64_t timer_rnr_ns(uint8_t code)
{
	static const uint32_t table[32] = { 65536, 1,    2,    3,     4,     6,     8,     12,
					    16,    24,   32,   48,    64,    96,    128,   192,
					    256,   384,  512,  768,   1024,  1536,  2048,  3072,
					    4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	return table[code & 31] * 10000ull;
}

int timer_reserve(void)
{
	int err;

	pthread_mutex_lock(&hca.transport.timers.lock);
	err = heap_reserve(&hca.transport.timers.heap, hca.transport.timers.users + 1);
	hca.transport.timers.users += !err;
	pthread_mutex_unlock(&hca.transport.timers.lock);
	return err;
}

void timer_unreserve(void)
{
	pthread_mutex_lock(&hca.transport.timers.lock);
	hca.transport.timers.users--;
	pthread_mutex_unlock(&hca.transport.timers.lock);
}

void timer_wake(struct qp *qp, uint64_t at_ns)
{
	pthread_mutex_lock(&hca.transport.timers.lock);
	if (!heap_contains(&qp->timer) || at_ns < qp->timer.key)
		heap_set(&hca.transport.timers.heap, &qp->timer, at_ns);
	pthread_mutex_unlock(&hca.transport.timers.lock);
	hca_wake_at(at_ns);
}

void timer_start(struct qp *qp, uint64_t at_ns)
{
	qp->comp.timeout_at = at_ns;
	qp->comp.progress = false;
	timer_wake(qp, at_ns);
}

void timer_pause(struct qp *qp, uint64_t ns)
{
	qp->comp.rnr_until = hca_now_ns() + ns;
	timer_wake(qp, qp->comp.rnr_until);
}

void timer_forget(struct qp *qp)
{
	pthread_mutex_lock(&hca.transport.timers.lock);
	heap_remove(&hca.transport.timers.heap, &qp->timer);
	pthread_mutex_unlock(&hca.transport.timers.lock);
}

static uint64_t next_of(const struct qp *qp)
{
	uint64_t next = UINT64_MAX;

	if (qp->comp.timeout_at)
		next = qp->comp.timeout_at;
	if (qp->comp.rnr_until && qp->comp.rnr_until < next)
		next = qp->comp.rnr_until;
	if (qp->comp.probe.at && qp->comp.probe.at < next)
		next = qp->comp.probe.at;
	return next;
}

/* Takes QPs whose time has come out of the heap. Inside an epoch section, so that none is freed. */
static size_t take_due(uint64_t now_ns, struct qp **due, uint64_t *next_ns)
{
	struct heap *heap = &hca.transport.timers.heap;
	struct heap_node *node;
	size_t n = 0;

	pthread_mutex_lock(&hca.transport.timers.lock);
	while (n < BATCH && (node = heap_first(heap)) && node->key <= now_ns) {
		heap_remove(heap, node);
		due[n++] = container_of(node, struct qp, timer);
	}
	node = heap_first(heap);
	*next_ns = node ? node->key : UINT64_MAX;
	pthread_mutex_unlock(&hca.transport.timers.lock);
	return n;
}

uint64_t timer_run(uint64_t now_ns, void (*expire)(struct qp *qp, uint64_t now_ns))
{
	struct qp *due[BATCH];
	uint64_t next_ns, then;
	size_t n;

	epoch_enter();
	n = take_due(now_ns, due, &next_ns);
	for (size_t i = 0; i < n; i++) {
		fabric_lock(&due[i]->pub.lock);
		if (!due[i]->dying) {
			expire(due[i], now_ns);
			then = next_of(due[i]);
			if (then != UINT64_MAX)
				timer_wake(due[i], then);
			if (then < next_ns)
				next_ns = then;
		}
		fabric_unlock(&due[i]->pub.lock);
	}
	epoch_exit();
	return next_ns;
}
