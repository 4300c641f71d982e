/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that processes share: the owner opens a device and passes its command descriptor and handles
 * on; a guest imports them.
 */
#ifndef TRAFFIC_ESTATE_H
#define TRAFFIC_ESTATE_H

#include "rig.h"

#define ESTATE_BYTES (256u << 10)

/* What the owner says of its objects. */
struct offer {
	uint32_t pd, mr, dm;
	uint32_t key;
	uint64_t va;
};

/* The owner's side. */
struct estate {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *buf;
};

struct estate estate_open(void);
void estate_offer(const struct estate *s, int fd);
void estate_close(struct estate *s);

/* The guest's side: a pair of queue pairs of its own in the owner's domain. */
struct guest {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct offer o;
	struct end *a, *b;
};

void guest_import(struct guest *g, int fd);
void guest_connect(struct guest *g);
void guest_leave(struct guest *g);

/* One-sided work on the owner's memory at this offset. */
void guest_work(struct guest *g, enum ibv_wr_opcode op, uint32_t len, size_t at);
/* Posts a request, or a receive, whose own memory is the owner's. */
void guest_post_theirs(struct guest *g, enum ibv_wr_opcode op, uint32_t len, size_t at);
void guest_post_recv_theirs(struct guest *g, uint32_t len, size_t at);

#endif
