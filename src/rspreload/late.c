/* SPDX-License-Identifier: BSD-2-Clause */
#include "rspreload/late.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rspreload/real.h"
#include "rspreload/state.h"
#include "rspreload/sizes.h"
#include "util/explain.h"

#define TURN_POLL_NS   1000000 /* between tries to get the port */
#define OVERTAKE_MS    2000
#define TURN_TRIES     30000
#define NO_ADDRESS_LEN ((socklen_t)0)

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_storage storage;
};

/* The peer's 4 zero bytes stay unread in the TCP connection. */
static int wait_for_peer(int number)
{
	struct pollfd in = { .fd = number, .events = POLLIN };
	uint32_t word;
	ssize_t n;

	do {
		if (REAL(ppoll)(&in, 1, NULL, NULL) < 0)
			return -errno;
		n = REAL(recvfrom)(number, &word, sizeof(word), MSG_PEEK | MSG_DONTWAIT, NULL,
				   NULL);
	} while ((n > 0 && n < (ssize_t)sizeof(word)) || (n < 0 && errno == EAGAIN));
	if (n < 0)
		return -errno;
	return n && !word ? 0 : -EPROTO;
}

static int connect_active(int number, int *out)
{
	union address peer = { 0 };
	socklen_t len = sizeof(peer);
	int rs, err = wait_for_peer(number);

	if (err)
		return err;
	if (REAL(getpeername)(number, &peer.any, &len))
		return -errno;
	rs = rsocket(peer.any.sa_family, SOCK_STREAM, 0);
	if (rs < 0)
		return -errno;
	rsp_sizes_set(rs);
	if (rconnect(rs, &peer.any, len)) {
		err = -errno;
		rclose(rs);
		return err;
	}
	*out = rs;
	return 0;
}

/* Any address of this host, with the port of the TCP connection. */
static int listen_address(int number, union address *own, socklen_t *len)
{
	*len = sizeof(*own);
	if (REAL(getsockname)(number, &own->any, len))
		return -errno;
	if (own->any.sa_family == AF_INET) {
		own->in.sin_addr.s_addr = htonl(INADDR_ANY);
	} else {
		own->in6.sin6_addr = in6addr_any;
		own->in6.sin6_flowinfo = own->in6.sin6_scope_id = 0;
	}
	return 0;
}

/* The port serves as a lock between processes: while another one listens to it, tries again. */
static int listen_in_turn(int number, int *out)
{
	const struct timespec pause = { .tv_nsec = TURN_POLL_NS };
	int tries, on = 1, rs = -1, err;
	union address own = { 0 };
	socklen_t len;

	err = listen_address(number, &own, &len);
	for (tries = 0; !err && tries < TURN_TRIES; tries++) {
		rs = rsocket(own.any.sa_family, SOCK_STREAM, 0);
		if (rs < 0)
			return -errno;
		rsetsockopt(rs, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (!rbind(rs, &own.any, len) && !rlisten(rs, 1)) {
			*out = rs;
			return 0;
		}
		err = errno == EADDRINUSE ? 0 : -errno;
		rclose(rs);
		if (!err)
			nanosleep(&pause, NULL);
	}
	return err ? err : -EADDRINUSE;
}

/*
 * Waits until the peer connects. The peer ends the TCP connection when it has connected, or when it goes
 * away instead. The RDMA request may arrive after the end of the TCP connection, so it is waited for a
 * little longer.
 */
static int wait_for_request(int listener, int tcp)
{
	struct pollfd wait[2] = { { .fd = listener, .events = POLLIN },
				  { .fd = tcp, .events = POLLIN } };

	while (!wait[0].revents) {
		if (rpoll(wait, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (wait[1].revents && !wait[0].revents && rpoll(wait, 1, OVERTAKE_MS) <= 0)
			return -ECONNRESET;
	}
	return 0;
}

static int accept_one(int listener, int number, int *out)
{
	const uint32_t ready = 0;
	int tcp, err;

	if (REAL(sendto)(number, &ready, sizeof(ready), MSG_NOSIGNAL, NULL, NO_ADDRESS_LEN) !=
	    sizeof(ready))
		return -ECONNRESET;
	/* rpoll() calls poll(), which would wait for the number to move; a copy is the kernel's. */
	tcp = REAL(fcntl)(number, F_DUPFD_CLOEXEC, 0);
	if (tcp < 0)
		return -errno;
	err = wait_for_request(listener, tcp);
	REAL(close)(tcp);
	if (err)
		return err;
	*out = raccept(listener, NULL, NULL);
	return *out < 0 ? -errno : 0;
}

static int connect_passive(int number, int *out)
{
	int listener = -1, err = listen_in_turn(number, &listener);

	if (err)
		return err;
	err = accept_one(listener, number, out);
	rclose(listener);
	return err;
}

static void copy_options(int number, int rs)
{
	int flags = REAL(fcntl)(number, F_GETFL), on = 0;
	socklen_t len = sizeof(on);

	rfcntl(rs, F_SETFL, flags & O_NONBLOCK);
	if (!REAL(getsockopt)(number, IPPROTO_TCP, TCP_NODELAY, &on, &len) && on)
		rsetsockopt(rs, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* RSP_LATE_ACTIVE or _PASSIVE: the caller moves the connection. Other kinds: another thread has moved it. */
static enum rsp_kind begin(int number)
{
	enum rsp_kind kind;
	int rs;

	rsp_lock();
	while ((kind = rsp_table_get(&rsp.table, number, &rs)) == RSP_LATE_BUSY)
		pthread_cond_wait(&rsp.late_done, &rsp.lock);
	if (kind == RSP_LATE_ACTIVE || kind == RSP_LATE_PASSIVE)
		rsp_table_set(&rsp.table, number, RSP_LATE_BUSY, 0);
	rsp_unlock();
	return kind;
}

static void finish(int number, int rs, int err)
{
	rsp_lock();
	if (!err)
		err = rsp_table_reserve(&rsp.table, rs);
	if (!err)
		rsp_table_set(&rsp.table, number, RSP_RSOCKET, rs);
	else
		rsp_table_clear(&rsp.table, number);
	pthread_cond_broadcast(&rsp.late_done);
	rsp_unlock();
}

void rsp_late_connect(int number)
{
	enum rsp_kind kind = begin(number);
	int rs = -1, err, saved = errno;

	if (kind != RSP_LATE_ACTIVE && kind != RSP_LATE_PASSIVE)
		return;
	err = kind == RSP_LATE_ACTIVE ? connect_active(number, &rs) : connect_passive(number, &rs);
	if (!err)
		copy_options(number, rs);
	/* -EPROTO: a peer without the library has sent data; the connection stays with TCP. */
	if (err != -EPROTO)
		REAL(shutdown)(number, SHUT_RDWR);
	if (err)
		explain_note("the connection of descriptor %d does not move to RDMA: %s", number,
			     strerror(-err));
	finish(number, rs, err);
	errno = saved;
}
