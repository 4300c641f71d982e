/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whatever comes from the network: a datagram of one or several packets through the receive path.
 *
 * Input: one byte of choices, two bytes of segment length (big-endian), two of IPv4 id, then the
 * datagram. With IPV4 it came over IPv4; with SEAL each packet gets the ICRC that belongs to it,
 * since nothing would ever guess one.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "roce/endpoint.h"
#include "roce/encode.h"
#include "roce/rx.h"

enum {
	IPV4 = 1,
	SEAL = 2,
	PREFIX = 5,
};

struct state {
	const uint8_t *data;
	size_t len;
	uint32_t packets;
};

/* Packets that decode and then encode to something else would mean two things at once. */
static void check_round_trip(const struct roce_pkt *pkt, const struct roce_payload *payload,
			     const struct roce_meta *meta)
{
	uint8_t bytes[ROCE_MAX_PACKET];
	struct roce_payload again;
	struct roce_pkt other, plain = *pkt;
	size_t len;

	if ((pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD)
		plain.ud.roce_kind = 0;
	len = roce_encode(&plain, payload->pkey, bytes);
	CHECK(len == (size_t)(payload->data - meta->raw));
	memcpy(bytes + len, payload->data, payload->len);
	len += payload->len;
	memset(bytes + len, 0, payload->pad + ROCE_ICRC_BYTES);
	len += payload->pad + ROCE_ICRC_BYTES;
	CHECK(len == meta->raw_len);
	CHECK(roce_decode(bytes, len, &other, &again) == ROCE_OK);
	CHECK(!memcmp(&other, &plain, sizeof(plain)));
	CHECK(again.len == payload->len && again.pad == payload->pad &&
	      again.pkey == payload->pkey);
}

static void take(void *arg, struct roce_pkt *pkt, const struct roce_payload *payload,
		 const struct roce_meta *meta)
{
	struct state *s = arg;
	uint8_t grh[40], sum = 0;

	CHECK(meta->raw >= s->data && meta->raw + meta->raw_len <= s->data + s->len);
	CHECK(payload->data >= meta->raw);
	CHECK(payload->data + payload->len + payload->pad + ROCE_ICRC_BYTES ==
	      meta->raw + meta->raw_len);
	CHECK(pkt->len == payload->len && payload->pad == roce_pad(pkt->len));
	CHECK(pkt->dqpn <= 0xffffff && pkt->psn <= PSN_MASK && pkt->sqpn <= 0xffffff);
	for (uint32_t i = 0; i < payload->len; i++)
		sum ^= payload->data[i];
	grh[0] = sum;
	roce_meta_grh(meta, grh);
	check_round_trip(pkt, payload, meta);
	s->packets++;
}

static void seal(const struct roce_icrc_flow *flow, uint8_t *data, size_t len, size_t segment,
		 uint16_t id)
{
	if (!segment || segment > len)
		segment = len;
	while (len) {
		size_t n = len < segment ? len : segment;

		if (n >= ROCE_MIN_PACKET && n <= ROCE_MAX_PACKET && !(n & 3)) {
			uint32_t icrc = htole32(roce_icrc_compute(flow, data, n - 4, id++));

			memcpy(data + n - 4, &icrc, 4);
		}
		data += n;
		len -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t drops[ROCE_DROP_COUNT] = { 0 };
	struct roce_meta meta = { .ttl = 64, .sport = 0xc000 };
	struct roce_icrc_flow flow;
	size_t segment, len;
	uint8_t choice;
	uint8_t *copy;
	struct state s;
	uint16_t id;

	if (size < PREFIX || size > PREFIX + 65536)
		return 0;
	choice = data[0];
	segment = data[1] << 8 | data[2];
	id = data[3] << 8 | data[4];
	len = size - PREFIX;
	/* exactly as long as it is, for the sanitizer's sake */
	copy = malloc(len ? len : 1);
	memcpy(copy, data + PREFIX, len);
	meta.ipv4 = choice & IPV4;
	roce_addr_parse(meta.ipv4 ? "10.0.0.1" : "fd00::1", &meta.src);
	roce_addr_parse(meta.ipv4 ? "10.0.0.2" : "fd00::2", &meta.dst);
	roce_icrc_flow_init(&flow, &meta.src, &meta.dst, meta.sport, ROCE_UDP_PORT);
	if (choice & SEAL)
		seal(&flow, copy, len, segment, id);
	s = (struct state){ .data = copy, .len = len };
	CHECK(roce_rx_datagram(copy, len, segment, &meta, &flow, drops, take, &s) == s.packets);
	if (choice & SEAL)
		CHECK(!drops[ROCE_DROP_ICRC]);
	free(copy);
	return 0;
}
