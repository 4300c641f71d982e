/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/lookup.h"

#include <errno.h>

#include "util/explain.h"

int rs_socket_get(int fd, struct rs_socket **out)
{
	struct rs_entry *entry = rs_table_get(fd);

	if (!entry)
		return explain(EBADF, "descriptor %d is no rsocket", fd);
	if (entry->kind == RS_EPOLL) {
		rs_table_put(entry);
		return explain(EINVAL, "descriptor %d is a repoll instance", fd);
	}
	*out = (struct rs_socket *)entry;
	return 0;
}

int rs_stream_get(int fd, struct rs_stream **out)
{
	struct rs_socket *s;
	int err = rs_socket_get(fd, &s);

	if (err)
		return err;
	*out = rs_as_stream(s);
	if (!*out) {
		rs_table_put(&s->entry);
		return explain(EOPNOTSUPP, "descriptor %d is a datagram rsocket, no stream", fd);
	}
	return 0;
}
