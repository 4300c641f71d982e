/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's memory may be unmapped at any moment, and a checker that crashes the program would be worse than
 * none: the kernel is asked first whether it is there. process_vm_readv() would do both at once, in 1.4 us.
 */
#include "check/memory.h"

#include <errno.h>
#include <isa-l/crc64.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check/object.h"
#include "check/place.h"
#include "check/report.h"
#include "check/state.h"
#include "hca/hca.h"
#include "hca/memory/pd.h"
#include "hca/peers/segment.h"
#include "util/vector.h"
#include "verbs/objects.h"

#define SAMPLE      2048u
#define PIECES_MOST 8
#define GONE_MOST   4096
#define PAGE        ((uintptr_t)4096)

struct region {
	struct hash_link link;
	struct check_region is;
	const struct check_place *gone; /* where it was deregistered */
};

/* Lock held: the table has changed. */
static void next_epoch(void)
{
	/* [CHK2] pairs with find_cached(): the table before the number */
	atomic_fetch_add_explicit(&check.region_epoch, 1, memory_order_release);
}

static struct region *find(struct hash *table, uint64_t key)
{
	struct hash_link *link = hash_find(table, key);

	return link ? container_of(link, struct region, link) : NULL;
}

static void fill(struct check_region *r, const struct vb_mr *mr)
{
	r->key = mr->hca->key;
	r->access = mr->hca->access;
	r->pdn = mr->hca->pd ? mr->hca->pd->pdn : 0;
	r->addr = (uintptr_t)mr->hca->addr;
	r->iova = mr->hca->iova;
	r->length = mr->hca->length;
}

void check_mr_created(struct vb_mr *mr)
{
	struct region *r, *old;

	/* Implicit on-demand regions are the whole address space, and others have no memory. */
	if (mr->hca->kind != VB_MR_MEMORY || mr->hca->length == SIZE_MAX)
		return;
	r = calloc(1, sizeof(*r));
	if (!r)
		return;
	fill(&r->is, mr);
	pthread_mutex_lock(&check.memory_lock);
	old = find(&check.gone_regions, r->is.key);
	if (old)
		hash_remove(&check.gone_regions, &old->link);
	hash_add(&check.regions, &r->link, r->is.key >> 8);
	next_epoch();
	pthread_mutex_unlock(&check.memory_lock);
	atomic_fetch_add(&check.region_count, 1);
	free(old);
}

void check_mr_changed(struct vb_mr *mr)
{
	struct region *r;

	pthread_mutex_lock(&check.memory_lock);
	r = find(&check.regions, mr->hca->key >> 8);
	if (r)
		fill(&r->is, mr);
	next_epoch();
	pthread_mutex_unlock(&check.memory_lock);
}

void check_mr_destroyed(struct vb_mr *mr)
{
	const struct check_place *place = check_place_here();
	struct region *r;

	pthread_mutex_lock(&check.memory_lock);
	r = find(&check.regions, mr->mr.lkey >> 8);
	if (r) {
		hash_remove(&check.regions, &r->link);
		if (atomic_load(&check.region_count)) /* in a child: it may be the parent's */
			atomic_fetch_sub(&check.region_count, 1);
		r->gone = place;
		if (check.gone_regions.count < GONE_MOST) {
			hash_add(&check.gone_regions, &r->link, r->is.key);
			r = NULL;
		}
	}
	next_epoch();
	pthread_mutex_unlock(&check.memory_lock);
	free(r);
}

static void tell_gone(const struct ibv_sge *sge, const struct check_place *gone,
		      const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_KEY_AFTER_DEREG,
				  .stacks = { { "posted at", place },
					      { "deregistered at", gone } } };

	snprintf(r.text, sizeof(r.text),
		 "A request has the key 0x%x of a memory region that is deregistered, for %u bytes "
		 "at "
		 "0x%llx.",
		 sge->lkey, sge->length, (unsigned long long)sge->addr);
	check_report(&r);
}

/* Keys of another process's regions, in a domain that it shares, are not in the table of this one. */
static bool names_no_region(uint32_t key, const struct vb_pd *pd)
{
	return !key ||
	       (!pd->hca->imported &&
		!atomic_load_explicit(&hca.peers.segment->mr[key >> 8].key, memory_order_relaxed));
}

static bool reaches(const struct check_region *r, const struct ibv_sge *sge)
{
	return sge->addr >= r->iova && sge->addr - r->iova <= r->length &&
	       sge->length <= r->length - (sge->addr - r->iova);
}

/* The reason for which the adapter will refuse the element; NULL: none. */
static const char *misfit_of(const struct check_region *r, const struct ibv_sge *sge,
			     const struct check_use *use)
{
	if (!use->pd)
		return NULL;
	if (!r)
		return use->all && names_no_region(sge->lkey, use->pd) ? "its key names no region"
								       : NULL;
	if (r->key != sge->lkey)
		return NULL;
	if (r->pdn && r->pdn != use->pd->hca->pdn)
		return "its region is of another protection domain than the queue";
	if (use->writes && !(r->access & IBV_ACCESS_LOCAL_WRITE))
		return "the adapter is to write to it, and its region does not have "
		       "IBV_ACCESS_LOCAL_WRITE";
	return use->all && !reaches(r, sge) ? "its region does not have these bytes" : NULL;
}

static void tell_misfit(const struct ibv_sge *sge, const char *misfit,
			const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_SGE_REFUSED, .stacks[0] = { "posted at", place } };

	snprintf(r.text, sizeof(r.text),
		 "A request has an element of %u bytes at 0x%llx with the key 0x%x: %s.",
		 sge->length, (unsigned long long)sge->addr, sge->lkey, misfit);
	check_report(&r);
}

/* NULL: it is another region, or may have changed since. */
static const struct check_region *find_cached(const struct check_region_cache *cache, uint32_t key)
{
	/* [CHK2] */
	return key && cache->region.key == key &&
			       cache->epoch == atomic_load_explicit(&check.region_epoch,
								    memory_order_acquire)
		       ? &cache->region
		       : NULL;
}

/* From the table into the cache. NULL: there is none; `gone`: where it was deregistered, or NULL. */
static const struct check_region *find_region(struct check_region_cache *cache, uint32_t key,
					      const struct check_place **gone)
{
	const struct region *r;

	pthread_mutex_lock(&check.memory_lock);
	r = find(&check.regions, key >> 8);
	if (r) {
		cache->region = r->is;
		cache->epoch = atomic_load_explicit(&check.region_epoch, memory_order_relaxed);
	} else {
		const struct region *old = find(&check.gone_regions, key);

		*gone = old ? old->gone : NULL;
	}
	pthread_mutex_unlock(&check.memory_lock);
	return r ? &cache->region : NULL;
}

bool check_piece_find(const struct ibv_sge *sge, const struct check_use *use,
		      struct check_piece *out, const struct check_place *place)
{
	const struct check_region *r = find_cached(use->cache, sge->lkey);
	const struct check_place *gone = NULL;
	const char *misfit;

	if (unlikely(!r))
		r = find_region(use->cache, sge->lkey, &gone);
	misfit = gone ? NULL : misfit_of(r, sge, use);
	if (unlikely(gone))
		tell_gone(sge, gone, place);
	else if (unlikely(misfit))
		tell_misfit(sge, misfit, place);
	if (!r || !reaches(r, sge))
		return false;
	*out = (struct check_piece){ .addr = r->addr + (uintptr_t)(sge->addr - r->iova),
				     .length = sge->length,
				     .lkey = sge->lkey };
	return true;
}

/* At most SAMPLE bytes: of all, or of the beginning and the end. */
static unsigned int choose(const struct check_piece *pieces, unsigned int count, struct iovec *out)
{
	uint64_t total = 0, at = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		total += pieces[i].length;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t end = at + pieces[i].length;
		uint64_t head = total <= SAMPLE ? end : end < SAMPLE / 2 ? end : SAMPLE / 2;
		uint64_t tail = total <= SAMPLE ? end : total - SAMPLE / 2;

		if (head > at)
			out[n++] = (struct iovec){ (void *)pieces[i].addr, head - at };
		if (tail < at)
			tail = at;
		if (tail < end)
			out[n++] = (struct iovec){ (void *)(pieces[i].addr + (tail - at)),
						   end - tail };
		at = end;
	}
	return n;
}

/* The kernel copies the set from the address before it refuses the first argument: 0.2 us, and no signal. */
static bool is_mapped(uintptr_t addr)
{
	return syscall(SYS_rt_sigprocmask, ~0, addr & ~(uintptr_t)7, NULL, 8) && errno != EFAULT;
}

static bool are_mapped(const struct iovec *ranges, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		uintptr_t at = (uintptr_t)ranges[i].iov_base, end = at + ranges[i].iov_len;

		for (; at < end; at = (at & ~(PAGE - 1)) + PAGE)
			if (!is_mapped(at))
				return false;
	}
	return true;
}

#define SHORT 64u

typedef uint64_t raw_word __attribute__((aligned(1), may_alias));

/* Neither the program's races nor its freed memory are for a sanitizer to find here. */
__attribute__((no_sanitize_address, no_sanitize_thread, noinline)) static uint64_t
add_short(uint64_t sum, const char *data, size_t length)
{
	for (; length >= sizeof(raw_word); data += sizeof(raw_word), length -= sizeof(raw_word)) {
		sum = (sum ^ *(const volatile raw_word *)data) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	while (length--) {
		sum = (sum ^ *(const volatile uint8_t *)data++) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	return sum;
}

/* ISA-L's code is assembler, which sanitizers do not see. */
static uint64_t add(uint64_t sum, const void *data, size_t length)
{
	if (length <= SHORT)
		return add_short(sum, data, length);
	sum = crc64_ecma_refl(sum, data, length);
	vector_clear_upper();
	return sum;
}

int check_bytes_sum(const struct check_piece *pieces, unsigned int count, bool mapped,
		    uint64_t *out)
{
	struct iovec from[2 * PIECES_MOST];
	uint64_t sum = 0;
	unsigned int n;

	if (count > PIECES_MOST)
		return -E2BIG;
	n = choose(pieces, count, from);
	if (!mapped && !are_mapped(from, n))
		return -EFAULT;
	for (unsigned int i = 0; i < n; i++)
		sum = add(sum, from[i].iov_base, from[i].iov_len);
	*out = sum;
	return 0;
}

uint64_t check_head_sum(const struct check_piece *piece)
{
	size_t length = piece->length < CHECK_HEAD ? piece->length : CHECK_HEAD;

	return add(0, (const void *)piece->addr, length);
}

/* Pages on demand may come and go. */
void check_mr_unmapped(const struct vb_mr *mr)
{
	uintptr_t addr = (uintptr_t)mr->hca->addr, last = addr + mr->hca->length - 1;
	struct check_report r = { .kind = CHECK_MR_UNMAPPED };

	if (mr->hca->kind != VB_MR_MEMORY || mr->hca->length == SIZE_MAX || !mr->hca->length ||
	    mr->hca->owner || mr->hca->access & IBV_ACCESS_ON_DEMAND ||
	    (is_mapped(addr) && is_mapped(last)))
		return;
	snprintf(r.text, sizeof(r.text),
		 "The memory of a region (%llu bytes at %p) is unmapped before ibv_dereg_mr().",
		 (unsigned long long)mr->hca->length, mr->hca->addr);
	r.stacks[0].title = "deregistered at";
	r.stacks[0].place = check_place_here();
	r.stacks[1].title = "registered at";
	r.stacks[1].place = check_object_place(&mr->own);
	check_report(&r);
}
