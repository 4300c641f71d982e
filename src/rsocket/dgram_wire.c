/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/dgram_wire.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "util/explain.h"

#define UDP_TAG 0x55555555

struct ud_header {
	uint8_t version;
	uint8_t length;
	uint16_t port;
	union {
		uint32_t ipv4;
		struct {
			uint32_t flow_info;
			uint8_t addr[16];
		} ipv6;
	};
};
#define UD_IPV4_LEN 8
_Static_assert(sizeof(struct ud_header) == RS_UD_HEADER_MAX, "wire format");

struct udp_header {
	uint32_t tag;
	uint8_t version;
	uint8_t op;
	uint8_t length;
	uint8_t reserved;
	uint32_t qpn;
	union {
		uint32_t ipv4;
		uint8_t ipv6[16];
	};
};
#define UDP_IPV4_LEN 16
_Static_assert(sizeof(struct udp_header) == RS_UDP_HEADER_MAX, "wire format");

int rs_addr_set(union rs_addr *out, const struct sockaddr *addr, socklen_t len)
{
	*out = (union rs_addr){ 0 };
	if (!addr || len < sizeof(addr->sa_family))
		return explain(EINVAL, "an address of %u bytes", len);
	if (addr->sa_family == AF_INET && len >= sizeof(out->in)) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

		out->in.sin_family = AF_INET;
		out->in.sin_port = in->sin_port;
		out->in.sin_addr = in->sin_addr;
		return 0;
	}
	if (addr->sa_family == AF_INET6 && len >= sizeof(out->in6)) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

		out->in6.sin6_family = AF_INET6;
		out->in6.sin6_port = in6->sin6_port;
		out->in6.sin6_addr = in6->sin6_addr;
		out->in6.sin6_scope_id = in6->sin6_scope_id;
		return 0;
	}
	return explain(EAFNOSUPPORT,
		       "datagrams need an IPv4 or IPv6 address, not family %d, %u bytes",
		       addr->sa_family, len);
}

bool rs_addr_equal(const union rs_addr *a, const union rs_addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family || a->in.sin_port != b->in.sin_port)
		return false;
	if (a->sa.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
	       a->in6.sin6_scope_id == b->in6.sin6_scope_id;
}
_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port),
	       "ports are at the same place");

size_t rs_ud_header_encode(const union rs_addr *from, uint8_t to[RS_UD_HEADER_MAX])
{
	struct ud_header header = { 0 };

	if (from->sa.sa_family == AF_INET) {
		header.version = 4;
		header.length = UD_IPV4_LEN;
		header.port = from->in.sin_port;
		header.ipv4 = from->in.sin_addr.s_addr;
	} else {
		header.version = 6;
		header.length = sizeof(header);
		header.port = from->in6.sin6_port;
		header.ipv6.flow_info = from->in6.sin6_flowinfo;
		memcpy(header.ipv6.addr, &from->in6.sin6_addr, sizeof(header.ipv6.addr));
	}
	memcpy(to, &header, sizeof(header));
	return header.length;
}

int rs_ud_header_decode(const void *data, size_t len, union rs_addr *from)
{
	struct ud_header header = { 0 };

	if (len < UD_IPV4_LEN)
		return -EPROTO;
	memcpy(&header, data, len < sizeof(header) ? len : sizeof(header));
	memset(from, 0, sizeof(*from));
	if (header.version == 4 && header.length == UD_IPV4_LEN) {
		from->in.sin_family = AF_INET;
		from->in.sin_port = header.port;
		from->in.sin_addr.s_addr = header.ipv4;
		return header.length;
	}
	if (header.version == 6 && header.length == sizeof(header) && len >= sizeof(header)) {
		from->in6.sin6_family = AF_INET6;
		from->in6.sin6_port = header.port;
		from->in6.sin6_flowinfo = header.ipv6.flow_info;
		memcpy(&from->in6.sin6_addr, header.ipv6.addr, sizeof(header.ipv6.addr));
		return header.length;
	}
	return -EPROTO;
}

size_t rs_udp_header_encode(enum rs_udp_op op, uint32_t qpn, const union rs_addr *from,
			    uint8_t to[RS_UDP_HEADER_MAX])
{
	struct udp_header header = { .tag = htobe32(UDP_TAG), .op = op, .qpn = htobe32(qpn) };

	if (from->sa.sa_family == AF_INET) {
		header.version = 4;
		header.length = UDP_IPV4_LEN;
		header.ipv4 = from->in.sin_addr.s_addr;
	} else {
		header.version = 6;
		header.length = sizeof(header);
		memcpy(header.ipv6, &from->in6.sin6_addr, sizeof(header.ipv6));
	}
	memcpy(to, &header, sizeof(header));
	return header.length;
}

int rs_udp_header_decode(const void *data, size_t len, int family, enum rs_udp_op *op,
			 uint32_t *qpn)
{
	const uint8_t version = family == AF_INET ? 4 : 6;
	const size_t expected = family == AF_INET ? UDP_IPV4_LEN : sizeof(struct udp_header);
	struct udp_header header = { 0 };

	if (len < expected)
		return -EPROTO;
	memcpy(&header, data, expected);
	if (header.tag != htobe32(UDP_TAG) || header.version != version ||
	    header.length != expected)
		return -EPROTO;
	*op = header.op;
	*qpn = be32toh(header.qpn) & 0xffffff;
	return header.length;
}
