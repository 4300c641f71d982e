/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue sizes of rsockets, from the environment. */
#ifndef RSPRELOAD_SIZES_H
#define RSPRELOAD_SIZES_H

/* RS_SQ_SIZE, RS_RQ_SIZE and RS_INLINE; a value that is refused leaves the default. */
void rsp_sizes_set(int rs);

#endif
