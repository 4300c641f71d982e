/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Agents of this process, and MADs on their way to them. A MAD is forwarded to another process as struct
 * forward, like any packet from the wire.
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
#include <sys/timerfd.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/fabric.h"
#include "fabric/registry.h"
#include "fabric/service.h"
#include "hca/device/adapter_list.h"
#include "hca/wire/forward.h"
#include "hca/device/lid.h"
#include "hca/device/port.h"
#include "hca/device/presence.h"
#include "hca/peers/peer_types.h"
#include "hca/hca.h"
#include "hca/wire/gsi_counters.h"
#include "hca/wire/gsi_ports.h"
#include "hca/wire/gsi_route.h"
#include "util/explain.h"

/*
 * A request for a service that no process offers is looked at again after this time before it is
 * rejected. Programs tell their port when it is bound and listen a moment later (qperf does); on other
 * stacks a client needs longer to send its request than the server to listen. A busy machine may keep
 * the server from it for many milliseconds.
 */
#define UNCLAIMED_NS   250000000u
#define UNCLAIMED_MOST 256u

/* MADs that wait for the service thread. What comes beyond is lost, as it is when a socket is full. */
#define WAITING_MOST 4096u

#define PKEY_DEFAULT 0xffffu

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

			if (ib != (f->pkt.ud.slid != 0) || !hca_adapter_is_present(list[i]))
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

static void free_mad(struct hca_gsi_mad *m)
{
	free(m);
	atomic_fetch_sub(&hca.wire.gsi.waiting, 1);
}

/* NULL: too many wait, or there is no memory. */
static struct hca_gsi_mad *new_mad(void)
{
	struct hca_gsi_mad *m = NULL;

	if (atomic_fetch_add(&hca.wire.gsi.waiting, 1) < WAITING_MOST)
		m = calloc(1, sizeof(*m));
	if (!m)
		free_mad(m);
	return m;
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
	gsi_count(found ? HCA_GSI_RECEIVED : HCA_GSI_DROP_NO_AGENT);
	if (found)
		agent.ops->receive(agent.arg, m);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
	free_mad(m);
}

static void deliver(const struct forward *f, const uint8_t *data)
{
	struct hca_gsi_mad *m = new_mad();

	if (!m) {
		gsi_count(HCA_GSI_DROP_LOST);
		return;
	}
	if (!find_port(f, m)) {
		gsi_count(HCA_GSI_DROP_FORM);
		free_mad(m);
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
		gsi_count(HCA_GSI_DROP_LOST);
		free_mad(m);
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
	uint16_t attr = mad_get16(mad + MAD_ATTR);

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
		gsi_count(HCA_GSI_PASSED_ON);
		forward_send(owner, f, data);
	} else if (!has_agent(data[MAD_CLASS])) {
		gsi_count(HCA_GSI_DROP_NO_AGENT);
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
		deliver_or_pass_on(gsi_owner_of(u->mad, u->f.dst), &u->f, u->mad);
		epoch_exit();
		free(u);
	}
}

void gsi_packet(const struct forward *f, const uint8_t *data, bool is_forwarded)
{
	fabric_id_t owner;

	if (!is_well_formed(f, data)) {
		gsi_count(HCA_GSI_DROP_FORM);
		return;
	}
	if (f->pkt.ud.qkey != HCA_GSI_QKEY) {
		gsi_count(HCA_GSI_DROP_QKEY);
		return;
	}
	/* A process that has left the directory knows no services: the sender repeats the MAD. */
	if (!fabric_self()) {
		gsi_count(HCA_GSI_DROP_LOST);
		return;
	}
	/* Forwarded once only: processes that disagree on the owner would forward it for ever. */
	owner = is_forwarded ? fabric_self() : gsi_owner_of(data, f->dst);
	if (!owner && is_request(data) && keep_unclaimed(f, data))
		return;
	/* For a process that has died: an agent of another one answers. */
	if (!owner && !has_agent(data[MAD_CLASS]))
		owner = gsi_agent_of(data[MAD_CLASS]);
	deliver_or_pass_on(owner, f, data);
}

/* ---- agents ---- */

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
	gsi_seed_ids();
	pthread_mutex_lock(&hca.wire.gsi.lock);
	LIST_INSERT_HEAD(&hca.wire.gsi.agents, a, entry);
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	hca_port_refresh();
	gsi_ports_listen();
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

/* The first agent, or the one after `agent`. */
static struct hca_gsi_agent *next_agent(struct hca_gsi_agent *agent)
{
	struct hca_gsi_agent *next;

	pthread_mutex_lock(&hca.wire.gsi.lock);
	next = agent ? LIST_NEXT(agent, entry) : LIST_FIRST(&hca.wire.gsi.agents);
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	return next;
}

/* Service thread. run_lock keeps agents from being destroyed; others may be created meanwhile. */
static void process_gone(fabric_id_t id)
{
	struct hca_gsi_agent *a;

	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	for (a = next_agent(NULL); a; a = next_agent(a))
		if (a->ops->gone)
			a->ops->gone(a->arg, id);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
}

void gsi_notice_changes(void)
{
	uint32_t changes = atomic_load(&hca.device.changes);
	struct hca_gsi_agent *a;

	if (hca.wire.gsi.changes_seen == changes)
		return;
	hca.wire.gsi.changes_seen = changes;
	pthread_mutex_lock(&hca.wire.gsi.run_lock);
	for (a = next_agent(NULL); a; a = next_agent(a))
		if (a->ops->changed)
			a->ops->changed(a->arg);
	pthread_mutex_unlock(&hca.wire.gsi.run_lock);
}

const struct peer_listener gsi_peer_listener = { .left = process_gone };
