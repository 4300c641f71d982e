/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/lookup.h"

#include <errno.h>

#include "util/explain.h"

int rs_stream_get(int fd, struct rs_stream **out)
{
	struct rs_entry *entry = rs_table_get(fd);

	if (!entry)
		return explain(EBADF, "descriptor %d is no rsocket", fd);
	if (entry->kind != RS_STREAM) {
		rs_table_put(entry);
		return explain(EINVAL, "descriptor %d is no stream", fd);
	}
	*out = rs_to_stream(entry);
	return 0;
}
