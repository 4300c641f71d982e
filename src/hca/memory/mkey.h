/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirect keys: a key that stands for pieces of other keys' memory, one behind the other (a list)
 * or taken in turns with gaps (interleaved). A request builds them (HCA_OP_UMR); mem.c looks through
 * them while it copies. Peers never do: their accesses go to the owner's responder.
 */
#ifndef HCA_MKEY_H
#define HCA_MKEY_H

#include "hca/memory/mem.h"
#include "hca/memory/pd.h"

struct hca_layout;

struct hca_mkey {
	struct hca_pd *pd;
	uint32_t index;
	uint32_t key;
	uint16_t max_entries;
	bool remote_invalidate;
	/* what the last request said; under the file's lock, but for readers inside an epoch section */
	uint32_t access;
	uint64_t iova, length;
	_Atomic(struct hca_layout *) layout;
};

/* Of no use until a request has built it. */
VB_API int hca_mkey_create(struct hca_pd *pd, uint16_t max_entries, bool remote_invalidate,
			   struct hca_mkey **out);
VB_API void hca_mkey_destroy(struct hca_mkey *mkey);
/* Builds it at once, as a list, with this low byte of its key. -EINVAL for too many elements. */
VB_API int hca_mkey_build(struct hca_mkey *mkey, const struct hca_umr *what,
			  const struct hca_sge *list, uint32_t count);

/* ---- inside the adapter, in a guard ---- */

/* Carries out a request of a queue pair of this protection domain. -EINVAL when it cannot be. */
int hca_mkey_update(const struct hca_send *s, uint32_t pdn);
/* Takes the key out of use; `remote` by a peer's wish. -EINVAL when it is no such key. */
int hca_mkey_invalidate(uint32_t key, uint32_t pdn, bool remote);

/* Whether all of a valid entry's range is backed by memory that may be accessed like this. */
bool hca_mkey_check(const struct hca_mr_entry *e, uint64_t offset, uint64_t len, uint32_t access);
/* For lists: the range as a piece that is looked through when it is copied. */
void hca_mkey_seg(const struct hca_mr_entry *e, uint64_t offset, uint64_t len, struct hca_seg *out);
/* What lies at `offset` of such a piece, up to the end of its own piece. */
bool hca_mkey_at(const struct hca_seg *seg, uint64_t offset, struct hca_seg *out);

#endif
