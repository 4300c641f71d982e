/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An end whose rings the test writes and reads itself. Nothing here calls the library but open();
 * one implementation for each driver, chosen by the adapter that the run is about.
 */
#ifndef TESTS_DIRECT_RAW_H
#define TESTS_DIRECT_RAW_H

#include "rig.h"

#include <endian.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/mlx5dv.h>

struct raw_cq {
	struct mlx4dv_cq m4;
	struct mlx5dv_cq m5;
	uint32_t ci; /* free running */
	uint32_t arm_sn;
};

struct raw {
	const struct raw_ops *ops;
	struct end *e;
	struct mlx4dv_qp m4;
	struct mlx5dv_qp m5;
	struct raw_cq send, recv;
	uint32_t post;   /* next slot of the send queue, free running */
	uint32_t posted; /* receives */
};

enum raw_op { RAW_SEND, RAW_WRITE, RAW_READ, RAW_ADD, RAW_SWAP, RAW_NONSENSE };

struct raw_work {
	enum raw_op op;
	bool inlined;
	size_t off;
	uint32_t len;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare; /* atomics */
};

static inline bool raw_is_atomic(enum raw_op op)
{
	return op == RAW_ADD || op == RAW_SWAP;
}

struct raw_cqe {
	bool error;
	uint8_t syndrome, vendor; /* of an error */
	uint16_t counter;
	uint32_t qpn;
	uint32_t bytes;
};

struct raw_ops {
	void (*open)(struct raw *r);
	/* Writes an entry that asks for a completion, and hands it over. */
	void (*post)(struct raw *r, const struct raw_work *w);
	void (*post_recv)(struct raw *r, size_t off, uint32_t len);
	bool (*ready)(const struct raw_cq *cq);
	/* Counts the entry as consumed. */
	struct raw_cqe (*take)(struct raw_cq *cq);
	void (*arm)(struct raw_cq *cq, bool solicited);
};

extern const struct raw_ops raw_mlx4, raw_mlx5;

static inline struct raw raw_open(struct end *e)
{
	struct raw r = { .ops = rig_is_mlx5() ? &raw_mlx5 : &raw_mlx4, .e = e };

	r.ops->open(&r);
	return r;
}

/* The next completion, waited for without a call. */
static inline struct raw_cqe raw_wait(const struct raw *r, struct raw_cq *cq)
{
	wait_for(r->ops->ready(cq));
	return r->ops->take(cq);
}

#endif
