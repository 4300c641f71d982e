/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaching and detaching a QP changes memberships; the service thread updates them when addresses
 * are added or removed. group.lock is outside of the locks of ports and GID tables.
 */
#include "hca/wire/wire_group.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/wire_path.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_ports.h"
#include "hca/wire/wire_tx.h"
#include "roce/group.h"

#define MAX_INTERFACES 16u

/* One queue pair in one group. */
struct wire_membership {
	LIST_ENTRY(wire_membership) entry;
	const struct qp *qp;
	const struct hca_adapter *adapter;
	unsigned int port_num;
	struct hca_gid group;
	/* Interfaces of the GID table that it has joined on, by an endpoint of each. */
	struct interface {
		struct wire_port *port;
		uint32_t ifindex; /* in the GID table */
		struct roce_addr group;
		bool found;
	} interface[MAX_INTERFACES];
	unsigned int interfaces;
};

static struct interface *find_interface(struct wire_membership *m, uint32_t ifindex)
{
	for (unsigned int i = 0; i < m->interfaces; i++)
		if (m->interface[i].ifindex == ifindex)
			return &m->interface[i];
	return NULL;
}

/* An address that is configured as a GID may be on another interface than the port. */
static struct roce_addr group_at(const struct wire_membership *m, const struct hca_gid_entry *e)
{
	struct roce_addr host = { .ifindex = e->ifindex }, group = { .ifindex = e->ifindex };

	memcpy(host.gid, e->gid.raw, sizeof(host.gid));
	memcpy(group.gid, m->group.raw, sizeof(group.gid));
	roce_addr_interface(&host, &group.ifindex);
	return group;
}

static int join_interface(struct wire_membership *m, const struct hca_gid_entry *e)
{
	struct interface new = { .ifindex = e->ifindex, .found = true };
	int err;

	if (m->interfaces == MAX_INTERFACES)
		return 0;
	err = wire_port_get(e, true, &new.port);
	if (err)
		return err;
	wire_port_set_polled(new.port);
	new.group = group_at(m, e);
	err = roce_group_join(new.port->ep, &new.group);
	if (!err)
		m->interface[m->interfaces++] = new;
	return err;
}

static void leave_interface(struct wire_membership *m, unsigned int i)
{
	roce_group_leave(m->interface[i].port->ep, &m->interface[i].group);
	m->interface[i] = m->interface[--m->interfaces];
}

/* Joins by the first address of the group's family on each interface. */
static enum wire_listen_state update(struct wire_membership *m)
{
	enum wire_listen_state state = WIRE_LISTEN_ALL;
	struct hca_gid_entry e;
	struct interface *joined;

	for (unsigned int i = 0; i < m->interfaces; i++)
		m->interface[i].found = false;
	for (unsigned int i = 0; i < m->adapter->limits.gid_table_len; i++) {
		if (!hca_port_gid_quick(m->adapter, m->port_num, i, &e) ||
		    e.type != HCA_GID_ROCE_V2 ||
		    hca_gid_is_ipv4(&e.gid) != hca_gid_is_ipv4(&m->group))
			continue;
		joined = find_interface(m, e.ifindex);
		if (joined) {
			joined->found = true;
			continue;
		}
		state = wire_listen_worse(state, join_interface(m, &e));
	}
	for (unsigned int i = m->interfaces; i--;)
		if (!m->interface[i].found)
			leave_interface(m, i);
	return state;
}

int wire_group_join(struct qp *qp, const struct hca_gid *group, enum wire_listen_state *state)
{
	struct wire_membership *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->qp = qp;
	m->adapter = qp->pub.ctx->adapter;
	m->port_num = qp->attr.port ? qp->attr.port : 1;
	m->group = *group;
	pthread_mutex_lock(&hca.wire.group.lock);
	LIST_INSERT_HEAD(&hca.wire.group.memberships, m, entry);
	*state = update(m);
	pthread_mutex_unlock(&hca.wire.group.lock);
	return 0;
}

void wire_group_leave(struct qp *qp, const struct hca_gid *group)
{
	struct wire_membership *m;

	pthread_mutex_lock(&hca.wire.group.lock);
	LIST_FOREACH(m, &hca.wire.group.memberships, entry)
		if (m->qp == qp && !memcmp(&m->group, group, sizeof(*group)))
			break;
	if (m) {
		LIST_REMOVE(m, entry);
		while (m->interfaces)
			leave_interface(m, m->interfaces - 1);
	}
	pthread_mutex_unlock(&hca.wire.group.lock);
	free(m);
}

enum wire_listen_state wire_group_update_all(void)
{
	enum wire_listen_state state = WIRE_LISTEN_ALL, one;
	struct wire_membership *m;

	pthread_mutex_lock(&hca.wire.group.lock);
	LIST_FOREACH(m, &hca.wire.group.memberships, entry) {
		one = update(m);
		state = one > state ? one : state;
	}
	pthread_mutex_unlock(&hca.wire.group.lock);
	return state;
}

void wire_group_free_inherited(void)
{
	struct wire_membership *m;

	while ((m = LIST_FIRST(&hca.wire.group.memberships))) {
		LIST_REMOVE(m, entry);
		free(m);
	}
}

void wire_group_send(struct qp *qp, const struct hca_av *av, const struct roce_pkt *pkt,
		     const struct hca_list *list)
{
	struct roce_pkt out = *pkt;
	struct hca_gid_entry src;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &src) ||
	    src.type != HCA_GID_ROCE_V2 ||
	    hca_gid_is_ipv4(&src.gid) != hca_gid_is_ipv4(&av->dgid) || wire_path_connect(qp, av))
		return;
	out.flags &= ~(ROCE_PKT_GRH | ROCE_PKT_MCAST);
	out.dqpn = 0xffffff;
	wire_tx_send(qp, &out, list, 0);
}
