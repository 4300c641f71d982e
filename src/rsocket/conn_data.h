/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The private data of the connection request and reply of a stream: where the other side may write.
 */
#ifndef RSOCKET_CONN_DATA_H
#define RSOCKET_CONN_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rsocket/wire.h"

#define RS_CONN_DATA_LEN 40

struct rs_conn_data {
	bool big_endian;      /* the host that sent it */
	uint16_t credits;     /* messages that it can receive */
	uint16_t iomap_size;  /* entries of its iomap, which follows its target SGL */
	struct rs_sge target; /* its target SGL; length counts entries */
	struct rs_sge buffer; /* the first part of its receive buffer */
};

void rs_conn_data_encode(const struct rs_conn_data *data, uint8_t to[RS_CONN_DATA_LEN]);
/* -EPROTONOSUPPORT: not an rsocket, or a version that is not known. */
int rs_conn_data_decode(const void *from, size_t len, struct rs_conn_data *data);

#endif
