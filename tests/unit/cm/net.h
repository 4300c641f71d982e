/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts with a table of connections each, joined by a network in memory and in virtual time. MADs lie
 * in a queue ordered by the time at which they arrive; loss, duplicates, reordering and flipped bits
 * come from a seed. Everything runs in the calling thread: time stands still until net_step() moves it
 * to the next message or timer. After each step the tables are checked (conn_invariants.h).
 */
#ifndef TESTS_CM_NET_H
#define TESTS_CM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/conn.h"

#define NET_HOSTS     2
#define NET_MOST_SENT 4096
#define MS            1000000ull

/* Shares are in millionths of the messages. */
struct net_faults {
	uint32_t loss;
	uint32_t duplicate;
	uint32_t corrupt;
	uint32_t reorder; /* delayed by up to ten seconds */
	uint64_t delay_ns;
	uint64_t seed;
};

struct net_sent {
	int host; /* that sent it */
	uint16_t kind;
	uint64_t at_ns;
	uint8_t mad[MSG_BYTES];
};

#define NET_MOST_EVENTS 16

/* The owner of a connection, and what it was told. */
struct net_id {
	LIST_ENTRY(net_id) entry;
	struct conn *conn;
	int host;
	bool is_passive;
	struct net_event {
		struct conn_event event;
		uint64_t at_ns;
		uint8_t data[MSG_BYTES];
	} events[NET_MOST_EVENTS];
	unsigned int count, taken;
	/* For tests: the state that it has answered, or will at act_ns. */
	enum conn_state seen;
	uint64_t act_ns;
};

struct net_host {
	struct hca_adapter adapter;
	struct conn_table table;
	uint64_t deadline_ns; /* as set by the connections; 0: none */
	bool is_dead;         /* messages for it are dropped */
	/* The answer to requests, as of conn_ops.request: 0 makes an id. */
	int request_answer;
};

struct net {
	uint64_t now_ns;
	struct net_faults faults;
	struct net_host hosts[NET_HOSTS];
	LIST_HEAD(, net_id) ids;
	struct net_sent sent[NET_MOST_SENT];
	unsigned int sent_count;
	uint64_t lost, duplicated, corrupted;
	uint32_t process;   /* of one host that new connections are with; 0: of other hosts */
	const char *broken; /* the first invariant that did not hold */
};

extern struct net net;

/* An empty network without faults. */
void net_begin(const struct net_faults *faults);
/* Frees everything; ids and connections must be gone. False: something was left. */
bool net_end(void);

uint64_t net_draw(void); /* from the seed */

/* The id that was given last is given again. */
void net_rewind_ids(void);

/* The way from a host to another, which may be a stranger's (NET_HOSTS and above). */
struct conn_route net_route(int from, int to);
/* A message arrives at a host now, from the address of another. */
void net_inject(int from, int to, const uint8_t mad[MSG_BYTES]);

/* Moves time on to the next message or timer, and handles it. False: there is none. */
bool net_step(void);
/* Handles all that happens within so long. */
void net_pass(uint64_t ns);
/* Until nothing is left that could happen, or this long. */
void net_settle(uint64_t most_ns);

/* An id whose connection is idle. */
struct net_id *net_id_create(int host);
/* The id of an active connection: the REQ is sent from host to the other one. */
struct net_id *net_connect(int host, uint32_t qpn);
int net_accept(struct net_id *id, uint32_t qpn);
/* The newest id that a request made; NULL: none. */
struct net_id *net_request(void);
/* Abandons the connection and frees the id. */
void net_destroy(struct net_id *id);

/* The first event of the id that was not taken yet, or NULL. */
const struct net_event *net_take(struct net_id *id);
/* How many messages of the kind the host has sent, and the n-th of them (from 0). */
unsigned int net_count(int host, enum msg_kind kind);
const struct net_sent *net_nth(int host, enum msg_kind kind, unsigned int n);

#endif
