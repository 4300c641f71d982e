/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/engine/poll.h"

#include "fabric/poll.h"
#include "hca/hca.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/raw/netif.h"
#include "hca/transport/tx_wait.h"
#include "hca/wire/wire_acks.h"
#include "hca/wire/wire_poll.h"

void hca_poll(void)
{
	fabric_id_t blocked =
		atomic_load_explicit(&hca.transport.tx_wait_for, memory_order_relaxed);

	fabric_poll_enter();
	fabric_poll_links_unpaused();
	if (unlikely(blocked))
		tx_wait_poll(blocked);
	wire_poll();
	netif_poll();
	doorbell_watch_poll();
}

void hca_poll_pause(void)
{
	fabric_poll_leave();
	fabric_poll_links();
	wire_acks_flush_all();
}

void hca_poll_arrived(void)
{
	fabric_poll_links();
	wire_poll_arrived();
}
