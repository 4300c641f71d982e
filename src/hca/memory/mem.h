/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From keys to memory: checks, then lists of pieces that can be copied. Only inside an epoch
 * section: the memory that a list points to may be gone after it.
 */
#ifndef HCA_MEM_H
#define HCA_MEM_H

#include <stdbool.h>

#include "hca/device/work.h"
#include "hca/hca.h"
#include "hca/memory/seg.h"
#include "hca/peers/segment.h"

/* The part of hca_mem_find() for windows of type 2 and indirect keys. */
bool hca_mem_check_special(const struct hca_segment *seg, const struct hca_mr_entry *e,
			   uint32_t qpn, uint64_t addr, uint64_t len, uint32_t access);

/*
 * The entry for an access, or NULL when the key is not valid, of another protection domain, does
 * not reach, or does not permit it. `qpn` is the target queue pair, for windows bound to one.
 */
static inline const struct hca_mr_entry *hca_mem_find(const struct hca_segment *seg, uint32_t key,
						      uint32_t pdn, uint32_t qpn, uint64_t addr,
						      uint64_t len, uint32_t access)
{
	const struct hca_mr_entry *e = &seg->mr[key >> 8];

	/* [MR1] pairs with hca_mr_publish() */
	if (unlikely(!key || atomic_load_explicit(&e->key, memory_order_acquire) != key))
		return NULL;
	if (unlikely(e->pdn != pdn || (e->access & access) != access))
		return NULL;
	if (unlikely(len > e->length || addr < e->iova || addr - e->iova > e->length - len))
		return NULL;
	if (unlikely(hca_entry_flags(e) & (HCA_MR_WINDOW2 | HCA_MR_INDIRECT)) &&
	    !hca_mem_check_special(seg, e, qpn, addr, len, access))
		return NULL;
	return e;
}

/* Copies the entry of another process for an access; false as above. Indirect keys are not looked into. */
static inline bool hca_mem_find_there(const struct hca_segment *seg, uint32_t key, uint32_t pdn,
				      uint32_t qpn, uint64_t addr, uint64_t len, uint32_t access,
				      struct hca_mr_entry *out)
{
	return likely(hca_entry_snapshot(&seg->mr[key >> 8], key, out)) &&
	       likely(out->pdn == pdn && (out->access & access) == access) &&
	       likely(hca_entry_reaches(out, addr, len)) &&
	       (likely(!(out->flags & HCA_MR_WINDOW2)) || out->qpn == qpn);
}

/* The part of hca_mem_find_here() for keys of other processes: the entry may change at any time. */
const struct hca_mr_entry *hca_mem_find_shared(uint32_t key, uint32_t pdn, uint32_t qpn,
					       uint64_t addr, uint64_t len, uint32_t access);

/*
 * The entry for an access by a queue pair of this process: its own, or, when the protection domain
 * is shared, that of the process that owns the key.
 */
static inline const struct hca_mr_entry *hca_mem_find_here(uint32_t key, uint32_t pdn, uint32_t qpn,
							   uint64_t addr, uint64_t len,
							   uint32_t access)
{
	const struct hca_mr_entry *e =
		hca_mem_find(hca.peers.segment, key, pdn, qpn, addr, len, access);

	return likely(e) ? e : hca_mem_find_shared(key, pdn, qpn, addr, len, access);
}

/* The entry for an access to the whole range of the key. */
const struct hca_mr_entry *hca_mem_find_whole(uint32_t key, uint32_t pdn, uint32_t qpn,
					      uint32_t access);

/* An element that is inline data, or lies in a plain region of ours. False: neither, or empty. */
static inline bool hca_mem_resolve_plain(const struct hca_sge *sge, uint32_t pdn, uint32_t access,
					 struct hca_seg *out)
{
	uint64_t addr = sge->addr;

	if (sge->key != HCA_KEY_INLINE) {
		const struct hca_mr_entry *e =
			hca_mem_find(hca.peers.segment, sge->key, pdn, 0, addr, sge->len, access);

		if (unlikely(!e || hca_entry_flags(e) & HCA_MR_ODD))
			return false;
		addr = e->va + (addr - e->iova);
	}
	out->ptr = (char *)(uintptr_t)addr;
	out->len = sge->len;
	out->kind = HCA_SEG_PLAIN;
	return likely(sge->len);
}

/* The part of hca_mem_resolve() for several elements, and such as are not plain. */
bool hca_mem_resolve_all(const struct hca_sge *sge, int count, uint32_t pdn, uint32_t access,
			 struct hca_list *out);

/*
 * Elements in memory of this process, or of one that shares the domain. False when one of them does
 * not permit `access`.
 */
static inline bool hca_mem_resolve(const struct hca_sge *sge, int count, uint32_t pdn,
				   uint32_t access, struct hca_list *out)
{
	if (unlikely(count != 1 || !hca_mem_resolve_plain(sge, pdn, access, &out->seg[0])))
		return hca_mem_resolve_all(sge, count, pdn, access, out);
	out->count = 1;
	out->total = sge->len;
	return true;
}

/* The part of hca_mem_resolve_first() for several elements, and such as reach beyond their region. */
bool hca_mem_resolve_cut(const struct hca_sge *sge, int count, uint32_t pdn, uint32_t access,
			 uint64_t len, struct hca_list *out);

/*
 * The first `len` bytes of the elements: an adapter translates what it touches, and elements, or parts of
 * them, that the data do not reach are not checked. The list is shorter if the elements are.
 */
static inline bool hca_mem_resolve_first(const struct hca_sge *sge, int count, uint32_t pdn,
					 uint32_t access, uint64_t len, struct hca_list *out)
{
	if (unlikely(count != 1 || !hca_mem_resolve_plain(sge, pdn, access, &out->seg[0])))
		return hca_mem_resolve_cut(sge, count, pdn, access, len, out);
	out->count = 1;
	out->total = sge->len;
	return true;
}

/* [addr, addr + len) of a valid entry. */
void hca_mem_seg(const struct hca_mr_entry *e, uint64_t addr, uint64_t len, struct hca_seg *out);
/* A list of one piece of an entry. */
void hca_mem_piece(const struct hca_mr_entry *e, uint64_t addr, uint64_t len, struct hca_list *out);

/*
 * Copies `len` bytes from one list at an offset to another at an offset, in ascending order, the
 * last byte last. False when a careful or remote piece turned out to be missing.
 */
bool hca_mem_copy(const struct hca_list *to, uint64_t to_off, const struct hca_list *from,
		  uint64_t from_off, uint64_t len);

/* To a list from plain memory, and from a list to plain memory. */
bool hca_mem_copy_in(const struct hca_list *to, uint64_t off, const void *from, uint64_t len);
bool hca_mem_copy_out(const struct hca_list *from, uint64_t off, void *to, uint64_t len);

/* Fills [addr, addr + len) of a valid entry from the beginning of a list. */
bool hca_mem_write(const struct hca_mr_entry *e, uint64_t addr, const struct hca_list *from,
		   uint64_t len);

enum hca_mem_result {
	HCA_MEM_DONE,
	HCA_MEM_BAD,   /* an element may not be written */
	HCA_MEM_SHORT, /* together they are too short; nothing was written */
	HCA_MEM_GONE,  /* hca_mem_copy() failed */
};

/* Fills elements of this process's memory from `off` on with the first bytes of a list. */
enum hca_mem_result hca_mem_scatter(const struct hca_sge *sge, int count, uint32_t pdn,
				    uint64_t off, const struct hca_list *from, uint64_t len);

/*
 * The 4 or 8 bytes at an address of an entry as a piece for an atomic operation; false: there is
 * none.
 */
bool hca_mem_target(const struct hca_mr_entry *e, uint64_t addr, uint32_t size,
		    struct hca_seg *out);
/* False when it turned out to be missing, and then nothing was done. */
bool hca_mem_atomic(const struct hca_seg *seg, const struct hca_atomic *a, uint64_t *old);
/* Writes the 8 bytes of a target as one; false as above. */
bool hca_mem_store(const struct hca_seg *seg, uint64_t value);

#endif
