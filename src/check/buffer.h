/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ownership of buffers: from the post of a request until its completion they belong to the adapter.
 */
#ifndef CHECK_BUFFER_H
#define CHECK_BUFFER_H

#include "check/queue.h"

/* Notes the pieces of a request that is about to be posted, and the sum of their bytes if it is asked for. */
void check_buffer_post(struct check_request *r, const struct ibv_sge *sge, int count,
		       const struct check_use *use, bool sum);
/* The verdict on a request that has completed; the caller tells of it without a lock. */
enum check_verdict { CHECK_CLEAN, CHECK_CHANGED, CHECK_UNMAPPED, CHECK_RETURNED };
enum check_verdict check_buffer_done(const struct check_request *r);
void check_buffer_tell(enum check_verdict verdict, const struct check_request *r, uint32_t qpn,
		       const struct check_place *polled);

/* Of the calling thread; a system call the first time only. */
int check_thread(void);

void check_mr_destroying(struct vb_mr *mr);

#endif
