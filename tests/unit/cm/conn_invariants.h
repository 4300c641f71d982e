/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Invariants of a table of connections, which hold between any two calls.
 */
#ifndef TESTS_CM_CONN_INVARIANTS_H
#define TESTS_CM_CONN_INVARIANTS_H

#include "cm/conn.h"

static inline bool conn_needs_timer(const struct conn *conn)
{
	return conn->state == CONN_REQ_SENT || conn->state == CONN_REP_SENT ||
	       conn->state == CONN_DREQ_SENT || conn->state == CONN_TIMEWAIT;
}

static inline bool conn_is_in(const struct hash *h, const struct hash_link *wanted)
{
	struct hash_link *link = hash_find(h, wanted->key);

	while (link && link != wanted)
		link = hash_next(link);
	return link;
}

static inline const char *conn_broken_by(const struct conn_table *table, struct conn *conn)
{
	if (conn->table != table)
		return "a connection is in another table";
	if (!conn->local_id || conn_find_local(conn->table, conn->local_id) != conn)
		return "a connection is not found by its id";
	if (conn->remote_id && (!conn_is_in(&table->by_remote, &conn->by_remote) ||
				!conn_is_in(&table->by_qpn, &conn->by_qpn)))
		return "a connection is not found by its peer";
	if (conn_needs_timer(conn) != heap_contains(&conn->timer))
		return "a timer runs in the wrong states";
	if (!conn->owner && conn->state != CONN_DREQ_SENT && conn->state != CONN_TIMEWAIT)
		return "a connection without an owner does not end by itself";
	return NULL;
}

/* NULL, or what is wrong. */
static inline const char *conn_table_broken(const struct conn_table *table)
{
	size_t count = 0, remotes = 0, timers = 0;
	const char *wrong;
	struct conn *conn;

	LIST_FOREACH(conn, &table->all, entry) {
		wrong = conn_broken_by(table, conn);
		if (wrong)
			return wrong;
		count++;
		remotes += conn->remote_id != 0;
		timers += heap_contains(&conn->timer);
	}
	if (table->by_local.count != count || table->by_remote.count != remotes ||
	    table->by_qpn.count != remotes)
		return "a hash table has links of no connection";
	if (table->timers.nodes.count != timers)
		return "the heap has timers of no connection";
	return NULL;
}

#endif
