/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of this host are watched by links; those that have none, and processes of other hosts, are looked
 * after here. An answer ends a connection: another process of the host does not know it (REJ), or the host has no process
 * left (ICMP port unreachable). Silence does not: a process that a debugger has stopped is silent, too.
 */
#include "cm/peers.h"

#include "cm/conn.h"
#include "cm/state.h"
#include "hca/wire/gsi.h"
#include "hca/wire/gsi_hosts.h"
#include "hca/wire/gsi_route.h"
#include "hca/wire/gsi_send.h"

#define INTERVAL_NS 1000000000u
#define AT_ONCE     256 /* connections that are probed at a time, or a few more */
#define UNANSWERED                                                                                 \
	3 /* probes after which the host is asked; forged ICMP ends no connection before */

static void probe(struct conn *conn, uint64_t now_ns)
{
	if (conn->unanswered >= UNANSWERED &&
	    hca_gsi_host_refuses(conn->route.adapter, &conn->route.av))
		conn_peer_died(conn, now_ns);
	else
		conn_probe(conn);
}

/* A process of this host that had no link with this one when the connection was made. False: there is no more to do. */
static bool look_after_local(struct conn *conn, uint64_t now_ns)
{
	if (!conn->process || hca_gsi_watch_process(conn->process))
		return false;
	if (hca_gsi_process_is_alive(conn->process))
		return true;
	conn_peer_died(conn, now_ns);
	return false;
}

void cm_peers_watch(uint64_t now_ns)
{
	if (!cm.peers.due_ns)
		cm.peers.due_ns = now_ns + INTERVAL_NS;
	hca_gsi_set_timer(cm.agent, cm.peers.due_ns);
}

void cm_peers_run(uint64_t now_ns)
{
	/* Of many connections each is in one of several groups, which take turns. */
	uint32_t groups = 1 + (uint32_t)(cm.conns.by_local.count / AT_ONCE);
	struct conn *conn;
	uint32_t i = 0;
	bool any = false;

	if (!cm.peers.due_ns)
		return;
	if (now_ns >= cm.peers.due_ns) {
		cm.peers.due_ns = 0;
		cm.peers.turn++;
		LIST_FOREACH(conn, &cm.conns.all, entry) {
			if (!conn->is_remote) {
				any |= look_after_local(conn, now_ns);
				continue;
			}
			any = true;
			if (conn->state == CONN_ESTABLISHED &&
			    i++ % groups == cm.peers.turn % groups)
				probe(conn, now_ns);
		}
		if (!any)
			return;
	}
	cm_peers_watch(now_ns);
}
