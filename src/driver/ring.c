/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/ring.h"

int drv_ring_alloc(struct drv_ring *ring, struct vb_memory *memory, struct vb_pd *pd, size_t bytes,
		   struct drv_ring_types types)
{
	int err = verbena_buf_alloc(memory, pd, bytes, types.buf, &ring->buf);

	if (err)
		return err;
	err = verbena_record_alloc(memory, pd, types.record, &ring->record);
	if (err) {
		verbena_buf_free(memory, &ring->buf);
		return err;
	}
	ring->memory = memory;
	return 0;
}

void drv_ring_free(struct drv_ring *ring)
{
	verbena_buf_free(ring->memory, &ring->record);
	verbena_buf_free(ring->memory, &ring->buf);
}
