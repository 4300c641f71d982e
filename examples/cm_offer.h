/* SPDX-License-Identifier: BSD-2-Clause */
/* The port, and the message that cm_server sends to cm_client. */
#ifndef EXAMPLES_CM_OFFER_H
#define EXAMPLES_CM_OFFER_H

#include <endian.h>
#include <stdint.h>

#define OFFER_PORT  "7471"
#define OFFER_BYTES 64

/* The server's buffer, in network byte order: the two may run on different machines. */
struct offer {
	uint64_t addr;
	uint32_t rkey;
} __attribute__((packed));

#endif
