/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connecting, accepting, rejecting and disconnecting: every event with every field, as Linux' RDMA CM
 * and rdma-core have them. Both ends are in this process; tests of kills have the same with two.
 */
#include "cm_rig.h"

#include <arpa/inet.h>

static struct rdma_conn_param some_param(const char *data)
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)strlen(data),
		.responder_resources = 3,
		.initiator_depth = 5,
		.flow_control = 1,
		.retry_count = 6,
		.rnr_retry_count = 5,
		.srq = 1,
		.qp_num = 0x1234,
	};
}

static struct rdma_conn_param some_answer(const char *data)
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)strlen(data),
		.responder_resources = 2,
		.initiator_depth = 1,
		.flow_control = 1,
		.retry_count = 3,
		.rnr_retry_count = 4,
		.srq = 1,
		.qp_num = 0x4321,
	};
}

static void check_zero(const struct rdma_cm_event *event)
{
	check(is_all(&event->param.conn, sizeof(event->param.conn), 0));
}

/* The bytes and zeros behind them, always `len` in all. */
static void check_data(const struct rdma_cm_event *event, const char *data, uint8_t len)
{
	const struct rdma_conn_param *param = &event->param.conn;
	size_t sent = strlen(data);

	check_equal(param->private_data_len, len);
	check(param->private_data);
	check(!memcmp(param->private_data, data, sent));
	check(is_all((const char *)param->private_data + sent, len - sent, 0));
}

static void check_param(const struct rdma_cm_event *event, int resp, int init, int flow, int retry,
			int rnr, int srq, uint32_t qpn)
{
	const struct rdma_conn_param *param = &event->param.conn;

	check_equal(param->responder_resources, resp);
	check_equal(param->initiator_depth, init);
	check_equal(param->flow_control, flow);
	check_equal(param->retry_count, retry);
	check_equal(param->rnr_retry_count, rnr);
	check_equal(param->srq, srq);
	check_equal(param->qp_num, qpn);
}

/* Listener, and an id with a route to it. */
static struct cm_pair routed(void)
{
	struct cm_pair p = {
		.listen_channel = must(rdma_create_event_channel()),
		.channel = must(rdma_create_event_channel()),
	};

	p.listener = listen_at(p.listen_channel, 8);
	p.active = route_to(p.channel, port_of(p.listener));
	return p;
}

static void check_qps(struct cm_pair *p)
{
	struct ibv_qp_attr a = qp_attr(p->active), b = qp_attr(p->passive);

	check_equal(a.qp_state, IBV_QPS_RTS);
	check_equal(b.qp_state, IBV_QPS_RTS);
	check_equal(a.qp_access_flags, 0xe);
	check_equal(b.qp_access_flags, 0xe);
	check_equal(a.path_mtu, b.path_mtu);
	check_equal(a.dest_qp_num, p->passive->qp->qp_num);
	check_equal(b.dest_qp_num, p->active->qp->qp_num);
	check_equal(a.max_rd_atomic, 2);
	check_equal(a.max_dest_rd_atomic, 1);
	check_equal(b.max_rd_atomic, 1);
	check_equal(b.max_dest_rd_atomic, 2);
	check_equal(a.retry_cnt, 6);
	check_equal(b.retry_cnt, 6);
	check_equal(a.rnr_retry, 4);
	check_equal(b.rnr_retry, 5);
	check_equal(a.timeout, b.timeout);
	check_equal(a.rq_psn, b.sq_psn);
	check_equal(b.rq_psn, a.sq_psn);
	check_equal(a.ah_attr.grh.flow_label, b.ah_attr.grh.flow_label);
}

static void a_connection_has_the_events_and_parameters_of_both_ends(void)
{
	struct cm_pair p = routed();
	struct rdma_conn_param param = some_param("@ABCD"), answer = some_answer("1234567");
	struct rdma_cm_event *event;

	make_qp(p.active);
	check_equal(qp_attr(p.active).qp_access_flags, 0);
	check_ok(rdma_connect(p.active, &param));
	check_errno(rdma_connect(p.active, &param), EINVAL);

	event = expect(p.listen_channel, CONNECT_REQUEST, 0);
	check(event->listen_id == p.listener && event->id != p.listener);
	check_data(event, "@ABCD", 56);
	check_param(event, 5, 3, 1, 6, 5, 0, p.active->qp->qp_num);
	p.passive = event->id;
	check_ok(rdma_ack_cm_event(event));
	check_equal(rdma_get_src_port(p.passive), rdma_get_src_port(p.listener));
	check_equal(rdma_get_dst_port(p.passive), rdma_get_src_port(p.active));
	check(p.passive->verbs && p.passive->pd && !p.passive->qp);
	check_equal(p.passive->route.num_paths, 1);

	make_qp(p.passive);
	check_ok(rdma_accept(p.passive, &answer));
	check_errno(rdma_accept(p.passive, &answer), EINVAL);

	event = expect(p.channel, ESTABLISHED, 0);
	check(event->id == p.active && !event->listen_id);
	check_data(event, "1234567", 196);
	check_param(event, 1, 2, 1, 0, 4, 0, p.passive->qp->qp_num);
	check_ok(rdma_ack_cm_event(event));
	event = expect(p.listen_channel, ESTABLISHED, 0);
	check(event->id == p.passive && !event->listen_id);
	check_zero(event);
	check_ok(rdma_ack_cm_event(event));
	check_qps(&p);
	check_errno(rdma_connect(p.active, &param), EINVAL);
	check_errno(rdma_reject(p.passive, NULL, 0), EINVAL);
	check_errno(rdma_establish(p.active), EINVAL);
	check_errno(rdma_notify(p.active, IBV_EVENT_COMM_EST), EISCONN);
	pair_end(&p);
}

static void depths_and_retries_have_defaults_without_parameters(void)
{
	struct cm_pair p = routed();
	const struct ibv_device_attr *attr = rig_attr();
	struct rdma_cm_event *event;
	struct rdma_conn_param answer = { .responder_resources = RDMA_MAX_RESP_RES,
					  .initiator_depth = RDMA_MAX_INIT_DEPTH,
					  .rnr_retry_count = 15 };

	make_qp(p.active);
	check_ok(rdma_connect(p.active, NULL));
	event = expect(p.listen_channel, CONNECT_REQUEST, 0);
	check_data(event, "", 56);
	check_param(event, attr->max_qp_init_rd_atom, attr->max_qp_rd_atom, 0, 7, 7, 0,
		    p.active->qp->qp_num);
	p.passive = event->id;
	check_ok(rdma_ack_cm_event(event));
	make_qp(p.passive);
	check_ok(rdma_accept(p.passive, &answer));
	event = expect(p.channel, ESTABLISHED, 0);
	check_param(event, attr->max_qp_init_rd_atom, attr->max_qp_rd_atom, 0, 0, 7, 0,
		    p.passive->qp->qp_num);
	check_ok(rdma_ack_cm_event(event));
	pair_end(&p);
}

static void too_deep_or_too_long_is_refused_and_the_id_remains(void)
{
	static const char data[256] = "x";
	struct cm_pair p = routed();
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 57 };

	make_qp(p.active);
	check_errno(rdma_connect(p.active, &param), EINVAL);
	param = (struct rdma_conn_param){ .responder_resources = 254 };
	check_errno(rdma_connect(p.active, &param), EINVAL);
	param = (struct rdma_conn_param){ .private_data_len = 10 };
	check_ok(rdma_connect(p.active, &param));
	p.passive = expect_request(p.listen_channel);
	make_qp(p.passive);
	param = (struct rdma_conn_param){ .initiator_depth = 254 };
	check_errno(rdma_accept(p.passive, &param), EINVAL);
	/* The length of the data is checked after the QP has moved: the request is rejected. */
	param = (struct rdma_conn_param){ .private_data = data, .private_data_len = 197 };
	check_errno(rdma_accept(p.passive, &param), EINVAL);
	expect_ack(p.channel, REJECTED, 28);
	check_errno(rdma_reject(p.passive, NULL, 0), EINVAL);
	pair_end(&p);
}

static void programs_with_queue_pairs_of_their_own_establish_by_themselves(void)
{
	struct cm_pair p = routed();
	struct rdma_conn_param param = some_param("ab"), answer = some_answer("cd");
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	uint32_t expected_psn;
	int mask;

	check_errno(rdma_connect(p.active, NULL), EINVAL);
	check_ok(rdma_connect(p.active, &param));
	event = expect(p.listen_channel, CONNECT_REQUEST, 0);
	check_param(event, 5, 3, 1, 6, 5, 1, 0x1234);
	p.passive = event->id;
	check_ok(rdma_ack_cm_event(event));
	check_ok(rdma_init_qp_attr(p.passive, &attr, &mask));
	check_equal(mask, 0x129181);
	check_equal(attr.dest_qp_num, 0x1234);
	check_equal(attr.max_dest_rd_atomic, 5);
	expected_psn = attr.rq_psn;
	check_ok(rdma_accept(p.passive, &answer));
	event = expect(p.channel, CONNECT_RESPONSE, 0);
	check_data(event, "cd", 196);
	check_param(event, 1, 2, 1, 0, 4, 1, 0x4321);
	check_ok(rdma_ack_cm_event(event));
	attr.qp_state = IBV_QPS_RTS;
	check_ok(rdma_init_qp_attr(p.active, &attr, &mask));
	check_equal(attr.sq_psn, expected_psn);
	check_quiet(p.listen_channel);
	check_errno(rdma_establish(p.passive), EINVAL);
	check_ok(rdma_establish(p.active));
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	check_errno(rdma_establish(p.active), EINVAL);
	check_quiet(p.channel);
	pair_end(&p);
}

/* A link-local address of the adapter, with its scope. */
static struct sockaddr_in6 link_local_address(void)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6 };
	struct ibv_gid_entry e;

	for (uint32_t i = 0; i < 256; i++) {
		if (ibv_query_gid_ex(rig_context(), 1, i, &e, 0) ||
		    e.gid_type != IBV_GID_TYPE_ROCE_V2 || !e.ndev_ifindex)
			continue;
		memcpy(&addr.sin6_addr, e.gid.raw, sizeof(e.gid.raw));
		addr.sin6_scope_id = e.ndev_ifindex;
		if (IN6_IS_ADDR_LINKLOCAL(&addr.sin6_addr))
			return addr;
	}
	rig_skip("the adapter has no link-local address");
}

static void a_listener_at_a_link_local_address_gets_its_requests(void)
{
	struct sockaddr_in6 addr = link_local_address();
	struct sockaddr_in6 *own, *peer;
	struct cm_pair p = { .listen_channel = must(rdma_create_event_channel()),
			     .channel = must(rdma_create_event_channel()) };

	check_ok(rdma_create_id(p.listen_channel, &p.listener, NULL, RDMA_PS_TCP));
	check_ok(rdma_bind_addr(p.listener, (struct sockaddr *)&addr));
	check_ok(rdma_listen(p.listener, 1));
	addr.sin6_port = rdma_get_src_port(p.listener);
	check_ok(rdma_create_id(p.channel, &p.active, NULL, RDMA_PS_TCP));
	check_ok(rdma_resolve_addr(p.active, NULL, (struct sockaddr *)&addr, WAIT_MS));
	expect_ack(p.channel, ADDR_RESOLVED, 0);
	check_ok(rdma_resolve_route(p.active, WAIT_MS));
	expect_ack(p.channel, ROUTE_RESOLVED, 0);
	make_qp(p.active);
	check_ok(rdma_connect(p.active, NULL));
	p.passive = expect_request(p.listen_channel);
	own = (struct sockaddr_in6 *)rdma_get_local_addr(p.passive);
	peer = (struct sockaddr_in6 *)rdma_get_peer_addr(p.passive);
	check_equal(own->sin6_scope_id, addr.sin6_scope_id);
	check_equal(peer->sin6_scope_id, addr.sin6_scope_id);
	pair_end(&p);
}

static void a_notice_of_received_data_establishes_once(void)
{
	struct cm_pair p = pair_accepted();

	check_ok(rdma_notify(p.passive, IBV_EVENT_COMM_EST));
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	check_errno(rdma_notify(p.passive, IBV_EVENT_COMM_EST), EISCONN);
	expect_ack(p.channel, ESTABLISHED, 0);
	check_ok(rdma_disconnect(p.active));
	expect_ack(p.listen_channel, DISCONNECTED, 0); /* and no second ESTABLISHED before */
	pair_end(&p);
}

/* ---- rejecting ---- */

static void a_rejection_has_its_reason_and_data(void)
{
	struct cm_pair p = pair_requested();
	struct rdma_cm_event *event;
	static const char data[256];

	check_errno(rdma_reject(p.passive, data, 149), EINVAL);
	check_ok(rdma_reject(p.passive, "sorry", 5));
	check_errno(rdma_reject(p.passive, NULL, 0), EINVAL);
	check_errno(rdma_accept(p.passive, NULL), EINVAL);
	event = expect(p.channel, REJECTED, 28);
	check_data(event, "sorry", 148);
	check_param(event, 0, 0, 0, 0, 0, 0, 0);
	check_ok(rdma_ack_cm_event(event));
	check_equal(qp_state(p.active), IBV_QPS_ERR);
	check_errno(rdma_connect(p.active, NULL), EINVAL);
	check_ok(rdma_disconnect(p.active));
	check_quiet(p.listen_channel);
	pair_end(&p);

	p = pair_requested();
	check_ok(rdma_reject_ece(p.passive, NULL, 0));
	event = expect(p.channel, REJECTED, 35);
	check_data(event, "", 148);
	check_ok(rdma_ack_cm_event(event));
	pair_end(&p);
}

static void an_id_destroyed_unanswered_rejects(void)
{
	struct cm_pair p = pair_requested();
	struct rdma_cm_event *event;

	destroy(p.passive);
	p.passive = NULL;
	event = expect(p.channel, REJECTED, 28);
	check_data(event, "", 148);
	check_ok(rdma_ack_cm_event(event));
	pair_end(&p);
}

static void a_port_without_listener_rejects_at_once(void)
{
	struct cm_pair p = routed();
	struct rdma_cm_event *event;

	destroy(p.listener);
	p.listener = NULL;
	make_qp(p.active);
	check_ok(rdma_connect(p.active, NULL));
	event = expect(p.channel, REJECTED, 8);
	check_data(event, "", 148);
	check_ok(rdma_ack_cm_event(event));
	pair_end(&p);
}

static void a_listener_destroyed_with_an_unread_request_rejects_it(void)
{
	struct cm_pair p = routed();

	make_qp(p.active);
	check_ok(rdma_connect(p.active, NULL));
	check(is_readable(p.listen_channel->fd, WAIT_MS));
	destroy(p.listener);
	p.listener = NULL;
	check_quiet(p.listen_channel);
	expect_ack(p.channel, REJECTED, 28);
	pair_end(&p);
}

static void an_accepted_id_outlives_its_listener(void)
{
	struct cm_pair p = pair_requested();

	destroy(p.listener);
	p.listener = NULL;
	check_ok(rdma_accept(p.passive, NULL));
	expect_ack(p.channel, ESTABLISHED, 0);
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	pair_end(&p);
}

static void a_request_of_an_id_that_is_gone_cannot_be_accepted(void)
{
	struct cm_pair p = pair_requested();

	destroy(p.active);
	/* The REJ has no event. The next request comes behind it. */
	p.active = route_to(p.channel, port_of(p.listener));
	make_qp(p.active);
	check_ok(rdma_connect(p.active, NULL));
	destroy(expect_request(p.listen_channel));
	check_errno(rdma_accept(p.passive, NULL), EINVAL);
	check_errno(rdma_reject(p.passive, NULL, 0), EINVAL);
	expect_ack(p.channel, REJECTED, 28);
	pair_end(&p);
}

/* Unread requests beyond the backlog are dropped, and have another chance six seconds later. */
static void requests_beyond_the_backlog_wait_for_room(void)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_event_channel *listen_channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = listen_at(listen_channel, 2), *active[4], *passive[4];

	for (size_t i = 0; i < array_size(active); i++) {
		active[i] = route_to(channel, port_of(listener));
		make_qp(active[i]);
		check_ok(rdma_connect(active[i], NULL));
	}
	check(is_readable(listen_channel->fd, WAIT_MS));
	check_quiet(channel); /* nobody was rejected */
	for (size_t i = 0; i < array_size(active); i++) {
		passive[i] = expect_request(listen_channel);
		make_qp(passive[i]);
	}
	for (size_t i = 0; i < array_size(active); i++)
		check_ok(rdma_accept(passive[i], NULL));
	for (size_t i = 0; i < array_size(active); i++)
		expect_ack(channel, ESTABLISHED, 0);
	for (size_t i = 0; i < array_size(active); i++) {
		expect_ack(listen_channel, ESTABLISHED, 0);
	}
	for (size_t i = 0; i < array_size(active); i++) {
		destroy(active[i]);
		destroy(passive[i]);
	}
	destroy(listener);
}

/* ---- between reply and RTU ---- */

static void an_end_destroyed_with_the_reply_unread_rejects_it(void)
{
	struct cm_pair p = pair_accepted();
	struct rdma_cm_event *event;

	destroy(p.active);
	p.active = NULL;
	check_quiet(p.channel);
	event = expect(p.listen_channel, REJECTED, 28);
	check_data(event, "", 148);
	check_ok(rdma_ack_cm_event(event));
	check_equal(qp_state(p.passive), IBV_QPS_ERR);
	check_ok(rdma_disconnect(p.passive));
	pair_end(&p);
}

static void a_reply_whose_sender_is_gone_is_an_error_and_no_other_event(void)
{
	struct cm_pair p = pair_accepted();
	struct rdma_cm_id *id;

	destroy(p.passive);
	p.passive = NULL;
	/* By the time this connection has come about, the REJ of the other one has arrived. */
	id = route_to(p.channel = must(rdma_create_event_channel()), port_of(p.listener));
	check_ok(rdma_connect(id, &(struct rdma_conn_param){ .qp_num = 7 }));
	check_ok(rdma_reject(expect_request(p.listen_channel), NULL, 0));
	expect_ack(p.channel, REJECTED, 28);
	expect_ack(p.active->channel, CONNECT_ERROR, -1);
	check_equal(qp_state(p.active), IBV_QPS_ERR);
	/* Destroying checks the order of events: what was queued for it is gone. */
	check_ok(rdma_disconnect(p.active));
	check_quiet(p.active->channel);
	destroy(id);
	pair_end(&p);
}

static void disconnecting_before_the_rtu_says_nothing(void)
{
	struct cm_pair p = pair_accepted();

	check_ok(rdma_disconnect(p.passive));
	check_equal(qp_state(p.passive), IBV_QPS_ERR);
	expect_ack(p.channel, ESTABLISHED, 0);
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	pair_end(&p);
}

static void a_reply_read_with_the_queue_pair_in_error_is_an_error(void)
{
	struct cm_pair p = pair_accepted();

	check_ok(rdma_disconnect(p.active));
	check_equal(qp_state(p.active), IBV_QPS_ERR);
	expect_ack(p.channel, CONNECT_ERROR, -1);
	pair_end(&p);
}

/* ---- disconnecting ---- */

static void a_disconnect_waits_for_the_other_end(void)
{
	struct cm_pair p = pair_connected();
	struct rdma_cm_event *event;

	check_ok(rdma_disconnect(p.active));
	check_equal(qp_state(p.active), IBV_QPS_ERR);
	event = expect(p.listen_channel, DISCONNECTED, 0);
	check(event->id == p.passive && !event->listen_id);
	check_zero(event);
	check_ok(rdma_ack_cm_event(event));
	check_equal(qp_state(p.passive), IBV_QPS_RTS);
	check_quiet(p.channel);
	check_ok(rdma_disconnect(p.passive));
	check_equal(qp_state(p.passive), IBV_QPS_ERR);
	event = expect(p.channel, DISCONNECTED, 0);
	check_zero(event);
	check_ok(rdma_ack_cm_event(event));
	event = expect(p.channel, TIMEWAIT_EXIT, 0);
	check(event->id == p.active);
	check_zero(event);
	check_ok(rdma_ack_cm_event(event));
	expect_ack(p.listen_channel, TIMEWAIT_EXIT, 0);
	for (int i = 0; i < 2; i++) {
		check_ok(rdma_disconnect(p.active));
		check_ok(rdma_disconnect(p.passive));
	}
	check_quiet(p.channel);
	check_quiet(p.listen_channel);
	pair_end(&p);
}

static void both_ends_disconnect_at_once(void)
{
	struct cm_pair p = pair_connected();

	check_ok(rdma_disconnect(p.active));
	check_ok(rdma_disconnect(p.passive));
	expect_ack(p.channel, DISCONNECTED, 0);
	check_ok(rdma_disconnect(p.active));
	expect_ack(p.channel, TIMEWAIT_EXIT, 0);
	/* The passive end may have answered with its own call; then that was all. */
	for (;;) {
		struct rdma_cm_event *event;

		check(is_readable(p.listen_channel->fd, WAIT_MS));
		check_ok(rdma_get_cm_event(p.listen_channel, &event));
		check_equal(event->status, 0);
		if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			check_ok(rdma_ack_cm_event(event));
			break;
		}
		check_equal(event->event, RDMA_CM_EVENT_DISCONNECTED);
		check_ok(rdma_ack_cm_event(event));
	}
	pair_end(&p);
}

static void destroying_a_connected_id_disconnects_its_peer(void)
{
	struct cm_pair p = pair_connected();

	destroy(p.active);
	p.active = NULL;
	expect_ack(p.listen_channel, DISCONNECTED, 0);
	check_equal(qp_state(p.passive), IBV_QPS_RTS);
	pair_end(&p);

	p = pair_connected();
	destroy(p.passive);
	p.passive = NULL;
	expect_ack(p.channel, DISCONNECTED, 0);
	pair_end(&p);
}

static void disconnecting_without_a_connection_loses_the_queue_pair(void)
{
	struct cm_pair p = routed();

	make_qp(p.active);
	check_errno(rdma_disconnect(p.active), EINVAL);
	check_equal(qp_state(p.active), IBV_QPS_ERR);
	pair_end(&p);

	p = pair_requested();
	check_ok(rdma_disconnect(p.active));
	check_ok(rdma_disconnect(p.passive));
	pair_end(&p);
}

static void data_goes_over_a_connection(void)
{
	struct cm_pair p = pair_connected();
	char *buf = pages(4096);
	struct ibv_mr *mr = must(rdma_reg_msgs(p.active, buf, 4096));
	struct ibv_mr *mr2 = must(rdma_reg_msgs(p.passive, buf, 4096));
	struct ibv_wc wc;

	fill(buf, 512, 1);
	check_ok(rdma_post_recv(p.passive, NULL, buf + 2048, 512, mr2));
	check_ok(rdma_post_send(p.active, NULL, buf, 512, mr, IBV_SEND_SIGNALED));
	check_equal(rdma_get_send_comp(p.active, &wc), 1);
	check_equal(wc.status, 0);
	check_equal(rdma_get_recv_comp(p.passive, &wc), 1);
	check_equal(wc.status, 0);
	check_filled(buf + 2048, 512, 1);
	check_ok(rdma_dereg_mr(mr));
	check_ok(rdma_dereg_mr(mr2));
	pair_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_connection_has_the_events_and_parameters_of_both_ends),
		TEST(depths_and_retries_have_defaults_without_parameters),
		TEST(too_deep_or_too_long_is_refused_and_the_id_remains),
		TEST(programs_with_queue_pairs_of_their_own_establish_by_themselves),
		TEST(a_listener_at_a_link_local_address_gets_its_requests),
		TEST(a_notice_of_received_data_establishes_once),
		TEST(a_rejection_has_its_reason_and_data),
		TEST(an_id_destroyed_unanswered_rejects),
		TEST(a_port_without_listener_rejects_at_once),
		TEST(a_listener_destroyed_with_an_unread_request_rejects_it),
		TEST(an_accepted_id_outlives_its_listener),
		TEST(a_request_of_an_id_that_is_gone_cannot_be_accepted),
		TEST(requests_beyond_the_backlog_wait_for_room),
		TEST(an_end_destroyed_with_the_reply_unread_rejects_it),
		TEST(a_reply_whose_sender_is_gone_is_an_error_and_no_other_event),
		TEST(disconnecting_before_the_rtu_says_nothing),
		TEST(a_reply_read_with_the_queue_pair_in_error_is_an_error),
		TEST(a_disconnect_waits_for_the_other_end),
		TEST(both_ends_disconnect_at_once),
		TEST(destroying_a_connected_id_disconnects_its_peer),
		TEST(disconnecting_without_a_connection_loses_the_queue_pair),
		TEST(data_goes_over_a_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
