/* SPDX-License-Identifier: BSD-2-Clause */
#include "netlink_out.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "../facade/netlink_record.h"

/* Room for `len` bytes and what aligns them, all zero; NULL without memory. */
static void *room(struct netlink_out *o, size_t len)
{
	size_t want = o->len + NLMSG_ALIGN(len);
	char *buf = o->buf;

	if (o->failed)
		return NULL;
	if (want > o->size) {
		o->size = 2 * want;
		buf = realloc(o->buf, o->size);
		if (!buf) {
			o->failed = true;
			return NULL;
		}
		o->buf = buf;
	}
	memset(buf + o->len, 0, NLMSG_ALIGN(len));
	o->len = want;
	return buf + want - NLMSG_ALIGN(len);
}

static void begin(struct netlink_out *o, uint16_t type, uint8_t cmd, uint8_t head)
{
	struct facade_record *r = room(o, sizeof(*r));
	struct nlmsghdr *m;

	if (r)
		*r = (struct facade_record){ .type = type, .cmd = cmd, .head = head };
	m = room(o, sizeof(*m));
	if (!m)
		return;
	m->nlmsg_type = type;
	o->message = o->len - sizeof(*m);
}

void netlink_begin(struct netlink_out *o, uint16_t type)
{
	begin(o, type, 0, 0);
}

void netlink_begin_generic(struct netlink_out *o, uint16_t type, uint8_t cmd, uint8_t answer)
{
	struct genlmsghdr *g;

	begin(o, type, cmd, GENL_HDRLEN);
	g = room(o, sizeof(*g));
	if (g)
		*g = (struct genlmsghdr){ .cmd = answer, .version = 1 };
}

void netlink_end(struct netlink_out *o)
{
	struct nlmsghdr *m = (struct nlmsghdr *)(o->buf + o->message);

	if (!o->failed)
		m->nlmsg_len = (uint32_t)(o->len - o->message);
}

void netlink_put(struct netlink_out *o, uint16_t attr, const void *value, size_t len)
{
	struct nlattr *a = room(o, NLA_HDRLEN + len);

	if (!a)
		return;
	a->nla_type = attr;
	a->nla_len = (uint16_t)(NLA_HDRLEN + len);
	if (len)
		memcpy(a + 1, value, len);
}

void netlink_u8(struct netlink_out *o, uint16_t attr, uint8_t value)
{
	netlink_put(o, attr, &value, sizeof(value));
}

void netlink_u16(struct netlink_out *o, uint16_t attr, uint16_t value)
{
	netlink_put(o, attr, &value, sizeof(value));
}

void netlink_u32(struct netlink_out *o, uint16_t attr, uint32_t value)
{
	netlink_put(o, attr, &value, sizeof(value));
}

void netlink_u64(struct netlink_out *o, uint16_t attr, uint64_t value)
{
	netlink_put(o, attr, &value, sizeof(value));
}

void netlink_text(struct netlink_out *o, uint16_t attr, const char *value)
{
	netlink_put(o, attr, value, strlen(value) + 1);
}

size_t netlink_nest(struct netlink_out *o, uint16_t attr)
{
	netlink_put(o, attr | NLA_F_NESTED, NULL, 0);
	return o->len - NLA_HDRLEN;
}

void netlink_nest_end(struct netlink_out *o, size_t nest)
{
	if (!o->failed)
		((struct nlattr *)(o->buf + nest))->nla_len = (uint16_t)(o->len - nest);
}
