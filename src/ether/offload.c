/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checksums over frames (RFC 1071), the FCS, and segmentation. Pure; any thread.
 */
#include "ether/offload.h"

#include <isa-l/crc.h>
#include <string.h>

#include "util/vector.h"

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, (uint16_t)v);
}

static uint16_t fold(uint64_t sum)
{
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)((sum >> 16) + sum);
}

/* One's complement sum in memory order: words of any width add up to the same. */
static uint64_t sum_bytes(const uint8_t *p, size_t len, uint64_t sum)
{
	uint32_t word;
	uint16_t half;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum += word;
	}
	if (len >= sizeof(half)) {
		memcpy(&half, p, sizeof(half));
		sum += half;
		p += sizeof(half);
		len -= sizeof(half);
	}
	if (len) {
		half = 0;
		memcpy(&half, p, 1);
		sum += half;
	}
	return sum;
}

static uint32_t l3_header(const struct ether_headers *h)
{
	return h->l4_off - h->l3_off;
}

static uint32_t l4_length(const struct ether_headers *h)
{
	return h->l3_len - l3_header(h);
}

/* The sum over pseudo header and segment, in memory order. */
static uint16_t sum_l4(const uint8_t *data, const struct ether_headers *h)
{
	const uint8_t *l3 = data + h->l3_off;
	uint8_t tail[8] = { 0 };
	uint64_t sum;

	sum = h->l3 == ETHER_L3_IPV4 ? sum_bytes(l3 + 12, 8, 0) : sum_bytes(l3 + 8, 32, 0);
	put32(tail, l4_length(h));
	tail[7] = h->protocol;
	sum = sum_bytes(tail, sizeof(tail), sum);
	return fold(sum_bytes(data + h->l4_off, l4_length(h), sum));
}

/* The offset of the checksum of TCP or UDP; 0: there is none. */
static uint32_t l4_place(const struct ether_headers *h)
{
	if (h->fragment)
		return 0;
	if (h->l4 == ETHER_L4_TCP)
		return h->l4_off + 16;
	return h->l4 == ETHER_L4_UDP ? h->l4_off + 6 : 0;
}

uint8_t ether_check_headers(const uint8_t *data, const struct ether_headers *h)
{
	uint32_t place = l4_place(h);
	uint8_t check = 0;

	if (h->l3 == ETHER_L3_IPV6 ||
	    (h->l3 == ETHER_L3_IPV4 &&
	     fold(sum_bytes(data + h->l3_off, l3_header(h), 0)) == 0xffff))
		check |= ETHER_CHECK_L3_OK;
	if (!place)
		return check;
	/* 0 with UDP: the sender did not compute one. */
	if ((h->l4 == ETHER_L4_UDP && !get16(data + place)) || sum_l4(data, h) == 0xffff)
		check |= ETHER_CHECK_L4_OK;
	return check;
}

uint8_t ether_check(struct ether_frame *frame)
{
	const struct ether_parsed *parsed;

	if (frame->check & ETHER_CHECK_DONE)
		return frame->check;
	parsed = ether_frame_parse(frame);
	frame->check = ETHER_CHECK_DONE | ether_check_headers(frame->data, &parsed->outer);
	/* In a tunnel the inner ones must be right, too. */
	if (parsed->tunnel && parsed->inner.l3) {
		uint8_t inner = ether_check_headers(frame->data, &parsed->inner);

		if (!(inner & ETHER_CHECK_L3_OK))
			frame->check &= ~ETHER_CHECK_L3_OK;
		if (l4_place(&parsed->inner))
			frame->check =
				(frame->check & ~ETHER_CHECK_L4_OK) | (inner & ETHER_CHECK_L4_OK);
	}
	return frame->check;
}

void ether_fill_l3(uint8_t *data, const struct ether_headers *h)
{
	uint8_t *place = data + h->l3_off + 10;
	uint16_t sum;

	if (h->l3 != ETHER_L3_IPV4)
		return;
	put16(place, 0);
	sum = ~fold(sum_bytes(data + h->l3_off, l3_header(h), 0));
	memcpy(place, &sum, sizeof(sum));
}

void ether_fill_l4(uint8_t *data, const struct ether_headers *h)
{
	uint32_t place = l4_place(h);
	uint16_t sum;

	if (!h->l3 || !place)
		return;
	put16(data + place, 0);
	sum = ~sum_l4(data, h);
	if (!sum && h->l4 == ETHER_L4_UDP)
		sum = 0xffff;
	memcpy(data + place, &sum, sizeof(sum));
}

uint32_t ether_fcs(const uint8_t *data, uint32_t len)
{
	uint32_t crc = crc32_gzip_refl(0, data, len);

	vector_clear_upper();
	return crc;
}

static void fix_lengths(uint8_t *data, uint32_t len, const struct ether_headers *h, uint32_t piece)
{
	uint8_t *l3 = data + h->l3_off;

	if (h->l3 == ETHER_L3_IPV4) {
		put16(l3 + 2, (uint16_t)(len - h->l3_off));
		put16(l3 + 4, (uint16_t)(get16(l3 + 4) + piece));
	} else if (h->l3 == ETHER_L3_IPV6) {
		put16(l3 + 4, (uint16_t)(len - h->l3_off - 40));
	}
	if (h->l4 == ETHER_L4_UDP)
		put16(data + h->l4_off + 4, (uint16_t)(len - h->l4_off));
}

void ether_tso_fix(uint8_t *data, uint32_t len, const struct ether_parsed *parsed, uint32_t piece,
		   uint32_t offset, bool last)
{
	const struct ether_headers *h =
		parsed->tunnel && parsed->inner.l4 ? &parsed->inner : &parsed->outer;
	uint8_t *tcp = data + h->l4_off;

	fix_lengths(data, len, &parsed->outer, piece);
	if (h == &parsed->inner)
		fix_lengths(data, len, h, piece);
	if (h->l4 != ETHER_L4_TCP)
		return;
	put32(tcp + 4, get32(tcp + 4) + offset);
	if (!last)
		tcp[13] &= ~0x09; /* FIN and PSH belong to the last one, */
	if (piece)
		tcp[13] &= ~0x80; /* CWR to the first */
}
