/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirect keys: a key for pieces of other keys' memory, one after the other (a list) or repeated
 * in rounds with a stride (interleaved). A request builds them (HCA_OP_UMR); mem.c resolves them
 * while it copies. Peers never do: their accesses go to the owner's responder. A key may have
 * transforms (transform.h): then its length and offsets are those of the wire.
 */
#ifndef HCA_MKEY_H
#define HCA_MKEY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/device/work.h"
#include "hca/memory/pd.h"
#include "hca/memory/seg.h"

struct hca_dek;
struct hca_layout;
struct transform_chain;

struct hca_mkey {
	struct hca_pd *pd;
	uint32_t index;
	uint32_t key;
	uint16_t max_entries;
	bool remote_invalidate;
	bool may_transform; /* set by the driver that created it: there is room for a configuration */
	bool encrypts;      /* set by the driver, too: no access before `crypto` is configured */
	/* of the last request; guarded by hca.memory.mkey.lock */
	uint32_t access;
	uint64_t iova, length; /* length: in memory */
	bool transforms;       /* `sig` is in use, if there is one */
	bool has_sig;
	struct hca_sig_conf sig;
	struct hca_crypto_conf crypto;
	struct hca_dek *dek; /* of `crypto`, with a reference; NULL: not configured */
	_Atomic(struct hca_layout *) layout;
};

/* The key is not valid until a request has built it. */
VB_API int hca_mkey_create(struct hca_pd *pd, uint16_t max_entries, bool remote_invalidate,
			   struct hca_mkey **out);
VB_API void hca_mkey_destroy(struct hca_mkey *mkey);
/* Builds it at once, as a list, with this low byte of its key. -EINVAL for too many elements. */
VB_API int hca_mkey_build(struct hca_mkey *mkey, const struct hca_umr *what,
			  const struct hca_sge *list, uint32_t count);

/* ---- inside an epoch section ---- */

/* Carries out a request of a queue pair of this protection domain. -EINVAL when it cannot be. */
int hca_mkey_update(const struct hca_send *s, uint32_t pdn);
/* Invalidates the key; `remote`: by a request of the peer. -EINVAL when there is no such key. */
int hca_mkey_invalidate(uint32_t key, uint32_t pdn, bool remote);

/* Whether the range of a valid entry, of which no more counts, is memory that permits the access. */
bool hca_mkey_check(const struct hca_mr_entry *e, uint64_t offset, uint64_t len, uint32_t access);
/* The range as one piece of kind HCA_SEG_INDIRECT or HCA_SEG_TRANSFORM. */
void hca_mkey_seg(const struct hca_mr_entry *e, uint64_t offset, uint64_t len, struct hca_seg *out);
/* The transforms of a piece of kind HCA_SEG_TRANSFORM; NULL: the key was rebuilt without. */
struct transform_chain *hca_mkey_chain(const struct hca_seg *seg);
/*
 * The memory at `offset` of a piece of kind HCA_SEG_INDIRECT, up to its end or that of the layout's
 * piece.
 */
bool hca_mkey_at(const struct hca_seg *seg, uint64_t offset, struct hca_seg *out);

#endif
