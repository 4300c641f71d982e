/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The survivor's connections by address: one listener for all rounds, one connection in each. Every
 * connection that was begun must end by an event, whatever the victim was doing when it died.
 */
#include "kills.h"

#include <fcntl.h>
#include <unistd.h>

enum cm_step { IDLE, RESOLVING, ROUTING, CONNECTING, ACCEPTED, ESTABLISHED };

/* A request of a victim that has died may come when the next one has connected, so there may be several. */
struct conn {
	struct rdma_cm_id *id;
	enum cm_step step;
	struct ibv_mr *mr;
	char word[64];
};

struct cm_state {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	unsigned int live;
	enum cm_step step; /* of the last event, for people, */
	const char *last;  /* and the event */
};

static const char *const step_name[] = { "idle",       "resolving", "routing",
					 "connecting", "accepted",  "established" };

struct cm_state *cm_open(void)
{
	struct cm_state *cm = must(calloc(1, sizeof(*cm)));

	cm->channel = must(rdma_create_event_channel());
	cm->listener = listen_at(cm->channel, 8);
	check_ok(fcntl(cm->channel->fd, F_SETFL, O_NONBLOCK));
	cm->last = "none";
	board->port = port_of(cm->listener);
	return cm;
}

void cm_close(struct cm_state *cm)
{
	check(!cm->live);
	destroy(cm->listener);
	rdma_destroy_event_channel(cm->channel);
	free(cm);
}

static struct conn *add(struct cm_state *cm, struct rdma_cm_id *id, enum cm_step step)
{
	struct conn *c = must(calloc(1, sizeof(*c)));

	c->id = id;
	c->step = step;
	id->context = c;
	cm->live++;
	return c;
}

static void forget(struct cm_state *cm, struct conn *c)
{
	if (c->mr)
		check_ok(rdma_dereg_mr(c->mr));
	destroy(c->id);
	free(c);
	cm->live--;
}

static void prepare(struct conn *c)
{
	make_qp(c->id);
	c->mr = must(rdma_reg_msgs(c->id, c->word, sizeof(c->word)));
	check_ok(rdma_post_recv(c->id, NULL, c->word, sizeof(c->word), c->mr));
}

void cm_connect(struct cm_state *cm, uint16_t port)
{
	struct sockaddr_in addr = own_address(port);
	struct rdma_cm_id *id;

	check_ok(rdma_create_id(cm->channel, &id, NULL, RDMA_PS_TCP));
	add(cm, id, RESOLVING);
	check_ok(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, WAIT_MS));
}

static void take_request(struct cm_state *cm, struct rdma_cm_id *id)
{
	struct conn *c = add(cm, id, ACCEPTED);

	prepare(c);
	if (rdma_accept(id, NULL)) {
		check_equal(errno, EINVAL); /* its sender is gone */
		forget(cm, c);
	}
}

/* A message that was reported is whole. */
static void check_word(struct conn *c)
{
	struct ibv_wc wc;

	while (c->id->qp && ibv_poll_cq(c->id->recv_cq, 1, &wc) == 1) {
		if (wc.status) {
			check_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
			continue;
		}
		check_equal(wc.byte_len, 16);
		check(!memcmp(c->word, "from the victim", 16));
	}
}

static void step_on(struct conn *c, enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		check_equal(c->step, RESOLVING);
		check_ok(rdma_resolve_route(c->id, WAIT_MS));
		c->step = ROUTING;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		check_equal(c->step, ROUTING);
		prepare(c);
		check_ok(rdma_connect(c->id, NULL));
		c->step = CONNECTING;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		check(c->step == CONNECTING || c->step == ACCEPTED);
		c->step = ESTABLISHED;
		break;
	default:
		rig_fail(__FILE__, __LINE__, "event %s in step %s", rdma_event_str(type),
			 step_name[c->step]);
	}
}

static bool is_end(enum rdma_cm_event_type type, enum cm_step step)
{
	switch (type) {
	case RDMA_CM_EVENT_DISCONNECTED:
		return step == ESTABLISHED || step == ACCEPTED;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return step == CONNECTING || step == ACCEPTED || step == ESTABLISHED;
	default:
		return false;
	}
}

static void take_event(struct cm_state *cm, struct conn *c, enum rdma_cm_event_type type)
{
	if (!is_end(type, c->step)) {
		step_on(c, type);
		cm->step = c->step;
		return;
	}
	check_word(c);
	if (type == RDMA_CM_EVENT_DISCONNECTED)
		rdma_disconnect(c->id);
	cm->step = IDLE;
	forget(cm, c);
}

void cm_progress(struct cm_state *cm)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(cm->channel, &event)) {
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;

		check_ok(rdma_ack_cm_event(event));
		cm->last = rdma_event_str(type);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			take_request(cm, id);
		else if (type != RDMA_CM_EVENT_TIMEWAIT_EXIT)
			take_event(cm, id->context, type);
	}
	check_equal(errno, EAGAIN);
}

bool cm_is_idle(struct cm_state *cm)
{
	return !cm->live;
}

void cm_describe(struct cm_state *cm, char *text, size_t size)
{
	snprintf(text, size, "%u connections, last event %s, step %s", cm->live, cm->last,
		 step_name[cm->step]);
}
