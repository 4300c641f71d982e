/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names to addresses, by the host's getaddrinfo(3), at once or by event. The results are memory of
 * the caller's; only the asynchronous form uses an id.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "cm/channel.h"
#include "cm/device.h"
#include "cm/id.h"
#include "cm/sockaddr.h"
#include "cm/result.h"
#include "util/explain.h"

/* The hints ask for a numeric host as an AF_IB address. */
static bool wants_ib(const struct rdma_addrinfo *hints)
{
	const int flags = RAI_FAMILY | RAI_NUMERICHOST;

	return (hints->ai_flags & flags) == flags && hints->ai_family == AF_IB;
}

static void to_socket_hints(const struct rdma_addrinfo *hints, struct addrinfo *out)
{
	memset(out, 0, sizeof(*out));
	if (hints->ai_flags & RAI_PASSIVE)
		out->ai_flags |= AI_PASSIVE;
	if (hints->ai_flags & RAI_NUMERICHOST)
		out->ai_flags |= AI_NUMERICHOST;
	if (wants_ib(hints))
		out->ai_family = AF_INET6; /* a GID is written like an IPv6 address */
	else if (hints->ai_family != AF_IB)
		out->ai_family = hints->ai_family;

	switch (hints->ai_qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		out->ai_socktype = SOCK_STREAM;
		break;
	case IBV_QPT_UD:
		out->ai_socktype = SOCK_DGRAM;
		break;
	}
	if (hints->ai_port_space == RDMA_PS_TCP ||
	    (hints->ai_port_space == RDMA_PS_IB && out->ai_socktype == SOCK_STREAM))
		out->ai_protocol = IPPROTO_TCP;
	else if (hints->ai_port_space == RDMA_PS_UDP || hints->ai_port_space == RDMA_PS_IPOIB ||
		 (hints->ai_port_space == RDMA_PS_IB && out->ai_socktype == SOCK_DGRAM))
		out->ai_protocol = IPPROTO_UDP;
}

static int copy_addr(const struct sockaddr *from, socklen_t len, struct sockaddr **to,
		     socklen_t *to_len)
{
	*to = malloc(len);
	if (!*to)
		return -ENOMEM;
	memcpy(*to, from, len);
	*to_len = len;
	return 0;
}

static int copy_as_ib(const struct sockaddr_in6 *from, int ps, struct sockaddr **to,
		      socklen_t *to_len)
{
	uint16_t port = be16toh(from->sin6_port);
	struct sockaddr_ib sib = {
		.sib_family = AF_IB,
		.sib_pkey = 0xffff,
		.sib_flowinfo = from->sin6_flowinfo,
		.sib_sid = htobe64((uint64_t)ps << 16 | port),
		.sib_scope_id = from->sin6_scope_id,
	};

	memcpy(sib.sib_addr.sib_raw, &from->sin6_addr, sizeof(from->sin6_addr));
	if (ps)
		sib.sib_sid_mask |= htobe64(RDMA_IB_IP_PS_MASK);
	if (port)
		sib.sib_sid_mask |= htobe64(RDMA_IB_IP_PORT_MASK);
	return copy_addr((struct sockaddr *)&sib, sizeof(sib), to, to_len);
}

static int from_socket_info(const struct addrinfo *info, const struct rdma_addrinfo *hints,
			    struct rdma_addrinfo *out)
{
	bool passive = hints->ai_flags & RAI_PASSIVE;
	struct sockaddr **addr = passive ? &out->ai_src_addr : &out->ai_dst_addr;
	socklen_t *len = passive ? &out->ai_src_len : &out->ai_dst_len;

	out->ai_flags = passive ? RAI_PASSIVE : 0;
	out->ai_qp_type = hints->ai_qp_type;
	if (!out->ai_qp_type && info->ai_socktype == SOCK_STREAM)
		out->ai_qp_type = IBV_QPT_RC;
	else if (!out->ai_qp_type && info->ai_socktype == SOCK_DGRAM)
		out->ai_qp_type = IBV_QPT_UD;
	out->ai_port_space = hints->ai_port_space;
	if (!out->ai_port_space && info->ai_protocol == IPPROTO_TCP)
		out->ai_port_space = RDMA_PS_TCP;
	else if (!out->ai_port_space && info->ai_protocol == IPPROTO_UDP)
		out->ai_port_space = RDMA_PS_UDP;

	if (wants_ib(hints)) {
		out->ai_family = AF_IB;
		return copy_as_ib((struct sockaddr_in6 *)info->ai_addr, out->ai_port_space, addr,
				  len);
	}
	out->ai_family = info->ai_family;
	return copy_addr(info->ai_addr, info->ai_addrlen, addr, len);
}

/* errno for callers that only look there; the EAI_ code itself is what is returned. */
static int eai_errno(int eai)
{
	switch (eai) {
	case EAI_SYSTEM:
		return errno ? errno : EIO;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_AGAIN:
		return EAGAIN;
	case EAI_FAMILY:
	case EAI_ADDRFAMILY:
		return EAFNOSUPPORT;
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_SERVICE:
	case EAI_FAIL:
		return ENOENT;
	default:
		return EINVAL;
	}
}

/* Returns 0, -1 with errno, or an EAI_ code with errno. */
static int ask_host(const char *node, const char *service, const struct rdma_addrinfo *hints,
		    struct rdma_addrinfo *out)
{
	struct addrinfo socket_hints, *info;
	int eai, err;

	to_socket_hints(hints, &socket_hints);
	eai = getaddrinfo(node, service, &socket_hints, &info);
	if (eai) {
		errno = -explain(eai_errno(eai), "%s, service %s: %s", node ? node : "any host",
				 service ? service : "none", gai_strerror(eai));
		return eai;
	}
	/* The first result only: a program that cannot reach it asks again with other hints. */
	err = from_socket_info(info, hints, out);
	freeaddrinfo(info);
	return cm_result(err);
}

static int check_hints(const struct rdma_addrinfo *hints)
{
	if (!hints)
		return 0;
	if (hints->ai_flags & RAI_SA)
		return explain(EOPNOTSUPP, "there is no subnet administrator to ask (RAI_SA); "
					   "RAI_DNS or no flag asks the host's name services");
	if ((hints->ai_src_len && !hints->ai_src_addr) ||
	    (hints->ai_dst_len && !hints->ai_dst_addr))
		return explain(EINVAL,
			       "the hints give an address of %u and one of %u bytes, but "
			       "one of them is NULL",
			       hints->ai_src_len, hints->ai_dst_len);
	return 0;
}

static int copy_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo *out)
{
	out->ai_flags = hints->ai_flags;
	out->ai_family = hints->ai_family;
	out->ai_qp_type = hints->ai_qp_type;
	out->ai_port_space = hints->ai_port_space;
	if (!hints->ai_dst_len)
		return 0;
	return copy_addr(hints->ai_dst_addr, hints->ai_dst_len, &out->ai_dst_addr,
			 &out->ai_dst_len);
}

VB_API int rdma_getaddrinfo(const char *node, const char *service,
			    const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo no_hints;
	struct rdma_addrinfo *info;
	int err;

	if (!res || (!node && !service && !hints))
		return cm_result(explain(EINVAL, "rdma_getaddrinfo needs a node, a service or "
						 "hints, and a place for the result"));
	err = check_hints(hints);
	if (!err)
		err = cm_devices_need();
	if (err)
		return cm_result(err);
	if (!hints)
		hints = &no_hints;
	info = calloc(1, sizeof(*info));
	if (!info)
		return cm_result(explain(ENOMEM, "no memory for address information"));

	if (node || service)
		err = ask_host(node, service, hints, info);
	else
		err = cm_result(copy_hints(hints, info));
	if (!err && !info->ai_src_len && hints->ai_src_len)
		err = cm_result(copy_addr(hints->ai_src_addr, hints->ai_src_len, &info->ai_src_addr,
					  &info->ai_src_len));
	if (err) {
		int saved = errno;

		rdma_freeaddrinfo(info);
		errno = saved;
		return err;
	}
	*res = info;
	return 0;
}

VB_API void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	while (res) {
		struct rdma_addrinfo *next = res->ai_next;

		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
		res = next;
	}
}

static int begin_resolving(struct rdma_cm_id *pub)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, "rdma_resolve_addrinfo", &id);
	if (err)
		return err;
	if (id->resolving_info)
		err = explain(EBUSY, "the id has address information under way or not fetched; "
				     "rdma_query_addrinfo fetches it");
	else
		id->resolving_info = true;
	cm_id_leave();
	return err;
}

/* Hands the result, or NULL for none, to the id; takes ownership of it when it returns 0. */
static int end_resolving(struct rdma_cm_id *pub, struct rdma_addrinfo *info, struct cm_id **out)
{
	struct cm_event *event;
	int err;

	err = cm_id_enter(pub, "rdma_resolve_addrinfo", out);
	if (err)
		return err;
	event = info ? cm_event_create(*out, RDMA_CM_EVENT_ADDRINFO_RESOLVED, 0) : NULL;
	if (event) {
		(*out)->resolved_info = info;
		cm_event_post(event);
	} else {
		(*out)->resolving_info = false;
		err = info ? -ENOMEM : 0;
	}
	cm_id_leave();
	return err;
}

VB_API int rdma_resolve_addrinfo(struct rdma_cm_id *pub, const char *node, const char *service,
				 const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *info = NULL;
	struct cm_id *id;
	int err;

	err = begin_resolving(pub);
	if (err)
		return cm_result(err);
	if (rdma_getaddrinfo(node, service, hints, &info)) {
		err = -errno;
		end_resolving(pub, NULL, &id);
		return cm_result(err);
	}
	err = end_resolving(pub, info, &id);
	if (err) {
		rdma_freeaddrinfo(info);
		return cm_result(err);
	}
	return cm_result(cm_event_complete(id));
}

VB_API int rdma_query_addrinfo(struct rdma_cm_id *pub, struct rdma_addrinfo **info)
{
	struct cm_id *id;
	int err;

	err = cm_id_enter(pub, __func__, &id);
	if (err)
		return cm_result(err);
	if (!info) {
		err = explain(EINVAL, "rdma_query_addrinfo has nowhere to put the result");
	} else if (!id->resolved_info) {
		err = explain(ENOENT, "the id has no address information to fetch; "
				      "rdma_resolve_addrinfo asks for it");
	} else {
		*info = id->resolved_info;
		id->resolved_info = NULL;
		id->resolving_info = false;
	}
	cm_id_leave();
	return cm_result(err);
}
