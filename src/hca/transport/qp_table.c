/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of queue pairs, and of other queues that have theirs from the same series; who has which;
 * the list of all. One lock for all three; finding takes none, but needs a guard.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "fabric/numbers.h"
#include "hca/transport/qp_priv.h"
#include "util/explain.h"
#include "util/forksafe.h"

static pthread_mutex_t qp_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(qp_lock, FORKSAFE_OBJECT);
struct hca_table qp_table;
static struct qp *all;
static uint32_t *free_qpns;
static size_t free_head, free_count, free_room;

static int add_qpn(uint32_t qpn)
{
	if (free_count == free_room) {
		size_t room = free_room ? 2 * free_room : 1024;
		uint32_t *q = malloc(room * sizeof(*q));

		if (!q)
			return -ENOMEM;
		for (size_t i = 0; i < free_count; i++)
			q[i] = free_qpns[(free_head + i) % free_room];
		free(free_qpns);
		free_qpns = q;
		free_room = room;
		free_head = 0;
	}
	free_qpns[(free_head + free_count++) % free_room] = qpn;
	return 0;
}

/* A number that was in use waits behind all others, so that late packets find nobody. */
static int get_qpn(uint32_t *qpn)
{
	uint32_t first, n;

	if (free_count < 64 && !fabric_qpn_block_get(&first, &n))
		for (uint32_t i = 0; i < n; i++)
			if (add_qpn(first + i))
				break;
	if (!free_count)
		return explain(ENOMEM, "all queue pair numbers of the host are taken");
	*qpn = free_qpns[free_head];
	free_head = (free_head + 1) % free_room;
	free_count--;
	return 0;
}

int hca_qpn_reserve(uint32_t *qpn)
{
	int err;

	pthread_mutex_lock(&qp_lock);
	err = get_qpn(qpn);
	pthread_mutex_unlock(&qp_lock);
	return err;
}

void hca_qpn_release(uint32_t qpn)
{
	pthread_mutex_lock(&qp_lock);
	add_qpn(qpn);
	pthread_mutex_unlock(&qp_lock);
}

/* In a forked child: the parent's numbers and queue pairs are not ours. */
void hca_qp_forked(void)
{
	free_count = 0;
	all = NULL;
	hca_table_fini(&qp_table);
}

static void link_locked(struct qp *qp)
{
	qp->all_next = all;
	if (all)
		all->all_prev = qp;
	all = qp;
}

static void unlink_locked(struct qp *qp)
{
	if (qp->all_next)
		qp->all_next->all_prev = qp->all_prev;
	if (qp->all_prev)
		qp->all_prev->all_next = qp->all_next;
	else
		all = qp->all_next;
}

void qp_link(struct qp *qp)
{
	pthread_mutex_lock(&qp_lock);
	link_locked(qp);
	pthread_mutex_unlock(&qp_lock);
}

void qp_unlink(struct qp *qp)
{
	pthread_mutex_lock(&qp_lock);
	unlink_locked(qp);
	pthread_mutex_unlock(&qp_lock);
}

void qp_for_each(void (*fn)(struct qp *qp))
{
	pthread_mutex_lock(&qp_lock);
	for (struct qp *qp = all; qp; qp = qp->all_next)
		fn(qp);
	pthread_mutex_unlock(&qp_lock);
}

int qp_enlist(struct qp *qp)
{
	int err;

	pthread_mutex_lock(&qp_lock);
	err = get_qpn(&qp->pub.qpn);
	if (!err)
		err = hca_table_set(&qp_table, qp->pub.qpn, qp);
	if (!err)
		link_locked(qp);
	pthread_mutex_unlock(&qp_lock);
	return err;
}

void qp_unlist(struct qp *qp)
{
	pthread_mutex_lock(&qp_lock);
	hca_table_set(&qp_table, qp->pub.qpn, NULL);
	unlink_locked(qp);
	pthread_mutex_unlock(&qp_lock);
}
