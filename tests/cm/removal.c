/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter is unplugged under ids, contexts and queues, by the verbena command. In a network namespace
 * of its own: mlx5_0 is at va, 10.66.0.1/24, and mlx5_1 at vb, 10.67.0.1/24. Every test is a process.
 */
#include "cm_rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "netns.h"
#include "util/api.h"
#include "xrc.h"

/* A program sets it by the environment, before the library is loaded. */
extern bool verbs_allow_disassociate_destroy;

static void order(const char *what, const char *adapter)
{
	char command[512];

	snprintf(command, sizeof(command), "env -u LD_PRELOAD %s %s %s", VERBENA, what, adapter);
	check_equal(system(command), 0);
}

static void unplug(void)
{
	order("unplug", "mlx5_0");
}

static void plug(void)
{
	order("plug", "mlx5_0");
}

static struct sockaddr_in address(const char *text, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	check_equal(inet_pton(AF_INET, text, &addr.sin_addr), 1);
	return addr;
}

static struct rdma_cm_id *bound(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct sockaddr_in addr = address("10.66.0.1", 0);
	struct rdma_cm_id *id;

	check_ok(rdma_create_id(channel, &id, NULL, ps));
	check_ok(rdma_bind_addr(id, (struct sockaddr *)&addr));
	return id;
}

static void expect_removal(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	const struct rdma_conn_param none = { 0 };
	struct rdma_cm_event *event = expect(channel, DEVICE_REMOVAL, 0);

	check(event->id == id && !event->listen_id);
	check(!memcmp(&event->param.conn, &none, sizeof(none)));
	check_ok(rdma_ack_cm_event(event));
}

static void expect_removals(struct rdma_event_channel *channel, int count)
{
	while (count--) /* in any order */
		expect_ack(channel, DEVICE_REMOVAL, 0);
}

static void expect_fatal(struct ibv_context *context)
{
	struct ibv_async_event event;

	check_ok(ibv_get_async_event(context, &event));
	check_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	/* No event will ever follow, and nothing waits for one. */
	check_errno(ibv_get_async_event(context, &event), EIO);
	check_errno(ibv_get_async_event(context, &event), EIO);
	check(is_readable(context->async_fd, 0));
}

static bool is_in_list(const char *name)
{
	struct ibv_device **list = must(ibv_get_device_list(NULL));
	bool found = false;

	for (int i = 0; list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]), name);
	ibv_free_device_list(list);
	return found;
}

static bool is_in_cm_list(const char *name)
{
	struct ibv_context **list = must(rdma_get_devices(NULL));
	bool found = false;

	for (int i = 0; list[i]; i++)
		found |= !strcmp(ibv_get_device_name(list[i]->device), name);
	rdma_free_devices(list);
	return found;
}

/* ---- connections ---- */

static void check_flushed(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;

	check_equal(ibv_poll_cq(cq, 1, &wc), 1);
	check_equal(wc.wr_id, wr_id);
	check_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	check_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

static void both_ends_of_a_connection_hear_of_the_removal(void)
{
	struct ibv_recv_wr recv = { .wr_id = 7 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 8,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;
	struct cm_pair p;

	plug();
	p = pair_connected();
	check_ok(ibv_post_recv(p.active->qp, &recv, &bad_recv));
	unplug();
	expect_removal(p.channel, p.active);
	expect_removals(p.listen_channel, 2); /* the listener's, too: it is bound to the address */
	check_quiet(p.channel);
	check_quiet(p.listen_channel);
	check_flushed(p.active->recv_cq, 7);
	check_ok(ibv_post_send(p.active->qp, &send, &bad_send));
	check_flushed(p.active->send_cq, 8);
	check_ok(ibv_post_recv(p.passive->qp, &recv, &bad_recv));
	check_flushed(p.passive->recv_cq, 7);
	expect_fatal(p.active->verbs);
	pair_end(&p);
}

static void a_removed_id_can_only_be_destroyed(void)
{
	struct sockaddr_in addr = address("10.66.0.1", 0);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1 } };
	struct rdma_event_channel *other;
	struct cm_pair p;
	uint8_t tos = 1;
	int mask;

	plug();
	p = pair_connected();
	other = must(rdma_create_event_channel());
	unplug();
	expect_removal(p.channel, p.active);
	expect_removals(p.listen_channel, 2);
	check_errno(rdma_disconnect(p.active), EIO); /* its QP cannot be moved */
	check_errno(rdma_listen(p.listener, 1), ENXIO);
	check_errno(rdma_disconnect(p.listener), ENXIO);
	check_errno(rdma_bind_addr(p.active, (struct sockaddr *)&addr), ENXIO);
	check_errno(rdma_resolve_addr(p.active, NULL, (struct sockaddr *)&addr, 1), ENXIO);
	check_errno(rdma_resolve_route(p.active, 1), ENXIO);
	check_errno(rdma_connect(p.active, NULL), ENXIO);
	check_errno(rdma_accept(p.passive, NULL), ENXIO);
	check_errno(rdma_reject(p.passive, NULL, 0), ENXIO);
	check_errno(rdma_notify(p.passive, IBV_EVENT_COMM_EST), ENXIO);
	check_errno(rdma_init_qp_attr(p.active, &attr, &mask), ENXIO);
	check_errno(rdma_set_option(p.active, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), ENXIO);
	check_errno(rdma_migrate_id(p.active, other), ENXIO);
	check_errno(rdma_create_qp(p.listener, NULL, &init), EIO);
	check(rdma_get_src_port(p.active) != 0);
	check(!strcmp(ibv_get_device_name(p.active->verbs->device), "mlx5_0"));
	rdma_destroy_event_channel(other);
	pair_end(&p);
}

static void the_other_end_at_another_adapter_sees_a_peer_that_is_silent(void)
{
	struct sockaddr_in from = address("10.67.0.1", 0), to;
	struct ibv_send_wr send = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct rdma_conn_param param = { .retry_count = 1, .rnr_retry_count = 1 };
	struct cm_pair p = { 0 };
	struct ibv_wc wc = { 0 };
	uint8_t timeout = 14;

	plug();
	p.listen_channel = must(rdma_create_event_channel());
	p.channel = must(rdma_create_event_channel());
	p.listener = listen_at(p.listen_channel, 8);
	to = address("10.66.0.1", port_of(p.listener));
	check_ok(rdma_create_id(p.channel, &p.active, NULL, RDMA_PS_TCP));
	check_ok(rdma_resolve_addr(p.active, (struct sockaddr *)&from, (struct sockaddr *)&to,
				   WAIT_MS));
	expect_ack(p.channel, ADDR_RESOLVED, 0);
	check_ok(rdma_resolve_route(p.active, WAIT_MS));
	expect_ack(p.channel, ROUTE_RESOLVED, 0);
	make_qp(p.active);
	check_ok(rdma_set_option(p.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
				 sizeof(timeout)));
	check_ok(rdma_connect(p.active, &param));
	p.passive = expect_request(p.listen_channel);
	make_qp(p.passive);
	check_ok(rdma_accept(p.passive, NULL));
	expect_ack(p.channel, ESTABLISHED, 0);
	expect_ack(p.listen_channel, ESTABLISHED, 0);
	check(!strcmp(p.active->verbs->device->name, "mlx5_1"));
	unplug();
	expect_removals(p.listen_channel, 2);
	check_quiet(p.channel);
	check_equal(qp_state(p.active), IBV_QPS_RTS);
	destroy(p.passive);
	p.passive = NULL;
	check_ok(ibv_post_send(p.active->qp, &send, &bad));
	wait_for(ibv_poll_cq(p.active->send_cq, 1, &wc) == 1);
	check_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	check_quiet(p.channel);
	pair_end(&p);
}

/* ---- memory ---- */

/* The sanitizers have a calloc() of their own. */
#if !defined(__SANITIZE_ADDRESS__) && !VB_TSAN
#define HAS_CALLOC 1
static atomic_bool is_memory_short; /* for structs of threads of the library */
static atomic_uint refusals;
static pthread_t main_thread;

extern void *__libc_calloc(size_t count, size_t size);

/* The libraries call this one, too. */
__attribute__((visibility("default"))) void *calloc(size_t count, size_t size)
{
	if (!is_memory_short || size < 128 || pthread_equal(pthread_self(), main_thread))
		return __libc_calloc(count, size);
	refusals++;
	errno = ENOMEM;
	return NULL;
}

static void the_event_comes_when_there_is_memory_for_it_again(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	plug();
	main_thread = pthread_self();
	channel = must(rdma_create_event_channel());
	id = bound(channel, RDMA_PS_TCP);
	is_memory_short = true;
	unplug();
	wait_for(refusals >= 2);
	check_quiet(channel);
	is_memory_short = false;
	expect_removal(channel, id);
	destroy(id);
	rdma_destroy_event_channel(channel);
}
#endif

/* ---- ids in other states ---- */

static void ids_that_are_bound_to_the_adapter_hear_of_it(void)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct sockaddr_in group = address("239.1.2.3", 0), nobody = address("10.66.0.77", 7471);
	struct rdma_cm_id *ids[5];

	plug();
	ids[0] = bound(channel, RDMA_PS_TCP);
	ids[1] = bound(channel, RDMA_PS_UDP);
	ids[2] = bound(channel, RDMA_PS_UDP);
	check_ok(rdma_join_multicast(ids[2], (struct sockaddr *)&group, NULL));
	expect_ack(channel, MULTICAST_JOIN, 0);
	ids[3] = bound(channel, RDMA_PS_TCP);
	check_ok(rdma_resolve_addr(ids[3], NULL, (struct sockaddr *)&nobody, 100 * WAIT_MS));
	ids[4] = bound(channel, RDMA_PS_TCP);
	check_ok(rdma_listen(ids[4], 0));
	unplug();
	expect_removals(channel, 5);
	check_quiet(channel);
	check_errno(rdma_leave_multicast(ids[2], (struct sockaddr *)&group), ENXIO);
	for (size_t i = 0; i < array_size(ids); i++)
		destroy(ids[i]);
	rdma_destroy_event_channel(channel);
}

static void ids_without_an_adapter_go_on(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET }, to;
	struct rdma_event_channel *channel, *listen_channel;
	struct rdma_cm_id *idle, *listener, *active, *witness;

	plug();
	channel = must(rdma_create_event_channel());
	listen_channel = must(rdma_create_event_channel());
	check_ok(rdma_create_id(channel, &idle, NULL, RDMA_PS_TCP));
	check_ok(rdma_create_id(listen_channel, &listener, NULL, RDMA_PS_TCP));
	check_ok(rdma_bind_addr(listener, (struct sockaddr *)&any));
	check_ok(rdma_listen(listener, 8));
	witness = bound(channel, RDMA_PS_TCP);
	unplug();
	expect_removal(channel, witness);
	/* By the adapter that is left. */
	to = address("10.67.0.1", port_of(listener));
	check_ok(rdma_resolve_addr(idle, NULL, (struct sockaddr *)&to, WAIT_MS));
	expect_ack(channel, ADDR_RESOLVED, 0);
	check(!strcmp(idle->verbs->device->name, "mlx5_1"));
	check_ok(rdma_resolve_route(idle, WAIT_MS));
	expect_ack(channel, ROUTE_RESOLVED, 0);
	make_qp(idle);
	check_ok(rdma_connect(idle, NULL));
	active = expect_request(listen_channel);
	make_qp(active);
	check_ok(rdma_accept(active, NULL));
	expect_ack(channel, ESTABLISHED, 0);
	expect_ack(listen_channel, ESTABLISHED, 0);
	/* Not by the one that is gone. */
	to = address("10.66.0.1", 0);
	destroy(witness);
	check_ok(rdma_create_id(channel, &witness, NULL, RDMA_PS_TCP));
	check_errno(rdma_bind_addr(witness, (struct sockaddr *)&to), ENODEV);
	destroy(witness);
	destroy(idle);
	destroy(active);
	destroy(listener);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(listen_channel);
}

static void a_request_that_is_not_accepted_hears_of_nothing(void)
{
	struct cm_pair p;

	plug();
	p = pair_requested();
	unplug();
	expect_removal(p.channel, p.active);
	expect_removal(p.listen_channel, p.listener);
	check_quiet(p.listen_channel);
	check_errno(rdma_accept(p.passive, NULL), ENXIO);
	pair_end(&p);
}

static void *destroy_in_thread(void *arg)
{
	destroy(arg);
	return NULL;
}

static void an_id_is_not_freed_before_the_event_is_acknowledged(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	pthread_t thread;

	plug();
	channel = must(rdma_create_event_channel());
	id = bound(channel, RDMA_PS_TCP);
	unplug();
	event = expect(channel, DEVICE_REMOVAL, 0);
	check_ok(pthread_create(&thread, NULL, destroy_in_thread, id));
	wait_for(rdma_get_src_port(id) == 0);
	check(event->id == id);
	check_ok(rdma_ack_cm_event(event));
	check_ok(pthread_join(thread, NULL));
	rdma_destroy_event_channel(channel);
}

/* ---- verbs ---- */

static void calls_on_a_dead_context_are_eio(void)
{
	struct ibv_context *context;
	struct ibv_device_attr device_attr;
	struct ibv_port_attr port_attr;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_comp_channel *channel;
	static char buffer[4096];
	union ibv_gid gid;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	__be16 pkey;

	plug();
	context = rig_open();
	pd = must(ibv_alloc_pd(context));
	mr = must(ibv_reg_mr(pd, buffer, sizeof(buffer), 0));
	channel = must(ibv_create_comp_channel(context));
	cq = must(ibv_create_cq(context, 4, NULL, channel, 0));
	init.send_cq = init.recv_cq = cq;
	qp = must(ibv_create_qp(pd, &init));
	unplug();
	check(is_readable(context->async_fd, WAIT_MS));
	expect_fatal(context);
	check_equal(ibv_query_device(context, &device_attr), EIO);
	check_equal(ibv_query_port(context, 1, &port_attr), EIO);
	check_errno(ibv_query_gid(context, 1, 0, &gid), EIO);
	check_errno(ibv_query_pkey(context, 1, 0, &pkey), EIO);
	check(!ibv_alloc_pd(context) && errno == EIO);
	check(!ibv_reg_mr(pd, buffer, sizeof(buffer), 0) && errno == EIO);
	check(!ibv_create_comp_channel(context) && errno == EIO);
	check(!ibv_create_cq(context, 4, NULL, NULL, 0) && errno == EIO);
	check(!ibv_create_qp(pd, &init) && errno == EIO);
	check_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EIO);
	check_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), EIO);
	/* Objects cannot even be destroyed, unless the environment allows it. */
	check_equal(ibv_destroy_qp(qp), EIO);
	check_equal(ibv_destroy_cq(cq), EIO);
	check_equal(ibv_dereg_mr(mr), EIO);
	check_equal(ibv_dealloc_pd(pd), EIO);
	verbs_allow_disassociate_destroy = true;
	check_ok(ibv_destroy_qp(qp));
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_destroy_comp_channel(channel));
	check_ok(ibv_dereg_mr(mr));
	check_ok(ibv_dealloc_pd(pd));
	check_ok(ibv_close_device(context));
}

static void *wait_for_completion(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	check_errno(ibv_get_cq_event(arg, &cq, &context), EIO);
	return NULL;
}

static void a_thread_that_waits_for_completions_is_woken(void)
{
	struct ibv_comp_channel *channel;
	struct ibv_context *context;
	struct ibv_cq *cq;
	pthread_t thread;

	plug();
	context = rig_open();
	channel = must(ibv_create_comp_channel(context));
	cq = must(ibv_create_cq(context, 4, NULL, channel, 0));
	check_ok(ibv_req_notify_cq(cq, 0));
	check_ok(pthread_create(&thread, NULL, wait_for_completion, channel));
	unplug();
	check_ok(pthread_join(thread, NULL));
	wait_for_completion(channel);
	verbs_allow_disassociate_destroy = true;
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_destroy_comp_channel(channel));
	check_ok(ibv_close_device(context));
}

/* Has both queue pairs of an XRC connection, and sends to a queue of the process that has started this one. */
static void xrc_host(int fd)
{
	struct ibv_xrcd *xrcd = xrc_open_domain(rig_context());
	struct end *a = xrc_open_half(IBV_QPT_XRC_SEND, xrcd);
	struct end *b = xrc_open_half(IBV_QPT_XRC_RECV, xrcd);
	uint32_t srqn;

	ends_connect(a, b);
	hear(fd, &srqn, sizeof(srqn));
	xrc_send(a, srqn, IBV_WR_SEND, 1, 64);
	expect_ok(a->scq, 1);
	hear_mark(fd, 'E');
}

static void a_guest_of_xrc_outlives_its_context(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_comp_channel *channel;
	struct ibv_context *context;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct peer host;
	struct end *e;
	uint32_t srqn;

	plug();
	xrc_make_file();
	host = peer_start(xrc_host);
	xrcd = xrc_open_domain(rig_context());
	e = end_open(&o);
	end_drop_qp(e);
	srq = xrc_make_srq(e, xrcd);
	check_ok(ibv_get_srq_num(srq, &srqn));
	xrc_post(srq, e, 7, 0, 64);
	tell(host.fd, &srqn, sizeof(srqn));
	expect_ok(e->rcq, 7);
	check_ok(ibv_destroy_srq(srq));
	end_close(e);
	check_ok(ibv_close_xrcd(xrcd));
	check_ok(ibv_close_device(rig_context()));
	rig_forget();
	context = rig_open();
	channel = must(ibv_create_comp_channel(context));
	unplug();
	wait_for_completion(channel); /* woken after queue pairs have failed */
	verbs_allow_disassociate_destroy = true;
	check_ok(ibv_destroy_comp_channel(channel));
	check_ok(ibv_close_device(context));
	tell_mark(host.fd, 'E');
	peer_join(&host);
	xrc_remove_file();
}

/* ---- again ---- */

static void an_adapter_that_is_plugged_in_again_is_as_new(void)
{
	struct ibv_device *device;
	struct cm_pair p, again;

	plug();
	p = pair_connected();
	device = p.active->verbs->device;
	check(is_in_list("mlx5_0") && is_in_list("mlx5_1") && is_in_cm_list("mlx5_0"));
	unplug();
	expect_removal(p.channel, p.active);
	expect_removals(p.listen_channel, 2);
	check(!is_in_list("mlx5_0") && is_in_list("mlx5_1"));
	check(!is_in_cm_list("mlx5_0") && is_in_cm_list("mlx5_1"));
	check(!ibv_open_device(device) && errno == ENODEV);
	plug();
	check(is_in_list("mlx5_0"));
	check(is_in_cm_list("mlx5_0"));
	rig_forget(); /* the context that was open */
	again = pair_connected();
	check(again.active->verbs != p.active->verbs);
	/* The connection of the removed adapter stays unusable. */
	check_errno(rdma_disconnect(p.active), EIO);
	pair_end(&p);
	check_ok(rdma_disconnect(again.active));
	expect_ack(again.listen_channel, DISCONNECTED, 0);
	pair_end(&again);
}

static void unplug_under_an_id(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	plug();
	id = bound(channel, RDMA_PS_TCP);
	unplug();
	expect_removal(channel, id);
	destroy(id);
}

static void unplug_without_ids(struct rdma_event_channel *channel)
{
	struct ibv_comp_channel *witness;
	struct ibv_context *context;

	plug();
	destroy(bound(channel, RDMA_PS_TCP));
	context = rig_open();
	witness = must(ibv_create_comp_channel(context));
	unplug();
	wait_for_completion(witness);
	verbs_allow_disassociate_destroy = true;
	check_ok(ibv_destroy_comp_channel(witness));
	verbs_allow_disassociate_destroy = false;
	check_ok(ibv_close_device(context));
}

static void adapters_that_are_removed_again_and_again_leave_nothing_behind(void)
{
	struct rdma_event_channel *channel;
	struct holdings before;

	plug();
	channel = must(rdma_create_event_channel());
	for (int i = 0; i < 2; i++) {
		unplug_without_ids(channel);
		unplug_under_an_id(channel);
	}
	before = holdings();
	for (int i = 0; i < 8; i++) {
		unplug_without_ids(channel);
		unplug_under_an_id(channel);
	}
	check_given_back(&before);
	rdma_destroy_event_channel(channel);
}

static void a_process_that_starts_later_does_not_find_it(void)
{
	unplug();
	check(!is_in_list("mlx5_0") && is_in_list("mlx5_1"));
	check(!is_in_cm_list("mlx5_0") && is_in_cm_list("mlx5_1"));
	plug();
	check(is_in_list("mlx5_0"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(both_ends_of_a_connection_hear_of_the_removal),
		TEST(a_removed_id_can_only_be_destroyed),
		TEST(the_other_end_at_another_adapter_sees_a_peer_that_is_silent),
#ifdef HAS_CALLOC
		TEST(the_event_comes_when_there_is_memory_for_it_again),
#endif
		TEST(ids_that_are_bound_to_the_adapter_hear_of_it),
		TEST(ids_without_an_adapter_go_on),
		TEST(a_request_that_is_not_accepted_hears_of_nothing),
		TEST(an_id_is_not_freed_before_the_event_is_acknowledged),
		TEST(calls_on_a_dead_context_are_eio),
		TEST(a_thread_that_waits_for_completions_is_woken),
		TEST(a_guest_of_xrc_outlives_its_context),
		TEST(an_adapter_that_is_plugged_in_again_is_as_new),
		TEST(adapters_that_are_removed_again_and_again_leave_nothing_behind),
		TEST(a_process_that_starts_later_does_not_find_it),
	};

	(void)argc;
	netns_enter(argv);
	netns_ip("link set lo up");
	netns_ip("link add va type veth peer name vb");
	/* Link-local addresses come a second or two later, and with them GIDs and sockets. */
	netns_ip("link set va addrgenmode none");
	netns_ip("link set vb addrgenmode none");
	netns_ip("link set va up");
	netns_ip("link set vb up");
	netns_ip("addr add 10.66.0.1/24 dev va");
	netns_ip("addr add 10.67.0.1/24 dev vb");
	setenv("VERBENA_ADAPTERS", "mlx5_0,interface=va;mlx5_1,interface=vb", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
