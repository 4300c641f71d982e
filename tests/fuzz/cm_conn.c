/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections under any sequence of messages, calls of their owners and timers. Ids, QPNs and addresses
 * are few, so that messages meet connections. After each step the table is whole; in the end, when all
 * owners have let go, no connection and no timer is left.
 *
 * Input: steps of a byte that says what is done, and the bytes that it needs.
 */
#include <string.h>

#include "cm/conn.h"
#include "cm/conn_recv.h"
#include "fuzz.h"
#include "unit/cm/conn_invariants.h"

#define OWNERS 32u
#define MS     1000000ull

/* The kinds of step: messages first, by their attribute less MSG_REQ. */
enum step {
	STEP_MESSAGES = MSG_APR - MSG_REQ + 1,
	STEP_TIME = STEP_MESSAGES,
	STEP_CONNECT,
	STEP_ACCEPT,
	STEP_ESTABLISH,
	STEP_NOTIFY,
	STEP_REJECT,
	STEP_DISCONNECT,
	STEP_ABANDON,
	STEP_DIED,
	STEP_REPEAT,
	STEP_RAW,
	STEPS,
};

static struct {
	const uint8_t *data;
	size_t left;
	struct conn_table table;
	struct conn *owners[OWNERS]; /* a place is the owner of the connection in it */
	uint32_t last_id;
	uint64_t now_ns, deadline_ns;
	int answer; /* to the next request */
} fuzz;

static const struct hca_adapter adapter = { .node_guid = 1 };

static uint8_t next(void)
{
	if (!fuzz.left)
		return 0;
	fuzz.left--;
	return *fuzz.data++;
}

/* ---- surroundings ---- */

static void send_mad(const struct conn_route *route, const uint8_t mad[MSG_BYTES])
{
	struct msg_head head;

	CHECK(route->adapter == &adapter && msg_get_head(mad, &head));
}

static uint32_t new_comm_id(void)
{
	return fuzz.last_id = fuzz.last_id % 64 + 1;
}

static uint64_t new_tid(void)
{
	return 1;
}

static void set_deadline(uint64_t ns)
{
	if (ns < fuzz.deadline_ns)
		fuzz.deadline_ns = ns;
}

static struct conn **free_place(void)
{
	for (unsigned int i = 0; i < OWNERS; i++)
		if (!fuzz.owners[i])
			return &fuzz.owners[i];
	return NULL;
}

static int take_request(struct conn *conn, const struct msg_req *req)
{
	struct conn **place = free_place();

	CHECK(conn->remote_id == req->local_comm_id);
	if (fuzz.answer || !place)
		return place ? fuzz.answer : -1;
	*place = conn;
	conn->owner = place;
	return 0;
}

static void take_event(struct conn *conn, const struct conn_event *event)
{
	CHECK(*(struct conn **)conn->owner == conn);
	CHECK(!event->private_data == !event->private_len);
	CHECK((event->kind == CONN_EVENT_REP) == (event->rep != NULL));
}

static bool is_local(const struct conn_route *route)
{
	return route->av.dgid.raw[15];
}

static uint32_t process_of(uint32_t comm_id)
{
	return comm_id & 1;
}

static const struct conn_ops ops = {
	.send = send_mad,
	.new_comm_id = new_comm_id,
	.new_tid = new_tid,
	.is_local = is_local,
	.process_of = process_of,
	.set_deadline = set_deadline,
	.request = take_request,
	.event = take_event,
};

/* ---- steps ---- */

static struct conn_route any_route(void)
{
	struct conn_route route = { .adapter = &adapter, .av = { .has_grh = true, .port = 1 } };
	uint8_t byte = next();

	route.av.dgid.raw[15] = byte & 1;
	route.av.has_grh = byte < 240;
	return route;
}

/* An id of this process, mostly; or one of a peer's. */
static uint32_t any_id(void)
{
	return next() % 70;
}

static void put_req(uint8_t mad[MSG_BYTES])
{
	struct msg_req req = {
		.local_comm_id = any_id(),
		.local_ca_guid = next() % 3,
		.local_qpn = next() % 8,
		.local_cm_timeout = next(),
		.max_cm_retries = next(),
		.primary.local_ack_timeout = next(),
	};

	fuzz.answer = (int8_t)next() / 64 * 28; /* -28, 0 or 28 */
	msg_put_req(&req, next(), mad);
}

static void put_rep(uint8_t mad[MSG_BYTES])
{
	struct msg_rep rep = { .local_comm_id = any_id(),
			       .remote_comm_id = any_id(),
			       .local_qpn = next() % 8,
			       .local_ca_guid = next() % 3 };

	msg_put_rep(&rep, next(), mad);
}

static void put_rej(uint8_t mad[MSG_BYTES])
{
	struct msg_rej rej = { .local_comm_id = any_id(),
			       .remote_comm_id = any_id(),
			       .answered = next(),
			       .reason = next() % 40,
			       .info_len = next() };

	rej.info[7] = next() % 3;
	msg_put_rej(&rej, next(), mad);
}

static void put_mra(uint8_t mad[MSG_BYTES])
{
	struct msg_mra mra = { .local_comm_id = any_id(),
			       .remote_comm_id = any_id(),
			       .answered = next(),
			       .service_timeout = next() };

	msg_put_mra(&mra, next(), mad);
}

static void put_dreq(uint8_t mad[MSG_BYTES])
{
	struct msg_dreq dreq = { .local_comm_id = any_id(),
				 .remote_comm_id = any_id(),
				 .remote_qpn = next() % 8 };

	msg_put_dreq(&dreq, next(), mad);
}

static void receive(enum msg_kind kind)
{
	uint8_t mad[MSG_BYTES];
	struct msg_rtu rtu;
	struct conn_route from;

	switch (kind) {
	case MSG_REQ:
		put_req(mad);
		break;
	case MSG_REP:
		put_rep(mad);
		break;
	case MSG_REJ:
		put_rej(mad);
		break;
	case MSG_MRA:
		put_mra(mad);
		break;
	case MSG_DREQ:
		put_dreq(mad);
		break;
	default: /* the ids are at the same place in all others */
		rtu = (struct msg_rtu){ .local_comm_id = any_id(), .remote_comm_id = any_id() };
		msg_put_rtu(&rtu, kind, next(), mad);
		break;
	}
	from = any_route();
	conn_receive(&fuzz.table, &from, mad, fuzz.now_ns);
}

static void receive_raw(void)
{
	struct msg_rtu rtu = { 0 };
	struct conn_route from;
	uint8_t mad[MSG_BYTES];
	uint8_t count;

	msg_put_rtu(&rtu, MSG_RTU, 1, mad);
	mad[17] = next();
	count = next() % (MSG_BYTES - 24);
	for (uint8_t i = 0; i < count; i++)
		mad[24 + i] = next();
	from = any_route();
	conn_receive(&fuzz.table, &from, mad, fuzz.now_ns);
}

static void pass_time(void)
{
	fuzz.now_ns += (uint64_t)1 << next() % 40;
	if (fuzz.deadline_ns > fuzz.now_ns)
		return;
	fuzz.deadline_ns = UINT64_MAX;
	conn_run_timers(&fuzz.table, fuzz.now_ns);
}

static void connect_one(void)
{
	struct conn_route route = any_route();
	struct conn **place = free_place();
	struct msg_req req = { .local_ca_guid = 1,
			       .local_qpn = next() % 8,
			       .remote_cm_timeout = next(),
			       .max_cm_retries = next() % 16,
			       .primary.local_ack_timeout = next() % 32 };

	/* More would need more ids than there are. */
	if (!place || fuzz.table.by_local.count >= 48)
		return;
	*place = conn_create(&fuzz.table, place, &route);
	CHECK(*place && !conn_send_req(*place, &req, fuzz.now_ns));
}

static void call(enum step step, struct conn **place)
{
	struct msg_rep rep = { .local_qpn = next() % 8, .local_ca_guid = 1 };
	struct conn *conn = *place;

	if (!conn)
		return;
	switch (step) {
	case STEP_ACCEPT:
		conn_send_rep(conn, &rep, fuzz.now_ns);
		break;
	case STEP_ESTABLISH:
		conn_establish(conn, "data", 4);
		break;
	case STEP_NOTIFY:
		conn_notify_established(conn);
		break;
	case STEP_REJECT:
		conn_reject(conn, next() % 40, "data", 4, fuzz.now_ns);
		break;
	case STEP_DISCONNECT:
		conn_disconnect(conn, fuzz.now_ns);
		break;
	case STEP_ABANDON:
		*place = NULL;
		conn_abandon(conn, fuzz.now_ns);
		break;
	case STEP_DIED:
		conn_peer_died(conn, fuzz.now_ns);
		break;
	default:
		conn_repeat_req(conn);
		break;
	}
}

static void do_step(enum step step)
{
	if (step < STEP_MESSAGES) {
		/* Requests make connections, each of which needs an id. */
		if (step || fuzz.table.by_local.count < 48)
			receive((enum msg_kind)(MSG_REQ + step));
	} else if (step == STEP_TIME) {
		pass_time();
	} else if (step == STEP_CONNECT) {
		connect_one();
	} else if (step == STEP_RAW) {
		if (fuzz.table.by_local.count < 48)
			receive_raw();
	} else {
		call(step, &fuzz.owners[next() % OWNERS]);
	}
}

static void check_table(void)
{
	const char *wrong = conn_table_broken(&fuzz.table);

	if (wrong)
		fprintf(stderr, "%s\n", wrong);
	CHECK(!wrong);
	/* A timer earlier than the deadline that was reported would never run in time. */
	CHECK(!heap_first(&fuzz.table.timers) ||
	      heap_first(&fuzz.table.timers)->key >= fuzz.deadline_ns);
}

static void end_all(void)
{
	for (unsigned int i = 0; i < OWNERS; i++)
		call(STEP_ABANDON, &fuzz.owners[i]);
	check_table();
	for (int i = 0; i < 10000 && heap_first(&fuzz.table.timers); i++) {
		fuzz.now_ns = heap_first(&fuzz.table.timers)->key;
		conn_run_timers(&fuzz.table, fuzz.now_ns);
	}
	CHECK(LIST_EMPTY(&fuzz.table.all) && !fuzz.table.by_local.count &&
	      !fuzz.table.by_remote.count && !fuzz.table.by_qpn.count);
	hash_fini(&fuzz.table.by_local);
	hash_fini(&fuzz.table.by_remote);
	hash_fini(&fuzz.table.by_qpn);
	heap_fini(&fuzz.table.timers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&fuzz, 0, sizeof(fuzz));
	fuzz.data = data;
	fuzz.left = size;
	fuzz.table.ops = &ops;
	fuzz.now_ns = MS;
	fuzz.deadline_ns = UINT64_MAX;
	while (fuzz.left) {
		do_step((enum step)(next() % STEPS));
		check_table();
	}
	end_all();
	return 0;
}
