/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups on the wire: heard on every interface of a queue pair's port, those included that come
 * later, and sent to by one address. Attaching and detaching change memberships, the service thread leads
 * them to where addresses came and went.
 *
 * Lock: groups_lock, outside of those of ports and GID tables.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/wire/wire_port.h"
#include "roce/group.h"
#include "util/forksafe.h"

#define MOST_INTERFACES 16u

/* One queue pair in one group. */
struct membership {
	struct membership *next;
	const struct qp *qp;
	const struct hca_adapter *adapter;
	unsigned int port_num;
	struct hca_gid group;
	/* Where it has joined: by an endpoint of the interface, while the GID table knows of that one. */
	struct place {
		struct wire_port *port;
		uint32_t ifindex; /* as the table has it */
		struct roce_addr group;
		bool seen;
	} place[MOST_INTERFACES];
	unsigned int places;
};

static pthread_mutex_t groups_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(groups_lock, FORKSAFE_GROUP);
static struct membership *memberships;

static struct place *find_place(struct membership *m, uint32_t ifindex)
{
	for (unsigned int i = 0; i < m->places; i++)
		if (m->place[i].ifindex == ifindex)
			return &m->place[i];
	return NULL;
}

/* GIDs that were configured may be of another interface than the port. */
static struct roce_addr group_at(const struct membership *m, const struct hca_gid_entry *e)
{
	struct roce_addr host = { .ifindex = e->ifindex }, group = { .ifindex = e->ifindex };

	memcpy(host.gid, e->gid.raw, sizeof(host.gid));
	memcpy(group.gid, m->group.raw, sizeof(group.gid));
	roce_addr_interface(&host, &group.ifindex);
	return group;
}

static int add_place(struct membership *m, const struct hca_gid_entry *e)
{
	struct place place = { .ifindex = e->ifindex, .seen = true };
	int err;

	if (m->places == MOST_INTERFACES)
		return 0;
	err = wire_port_get(e, true, &place.port);
	if (err)
		return err;
	place.group = group_at(m, e);
	err = roce_group_join(place.port->ep, &place.group);
	if (!err)
		m->place[m->places++] = place;
	return err;
}

static void leave_place(struct membership *m, unsigned int i)
{
	roce_group_leave(m->place[i].port->ep, &m->place[i].group);
	m->place[i] = m->place[--m->places];
}

/* By the first address of the group's kind of each interface. False when one is not ready yet. */
static bool reach(struct membership *m)
{
	struct hca_gid_entry e;
	struct place *place;
	bool all = true;
	int err;

	for (unsigned int i = 0; i < m->places; i++)
		m->place[i].seen = false;
	for (unsigned int i = 0; i < m->adapter->limits.gid_table_len; i++) {
		if (!hca_port_gid_quick(m->adapter, m->port_num, i, &e) ||
		    e.type != HCA_GID_ROCE_V2 ||
		    hca_gid_is_ipv4(&e.gid) != hca_gid_is_ipv4(&m->group))
			continue;
		place = find_place(m, e.ifindex);
		if (place) {
			place->seen = true;
			continue;
		}
		err = add_place(m, &e);
		if (err == -EADDRNOTAVAIL || err == -ENODEV)
			all = false;
	}
	for (unsigned int i = m->places; i--;)
		if (!m->place[i].seen)
			leave_place(m, i);
	return all;
}

void wire_join(struct qp *qp, const struct hca_gid *group)
{
	struct membership *m = calloc(1, sizeof(*m));
	bool all;

	if (!m)
		return;
	m->qp = qp;
	m->adapter = qp->pub.ctx->adapter;
	m->port_num = qp->attr.port ? qp->attr.port : 1;
	m->group = *group;
	pthread_mutex_lock(&groups_lock);
	m->next = memberships;
	memberships = m;
	all = reach(m);
	pthread_mutex_unlock(&groups_lock);
	wire_follow_gids(all);
}

void wire_leave(struct qp *qp, const struct hca_gid *group)
{
	struct membership **at = &memberships, *m;

	pthread_mutex_lock(&groups_lock);
	while ((m = *at) && (m->qp != qp || memcmp(&m->group, group, sizeof(*group))))
		at = &m->next;
	if (m) {
		*at = m->next;
		while (m->places)
			leave_place(m, m->places - 1);
	}
	pthread_mutex_unlock(&groups_lock);
	free(m);
}

bool wire_groups_reach(void)
{
	bool all = true;

	pthread_mutex_lock(&groups_lock);
	for (struct membership *m = memberships; m; m = m->next)
		all &= reach(m);
	pthread_mutex_unlock(&groups_lock);
	return all;
}

/* The queue pairs are the parent's, and so are the sockets. */
void wire_groups_forked(void)
{
	while (memberships) {
		struct membership *m = memberships;

		memberships = m->next;
		free(m);
	}
}

void wire_send_group(struct qp *qp, const struct hca_av *av, const struct roce_pkt *pkt,
		     const struct hca_list *list)
{
	struct roce_pkt out = *pkt;
	struct hca_gid_entry src;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &src) ||
	    src.type != HCA_GID_ROCE_V2 ||
	    hca_gid_is_ipv4(&src.gid) != hca_gid_is_ipv4(&av->dgid) || wire_connect(qp, av))
		return;
	out.flags &= ~(ROCE_PKT_GRH | ROCE_PKT_MCAST);
	out.dqpn = 0xffffff;
	wire_send(qp, &out, list, 0);
}
