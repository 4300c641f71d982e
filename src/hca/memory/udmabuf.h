/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmabufs over pages of a memory file, made by the kernel's udmabuf driver. A memory file that cannot shrink is
 * taken as the udmabuf that could be made of it, for hosts without that driver.
 */
#ifndef HCA_UDMABUF_H
#define HCA_UDMABUF_H

#include <stdint.h>

#include "util/api.h"

/*
 * The descriptor of a dmabuf over whole pages of `memfd`, which is sealed against shrinking. It keeps its pages,
 * whatever becomes of the file. Or -errno; `what` is named in the explanation.
 */
VB_API int hca_udmabuf_create(int memfd, uint64_t offset, uint64_t size, const char *what);

/*
 * 0 for a dmabuf, or a memory file that udmabuf would take, which does not end before the range does: behind its
 * end a mapping has signals in place of memory.
 */
VB_API int hca_dmabuf_check(int fd, uint64_t offset, uint64_t length, const char *what);

#endif
