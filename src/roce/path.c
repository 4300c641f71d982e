/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/path.h"

#include <errno.h>
#include <string.h>

#include "roce/endpoint_types.h"
#include "roce/header.h"
#include "roce/tx_socket.h"
#include "util/explain.h"

int roce_path_init(struct roce_path *path, const struct roce_endpoint *ep,
		   const struct roce_dest *dest)
{
	char from[ROCE_ADDR_TEXT], to[ROCE_ADDR_TEXT];
	uint16_t socket;

	if (roce_addr_is_ipv4(&dest->addr) != ep->ipv4)
		return explain(EINVAL, "no way from %s to %s: not one IP version",
			       roce_addr_format(&ep->local, from),
			       roce_addr_format(&dest->addr, to));
	memset(path, 0, sizeof(*path));
	path->dst = dest->addr;
	if (!path->dst.ifindex)
		path->dst.ifindex = ep->local.ifindex;
	path->dport = dest->port ? dest->port : ep->port;
	path->pkey = dest->pkey ? dest->pkey : ROCE_PKEY_DEFAULT;
	if (dest->link)
		socket = roce_tx_socket_find_link(ep, dest->sport, dest->link);
	else
		socket = dest->sport ? roce_tx_socket_find(ep, dest->sport) : 0;
	path->sport = ep->tx_socket[socket].port;
	path->route.to_len = roce_addr_to_sockaddr(&path->dst, path->dport, &path->route.to);
	path->route.socket = socket;
	path->route.tclass = dest->tclass;
	path->route.ttl = dest->ttl ? dest->ttl : ROCE_TTL;
	path->route.group = roce_addr_is_multicast(&dest->addr);
	roce_icrc_flow_init(&path->icrc, &ep->local, &dest->addr, path->sport, path->dport);
	return 0;
}
