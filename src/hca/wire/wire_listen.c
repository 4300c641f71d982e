/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket cannot be bound to a new IPv6 address until duplicate address detection has ended (a second or
 * two, RFC 4862 5.4), so a failure is followed by more attempts. While something is lacking here, they do not end.
 */
#include "hca/wire/wire_listen.h"

#include <errno.h>

#include "hca/device/adapter_list.h"
#include "hca/device/gid_changes.h"
#include "hca/device/port.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/gsi_mad.h"
#include "hca/wire/wire_group.h"
#include "hca/wire/wire_path.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_ports.h"
#include "roce/endpoint.h"

#define ATTEMPTS   8
#define ATTEMPT_NS 1000000000u
#define SHORT_NS   100000000u /* between attempts while something is lacking */

/* Opens an endpoint at each RoCEv2 address of the port. */
static enum wire_listen_state listen_on(const struct hca_adapter *a, unsigned int port_num)
{
	bool polled = atomic_load(&hca.wire.listen.polled[a->index][port_num - 1]);
	struct hca_gid_entry e;
	enum wire_listen_state state = WIRE_LISTEN_ALL;
	struct wire_port *port;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, port_num, i, &e) && e.type == HCA_GID_ROCE_V2) {
			int err = wire_port_get(&e, true, &port);

			if (!err)
				roce_endpoint_enable_ttl(port->ep);
			if (!err && polled)
				wire_port_set_polled(port);
			state = wire_listen_worse(state, err);
		}
	return state;
}

static uint64_t pause_after(enum wire_listen_state state)
{
	return state == WIRE_LISTEN_SHORT ? SHORT_NS : ATTEMPT_NS;
}

void wire_listen_follow_gids(enum wire_listen_state state)
{
	uint64_t next_ns = hca_now_ns() + pause_after(state);

	atomic_store(&hca.wire.listen.any, true);
	hca_port_wake_on_change();
	if (state == WIRE_LISTEN_ALL)
		return;
	atomic_store(&hca.wire.listen.attempts, ATTEMPTS);
	atomic_store(&hca.wire.listen.next_ns, next_ns);
	hca_wake_at(next_ns);
}

void wire_listen_qp(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	atomic_store(&hca.wire.listen.on[a->index][qp->attr.port - 1], true);
	if (qp->pub.qpn != HCA_GSI_QPN)
		atomic_store(&hca.wire.listen.polled[a->index][qp->attr.port - 1], true);
	wire_listen_follow_gids(listen_on(a, qp->attr.port));
}

/* Every address of every port that is listened on. */
static enum wire_listen_state listen_on_all(void)
{
	enum wire_listen_state state = WIRE_LISTEN_ALL, one;
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return WIRE_LISTEN_SHORT;
	for (int i = 0; i < count; i++)
		for (unsigned int p = 1; (int)p <= list[i]->port_count; p++) {
			if (!atomic_load(&hca.wire.listen.on[i][p - 1]))
				continue;
			one = listen_on(list[i], p);
			state = one > state ? one : state;
		}
	one = wire_group_update_all();
	return one > state ? one : state;
}

uint64_t wire_listen_timers(uint64_t now_ns)
{
	uint32_t changes = hca_gid_changes();
	enum wire_listen_state state;

	if (changes != hca.wire.listen.gid_changes) {
		hca.wire.listen.gid_changes = changes;
		wire_path_follow_links();
		atomic_store(&hca.wire.listen.next_ns, now_ns);
		atomic_store(&hca.wire.listen.attempts, ATTEMPTS);
	}
	if (likely(!atomic_load(&hca.wire.listen.attempts)))
		return UINT64_MAX;
	if (now_ns < atomic_load(&hca.wire.listen.next_ns))
		return atomic_load(&hca.wire.listen.next_ns);
	state = listen_on_all();
	atomic_store(&hca.wire.listen.next_ns, now_ns + pause_after(state));
	if (state == WIRE_LISTEN_ALL)
		atomic_store(&hca.wire.listen.attempts, 0);
	else if (state == WIRE_LISTEN_SOME)
		atomic_fetch_sub(&hca.wire.listen.attempts, 1);
	return state == WIRE_LISTEN_ALL ? UINT64_MAX : atomic_load(&hca.wire.listen.next_ns);
}
