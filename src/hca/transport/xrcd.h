/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains: a number that receive queues and queue pairs of several processes share. Processes
 * that open the same file through the same adapter get the same domain; the host directory knows
 * which ones are open.
 */
#ifndef HCA_XRCD_H
#define HCA_XRCD_H

#include <stdint.h>

#include "hca/memory/pd.h"

struct hca_xrcd;

/*
 * fd -1: a private domain. Otherwise the file decides, and oflags are as
 * open() has them: without O_CREAT the domain must be open somewhere (-EAGAIN), with O_EXCL it must
 * not (-EINVAL). -EBADF: no such descriptor.
 */
VB_API int hca_xrcd_open(struct hca_ctx *ctx, int fd, int oflags, struct hca_xrcd **out);
VB_API void hca_xrcd_close(struct hca_xrcd *xrcd);
VB_API uint32_t hca_xrcd_number(const struct hca_xrcd *xrcd);

#endif
