/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As the kernel's RDMA CM: an address is resolved once its next hop is in the neighbour table; while it
 * is not, the kernel is made to ask for it, and the table is read again and again until the time is
 * over. Runs on the agent's timer.
 */
#include "cm/resolving.h"

#include <errno.h>
#include <stdlib.h>

#include "cm/channel.h"
#include "cm/sockaddr.h"
#include "cm/source.h"
#include "cm/state.h"
#include "hca/wire/gsi.h"
#include "util/explain.h"

/* Between two looks at the table; the first is short, for a neighbour that answers at once. */
#define FIRST_WAIT_NS 500000u
#define LAST_WAIT_NS  50000000u
#define PROBE_NS      1000000000u /* between two probes */

struct cm_resolving {
	LIST_ENTRY(cm_resolving) entry;
	struct cm_id *id;
	struct cm_event *event; /* made beforehand: the outcome is never lost */
	struct hca_next_hop hop;
	uint64_t deadline_ns;
	uint64_t look_ns, wait_ns; /* the next time, and how long after that */
	uint64_t probe_ns;
};

static void post(struct cm_id *id, struct cm_event *event, int status)
{
	event->pub.event = status ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED;
	event->pub.status = status;
	id->state = status ? CM_BOUND : CM_ADDR_RESOLVED;
	cm_event_post(event);
}

static void finish(struct cm_resolving *r, int status)
{
	struct cm_id *id = r->id;
	struct cm_event *event = r->event;
	char text[CM_ADDR_TEXT];

	if (status == -ETIMEDOUT)
		explain_note("no neighbour answers for %s",
			     cm_addr_text(&id->pub.route.addr.dst_addr, text));
	LIST_REMOVE(r, entry);
	free(r);
	id->resolving = NULL;
	post(id, event, status);
}

/* The neighbour is known. The host's addresses may have changed since the start. */
static void succeed(struct cm_resolving *r)
{
	struct cm_source source;
	int err, status;

	err = cm_source_find(r->id, &r->id->pub.route.addr.dst_addr, &source, &status);
	if (!err && !status)
		err = cm_source_apply(r->id, &source);
	finish(r, err ? err : status);
}

static void probe(const struct cm_resolving *r)
{
	const struct rdma_addr *addr = &r->id->pub.route.addr;
	union ibv_gid from, to;

	cm_addr_to_gid(&addr->src_addr, &from);
	cm_addr_to_gid(&addr->dst_addr, &to);
	hca_neigh_probe(r->hop.ifindex, from.raw, to.raw);
}

/* If the kernel does not answer about neighbours, the address counts as resolved. */
static bool is_reachable(const struct hca_next_hop *hop)
{
	uint8_t mac[6];

	return hca_neigh_find(hop, mac) != -ENOENT;
}

/* The neighbour is not known: asks for it and sets the time of the next look. */
static void await(struct cm_resolving *r, uint64_t now_ns)
{
	if (now_ns >= r->probe_ns) {
		probe(r);
		r->probe_ns = now_ns + PROBE_NS;
	}
	if (now_ns >= r->deadline_ns) {
		finish(r, -ETIMEDOUT);
		return;
	}
	r->look_ns = now_ns + r->wait_ns;
	if (r->look_ns > r->deadline_ns)
		r->look_ns = r->deadline_ns;
	if (r->wait_ns < LAST_WAIT_NS)
		r->wait_ns *= 2;
	hca_gsi_set_timer(cm.agent, r->look_ns);
}

static void look(struct cm_resolving *r, uint64_t now_ns)
{
	if (is_reachable(&r->hop))
		succeed(r);
	else
		await(r, now_ns);
}

int cm_resolving_start(struct cm_id *id, const struct cm_source *source, int timeout_ms)
{
	struct cm_event *event = cm_event_create(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	struct cm_resolving *r;
	uint64_t now_ns = cm_now_ns();
	int err;

	if (!event)
		return -ENOMEM;
	if (source->is_known || is_reachable(&source->hop)) {
		err = cm_source_apply(id, source);
		if (err)
			goto free_event;
		post(id, event, 0);
		return 0;
	}
	r = malloc(sizeof(*r));
	if (!r) {
		err = explain(ENOMEM, "no memory to resolve an address");
		goto free_event;
	}
	*r = (struct cm_resolving){
		.id = id,
		.event = event,
		.hop = source->hop,
		.wait_ns = FIRST_WAIT_NS,
		.deadline_ns =
			timeout_ms < 0 ? UINT64_MAX : now_ns + (uint64_t)timeout_ms * 1000000u,
	};
	LIST_INSERT_HEAD(&cm.resolving, r, entry);
	id->resolving = r;
	id->state = CM_ADDR_QUERY;
	await(r, now_ns);
	return 0;
free_event:
	free(event);
	return err;
}

void cm_resolving_run(uint64_t now_ns)
{
	struct cm_resolving *r, *next;

	for (r = LIST_FIRST(&cm.resolving); r; r = next) {
		next = LIST_NEXT(r, entry);
		if (now_ns >= r->look_ns)
			look(r, now_ns);
		else
			hca_gsi_set_timer(cm.agent, r->look_ns);
	}
}

void cm_resolving_cancel(struct cm_id *id)
{
	if (!id->resolving)
		return;
	LIST_REMOVE(id->resolving, entry);
	free(id->resolving->event);
	free(id->resolving);
	id->resolving = NULL;
}

void cm_resolving_forked(void)
{
	while (!LIST_EMPTY(&cm.resolving)) {
		struct cm_resolving *r = LIST_FIRST(&cm.resolving);

		r->id->state = CM_BOUND;
		cm_resolving_cancel(r->id);
	}
}
