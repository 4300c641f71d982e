/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of streams. Without base.lock; setting them with send_lock held.
 */
#ifndef RSOCKET_OPTION_H
#define RSOCKET_OPTION_H

#include "rsocket/stream.h"

int rs_option_set(struct rs_stream *s, int level, int name, const void *value, socklen_t len);
int rs_option_get(struct rs_stream *s, int level, int name, void *value, socklen_t *len);

/* SOL_RDMA options of queues, which streams and datagrams have: of the sizes that come next. */
int rs_option_set_size(struct rs_sizes *sizes, int name, const void *value, socklen_t len);
int rs_option_get_size(const struct rs_sizes *sizes, int name, void *value, socklen_t *len);

#endif
