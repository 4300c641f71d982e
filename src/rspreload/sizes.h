/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of rsockets that the environment gives. */
#ifndef RSPRELOAD_TUNE_H
#define RSPRELOAD_TUNE_H

/* RS_SQ_SIZE, RS_RQ_SIZE and RS_INLINE; a value that is refused leaves the default. */
void rsp_tune(int rs);

#endif
