/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for programs that is shared from its first byte on; plain pages where sharing is off.
 */
#include <errno.h>

#include "fabric/share.h"
#include "hca/mr.h"

int hca_buf_alloc(uint64_t length, void **out)
{
	void *buf = share_alloc(length);

	if (!buf)
		return -ENOMEM;
	*out = buf;
	return 0;
}

void hca_buf_free(void *buf)
{
	share_free(buf);
}
