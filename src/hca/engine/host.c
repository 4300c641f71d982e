/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter's side of the fabric: joins it and registers its callbacks.
 *
 * Locks, outermost first: link receive lock (the fabric's, during a drain), QP, link send lock or
 * CQ, innermost. join_lock is outside of them all.
 */
#include "hca/engine/host.h"

#include <pthread.h>
#include <string.h>

#include "fabric/barrier.h"
#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/poll.h"
#include "fabric/segment.h"
#include "fabric/share.h"
#include "hca/hca.h"
#include "hca/memory/mr_defer.h"
#include "hca/memory/mr_suspend.h"
#include "hca/memory/vm_copy.h"
#include "hca/transport/acks.h"
#include "hca/peers/rpc.h"
#include "hca/queue/doorbell_trap.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/hca.h"
#include "hca/inspect/control.h"
#include "hca/inspect/dump.h"
#include "hca/queue/cq_moderation.h"
#include "hca/engine/drain.h"
#include "hca/engine/fork.h"
#include "hca/raw/netif.h"
#include "hca/peers/peer.h"
#include "hca/device/async.h"
#include "hca/device/port.h"
#include "hca/transport/completer.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/timer.h"
#include "hca/inspect/inspect.h"
#include "hca/inspect/report.h"
#include "hca/inspect/snapshot.h"
#include "hca/wire/gsi.h"
#include "hca/wire/wire_service.h"
#include "hca/raw/wq.h"
#include "util/explain.h"
#include "util/forksafe.h"
#include "util/valgrind.h"

static uint64_t timers(uint64_t now_ns)
{
	uint64_t due[] = { timer_run(now_ns, completer_timeout),
			   wire_timers(now_ns),
			   doorbell_watch_run(now_ns),
			   cq_moderation_run(now_ns),
			   acks_timers(now_ns),
			   mr_suspend_run(now_ns),
			   mr_defer_run(now_ns),
			   dump_run(now_ns) };
	uint64_t next = UINT64_MAX;

	gsi_notice_changes();
	for (size_t i = 0; i < array_size(due); i++)
		if (due[i] < next)
			next = due[i];
	return next;
}

static void before_fork(void)
{
	forksafe_lock_all();
	inspect_fork_prepare();
}

static void after_fork(void)
{
	inspect_fork_done();
	forksafe_unlock_all();
}

static const struct fabric_config config = {
	.segment_size = sizeof(struct hca_segment),
	.mailbox_size = sizeof(struct copy_area),
	.share_fd = share_fd,
	.describe = snapshot_describe,
	.drain = drain_link,
	.link_up = peer_link_up,
	.link_down = peer_link_down,
	.link_room = peer_link_room,
	.polling_stopped = wire_polling_stopped,
	.polling_check = wire_polling_check,
	.timers = timers,
	.before_sleep = doorbell_trap_before_sleep,
	.fork_begins = mr_suspend_fork_begins,
	.fork_ends = mr_suspend_fork_ends,
	.before_fork = before_fork,
	.after_fork = after_fork,
	.forked = hca_forked,
};

/* The link of the process to itself takes a moment to come up: request it before it is needed. */
static void link_self(void)
{
	struct fabric_link *link = fabric_link_get(fabric_self());

	if (link)
		fabric_link_put(link);
}

int hca_host_join(void)
{
	int err = 0;

	pthread_mutex_lock(&hca.engine.join_lock);
	if (!fabric_is_up()) {
		peer_begin();
		err = inspect_set_up();
		if (err)
			goto unlock;
		report_init();
		err = fabric_init(&config);
		if (!err) {
			hca.peers.segment = fabric_segment_self();
			valgrind_mark_unused(hca.peers.segment->mr,
					     sizeof(hca.peers.segment->mr) +
						     sizeof(hca.peers.segment->grant));
			atomic_store(&hca.peers.segment->copies_guarded, vm_copy_is_guarded());
			mr_suspend_joined();
			atomic_store(&hca.peers.no_membarrier, !barrier_has_private());
			control_start();
			dump_start();
			link_self();
		} else
			explain(-err, "this process cannot join the host's fabric: %s",
				strerror(-err));
	}
unlock:
	pthread_mutex_unlock(&hca.engine.join_lock);
	return err;
}
