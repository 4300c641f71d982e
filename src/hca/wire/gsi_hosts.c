/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gsi.lock guards the list.
 */
#include "hca/wire/gsi_hosts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "hca/device/port.h"
#include "hca/hca.h"
#include "roce/addr.h"
#include "roce/endpoint.h"

#define ASK_NS    900000000u
#define FORGET_NS 10000000000u /* without a question */
#define HOSTS     256

struct gsi_host {
	LIST_ENTRY(gsi_host) entry;
	struct roce_addr addr;
	int fd; /* connected */
	uint64_t asked_ns;
	bool is_refused;
};

static int open_socket(const struct roce_addr *from, const struct roce_addr *to)
{
	union roce_sockaddr sa;
	socklen_t len = roce_addr_to_sockaddr(from, 0, &sa);
	int fd = socket(sa.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (!bind(fd, &sa.any, len)) {
		len = roce_addr_to_sockaddr(to, ROCE_UDP_PORT, &sa);
		if (!connect(fd, &sa.any, len))
			return fd;
	}
	close(fd);
	return -EADDRNOTAVAIL;
}

static void forget(struct gsi_host *h)
{
	LIST_REMOVE(h, entry);
	close(h->fd);
	free(h);
}

static struct gsi_host *find(const struct roce_addr *addr, uint64_t now_ns)
{
	struct gsi_host *h, *next, *found = NULL;
	unsigned int count = 0;

	for (h = LIST_FIRST(&hca.wire.gsi.hosts); h; h = next) {
		next = LIST_NEXT(h, entry);
		if (h->addr.ifindex == addr->ifindex &&
		    !memcmp(h->addr.gid, addr->gid, sizeof(addr->gid)))
			found = h;
		else if (now_ns - h->asked_ns > FORGET_NS)
			forget(h);
		else
			count++;
	}
	if (found || count >= HOSTS)
		return found;
	h = calloc(1, sizeof(*h));
	if (h)
		h->addr = *addr;
	return h;
}

static struct gsi_host *find_or_open(const struct roce_addr *from, const struct roce_addr *to,
				     uint64_t now_ns)
{
	struct gsi_host *h = find(to, now_ns);

	if (!h || h->asked_ns)
		return h;
	h->fd = open_socket(from, to);
	if (h->fd < 0) {
		free(h);
		return NULL;
	}
	LIST_INSERT_HEAD(&hca.wire.gsi.hosts, h, entry);
	return h;
}

static void ask(struct gsi_host *h, uint64_t now_ns)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (h->asked_ns && now_ns - h->asked_ns < ASK_NS)
		return;
	getsockopt(h->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	/* The refusal of an old packet: a process may have started since. */
	if (now_ns - h->asked_ns > 3 * ASK_NS)
		h->is_refused = false;
	else if (err == ECONNREFUSED)
		h->is_refused = true;
	h->asked_ns = now_ns;
	if (send(h->fd, "", 0, 0) && errno == ECONNREFUSED)
		h->is_refused = true;
}

bool hca_gsi_host_refuses(const struct hca_adapter *adapter, const struct hca_av *to)
{
	struct roce_addr from_addr, to_addr;
	uint64_t now_ns = hca_now_ns();
	struct hca_gid_entry from;
	struct gsi_host *h;
	bool refuses = false;

	if (!to->has_grh || !hca_port_gid_quick(adapter, to->port, to->sgid_index, &from))
		return false;
	from_addr.ifindex = to_addr.ifindex = from.ifindex;
	memcpy(from_addr.gid, from.gid.raw, sizeof(from_addr.gid));
	memcpy(to_addr.gid, to->dgid.raw, sizeof(to_addr.gid));
	pthread_mutex_lock(&hca.wire.gsi.lock);
	h = find_or_open(&from_addr, &to_addr, now_ns);
	if (h) {
		ask(h, now_ns);
		refuses = h->is_refused;
	}
	pthread_mutex_unlock(&hca.wire.gsi.lock);
	return refuses;
}

void gsi_hosts_close_inherited(void)
{
	while (!LIST_EMPTY(&hca.wire.gsi.hosts))
		forget(LIST_FIRST(&hca.wire.gsi.hosts));
}
