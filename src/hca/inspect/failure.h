/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failures of queue pairs of the host's processes, kept in the fabric's folder, for `verbena why`: also those of
 * processes that have ended.
 */
#ifndef HCA_FAILURE_RECORD_H
#define HCA_FAILURE_RECORD_H

#include <stddef.h>

#include "hca/inspect/story.h"
#include "util/api.h"

struct failure_ops;

extern const struct failure_ops failure_ops;

/* The failures that are kept, oldest first; the caller frees them. 0 or -errno; -ENOENT: none. */
VB_API int hca_failures_read(struct hca_story **out, size_t *count);

#endif
