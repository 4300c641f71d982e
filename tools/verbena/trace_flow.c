/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace_flow.h"

#include <stdlib.h>
#include <string.h>

#include "util/api.h"
#include "util/mix.h"

#define SLOTS_USUAL 4096u /* of a queue pair whose creation the trace does not have */
#define SLOTS_MOST  65536u

/* Entries of a shared receive queue with one wr_id. */
struct entry {
	struct hash_link link;
	struct flow_queue queue;
};

static bool queue_push(struct flow_queue *q, struct flow_done done)
{
	if (q->count == q->room) {
		uint32_t room = q->room ? 2 * q->room : 16;
		struct flow_done *data = calloc(room, sizeof(*data));

		if (!data)
			return false;
		for (uint32_t i = 0; i < q->count; i++)
			data[i] = q->data[(q->head + i) % q->room];
		free(q->data);
		q->data = data;
		q->room = room;
		q->head = 0;
	}
	q->data[(q->head + q->count++) % q->room] = done;
	return true;
}

static bool queue_pop(struct flow_queue *q, struct flow_done *out)
{
	if (!q->count)
		return false;
	*out = q->data[q->head];
	q->head = (q->head + 1) % q->room;
	q->count--;
	return true;
}

/* ---- queue pairs ---- */

static uint64_t key_of(unsigned int file, uint32_t number)
{
	return (uint64_t)file << 32 | number;
}

struct flow_qp *flow_qp(struct flows *f, unsigned int file, uint32_t qpn)
{
	struct hash_link *link = hash_find(&f->qps, key_of(file, qpn));
	struct flow_qp *q;

	if (link)
		return container_of(link, struct flow_qp, link);
	q = calloc(1, sizeof(*q));
	if (!q) {
		f->no_memory = true;
		return NULL;
	}
	q->qpn = qpn;
	q->file = file;
	hash_add(&f->qps, &q->link, key_of(file, qpn));
	flow_qp_start(f, q, SLOTS_USUAL, SLOTS_USUAL);
	return q;
}

static uint32_t mask_for(uint32_t slots)
{
	uint32_t size = 1;

	while (size < slots && size < SLOTS_MOST)
		size *= 2;
	return size - 1;
}

static void free_slots(struct flow_qp *q)
{
	free(q->origin);
	free(q->sends);
	free(q->receives);
	q->origin = NULL;
	q->sends = q->receives = NULL;
}

void flow_qp_start(struct flows *f, struct flow_qp *q, uint32_t send_slots, uint32_t receive_slots)
{
	free_slots(q);
	q->done[0].count = q->done[1].count = 0;
	q->arrived = (struct flow_at){ 0 };
	q->send_mask = mask_for(send_slots);
	q->receive_mask = mask_for(receive_slots);
	q->origin = calloc(q->send_mask + 1, sizeof(q->origin[0]));
	q->sends = calloc(q->send_mask + 1, sizeof(q->sends[0]));
	q->receives = calloc(q->receive_mask + 1, sizeof(q->receives[0]));
	if (!q->origin || !q->sends || !q->receives) {
		f->no_memory = true;
		free_slots(q);
	}
}

void flow_qp_reset(struct flow_qp *q)
{
	q->done[0].count = q->done[1].count = 0;
	if (!q->origin)
		return;
	memset(q->origin, 0, (q->send_mask + 1) * sizeof(q->origin[0]));
	memset(q->sends, 0, (q->send_mask + 1) * sizeof(q->sends[0]));
	memset(q->receives, 0, (q->receive_mask + 1) * sizeof(q->receives[0]));
}

void flow_done_push(struct flows *f, struct flow_qp *q, bool recv, struct flow_done done)
{
	if (!queue_push(&q->done[recv], done))
		f->no_memory = true;
}

bool flow_done_pop(struct flow_qp *q, bool recv, struct flow_done *out)
{
	return queue_pop(&q->done[recv], out);
}

/* ---- shared receive queues ---- */

static uint64_t entry_key(unsigned int file, uint32_t srqn, uint64_t wr_id)
{
	return mix64(key_of(file, srqn)) ^ wr_id;
}

void flow_entry_add(struct flows *f, unsigned int file, uint32_t srqn, uint64_t wr_id,
		    uint64_t flow)
{
	uint64_t key = entry_key(file, srqn, wr_id);
	struct hash_link *link = hash_find(&f->entries, key);
	struct entry *e = link ? container_of(link, struct entry, link) : calloc(1, sizeof(*e));

	if (e && !link)
		hash_add(&f->entries, &e->link, key);
	if (!e || !queue_push(&e->queue, (struct flow_done){ .flow = flow }))
		f->no_memory = true;
}

static void entry_free(struct flows *f, struct entry *e)
{
	hash_remove(&f->entries, &e->link);
	free(e->queue.data);
	free(e);
}

uint64_t flow_entry_take(struct flows *f, unsigned int file, uint32_t srqn, uint64_t wr_id)
{
	struct hash_link *link = hash_find(&f->entries, entry_key(file, srqn, wr_id));
	struct flow_done done = { 0 };
	struct entry *e;

	if (!link)
		return 0;
	e = container_of(link, struct entry, link);
	queue_pop(&e->queue, &done);
	if (!e->queue.count)
		entry_free(f, e);
	return done.flow;
}

/* ---- packets ---- */

static uint64_t packet_key(uint32_t from, uint32_t to, uint32_t psn, uint8_t op)
{
	return mix64((uint64_t)from << 32 | to) ^ mix64((uint64_t)op << 32 | psn);
}

/* Of packets that got lost the oldest are forgotten. */
uint64_t flow_packet_out(struct flows *f, const struct trace_record *r)
{
	struct flow_packet *p = &f->under_way[f->next_packet++ % FLOW_PACKETS];

	if (p->used)
		hash_remove(&f->packets, &p->link);
	p->used = true;
	p->flow = flow_new(f);
	hash_add(&f->packets, &p->link, packet_key(r->qpn, r->peer, r->psn, r->op));
	return p->flow;
}

uint64_t flow_packet_in(struct flows *f, const struct trace_record *r)
{
	struct hash_link *link = hash_find(&f->packets, packet_key(r->peer, r->qpn, r->psn, r->op));
	struct flow_packet *p;

	if (!link)
		return 0;
	p = container_of(link, struct flow_packet, link);
	hash_remove(&f->packets, &p->link);
	p->used = false;
	return p->flow;
}

/* ---- life ---- */

int flow_init(struct flows *f)
{
	*f = (struct flows){ 0 };
	f->under_way = calloc(FLOW_PACKETS, sizeof(f->under_way[0]));
	return f->under_way ? 0 : -1;
}

static void free_all(struct flows *f, struct hash *h,
		     void (*fn)(struct flows *f, struct hash_link *))
{
	size_t chains = h->chains ? (size_t)1 << h->bits : 0;

	for (size_t i = 0; i < chains; i++)
		while (h->chains[i])
			fn(f, h->chains[i]);
	while (!h->chains && h->only)
		fn(f, h->only);
	hash_fini(h);
}

static void free_entry(struct flows *f, struct hash_link *link)
{
	entry_free(f, container_of(link, struct entry, link));
}

static void free_qp(struct flows *f, struct hash_link *link)
{
	struct flow_qp *q = container_of(link, struct flow_qp, link);

	hash_remove(&f->qps, link);
	free_slots(q);
	free(q->done[0].data);
	free(q->done[1].data);
	free(q->pending);
	free(q);
}

void flow_fini(struct flows *f)
{
	free_all(f, &f->entries, free_entry);
	free_all(f, &f->qps, free_qp);
	hash_fini(&f->packets);
	free(f->under_way);
}
