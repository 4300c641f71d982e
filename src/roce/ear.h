/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint's ear: a second socket at its address, connected to the one peer that most is heard of. The
 * kernel knows at once what is for it, and keeps the way that its packets came: that is a ninth of what a
 * short packet costs. All else comes to the endpoint's own socket, which is looked at less often the longer
 * nothing was there.
 *
 * The ear is turned to a peer when a row of datagrams was all of its flow, and away when there are others,
 * or other processes at the address: their packets would come to it, too. What was sent before a turn is
 * read before what was sent after it, except what the kernel was about to put into the other socket. Where it
 * turns up in an ear that is away, `heard` has it read.
 *
 * Of ep->taker, one thread at a time; `alone` and `heard` are anybody's.
 */
#ifndef ROCE_EAR_H
#define ROCE_EAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "roce/addr.h"
#include "util/api.h"

struct roce_endpoint;

enum roce_ear_state {
	ROCE_EAR_AWAY,
	ROCE_EAR_TURNING, /* to a peer, some of whose packets lie in the endpoint's own socket */
	ROCE_EAR_ON,
	ROCE_EAR_LEAVING, /* some lie in it still */
};

struct roce_ear {
	int fd; /* or -1 */
	uint8_t state;
	uint8_t looks, every; /* since the own socket was looked at, and how many are to be */
	uint8_t quiet;        /* looks in a row that found nothing there */
	uint8_t others;       /* datagrams there since the peer was last heard alone */
	uint32_t steady;      /* datagrams of one flow in a row */
	uint32_t enough;      /* of them for a turn */
	uint32_t left;        /* in the own socket, to be read before the turn is over; bytes */
	atomic_bool heard;    /* something may lie in it */
	atomic_bool alone;    /* no other process has the address */
};

/* Before the endpoint's own socket is opened, and after; see there. */
void roce_ear_open(struct roce_endpoint *ep);
void roce_ear_settle(struct roce_endpoint *ep);
void roce_ear_close(struct roce_endpoint *ep);

/* Which socket it is this time, when that is not plain. */
int roce_ear_choose(struct roce_endpoint *ep);
/* What a look at that socket has found, unless it was the ear's turn as usual. */
void roce_ear_found(struct roce_endpoint *ep, int n, uint32_t bytes);
/* So many datagrams of one flow, the last by this socket. */
void roce_ear_steady(struct roce_endpoint *ep, int fd, const union roce_sockaddr *from);

#endif
