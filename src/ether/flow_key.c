/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys from frames, for every frame that is matched; and the names of the fields of a key.
 */
#include "ether/flow_key.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "ether/offload.h"

#define TYPE_QINQ 0x88a8
#define PORT_ROCE 4791
#define IP_ICMP   1

#define BTH 12u

#define BYTE(field) ((unsigned int)(field) >> 11)

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static bool tag_is_s(const uint8_t *tci)
{
	return (tci[-2] << 8 | tci[-1]) == TYPE_QINQ;
}

static void fill_l2(struct flow_key *key, uint8_t *part, const uint8_t *data,
		    const struct ether_headers *h, bool inner)
{
	const uint8_t *tci = data + h->vlan_off;

	memcpy(part, data + h->l2_off + 6, 6);
	memcpy(part + 8, data + h->l2_off, 6);
	if (!h->vlans)
		return;
	memcpy(part + 14, tci, 2);
	part[18] |= tag_is_s(tci) ? 0x40 : 0x80;
	if (h->vlans < 2)
		return;
	tci += 4;
	memcpy(key->bytes + (inner ? 0x4a : 0x48), tci, 2);
	key->bytes[0x4c] |= (tag_is_s(tci) ? 0x20 : 0x80) >> inner;
}

static void fill_l3(struct flow_key *key, uint8_t *part, const uint8_t *data,
		    const struct ether_headers *h, bool inner)
{
	const uint8_t *ip = data + h->l3_off;

	part[16] = h->protocol;
	part[18] |= h->fragment ? 0x20 : 0;
	if (h->l3 == ETHER_L3_IPV4) {
		part[17] = ip[1];
		part[18] |= 4 << 1;
		part[26] |= ip[0] << 4;
		part[27] = ip[8];
		memcpy(part + 44, ip + 12, 4);
		memcpy(part + 60, ip + 16, 4);
		return;
	}
	part[17] = ip[0] << 4 | ip[1] >> 4;
	part[18] |= 6 << 1;
	part[27] = ip[7];
	memcpy(part + 32, ip + 8, 32);
	key->bytes[inner ? 0x61 : 0x5d] = ip[1] & 0xf;
	memcpy(key->bytes + (inner ? 0x62 : 0x5e), ip + 2, 2);
}

/* The base transport header of InfiniBand and RoCE. */
static void fill_bth(struct flow_key *key, const uint8_t *bth)
{
	key->bytes[BYTE(FLOW_bth_opcode)] = bth[0];
	key->bytes[FLOW_KEY_MISC] |= bth[8] >> 7 << 6;
	memcpy(key->bytes + BYTE(FLOW_bth_dst_qp), bth + 5, 3);
}

static void fill_l4(struct flow_key *key, uint8_t *part, const uint8_t *data,
		    const struct ether_headers *h, bool inner)
{
	const uint8_t *l4 = data + h->l4_off;

	switch (h->l4) {
	case ETHER_L4_TCP:
		memcpy(part + 20, l4, 4);
		part[18] |= l4[12] & 1;
		part[19] = l4[13];
		memcpy(key->bytes + (inner ? 0x100 : 0x104), l4 + 4, 4);
		memcpy(key->bytes + (inner ? 0x108 : 0x10c), l4 + 8, 4);
		break;
	case ETHER_L4_UDP:
		memcpy(part + 28, l4, 4);
		if ((l4[2] << 8 | l4[3]) == PORT_ROCE && h->l3_off + h->l3_len >= h->data_off + BTH)
			fill_bth(key, l4 + 8);
		break;
	case ETHER_L4_ESP:
		memcpy(key->bytes + BYTE(inner ? FLOW_inner_esp_spi : FLOW_outer_esp_spi), l4, 4);
		break;
	case ETHER_L4_ICMP:
		if (h->l3_off + h->l3_len < h->l4_off + 8 || inner)
			break;
		memcpy(key->bytes + (h->protocol == IP_ICMP ? 0x120 : 0x122), l4, 2);
		memcpy(key->bytes + (h->protocol == IP_ICMP ? 0x118 : 0x11c), l4 + 4, 4);
		break;
	}
}

static void fill_layer(struct flow_key *key, const uint8_t *data, const struct ether_headers *h,
		       bool inner)
{
	uint8_t *part = key->bytes + (inner ? FLOW_KEY_INNER : FLOW_KEY_OUTER);

	if (h->has_l2)
		fill_l2(key, part, data, h, inner);
	put16(part + 6, h->type);
	if (h->mpls)
		memcpy(key->bytes + BYTE(inner ? FLOW_inner_mpls : FLOW_outer_mpls),
		       data + h->mpls_off, 4);
	if (h->l3) {
		fill_l3(key, part, data, h, inner);
		fill_l4(key, part, data, h, inner);
	}
}

/*
 * The key is at the same place in versions 0 and 1; in version 1 (RFC 2637 4.1) it holds the length of
 * the payload and the call.
 */
static void fill_gre(struct flow_key *key, const uint8_t *gre, uint32_t len)
{
	uint32_t at = gre[0] & 0x80 ? 8 : 4;

	key->bytes[FLOW_KEY_MISC] |= gre[0] & 0xb0;
	memcpy(key->bytes + BYTE(FLOW_gre_protocol), gre + 2, 2);
	if (gre[0] & 0x20 && len >= at + 4)
		memcpy(key->bytes + BYTE(FLOW_gre_key), gre + at, 4);
}

/* The first option of the class and type that the port's parser looks for (RFC 8926 3.5). */
static void fill_geneve_option(struct flow_key *key, const uint8_t *t, uint32_t len, uint32_t want)
{
	uint32_t end = 8 + (t[0] & 0x3f) * 4, data = 4 + ETHER_GENEVE_WORD(want) * 4;

	if (!want || end > len)
		return;
	for (uint32_t at = 8; end - at >= 4;) {
		uint32_t size = 4 + (t[at + 3] & 0x1f) * 4;
		uint32_t id = t[at] << 16 | t[at + 1] << 8 | t[at + 2];

		if (size > end - at)
			return;
		if (id != ETHER_GENEVE_ID(want)) {
			at += size;
			continue;
		}
		key->bytes[BYTE(FLOW_geneve_option_exist)] |= 2;
		if (size >= data + 4)
			memcpy(key->bytes + BYTE(FLOW_geneve_option_data), t + at + data, 4);
		return;
	}
}

static void fill_gtpu(struct flow_key *key, const uint8_t *t, uint32_t len)
{
	memcpy(key->bytes + BYTE(FLOW_gtpu_teid), t + 4, 4);
	key->bytes[BYTE(FLOW_gtpu_msg_type)] = t[1];
	key->bytes[BYTE(FLOW_gtpu_msg_flags)] = t[0] & 7;
	memcpy(key->bytes + BYTE(FLOW_gtpu_dw_0), t, 4);
	/* Sequence number, N-PDU number and the type of the first extension: there with any flag. */
	if (!(t[0] & 7) || len < 12)
		return;
	memcpy(key->bytes + BYTE(FLOW_gtpu_dw_2), t + 8, 4);
	if (t[0] & 4 && t[11] && len >= 16)
		memcpy(key->bytes + BYTE(FLOW_gtpu_first_ext_dw_0), t + 12, 4);
}

static void fill_tunnel(struct flow_key *key, const struct ether_frame *frame)
{
	const struct ether_parsed *p = &frame->parsed;
	const uint8_t *t = frame->data + p->tunnel_off;
	uint32_t end = p->outer.l3_off + p->outer.l3_len;

	if (p->outer.l4 == ETHER_L4_GRE)
		fill_gre(key, frame->data + p->outer.l4_off, end - p->outer.l4_off);
	switch (p->tunnel) {
	case ETHER_TUNNEL_VXLAN:
		memcpy(key->bytes + BYTE(FLOW_vxlan_vni), t + 4, 3);
		break;
	case ETHER_TUNNEL_VXLAN_GPE:
		memcpy(key->bytes + BYTE(FLOW_vxlan_gpe_vni), t + 4, 3);
		key->bytes[BYTE(FLOW_vxlan_gpe_next_protocol)] = t[3];
		key->bytes[BYTE(FLOW_vxlan_gpe_flags)] = t[0];
		break;
	case ETHER_TUNNEL_GENEVE:
		memcpy(key->bytes + BYTE(FLOW_geneve_vni), t + 4, 3);
		key->bytes[BYTE(FLOW_geneve_oam)] |= t[1] >> 7;
		key->bytes[BYTE(FLOW_geneve_opt_len)] = t[0] & 0x3f;
		memcpy(key->bytes + BYTE(FLOW_geneve_protocol_type), t + 2, 2);
		fill_geneve_option(key, t, end - p->tunnel_off, frame->geneve_option);
		break;
	case ETHER_TUNNEL_MPLS:
		memcpy(key->bytes + BYTE(p->outer.l4 == ETHER_L4_GRE ? FLOW_mpls_over_gre
								     : FLOW_mpls_over_udp),
		       t, 4);
		return;
	case ETHER_TUNNEL_GTPU:
		fill_gtpu(key, t, end - p->tunnel_off);
		break;
	default:
		return;
	}
	memcpy(key->bytes + BYTE(FLOW_tunnel_header_0), t, 8);
}

/* A packet without IP, or without TCP and UDP, has none of the bits of that layer. */
static void fill_checks(struct flow_key *key, const struct ether_frame *frame)
{
	for (unsigned int inner = 0; inner < 2; inner++) {
		const struct ether_headers *h = inner ? &frame->parsed.inner : &frame->parsed.outer;
		uint8_t check = ether_check_headers(frame->data, h);
		uint8_t bits = 0;

		if (check & ETHER_CHECK_L3_OK)
			bits |= h->l3 == ETHER_L3_IPV4 ? 0xa : 0x8;
		if (check & ETHER_CHECK_L4_OK)
			bits |= 0x5;
		key->bytes[(inner ? FLOW_KEY_INNER : FLOW_KEY_OUTER) + 26] |= bits;
	}
}

void flow_key_fill_parts(struct flow_key *key, struct ether_frame *frame, unsigned int parts)
{
	const struct ether_parsed *p = ether_frame_parse(frame);
	uint8_t *b = key->bytes;

	for (unsigned int i = 0; i < FLOW_KEY_PARTS; i++)
		if (i == FLOW_KEY_MISC2 / FLOW_KEY_PART)
			memset(b + FLOW_KEY_MISC2, 0, BYTE(FLOW_reg_c_7) - FLOW_KEY_MISC2);
		else if (parts >> i & 1)
			memset(b + i * FLOW_KEY_PART, 0, FLOW_KEY_PART);
	/* Other parts get what this writes to them, too; that is never read. */
	fill_layer(key, frame->data, &p->outer, false);
	if (likely(parts == 1))
		return;
	if (unlikely(frame->is_bth) && frame->len >= BTH)
		fill_bth(key, frame->data);
	if (unlikely(parts & FLOW_KEY_CHECKS))
		fill_checks(key, frame);
	put16(b + BYTE(FLOW_source_port), frame->src_vport);
	b[BYTE(FLOW_source_sqn)] = frame->src_qpn >> 16;
	b[BYTE(FLOW_source_sqn) + 1] = frame->src_qpn >> 8;
	b[BYTE(FLOW_source_sqn) + 2] = frame->src_qpn;
	if (p->tunnel || p->outer.l4 == ETHER_L4_GRE)
		fill_tunnel(key, frame);
	if (p->tunnel)
		fill_layer(key, frame->data, &p->inner, true);
}

void flow_key_fill(struct flow_key *key, struct ether_frame *frame)
{
	flow_key_fill_parts(key, frame, FLOW_KEY_ALL | FLOW_KEY_CHECKS);
}

unsigned int flow_key_parts(const struct flow_key *mask)
{
	unsigned int parts = 0;

	for (unsigned int i = 0; i < FLOW_KEY_WORDS; i++)
		if (mask->words[i])
			parts |= 1u << i / (FLOW_KEY_PART / 8);
	if ((mask->bytes[FLOW_KEY_OUTER + 26] | mask->bytes[FLOW_KEY_INNER + 26]) & 0xf)
		parts |= FLOW_KEY_CHECKS;
	return parts;
}

/* ---- about keys ---- */

/* The bits of a field in its big-endian 64-bit word; no field crosses words. */
#define WORD_BITS(byte, bit, width)                                                                \
	(UINT64_MAX >> (64 - (width)) << (64 - (byte) % 8 * 8 - (bit) - (width)))

static const struct {
	const char *name;
	uint32_t place;
	uint16_t word;
	uint64_t bits;
} fields[] = {
#define FIELD(name, place, byte, bit, width)                                                       \
	{ name, place, (byte) / 8, WORD_BITS(byte, bit, width) },
#define FLOW_LAYER(name, byte, bit, width)                                                         \
	FIELD("outer." #name, FLOW_OUTER_##name, FLOW_KEY_OUTER + (byte), bit, width)              \
	FIELD("inner." #name, FLOW_INNER_##name, FLOW_KEY_INNER + (byte), bit, width)
#define FLOW_FIELD(name, byte, bit, width) FIELD(#name, FLOW_##name, byte, bit, width)
#include "ether/flow_fields.def"
#undef FLOW_LAYER
#undef FLOW_FIELD
#undef FIELD
};

const char *flow_key_unknown(const struct flow_key *mask)
{
	static const char *const parts[FLOW_KEY_PARTS] = {
		"outer headers", "misc", "inner headers", "misc 2", "misc 3", "misc 4", "misc 5"
	};
	struct flow_key rest = *mask;

	for (size_t i = 0; i < array_size(fields); i++)
		rest.words[fields[i].word] &= ~htobe64(fields[i].bits);
	for (unsigned int i = 0; i < FLOW_KEY_WORDS; i++)
		if (rest.words[i])
			return parts[i / 8];
	return NULL;
}

size_t flow_key_print(const struct flow_key *key, const struct flow_key *mask, char *out,
		      size_t size)
{
	size_t len = 0;

	if (size)
		*out = '\0';
	for (size_t i = 0; i < array_size(fields); i++) {
		uint64_t m = flow_key_get(mask, fields[i].place);
		unsigned int width = fields[i].place & 0xff;
		bool whole = m == (width == 64 ? UINT64_MAX : (1ull << width) - 1);
		int n;

		if (!m)
			continue;
		n = snprintf(len < size ? out + len : NULL, len < size ? size - len : 0,
			     whole ? "%s%s=%#llx" : "%s%s=%#llx/%#llx", len ? " " : "",
			     fields[i].name, (unsigned long long)flow_key_get(key, fields[i].place),
			     (unsigned long long)m);
		len += n > 0 ? n : 0;
	}
	return len;
}
