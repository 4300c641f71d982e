/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DMA handles: hints for the bus, which regions are registered with.
 */
#ifndef VERBS_DMAH_H
#define VERBS_DMAH_H

#include "verbs/objects.h"

/* For a region with `access` in `context`: 0, and the handle cannot be freed until it is put; or -errno. */
int vb_dmah_get(struct ibv_dmah *dmah, struct ibv_context *context, unsigned int access,
		struct vb_dmah **out);
/* NULL is none. */
void vb_dmah_put(struct vb_dmah *dmah);

#endif
