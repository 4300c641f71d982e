/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/deflate.h"

#include <stdlib.h>
#include <isa-l/igzip_lib.h>

#include "util/vector.h"

struct deflate_work {
	union {
		struct isal_zstream compress;
		struct inflate_state expand;
	};
	uint8_t level[ISAL_DEF_LVL1_MEDIUM];
};

struct deflate_work *deflate_work_create(void)
{
	return malloc(sizeof(struct deflate_work));
}

void deflate_work_destroy(struct deflate_work *w)
{
	free(w);
}

/* ISA-L ends a block when its list of symbols is full. */
static uint32_t level_bytes(uint8_t log_block)
{
	uint32_t bytes = ISAL_DEF_LVL1_REQ + (ISAL_DEF_LVL1_TOKEN_SIZE << log_block);

	if (bytes < ISAL_DEF_LVL1_MIN)
		return ISAL_DEF_LVL1_MIN;
	return bytes < ISAL_DEF_LVL1_MEDIUM ? bytes : ISAL_DEF_LVL1_MEDIUM;
}

enum codec_result deflate_compress(struct deflate_work *w, const struct deflate_how *how,
				   const uint8_t *in, uint32_t len, uint8_t *out, uint32_t room,
				   uint32_t *made)
{
	struct isal_zstream *z = &w->compress;
	int err;

	isal_deflate_stateless_init(z);
	z->next_in = (uint8_t *)(uintptr_t)in; /* read only */
	z->avail_in = len;
	z->next_out = out;
	z->avail_out = room;
	z->end_of_stream = 1;
	z->hist_bits = how->log_window;
	if (how->dynamic) {
		z->level = 1;
		z->level_buf = w->level;
		z->level_buf_size = level_bytes(how->log_block);
	} else {
		isal_deflate_set_hufftables(z, NULL, IGZIP_HUFFTABLE_STATIC);
	}
	err = isal_deflate_stateless(z);
	vector_clear_upper();
	switch (err) {
	case COMP_OK:
		*made = z->total_out;
		return CODEC_DONE;
	case STATELESS_OVERFLOW:
		return CODEC_NO_SPACE;
	default:
		return CODEC_FAILED;
	}
}

enum codec_result deflate_expand(struct deflate_work *w, const uint8_t *in, uint32_t len,
				 uint8_t *out, uint32_t room, uint32_t *made)
{
	struct inflate_state *z = &w->expand;
	int err;

	isal_inflate_init(z);
	z->next_in = (uint8_t *)(uintptr_t)in; /* read only */
	z->avail_in = len;
	z->next_out = out;
	z->avail_out = room;
	err = isal_inflate_stateless(z);
	vector_clear_upper();
	switch (err) {
	case ISAL_DECOMP_OK:
		*made = z->total_out;
		return CODEC_DONE;
	case ISAL_END_INPUT:
		return CODEC_TRUNCATED;
	case ISAL_OUT_OVERFLOW:
		return CODEC_NO_SPACE;
	default:
		return CODEC_CORRUPT;
	}
}
