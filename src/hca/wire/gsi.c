/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Agents of this process, forwarding of MADs to the process that they are for, and sending. A MAD is forwarded
 * as struct forward, like any packet from the wire that is for another process.
 *
 * Locks: gsi.lock guards agents and senders. gsi.run_lock is held while a function of an agent runs, and is
 * taken before gsi.lock. While gsi.lock is held, only sending takes other locks.
 */
#include "hca/wire/gsi.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/fabric.h"
#include "fabric/registry.h"
#include "fabric/service.h"
#include "hca/device/adapter_list.h"
#include "hca/wire/forward.h"
#include "hca/transport/grh.h"
#include "hca/device/lid.h"
#include "hca/device/port.h"
#include "hca/peers/peer_types.h"
#include "hca/transport/qp_types.h"
#include "hca/hca.h"
#include "hca/wire/wire_listen.h"
#include "hca/wire/wire_path.h"
#include "hca/wire/wire_ports.h"
#include "hca/wire/wire_tx.h"
#include "util/explain.h"

/* Offsets in a MAD. */
enum {
	MAD_BASE_VERSION = 0,
	MAD_CLASS = 1,
	MAD_METHOD = 3,
	MAD_TID = 8,
	MAD_ATTR = 16,
	CM_LOCAL_ID = 24,
	CM_REMOTE_ID = 28,
	CM_SERVICE_ID = 32,
	/* destination IP address in the private data (IBTA volume 1, A11) */
	CM_REQ_IP = 24 + 140 + 20,
	CM_SIDR_IP = 24 + 16 + 20,
	CM_IP_VERSION = -19, /* from there: in the upper half of the byte */
};

/*
 * A request for a service that no process offers is looked at again after this time before it is
 * rejected. Programs tell their port when it is bound and listen a moment later (qperf does); on other
 * stacks a client needs longer to send its request than the server to listen.
 */
#define UNCLAIMED_NS   20000000u
#define UNCLAIMED_MOST 256u

#define METHOD_RESPONSE 0x80
#define PKEY_DEFAULT    0xffffu

struct hca_gsi_agent {
	uint8_t mgmt_class;
	const struct hca_gsi_ops *ops;
	void *arg;
	int timer_fd;
	uint64_t deadline; /* that timer_fd is set to; 0: none; gsi.lock */
	LIST_ENTRY(hca_gsi_agent) entry;
};

/* A request for a service that no process offers yet. */
struct gsi_unclaimed {
	STAILQ_ENTRY(gsi_unclaimed) entry;
	uint64_t until_ns;
	struct forward f;
	uint8_t mad[HCA_MAD_BYTES];
};

/* Queue pair 1 of a port, for sending. */
struct gsi_sender {
	struct qp qp;
	uint32_t psn; /* of the next packet */
	struct hca_ctx ctx;
	LIST_ENTRY(gsi_sender) entry;
};

struct service {
	uint64_t id;
	uint8_t addr[16];
};

_Static_assert(sizeof(struct service) <= FABRIC_REG_KEY_MAX, "fits the directory");

_Static_assert(HCA_GSI_PROCESS_BITS == FABRIC_SLOT_BITS, "the same number");

_Static_assert(HCA_GSI_COUNTERS == WIRE_GSI_COUNTERS, "a counter each");

static void count(enum hca_gsi_counter which)
{
	atomic_fetch_add_explicit(&hca.wire.gsi.counters[which], 1, memory_order_relaxed);
}

uint64_t hca_gsi_count(enum hca_gsi_counter which)
{
	return atomic_load_explicit(&hca.wire.gsi.counters[which], memory_order_relaxed);
}

const char *hca_gsi_counter_name(enum hca_gsi_counter which)
{
	static const char *const names[] = {
		[HCA_GSI_SENT] = "sent",
		[HCA_GSI_RECEIVED] = "received",
		[HCA_GSI_PASSED_ON] = "passed on to other processes",
		[HCA_GSI_DROP_QKEY] = "dropped: wrong Q_Key",
		[HCA_GSI_DROP_FORM] = "dropped: no MAD for a port of ours",
		[HCA_GSI_DROP_NO_AGENT] = "dropped: no process wants its class",
		[HCA_GSI_DROP_LOST] = "dropped: no room",
	};

	return names[which];
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

/* ---- the process that a MAD is for ---- */

/* The low bits of an id are the directory slot of the process that chose the id. */
static fabric_id_t process_of(uint32_t id)
{
	struct fabric_process p;

	if (!id || fabric_process_in_slot(fabric_id_slot(id), &p))
		return FABRIC_ID_NONE;
	return p.id;
}

static uint32_t next_id(void)
{
	uint32_t serial =
		atomic_fetch_add_explicit(&hca.wire.gsi.last_serial, 1, memory_order_relaxed) + 1;

	return serial << FABRIC_SLOT_BITS | fabric_id_slot(fabric_self());
}

uint32_t hca_gsi_comm_id(void)
{
	uint32_t id;

	do
		id = next_id();
	while (!(id >> FABRIC_SLOT_BITS));
	return id;
}

uint64_t hca_gsi_tid(void)
{
	return (uint64_t)hca_gsi_comm_id() << 32 | next_id();
}

static fabric_id_t find_service(uint64_t id, const uint8_t addr[16])
{
	struct service key = { .id = id };
	struct fabric_reg_entry found;

	if (addr)
		memcpy(key.addr, addr, sizeof(key.addr));
	if (fabric_reg_find(FABRIC_REG_CM_PORT, &key, sizeof(key), &found, 1))
		return found.owner;
	return FABRIC_ID_NONE;
}

/*
 * The process that listens at the address in the private data, else at the destination GID, else at all
 * addresses of the IP version, else at all.
 */
static fabric_id_t listener_of(const uint8_t *mad, const uint8_t *private_ip, const uint8_t *dgid)
{
	bool is_ip4 = private_ip[CM_IP_VERSION] >> 4 == 4;
	uint64_t id = get64(mad + CM_SERVICE_ID);
	uint8_t ip[16] = { [10] = 0xff, [11] = 0xff }, all_ip6[16];
	const uint8_t all_ip4[16] = { [10] = 0xff, [11] = 0xff };
	fabric_id_t owner;

	if (is_ip4)
		memcpy(ip + 12, private_ip + 12, 4);
	else
		memcpy(ip, private_ip, sizeof(ip));
	memset(all_ip6, HCA_GSI_ALL_IP6, sizeof(all_ip6));
	owner = find_service(id, ip);
	if (!owner)
		owner = find_service(id, dgid);
	if (!owner)
		owner = find_service(id, is_ip4 ? all_ip4 : all_ip6);
	return owner ? owner : find_service(id, NULL);
}

static fabric_id_t class_of(uint8_t mgmt_class)
{
	const uint64_t key = mgmt_class;
	struct fabric_reg_entry found;

	return fabric_reg_find(FABRIC_REG_GSI, &key, sizeof(key), &found, 1) ? found.owner
									     : FABRIC_ID_NONE;
}

static fabric_id_t owner_of(const uint8_t *mad, const uint8_t *dgid)
{
	if (mad[MAD_CLASS] != HCA_MAD_CM)
		return mad[MAD_METHOD] & METHOD_RESPONSE ? process_of(get32(mad + MAD_TID))
							 : class_of(mad[MAD_CLASS]);
	switch (get16(mad + MAD_ATTR)) {
	case HCA_CM_REQ:
		return listener_of(mad, mad + CM_REQ_IP, dgid);
	case HCA_CM_SIDR_REQ:
		return listener_of(mad, mad + CM_SIDR_IP, dgid);
	case HCA_CM_SIDR_REP:
		return process_of(get32(mad + CM_LOCAL_ID));
	default:
		return process_of(get32(mad + CM_REMOTE_ID));
	}
}

/* ---- arriving ---- */

static bool has_gid(const struct hca_adapter *a, unsigned int port, const uint8_t *gid,
		    bool infiniband, struct hca_av *from)
{
	struct hca_gid_entry e;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, port, i, &e) &&
		    e.type == (infiniband ? HCA_GID_IB : HCA_GID_ROCE_V2) &&
		    !memcmp(e.gid.raw, gid, sizeof(e.gid.raw))) {
			from->sgid_index = (uint8_t)i;
			return true;
		}
	return false;
}

/* The port that the MAD was sent to. */
static bool find_port(const struct forward *f, struct hca_gsi_mad *m)
{
	const struct hca_adapter *const *list;
	bool grh = f->pkt.flags & ROCE_PKT_GRH;
	uint16_t lid, sm;
	int count;

	if (hca_adapters_get(&list, &count))
		return false;
	for (int i = 0; i < count; i++)
		for (unsigned int port = 1; (int)port <= list[i]->port_count; port++) {
			bool ib = list[i]->ports[port - 1].link == HCA_LINK_INFINIBAND;

			if (ib != (f->pkt.ud.slid != 0))
				continue;
			if (grh && !has_gid(list[i], port, f->dst, ib, &m->from))
				continue;
			if (!grh &&
			    (hca_lid_get(list[i], port, &lid, &sm) || lid != f->pkt.ud.dlid))
				continue;
			m->adapter = list[i];
			m->from.port = (uint8_t)port;
			return true;
		}
	return false;
}

static struct hca_gsi_agent *find_agent(uint8_t mgmt_class)
{
	struct hca_gsi_agent *a;

	LIST_FOREACH(a, &hca.wire.gsi.agents, entry)
		if (a->mgmt_class == mgmt_class)
			break;
	return a;
}

static bool has_agent(uint8_t mgmt_class)
{
	bool has;

	pthread_mutex_lock(&hca.wire.gsi.lock);
	has = find_agent(mgmt_class);
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	return has;
}

/* Service thread. */
static void run_agent(void *arg)
{
	struct hca_gsi_agent *found, agent = { 0 };
	struct hca_gsi_mad *m = arg;

	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	pthread_mutex_lock(&hca.wire.gsi.lock);
	found = find_agent(m->mad[MAD_CLASS]);
	if (found)
		agent = *found;
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	count(found ? HCA_GSI_RECEIVED : HCA_GSI_DROP_NO_AGENT);
	if (found)
		agent.ops->receive(agent.arg, m);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
	free(m);
}

static void deliver(const struct forward *f, const uint8_t *data)
{
	struct hca_gsi_mad *m = calloc(1, sizeof(*m));

	if (!m) {
		count(HCA_GSI_DROP_LOST);
		return;
	}
	if (!find_port(f, m)) {
		count(HCA_GSI_DROP_FORM);
		free(m);
		return;
	}
	m->from.has_grh = f->pkt.flags & ROCE_PKT_GRH;
	m->from.hop_limit = 64;
	m->from.sl = f->pkt.ud.sl;
	m->from.dlid = f->pkt.ud.slid;
	if (m->from.has_grh) {
		memcpy(m->from.dgid.raw, f->src, sizeof(f->src));
		memcpy(m->dgid.raw, f->dst, sizeof(f->dst));
	}
	m->sqpn = f->pkt.sqpn;
	m->pkey = PKEY_DEFAULT;
	memcpy(m->mad, data, sizeof(m->mad));
	if (fabric_service_run(run_agent, m)) {
		count(HCA_GSI_DROP_LOST);
		free(m);
	}
}

static bool is_well_formed(const struct forward *f, const uint8_t *data)
{
	return f->pkt.op == (ROCE_TR_UD | ROCE_PKT_SEND_ONLY) && f->pkt.len == HCA_MAD_BYTES &&
	       data[MAD_BASE_VERSION] == 1;
}

/* Locked. */
static void set_timer(struct hca_gsi_agent *agent, uint64_t ns)
{
	const struct itimerspec at = {
		.it_value = { .tv_sec = ns / 1000000000u, .tv_nsec = ns % 1000000000u },
	};

	if (agent->deadline && agent->deadline <= ns)
		return;
	agent->deadline = ns;
	timerfd_settime(agent->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static bool is_request(const uint8_t *mad)
{
	uint16_t attr = get16(mad + MAD_ATTR);

	return mad[MAD_CLASS] == HCA_MAD_CM && (attr == HCA_CM_REQ || attr == HCA_CM_SIDR_REQ);
}

/* Keeps a request for a moment. False: there are too many, or there is no agent with a timer. */
static bool keep_unclaimed(const struct forward *f, const uint8_t *data)
{
	struct hca_gsi_agent *agent;
	struct gsi_unclaimed *u;
	bool kept = false;

	pthread_mutex_lock(&hca.wire.gsi.lock);
	agent = find_agent(data[MAD_CLASS]);
	u = agent && agent->ops->timer && hca.wire.gsi.unclaimed_count < UNCLAIMED_MOST
		    ? malloc(sizeof(*u))
		    : NULL;
	if (u) {
		*u = (struct gsi_unclaimed){ .until_ns = hca_now_ns() + UNCLAIMED_NS, .f = *f };
		memcpy(u->mad, data, sizeof(u->mad));
		STAILQ_INSERT_TAIL(&hca.wire.gsi.unclaimed, u, entry);
		hca.wire.gsi.unclaimed_count++;
		set_timer(agent, u->until_ns);
		kept = true;
	}
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	return kept;
}

static void deliver_or_pass_on(fabric_id_t owner, const struct forward *f, const uint8_t *data)
{
	if (owner && owner != fabric_self()) {
		count(HCA_GSI_PASSED_ON);
		forward_send(owner, f, data);
	} else if (!has_agent(data[MAD_CLASS])) {
		count(HCA_GSI_DROP_NO_AGENT);
	} else {
		deliver(f, data);
	}
}

/* Takes the first request whose time has come, and sets the timer for the next. */
static struct gsi_unclaimed *take_unclaimed(struct hca_gsi_agent *agent, uint64_t now_ns)
{
	struct gsi_unclaimed *u;

	pthread_mutex_lock(&hca.wire.gsi.lock);
	u = STAILQ_FIRST(&hca.wire.gsi.unclaimed);
	if (u && u->until_ns > now_ns) {
		set_timer(agent, u->until_ns);
		u = NULL;
	}
	if (u) {
		STAILQ_REMOVE_HEAD(&hca.wire.gsi.unclaimed, entry);
		hca.wire.gsi.unclaimed_count--;
	}
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	return u;
}

/* Service thread. */
static void look_again(struct hca_gsi_agent *agent)
{
	struct gsi_unclaimed *u;

	while ((u = take_unclaimed(agent, hca_now_ns()))) {
		epoch_enter();
		deliver_or_pass_on(owner_of(u->mad, u->f.dst), &u->f, u->mad);
		epoch_exit();
		free(u);
	}
}

void gsi_packet(const struct forward *f, const uint8_t *data, bool is_forwarded)
{
	fabric_id_t owner;

	if (!is_well_formed(f, data)) {
		count(HCA_GSI_DROP_FORM);
		return;
	}
	if (f->pkt.ud.qkey != HCA_GSI_QKEY) {
		count(HCA_GSI_DROP_QKEY);
		return;
	}
	/* Forwarded once only: processes that disagree on the owner would forward it for ever. */
	owner = is_forwarded ? fabric_self() : owner_of(data, f->dst);
	if (!owner && is_request(data) && keep_unclaimed(f, data))
		return;
	deliver_or_pass_on(owner, f, data);
}

/* ---- sending ---- */

/* Finds or makes the sender. gsi.lock held. */
static struct gsi_sender *find_sender(const struct hca_adapter *adapter, uint8_t port)
{
	struct gsi_sender *s;

	LIST_FOREACH(s, &hca.wire.gsi.senders, entry)
		if (s->ctx.adapter == adapter && s->qp.attr.port == port)
			return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->ctx.adapter = adapter;
	s->qp.pub.ctx = &s->ctx;
	s->qp.pub.type = HCA_QP_UD;
	s->qp.pub.qpn = HCA_GSI_QPN;
	s->qp.pub.state = HCA_QPS_RTS;
	s->qp.attr.port = port;
	s->qp.attr.qkey = HCA_GSI_QKEY;
	s->qp.dying = true; /* MADs are not retried when the socket has room again */
	LIST_INSERT_HEAD(&hca.wire.gsi.senders, s, entry);
	return s;
}

static int fill(const struct hca_adapter *a, const struct hca_av *to, struct forward *f)
{
	bool ib = a->ports[to->port - 1].link == HCA_LINK_INFINIBAND;
	struct hca_gid_entry src;
	uint16_t sm;
	int err = 0;

	*f = (struct forward){ 0 };
	f->pkt.op = ROCE_TR_UD | ROCE_PKT_SEND_ONLY;
	f->pkt.dqpn = f->pkt.sqpn = HCA_GSI_QPN;
	f->pkt.len = HCA_MAD_BYTES;
	f->pkt.ud.qkey = HCA_GSI_QKEY;
	f->pkt.ud.sl = to->sl;
	f->pkt.ud.dlid = to->dlid;
	f->pkt.ud.port = to->port;
	if (ib)
		err = hca_lid_get(a, to->port, &f->pkt.ud.slid, &sm);
	else if (!to->has_grh)
		return explain(EINVAL, "a MAD from an Ethernet port needs GIDs");
	if (err || !to->has_grh)
		return err;
	if (!hca_port_gid_quick(a, to->port, to->sgid_index, &src))
		return explain(EINVAL, "the entry %u of the GID table is empty", to->sgid_index);
	f->pkt.flags |= ROCE_PKT_GRH;
	f->pkt.ud.roce_kind = hca_grh_build(to, &src, HCA_MAD_BYTES, f->grh);
	memcpy(f->src, src.gid.raw, sizeof(f->src));
	memcpy(f->dst, to->dgid.raw, sizeof(f->dst));
	return 0;
}

static int send_out(struct gsi_sender *s, const struct hca_av *to, const struct forward *f,
		    const uint8_t *mad)
{
	struct hca_list list = { .count = 1, .total = HCA_MAD_BYTES };
	struct roce_pkt pkt = f->pkt;
	int err = wire_path_connect(&s->qp, to);

	if (err)
		return err;
	pkt.flags &= ~ROCE_PKT_GRH;
	pkt.psn = s->psn;
	s->psn = psn_add(s->psn, 1);
	list.seg[0] = (struct hca_seg){ .ptr = (char *)mad, .len = HCA_MAD_BYTES };
	err = wire_tx_send(&s->qp, &pkt, &list, 0);
	wire_tx_flush(&s->qp);
	return err;
}

bool hca_gsi_is_local(const struct hca_adapter *adapter, const struct hca_av *to)
{
	return adapter->ports[to->port - 1].link == HCA_LINK_INFINIBAND ||
	       hca_gid_is_local(&to->dgid);
}

int hca_gsi_send(const struct hca_adapter *adapter, const struct hca_av *to,
		 const uint8_t mad[HCA_MAD_BYTES])
{
	struct gsi_sender *s;
	struct forward f;
	int err;

	if (!to->port || to->port > adapter->port_count)
		return explain(EINVAL, "port %u does not exist; %s has ports 1 to %d", to->port,
			       adapter->name, adapter->port_count);
	err = fill(adapter, to, &f);
	if (err)
		return err;
	epoch_enter();
	if (adapter->ports[to->port - 1].link == HCA_LINK_INFINIBAND ||
	    (!wire_is_forced() && hca_gid_is_local(&to->dgid))) {
		gsi_packet(&f, mad, false);
	} else {
		pthread_mutex_lock(&hca.wire.gsi.lock);
		s = find_sender(adapter, to->port);
		err = s ? send_out(s, to, &f, mad) : -ENOMEM;
		pthread_mutex_unlock(&hca.wire.gsi.lock);
	}
	epoch_exit();
	if (!err)
		count(HCA_GSI_SENT);
	return err;
}

/* ---- agents and services ---- */

/* Opens sockets at all addresses. */
static void listen_everywhere(void)
{
	const struct hca_adapter *const *list;
	struct gsi_sender *s;
	int count;

	if (hca_adapters_get(&list, &count))
		return;
	pthread_mutex_lock(&hca.wire.gsi.lock);
	for (int i = 0; i < count; i++)
		for (unsigned int port = 1; (int)port <= list[i]->port_count; port++) {
			if (list[i]->ports[port - 1].link != HCA_LINK_ETHERNET)
				continue;
			s = find_sender(list[i], (uint8_t)port);
			if (s)
				wire_listen_qp(&s->qp);
		}
	pthread_mutex_unlock(&hca.wire.gsi.lock);
}

/* Service thread. */
static void timer_expired(void *arg, uint32_t events)
{
	struct hca_gsi_agent *agent = arg;
	uint64_t count;

	(void)events;
	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	pthread_mutex_lock(&hca.wire.gsi.lock);
	agent->deadline = 0;
	if (read(agent->timer_fd, &count, sizeof(count)) < 0)
		count = 0; /* the timer was set again meanwhile: timer() finds nothing due */
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	look_again(agent);
	agent->ops->timer(agent->arg);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
}

void hca_gsi_set_timer(struct hca_gsi_agent *agent, uint64_t ns)
{
	pthread_mutex_lock(&hca.wire.gsi.lock);
	set_timer(agent, ns);
	pthread_mutex_unlock(&hca.wire.gsi.lock);
}

static int open_timer(struct hca_gsi_agent *agent)
{
	int err;

	agent->timer_fd = -1;
	if (!agent->ops->timer)
		return 0;
	agent->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (agent->timer_fd < 0)
		return explain(errno, "no timer for queue pair 1");
	err = fabric_service_add_fd(agent->timer_fd, EPOLLIN, timer_expired, agent);
	if (err)
		close(agent->timer_fd);
	return err;
}

/*
 * Peers may still answer messages of a process that had this slot before, or take a new message with the same id
 * for a repetition: the first id is random.
 */
static void seed_ids(void)
{
	unsigned int seed = 0;

	if (atomic_load_explicit(&hca.wire.gsi.last_serial, memory_order_relaxed))
		return;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		atomic_store_explicit(&hca.wire.gsi.last_serial, seed, memory_order_relaxed);
}

static void unregister_class(uint8_t mgmt_class)
{
	const uint64_t key = mgmt_class;

	fabric_reg_del(FABRIC_REG_GSI, &key, sizeof(key), 0);
}

static int register_class(uint8_t mgmt_class)
{
	const uint64_t key = mgmt_class;
	int err = fabric_reg_add(FABRIC_REG_GSI, &key, sizeof(key), 0, false);

	if (!err)
		return 0;
	return explain(-err,
		       "this process has an agent for the class 0x%02x, or cannot register one",
		       mgmt_class);
}

int hca_gsi_agent_create(uint8_t mgmt_class, const struct hca_gsi_ops *ops, void *arg,
			 struct hca_gsi_agent **out)
{
	struct hca_gsi_agent *a;
	int err;

	if (!fabric_is_up())
		return explain(ENOTCONN, "no context is open");
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct hca_gsi_agent){ .mgmt_class = mgmt_class, .ops = ops, .arg = arg };
	err = register_class(mgmt_class);
	if (err)
		goto free_agent;
	err = open_timer(a);
	if (err)
		goto unregister;
	seed_ids();
	pthread_mutex_lock(&hca.wire.gsi.lock);
	LIST_INSERT_HEAD(&hca.wire.gsi.agents, a, entry);
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	hca_port_refresh();
	listen_everywhere();
	*out = a;
	return 0;
unregister:
	unregister_class(mgmt_class);
free_agent:
	free(a);
	return err;
}

void hca_gsi_agent_destroy(struct hca_gsi_agent *agent)
{
	unregister_class(agent->mgmt_class);
	if (agent->timer_fd >= 0)
		fabric_service_del_fd(agent->timer_fd);
	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	pthread_mutex_lock(&hca.wire.gsi.lock);
	if (find_agent(agent->mgmt_class) == agent) /* not in the child of a fork */
		LIST_REMOVE(agent, entry);
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
	if (agent->timer_fd >= 0)
		close(agent->timer_fd);
	free(agent);
}

/* Service thread. run_lock is enough to walk the agents: one is removed with both locks held. */
static void process_gone(fabric_id_t id)
{
	struct hca_gsi_agent *a;

	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	LIST_FOREACH(a, &hca.wire.gsi.agents, entry)
		if (a->ops->gone)
			a->ops->gone(a->arg, fabric_id_slot(id));
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
}

const struct peer_listener gsi_peer_listener = { .left = process_gone };

static struct service service_of(uint64_t id, const uint8_t addr[16])
{
	struct service s = { .id = id };

	if (addr)
		memcpy(s.addr, addr, sizeof(s.addr));
	return s;
}

int hca_gsi_service_add(uint64_t service_id, const uint8_t addr[16])
{
	const struct service s = service_of(service_id, addr);
	int err = fabric_reg_add(FABRIC_REG_CM_PORT, &s, sizeof(s), 0, true);

	if (err)
		return explain(-err, "the service 0x%llx is offered already, or cannot be listed",
			       (unsigned long long)service_id);
	/* Addresses may have been added since the last call. */
	listen_everywhere();
	return 0;
}

int hca_gsi_service_del(uint64_t service_id, const uint8_t addr[16])
{
	const struct service s = service_of(service_id, addr);

	return fabric_reg_del(FABRIC_REG_CM_PORT, &s, sizeof(s), 0);
}
