/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions on dmabufs.
 */
#ifndef VERBS_DMABUF_H
#define VERBS_DMABUF_H

#include "verbs/objects.h"

int vb_mr_register_dmabuf(struct vb_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
			  unsigned int access, struct vb_mr **out);

#endif
