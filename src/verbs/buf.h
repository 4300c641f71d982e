/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers of ibv_alloc_buf().
 */
#ifndef VERBS_BUF_H
#define VERBS_BUF_H

#include "verbs/objects.h"

/* -EINVAL when the range is not in the buffer, or the buffer not of the domain. */
int vb_buf_check(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		 size_t length);
#endif
