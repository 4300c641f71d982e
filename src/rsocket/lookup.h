/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How public calls begin: from a descriptor to a socket, which is given back with rs_table_put().
 */
#ifndef RSOCKET_LOOKUP_H
#define RSOCKET_LOOKUP_H

#include "rsocket/stream.h"

/* -EBADF, or -EINVAL for an rsocket that is no stream. */
int rs_stream_get(int fd, struct rs_stream **out);

#endif
