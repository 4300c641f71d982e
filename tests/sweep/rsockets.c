/* SPDX-License-Identifier: BSD-2-Clause */
/* rsockets: streams and datagrams, both ends in this process, without waiting for ever. */
#include "scenario.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/select.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#define LIMIT_MS (a.strict ? 20000 : 300)
#define LEN      1000

static struct sockaddr_in local_address(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	memcpy(&at.sin_addr, a.gid.raw + 12, 4);
	return at;
}

/* All adapters are opened: librdmacm keeps those that it has opened. */
static void open_all(void)
{
	struct ibv_context **devices = rdma_get_devices(NULL);

	if (MAKE(devices))
		rdma_free_devices(devices);
}

static bool wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return did(rpoll(&p, 1, LIMIT_MS) == 1, "rpoll");
}

/* A socket that never waits. */
static int open_socket(int type)
{
	int fd = rsocket(AF_INET, type, 0);

	if (did(fd >= 0, "rsocket"))
		DO(rfcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

static void end(int fd)
{
	if (fd >= 0)
		rclose(fd);
}

static void write_some(int fd)
{
	struct iovec iov = { a.buf, LEN };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	did(rsend(fd, a.buf, LEN, 0) == LEN, "rsend");
	did(rwrite(fd, a.buf, LEN) == LEN, "rwrite");
	did(rwritev(fd, &iov, 1) == LEN, "rwritev");
	did(rsendmsg(fd, &msg, 0) == LEN, "rsendmsg");
}

/* Reads what was written, each time by another call. */
static void read_all(int fd)
{
	struct iovec iov = { a.buf + HALF, LEN };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n, left = 4 * LEN;

	for (int i = 0; left > 0; i++) {
		if (!wait_for(fd, POLLIN))
			return;
		n = i % 5 == 0   ? rrecv(fd, a.buf + HALF, LEN, 0)
		    : i % 5 == 1 ? rread(fd, a.buf + HALF, LEN)
		    : i % 5 == 2 ? rreadv(fd, &iov, 1)
		    : i % 5 == 3 ? rrecvmsg(fd, &msg, 0)
				 : rrecvfrom(fd, a.buf + HALF, LEN, 0, NULL, NULL);
		if (!did(n > 0, "a read"))
			return;
		left -= n;
	}
}

static void ask(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);
	int on = 1;
	socklen_t size = sizeof(on);

	DO(rgetpeername(fd, (struct sockaddr *)&at, &len));
	len = sizeof(at);
	DO(rgetsockname(fd, (struct sockaddr *)&at, &len));
	DO(rsetsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
	DO(rgetsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size));
}

static void wait_otherwise(int fd)
{
	struct timeval limit = { .tv_sec = a.strict ? 20 : 0 };
	struct epoll_event event = { .events = EPOLLOUT, .data.fd = fd };
	int ep = repoll_create(0);
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	did(rselect(fd + 1, NULL, &set, NULL, &limit) == 1, "rselect");
	if (!did(ep >= 0, "repoll_create"))
		return;
	if (DO(repoll_ctl(ep, EPOLL_CTL_ADD, fd, &event)))
		did(repoll_wait(ep, &event, 1, LIMIT_MS) == 1, "repoll_wait");
	rclose(ep);
}

static void map(int from, int to)
{
	off_t at = riomap(to, a.buf + HALF, 4096, PROT_WRITE, 0, -1);

	if (!did(at != -1, "riomap"))
		return;
	/* The other end says where it is, in a message of its own. */
	if (did(rsend(to, a.buf, 1, 0) == 1, "rsend") && wait_for(from, POLLIN) &&
	    did(rrecv(from, a.buf, 1, 0) == 1, "rrecv"))
		did(riowrite(from, a.buf, 64, at, 0) == 64, "riowrite");
	END(riounmap(to, a.buf + HALF, 4096));
}

void part_streams(void)
{
	struct sockaddr_in at = local_address();
	int listener = open_socket(SOCK_STREAM), client = -1, server = -1, on = 16;
	socklen_t len = sizeof(at);

	open_all();
	if (listener < 0 || !DO(rbind(listener, (struct sockaddr *)&at, sizeof(at))) ||
	    !DO(rsetsockopt(listener, SOL_RDMA, RDMA_IOMAPSIZE, &on, sizeof(on))) ||
	    !DO(rlisten(listener, 4)) || !DO(rgetsockname(listener, (struct sockaddr *)&at, &len)))
		goto end;
	client = open_socket(SOCK_STREAM);
	if (client < 0)
		goto end;
	DO(rsetsockopt(client, SOL_RDMA, RDMA_IOMAPSIZE, &on, sizeof(on)));
	if (rconnect(client, (struct sockaddr *)&at, sizeof(at)) &&
	    !did(errno == EINPROGRESS, "rconnect"))
		goto end;
	if (!wait_for(listener, POLLIN))
		goto end;
	server = raccept(listener, NULL, NULL);
	if (!did(server >= 0, "raccept") || !wait_for(client, POLLOUT))
		goto end;
	DO(rfcntl(server, F_SETFL, O_NONBLOCK));
	ask(client);
	write_some(client);
	read_all(server);
	wait_otherwise(client);
	map(client, server);
	DO(rshutdown(client, SHUT_RDWR));
end:
	end(server);
	end(client);
	end(listener);
}

void part_dgram_sockets(void)
{
	struct sockaddr_in at = local_address(), from;
	int one = open_socket(SOCK_DGRAM), two = open_socket(SOCK_DGRAM);
	socklen_t len = sizeof(at);

	open_all();
	if (one >= 0 && two >= 0 && DO(rbind(two, (struct sockaddr *)&at, sizeof(at))) &&
	    DO(rgetsockname(two, (struct sockaddr *)&at, &len)) &&
	    did(rsendto(one, a.buf, 100, 0, (struct sockaddr *)&at, sizeof(at)) == 100,
		"rsendto") &&
	    receives_come() && wait_for(two, POLLIN)) {
		len = sizeof(from);
		did(rrecvfrom(two, a.buf + HALF, 100, 0, (struct sockaddr *)&from, &len) == 100,
		    "rrecvfrom");
	}
	end(one);
	end(two);
}
