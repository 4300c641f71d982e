/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs, and of other queues that have theirs from the same series. The host
 * directory hands them out in blocks, so that a number names the process that owns it.
 */
#include "hca/device/qpn.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "hca/hca.h"

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
 * Lock held. From a random place in the first half of the block on, so that a stranger does not know the first
 * number. They count up: RSS of a ConnectX-3 needs work queues whose numbers follow each other.
 */
static void add_block(uint32_t first, uint32_t count)
{
	uint32_t start = 0;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = 0;
	start %= (count + 1) / 2;
	for (uint32_t i = 0; i < count; i++)
		if (add_qpn(first + (start + i) % count))
			break;
}

/* Lock held. A number that was in use waits behind all others, so that late packets find no QP. */
static int get_qpn(uint32_t *qpn)
{
	uint32_t first, n;
	int err = 0;

	if (hca.device.qpns.count < 64) {
		err = fabric_qpn_block_get(&first, &n);
		if (!err)
			add_block(first, n);
	}
	/* The reason has been explained. */
	if (!hca.device.qpns.count)
		return err && err != -ENOSPC ? err : -ENOMEM;
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
	/* A number that a forked child has inherited belongs to the parent, also before the child has joined. */
	if (!fabric_self() || fabric_qpn_owner(qpn) != fabric_self())
		return;
	pthread_mutex_lock(&hca.device.qpns.lock);
	add_qpn(qpn);
	pthread_mutex_unlock(&hca.device.qpns.lock);
}
