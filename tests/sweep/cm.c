/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections by address. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "scenario.h"

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel,
					enum rdma_cm_event_type wanted)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (OWN(poll(&p, 1, a.strict ? 20000 : 300)) <= 0) {
		did(false, rdma_event_str(wanted));
		return NULL;
	}
	return did(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event") ? event : NULL;
}

static bool expect_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
			 struct rdma_cm_id **id)
{
	struct rdma_cm_event *event = next_event(channel, type);
	bool good;

	if (!event)
		return false;
	good = event->event == type;
	/* An id that comes with a request is the program's, whatever it expected. */
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && (!good || !id))
		END(rdma_destroy_id(event->id));
	else if (good && id)
		*id = event->id;
	END(rdma_ack_cm_event(event));
	return did(good, rdma_event_str(type));
}

static struct sockaddr_in local_address(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	memcpy(&at.sin_addr, a.gid.raw + 12, 4);
	return at;
}

/* An id whose address and route are resolved. */
static bool resolve(struct rdma_event_channel *channel, struct sockaddr_in *to,
		    struct rdma_cm_id **id)
{
	return DO(rdma_create_id(channel, id, NULL, RDMA_PS_TCP)) &&
	       DO(rdma_resolve_addr(*id, NULL, (struct sockaddr *)to, 2000)) &&
	       expect_event(channel, RDMA_CM_EVENT_ADDR_RESOLVED, NULL) &&
	       DO(rdma_resolve_route(*id, 2000)) &&
	       expect_event(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
}

static bool listen_at(struct rdma_event_channel *channel, struct sockaddr_in *at,
		      struct rdma_cm_id **listener)
{
	if (!DO(rdma_create_id(channel, listener, NULL, RDMA_PS_TCP)) ||
	    !DO(rdma_bind_addr(*listener, (struct sockaddr *)at)) || !DO(rdma_listen(*listener, 4)))
		return false;
	at->sin_port = rdma_get_src_port(*listener);
	return true;
}

/* All adapters are opened: librdmacm keeps those that it has opened. */
static struct rdma_event_channel *open_channel(void)
{
	struct ibv_context **devices = rdma_get_devices(NULL);
	struct rdma_event_channel *channel = rdma_create_event_channel();

	if (MAKE(devices))
		rdma_free_devices(devices);
	did(channel, "rdma_create_event_channel");
	return channel;
}

static void end_id(struct rdma_cm_id *id)
{
	if (id)
		END(rdma_destroy_id(id));
}

static void ask_id(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_ece ece;
	int mask;

	did(rdma_get_local_addr(id) && rdma_get_peer_addr(id), "an address");
	rdma_get_dst_port(id);
	DO(rdma_init_qp_attr(id, &attr, &mask));
	rdma_get_remote_ece(id, &ece);
	rdma_notify(id, IBV_EVENT_COMM_EST); /* there is no queue pair */
}

/* Ids without queue pairs. */
void part_connection(void)
{
	struct rdma_event_channel *channel = open_channel();
	struct rdma_cm_id *listener = NULL, *id = NULL, *taken = NULL;
	struct sockaddr_in addr = local_address();
	struct rdma_conn_param param = { .retry_count = 3, .qp_num = 100 };
	struct ibv_ece ece = { .vendor_id = 0x15b3 };
	uint8_t tos = 8;

	if (!channel)
		return;
	if (!listen_at(channel, &addr, &listener) || !resolve(channel, &addr, &id))
		goto end;
	DO(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	DO(rdma_set_local_ece(id, &ece));
	if (!DO(rdma_connect(id, &param)) ||
	    !expect_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &taken))
		goto end;
	param.qp_num = 101;
	if (DO(rdma_accept(taken, &param)) &&
	    expect_event(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, NULL) && DO(rdma_establish(id)) &&
	    expect_event(channel, RDMA_CM_EVENT_ESTABLISHED, NULL)) {
		ask_id(id);
		DO(rdma_disconnect(id));
		expect_event(channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
	}
end:
	end_id(taken);
	end_id(id);
	end_id(listener);
	rdma_destroy_event_channel(channel);
}

static void rejected(struct rdma_event_channel *channel, struct sockaddr_in *addr, bool ece)
{
	struct rdma_conn_param param = { .retry_count = 3, .qp_num = 100 };
	struct rdma_cm_id *id = NULL, *taken = NULL;

	if (resolve(channel, addr, &id) && DO(rdma_connect(id, &param)) &&
	    expect_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &taken) &&
	    DO(ece ? rdma_reject_ece(taken, "no", 2) : rdma_reject(taken, "no", 2)))
		expect_event(channel, RDMA_CM_EVENT_REJECTED, NULL);
	end_id(taken);
	end_id(id);
}

void part_rejection(void)
{
	struct rdma_event_channel *channel = open_channel();
	struct sockaddr_in addr = local_address();
	struct rdma_cm_id *listener = NULL;

	if (!channel)
		return;
	if (listen_at(channel, &addr, &listener)) {
		rejected(channel, &addr, false);
		rejected(channel, &addr, true);
	}
	end_id(listener);
	rdma_destroy_event_channel(channel);
}

/* ---- endpoints with queue pairs ---- */

static struct ibv_qp_init_attr qp_init(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_type = type,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 }
	};
}

static struct rdma_cm_id *make_ep(const struct sockaddr_in *at, int flags)
{
	struct ibv_qp_init_attr init = qp_init(IBV_QPT_RC);
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *info;
	char node[INET_ADDRSTRLEN], service[8];
	struct rdma_cm_id *id = NULL;

	inet_ntop(AF_INET, &at->sin_addr, node, sizeof(node));
	snprintf(service, sizeof(service), "%u", (unsigned int)ntohs(at->sin_port));
	if (!DO(rdma_getaddrinfo(node, service, &hints, &info)))
		return NULL;
	if (!DO(rdma_create_ep(&id, info, NULL, &init)))
		id = NULL;
	rdma_freeaddrinfo(info);
	return id;
}

/* A request that was accepted completes; true if it succeeded. */
static bool sent(struct rdma_cm_id *id, const char *what)
{
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	if (!did(rdma_get_send_comp(id, &wc) > 0, what))
		return false;
	return did(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
}

static void talk(struct rdma_cm_id *id, struct rdma_cm_id *peer)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, a.buf, 4096);
	struct ibv_mr *in = rdma_reg_msgs(peer, a.buf + HALF, 4096);
	struct ibv_mr *w = rdma_reg_write(peer, a.buf + HALF, 4096);
	struct ibv_mr *r = rdma_reg_read(peer, a.buf + HALF, 4096);
	uint64_t far = (uintptr_t)a.buf + HALF;
	const int flags = IBV_SEND_SIGNALED;
	struct ibv_sge sge, to;
	struct ibv_wc wc;

	if (!(MAKE(mr) & MAKE(in) & MAKE(w) & MAKE(r)))
		goto end;
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 64, mr->lkey };
	to = (struct ibv_sge){ far, 64, in->lkey };
	if (DO(rdma_post_recv(peer, NULL, a.buf + HALF, 64, in)) &&
	    DO(rdma_post_send(id, NULL, a.buf, 64, mr, flags)) && sent(id, "rdma_post_send"))
		did(rdma_get_recv_comp(peer, &wc) > 0, "rdma_get_recv_comp");
	if (DO(rdma_post_recvv(peer, NULL, &to, 1)) &&
	    DO(rdma_post_sendv(id, NULL, &sge, 1, flags)) && sent(id, "rdma_post_sendv"))
		did(rdma_get_recv_comp(peer, &wc) > 0, "rdma_get_recv_comp");
	if (DO(rdma_post_write(id, NULL, a.buf, 64, mr, flags, far, w->rkey)))
		sent(id, "rdma_post_write");
	if (DO(rdma_post_writev(id, NULL, &sge, 1, flags, far, w->rkey)))
		sent(id, "rdma_post_writev");
	if (DO(rdma_post_read(id, NULL, a.buf, 64, mr, flags, far, r->rkey)))
		sent(id, "rdma_post_read");
	if (DO(rdma_post_readv(id, NULL, &sge, 1, flags, far, r->rkey)))
		sent(id, "rdma_post_readv");
end:
	if (r)
		END(rdma_dereg_mr(r));
	if (w)
		END(rdma_dereg_mr(w));
	if (in)
		END(rdma_dereg_mr(in));
	if (mr)
		END(rdma_dereg_mr(mr));
}

/* Both ends get their events from one channel, in any order. */
static bool expect_two(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	return expect_event(channel, type, NULL) && expect_event(channel, type, NULL);
}

static struct rdma_cm_id *take_request(struct rdma_cm_id *listener)
{
	struct pollfd p = { .fd = listener->channel->fd, .events = POLLIN };
	struct rdma_cm_id *id = NULL;

	if (!did(OWN(poll(&p, 1, a.strict ? 20000 : 300)) > 0, "a request") ||
	    !DO(rdma_get_request(listener, &id)))
		return NULL;
	return id;
}

void part_endpoints(void)
{
	struct rdma_conn_param param = { .retry_count = 3,
					 .responder_resources = 1,
					 .initiator_depth = 1 };
	struct rdma_event_channel *channel = open_channel();
	struct sockaddr_in addr = local_address();
	struct rdma_cm_id *listener = NULL, *id = NULL, *peer = NULL;

	if (!channel)
		return;
	listener = make_ep(&addr, RAI_PASSIVE | RAI_NUMERICHOST);
	if (!listener || !DO(rdma_listen(listener, 4)))
		goto end;
	addr.sin_port = rdma_get_src_port(listener);
	id = make_ep(&addr, RAI_NUMERICHOST);
	if (!id || !DO(rdma_migrate_id(id, channel)) || !DO(rdma_connect(id, &param)))
		goto end;
	peer = take_request(listener);
	if (!peer || !DO(rdma_migrate_id(peer, channel)) || !DO(rdma_accept(peer, &param)) ||
	    !expect_two(channel, RDMA_CM_EVENT_ESTABLISHED))
		goto end;
	talk(id, peer);
	if (DO(rdma_disconnect(id)) && expect_event(channel, RDMA_CM_EVENT_DISCONNECTED, NULL) &&
	    DO(rdma_disconnect(peer)))
		expect_event(channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
end:
	if (peer)
		rdma_destroy_ep(peer);
	if (id)
		rdma_destroy_ep(id);
	if (listener)
		rdma_destroy_ep(listener);
	rdma_destroy_event_channel(channel);
}

/* ---- datagrams, groups, shared receive queues, questions ---- */

static void to_itself(struct rdma_cm_id *id)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);
	struct ibv_ah *ah = ibv_create_ah(id->pd, &here);
	struct ibv_mr *mr = rdma_reg_msgs(id, a.buf, 4096);

	if (MAKE(ah) & MAKE(mr) &&
	    DO(rdma_post_ud_send(id, NULL, a.buf, 64, mr, IBV_SEND_SIGNALED, ah, id->qp->qp_num)))
		sent(id, "rdma_post_ud_send");
	if (mr)
		END(rdma_dereg_mr(mr));
	if (ah)
		END(ibv_destroy_ah(ah));
}

void part_groups(void)
{
	struct ibv_qp_init_attr init = qp_init(IBV_QPT_UD);
	struct rdma_event_channel *channel = open_channel();
	struct sockaddr_in addr = local_address();
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr = { htonl(0xef010203) } };
	struct rdma_cm_join_mc_attr_ex attr = { .comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
							     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
						.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
						.addr = (struct sockaddr *)&group };
	struct rdma_cm_id *id = NULL;

	if (!channel)
		return;
	if (!DO(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP)) ||
	    !DO(rdma_bind_addr(id, (struct sockaddr *)&addr)) ||
	    !DO(rdma_create_qp(id, NULL, &init)))
		goto end;
	to_itself(id);
	if (DO(rdma_join_multicast(id, (struct sockaddr *)&group, NULL))) {
		expect_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN, NULL);
		END(rdma_leave_multicast(id, (struct sockaddr *)&group));
	}
	if (DO(rdma_join_multicast_ex(id, &attr, NULL))) {
		expect_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN, NULL);
		END(rdma_leave_multicast(id, (struct sockaddr *)&group));
	}
end:
	if (id && id->qp)
		rdma_destroy_qp(id);
	end_id(id);
	rdma_destroy_event_channel(channel);
}

static void queues_of(struct rdma_cm_id *id)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex srq_ex = { .attr = { .max_wr = 8, .max_sge = 1 },
					       .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
							    IBV_SRQ_INIT_ATTR_PD,
					       .srq_type = IBV_SRQT_BASIC,
					       .pd = id->pd };
	struct ibv_qp_init_attr_ex qp = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	if (DO(rdma_create_srq(id, NULL, &srq)))
		rdma_destroy_srq(id);
	if (DO(rdma_create_srq_ex(id, &srq_ex)))
		rdma_destroy_srq(id);
	if (DO(rdma_create_qp_ex(id, &qp)))
		rdma_destroy_qp(id);
}

static void ask_by_name(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST, .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *info;
	char node[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, a.gid.raw + 12, node, sizeof(node));
	if (DO(rdma_resolve_addrinfo(id, node, "7000", &hints)) &&
	    expect_event(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED, NULL) &&
	    DO(rdma_query_addrinfo(id, &info)))
		rdma_freeaddrinfo(info);
}

void part_ids(void)
{
	struct rdma_event_channel *channel = open_channel();
	struct sockaddr_in addr = local_address();
	struct sockaddr_ib ib = { .sib_family = AF_IB };
	struct rdma_cm_id *id = NULL, *other = NULL;

	if (!channel)
		return;
	ib_addr_set(&ib.sib_addr, 0, 0, 0, htonl(1));
	did(ib_addr_loopback(&ib.sib_addr) && !ib_addr_any(&ib.sib_addr) &&
		    !ib_addr_cmp(&ib.sib_addr, &ib.sib_addr),
	    "an address");
	if (DO(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) &&
	    DO(rdma_bind_addr(id, (struct sockaddr *)&addr))) {
		queues_of(id);
		if (DO(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 5)))
			expect_event(channel, RDMA_CM_EVENT_USER, NULL);
	}
	if (DO(rdma_create_id(channel, &other, NULL, RDMA_PS_TCP)))
		ask_by_name(channel, other);
	rdma_seterrno(0);
	end_id(other);
	end_id(id);
	rdma_destroy_event_channel(channel);
}
