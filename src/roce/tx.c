/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths, and batches as they fill up; faults are made here. */
#include "roce/tx.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce/tx_priv.h"
#include "util/api.h"
#include "util/copy.h"
#include "util/explain.h"

enum {
	/* What one send may hold: 64 segments are the kernel's limit, 65507 bytes that of UDP. */
	RUN_PACKETS = 64,
	RUN_BYTES = 65000,
	/* A packet may bring a duplicate of itself and one that was held back for it. */
	ADD_PACKETS = 3,
};

/* What is kept of a packet that is held back, in front of its bytes. */
struct held_head {
	struct roce_path path;
	struct roce_pkt pkt;
};

/* ---- paths ---- */

static uint32_t dest_interface(const struct roce_endpoint *ep, const struct roce_dest *dest)
{
	return dest->addr.ifindex ? dest->addr.ifindex : ep->local.ifindex;
}

static uint16_t dest_port(const struct roce_endpoint *ep, const struct roce_dest *dest)
{
	return dest->port ? dest->port : ep->port;
}

int roce_path_init(struct roce_path *path, const struct roce_endpoint *ep,
		   const struct roce_dest *dest)
{
	uint16_t socket;
	char from[ROCE_ADDR_TEXT], to[ROCE_ADDR_TEXT];

	if (roce_addr_is_ipv4(&dest->addr) != ep->ipv4)
		return explain(EINVAL, "no way from %s to %s: not one IP version",
			       roce_addr_format(&ep->local, from),
			       roce_addr_format(&dest->addr, to));
	memset(path, 0, sizeof(*path));
	path->dst = dest->addr;
	path->dst.ifindex = dest_interface(ep, dest);
	path->dport = dest_port(ep, dest);
	path->pkey = dest->pkey ? dest->pkey : ROCE_PKEY_DEFAULT;
	path->route.to_len = roce_addr_to_sockaddr(&path->dst, path->dport, &path->route.to);
	socket = dest->sport ? roce_source_find(ep, dest->sport) : 0;
	path->sport = ep->source[socket].port;
	path->route.socket = socket;
	path->route.tclass = dest->tclass;
	path->route.ttl = dest->ttl ? dest->ttl : ROCE_TTL;
	path->route.group = roce_addr_is_multicast(&dest->addr);
	roce_icrc_flow_init(&path->icrc, &ep->local, &dest->addr, path->sport, path->dport);
	return 0;
}

/* ---- the batch ---- */

static inline void empty(struct roce_tx *tx)
{
	tx->head = tx->end = tx->run;
	tx->used = 0;
}

int roce_tx_create(struct roce_endpoint *ep, struct roce_tx **out)
{
	struct roce_tx *tx = aligned_alloc(64, (sizeof(*tx) + 63) & ~(size_t)63);
	const struct roce_tx *nobody = NULL;

	if (!tx)
		return -ENOMEM;
	memset(tx, 0, offsetof(struct roce_tx, buf));
	tx->ep = ep;
	empty(tx);
	atomic_compare_exchange_strong(&ep->tuner, &nobody, tx);
	*out = tx;
	return 0;
}

void roce_tx_destroy(struct roce_tx *tx)
{
	if (!tx)
		return;
	roce_hold_clear(&tx->hold);
	free(tx);
}

void roce_tx_reset(struct roce_tx *tx)
{
	empty(tx);
	roce_hold_clear(&tx->hold);
}

uint32_t roce_tx_pending(const struct roce_tx *tx)
{
	uint32_t n = 0;

	for (const struct roce_run *r = tx->head; r < tx->end; r++)
		n += r->count - r->sent;
	return n;
}

uint64_t roce_tx_due(const struct roce_tx *tx)
{
	return roce_hold_due(&tx->hold);
}

static inline bool has_room(const struct roce_tx *tx)
{
	return tx->used <= ROCE_TX_BYTES - ADD_PACKETS * ROCE_MAX_PACKET &&
	       tx->end <= &tx->run[ROCE_TX_RUNS - ADD_PACKETS];
}

/* Nothing joins behind a packet that is shorter than the others. */
static inline bool joins(const struct roce_tx *tx, const struct roce_run *r,
			 const struct roce_route *route, uint32_t block, size_t len)
{
	return len <= r->segment && r->bytes == (uint32_t)r->count * r->segment &&
	       r->count < RUN_PACKETS && r->bytes + len <= RUN_BYTES && r->block == block &&
	       !r->single && !memcmp(&r->route, route, sizeof(*route)) &&
	       atomic_load_explicit(&tx->ep->segment, memory_order_relaxed);
}

/* The run that a packet of `len` bytes belongs to; its place in it is the run's count. */
static inline struct roce_run *run_for(struct roce_tx *tx, const struct roce_route *route,
				       uint32_t dqpn, size_t len)
{
	uint32_t block = dqpn >> ROCE_QPN_BLOCK_BITS;
	struct roce_run *r = tx->end;

	if (r > tx->head && joins(tx, r - 1, route, block, len))
		return r - 1;
	tx->end = r + 1;
	r->route = *route;
	r->block = block;
	r->offset = tx->used;
	r->segment = len;
	r->bytes = 0;
	r->count = r->sent = 0;
	r->single = r->refused = false;
	return r;
}

static inline void run_add(struct roce_tx *tx, struct roce_run *r, size_t len)
{
	r->bytes += len;
	r->count++;
	tx->used += len;
}

__attribute__((cold, noinline)) static void
capture(const struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
	uint16_t id, const uint8_t *packet, size_t len, const char *note)
{
	const struct roce_taps *taps = tx->ep->taps;
	char text[256] = "";
	struct roce_frame frame = {
		.src = tx->ep->local,
		.dst = path->dst,
		.sport = path->sport,
		.dport = path->dport,
		.ip_id = id,
		.tclass = path->route.tclass,
		.ttl = path->route.ttl,
		.out = true,
	};

	if (taps->comment)
		taps->comment(taps->arg, pkt, true, text, sizeof(text));
	if (note) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", at ? "; " : "", note);
	}
	roce_capture_frame(taps->capture, &frame, packet, len, text[0] ? text : NULL);
}

static inline bool is_captured(const struct roce_tx *tx)
{
	return roce_switch_any() && tx->ep->taps->capture && roce_capture_on(tx->ep->taps->capture);
}

static inline bool is_spoilt(const struct roce_tx *tx)
{
	return roce_switch_any() && tx->ep->taps->fault && roce_fault_on(tx->ep->taps->fault);
}

/* Headers, payload and pad at `out`; returns their length. */
static inline size_t write_packet(const struct roce_pkt *pkt, uint16_t pkey,
				  const struct iovec *pieces, size_t count, uint8_t *out)
{
	size_t at = roce_encode(pkt, pkey, out), end = at + pkt->len;

	for (const struct iovec *last = pieces + count; pieces < last; pieces++) {
		size_t len = pieces->iov_len;

		assert(len <= end - at);
		/* Nobody waits for the last byte of these. */
		if (len < 64)
			vb_copy_body(out + at, pieces->iov_base, len);
		else
			vb_copy_large(out + at, pieces->iov_base, len);
		at += len;
	}
	assert(at == end);
	(void)end;
	while (at & 3)
		out[at++] = 0;
	return at;
}

static inline void add_plain(struct roce_tx *tx, const struct roce_path *path,
			     const struct roce_pkt *pkt, const struct iovec *pieces, size_t count)
{
	uint8_t *packet = tx->buf + tx->used;
	size_t len = write_packet(pkt, path->pkey, pieces, count, packet);
	struct roce_run *r = run_for(tx, &path->route, pkt->dqpn, len + ROCE_ICRC_BYTES);

	roce_put_icrc(packet + len, roce_icrc_compute(&path->icrc, packet, len, r->count));
	len += ROCE_ICRC_BYTES;
	if (is_captured(tx))
		capture(tx, path, pkt, r->count, packet, len, NULL);
	run_add(tx, r, len);
}

/* ---- faults ---- */

/* A packet that is complete, with an ICRC for id 0. */
static void add_bytes(struct roce_tx *tx, const struct held_head *head, const uint8_t *bytes,
		      size_t len, const char *note)
{
	struct roce_run *r = run_for(tx, &head->path.route, head->pkt.dqpn, len);
	uint8_t *packet = tx->buf + tx->used;

	memcpy(packet, bytes, len);
	if (tx->ep->ipv4)
		roce_move_id(packet, len, 0, r->count);
	if (is_captured(tx))
		capture(tx, &head->path, &head->pkt, r->count, packet, len, note);
	run_add(tx, r, len);
}

static void add_held(struct roce_tx *tx, struct roce_held *h)
{
	add_bytes(tx, (const void *)h->data, h->data + sizeof(struct held_head),
		  h->len - sizeof(struct held_head), h->swap ? "fault: reordered" : "fault: late");
	free(h);
}

static __attribute__((cold, noinline)) void add_spoilt(struct roce_tx *tx,
						       const struct roce_path *path,
						       const struct roce_pkt *pkt,
						       const struct iovec *pieces, size_t count)
{
	struct held_head head = { .path = *path, .pkt = *pkt };
	uint64_t now = roce_now_ns();
	struct roce_verdict v =
		roce_fault_judge(tx->ep->taps->fault, ROCE_DIR_OUT, pkt, &path->dst, now);
	struct roce_held *passed = roce_hold_take_swap(&tx->hold, tx->ep);
	uint8_t bytes[ROCE_MAX_PACKET];
	size_t len = write_packet(pkt, path->pkey, pieces, count, bytes);
	const char *note = NULL;

	roce_put_icrc(bytes + len, roce_icrc_compute(&path->icrc, bytes, len, 0));
	len += ROCE_ICRC_BYTES;
	switch (v.action) {
	case ROCE_FAULT_DROP:
		goto release;
	case ROCE_FAULT_DELAY:
	case ROCE_FAULT_REORDER:
		if (roce_hold_add(&tx->hold, now + v.delay_ns, v.action == ROCE_FAULT_REORDER,
				  tx->ep, &head, sizeof(head), bytes, len))
			goto release;
		break;
	case ROCE_FAULT_CORRUPT:
		v.bit %= len * 8;
		bytes[v.bit / 8] ^= 1 << v.bit % 8;
		note = "fault: corrupted";
		break;
	case ROCE_FAULT_DUP:
		add_bytes(tx, &head, bytes, len, NULL);
		note = "fault: duplicate";
		break;
	default:
		break;
	}
	add_bytes(tx, &head, bytes, len, note);
release:
	if (passed)
		add_held(tx, passed);
}

static __attribute__((cold, noinline)) void release_due(struct roce_tx *tx, uint64_t now_ns)
{
	struct roce_held *h;

	while (has_room(tx) && (h = roce_hold_take(&tx->hold, now_ns, NULL)))
		add_held(tx, h);
}

/* ---- out ---- */

int roce_tx_flush(struct roce_tx *tx)
{
	int err;

	if (unlikely(tx->hold.first))
		release_due(tx, roce_now_ns());
	err = roce_tx_send(tx);
	if (likely(!err))
		empty(tx);
	if (is_captured(tx))
		roce_capture_flush(tx->ep->taps->capture);
	return err;
}

void roce_tx_settle(struct roce_tx *tx)
{
	while (tx->hold.first) {
		release_due(tx, UINT64_MAX);
		if (roce_tx_flush(tx))
			break;
	}
}

int roce_tx_add(struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
		const struct iovec *pieces, size_t count)
{
	if (unlikely(!has_room(tx))) {
		roce_tx_flush(tx);
		if (!has_room(tx))
			return -EAGAIN;
	}
	if (is_spoilt(tx))
		add_spoilt(tx, path, pkt, pieces, count);
	else
		add_plain(tx, path, pkt, pieces, count);
	return 0;
}
