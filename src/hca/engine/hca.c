/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a process's adapters, and the one place where rooms are joined to those above them:
 * an interface that a lower room calls is set here.
 */
#include "hca/hca.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include "ether/port.h"
#include "ether/state.h"
#include "fabric/clock.h"
#include "fabric/service.h"
#include "hca/engine/host.h"
#include "hca/engine/poll.h"
#include "hca/inspect/failure.h"
#include "hca/memory/copy_server.h"
#include "hca/peers/rpc.h"
#include "hca/raw/raw.h"
#include "hca/raw/rdma_steer.h"
#include "hca/transport/tx_wait.h"
#include "hca/transport/xrc_guest.h"
#include "hca/transport/xrc_open.h"
#include "hca/wire/forward.h"
#include "hca/wire/gsi.h"
#include "hca/wire/wire_network.h"
#include "hca/wire/wire_service.h"
#include "hca/transport/recv.h"
#include "util/forksafe.h"
#include "util/mix.h"

static uint32_t wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint32_t)(now.tv_sec * 1000u + now.tv_nsec / 1000000u);
}

static uint32_t random_word(void)
{
	uint32_t word;

	if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != sizeof(word))
		word = (uint32_t)mix64(fabric_now_ns());
	return word;
}

static const struct hca_clock system_clock = {
	.now_ns = fabric_now_ns,
	.wall_ms = wall_ms,
	.random = random_word,
	.wake_at = fabric_service_set_deadline,
};

static const struct hca_ops ops = {
	.join = hca_host_join,
	.serve_copies = copy_server_open,
	.poll = hca_poll,
	.poll_pause = hca_poll_pause,
};

/* Called in this order. */
static const struct peer_listener *const peer_listeners[] = {
	&forward_peer_listener,
	&rpc_peer_listener,
	&xrc_open_peer_listener,
	&xrc_guest_listener,
	&tx_wait_peer_listener,
	&gsi_peer_listener,
	NULL,
};

struct hca hca = {
	.clock = &system_clock,
	.ops = &ops,
	.network = &wire_network,
	.raw_qp = &raw_qp_ops,
	.failures = &failure_ops,
	.wire_events = &wire_service_events,
	.peer_listeners = peer_listeners,
	.device = DEVICE_STATE_INIT,
	.peers = PEERS_STATE_INIT,
	.memory = MEMORY_STATE_INIT,
	.queue = QUEUE_STATE_INIT,
	.transport = TRANSPORT_STATE_INIT,
	.wire = WIRE_STATE_INIT,
	.raw = RAW_STATE_INIT,
	.inspect = INSPECT_STATE_INIT,
	.engine = ENGINE_STATE_INIT,
};

/*
 * Every lock of the rooms that a thread may hold while another one forks, with its rank: the order
 * in which locks nest (util/forksafe.h).
 */
static const struct {
	pthread_mutex_t *lock;
	enum forksafe_rank rank;
} locks[] = {
	{ &hca.engine.join_lock, FORKSAFE_JOIN },
	{ &hca.device.adapters.lock, FORKSAFE_ADAPTER },
	{ &hca.device.async.lock, FORKSAFE_ASYNC },
	{ &hca.device.port.lock, FORKSAFE_PORT },
	{ &hca.peers.peer.lock, FORKSAFE_OBJECT },
	{ &hca.peers.rpc.lock, FORKSAFE_OBJECT },
	{ &hca.memory.key.lock, FORKSAFE_OBJECT },
	{ &hca.memory.pd.lock, FORKSAFE_OBJECT },
	{ &hca.memory.mr.lock, FORKSAFE_OBJECT },
	{ &hca.memory.mw.lock, FORKSAFE_OBJECT },
	{ &hca.memory.share.lock, FORKSAFE_SHARE },
	{ &hca.memory.mkey.lock, FORKSAFE_OBJECT },
	{ &hca.memory.psv.lock, FORKSAFE_OBJECT },
	{ &hca.memory.signature.lock, FORKSAFE_LEAF },
	{ &hca.memory.dm.lock, FORKSAFE_OBJECT },
	{ &hca.memory.dm_op.lock, FORKSAFE_LEAF },
	{ &hca.memory.copy_server.lock, FORKSAFE_OBJECT },
	{ &hca.memory.crypto.lock, FORKSAFE_LEAF },
	{ &hca.memory.crypto.load_lock, FORKSAFE_LEAF },
	{ &hca.queue.watch_lock, FORKSAFE_DOORBELL },
	{ &hca.queue.cq.lock, FORKSAFE_OBJECT },
	{ &hca.queue.srq.lock, FORKSAFE_OBJECT },
	{ &hca.queue.channel.lock, FORKSAFE_OBJECT },
	{ &hca.queue.cq_moderation.run_lock, FORKSAFE_OBJECT },
	{ &hca.queue.cq_moderation.lock, FORKSAFE_LEAF },
	{ &hca.raw.join_lock, FORKSAFE_JOIN },
	{ &hca.wire.gsi.lock, FORKSAFE_DOORBELL },
	{ &hca.wire.group.lock, FORKSAFE_GROUP },
	{ &hca.wire.ports.lock, FORKSAFE_OBJECT },
	{ &hca.wire.forward.lock, FORKSAFE_OBJECT },
	{ &hca.inspect.set_lock, FORKSAFE_SETTING },
	{ &hca.transport.qps.lock, FORKSAFE_OBJECT },
	{ &hca.device.qpns.lock, FORKSAFE_OBJECT },
	{ &hca.transport.xrc_open.lock, FORKSAFE_OBJECT },
	{ &hca.transport.xrc_open.stand_in_lock, FORKSAFE_OBJECT },
	{ &hca.transport.timers.lock, FORKSAFE_LEAF },
};

_Static_assert(array_size(locks) <= HCA_LOCKS_MAX, "a registration for each lock");

static uint64_t now_ns(void)
{
	return hca_now_ns();
}

__attribute__((constructor)) static void register_locks(void)
{
	ether_port_set_rdma_changed(rdma_steer_update);
	ether_set_clock(now_ns);
	for (size_t i = 0; i < array_size(locks); i++)
		forksafe_add(&hca.engine.lock[i], locks[i].lock, locks[i].rank);
}
