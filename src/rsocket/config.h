/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Defaults of new rsockets, which an administrator sets in files: one number per file, in
 * /etc/rdma/rsocket. A file that is missing, or has no number in it, leaves the built-in value.
 */
#ifndef RSOCKET_CONFIG_H
#define RSOCKET_CONFIG_H

#include <stdint.h>

#define RS_CONFIG_FOLDER "/etc/rdma/rsocket"

/* Queues have at least and at most so many entries. */
#define RS_QUEUE_MIN 16
#define RS_QUEUE_MAX 0xfffe
/* A sender waits for this much of its buffer; also the size of a datagram's buffer. */
#define RS_SEND_LOW 2048

/* Sizes that a socket starts with, and that options change. */
struct rs_sizes {
	uint32_t send_buf;   /* bytes; file wmem_default */
	uint32_t recv_buf;   /* bytes; file mem_default */
	uint16_t send_queue; /* entries; file sqsize_default */
	uint16_t recv_queue; /* entries; file rqsize_default */
	uint16_t inline_max; /* bytes; file inline_default */
	uint16_t iomap;      /* entries; file iomap_size */
};

struct rs_config {
	struct rs_sizes sizes;
	uint32_t polling_us; /* spin before sleeping; file polling_time */
	uint32_t wake_up_ms; /* longest sleep in rpoll(); file wake_up_interval */
};

void rs_config_load(const char *folder, struct rs_config *config);

#endif
