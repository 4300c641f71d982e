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

#include "check/place.h"
#include "check/report.h"
#include "check/state.h"
#include "verbs/objects.h"

#define SAMPLE      2048u
#define PIECES_MOST 8
#define GONE_MOST   4096
#define PAGE        ((uintptr_t)4096)

struct region {
	struct hash_link link;
	uint32_t key;
	uint32_t access;
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

bool check_piece_find(const struct ibv_sge *sge, struct check_piece *out,
		      const struct check_place *place)
{
	const struct check_place *gone = NULL;
	const struct region *r;
	bool found;

	pthread_mutex_lock(&check.memory_lock);
	r = find(&check.regions, sge->lkey >> 8);
	found = r && sge->addr >= r->iova && sge->addr - r->iova <= r->length &&
		sge->length <= r->length - (sge->addr - r->iova);
	if (found)
		*out = (struct check_piece){ .addr = r->addr + (uintptr_t)(sge->addr - r->iova),
					     .length = sge->length,
					     .lkey = sge->lkey };
	else if (!r && (r = find(&check.gone_regions, sge->lkey)))
		gone = r->gone;
	pthread_mutex_unlock(&check.memory_lock);
	if (gone)
		tell_gone(sge, gone, place);
	return found;
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

int check_bytes_sum(const struct check_piece *pieces, unsigned int count, bool mapped,
		    uint64_t *out)
{
	struct iovec from[2 * PIECES_MOST];
	_Alignas(16) char bytes[SAMPLE];
	size_t length = 0;
	unsigned int n;

	if (count > PIECES_MOST)
		return -E2BIG;
	n = choose(pieces, count, from);
	if (!mapped && !are_mapped(from, n))
		return -EFAULT;
	for (unsigned int i = 0; i < n; i++) {
		copy_raw(bytes + length, from[i].iov_base, from[i].iov_len);
		length += from[i].iov_len;
	}
	*out = XXH3_64bits(bytes, length);
	return 0;
}
