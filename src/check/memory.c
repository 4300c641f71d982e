/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's memory may be unmapped at any moment, and a checker that crashes the program would be worse than
 * none: the kernel is asked first whether it is there. process_vm_readv() would do both at once, in 1.4 us.
 */
#define XXH_INLINE_ALL
#include "check/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "check/object.h"
#include "check/place.h"
#include "check/report.h"
#include "check/state.h"
#include "hca/hca.h"
#include "hca/memory/pd.h"
#include "hca/peers/segment.h"
#include "verbs/objects.h"

#define PIECES_MOST 8
#define GONE_MOST   4096
#define PAGE        ((uintptr_t)4096)

struct region {
	struct hash_link link;
	uint32_t key;
	uint32_t access;
	uint32_t pdn;
	uintptr_t addr;
	uint64_t iova, length;
	const struct check_place *gone; /* where it was deregistered */
};

static struct region *find(struct hash *table, uint64_t key)
{
	struct hash_link *link = hash_find(table, key);

	return link ? container_of(link, struct region, link) : NULL;
}

static void fill(struct region *r, const struct vb_mr *mr)
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
	fill(r, mr);
	pthread_mutex_lock(&check.memory_lock);
	old = find(&check.gone_regions, r->key);
	if (old)
		hash_remove(&check.gone_regions, &old->link);
	hash_add(&check.regions, &r->link, r->key >> 8);
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
		fill(r, mr);
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
			hash_add(&check.gone_regions, &r->link, r->key);
			r = NULL;
		}
	}
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
static bool is_of_nothing(uint32_t key, const struct vb_pd *pd)
{
	return !key ||
	       (!pd->hca->imported &&
		!atomic_load_explicit(&hca.peers.segment->mr[key >> 8].key, memory_order_relaxed));
}

static bool reaches(const struct region *r, const struct ibv_sge *sge)
{
	return sge->addr >= r->iova && sge->addr - r->iova <= r->length &&
	       sge->length <= r->length - (sge->addr - r->iova);
}

/* The reason for which the adapter will refuse the element; NULL: none. */
static const char *misfit_of(const struct region *r, const struct ibv_sge *sge,
			     const struct check_use *use)
{
	if (!use->pd)
		return NULL;
	if (!r)
		return use->all && is_of_nothing(sge->lkey, use->pd) ? "its key names no region"
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

bool check_piece_find(const struct ibv_sge *sge, const struct check_use *use,
		      struct check_piece *out, const struct check_place *place)
{
	const struct check_place *gone = NULL;
	const char *misfit;
	const struct region *r;
	bool found;

	pthread_mutex_lock(&check.memory_lock);
	r = find(&check.regions, sge->lkey >> 8);
	misfit = misfit_of(r, sge, use);
	found = r && reaches(r, sge);
	if (found)
		*out = (struct check_piece){ .addr = r->addr + (uintptr_t)(sge->addr - r->iova),
					     .length = sge->length,
					     .lkey = sge->lkey };
	else if (!r && (r = find(&check.gone_regions, sge->lkey)))
		gone = r->gone;
	pthread_mutex_unlock(&check.memory_lock);
	if (unlikely(gone))
		tell_gone(sge, gone, place);
	else if (unlikely(misfit))
		tell_misfit(sge, misfit, place);
	return found;
}

/* At most `sample` bytes: of all, or of the beginning and the end. */
static unsigned int choose(const struct check_piece *pieces, unsigned int count, uint32_t sample,
			   struct iovec *out)
{
	uint64_t total = 0, at = 0;
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		total += pieces[i].length;
	for (unsigned int i = 0; i < count; i++) {
		uint64_t end = at + pieces[i].length;
		uint64_t head = total <= sample ? end : end < sample / 2 ? end : sample / 2;
		uint64_t tail = total <= sample ? end : total - sample / 2;

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

/* Neither the program's races nor its freed memory are for a sanitizer to find here. */
__attribute__((no_sanitize_address, no_sanitize_thread, noinline)) static void
copy_raw(char *to, const volatile char *from, size_t length)
{
#ifdef __x86_64__
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
#else
	while (length--)
		*to++ = *from++;
#endif
}

int check_bytes_sum(const struct check_piece *pieces, unsigned int count, uint32_t sample,
		    bool mapped, uint64_t *out)
{
	struct iovec from[2 * PIECES_MOST];
	_Alignas(16) char bytes[CHECK_SOURCE_SAMPLE];
	size_t length = 0;
	unsigned int n;

	if (count > PIECES_MOST)
		return -E2BIG;
	n = choose(pieces, count, sample, from);
	if (!mapped && !are_mapped(from, n))
		return -EFAULT;
	for (unsigned int i = 0; i < n; i++) {
		copy_raw(bytes + length, from[i].iov_base, from[i].iov_len);
		length += from[i].iov_len;
	}
	*out = XXH3_64bits(bytes, length);
	return 0;
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
