/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts that the kernel reports about this process: its mappings, which of its pages hold data, and its
 * threads.
 */
#ifndef FABRIC_SHARE_MAPS_H
#define FABRIC_SHARE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fabric/share_types.h"

struct share_vma {
	uintptr_t start, end;
	uint64_t offset, ino;
	dev_t dev;
	int prot;
	bool shared, plain; /* plain: private anonymous memory of no special kind */
};

struct share_walk {
	struct share_state *state;
	int fd;
	bool text; /* an old kernel: parse /proc/self/maps */
	size_t have, pos;
};

/* -EOPNOTSUPP without /proc. */
int share_walk_open(struct share_walk *walk, struct share_state *state);
/* The first mapping that ends behind addr; addr never decreases. -ENOENT behind the last. */
int share_walk_next(struct share_walk *walk, uintptr_t addr, struct share_vma *out);
void share_walk_close(struct share_walk *walk);
/* In the child of a fork: the descriptor tells about the parent. */
void share_walk_forget(struct share_state *state);
/* Whether the kernel has an ioctl to find one mapping. */
bool share_walk_is_fast(struct share_state *state);

typedef int (*share_mapping_fn)(struct share_state *state, const struct share_vma *vma,
				struct share_range part, void *arg);

/* Calls fn for the part of the range in each mapping; for gaps, with a mapping of length 0. */
int share_each_mapping(struct share_state *state, struct share_range r, share_mapping_fn fn,
		       void *arg);

/* A shared mapping of our memfd; one at the address that is its file offset. */
bool share_in_file(const struct share_state *state, const struct share_vma *vma);
bool share_in_place(const struct share_state *state, const struct share_vma *vma);

/* Iterates over stretches of pages that hold data. */
struct share_scan {
	struct share_state *state;
	int fd;
	bool slow;  /* an old kernel: read /proc/self/pagemap */
	size_t max; /* pages to look for, 0 for all */
	uintptr_t at, end;
	size_t have, pos;
};

int share_scan_open(struct share_scan *scan, struct share_state *state);
void share_scan_begin(struct share_scan *scan, uintptr_t start, uintptr_t end);
/* 1 and a stretch, 0 at the end, or -errno. */
int share_scan_next(struct share_scan *scan, uintptr_t *start, uintptr_t *end);
void share_scan_close(struct share_scan *scan);

/* Threads of this process, 0 when the kernel does not say. */
unsigned int share_threads_count(void);
/* Whether the stack or the control block of a thread lies in r, a part of the mapping. */
bool share_threads_live_in(struct share_state *state, const struct share_vma *vma,
			   struct share_range r);

#endif
