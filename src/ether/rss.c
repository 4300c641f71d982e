/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields that receive-side scaling hashes. Ports of fragments are not hashed, not even those of the
 * first one, so that all fragments of a packet go to the same queue.
 */
#include "ether/rss.h"

#include <string.h>

struct input {
	uint8_t *at;
	size_t len;
	uint32_t used;
};

static void put(struct input *in, bool wanted, uint32_t field, const uint8_t *from, size_t len)
{
	if (!wanted)
		return;
	memcpy(in->at + in->len, from, len);
	in->len += len;
	in->used |= field;
}

size_t ether_rss_input(const uint8_t *data, const struct ether_parsed *parsed, uint32_t fields,
		       uint8_t input[ETHER_RSS_INPUT], uint32_t *used)
{
	const struct ether_headers *h = fields & ETHER_RSS_INNER ? &parsed->inner : &parsed->outer;
	const uint8_t *l3 = data + h->l3_off, *l4 = data + h->l4_off;
	struct input in = { .at = input };

	if (h->l3 == ETHER_L3_IPV4) {
		put(&in, fields & ETHER_RSS_SRC_IPV4, ETHER_RSS_SRC_IPV4, l3 + 12, 4);
		put(&in, fields & ETHER_RSS_DST_IPV4, ETHER_RSS_DST_IPV4, l3 + 16, 4);
	} else if (h->l3 == ETHER_L3_IPV6) {
		put(&in, fields & ETHER_RSS_SRC_IPV6, ETHER_RSS_SRC_IPV6, l3 + 8, 16);
		put(&in, fields & ETHER_RSS_DST_IPV6, ETHER_RSS_DST_IPV6, l3 + 24, 16);
	}
	if (!h->fragment && h->l4 == ETHER_L4_TCP) {
		put(&in, fields & ETHER_RSS_SRC_PORT_TCP, ETHER_RSS_SRC_PORT_TCP, l4, 2);
		put(&in, fields & ETHER_RSS_DST_PORT_TCP, ETHER_RSS_DST_PORT_TCP, l4 + 2, 2);
	} else if (!h->fragment && h->l4 == ETHER_L4_UDP) {
		put(&in, fields & ETHER_RSS_SRC_PORT_UDP, ETHER_RSS_SRC_PORT_UDP, l4, 2);
		put(&in, fields & ETHER_RSS_DST_PORT_UDP, ETHER_RSS_DST_PORT_UDP, l4 + 2, 2);
	} else if (!h->fragment && h->l4 == ETHER_L4_ESP) {
		put(&in, fields & ETHER_RSS_IPSEC_SPI, ETHER_RSS_IPSEC_SPI, l4, 4);
	}
	if (in.used)
		in.used |= fields & ETHER_RSS_INNER;
	*used = in.used;
	return in.len;
}
