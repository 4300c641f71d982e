/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rates are mantissa / 2^exponent tokens per nanosecond, bursts mantissa * 2^exponent tokens. The state
 * is the tokens of both buckets and the time at which they were last filled; no fraction of a token is
 * lost, since a bucket gets the difference of what flowed until now and until then.
 */
#include "ether/aso_meter.h"

#include <endian.h>
#include <string.h>

#define PACKET_COST 128u /* tokens of a packet, where packets are counted */
#define FCS         4u
#define GAP         20u /* preamble and the gap between frames */

/* 32-bit words of a meter. */
enum {
	WORD_FLAGS = 0,
	WORD_C = 2, /* burst and rate of the committed bucket */
	WORD_C_TOKENS = 3,
	WORD_E = 4,
	WORD_E_TOKENS = 5,
	WORD_TIME = 6,
};

enum {
	FLAG_VALID = 1u << 31,
	FLAG_OVERFLOW = 1u << 30, /* what the committed bucket cannot hold flows to the other one */
	FLAG_BOTH = 1u << 27,     /* a green packet takes tokens of both buckets */
};

enum { MODE_IP_LEN, MODE_L2_LEN, MODE_L2_IPG_LEN, MODE_PACKET };

struct bucket {
	int64_t tokens, burst;
	uint8_t rate, exponent;
};

static uint32_t word_get(const uint8_t *meter, unsigned int i)
{
	uint32_t v;

	memcpy(&v, meter + 4 * i, sizeof(v));
	return be32toh(v);
}

static void word_set(uint8_t *meter, unsigned int i, uint32_t value)
{
	value = htobe32(value);
	memcpy(meter + 4 * i, &value, sizeof(value));
}

static struct bucket bucket_get(const uint8_t *meter, unsigned int word)
{
	uint32_t w = word_get(meter, word);

	return (struct bucket){
		.tokens = (int32_t)word_get(meter, word + 1),
		.burst = (int64_t)(w >> 16 & 0xff) << (w >> 24 & 0x1f),
		.rate = w & 0xff,
		.exponent = w >> 8 & 0x1f,
	};
}

static void bucket_set(uint8_t *meter, unsigned int word, const struct bucket *b)
{
	int64_t tokens = b->tokens < INT32_MIN ? INT32_MIN : b->tokens;

	word_set(meter, word + 1, tokens > INT32_MAX ? INT32_MAX : (uint32_t)tokens);
}

/* Returns the tokens that the bucket cannot hold. */
static int64_t fill(struct bucket *b, uint64_t then, uint64_t now, int64_t more)
{
	__extension__ unsigned __int128 flowed = (unsigned __int128)now * b->rate >> b->exponent;
	int64_t over;

	flowed -= (unsigned __int128)then * b->rate >> b->exponent;
	b->tokens += more + (flowed > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)flowed);
	over = b->tokens > b->burst ? b->tokens - b->burst : 0;
	b->tokens -= over;
	return over;
}

/* A packet that is longer than a burst passes when the bucket is full, and leaves a debt. */
static bool holds(const struct bucket *b, int64_t cost)
{
	return b->tokens >= (cost < b->burst ? cost : b->burst);
}

static uint32_t cost_of(struct ether_frame *frame, unsigned int mode)
{
	const struct ether_headers *h = &ether_frame_parse(frame)->outer;

	switch (mode) {
	case MODE_IP_LEN:
		return h->l3 ? h->l3_len : frame->len - h->l3_off;
	case MODE_L2_LEN:
		return frame->len + FCS;
	case MODE_L2_IPG_LEN:
		return frame->len + FCS + GAP;
	default:
		return PACKET_COST;
	}
}

static enum aso_colour take(struct bucket *c, struct bucket *e, enum aso_colour before, bool both,
			    int64_t cost)
{
	bool has_e = e->burst || e->rate;

	if (before == ASO_RED || (both && !holds(e, cost)))
		return ASO_RED;
	if (before == ASO_GREEN && holds(c, cost)) {
		c->tokens -= cost;
		e->tokens -= both ? cost : 0;
		return ASO_GREEN;
	}
	if (!has_e || !holds(e, cost))
		return ASO_RED;
	e->tokens -= cost;
	return ASO_YELLOW;
}

enum aso_colour aso_meter_run(uint8_t *meter, enum aso_colour before, struct ether_frame *frame,
			      uint64_t now_ns)
{
	uint32_t flags = word_get(meter, WORD_FLAGS);
	uint64_t then = (uint64_t)word_get(meter, WORD_TIME) << 32 | word_get(meter, WORD_TIME + 1);
	struct bucket c = bucket_get(meter, WORD_C), e = bucket_get(meter, WORD_E);
	enum aso_colour colour;
	int64_t over;

	if (before == ASO_NO_COLOUR)
		before = flags >> 28 & 3;
	if (before == ASO_NO_COLOUR)
		before = ASO_GREEN;
	if (!(flags & FLAG_VALID))
		return before;
	if (now_ns < then)
		then = now_ns;
	over = fill(&c, then, now_ns, 0);
	fill(&e, then, now_ns, flags & FLAG_OVERFLOW ? over : 0);
	colour = take(&c, &e, before, flags & FLAG_BOTH, cost_of(frame, flags >> 24 & 3));
	bucket_set(meter, WORD_C, &c);
	bucket_set(meter, WORD_E, &e);
	word_set(meter, WORD_TIME, now_ns >> 32);
	word_set(meter, WORD_TIME + 1, (uint32_t)now_ns);
	return colour;
}
