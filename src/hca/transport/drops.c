/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/drops.h"

#include <stdatomic.h>

#include "hca/hca.h"

_Static_assert(DROP_REASONS <= TRANSPORT_DROP_REASONS, "a counter per reason");

void drop_count(enum drop_reason why)
{
	atomic_fetch_add_explicit(&hca.transport.dropped[why], 1, memory_order_relaxed);
}

uint64_t drop_counted(enum drop_reason why)
{
	return atomic_load_explicit(&hca.transport.dropped[why], memory_order_relaxed);
}

const char *drop_reason_name(enum drop_reason why)
{
	static const char *const names[] = {
		[DROP_PKEY] = "another partition",
		[DROP_NO_QP] = "no such queue pair on this host",
		[DROP_STRANGER] = "not from the peer of the connection",
		[DROP_KIND] = "not of the queue pair's transport",
		[DROP_STATE] = "the queue pair does not receive",
		[DROP_QKEY] = "another Q_Key",
		[DROP_NO_RECEIVE] = "no receive was posted",
		[DROP_TOO_LONG] = "longer than the receive",
		[DROP_UNASKED] = "an answer to nothing that is open",
		[DROP_SEEN] = "requests that came before",
		[DROP_GUESS] = "after too many wrong packet numbers",
	};

	return names[why];
}
