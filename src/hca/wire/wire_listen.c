/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket cannot be bound to a new IPv6 address until duplicate address detection has ended (a second or
 * two, RFC 4862 5.4), so a failure is followed by more attempts.
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

/* Opens an endpoint at each RoCEv2 address of the port. False when an address cannot be bound yet. */
static bool listen_on(const struct hca_adapter *a, unsigned int port_num)
{
	bool polled = atomic_load(&hca.wire.listen.polled[a->index][port_num - 1]);
	struct hca_gid_entry e;
	struct wire_port *port;
	bool all = true;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, port_num, i, &e) && e.type == HCA_GID_ROCE_V2) {
			int err = wire_port_get(&e, true, &port);

			if (!err)
				roce_endpoint_enable_ttl(port->ep);
			if (!err && polled)
				wire_port_set_polled(port);
			if (err == -EADDRNOTAVAIL)
				all = false;
		}
	return all;
}

void wire_listen_follow_gids(bool all_open)
{
	atomic_store(&hca.wire.listen.any, true);
	hca_port_wake_on_change();
	if (!all_open) {
		atomic_store(&hca.wire.listen.attempts, ATTEMPTS);
		hca_wake_at(hca_now_ns() + ATTEMPT_NS);
	}
}

void wire_listen_qp(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	atomic_store(&hca.wire.listen.on[a->index][qp->attr.port - 1], true);
	if (qp->pub.qpn != HCA_GSI_QPN)
		atomic_store(&hca.wire.listen.polled[a->index][qp->attr.port - 1], true);
	wire_listen_follow_gids(listen_on(a, qp->attr.port));
}

uint64_t wire_listen_timers(uint64_t now_ns)
{
	uint32_t changes = hca_gid_changes();
	const struct hca_adapter *const *list;
	bool all = true;
	int count;

	if (changes != hca.wire.listen.gid_changes) {
		hca.wire.listen.gid_changes = changes;
		wire_path_follow_links();
		hca.wire.listen.next_ns = now_ns;
		atomic_store(&hca.wire.listen.attempts, ATTEMPTS);
	}
	if (likely(!atomic_load(&hca.wire.listen.attempts)))
		return UINT64_MAX;
	if (now_ns < hca.wire.listen.next_ns)
		return hca.wire.listen.next_ns;
	hca.wire.listen.next_ns = now_ns + ATTEMPT_NS;
	atomic_fetch_sub(&hca.wire.listen.attempts, 1);
	if (hca_adapters_get(&list, &count))
		return UINT64_MAX;
	for (int i = 0; i < count; i++)
		for (unsigned int p = 1; (int)p <= list[i]->port_count; p++)
			if (atomic_load(&hca.wire.listen.on[i][p - 1]) && !listen_on(list[i], p))
				all = false;
	all &= wire_group_update_all();
	if (all)
		atomic_store(&hca.wire.listen.attempts, 0);
	return all ? UINT64_MAX : hca.wire.listen.next_ns;
}
