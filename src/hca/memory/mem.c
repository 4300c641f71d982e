/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mem.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "fabric/epoch.h"
#include "fabric/numbers.h"
#include "fabric/share.h"
#include "hca/hca.h"
#include "hca/memory/atomic.h"
#include "hca/memory/copy_client.h"
#include "hca/memory/key.h"
#include "hca/memory/mkey.h"
#include "hca/memory/transform.h"
#include "hca/memory/vm_copy.h"
#include "hca/peers/peer.h"
#include "hca/peers/peer_map.h"
#include "util/copy.h"

#define MOVE_TRIES 16u

bool hca_mem_check_special(const struct hca_segment *seg, const struct hca_mr_entry *e,
			   uint32_t qpn, uint64_t addr, uint64_t len, uint32_t access)
{
	if (hca_entry_flags(e) & HCA_MR_WINDOW2)
		return e->qpn == qpn;
	/* Only the owner has the layout of an indirect key. */
	return seg != hca.peers.segment || hca_mkey_check(e, addr - e->iova, len, access);
}

/* ---- keys of other processes ---- */

/* The linked peer that owns the key; NULL when this process owns it, or none does. */
static struct hca_peer *owner_of(uint32_t key)
{
	fabric_id_t owner = fabric_key_owner(key >> 8);
	struct hca_peer *peer = owner ? hca_peer_at(fabric_id_slot(owner)) : NULL;

	if (!peer || peer->id != owner || peer->is_self || !hca_peer_is_up(peer) ||
	    !hca_peer_may_access(peer))
		return NULL;
	return peer;
}

const struct hca_mr_entry *hca_mem_find_shared(uint32_t key, uint32_t pdn, uint32_t qpn,
					       uint64_t addr, uint64_t len, uint32_t access)
{
	struct hca_peer *peer = owner_of(key);
	struct hca_mr_entry e;

	epoch_visit();
	if (!peer || pdn >= HCA_MR_ENTRIES ||
	    !hca_mem_find_there(peer->segment, key, pdn, qpn, addr, len, access, &e))
		return NULL;
	/* Numbers of domains are used again; identities of contexts are not. */
	if (e.context != hca_key_entry(pdn)->context || e.flags & HCA_MR_INDIRECT)
		return NULL;
	return &peer->segment->mr[key >> 8];
}

const struct hca_mr_entry *hca_mem_find_whole(uint32_t key, uint32_t pdn, uint32_t qpn,
					      uint32_t access)
{
	const struct hca_peer *owner = owner_of(key);
	const struct hca_segment *seg = owner ? owner->segment : hca.peers.segment;
	const struct hca_mr_entry *e = &seg->mr[key >> 8];

	return hca_mem_find_here(key, pdn, qpn, e->iova, e->length, access);
}

static bool is_here(const struct hca_mr_entry *e)
{
	const struct hca_mr_entry *first = hca.peers.segment->mr;

	return e >= first && e < first + HCA_MR_ENTRIES;
}

/*
 * The entry may have changed since it was found, or its owner may write nonsense: the copy is checked
 * again. A piece of an entry that is not valid any more fails when it is copied.
 */
static void seg_there(const struct hca_mr_entry *entry, uint64_t addr, uint64_t len, bool atomic,
		      struct hca_seg *out)
{
	uint32_t key = atomic_load_explicit(&entry->key, memory_order_acquire);
	struct hca_peer *peer = key ? owner_of(key) : NULL;
	struct hca_mr_entry e;
	char *base;

	*out = (struct hca_seg){ .len = len, .kind = HCA_SEG_REMOTE };
	epoch_visit();
	if (!peer || entry != &peer->segment->mr[key >> 8] || !hca_entry_snapshot(entry, key, &e) ||
	    !hca_entry_reaches(&e, addr, len))
		return;
	if (e.flags & HCA_MR_NULL) {
		out->kind = HCA_SEG_NULL;
		return;
	}
	base = hca_peer_map(peer, &e, key);
	if (base) {
		out->kind = HCA_SEG_PLAIN;
		out->ptr = base + (addr - e.iova);
		return;
	}
	/* The kernel copies, but does no atomics. */
	if (!peer->can_vm || atomic || hca_peer_has_gate(peer) || !vm_copy_is_ready()) {
		copy_client_seg(peer, &e, key, addr, len, out);
		return;
	}
	/* The region may have gone while this process was stopped before it said that the kernel copies. */
	epoch_visit_by_kernel();
	if (unlikely(atomic_load_explicit(&entry->key, memory_order_relaxed) != key))
		return;
	out->ptr = (char *)(uintptr_t)(e.va + (addr - e.iova));
	out->pid = peer->pid;
	out->word = &entry->key;
	out->value = key;
}

void hca_mem_seg(const struct hca_mr_entry *e, uint64_t addr, uint64_t len, struct hca_seg *out)
{
	if (unlikely(!is_here(e))) {
		seg_there(e, addr, len, false, out);
		return;
	}
	if (unlikely(hca_entry_flags(e) & HCA_MR_INDIRECT)) {
		hca_mkey_seg(e, addr - e->iova, len, out);
		return;
	}
	hca_seg_local(e, addr, len, out);
}

/* An element that is not in a plain region of this process. */
static bool resolve_odd(const struct hca_sge *sge, uint32_t pdn, uint32_t access,
			struct hca_seg *out)
{
	const struct hca_mr_entry *e =
		hca_mem_find_here(sge->key, pdn, 0, sge->addr, sge->len, access);

	if (!e || (hca_entry_flags(e) & (HCA_MR_WINDOW1 | HCA_MR_WINDOW2)))
		return false;
	hca_mem_seg(e, sge->addr, sge->len, out);
	return true;
}

bool hca_mem_resolve_all(const struct hca_sge *sge, int count, uint32_t pdn, uint32_t access,
			 struct hca_list *out)
{
	struct hca_seg *seg = out->seg;

	out->count = 0;
	out->total = 0;
	for (int i = 0; i < count; i++, sge++) {
		if (unlikely(!sge->len))
			continue;
		if (unlikely(!hca_mem_resolve_plain(sge, pdn, access, seg)) &&
		    !resolve_odd(sge, pdn, access, seg))
			return false;
		out->count++;
		out->total += sge->len;
		seg++;
	}
	return true;
}

bool hca_mem_resolve_cut(const struct hca_sge *sge, int count, uint32_t pdn, uint32_t access,
			 uint64_t len, struct hca_list *out)
{
	struct hca_seg *seg = out->seg;

	out->count = 0;
	out->total = 0;
	for (int i = 0; i < count && out->total < len; i++, sge++) {
		struct hca_sge part = *sge;

		if (!part.len)
			continue;
		if (part.len > len - out->total)
			part.len = (uint32_t)(len - out->total);
		if (!hca_mem_resolve_plain(&part, pdn, access, seg) &&
		    !resolve_odd(&part, pdn, access, seg))
			return false;
		out->count++;
		out->total += part.len;
		seg++;
	}
	return true;
}

void hca_mem_piece(const struct hca_mr_entry *e, uint64_t addr, uint64_t len, struct hca_list *out)
{
	out->count = len ? 1 : 0;
	out->total = len;
	hca_mem_seg(e, addr, len, &out->seg[0]);
}

/*
 * Memory that is being moved into the share memfd while the kernel copies looks missing to it
 * (share.h). share_range_check() of a page of this process waits for the move.
 */
static bool is_moving(const struct hca_seg *seg, uint64_t off, bool write, unsigned int *tries)
{
	if ((*tries)++ >= MOVE_TRIES)
		return false;
	if (seg->kind == HCA_SEG_REMOTE)
		return !sched_yield();
	return !share_range_check(seg->ptr + off, 1, write);
}

static bool copy_kernel(const struct hca_seg *remote, uint64_t off, void *local, uint64_t len,
			bool write)
{
	bool other = remote->kind == HCA_SEG_REMOTE;
	unsigned int tries = 0;

	while (len) {
		struct vm_copy copy = {
			.pid = other ? remote->pid : getpid(),
			/*
			 * Not a pointer of this process: it may be any number, and 0 when all
			 * copies fail.
			 */
			.there = (uintptr_t)remote->ptr + off,
			.here = local,
			.len = len,
			.write = write,
		};
		ssize_t n = vm_copy_run(&copy, other ? remote->word : NULL, remote->value);

		if (n == -EFAULT && is_moving(remote, off, write, &tries))
			continue;
		if (n <= 0)
			return false;
		local = (char *)local + n;
		off += n;
		len -= n;
	}
	return true;
}

static bool copy_odd(const struct hca_seg *odd, uint64_t off, void *local, uint64_t len, bool write)
{
	return odd->kind == HCA_SEG_SERVED ? copy_client_copy(odd, off, local, len, write)
					   : copy_kernel(odd, off, local, len, write);
}

/* Neither side is plain memory: through a small buffer. */
static bool copy_bounce(const struct hca_seg *to, uint64_t to_off, const struct hca_seg *from,
			uint64_t from_off, uint64_t len)
{
	char buf[4096];

	while (len) {
		uint64_t n = len < sizeof(buf) ? len : sizeof(buf);

		if (!copy_odd(from, from_off, buf, n, false) || !copy_odd(to, to_off, buf, n, true))
			return false;
		to_off += n;
		from_off += n;
		len -= n;
	}
	return true;
}

static inline bool copy_seg(const struct hca_seg *to, uint64_t to_off, const struct hca_seg *from,
			    uint64_t from_off, uint64_t len);

/* One side is an indirect key: piece by piece. */
static bool copy_indirect(const struct hca_seg *to, uint64_t to_off, const struct hca_seg *from,
			  uint64_t from_off, uint64_t len)
{
	struct hca_seg piece;

	while (len) {
		uint64_t n;

		if (to->kind == HCA_SEG_INDIRECT) {
			if (!hca_mkey_at(to, to_off, &piece))
				return false;
			n = piece.len < len ? piece.len : len;
			if (!copy_seg(&piece, 0, from, from_off, n))
				return false;
		} else {
			if (!hca_mkey_at(from, from_off, &piece))
				return false;
			n = piece.len < len ? piece.len : len;
			if (!copy_seg(to, to_off, &piece, 0, n))
				return false;
		}
		to_off += n;
		from_off += n;
		len -= n;
	}
	return true;
}

/* ---- keys with transforms ---- */

/* The memory of such a key, for its transforms. */
struct memory_space {
	struct transform_space base;
	struct hca_mkey *key;
};

/* The first `end` bytes of it. */
static struct hca_seg memory_seg(const struct transform_space *space, uint64_t end)
{
	const struct memory_space *memory = container_of(space, const struct memory_space, base);

	return (struct hca_seg){ .ptr = (char *)memory->key, .len = end, .kind = HCA_SEG_INDIRECT };
}

static bool read_memory(const struct transform_space *space, uint64_t off, void *to, uint64_t len)
{
	const struct hca_seg plain = { .ptr = to, .len = len, .kind = HCA_SEG_PLAIN };
	const struct hca_seg memory = memory_seg(space, off + len);

	return copy_indirect(&plain, 0, &memory, off, len);
}

static bool write_memory(const struct transform_space *space, uint64_t off, const void *from,
			 uint64_t len)
{
	const struct hca_seg plain = { .ptr = (char *)from, .len = len, .kind = HCA_SEG_PLAIN };
	const struct hca_seg memory = memory_seg(space, off + len);

	return copy_indirect(&memory, off, &plain, 0, len);
}

static void *map_memory(const struct transform_space *space, uint64_t off, uint64_t len, bool write)
{
	const struct hca_seg memory = memory_seg(space, off + len);
	struct hca_seg piece;

	(void)write; /* rights were checked when the key was resolved */
	if (!hca_mkey_at(&memory, off, &piece) || piece.kind != HCA_SEG_PLAIN || piece.len < len)
		return NULL;
	return piece.ptr;
}

static const struct transform_space_ops memory_ops = { read_memory, write_memory, map_memory };

static bool read_transformed(const struct hca_seg *from, uint64_t off, void *to, uint64_t len)
{
	struct transform_chain *chain = hca_mkey_chain(from);
	struct memory_space space = { { &memory_ops }, (struct hca_mkey *)(void *)from->ptr };

	return chain && transform_chain_read(chain, &space.base, from->base + off, to, len);
}

static bool write_transformed(const struct hca_seg *to, uint64_t off, const void *from,
			      uint64_t len)
{
	struct transform_chain *chain = hca_mkey_chain(to);
	struct memory_space space = { { &memory_ops }, (struct hca_mkey *)(void *)to->ptr };

	return chain && transform_chain_write(chain, &space.base, to->base + off, from, len);
}

/* One side has transforms. Unless the other is plain memory: through a small buffer. */
static bool copy_transformed(const struct hca_seg *to, uint64_t to_off, const struct hca_seg *from,
			     uint64_t from_off, uint64_t len)
{
	char buf[4096];
	const struct hca_seg bounce = { .ptr = buf, .len = sizeof(buf), .kind = HCA_SEG_PLAIN };

	if (to->kind == HCA_SEG_PLAIN)
		return read_transformed(from, from_off, to->ptr + to_off, len);
	if (from->kind == HCA_SEG_PLAIN)
		return write_transformed(to, to_off, from->ptr + from_off, len);
	while (len) {
		uint64_t n = len < sizeof(buf) ? len : sizeof(buf);

		if (!copy_seg(&bounce, 0, from, from_off, n) ||
		    !copy_seg(to, to_off, &bounce, 0, n))
			return false;
		to_off += n;
		from_off += n;
		len -= n;
	}
	return true;
}

static __attribute__((noinline)) bool copy_seg_odd(const struct hca_seg *to, uint64_t to_off,
						   const struct hca_seg *from, uint64_t from_off,
						   uint64_t len)
{
	if (unlikely(to->kind == HCA_SEG_TRANSFORM || from->kind == HCA_SEG_TRANSFORM))
		return copy_transformed(to, to_off, from, from_off, len);
	if (unlikely(to->kind == HCA_SEG_INDIRECT || from->kind == HCA_SEG_INDIRECT))
		return copy_indirect(to, to_off, from, from_off, len);
	if (to->kind == HCA_SEG_NULL)
		return true;
	if (to->kind == HCA_SEG_PLAIN) {
		if (from->kind == HCA_SEG_NULL)
			memset(to->ptr + to_off, 0, len);
		else
			return copy_odd(from, from_off, to->ptr + to_off, len, false);
		return true;
	}
	if (from->kind == HCA_SEG_PLAIN)
		return copy_odd(to, to_off, from->ptr + from_off, len, true);
	if (from->kind == HCA_SEG_NULL) {
		static const char zeros[4096];
		struct hca_seg zero = { .kind = HCA_SEG_PLAIN, .ptr = (char *)zeros };

		for (uint64_t n; len; to_off += n, len -= n) {
			n = len < sizeof(zeros) ? len : sizeof(zeros);
			if (!copy_seg(to, to_off, &zero, 0, n))
				return false;
		}
		return true;
	}
	return copy_bounce(to, to_off, from, from_off, len);
}

static inline bool copy_seg(const struct hca_seg *to, uint64_t to_off, const struct hca_seg *from,
			    uint64_t from_off, uint64_t len)
{
	/* PLAIN is 0, so that one test covers both. */
	if (unlikely(to->kind | from->kind))
		return copy_seg_odd(to, to_off, from, from_off, len);
	vb_copy(to->ptr + to_off, from->ptr + from_off, len);
	return true;
}

static const struct hca_seg *seek(const struct hca_list *list, uint64_t *off)
{
	const struct hca_seg *seg = list->seg;

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): *off < list->total */
	while (*off >= seg->len) {
		*off -= seg->len;
		seg++;
	}
	return seg;
}

bool hca_mem_copy(const struct hca_list *to, uint64_t to_off, const struct hca_list *from,
		  uint64_t from_off, uint64_t len)
{
	const struct hca_seg *t, *f;

	if (!len)
		return true;
	t = seek(to, &to_off);
	f = seek(from, &from_off);
	for (;;) {
		uint64_t n = len;

		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): not past the end */
		if (n > t->len - to_off)
			n = t->len - to_off;
		if (n > f->len - from_off)
			n = f->len - from_off;
		if (!copy_seg(t, to_off, f, from_off, n))
			return false;
		len -= n;
		if (!len)
			return true;
		to_off += n;
		from_off += n;
		if (to_off == t->len) {
			t++;
			to_off = 0;
		}
		if (from_off == f->len) {
			f++;
			from_off = 0;
		}
	}
}

bool hca_mem_copy_in(const struct hca_list *to, uint64_t off, const void *from, uint64_t len)
{
	const struct hca_seg plain = { .ptr = (char *)from, .len = len, .kind = HCA_SEG_PLAIN };
	const struct hca_seg *t;
	uint64_t done = 0;

	if (!len)
		return true;
	for (t = seek(to, &off); done < len; t++, off = 0) {
		uint64_t n = len - done < t->len - off ? len - done : t->len - off;

		if (!copy_seg(t, off, &plain, done, n))
			return false;
		done += n;
	}
	return true;
}

/* From a list to a piece. */
static inline bool gather(const struct hca_list *from, uint64_t off, const struct hca_seg *to,
			  uint64_t to_off, uint64_t len)
{
	const struct hca_seg *f;

	if (!len)
		return true;
	for (f = seek(from, &off);; f++, off = 0) {
		uint64_t n = f->len - off;

		if (likely(len <= n))
			return copy_seg(to, to_off, f, off, len);
		if (!copy_seg(to, to_off, f, off, n))
			return false;
		to_off += n;
		len -= n;
	}
}

bool hca_mem_copy_out(const struct hca_list *from, uint64_t off, void *to, uint64_t len)
{
	const struct hca_seg plain = { .ptr = to, .len = len, .kind = HCA_SEG_PLAIN };

	return gather(from, off, &plain, 0, len);
}

bool hca_mem_write(const struct hca_mr_entry *e, uint64_t addr, const struct hca_list *from,
		   uint64_t len)
{
	struct hca_seg to;

	hca_mem_seg(e, addr, len, &to);
	return gather(from, 0, &to, 0, len);
}

/* Several elements, or one that is not plain memory as a whole. */
static __attribute__((noinline)) enum hca_mem_result
scatter_many(const struct hca_sge *sge, int count, uint32_t pdn, uint64_t off,
	     const struct hca_list *from, uint64_t len)
{
	struct hca_list to;

	if (!hca_mem_resolve_cut(sge, count, pdn, HCA_ACCESS_LOCAL_WRITE, off + len, &to))
		return HCA_MEM_BAD;
	if (off + len > to.total)
		return HCA_MEM_SHORT;
	return hca_mem_copy(&to, off, from, 0, len) ? HCA_MEM_DONE : HCA_MEM_GONE;
}

enum hca_mem_result hca_mem_scatter(const struct hca_sge *sge, int count, uint32_t pdn,
				    uint64_t off, const struct hca_list *from, uint64_t len)
{
	struct hca_seg to;

	if (unlikely(count != 1 || !hca_mem_resolve_plain(sge, pdn, HCA_ACCESS_LOCAL_WRITE, &to)))
		return scatter_many(sge, count, pdn, off, from, len);
	if (unlikely(off + len > to.len))
		return HCA_MEM_SHORT;
	return likely(gather(from, 0, &to, off, len)) ? HCA_MEM_DONE : HCA_MEM_GONE;
}

bool hca_mem_target(const struct hca_mr_entry *e, uint64_t addr, uint32_t size, struct hca_seg *out)
{
	struct hca_seg whole;

	if (!is_here(e)) {
		seg_there(e, addr, size, true, out);
		return out->kind == HCA_SEG_PLAIN || out->kind == HCA_SEG_SERVED;
	}
	hca_mem_seg(e, addr, size, out);
	if (!(hca_entry_flags(e) & HCA_MR_INDIRECT))
		return !(hca_entry_flags(e) & HCA_MR_NULL);
	whole = *out;
	/* Atomic operations on transformed bytes have no meaning. */
	return whole.kind == HCA_SEG_INDIRECT && hca_mkey_at(&whole, 0, out) && out->len >= size &&
	       out->kind == HCA_SEG_PLAIN;
}

bool hca_mem_atomic(const struct hca_seg *seg, const struct hca_atomic *a, uint64_t *old)
{
	uint64_t probe;

	if (seg->kind == HCA_SEG_SERVED)
		return copy_client_atomic(seg, a, old);
	/* Pages that may be missing are read through the kernel before they are touched. */
	if (seg->kind == HCA_SEG_CAREFUL && !copy_kernel(seg, 0, &probe, a->size, false))
		return false;
	if ((seg->kind != HCA_SEG_PLAIN && seg->kind != HCA_SEG_CAREFUL) ||
	    (uintptr_t)seg->ptr & (a->size - 1))
		return false;
	*old = hca_atomic_run(a, seg->ptr);
	return true;
}

/* A swap that compares nothing: the one way that every kind of piece has. */
bool hca_mem_store(const struct hca_seg *seg, uint64_t value)
{
	const struct hca_atomic swap = { .size = 8, .swap = value, .swap_mask = UINT64_MAX };
	uint64_t old;

	return hca_mem_atomic(seg, &swap, &old);
}
