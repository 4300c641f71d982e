/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a process's adapters, and the one place where rooms are joined to those above them:
 * an interface that a lower room calls is set here.
 */
#include "hca/hca.h"

#include "fabric/clock.h"
#include "fabric/service.h"
#include "hca/engine/host.h"

static const struct hca_clock system_clock = {
	.now_ns = fabric_now_ns,
	.wake_at = fabric_service_set_deadline,
};

struct hca hca = {
	.clock = &system_clock,
	.join = hca_host_join,
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
