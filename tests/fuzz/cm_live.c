/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that a peer may send to queue pair 1, into the whole of librdmacm: connections, datagram services, alternate
 * paths, and the ids, events and calls of the program above them. The target stands below the library: it has its
 * functions of queue pair 1, keeps what is sent, and calls the agent.
 *
 * Whatever comes, every event has an id of the program, calls fail or succeed, and all ids can be destroyed.
 *
 * Input: steps of a byte that says what is done, and the bytes that it needs. Messages are right for the conversation
 * that they belong to, except in up to three bytes that the input changes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cm/ip_header.h"
#include "cm/msg.h"
#include "fuzz.h"
#include "hca/device/adapter_list.h"
#include "hca/device/port.h"
#include "hca/wire/gsi.h"
#include "hca/wire/gsi_send.h"
#include "input.h"

#define STEPS_MOST 60u
#define IDS        8u
#define SENT       8u
#define PEER_ID    0x1234u
#define PEER_QPN   0x4321u

enum step {
	STEP_REQ,
	STEP_REP,
	STEP_RTU,
	STEP_REJ,
	STEP_MRA,
	STEP_DREQ,
	STEP_DREP,
	STEP_LAP,
	STEP_APR,
	STEP_SIDR_REQ,
	STEP_SIDR_REP,
	STEP_RAW,
	STEP_AGAIN,
	STEP_TIMER,
	STEP_EVENTS,
	STEP_ANSWER,
	STEP_END,
	STEP_CONNECT,
	STEP_OPTION,
	STEPS,
};

static struct input in;
static const struct hca_gsi_ops *agent_ops;
static void *agent_arg;
static struct rdma_event_channel *channel;
static struct rdma_cm_id *listeners[2]; /* of connections, of datagrams */
static uint16_t ports[2];
static struct rdma_cm_id *ids[IDS]; /* that requests have made, or that connect */
static struct hca_gsi_mad mad;      /* the last one that came */
static const struct hca_adapter *adapter;
static struct hca_av own; /* the way to the adapter's first RoCEv2 address */
static bool is_local;

/* What the library has sent, newest last. */
static struct {
	uint8_t mad[MSG_BYTES];
} sent[SENT];
static unsigned int sent_count;

static uint8_t u8(void)
{
	return input_u8(&in);
}

/* ---- below the library ---- */

int hca_gsi_agent_create(uint8_t mgmt_class, const struct hca_gsi_ops *ops, void *arg,
			 struct hca_gsi_agent **out)
{
	CHECK(mgmt_class == HCA_MAD_CM);
	agent_ops = ops;
	agent_arg = arg;
	*out = (struct hca_gsi_agent *)&agent_ops;
	return 0;
}

void hca_gsi_set_timer(struct hca_gsi_agent *agent, uint64_t ns)
{
}

int hca_gsi_send(const struct hca_adapter *a, const struct hca_av *to,
		 const uint8_t bytes[MSG_BYTES])
{
	struct msg_head head;

	CHECK(a == adapter && msg_get_head(bytes, &head));
	CHECK(head.kind >= MSG_REQ && head.kind <= MSG_APR);
	memcpy(sent[sent_count++ % SENT].mad, bytes, MSG_BYTES);
	return 0;
}

bool hca_gsi_is_local(const struct hca_adapter *a, const struct hca_av *to)
{
	return is_local;
}

/* ---- messages ---- */

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* The library's id in one of the last messages that it sent; or any. */
static uint32_t its_id(void)
{
	uint8_t how = u8();

	if (how & 0x80 || !sent_count)
		return u8();
	return get32(
		sent[(sent_count - 1 - how % (sent_count < SENT ? sent_count : SENT)) % SENT].mad +
		24);
}

static uint32_t peer_id(void)
{
	return PEER_ID + u8() % 4;
}

/* The GID's IPv4 or IPv6 address. */
static void put_address(uint8_t header[IP_HEADER_BYTES])
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(7000) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(7000) };
	bool v4 = own.dgid.raw[10] == 0xff && !own.dgid.raw[0];

	memcpy(&four.sin_addr, own.dgid.raw + 12, 4);
	memcpy(&six.sin6_addr, own.dgid.raw, 16);
	if (v4)
		ip_header_put((struct sockaddr *)&four, (struct sockaddr *)&four, header);
	else
		ip_header_put((struct sockaddr *)&six, (struct sockaddr *)&six, header);
}

static uint64_t service(unsigned int which)
{
	return (which ? (uint64_t)RDMA_PS_UDP : (uint64_t)RDMA_PS_TCP) << 16 | ports[which];
}

static void put_req(uint8_t out[MSG_BYTES])
{
	struct msg_req req = { .local_comm_id = peer_id(),
			       .service_id = service(0),
			       .local_ca_guid = u8() % 2 + 1,
			       .local_qpn = PEER_QPN + u8() % 4,
			       .responder_resources = u8(),
			       .initiator_depth = u8(),
			       .path_mtu = 3,
			       .pkey = 0xffff,
			       .retry_count = 3,
			       .max_cm_retries = 3,
			       .primary = { .hop_limit = 64, .local_ack_timeout = u8() % 4 } };

	memcpy(req.primary.local_gid, own.dgid.raw, 16);
	memcpy(req.primary.remote_gid, own.dgid.raw, 16);
	put_address(req.private_data);
	msg_put_req(&req, u8(), out);
}

static void put_rep(uint8_t out[MSG_BYTES])
{
	struct msg_rep rep = { .local_comm_id = peer_id(),
			       .remote_comm_id = its_id(),
			       .local_qpn = PEER_QPN,
			       .responder_resources = u8(),
			       .initiator_depth = u8(),
			       .local_ca_guid = 1 };

	msg_put_rep(&rep, u8(), out);
}

static void put_answer(enum step step, uint8_t out[MSG_BYTES])
{
	uint32_t from = peer_id(), to = its_id();
	struct msg_rtu rtu = { .local_comm_id = from, .remote_comm_id = to };
	struct msg_rej rej = { .local_comm_id = from,
			       .remote_comm_id = to,
			       .answered = u8(),
			       .reason = u8() % 40,
			       .info_len = u8() };
	struct msg_mra mra = { .local_comm_id = from,
			       .remote_comm_id = to,
			       .answered = rej.answered,
			       .service_timeout = u8() };
	struct msg_dreq dreq = { .local_comm_id = from, .remote_comm_id = to, .remote_qpn = u8() };

	switch (step) {
	case STEP_REJ:
		msg_put_rej(&rej, 1, out);
		break;
	case STEP_MRA:
		msg_put_mra(&mra, 1, out);
		break;
	case STEP_DREQ:
		msg_put_dreq(&dreq, 1, out);
		break;
	default:
		msg_put_rtu(&rtu, step == STEP_RTU ? MSG_RTU : MSG_DREP, 1, out);
		break;
	}
}

static void put_path_change(enum step step, uint8_t out[MSG_BYTES])
{
	struct msg_lap lap = { .local_comm_id = peer_id(),
			       .remote_comm_id = its_id(),
			       .remote_qpn = u8(),
			       .alternate = { .hop_limit = 64 } };
	struct msg_apr apr = { .local_comm_id = lap.local_comm_id,
			       .remote_comm_id = lap.remote_comm_id,
			       .info_len = u8(),
			       .status = u8() };

	memcpy(lap.alternate.local_gid, own.dgid.raw, 16);
	memcpy(lap.alternate.remote_gid, own.dgid.raw, 16);
	if (step == STEP_LAP)
		msg_put_lap(&lap, 1, out);
	else
		msg_put_apr(&apr, 1, out);
}

static void put_sidr(enum step step, uint8_t out[MSG_BYTES])
{
	struct msg_sidr_req req = { .request_id = peer_id(),
				    .pkey = 0xffff,
				    .service_id = service(1) };
	struct msg_sidr_rep rep = { .request_id = its_id(),
				    .status = u8() % 7,
				    .qpn = PEER_QPN,
				    .qkey = 1,
				    .info_len = u8() };

	put_address(req.private_data);
	if (step == STEP_SIDR_REQ)
		msg_put_sidr_req(&req, u8(), out);
	else
		msg_put_sidr_rep(&rep, u8(), out);
}

static void receive(enum step step)
{
	mad = (struct hca_gsi_mad){
		.adapter = adapter, .from = own, .dgid = own.dgid, .sqpn = 1, .pkey = 0xffff
	};
	switch (step) {
	case STEP_REQ:
		put_req(mad.mad);
		break;
	case STEP_REP:
		put_rep(mad.mad);
		break;
	case STEP_LAP:
	case STEP_APR:
		put_path_change(step, mad.mad);
		break;
	case STEP_SIDR_REQ:
	case STEP_SIDR_REP:
		put_sidr(step, mad.mad);
		break;
	case STEP_RAW:
		put_answer(STEP_RTU, mad.mad);
		mad.mad[17] = u8();
		input_bytes(&in, mad.mad + 24, u8() % (MSG_BYTES - 24));
		break;
	default:
		put_answer(step, mad.mad);
		break;
	}
	for (unsigned int n = u8() % 4; n; n--)
		mad.mad[u8()] = u8();
	is_local = u8() & 1;
	if (u8() > 200)
		mad.from.dgid.raw[15] ^= 1;
	agent_ops->receive(agent_arg, &mad);
}

/* ---- the program ---- */

static void keep(struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (!ids[i]) {
			ids[i] = id;
			return;
		}
	CHECK(!rdma_destroy_id(id));
}

static void forget(struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (ids[i] == id)
			ids[i] = NULL;
}

static bool is_known(const struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < IDS; i++)
		if (ids[i] == id)
			return true;
	return id == listeners[0] || id == listeners[1];
}

static void take_events(unsigned int most)
{
	struct rdma_cm_event *event;

	while (most-- && !rdma_get_cm_event(channel, &event)) {
		struct rdma_cm_id *id = event->id;
		bool is_new = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;

		CHECK(is_new != is_known(id));
		CHECK(rdma_event_str(event->event));
		if (event->param.conn.private_data_len)
			CHECK(event->param.conn.private_data);
		CHECK(!rdma_ack_cm_event(event));
		if (is_new)
			keep(id);
	}
}

static void answer_request(void)
{
	struct rdma_cm_id *id = ids[u8() % IDS];
	uint8_t how = u8();
	struct rdma_conn_param param = { .qp_num = u8() + 1u,
					 .responder_resources = u8(),
					 .initiator_depth = u8(),
					 .private_data = "data",
					 .private_data_len = how & 16 ? 4 : 0 };

	if (!id)
		return;
	switch (how % 5) {
	case 0:
		rdma_reject(id, "no", 2);
		break;
	case 1:
		rdma_establish(id);
		break;
	case 2:
		rdma_notify(id, IBV_EVENT_COMM_EST);
		break;
	default:
		rdma_accept(id, &param);
		break;
	}
}

static void end_id(void)
{
	struct rdma_cm_id *id = ids[u8() % IDS];
	struct ibv_qp_attr attr = { .qp_state = u8() % 5 };
	int mask;

	if (!id)
		return;
	switch (u8() % 3) {
	case 0:
		rdma_disconnect(id);
		break;
	case 1:
		rdma_init_qp_attr(id, &attr, &mask);
		break;
	default:
		forget(id);
		CHECK(!rdma_destroy_id(id));
		break;
	}
}

static bool await(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	bool good;

	for (int i = 0; i < 100; i++) {
		struct pollfd p = { .fd = channel->fd, .events = POLLIN };

		agent_ops->timer(agent_arg);
		if (poll(&p, 1, 1) == 1)
			break;
	}
	if (rdma_get_cm_event(channel, &event))
		return false;
	good = event->event == type;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		keep(event->id);
	rdma_ack_cm_event(event);
	return good;
}

/* To an address of the host, where the target is the peer. */
static void connect_one(void)
{
	struct sockaddr_storage to = { 0 };
	struct rdma_conn_param param = {
		.qp_num = 5, .responder_resources = 1, .private_data = "hi", .private_data_len = 2
	};
	bool datagrams = u8() & 1, v4 = own.dgid.raw[10] == 0xff && !own.dgid.raw[0];
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, datagrams ? RDMA_PS_UDP : RDMA_PS_TCP))
		return;
	if (v4) {
		*(struct sockaddr_in *)&to =
			(struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(7000) };
		memcpy(&((struct sockaddr_in *)&to)->sin_addr, own.dgid.raw + 12, 4);
	} else {
		*(struct sockaddr_in6 *)&to =
			(struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(7000) };
		memcpy(&((struct sockaddr_in6 *)&to)->sin6_addr, own.dgid.raw, 16);
	}
	is_local = true;
	if (!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 1000) &&
	    await(RDMA_CM_EVENT_ADDR_RESOLVED) && !rdma_resolve_route(id, 1000) &&
	    await(RDMA_CM_EVENT_ROUTE_RESOLVED))
		rdma_connect(id, &param);
	keep(id);
}

static void set_option(void)
{
	struct rdma_cm_id *id = ids[u8() % IDS];
	uint8_t value[64] = { 0 };
	size_t len = u8() % sizeof(value);

	input_bytes(&in, value, len);
	if (id)
		rdma_set_option(id, u8() % 3, u8() % 6, value, len);
}

static void do_step(enum step step)
{
	switch (step) {
	case STEP_AGAIN:
		if (mad.adapter)
			agent_ops->receive(agent_arg, &mad);
		break;
	case STEP_TIMER:
		agent_ops->timer(agent_arg);
		if (u8() > 250)
			agent_ops->gone(agent_arg, u8());
		break;
	case STEP_EVENTS:
		take_events(u8() % 8);
		break;
	case STEP_ANSWER:
		answer_request();
		break;
	case STEP_END:
		end_id();
		break;
	case STEP_CONNECT:
		if (u8() & 1) /* it costs more than the others */
			connect_one();
		break;
	case STEP_OPTION:
		set_option();
		break;
	default:
		receive(step);
		break;
	}
}

/* ---- begin and end ---- */

static void find_way(void)
{
	const struct hca_adapter *const *list;
	struct hca_gid_entry e;
	int count;

	CHECK(!hca_adapters_get(&list, &count));
	adapter = list[0];
	own = (struct hca_av){ .port = 1, .has_grh = true, .hop_limit = 64 };
	for (unsigned int i = 0; i < adapter->limits.gid_table_len; i++) {
		if (hca_port_gid(adapter, 1, i, &e) || hca_gid_is_empty(&e.gid) ||
		    e.type != HCA_GID_ROCE_V2 || (e.gid.raw[0] == 0xfe && own.sgid_index))
			continue;
		own.sgid_index = (uint8_t)i;
		own.dgid = e.gid;
		if (e.gid.raw[0] != 0xfe)
			return;
	}
	CHECK(!hca_gid_is_empty(&own.dgid));
}

static void set_up(void)
{
	setenv("VERBENA_ADAPTERS", "mlx5_0", 1);
	channel = rdma_create_event_channel();
	CHECK(channel);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	for (unsigned int i = 0; i < 2; i++) {
		struct sockaddr_in6 any = { .sin6_family = AF_INET6 };

		CHECK(!rdma_create_id(channel, &listeners[i], NULL, i ? RDMA_PS_UDP : RDMA_PS_TCP));
		CHECK(!rdma_bind_addr(listeners[i], (struct sockaddr *)&any));
		CHECK(!rdma_listen(listeners[i], 4));
		ports[i] = ntohs(rdma_get_src_port(listeners[i]));
	}
	find_way();
	CHECK(agent_ops);
}

static void clean_up(void)
{
	take_events(1000);
	for (unsigned int i = 0; i < IDS; i++) {
		if (ids[i])
			CHECK(!rdma_destroy_id(ids[i]));
		ids[i] = NULL;
	}
	take_events(1000);
	agent_ops->timer(agent_arg);
	sent_count = 0;
	memset(&mad, 0, sizeof(mad));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!channel)
		set_up();
	in = (struct input){ data, size };
	for (unsigned int n = 0; n < STEPS_MOST && in.left; n++)
		do_step(u8() % STEPS);
	clean_up();
	return 0;
}
