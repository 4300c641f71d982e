/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmabufs over pages of a memory file, made by the kernel's udmabuf driver.
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

#endif
