/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet is valid if its data and its acknowledgement lie in the windows (RFC 9293 3.10.7.4, with the
 * bounds that packet filters use, which see neither end's buffers). Sequence numbers are serial.
 */
#include "ether/aso_ct.h"

#include <endian.h>
#include <string.h>

#include "ether/offload.h"

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };
enum { SYN_RECV, ESTABLISHED, FIN_WAIT, CLOSE_WAIT, LAST_ACK, TIME_WAIT };
/* last_index */
enum { LAST_SYN = 1, LAST_SYNACK = 2, LAST_FIN = 4, LAST_ACKED = 8, LAST_RST = 16 };

#define SCALE_NONE 0xfu

/* 32-bit words of the context. */
enum {
	WORD_REPLY = 0,
	WORD_ORIGINAL = 4,
	WORD_LAST_END = 8,
	WORD_LAST_ACK = 9,
	WORD_LAST_SEQ = 10,
	WORD_LAST = 11, /* window, direction, kind */
	WORD_DIRECTIONS = 14,
	WORD_STATE = 15,
};

/* In a direction's four words. */
enum { MAX_ACK, MAX_WIN, REPLY_END, SENT_END };

/* In a direction's byte of WORD_DIRECTIONS. */
enum { DIR_CLOSE = 1 << 3, DIR_LIBERAL = 1 << 2, DIR_UNACKED = 1 << 1, DIR_ACKED = 1 << 0 };

enum {
	CT_VALID = 1u << 31,
	CT_FREEZE = 1u << 27,
	CT_ASSURED = 1u << 14,
	CT_HEARTBEAT = 1u << 11,
	CT_LIMIT_EXCEEDED = 1u << 3,
};

struct segment {
	uint32_t seq, ack, end, window;
	uint8_t flags;
};

struct direction {
	uint32_t word[4];
	uint8_t bits, scale;
};

static uint32_t word_get(const uint8_t *ct, unsigned int i)
{
	uint32_t v;

	memcpy(&v, ct + 4 * i, sizeof(v));
	return be32toh(v);
}

static void word_set(uint8_t *ct, unsigned int i, uint32_t value)
{
	value = htobe32(value);
	memcpy(ct + 4 * i, &value, sizeof(value));
}

static bool after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

static struct direction direction_get(const uint8_t *ct, bool responder)
{
	uint32_t both = word_get(ct, WORD_DIRECTIONS);
	uint8_t byte = responder ? both >> 24 : both >> 8;
	struct direction d = { .bits = byte & 0xf, .scale = byte >> 4 };

	for (unsigned int i = 0; i < 4; i++)
		d.word[i] = word_get(ct, (responder ? WORD_REPLY : WORD_ORIGINAL) + i);
	return d;
}

static void direction_set(uint8_t *ct, bool responder, const struct direction *d)
{
	uint32_t both = word_get(ct, WORD_DIRECTIONS);
	unsigned int shift = responder ? 24 : 8;

	both = (both & ~(0xffu << shift)) | (uint32_t)(d->scale << 4 | d->bits) << shift;
	word_set(ct, WORD_DIRECTIONS, both);
	for (unsigned int i = 0; i < 4; i++)
		word_set(ct, (responder ? WORD_REPLY : WORD_ORIGINAL) + i, d->word[i]);
}

static uint32_t load32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return be32toh(v);
}

static bool read_segment(struct ether_frame *frame, struct segment *s)
{
	const struct ether_headers *h = &ether_frame_parse(frame)->outer;
	const uint8_t *tcp = frame->data + h->l4_off;

	if (h->l4 != ETHER_L4_TCP || h->fragment ||
	    ether_check_headers(frame->data, h) != (ETHER_CHECK_L3_OK | ETHER_CHECK_L4_OK))
		return false;
	s->seq = load32(tcp + 4);
	s->ack = load32(tcp + 8);
	s->flags = tcp[13];
	s->window = tcp[14] << 8 | tcp[15];
	s->end = s->seq + (h->l3_off + h->l3_len - h->data_off) + !!(s->flags & TCP_SYN) +
		 !!(s->flags & TCP_FIN);
	return true;
}

static bool in_windows(const struct segment *s, const struct direction *from,
		       const struct direction *to, unsigned int ack_scale)
{
	uint32_t back = from->word[MAX_WIN] << ack_scale;

	if (from->bits & DIR_LIBERAL)
		return true;
	if (after(s->seq, from->word[REPLY_END]) ||
	    after(from->word[SENT_END] - to->word[MAX_WIN], s->end))
		return false;
	return !(s->flags & TCP_ACK) ||
	       (!after(s->ack, to->word[SENT_END]) && !after(to->word[SENT_END] - back, s->ack));
}

static void move_windows(const struct segment *s, struct direction *from, struct direction *to)
{
	uint32_t window = s->window;

	if (from->scale != SCALE_NONE && !(s->flags & TCP_SYN))
		window <<= from->scale;
	if (window > from->word[MAX_WIN])
		from->word[MAX_WIN] = window;
	if (after(s->end, from->word[SENT_END])) {
		from->word[SENT_END] = s->end;
		from->bits |= DIR_UNACKED;
	}
	if (!(s->flags & TCP_ACK))
		return;
	if (after(s->ack, from->word[MAX_ACK]))
		from->word[MAX_ACK] = s->ack;
	from->bits |= DIR_ACKED;
	if (after(s->ack + window, to->word[REPLY_END]))
		to->word[REPLY_END] = s->ack + window;
	if (s->ack == to->word[SENT_END])
		to->bits &= ~DIR_UNACKED;
}

/* Of a segment that is in the windows, which have moved. */
static unsigned int next_state(unsigned int state, const struct segment *s, bool responder,
			       struct direction *from, const struct direction *to)
{
	bool acks_all = s->flags & TCP_ACK && !(to->bits & DIR_UNACKED);

	if (state == SYN_RECV && !responder && s->flags & TCP_ACK)
		state = ESTABLISHED;
	if (s->flags & TCP_FIN && !(from->bits & DIR_CLOSE)) {
		from->bits |= DIR_CLOSE;
		return to->bits & DIR_CLOSE ? LAST_ACK : FIN_WAIT;
	}
	if (to->bits & DIR_CLOSE && acks_all) {
		if (state == FIN_WAIT)
			return CLOSE_WAIT;
		if (state == LAST_ACK)
			return TIME_WAIT;
	}
	return state;
}

static unsigned int kind_of(uint8_t flags)
{
	if (flags & TCP_RST)
		return LAST_RST;
	if (flags & TCP_SYN)
		return flags & TCP_ACK ? LAST_SYNACK : LAST_SYN;
	return flags & TCP_FIN ? LAST_FIN : LAST_ACKED;
}

/* The state word with the segment counted, if it repeats the last one. */
static uint32_t count_repeat(const uint8_t *ct, const struct segment *s, uint32_t last,
			     uint32_t state)
{
	uint32_t count = state >> 4 & 7, limit = state & 7;
	bool again = word_get(ct, WORD_LAST) == last && word_get(ct, WORD_LAST_SEQ) == s->seq &&
		     word_get(ct, WORD_LAST_ACK) == s->ack &&
		     word_get(ct, WORD_LAST_END) == s->end && s->end != s->seq;

	count = again ? count + (count < 7) : 0;
	if (limit && count > limit)
		state |= CT_LIMIT_EXCEEDED;
	return (state & ~(7u << 4)) | count << 4;
}

uint32_t aso_ct_run(uint8_t *ct, bool responder, struct ether_frame *frame)
{
	uint32_t word = word_get(ct, WORD_STATE), state = word >> 28 & 7, now, last;
	struct direction from = direction_get(ct, responder), to = direction_get(ct, !responder);
	struct segment s;

	if (!read_segment(frame, &s))
		return ASO_CT_INVALID | ASO_CT_BAD_PACKET;
	if (!(word & CT_VALID))
		return ASO_CT_INVALID;
	if (word & CT_FREEZE)
		return ASO_CT_VALID;
	if (s.flags & TCP_SYN && state != SYN_RECV)
		return ASO_CT_TRAP;
	if (!in_windows(&s, &from, &to, word >> 8 & 7))
		return ASO_CT_INVALID;
	last = s.window << 16 | responder << 5 | kind_of(s.flags);
	word = count_repeat(ct, &s, last, word);
	move_windows(&s, &from, &to);
	now = s.flags & TCP_RST ? TIME_WAIT : next_state(state, &s, responder, &from, &to);
	if (now == ESTABLISHED)
		word |= CT_ASSURED;
	word_set(ct, WORD_STATE, (word & ~(7u << 28)) | now << 28 | CT_HEARTBEAT);
	word_set(ct, WORD_LAST, last);
	word_set(ct, WORD_LAST_SEQ, s.seq);
	word_set(ct, WORD_LAST_ACK, s.ack);
	word_set(ct, WORD_LAST_END, s.end);
	direction_set(ct, responder, &from);
	direction_set(ct, !responder, &to);
	return now == state ? ASO_CT_VALID : ASO_CT_STATE_CHANGE;
}
