/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a process's adapters, and the one place where rooms are joined to those above them:
 * an interface that a lower room calls is set here.
 */
#include "hca/hca.h"

#include <pthread.h>

#include "fabric/clock.h"
#include "fabric/service.h"
#include "hca/engine/host.h"
#include "hca/memory/copy_server.h"
#include "util/forksafe.h"

static const struct hca_clock system_clock = {
	.now_ns = fabric_now_ns,
	.wake_at = fabric_service_set_deadline,
};

static const struct hca_ops ops = {
	.join = hca_host_join,
	.serve_copies = copy_server_open,
};

struct hca hca = {
	.clock = &system_clock,
	.ops = &ops,
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
	{ &hca.device.adapters.lock, FORKSAFE_ADAPTER },
	{ &hca.device.async.lock, FORKSAFE_ASYNC },
	{ &hca.device.port.lock, FORKSAFE_PORT },
};

_Static_assert(array_size(locks) <= HCA_LOCKS_MAX, "a registration for each lock");

__attribute__((constructor)) static void register_locks(void)
{
	for (size_t i = 0; i < array_size(locks); i++)
		forksafe_add(&hca.engine.lock[i], locks[i].lock, locks[i].rank);
}
