/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of the segment that a process shows its peers (fabric/segment.h), and of the mailbox that
 * they write (fabric/mailbox.h). Types only. The process's own segment is hca.peers.segment, from the
 * moment it has joined the host's fabric; that of a peer is hca_peer.segment, which its owner may
 * change at any time: hca_entry_snapshot() first, then check, then use.
 */
#ifndef HCA_SEGMENT_H
#define HCA_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ether/port_types.h"
#include "fabric/segment.h"
#include "hca/device/access.h"

/* ---- keys (hca/memory/key.h) ---- */

#define HCA_MR_ENTRIES (1u << 24)

enum hca_mr_flags {
	HCA_MR_SHARED = 1 << 0,  /* peers may map it through the owner's share memfd */
	HCA_MR_NULL = 1 << 1,    /* reads as zeros, discards writes */
	HCA_MR_CAREFUL = 1 << 2, /* pages may be missing: copy through the kernel */
	HCA_MR_WINDOW1 = 1 << 3,
	HCA_MR_WINDOW2 = 1 << 4,  /* bound to one QP: qpn */
	HCA_MR_INDIRECT = 1 << 5, /* pieces of other keys: mkey.h */
	/* not simply memory of the process */
	HCA_MR_ODD =
		HCA_MR_NULL | HCA_MR_CAREFUL | HCA_MR_WINDOW1 | HCA_MR_WINDOW2 | HCA_MR_INDIRECT,
	/* alone, and without a key: no memory, but a row that other processes read (ctx_share.h) */
	HCA_MR_DOMAIN = 1 << 6, /* a protection domain */
	HCA_MR_DEVICE = 1 << 7, /* device memory */
};

struct hca_mr_entry {
	_Atomic uint32_t key; /* 0: not valid. Written last when made, first when unmade */
	uint32_t pdn;
	uint32_t access;
	uint32_t flags;
	uint64_t iova;
	uint64_t length;
	uint64_t va; /* of iova, in the owner */
	uint32_t qpn;
	uint32_t generation;    /* moves whenever the memory behind the entry may have changed */
	uint64_t context;       /* the context that it belongs to: hca_ctx.uid */
	_Atomic uint32_t users; /* rows: number of objects of this process that need it */
	uint32_t reserved;
};

_Static_assert(sizeof(struct hca_mr_entry) == 64, "one line");

/* The service thread may set or clear HCA_MR_SHARED of a valid entry; the other flags stay. */
static inline uint32_t hca_entry_flags(const struct hca_mr_entry *e)
{
	return __atomic_load_n(&e->flags, __ATOMIC_RELAXED);
}

/*
 * Copies an entry of another process, whose owner may write to it meanwhile: no member is read
 * again. False: the key is not (or no longer) the entry's.
 */
static inline bool hca_entry_snapshot(const struct hca_mr_entry *from, uint32_t key,
				      struct hca_mr_entry *to)
{
	/* [MR1] */
	if (!key || atomic_load_explicit(&from->key, memory_order_acquire) != key)
		return false;
	atomic_store_explicit(&to->key, key, memory_order_relaxed);
	to->pdn = __atomic_load_n(&from->pdn, __ATOMIC_RELAXED);
	to->access = __atomic_load_n(&from->access, __ATOMIC_RELAXED);
	to->flags = hca_entry_flags(from);
	to->iova = __atomic_load_n(&from->iova, __ATOMIC_RELAXED);
	to->length = __atomic_load_n(&from->length, __ATOMIC_RELAXED);
	to->va = __atomic_load_n(&from->va, __ATOMIC_RELAXED);
	to->qpn = __atomic_load_n(&from->qpn, __ATOMIC_RELAXED);
	to->context = __atomic_load_n(&from->context, __ATOMIC_RELAXED);
	return true;
}

/* Whether [addr, addr + len) is within the entry. */
static inline bool hca_entry_reaches(const struct hca_mr_entry *e, uint64_t addr, uint64_t len)
{
	return len <= e->length && addr >= e->iova && addr - e->iova <= e->length - len;
}

/* ---- queue pairs ---- */

#define HCA_QP_GRANTS (1u << 24)
#define HCA_GRANT_DCT (1u << 31)
/* The QP has resources for requests with an answer of their own. */
#define HCA_GRANT_ANSWERS (1u << 30)
/* The row of the QP's port in the host directory (fabric_port_row()). */
#define HCA_GRANT_ROW_SHIFT 24
#define HCA_GRANT_ROW_MASK  0x3fu

/*
 * A grant states what peers may do on behalf of a queue pair without asking its owner: its word
 * changes with every change of state. Written by the owner under the QP's lock.
 */
struct hca_qp_grant {
	/* moves with every change; bit 0: requests of peer_qpn are welcome */
	_Atomic uint64_t word;
	uint32_t pdn;
	uint32_t access; /* remote rights of the QP, and HCA_GRANT_ bits */
	union {
		struct {
			uint32_t peer_qpn;
			uint32_t first_psn; /* that the owner expected when it went to RTR */
		};
		uint64_t dc_key; /* DCT: open to any initiator that knows it */
	};
};

/* ---- copies for peers (hca/memory/copy_server.h, copy_client.h) ---- */

#define COPY_SERVER_SLOTS 8u
#define COPY_SERVER_BYTES 65536u

/* States of a slot: the client moves it from IDLE to POSTED and from DONE to IDLE, the server between. */
enum copy_state { COPY_IDLE, COPY_POSTED, COPY_BUSY, COPY_DONE };
enum copy_op { COPY_READ, COPY_WRITE, COPY_CMP_SWAP, COPY_FETCH_ADD };

struct copy_request {
	uint32_t op; /* enum copy_op */
	uint32_t key;
	uint32_t pdn;
	uint32_t len;
	uint64_t addr;
	/* atomics, as struct hca_atomic has them; the old value comes back in `swap` */
	uint64_t compare, swap, compare_mask, swap_mask;
};

/* A slot belongs to the process whose id is in `client`; that of a dead process is free. */
struct copy_slot {
	_Alignas(64) _Atomic uint32_t client; /* fabric_id_t */
	_Atomic uint32_t state;               /* enum copy_state, and a futex */
	int32_t result;
	struct copy_request request;
	_Alignas(4096) uint8_t data[COPY_SERVER_BYTES];
};

/* The mailbox. */
struct copy_area {
	_Alignas(64) _Atomic uint32_t doorbell; /* a futex that moves with every request */
	struct copy_slot slot[COPY_SERVER_SLOTS];
};

/* ---- the whole ---- */

#define HCA_ETHER_SLOTS (ETHER_ADAPTERS * ETHER_PORTS)

struct hca_segment {
	uint8_t fabric[FABRIC_SEGMENT_RESERVED];
	struct ether_rx_filter
		ether[HCA_ETHER_SLOTS]; /* frames that each port asks the switch for */
	/* odd: memory of the process cannot be mapped now (hca/memory/mr_suspend.h) */
	_Alignas(64) _Atomic uint32_t share_generation;
	/* how often a stopped peer was not waited for (hca/memory/mr_share.c) */
	_Atomic uint32_t skips;
	/* not 0: peers must not write through the kernel now (hca/memory/mr_gate.h) */
	_Atomic uint32_t gates;
	/*
	 * not 0: copies of the process by the kernel begin only if the owner of the memory permits
	 * (hca/memory/vm_copy.h)
	 */
	_Atomic uint32_t copies_guarded;
	_Alignas(4096) struct hca_mr_entry mr[HCA_MR_ENTRIES];
	struct hca_qp_grant grant[HCA_QP_GRANTS];
};

#endif
