/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions whose memory is not shared yet. Moving memory to where peers can map it, and back, costs several copies of it,
 * which a region pays that lives long. A program that registers and deregisters the same memory again and again
 * would pay each time: from the third time on its memory stays where it is, and peers copy through the kernel or send
 * packets, until the region has lived as long as moving it is worth.
 *
 * hca.memory.share.lock guards all of it, and is held by the caller unless told otherwise.
 */
#ifndef HCA_MR_DEFER_H
#define HCA_MR_DEFER_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/memory/mr_types.h"

/* A region of this range shall not be shared at once: its lives have been short, or another such region is there. */
bool mr_defer_is_wanted(const void *addr, uint64_t length);
/* A region that is not shared yet has pages of the range. */
bool mr_defer_overlaps(const void *addr, uint64_t length);

void mr_defer_begin(struct hca_mr *mr);
/* The memory of the region changes, or cannot be shared. Pages that have moved become private again. */
void mr_defer_cancel(struct hca_mr *mr);
/* The region ends. Returns the bytes that have moved, for mr_defer_release() when no access can follow. */
uint64_t mr_defer_end(struct hca_mr *mr);

/* All memory has become private. */
void mr_defer_suspend(void);
/* In the child of a fork. */
void mr_defer_forked(void);

/* ---- without the lock ---- */

void mr_defer_release(const struct hca_mr *mr, uint64_t moved);

/* On a thread of the program that registers memory: shares what is due, if other threads could notice the move. */
void mr_defer_catch_up(void);
/* Service thread: shares what is due; returns when to call next. */
uint64_t mr_defer_run(uint64_t now_ns);

#endif
