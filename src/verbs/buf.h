/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers of ibv_alloc_buf() among the library's files.
 */
#ifndef VERBS_BUF_H
#define VERBS_BUF_H

#include "verbs/objects.h"

/* 0, or -EINVAL when the range is not in the buffer or the buffer not of the domain. */
int vb_buf_check(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		 size_t length);
#endif
