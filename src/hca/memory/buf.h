/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for programs that is shared from the start, and second mappings of their own memory. */
#ifndef HCA_BUF_H
#define HCA_BUF_H

#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

/* Memory for programs, page aligned and shared from the start; for hca_mr_create_owned(). */
VB_API int hca_buf_alloc(uint64_t length, void **out);
VB_API void hca_buf_free(void *buf);

/*
 * A second address for a program's memory, valid until the unpin whatever the program does to its
 * own mapping, as an adapter pins memory. -EOPNOTSUPP: memory that cannot be shared, or is not whole pages.
 */
VB_API int hca_buf_pin(void *addr, size_t length, void **out);
VB_API void hca_buf_unpin(void *addr, size_t length, void *pinned);

#endif
