/* SPDX-License-Identifier: BSD-2-Clause */
/* A memory region. Types only. */
#ifndef HCA_MR_TYPES_H
#define HCA_MR_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabric/id.h"

struct hca_ctx;
struct hca_pd;

struct hca_mr {
	struct hca_ctx *ctx;
	struct hca_pd *pd; /* NULL: without memory, and then it may outlive its domain */
	uint32_t index;
	uint32_t key; /* lkey and rkey alike */
	uint32_t access;
	void *addr;
	uint64_t length;
	uint64_t iova;
	bool shared; /* holds a claim of mr_share.h, of this generation: */
	uint32_t share_generation;
	/* mr_defer.c: not shared yet; when it will be, and how many bytes have moved until now */
	bool deferred;
	uint64_t share_at_ns, moved;
	TAILQ_ENTRY(hca_mr) defer_link;
	uint64_t created_ns;
	bool null;           /* has no memory */
	atomic_uint windows; /* bound to it */
	void *buffer;        /* for adapter-owned memory: no share reference of its own */
	unsigned int refs;   /* handles */
	bool gone;           /* destroyed, through one of them */
	fabric_id_t owner;   /* the process that a foreign region belongs to, else 0 */
	/* of the library: the kind of region, and a function to call once it is destroyed */
	int kind;
	void (*on_gone)(void *arg);
	void *on_gone_arg;
};

#endif
