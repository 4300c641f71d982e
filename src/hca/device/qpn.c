/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs, and of other queues that have theirs from the same series. The host
 * directory hands them out in blocks, so that a number names the process that owns it.
 */
#include "hca/device/qpn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fabric/numbers.h"
#include "hca/hca.h"
#include "util/explain.h"

/* Lock held. */
static int add_qpn(uint32_t qpn)
{
	if (hca.device.qpns.count == hca.device.qpns.room) {
		size_t room = hca.device.qpns.room ? 2 * hca.device.qpns.room : 1024;
		uint32_t *q = malloc(room * sizeof(*q));

		if (!q)
			return -ENOMEM;
		for (size_t i = 0; i < hca.device.qpns.count; i++)
			q[i] = hca.device.qpns
				       .free[(hca.device.qpns.head + i) % hca.device.qpns.room];
		free(hca.device.qpns.free);
		hca.device.qpns.free = q;
		hca.device.qpns.room = room;
		hca.device.qpns.head = 0;
	}
	hca.device.qpns
		.free[(hca.device.qpns.head + hca.device.qpns.count++) % hca.device.qpns.room] =
		qpn;
	return 0;
}

/*
 * Lock held. In random order: the number of one queue pair does not tell those of others. Without
 * random bytes they count up.
 */
static void add_block(uint32_t first, uint32_t count)
{
	uint32_t order[FABRIC_QPN_BLOCK], random[FABRIC_QPN_BLOCK];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		memset(random, 0, sizeof(random));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = random[i] % (i + 1);

		order[i] = order[at];
		order[at] = first + i;
	}
	for (uint32_t i = 0; i < count; i++)
		if (add_qpn(order[i]))
			break;
}

/* Lock held. A number that was in use waits behind all others, so that late packets find no QP. */
static int get_qpn(uint32_t *qpn)
{
	uint32_t first, n;

	if (hca.device.qpns.count < 64 && !fabric_qpn_block_get(&first, &n))
		add_block(first, n);
	if (!hca.device.qpns.count)
		return explain(ENOMEM, "all queue pair numbers of the host are taken");
	*qpn = hca.device.qpns.free[hca.device.qpns.head];
	hca.device.qpns.head = (hca.device.qpns.head + 1) % hca.device.qpns.room;
	hca.device.qpns.count--;
	return 0;
}

int hca_qpn_reserve(uint32_t *qpn)
{
	int err;

	pthread_mutex_lock(&hca.device.qpns.lock);
	err = get_qpn(qpn);
	pthread_mutex_unlock(&hca.device.qpns.lock);
	return err;
}

void hca_qpn_release(uint32_t qpn)
{
	pthread_mutex_lock(&hca.device.qpns.lock);
	add_qpn(qpn);
	pthread_mutex_unlock(&hca.device.qpns.lock);
}
