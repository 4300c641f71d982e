/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the file `netlink`, one after the other (tools/facade/netlink_record.h). A lack of memory is kept
 * in `failed` until the end.
 */
#ifndef VERBENA_NETLINK_OUT_H
#define VERBENA_NETLINK_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct netlink_out {
	char *buf;
	size_t len, size;
	size_t message; /* where the current message begins */
	bool failed;
};

/* An answer to requests of `type` with `cmd`; generic netlink has `answer` in a header of its own. */
void netlink_begin(struct netlink_out *o, uint16_t type);
void netlink_begin_generic(struct netlink_out *o, uint16_t type, uint8_t cmd, uint8_t answer);
void netlink_end(struct netlink_out *o);

void netlink_put(struct netlink_out *o, uint16_t attr, const void *value, size_t len);
void netlink_u8(struct netlink_out *o, uint16_t attr, uint8_t value);
void netlink_u16(struct netlink_out *o, uint16_t attr, uint16_t value);
void netlink_u32(struct netlink_out *o, uint16_t attr, uint32_t value);
void netlink_u64(struct netlink_out *o, uint16_t attr, uint64_t value);
void netlink_text(struct netlink_out *o, uint16_t attr, const char *value);

/* Attributes put between the two calls are nested in `attr`. */
size_t netlink_nest(struct netlink_out *o, uint16_t attr);
void netlink_nest_end(struct netlink_out *o, size_t nest);

#endif
