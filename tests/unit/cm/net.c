/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm/conn_invariants.h"
#include "cm/conn_recv.h"

#define REORDER_NS (10000 * MS)

struct in_flight {
	struct heap_node node; /* by time of arrival */
	int from, to;
	uint8_t mad[MSG_BYTES];
};

struct net net;
static struct heap flying;
static uint64_t rng;
static uint64_t last_arrival_ns;
static uint32_t last_id;

/* xorshift64*: the same row of numbers for a seed everywhere. */
uint64_t net_draw(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return rng * 0x2545f4914f6cdd1dull;
}

static bool happens(uint32_t share)
{
	return share && net_draw() % 1000000 < share;
}

static int host_of(const struct hca_adapter *adapter)
{
	int i = 0;

	while (adapter != &net.hosts[i].adapter)
		i++;
	return i;
}

/* ---- sending ---- */

static void fly(int from, int to, const uint8_t mad[MSG_BYTES])
{
	uint64_t at = net.now_ns + net.faults.delay_ns;
	struct in_flight *f = calloc(1, sizeof(*f));

	assert(f);
	f->from = from;
	f->to = to;
	memcpy(f->mad, mad, MSG_BYTES);
	if (happens(net.faults.reorder)) {
		at += net_draw() % REORDER_NS;
	} else {
		if (at <= last_arrival_ns)
			at = last_arrival_ns + 1;
		last_arrival_ns = at;
	}
	assert(!heap_set(&flying, &f->node, at));
}

static void record(int host, const uint8_t mad[MSG_BYTES])
{
	struct net_sent *s = &net.sent[net.sent_count++ % NET_MOST_SENT];
	struct msg_head head;

	assert(msg_get_head(mad, &head));
	*s = (struct net_sent){ .host = host, .kind = head.kind, .at_ns = net.now_ns };
	memcpy(s->mad, mad, MSG_BYTES);
}

static void transmit(const struct conn_route *route, const uint8_t mad[MSG_BYTES])
{
	int from = host_of(route->adapter), to = route->av.dgid.raw[15];
	uint8_t copy[MSG_BYTES];

	record(from, mad);
	if (to >= NET_HOSTS)
		return;
	memcpy(copy, mad, MSG_BYTES);
	if (happens(net.faults.loss)) {
		net.lost++;
		return;
	}
	if (happens(net.faults.duplicate)) {
		net.duplicated++;
		fly(from, to, copy);
	}
	if (happens(net.faults.corrupt)) {
		uint64_t bit = net_draw() % (MSG_BYTES * 8);

		net.corrupted++;
		copy[bit / 8] ^= 1u << bit % 8;
	}
	fly(from, to, copy);
}

static uint32_t new_comm_id(void)
{
	return ++last_id << 8;
}

void net_rewind_ids(void)
{
	last_id--;
}

static uint64_t new_tid(void)
{
	return 0x700000000 | ++last_id;
}

static void set_deadline(struct net_host *host, uint64_t ns)
{
	if (!host->deadline_ns || ns < host->deadline_ns)
		host->deadline_ns = ns;
}

static void set_deadline_0(uint64_t ns)
{
	set_deadline(&net.hosts[0], ns);
}

static void set_deadline_1(uint64_t ns)
{
	set_deadline(&net.hosts[1], ns);
}

/* ---- ids ---- */

struct net_id *net_id_create(int host)
{
	struct conn_route route = net_route(host, 1 - host);
	struct net_id *id = calloc(1, sizeof(*id));

	assert(id);
	id->host = host;
	id->conn = conn_create(&net.hosts[host].table, id, &route);
	assert(id->conn);
	id->conn->packet_life_time = 18;
	LIST_INSERT_HEAD(&net.ids, id, entry);
	return id;
}

struct net_id *net_connect(int host, uint32_t qpn)
{
	struct net_id *id = net_id_create(host);
	struct msg_req req = {
		.local_ca_guid = net.hosts[host].adapter.node_guid,
		.local_qpn = qpn,
		.responder_resources = 3,
		.initiator_depth = 5,
		.remote_cm_timeout = 20,
		.local_cm_timeout = 20,
		.max_cm_retries = 15,
		.primary.local_ack_timeout = 19,
	};

	req.primary.local_gid[15] = (uint8_t)host;
	assert(!conn_send_req(id->conn, &req, net.now_ns));
	return id;
}

int net_accept(struct net_id *id, uint32_t qpn)
{
	struct msg_rep rep = {
		.local_qpn = qpn,
		.local_ca_guid = net.hosts[id->host].adapter.node_guid,
		.responder_resources = 2,
		.initiator_depth = 1,
		.private_data = "reply",
	};

	return conn_send_rep(id->conn, &rep, net.now_ns);
}

struct net_id *net_request(void)
{
	struct net_id *id;

	LIST_FOREACH(id, &net.ids, entry)
		if (id->is_passive)
			break;
	return id;
}

void net_destroy(struct net_id *id)
{
	conn_abandon(id->conn, net.now_ns);
	LIST_REMOVE(id, entry);
	free(id);
}

static int take_request(struct conn *conn, const struct msg_req *req)
{
	struct net_host *host = container_of(conn->table, struct net_host, table);
	struct net_id *id;

	(void)req;
	if (host->request_answer)
		return host->request_answer;
	id = calloc(1, sizeof(*id));
	assert(id);
	id->host = host_of(&host->adapter);
	id->is_passive = true;
	id->conn = conn;
	conn->owner = id;
	LIST_INSERT_HEAD(&net.ids, id, entry);
	return 0;
}

static void take_event(struct conn *conn, const struct conn_event *event)
{
	struct net_id *id = conn->owner;
	struct net_event *e = &id->events[id->count++ % NET_MOST_EVENTS];

	e->event = *event;
	e->at_ns = net.now_ns;
	if (event->private_data)
		memcpy(e->data, event->private_data, event->private_len);
	e->event.rep = NULL;
}

static bool is_local(const struct conn_route *route)
{
	(void)route;
	return net.process;
}

static uint32_t process_of(uint32_t comm_id)
{
	(void)comm_id;
	return net.process;
}

static const struct conn_ops ops[NET_HOSTS] = {
	{ transmit, new_comm_id, new_tid, is_local, process_of, set_deadline_0, take_request,
	  take_event },
	{ transmit, new_comm_id, new_tid, is_local, process_of, set_deadline_1, take_request,
	  take_event },
};

const struct net_event *net_take(struct net_id *id)
{
	return id->taken < id->count ? &id->events[id->taken++ % NET_MOST_EVENTS] : NULL;
}

unsigned int net_count(int host, enum msg_kind kind)
{
	unsigned int count = 0;

	assert(net.sent_count <= NET_MOST_SENT);
	for (unsigned int i = 0; i < net.sent_count; i++)
		count += net.sent[i].host == host && net.sent[i].kind == kind;
	return count;
}

const struct net_sent *net_nth(int host, enum msg_kind kind, unsigned int n)
{
	for (unsigned int i = 0; i < net.sent_count; i++)
		if (net.sent[i].host == host && net.sent[i].kind == kind && !n--)
			return &net.sent[i];
	return NULL;
}

/* ---- time ---- */

struct conn_route net_route(int from, int to)
{
	struct conn_route route = { .adapter = &net.hosts[from].adapter };

	route.av.has_grh = true;
	route.av.port = 1;
	route.av.dgid.raw[15] = (uint8_t)to;
	return route;
}

static void check_tables(void)
{
	for (int i = 0; i < NET_HOSTS && !net.broken; i++)
		net.broken = conn_table_broken(&net.hosts[i].table);
}

void net_inject(int from, int to, const uint8_t mad[MSG_BYTES])
{
	struct conn_route back = net_route(to, from);

	if (!net.hosts[to].is_dead)
		conn_receive(&net.hosts[to].table, &back, mad, net.now_ns);
	check_tables();
}

static uint64_t next_message(void)
{
	const struct heap_node *node = heap_first(&flying);

	return node ? node->key : UINT64_MAX;
}

static struct net_host *next_timer(void)
{
	struct net_host *next = NULL;

	for (int i = 0; i < NET_HOSTS; i++)
		if (net.hosts[i].deadline_ns &&
		    (!next || net.hosts[i].deadline_ns < next->deadline_ns))
			next = &net.hosts[i];
	return next;
}

static uint64_t next_time(void)
{
	const struct net_host *timer = next_timer();
	uint64_t message = next_message();

	return timer && timer->deadline_ns < message ? timer->deadline_ns : message;
}

bool net_step(void)
{
	struct net_host *timer = next_timer();
	uint64_t at = next_time();
	struct in_flight *f;

	if (at == UINT64_MAX)
		return false;
	if (at > net.now_ns)
		net.now_ns = at;
	if (next_message() == at) {
		f = container_of(heap_first(&flying), struct in_flight, node);
		heap_remove(&flying, &f->node);
		net_inject(f->from, f->to, f->mad);
		free(f);
	} else {
		timer->deadline_ns = 0;
		conn_run_timers(&timer->table, net.now_ns);
		check_tables();
	}
	return true;
}

void net_pass(uint64_t ns)
{
	uint64_t until = net.now_ns + ns;

	while (next_time() <= until)
		net_step();
	net.now_ns = until;
}

void net_settle(uint64_t most_ns)
{
	uint64_t until = net.now_ns + most_ns;

	while (net.now_ns < until && net_step())
		;
}

void net_begin(const struct net_faults *faults)
{
	memset(&net, 0, sizeof(net));
	net.faults = faults ? *faults : (struct net_faults){ .delay_ns = MS };
	net.now_ns = 1000 * MS;
	rng = net.faults.seed * 0x9e3779b97f4a7c15ull + 1;
	last_arrival_ns = 0;
	for (int i = 0; i < NET_HOSTS; i++) {
		net.hosts[i].adapter.node_guid = 0x1000 + (uint64_t)i;
		net.hosts[i].table.ops = &ops[i];
	}
}

bool net_end(void)
{
	bool is_clean = LIST_EMPTY(&net.ids);

	while (heap_first(&flying)) {
		struct in_flight *f = container_of(heap_first(&flying), struct in_flight, node);

		heap_remove(&flying, &f->node);
		free(f);
	}
	heap_fini(&flying);
	for (int i = 0; i < NET_HOSTS; i++) {
		struct conn_table *table = &net.hosts[i].table;

		is_clean = is_clean && LIST_EMPTY(&table->all) && !table->by_local.count &&
			   !table->by_remote.count && !table->by_qpn.count &&
			   !heap_first(&table->timers);
		hash_fini(&table->by_local);
		hash_fini(&table->by_remote);
		hash_fini(&table->by_qpn);
		heap_fini(&table->timers);
	}
	return is_clean;
}
