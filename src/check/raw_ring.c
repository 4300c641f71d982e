/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter looks at a raw send queue under the QP's lock, and copies here what it finds; it looks again while
 * the requests are outstanding. Findings are told under that lock: they are rare.
 */
#include "check/raw_ring.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/report.h"
#include "hca/hca.h"

/* A record that has not come by then is missing, not late. */
#define MISSING_NS 100000000ull

static uint8_t *entry(const struct check_raw *raw, const struct hca_sq_ring *sq, uint32_t index)
{
	return raw->copy + ((size_t)(index & (sq->size - 1)) << sq->slot_shift);
}

static const uint8_t *slot(const struct hca_sq_ring *sq, uint32_t index)
{
	return (const uint8_t *)sq->buf + ((size_t)(index & (sq->size - 1)) << sq->slot_shift);
}

static void tell(const struct check_qp *q, enum check_kind kind, const char *text)
{
	struct check_report r = { .kind = kind, .stacks[0] = { "QP created at", q->created } };

	snprintf(r.text, sizeof(r.text), "%s QP 0x%06x.", text, q->number);
	check_report(&r);
}

/* The program changes the ring as it likes: the bytes are those of some moment. */
__attribute__((no_sanitize_thread, noinline)) static void copy(uint8_t *to, const uint8_t *from,
							       size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		uint64_t word = __atomic_load_n((const uint64_t *)(from + i), __ATOMIC_RELAXED);

		memcpy(to + i, &word, sizeof(word));
	}
}

__attribute__((no_sanitize_thread, noinline)) static bool
differs(const struct check_raw *raw, const struct hca_sq_ring *sq, uint32_t index)
{
	const uint8_t *now = slot(sq, index), *then = entry(raw, sq, index);
	uint64_t a, b;

	for (size_t i = 0; i < (size_t)1 << sq->slot_shift; i += sizeof(a)) {
		a = __atomic_load_n((const uint64_t *)(now + i), __ATOMIC_RELAXED);
		memcpy(&b, then + i, sizeof(b));
		if (a != b)
			return true;
	}
	return false;
}

/* The number of slots from `oldest` on that are posted, by the doorbell record or by owner bits. */
static uint32_t count_posted(const struct hca_qp *qp, uint32_t oldest, uint32_t next)
{
	uint32_t mask = qp->format->sq_index_mask, count = next - oldest;

	if (mask)
		return (qp->format->sq_producer(&qp->sq) - oldest) & mask;
	while (count < qp->sq.size && qp->format->sq_ready(&qp->sq, oldest + count, 0))
		count++;
	return count;
}

static void check_changed(struct check_qp *q, const struct hca_qp *qp, uint32_t oldest)
{
	for (uint32_t i = oldest; (int32_t)(q->raw.seen - i) > 0; i++) {
		if (!differs(&q->raw, &qp->sq, i))
			continue;
		tell(q, CHECK_DV_WQE_CHANGED,
		     "Bytes of a request in the send queue's ring changed between its doorbell and "
		     "its completion:");
		return;
	}
}

static void note_new(struct check_raw *raw, const struct hca_sq_ring *sq, uint32_t oldest,
		     uint32_t end)
{
	if ((int32_t)(raw->seen - oldest) < 0 || (int32_t)(raw->seen - end) > 0)
		raw->seen = oldest;
	for (; raw->seen != end; raw->seen++)
		copy(entry(raw, sq, raw->seen), slot(sq, raw->seen), (size_t)1 << sq->slot_shift);
}

/*
 * Formats with owner bits: a program that fills in the first entry last, to hand over several at once, does not wait
 * before it does.
 */
static void check_owner(struct check_qp *q, const struct hca_qp *qp, uint32_t end)
{
	bool missing = !qp->format->sq_index_mask && !qp->format->sq_ready(&qp->sq, end, 0) &&
		       qp->format->sq_ready(&qp->sq, end + 1, 0);
	uint64_t now_ns;

	if (!missing) {
		q->raw.missing_since_ns = 0;
		return;
	}
	now_ns = hca_now_ns();
	if (!q->raw.missing_since_ns || q->raw.missing != end) {
		q->raw.missing_since_ns = now_ns;
		q->raw.missing = end;
	} else if (now_ns - q->raw.missing_since_ns > MISSING_NS) {
		tell(q, CHECK_DV_OWNER_BIT,
		     "A request has the owner bit of an earlier round of the ring, and the one "
		     "behind it "
		     "has that of this round:");
	}
}

static uint64_t word_of(const struct check_raw *raw, int i)
{
	return raw->reg[i] ? __atomic_load_n(raw->reg[i], __ATOMIC_RELAXED) : 0;
}

/* What the register has by now is of an earlier life of the QP, or of another one. */
static void forget_words(struct check_raw *raw)
{
	for (int i = 0; i < 2; i++)
		raw->reg_old[i] = word_of(raw, i);
	raw->unrecorded_since_ns = 0;
}

void check_raw_register(struct check_qp *q, const void *reg, uint32_t size)
{
	if (q->raw.reg[0])
		return;
	q->raw.reg[1] = (const uint64_t *)((const char *)reg + size);
	q->raw.reg[0] = reg;
	forget_words(&q->raw);
}

/*
 * The register has the beginning of the last request's control segment: 8 bits, its index, its opcode; the QP's number,
 * its length in units of 16 bytes. True: it lies behind `end`, up to which requests are posted.
 */
static bool is_behind(const struct check_raw *raw, const struct hca_qp *qp, uint32_t end, int i)
{
	uint64_t word = word_of(raw, i);
	uint32_t index, blocks, mask = qp->format->sq_index_mask;

	if (word == raw->reg_old[i])
		return false;
	word = be64toh(word);
	index = (uint32_t)(word >> 40) & 0xffff;
	blocks = ((uint32_t)(word & 0x3f) + 3) / 4;
	return ((uint32_t)word >> 8) == qp->qpn && blocks &&
	       ((index + blocks - end) & mask) - 1 < qp->sq.size;
}

/* A program that rings first and stores the record then does not wait between. */
static void check_recorded(struct check_qp *q, const struct hca_qp *qp, uint32_t end)
{
	bool behind = qp->format->sq_index_mask && q->raw.reg[0] &&
		      (is_behind(&q->raw, qp, end, 0) || is_behind(&q->raw, qp, end, 1));
	uint64_t now_ns;

	if (unlikely(atomic_exchange_explicit(&q->raw.restarted, false, memory_order_relaxed)))
		forget_words(&q->raw);
	if (!behind) {
		q->raw.unrecorded_since_ns = 0;
		return;
	}
	now_ns = hca_now_ns();
	if (!q->raw.unrecorded_since_ns)
		q->raw.unrecorded_since_ns = now_ns;
	else if (now_ns - q->raw.unrecorded_since_ns > MISSING_NS)
		tell(q, CHECK_DV_RECORD_MISSING,
		     "The doorbell register has a request that the doorbell record does not "
		     "count:");
}

void check_raw_sq(struct check_qp *q, const struct hca_qp *qp, uint32_t oldest, uint32_t next)
{
	uint32_t posted;

	if (!q->raw.copy) {
		q->raw.copy = malloc((size_t)qp->sq.size << qp->sq.slot_shift);
		q->raw.seen = oldest;
		if (!q->raw.copy)
			return;
	}
	if ((int32_t)(q->raw.seen - oldest) > 0)
		check_changed(q, qp, oldest);
	posted = count_posted(qp, oldest, next);
	if (posted > qp->sq.size) {
		tell(q, CHECK_DV_SQ_OVERTAKEN,
		     "The doorbell record is more than a whole ring ahead of the oldest request "
		     "that is "
		     "not completed:");
		return;
	}
	note_new(&q->raw, &qp->sq, oldest, oldest + posted);
	check_owner(q, qp, oldest + posted);
	check_recorded(q, qp, oldest + posted);
}

static void tell_cq(const struct check_cq *c, enum check_kind kind, const char *text, uint32_t size)
{
	struct check_report r = { .kind = kind, .stacks[0] = { "CQ created at", c->created } };

	snprintf(r.text, sizeof(r.text), text, size);
	check_report(&r);
}

void check_raw_cq(const struct check_cq *c, const struct hca_cq *cq, uint32_t consumer)
{
	uint32_t used = (cq->pi - consumer) & (2 * cq->size - 1);

	if (used > cq->size)
		tell_cq(c, CHECK_DV_CONSUMER_AHEAD,
			"The consumer index in the doorbell record of a CQ of %u entries names "
			"entries that "
			"were not written yet.",
			cq->size);
	else if (cq->doorbell.watched && !consumer && cq->pi == cq->size)
		tell_cq(c, CHECK_DV_CONSUMER_STILL,
			"A CQ of %u entries is full, and the consumer index in its doorbell record "
			"has never "
			"changed.",
			cq->size);
	else
		tell_cq(c, CHECK_CQ_OVERRUN,
			"A completion came to a CQ of %u entries that was full.", cq->size);
}
