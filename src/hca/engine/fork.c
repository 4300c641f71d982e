/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place that says what the child of a fork keeps of its parent's state. A child keeps
 * objects that it may still destroy, with the tables that they stand in, and all that is constant;
 * it has no peers, no sockets, no service thread and no numbers of the host, and gets them anew when
 * it opens a context.
 */
#include "hca/engine/fork.h"

#include <pthread.h>
#include <string.h>

#include "ether/port.h"
#include "hca/device/async.h"
#include "hca/device/port.h"
#include "hca/device/table.h"
#include "hca/hca.h"
#include "hca/inspect/control.h"
#include "hca/inspect/dump.h"
#include "hca/memory/mr_suspend.h"
#include "hca/queue/cq_alias.h"
#include "hca/queue/cq_moderation.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/uar.h"
#include "hca/queue/spin_policy.h"
#include "hca/queue/uffd.h"
#include "hca/raw/netif.h"
#include "hca/transport/packet_filter.h"
#include "hca/wire/forward.h"
#include "hca/wire/gsi_hosts.h"
#include "hca/wire/wire_group.h"
#include "hca/wire/wire_ports.h"

/* Keeps the adapters, the tables of ports and their LIDs. */
static void reset_device(void)
{
	hca_port_forked();
	hca_async_forked();
	hca.device.qpns.count = 0; /* numbers of queue pairs are the parent's */
}

/* Keeps all tables: the child may still destroy its parent's objects. Numbers are the parent's. */
static void reset_memory(void)
{
	hca_numbers_fini(&hca.memory.key.numbers);
	hca.memory.key.secret = 0;
	mr_suspend_forked();
	hca.memory.copy_server.started = false;
}

/* Keeps the tables of CQs and SRQs; the child watches no rings. */
static void reset_queue(void)
{
	cq_moderation_forked();
	doorbell_watch_forked();
	uar_forked();
	cq_alias_forked();
	uffd_forked();
	spin_policy_forked();
}

/* Keeps the segment (a private copy in the child), and the handlers of calls and of exits. */
static void reset_peers(void)
{
	atomic_store(&hca.peers.no_membarrier, true); /* the child is not registered */
	memset((void *)hca.peers.peer.by_slot, 0,
	       hca.peers.peer.end * sizeof(hca.peers.peer.by_slot[0]));
	hca.peers.peer.end = 0;
	hca.peers.peer.leaving = NULL;
	hca.peers.peer.changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	LIST_INIT(&hca.peers.rpc.pending);
	hca.peers.rpc.replied = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/* Queue pairs of the parent are not found any more. They count until the child destroys them. */
static void reset_transport(void)
{
	size_t users = hca.transport.timers.users;
	const struct packet_trace *trace = hca.transport.filter.trace;

	hca_table_fini(&hca.transport.qps.table);
	heap_fini(&hca.transport.timers.heap); /* which tells the nodes that they are in none */
	hca.transport = (struct transport_state)TRANSPORT_STATE_INIT;
	hca.transport.timers.users = users;
	hca.transport.filter.trace = trace;
}

/* Keeps the numbers of indirection tables, and which adapter a port's index stands for. */
static void reset_raw(void)
{
	ether_port_forked();
	packet_filter_forked();
	netif_close_all();
	hca.raw.netif = (struct netif_state){ .count = 0 };
	hca.raw.wq = (struct wq_state){ 0 };
	memset(hca.raw.vswitch.joined, 0, sizeof(hca.raw.vswitch.joined));
	memset(hca.raw.vswitch.members, 0, sizeof(hca.raw.vswitch.members));
}

/* Keeps counters, serial numbers, and the inspection of endpoints. The sockets are the parent's. */
static void reset_wire(void)
{
	wire_close_inherited();
	wire_group_free_inherited();
	forward_free_inherited();
	memset((void *)hca.wire.listen.on, 0, sizeof(hca.wire.listen.on));
	memset((void *)hca.wire.listen.polled, 0, sizeof(hca.wire.listen.polled));
	atomic_store(&hca.wire.listen.any, false);
	LIST_INIT(&hca.wire.gsi.agents);
	LIST_INIT(&hca.wire.gsi.senders);
	gsi_hosts_close_inherited();
	STAILQ_INIT(&hca.wire.gsi.unclaimed);
	hca.wire.gsi.unclaimed_count = 0;
	atomic_store(&hca.wire.gsi.waiting, 0);
	hca.wire.gsi.run_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void hca_forked(void)
{
	reset_peers();
	reset_device();
	reset_memory();
	reset_queue();
	reset_transport();
	control_stop();
	dump_forked();
	reset_wire();
	reset_raw();
}
