/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file `netlink` of a run's tree: the answers of a kernel with these adapters to the requests of `rdma` and
 * `devlink`. `verbena run` writes it; the preload library reads it. A record is this header and a netlink message,
 * padded to NLMSG_ALIGNTO. The message is complete but for sequence number, port and NLM_F_MULTI.
 *
 * A record answers a request if type and command are the same, and so is every attribute that both have. A
 * request for a dump gets all such records, another one the first.
 */
#ifndef FACADE_NETLINK_RECORD_H
#define FACADE_NETLINK_RECORD_H

#include <stdint.h>

#define FACADE_NETLINK_FILE "netlink"

struct facade_record {
	uint16_t type; /* nlmsg_type of the request */
	uint8_t cmd;   /* command of the request; 0 if the protocol has it in the type */
	uint8_t head;  /* length of what precedes the attributes, in request and message */
};

#endif
