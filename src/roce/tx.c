/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches: adding packets, and the faults of packets that are sent. */
#include "roce/tx.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce/clock.h"
#include "roce/encode.h"
#include "roce/endpoint.h"
#include "roce/inspect.h"
#include "roce/tx_send.h"
#include "roce/tx_types.h"
#include "util/api.h"
#include "util/copy.h"

enum {
	/* Limits of a send: 64 segments by the kernel, 65507 bytes by UDP. */
	RUN_PACKETS = 64,
	RUN_BYTES = 65000,
	/* roce_tx_add() adds at most the packet, its duplicate, and one that is reordered behind it. */
	ADD_PACKETS = 3,
};

/* Precedes the bytes of a delayed packet in the queue. */
struct delayed_head {
	struct roce_path path;
	struct roce_pkt pkt;
};

/* ---- packets ---- */

static inline void empty(struct roce_tx *tx)
{
	tx->head = tx->end = tx->run;
	tx->used = 0;
}

int roce_tx_create(struct roce_endpoint *ep, struct roce_tx **out)
{
	struct roce_tx *tx = aligned_alloc(64, (sizeof(*tx) + 63) & ~(size_t)63);
	const struct roce_tx *none = NULL;

	if (!tx)
		return -ENOMEM;
	memset(tx, 0, offsetof(struct roce_tx, buf));
	tx->ep = ep;
	empty(tx);
	atomic_compare_exchange_strong(&ep->primary_tx, &none, tx);
	*out = tx;
	return 0;
}

void roce_tx_destroy(struct roce_tx *tx)
{
	if (!tx)
		return;
	roce_delay_queue_clear(&tx->delayed);
	free(tx);
}

void roce_tx_reset(struct roce_tx *tx)
{
	empty(tx);
	roce_delay_queue_clear(&tx->delayed);
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
	return roce_delay_queue_due(&tx->delayed);
}

static inline bool has_room(const struct roce_tx *tx)
{
	return tx->used <= ROCE_TX_BYTES - ADD_PACKETS * ROCE_MAX_PACKET &&
	       tx->end <= &tx->run[ROCE_TX_RUNS - ADD_PACKETS];
}

/* Whether a packet may be appended to a run. None may follow one that is shorter than the others. */
static inline bool joins(const struct roce_tx *tx, const struct roce_run *r,
			 const struct roce_route *route, uint32_t block, size_t len)
{
	return len <= r->segment && r->bytes == (uint32_t)r->count * r->segment &&
	       r->count < RUN_PACKETS && r->bytes + len <= RUN_BYTES && r->block == block &&
	       /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): a copy, or a run of its own */
	       !r->single && !memcmp(&r->route, route, sizeof(*route)) &&
	       atomic_load_explicit(&tx->ep->segment, memory_order_relaxed);
}

/* The run for a packet of `len` bytes, maybe a new one; r->count is the packet's position in it. */
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

__attribute__((cold, noinline)) static void capture(const struct roce_tx *tx,
						    const struct roce_path *path,
						    const void *sender, const struct roce_pkt *pkt,
						    uint16_t id, const uint8_t *packet, size_t len,
						    const char *note)
{
	const struct roce_inspect *inspect = tx->ep->inspect;
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

	if (inspect->comment)
		inspect->comment(sender, pkt, true, text, sizeof(text));
	if (note) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", at ? "; " : "", note);
	}
	roce_capture_frame(inspect->capture, &frame, packet, len, text[0] ? text : NULL);
}

static inline bool is_captured(const struct roce_tx *tx)
{
	return roce_inspect_enabled() && tx->ep->inspect->capture &&
	       roce_capture_on(tx->ep->inspect->capture);
}

static inline bool has_faults(const struct roce_tx *tx)
{
	return roce_inspect_enabled() && tx->ep->inspect->fault &&
	       roce_fault_on(tx->ep->inspect->fault);
}

/* Writes headers, payload and pad; returns their length. */
static inline size_t write_packet(const struct roce_pkt *pkt, uint16_t pkey,
				  const struct iovec *pieces, size_t count, uint8_t *out)
{
	size_t at = roce_encode(pkt, pkey, out), end = at + pkt->len;

	for (const struct iovec *last = pieces + count; pieces < last; pieces++) {
		size_t len = pieces->iov_len;

		assert(len <= end - at);
		/* Order does not matter here, since no one polls the copy's last byte. */
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
		capture(tx, path, path->sender, pkt, r->count, packet, len, NULL);
	run_add(tx, r, len);
}

/* ---- faults ---- */

/*
 * Adds a complete packet, whose ICRC is that of IPv4 id 0. `sender`: of the path that is being added
 * to; that of a delayed packet's own path may be gone.
 */
static void add_bytes(struct roce_tx *tx, const struct delayed_head *head, const void *sender,
		      const uint8_t *bytes, size_t len, const char *note)
{
	struct roce_run *r = run_for(tx, &head->path.route, head->pkt.dqpn, len);
	uint8_t *packet = tx->buf + tx->used;

	memcpy(packet, bytes, len);
	if (tx->ep->ipv4)
		roce_move_id(packet, len, 0, r->count);
	if (is_captured(tx))
		capture(tx, &head->path, sender, &head->pkt, r->count, packet, len, note);
	run_add(tx, r, len);
}

static void add_delayed(struct roce_tx *tx, struct roce_delayed *d, const void *sender)
{
	add_bytes(tx, (const void *)d->data, sender, d->data + sizeof(struct delayed_head),
		  d->len - sizeof(struct delayed_head),
		  d->swap ? "fault: reordered" : "fault: late");
	free(d);
}

static __attribute__((cold, noinline)) void
add_with_faults(struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
		const struct iovec *pieces, size_t count)
{
	struct delayed_head head = { .path = *path, .pkt = *pkt };
	uint64_t now = roce_now_ns();
	struct roce_verdict v =
		roce_fault_judge(tx->ep->inspect->fault, ROCE_DIR_OUT, pkt, &path->dst, now);
	struct roce_delayed *swapped = roce_delay_queue_take_swap(&tx->delayed, tx->ep);
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
		if (roce_delay_queue_add(&tx->delayed, now + v.delay_ns,
					 v.action == ROCE_FAULT_REORDER, tx->ep, &head,
					 sizeof(head), bytes, len))
			goto release;
		break;
	case ROCE_FAULT_CORRUPT:
		v.bit %= len * 8;
		bytes[v.bit / 8] ^= 1 << v.bit % 8;
		note = "fault: corrupted";
		break;
	case ROCE_FAULT_DUP:
		add_bytes(tx, &head, path->sender, bytes, len, NULL);
		note = "fault: duplicate";
		break;
	default:
		break;
	}
	add_bytes(tx, &head, path->sender, bytes, len, note);
release:
	if (swapped)
		add_delayed(tx, swapped, path->sender);
}

/* Moves delayed packets that are due into the batch. */
static __attribute__((cold, noinline)) void add_due(struct roce_tx *tx, uint64_t now_ns)
{
	struct roce_delayed *d;

	while (has_room(tx) && (d = roce_delay_queue_take(&tx->delayed, now_ns, NULL)))
		add_delayed(tx, d, NULL);
}

/* ---- batches ---- */

int roce_tx_flush(struct roce_tx *tx)
{
	int err;

	if (unlikely(!roce_delay_queue_is_empty(&tx->delayed)))
		add_due(tx, roce_now_ns());
	err = roce_tx_send(tx);
	if (likely(!err))
		empty(tx);
	if (is_captured(tx))
		roce_capture_flush(tx->ep->inspect->capture);
	return err;
}

void roce_tx_send_delayed(struct roce_tx *tx)
{
	while (!roce_delay_queue_is_empty(&tx->delayed)) {
		add_due(tx, UINT64_MAX);
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
	if (has_faults(tx))
		add_with_faults(tx, path, pkt, pieces, count);
	else
		add_plain(tx, path, pkt, pieces, count);
	return 0;
}
