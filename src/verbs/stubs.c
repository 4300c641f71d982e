/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of libibverbs that have no implementation yet, one line each. Delete the line of a
 * call together with writing the call; docs/support.py then counts it as working.
 */
#include "util/stub.h"

/* Protection domains and memory */
STUB_MINUS1(ibv_dm_export_dmabuf_fd)
STUB_PTR(ibv_alloc_dmah)
STUB_ERRNO(ibv_dealloc_dmah)
