/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/sidr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/conn.h"
#include "util/explain.h"

/* As the kernel's RDMA CM: 16 tries, four seconds each. */
#define RETRIES          15
#define RESPONSE_TIMEOUT 20

static struct sidr *create(struct sidr_table *table, const struct conn_route *route)
{
	struct sidr *sidr = calloc(1, sizeof(*sidr));

	if (!sidr)
		return NULL;
	/* Later a timer is set where no failure can be reported. */
	if (heap_reserve(&table->timers, table->active.count + 1)) {
		free(sidr);
		return NULL;
	}
	sidr->table = table;
	sidr->route = *route;
	return sidr;
}

void sidr_free(struct sidr *sidr)
{
	struct sidr_table *table = sidr->table;

	heap_remove(&table->timers, &sidr->timer);
	hash_remove(sidr->is_passive ? &table->passive : &table->active, &sidr->link);
	free(sidr);
}

static void set_timer(struct sidr *sidr, uint64_t now_ns)
{
	uint64_t at = now_ns + conn_time_ns(RESPONSE_TIMEOUT);

	heap_set(&sidr->table->timers, &sidr->timer, at);
	sidr->table->net->set_deadline(at);
}

struct sidr *sidr_send_req(struct sidr_table *table, void *owner, const struct conn_route *route,
			   struct msg_sidr_req *req, uint64_t now_ns)
{
	struct sidr *sidr = create(table, route);

	if (!sidr)
		return NULL;
	sidr->owner = owner;
	sidr->request_id = req->request_id = table->net->new_comm_id();
	sidr->tid = table->net->new_tid();
	sidr->service_id = req->service_id;
	sidr->tries_left = RETRIES;
	hash_add(&table->active, &sidr->link, sidr->request_id);
	msg_put_sidr_req(req, sidr->tid, sidr->mad);
	table->net->send(&sidr->route, sidr->mad);
	set_timer(sidr, now_ns);
	return sidr;
}

int sidr_send_rep(struct sidr *sidr, struct msg_sidr_rep *rep)
{
	if (!sidr->is_passive || sidr->is_answered)
		return explain(EINVAL, "the id has no request to answer (any more)");
	rep->request_id = sidr->request_id;
	rep->service_id = sidr->service_id;
	msg_put_sidr_rep(rep, sidr->tid, sidr->mad);
	sidr->is_answered = true;
	sidr->table->net->send(&sidr->route, sidr->mad);
	return 0;
}

void sidr_abandon(struct sidr *sidr)
{
	struct msg_sidr_rep rep = { .status = MSG_SIDR_REJECTED };

	if (sidr->is_passive && !sidr->is_answered)
		sidr_send_rep(sidr, &rep);
	sidr_free(sidr);
}

/* ---- arriving ---- */

static bool is_from(const struct sidr *sidr, const struct conn_route *from)
{
	const struct hca_av *a = &sidr->route.av, *b = &from->av;

	if (a->has_grh && b->has_grh)
		return !memcmp(&a->dgid, &b->dgid, sizeof(a->dgid));
	return a->dlid == b->dlid;
}

static struct sidr *find(const struct hash *h, uint32_t request_id, const struct conn_route *from)
{
	struct hash_link *link;

	for (link = hash_find(h, request_id); link; link = hash_next(link)) {
		struct sidr *sidr = container_of(link, struct sidr, link);

		if (is_from(sidr, from))
			return sidr;
	}
	return NULL;
}

static void receive_req(struct sidr_table *table, const struct conn_route *from,
			const uint8_t mad[MSG_BYTES], uint64_t tid)
{
	struct msg_sidr_rep rep = { 0 };
	struct msg_sidr_req req;
	struct sidr *sidr;

	msg_get_sidr_req(mad, &req);
	sidr = find(&table->passive, req.request_id, from);
	if (sidr) {
		if (sidr->is_answered) /* the reply was lost */
			table->net->send(&sidr->route, sidr->mad);
		return;
	}
	sidr = create(table, from);
	if (!sidr)
		return; /* the sender tries again */
	sidr->is_passive = true;
	sidr->request_id = req.request_id;
	sidr->service_id = req.service_id;
	sidr->tid = tid;
	hash_add(&table->passive, &sidr->link, sidr->request_id);
	rep.status = table->ops->request(sidr, &req);
	if (rep.status) {
		sidr_send_rep(sidr, &rep);
		sidr_free(sidr);
	}
}

static void receive_rep(struct sidr_table *table, const struct conn_route *from,
			const uint8_t mad[MSG_BYTES])
{
	struct msg_sidr_rep rep;
	struct sidr *sidr;

	msg_get_sidr_rep(mad, &rep);
	sidr = find(&table->active, rep.request_id, from);
	if (!sidr || sidr->is_answered)
		return;
	heap_remove(&table->timers, &sidr->timer);
	sidr->is_answered = true;
	table->ops->reply(sidr, &rep);
}

bool sidr_receive(struct sidr_table *table, const struct conn_route *from,
		  const uint8_t mad[MSG_BYTES])
{
	struct msg_head head;

	if (!msg_get_head(mad, &head))
		return false;
	switch (head.kind) {
	case MSG_SIDR_REQ:
		receive_req(table, from, mad, head.tid);
		return true;
	case MSG_SIDR_REP:
		receive_rep(table, from, mad);
		return true;
	default:
		return false;
	}
}

void sidr_run_timers(struct sidr_table *table, uint64_t now_ns)
{
	struct heap_node *first;

	while ((first = heap_first(&table->timers)) && first->key <= now_ns) {
		struct sidr *sidr = container_of(first, struct sidr, timer);

		heap_remove(&table->timers, first);
		if (sidr->tries_left) {
			sidr->tries_left--;
			table->net->send(&sidr->route, sidr->mad);
			set_timer(sidr, now_ns);
		} else {
			sidr->is_answered = true;
			table->ops->reply(sidr, NULL);
		}
	}
	first = heap_first(&table->timers);
	if (first)
		table->net->set_deadline(first->key);
}
