/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket addresses: lengths, ports, comparisons, GIDs and text.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "cm/sockaddr.h"

static const struct sockaddr_in *in4(const struct sockaddr *addr)
{
	return (const struct sockaddr_in *)addr;
}

static const struct sockaddr_in6 *in6(const struct sockaddr *addr)
{
	return (const struct sockaddr_in6 *)addr;
}

static const struct sockaddr_ib *ib(const struct sockaddr *addr)
{
	return (const struct sockaddr_ib *)addr;
}

socklen_t cm_addr_len(const struct sockaddr *addr)
{
	if (!addr)
		return 0;
	switch (addr->sa_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

uint16_t cm_addr_port(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return be16toh(in4(addr)->sin_port);
	case AF_INET6:
		return be16toh(in6(addr)->sin6_port);
	case AF_IB:
		return be64toh(ib(addr)->sib_sid);
	default:
		return 0;
	}
}

void cm_addr_set_port(struct sockaddr *addr, uint16_t port)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		((struct sockaddr_in *)addr)->sin_port = htobe16(port);
		break;
	case AF_INET6:
		((struct sockaddr_in6 *)addr)->sin6_port = htobe16(port);
		break;
	case AF_IB:
		sib->sib_sid = htobe64((be64toh(sib->sib_sid) & ~0xffffULL) | port);
		sib->sib_sid_mask |= htobe64(0xffff);
		break;
	}
}

bool cm_addr_is_any(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET:
		return in4(addr)->sin_addr.s_addr == INADDR_ANY;
	case AF_INET6:
		return IN6_IS_ADDR_UNSPECIFIED(&in6(addr)->sin6_addr);
	case AF_IB:
		return ib_addr_any(&ib(addr)->sib_addr);
	default:
		return false;
	}
}

bool cm_addr_is_link_local(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6(addr)->sin6_addr);
}

bool cm_addr_is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return be32toh(in4(addr)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return addr->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6(addr)->sin6_addr);
}

bool cm_addr_takes_all(const struct sockaddr *addr)
{
	return cm_addr_is_any(addr) || cm_addr_is_loopback(addr);
}

bool cm_addr_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	union ibv_gid ga, gb;

	if (a->sa_family != b->sa_family)
		return false;
	if (cm_addr_is_link_local(a) && in6(a)->sin6_scope_id != in6(b)->sin6_scope_id)
		return false;
	cm_addr_to_gid(a, &ga);
	cm_addr_to_gid(b, &gb);
	return !memcmp(&ga, &gb, sizeof(ga));
}

void cm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	switch (addr->sa_family) {
	case AF_INET:
		gid->raw[10] = 0xff;
		gid->raw[11] = 0xff;
		memcpy(&gid->raw[12], &in4(addr)->sin_addr, 4);
		break;
	case AF_INET6:
		memcpy(gid->raw, &in6(addr)->sin6_addr, sizeof(gid->raw));
		break;
	case AF_IB:
		memcpy(gid->raw, ib(addr)->sib_addr.sib_raw, sizeof(gid->raw));
		break;
	}
}

void cm_addr_from_gid(int family, const union ibv_gid *gid, uint32_t scope_id,
		      struct sockaddr_storage *out)
{
	struct sockaddr_in6 *to6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	switch (family) {
	case AF_INET:
		memcpy(&((struct sockaddr_in *)out)->sin_addr, &gid->raw[12], 4);
		break;
	case AF_INET6:
		memcpy(&to6->sin6_addr, gid->raw, sizeof(gid->raw));
		to6->sin6_scope_id = scope_id;
		break;
	case AF_IB:
		memcpy(((struct sockaddr_ib *)out)->sib_addr.sib_raw, gid->raw, sizeof(gid->raw));
		break;
	}
}

const char *cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "";

	if (!addr)
		return "NULL";
	switch (addr->sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in4(addr)->sin_addr, host, sizeof(host));
		snprintf(text, CM_ADDR_TEXT, "%s:%u", host, cm_addr_port(addr));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6(addr)->sin6_addr, host, sizeof(host));
		snprintf(text, CM_ADDR_TEXT, "[%s%%%u]:%u", host, in6(addr)->sin6_scope_id,
			 cm_addr_port(addr));
		break;
	case AF_IB:
		inet_ntop(AF_INET6, ib(addr)->sib_addr.sib_raw, host, sizeof(host));
		snprintf(text, CM_ADDR_TEXT, "ib:%s sid 0x%llx", host,
			 (unsigned long long)be64toh(ib(addr)->sib_sid));
		break;
	default:
		snprintf(text, CM_ADDR_TEXT, "address family %u", addr->sa_family);
	}
	return text;
}
