/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs, and of other queues that have theirs from the same series. The host
 * directory hands them out in blocks, so that a number names the process that owns it.
 */
#include "hca/transport/qpn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fabric/numbers.h"
#include "hca/hca.h"
#include "util/explain.h"

static int add_qpn(uint32_t qpn)
{
	if (hca.transport.qpns.count == hca.transport.qpns.room) {
		size_t room = hca.transport.qpns.room ? 2 * hca.transport.qpns.room : 1024;
		uint32_t *q = malloc(room * sizeof(*q));

		if (!q)
			return -ENOMEM;
		for (size_t i = 0; i < hca.transport.qpns.count; i++)
			q[i] = hca.transport.qpns.free[(hca.transport.qpns.head + i) %
						       hca.transport.qpns.room];
		free(hca.transport.qpns.free);
		hca.transport.qpns.free = q;
		hca.transport.qpns.room = room;
		hca.transport.qpns.head = 0;
	}
	hca.transport.qpns.free[(hca.transport.qpns.head + hca.transport.qpns.count++) %
				hca.transport.qpns.room] = qpn;
	return 0;
}

/* A number that was in use waits behind all others, so that late packets find nobody. */
static int get_qpn(uint32_t *qpn)
{
	uint32_t first, n;

	if (hca.transport.qpns.count < 64 && !fabric_qpn_block_get(&first, &n))
		for (uint32_t i = 0; i < n; i++)
			if (add_qpn(first + i))
				break;
	if (!hca.transport.qpns.count)
		return explain(ENOMEM, "all queue pair numbers of the host are taken");
	*qpn = hca.transport.qpns.free[hca.transport.qpns.head];
	hca.transport.qpns.head = (hca.transport.qpns.head + 1) % hca.transport.qpns.room;
	hca.transport.qpns.count--;
	return 0;
}

int hca_qpn_reserve(uint32_t *qpn)
{
	int err;

	pthread_mutex_lock(&hca.transport.qpns.lock);
	err = get_qpn(qpn);
	pthread_mutex_unlock(&hca.transport.qpns.lock);
	return err;
}

void hca_qpn_release(uint32_t qpn)
{
	pthread_mutex_lock(&hca.transport.qpns.lock);
	add_qpn(qpn);
	pthread_mutex_unlock(&hca.transport.qpns.lock);
}
