/* SPDX-License-Identifier: BSD-2-Clause */
/* Two endpoints, a batch of the first, and a list of packets that arrived. */
#ifndef TESTS_ROCE_PAIR_H
#define TESTS_ROCE_PAIR_H

#include "cmocka_all.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "roce/endpoint.h"
#include "roce/tx_socket.h"
#include "roce/rx.h"
#include "roce/tx.h"
#include "samples.h"

struct arrival {
	struct roce_pkt pkt;
	struct roce_meta meta; /* raw does not count */
	uint16_t pkey;
	uint32_t len;
	uint8_t grh[40];
	uint8_t data[ROCE_MAX_PAYLOAD];
};

struct inbox {
	size_t count, room;
	struct arrival *at;
};

static inline void inbox_put(void *arg, struct roce_pkt *pkt, const struct roce_payload *payload,
			     const struct roce_meta *meta)
{
	struct inbox *in = arg;
	struct arrival *a;

	if (in->count == in->room) {
		in->room = in->room ? in->room * 2 : 16;
		in->at = realloc(in->at, in->room * sizeof(*in->at));
		assert_non_null(in->at);
	}
	a = &in->at[in->count++];
	a->pkt = *pkt;
	a->meta = *meta;
	a->pkey = payload->pkey;
	a->len = payload->len;
	assert_int_equal(pkt->len, payload->len);
	memcpy(a->data, payload->data, payload->len);
	roce_meta_grh(meta, a->grh);
}

static inline void inbox_clear(struct inbox *in)
{
	in->count = 0;
}

static inline void inbox_fini(struct inbox *in)
{
	free(in->at);
	memset(in, 0, sizeof(*in));
}

struct pair {
	struct roce_endpoint *a, *b;
	struct roce_tx *tx; /* from a */
	struct roce_rx *rx;
	struct roce_path path; /* a to b */
	struct inbox in;
};

static inline struct roce_addr addr(const char *text)
{
	struct roce_addr a;

	assert_int_equal(roce_addr_parse(text, &a), 0);
	return a;
}

static inline void pair_path(struct pair *p, uint8_t tclass, uint8_t ttl)
{
	struct roce_dest dest = {
		.addr = *roce_endpoint_addr(p->b),
		.tclass = tclass,
		.ttl = ttl,
	};

	dest.addr.ifindex = 0;
	assert_int_equal(roce_path_init(&p->path, p->a, &dest), 0);
}

static inline void pair_open(struct pair *p, const char *a, const char *b,
			     const struct roce_endpoint_opts *opts)
{
	struct roce_addr from = addr(a), to = addr(b);

	memset(p, 0, sizeof(*p));
	assert_int_equal(roce_endpoint_open(&from, opts, &p->a), 0);
	assert_int_equal(roce_endpoint_open(&to, opts, &p->b), 0);
	assert_int_equal(roce_tx_create(p->a, &p->tx), 0);
	assert_int_equal(roce_rx_create(&p->rx), 0);
	pair_path(p, 0, 0);
}

/* As pair_open(); b also reports TTLs. */
static inline void pair_init(struct pair *p, const char *a, const char *b,
			     const struct roce_endpoint_opts *opts)
{
	pair_open(p, a, b, opts);
	roce_endpoint_enable_ttl(p->b);
}

static inline void pair_fini(struct pair *p)
{
	inbox_fini(&p->in);
	roce_rx_destroy(p->rx);
	roce_tx_destroy(p->tx);
	roce_endpoint_close(p->a);
	roce_endpoint_close(p->b);
}

static uint8_t pattern_bytes[ROCE_MAX_PAYLOAD + 256];

__attribute__((constructor)) static void pattern_fill(void)
{
	for (size_t i = 0; i < sizeof(pattern_bytes); i++)
		pattern_bytes[i] = i * 31 + (i >> 8);
}

static inline const uint8_t *pattern(void)
{
	return pattern_bytes;
}

/* Adds a packet whose payload is pattern() from `seed` on, in three pieces. */
static inline int pair_add(struct pair *p, const struct roce_pkt *pkt, uint8_t seed)
{
	uint8_t *from = (uint8_t *)pattern() + seed;
	uint32_t third = pkt->len / 3;
	struct iovec pieces[3] = {
		{ from, third },
		{ from + third, third },
		{ from + 2 * third, pkt->len - 2 * third },
	};

	return roce_tx_add(p->tx, &p->path, pkt, pieces, pkt->len ? 3 : 0);
}

/* Until `want` packets are there, or nothing comes for a while. */
static inline void pair_receive_at(struct pair *p, struct roce_endpoint *ep, size_t want)
{
	struct pollfd fds[2] = {
		{ .fd = roce_endpoint_fd(ep), .events = POLLIN },
		{ .fd = roce_endpoint_group_fd(ep), .events = POLLIN },
	};

	while (p->in.count < want) {
		if (poll(fds, 2, 30000) <= 0)
			fail_msg("%zu of %zu packets arrived", p->in.count, want);
		assert_true(roce_rx_poll(p->rx, ep, 64, inbox_put, &p->in) >= 0);
	}
}

static inline void pair_receive(struct pair *p, size_t want)
{
	pair_receive_at(p, p->b, want);
}

/* Receives all packets: on one host a packet is in the socket when the send returns. */
static inline void pair_drain(struct pair *p)
{
	while (roce_rx_poll(p->rx, p->b, 64, inbox_put, &p->in) > 0)
		;
}

#endif
