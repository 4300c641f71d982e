/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/mutation.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hca/transport/qp_types.h"
#include "roce/packet.h"

#include "sim/sim.h"

enum mutation {
	NONE,
	ATOMIC_TWICE,    /* a FETCH_ADD that arrives is carried out once more */
	WRITE_REPLAYED,  /* an old write is carried out again, behind later ones */
	WRITE_BEYOND,    /* a write changes a byte more than it says */
	WRITE_UNCHECKED, /* a write is carried out although its key is wrong */
	BIT_FLIPPED,     /* a bit of a payload changes, and the ICRC is right */
	CQE_LOST,
	CQE_TWICE,
	CQE_SWAPPED,    /* two completions change places */
	CQE_STATUS,     /* a refusal is reported as a timeout */
	CQE_UNSIGNALED, /* an error is reported as success */
};

static const char *const names[] = {
	[ATOMIC_TWICE] = "atomic-twice", [WRITE_REPLAYED] = "write-replayed",
	[WRITE_BEYOND] = "write-beyond", [WRITE_UNCHECKED] = "write-unchecked",
	[BIT_FLIPPED] = "bit-flipped",   [CQE_LOST] = "cqe-lost",
	[CQE_TWICE] = "cqe-twice",       [CQE_SWAPPED] = "cqe-swapped",
	[CQE_STATUS] = "cqe-status",     [CQE_UNSIGNALED] = "error-hidden",
};

static struct {
	enum mutation kind;
	uint64_t seen;
	uint8_t *to; /* of the write that is replayed */
	uint32_t len;
	uint8_t bytes[4096];
} state;

bool mutation_choose(const char *name)
{
	for (unsigned int i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name)) {
			state.kind = i;
			return true;
		}
	return false;
}

void mutation_reset(void)
{
	state.to = NULL;
}

void mutation_list(void)
{
	for (unsigned int i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		puts(names[i]);
}

void mutation_packet(const struct roce_pkt *pkt, unsigned char *payload)
{
	if (state.kind == BIT_FLIPPED && pkt->len && ++state.seen % 50 == 0)
		payload[pkt->len / 2] ^= 4;
}

/* The bytes of a host that an address of a packet names, or NULL. */
static uint8_t *find_bytes(const struct qp *qp, uint64_t va, uint32_t len)
{
	const struct host *host = (const struct host *)qp->pub.ctx;
	uint64_t from = (uintptr_t)host->mem;

	if (va < from || va + len + 1 > from + host->bytes)
		return NULL;
	return host->mem + (va - from);
}

static bool is_op(const struct roce_pkt *pkt, uint8_t op)
{
	return (pkt->op & ROCE_PKT_OPCODE_MASK) == op;
}

static void replay(uint8_t *to, const struct roce_pkt *pkt, const void *payload)
{
	state.seen++;
	if (state.seen % 40 == 1) {
		state.to = to;
		state.len = pkt->len;
		memcpy(state.bytes, payload, pkt->len);
	} else if (state.seen % 40 == 39 && state.to) {
		memcpy(state.to, state.bytes, state.len);
	}
}

void mutation_delivered(const struct qp *qp, const struct roce_pkt *pkt, const void *payload)
{
	uint64_t value;
	uint8_t *to;

	if (state.kind == NONE)
		return;
	if (state.kind == ATOMIC_TWICE && is_op(pkt, ROCE_PKT_FETCH_ADD) && ++state.seen % 5 == 0) {
		to = find_bytes(qp, pkt->atomic.va, 8);
		if (!to)
			return;
		memcpy(&value, to, 8);
		value += pkt->atomic.swap;
		memcpy(to, &value, 8);
	}
	if (!is_op(pkt, ROCE_PKT_WRITE_ONLY) || !pkt->len)
		return;
	to = find_bytes(qp, pkt->rdma.va, pkt->len);
	if (!to)
		return;
	if (state.kind == WRITE_BEYOND && ++state.seen % 20 == 0)
		to[pkt->len] ^= 1;
	if (state.kind == WRITE_UNCHECKED)
		memcpy(to, payload, pkt->len);
	if (state.kind == WRITE_REPLAYED)
		replay(to, pkt, payload);
}

bool mutation_completion(struct cq *cq, struct hca_cqe *cqe)
{
	struct hca_cqe *next = &cq->done[(cq->taken + 1) % cq->size];

	switch (state.kind) {
	case CQE_LOST:
		return ++state.seen % 100;
	case CQE_TWICE:
		if (++state.seen % 100 == 0 && cq->completed - cq->taken > 1)
			memcpy(next, cqe, offsetof(struct hca_cqe, frame));
		return true;
	case CQE_SWAPPED:
		/* of flushed requests of one queue pair */
		if (cq->completed - cq->taken > 1 && cqe->status == HCA_WR_FLUSH_ERR &&
		    next->status == HCA_WR_FLUSH_ERR && next->user_index == cqe->user_index &&
		    next->is_recv == cqe->is_recv) {
			uint16_t counter = next->counter;

			next->counter = cqe->counter;
			cqe->counter = counter;
		}
		return true;
	case CQE_STATUS:
		if (cqe->status == HCA_REM_ACCESS_ERR)
			cqe->status = HCA_REM_OP_ERR;
		return true;
	case CQE_UNSIGNALED:
		if (cqe->status == HCA_REM_ACCESS_ERR || cqe->status == HCA_LOC_PROT_ERR)
			cqe->status = HCA_SUCCESS;
		return true;
	default:
		return true;
	}
}
