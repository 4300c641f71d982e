/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake, over a SOCK_SEQPACKET socket with an abstract name that only readers of the host
 * directory know.
 *
 *	connects			accepts
 *	HELLO + rings, segment,
 *	  eventfd, mailbox,
 *	  share memfd		->
 *				<-	WELCOME + segment, eventfd, mailbox, share memfd
 *				<-	or YIELD: wait, we are connecting to you
 *				<-	or REFUSE
 *
 * A viewer, which is not in the directory, sends ASK instead, and gets ANSWER with a memory file that describes
 * the process (ask.h). That connection is closed then.
 *
 * When both connect at once, the attempt of the process with the lower id counts: it answers YIELD
 * to the other, which then accepts. The socket stays open for the life of the link and carries
 * nothing more.
 */
#include "fabric/handshake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabric/barrier.h"
#include "fabric/clock.h"
#include "fabric/dial.h"
#include "fabric/directory.h"
#include "fabric/handshake_msg.h"
#include "fabric/link.h"
#include "fabric/link_cold.h"
#include "fabric/mailbox.h"
#include "fabric/segment.h"
#include "fabric/service.h"
#include "fabric/state.h"
#include "util/explain.h"

#define YIELD_NS 100000000u
#define PAUSE_NS 10000000u

/* The contents of a HELLO or WELCOME, checked and mapped. */
struct offer {
	const void *segment;
	uint64_t segment_size;
	void *mailbox;
	uint64_t mailbox_size;
	struct fabric_ring_pair rings; /* HELLO only */
	int wake_fd, share_fd;
	bool barrier;
	pid_t pid;
};

/* A connection on which HELLO has not come yet. */
struct handshake_inbound {
	LIST_ENTRY(handshake_inbound) entry;
	int sock;
	uint64_t deadline_ns;
};

/* ---- offers ---- */

/* The descriptors of this process, which follow the rings in a HELLO. */
static size_t own_fds(struct handshake_msg *m, int *fds)
{
	size_t count = 0;
	int share = fabric.config.share_fd();

	fds[count++] = fabric_segment_fd();
	fds[count++] = fabric_service_wake_fd();
	m->segment_size = fabric_segment_size();
	m->flags = barrier_has_global() ? FLAG_BARRIER : 0;
	if (fabric_mailbox_fd() >= 0) {
		fds[count++] = fabric_mailbox_fd();
		m->flags |= FLAG_MAILBOX;
	}
	if (share >= 0) {
		fds[count++] = share;
		m->flags |= FLAG_SHARE;
	}
	return count;
}

/* An eventfd has no file type; a write to anything else could block, or raise SIGPIPE. */
static int check_wake(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || (st.st_mode & S_IFMT) || fcntl(fd, F_SETFL, O_NONBLOCK))
		return -EPROTO;
	return 0;
}

static void offer_drop(struct offer *offer)
{
	fabric_segment_unmap(offer->segment, offer->segment_size);
	fabric_mailbox_unmap(offer->mailbox, offer->mailbox_size);
	fabric_ring_unmap(&offer->rings);
	handshake_close_fds(&offer->wake_fd, 1);
	handshake_close_fds(&offer->share_fd, 1);
}

static size_t count_fds(const struct handshake_msg *m)
{
	return 2u + !!(m->flags & FLAG_MAILBOX) + !!(m->flags & FLAG_SHARE);
}

/* Takes over the descriptors that it uses; the caller closes the rest. */
static int offer_take(struct offer *offer, const struct handshake_msg *m, int *fds, size_t count)
{
	int err;

	*offer = (struct offer){ .wake_fd = -1, .share_fd = -1 };
	if (count != count_fds(m))
		return -EPROTO;
	err = check_wake(fds[1]);
	if (!err)
		err = fabric_segment_map(fds[0], m->segment_size, &offer->segment);
	if (err)
		return err;
	offer->segment_size = m->segment_size;
	if (m->flags & FLAG_MAILBOX) {
		err = fabric_mailbox_map(fds[2], &offer->mailbox);
		if (err) {
			fabric_segment_unmap(offer->segment, offer->segment_size);
			return err;
		}
		offer->mailbox_size = fabric_mailbox_size();
	}
	offer->barrier = m->flags & FLAG_BARRIER;
	offer->wake_fd = fds[1];
	fds[1] = -1;
	if (m->flags & FLAG_SHARE) {
		offer->share_fd = fds[count - 1];
		fds[count - 1] = -1;
	}
	return 0;
}

static void offer_apply(const struct offer *offer, struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;

	cold->segment = offer->segment;
	cold->segment_size = offer->segment_size;
	cold->mailbox = offer->mailbox;
	cold->mailbox_size = offer->mailbox_size;
	cold->peer_barrier = offer->barrier;
	cold->wake_fd = offer->wake_fd;
	cold->share_fd = offer->share_fd;
}

/* ---- the link's socket ---- */

static void drop_socket(struct fabric_link *link)
{
	if (link->cold->sock < 0)
		return;
	fabric_service_del_fd(link->cold->sock);
	close(link->cold->sock);
	link->cold->sock = -1;
}

static void take_answer(struct fabric_link *link)
{
	int fds[HELLO_FDS] = { -1, -1, -1, -1, -1 };
	struct offer offer;
	struct handshake_msg m;
	size_t count;
	int err;

	err = handshake_receive(link->cold->sock, &m, fds, &count);
	if (err == -EAGAIN)
		return;
	if (!err && m.kind == YIELD) {
		drop_socket(link);
		fabric_ring_unmap(&link->cold->rings);
		link->cold->retry_ns = fabric_now_ns() + YIELD_NS;
		return;
	}
	if (!err && (m.kind != WELCOME || m.from != link->peer || m.to != fabric_self()))
		err = -EPROTO;
	if (!err)
		err = offer_take(&offer, &m, fds, count);
	handshake_close_fds(fds, count);
	if (err && fabric_link_lacks(link, err, fabric_now_ns())) {
		drop_socket(link);
		fabric_ring_unmap(&link->cold->rings);
		return;
	}
	if (err) {
		explain_note("process %d does not accept our link: %s", (int)link->cold->pid,
			     m.kind == REFUSE ? "it refused" : strerror(-err));
		fabric_link_down(link);
		return;
	}
	offer_apply(&offer, link);
	fabric_link_up(link);
}

static void on_link_socket(void *arg, uint32_t events)
{
	struct fabric_link *link = arg;

	fabric_link_hold(link);
	if (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		take_answer(link);
	else
		/* After the handshake only the hang-up may come. */
		fabric_link_down(link);
	fabric_link_put(link);
}

/* ---- connecting ---- */

static int dial_peer(fabric_id_t peer, int *sock)
{
	struct fabric_process process;
	int err = fabric_process_find(peer, &process);

	return err ? err : dial(process.token, sock);
}

static int send_hello(struct fabric_link *link, int sock)
{
	struct fabric_link_cold *cold = link->cold;
	struct handshake_msg m = { .kind = HELLO, .to = link->peer };
	int fds[HELLO_FDS], err;
	size_t count;

	err = fabric_ring_memfd(fabric.config.ring_size, 2, &fds[0]);
	if (err)
		return err;
	err = fabric_ring_map(fds[0], fabric.config.ring_size, 2, &cold->rings);
	if (err)
		goto close_rings;
	count = 1 + own_fds(&m, fds + 1);
	m.ring_size = fabric.config.ring_size;
	err = handshake_send(sock, &m, fds, count);
	/* Too many descriptors are in flight between processes. */
	if (err == -ETOOMANYREFS)
		err = -EAGAIN;
	if (err)
		fabric_ring_unmap(&cold->rings);
close_rings:
	close(fds[0]);
	return err;
}

int handshake_connect(struct fabric_link *link)
{
	struct fabric_link_cold *cold = link->cold;
	int sock = -1, err;

	err = dial_peer(link->peer, &sock);
	if (err)
		return err;
	err = dial_check(sock, &cold->pid);
	if (!err)
		err = send_hello(link, sock);
	if (err)
		goto close_sock;
	cold->tx_ring = 0;
	cold->sock = sock;
	err = fabric_service_add_fd(sock, EPOLLIN, on_link_socket, link);
	if (!err)
		return 0;
	cold->sock = -1;
	fabric_ring_unmap(&cold->rings);
close_sock:
	close(sock);
	return err;
}

/* ---- accepting ---- */

static void answer(int sock, enum handshake_kind kind, fabric_id_t to)
{
	struct handshake_msg m = { .kind = (uint16_t)kind, .to = to };

	/* The connection is closed next, whether or not this arrives. */
	handshake_send(sock, &m, NULL, 0);
}

static bool hung_up(int sock)
{
	char byte;
	ssize_t n = recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* True when the peer has to wait: there is a link already, or our own attempt counts. */
static bool peer_must_yield(fabric_id_t peer)
{
	struct fabric_link *link = fabric_link_find(peer);
	bool yield = false;

	if (!link)
		return false;
	if (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		yield = link->cold->sock >= 0 && fabric_self() < peer;
	else if (hung_up(link->cold->sock))
		/* The peer closed that link before it connected again. */
		fabric_link_down(link);
	else
		yield = true;
	fabric_link_put(link);
	return yield;
}

static int send_welcome(int sock, fabric_id_t to)
{
	struct handshake_msg m = { .kind = WELCOME, .to = to };
	int fds[HELLO_FDS];
	size_t count = own_fds(&m, fds);

	return handshake_send(sock, &m, fds, count);
}

/* Checks the contents of a HELLO and answers it. */
static int welcome(int sock, const struct handshake_msg *m, int *fds, size_t count,
		   struct offer *offer)
{
	int err;

	if (count < 1)
		return -EPROTO;
	err = offer_take(offer, m, fds + 1, count - 1);
	if (!err)
		err = dial_check(sock, &offer->pid);
	if (!err)
		err = fabric_ring_map(fds[0], m->ring_size, 2, &offer->rings);
	if (!err)
		err = send_welcome(sock, m->from);
	if (err)
		offer_drop(offer);
	return err;
}

/* Gives the socket to a new link, or to the link whose own attempt yields. */
static int link_by_hello(int sock, const struct handshake_msg *m, const struct offer *offer)
{
	struct fabric_link *link = fabric_link_find_or_create(m->from);
	int err;

	if (!link)
		return -ENOMEM;
	fabric_link_activate(link);
	err = fabric_service_add_fd(sock, EPOLLIN, on_link_socket, link);
	if (err) {
		fabric_link_kill(link);
		fabric_link_put(link);
		return err;
	}
	drop_socket(link);
	fabric_ring_unmap(&link->cold->rings);
	offer_apply(offer, link);
	link->cold->rings = offer->rings;
	link->cold->pid = offer->pid;
	link->cold->tx_ring = 1;
	link->cold->sock = sock;
	fabric_link_up(link);
	fabric_link_put(link);
	return 0;
}

/* What the process has to say of itself; an answer without a descriptor when that is nothing. */
static void answer_question(int sock)
{
	struct handshake_msg m = { .kind = ANSWER };
	int fd = fabric.config.describe ? fabric.config.describe() : -1;

	/* The connection is closed next, whether or not this arrives. */
	handshake_send(sock, &m, &fd, fd >= 0);
	handshake_close_fds(&fd, 1);
}

static void take_hello(struct handshake_inbound *in)
{
	int fds[HELLO_FDS] = { -1, -1, -1, -1, -1 };
	struct fabric_process process;
	struct offer offer;
	struct handshake_msg m;
	size_t count;
	int err;

	err = handshake_receive(in->sock, &m, fds, &count);
	if (err == -EAGAIN)
		return;
	in->deadline_ns = 0;
	fabric_service_del_fd(in->sock);
	/* A peer that has yielded to us meanwhile has hung up; its HELLO does not count. */
	if (!err && hung_up(in->sock))
		err = -EPIPE;
	if (!err && m.kind == ASK && m.to == fabric_self()) {
		answer_question(in->sock);
		goto close_fds;
	}
	if (!err &&
	    (m.kind != HELLO || m.to != fabric_self() || fabric_process_find(m.from, &process)))
		err = -EPROTO;
	if (!err && peer_must_yield(m.from)) {
		answer(in->sock, YIELD, m.from);
		goto close_fds;
	}
	if (!err)
		err = welcome(in->sock, &m, fds, count, &offer);
	if (err) {
		if (err != -EPIPE)
			fabric_count(FABRIC_COUNT_LINKS_REFUSED, 1);
		answer(in->sock, REFUSE, m.from);
		goto close_fds;
	}
	err = link_by_hello(in->sock, &m, &offer);
	if (err)
		offer_drop(&offer);
	else
		in->sock = -1;
close_fds:
	handshake_close_fds(fds, count);
}

static void on_inbound(void *arg, uint32_t events)
{
	take_hello(arg);
}

static void on_listener(void *arg, uint32_t events)
{
	struct handshake_inbound *in;
	pid_t pid;
	int sock;

	sock = accept4(fabric.handshake.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (sock < 0) {
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return;
		/* No descriptors: the listener stays readable, so it is not watched for a while. */
		fabric_service_del_fd(fabric.handshake.listener);
		fabric.handshake.listener_paused = true;
		fabric.handshake.listener_retry_ns = fabric_now_ns() + PAUSE_NS;
		return;
	}
	if (dial_check(sock, &pid))
		goto close_sock;
	in = calloc(1, sizeof(*in));
	if (!in)
		goto close_sock;
	in->sock = sock;
	in->deadline_ns = fabric_now_ns() + (uint64_t)fabric.config.handshake_ms * 1000000u;
	if (fabric_service_add_fd(sock, EPOLLIN, on_inbound, in))
		goto free_in;
	LIST_INSERT_HEAD(&fabric.handshake.inbound, in, entry);
	return;
free_in:
	free(in);
close_sock:
	close(sock);
}

static void inbound_free(struct handshake_inbound *in)
{
	LIST_REMOVE(in, entry);
	if (in->sock >= 0) {
		fabric_service_del_fd(in->sock);
		close(in->sock);
	}
	free(in);
}

uint64_t handshake_iterate(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;
	struct handshake_inbound *in, *next;

	for (in = LIST_FIRST(&fabric.handshake.inbound); in; in = next) {
		next = LIST_NEXT(in, entry);
		if (in->deadline_ns <= now_ns)
			inbound_free(in);
		else if (in->deadline_ns < next_ns)
			next_ns = in->deadline_ns;
	}
	if (!fabric.handshake.listener_paused)
		return next_ns;
	if (now_ns >= fabric.handshake.listener_retry_ns) {
		fabric.handshake.listener_paused =
			fabric_service_add_fd(fabric.handshake.listener, EPOLLIN, on_listener,
					      NULL) != 0;
		fabric.handshake.listener_retry_ns = now_ns + PAUSE_NS;
	}
	return fabric.handshake.listener_paused && fabric.handshake.listener_retry_ns < next_ns
		       ? fabric.handshake.listener_retry_ns
		       : next_ns;
}

/* ---- begin and end ---- */

int handshake_listen(const uint8_t *token)
{
	struct sockaddr_un name;
	socklen_t len = dial_name(token, &name);
	int sock, err;

	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return explain(errno, "no socket for peers to connect to: %s", strerror(errno));
	if (bind(sock, (struct sockaddr *)&name, len) || listen(sock, SOMAXCONN)) {
		err = explain(errno, "the socket for peers cannot listen: %s", strerror(errno));
		close(sock);
		return err;
	}
	fabric.handshake.listener = sock;
	/* The first iteration of the service thread, whenever that is, begins to watch it. */
	fabric.handshake.listener_paused = true;
	fabric.handshake.listener_retry_ns = 0;
	return 0;
}

void handshake_unlisten(void)
{
	if (fabric.handshake.listener >= 0)
		close(fabric.handshake.listener);
	fabric.handshake.listener = -1;
	fabric.handshake.listener_paused = false;
}

void handshake_shutdown(void)
{
	struct handshake_inbound *in, *next;

	for (in = LIST_FIRST(&fabric.handshake.inbound); in; in = next) {
		next = LIST_NEXT(in, entry);
		inbound_free(in);
	}
}

/* The epoll set is still the parent's: the sockets stay in it. */
void handshake_forked(void)
{
	struct handshake_inbound *in;

	while ((in = LIST_FIRST(&fabric.handshake.inbound))) {
		LIST_REMOVE(in, entry);
		if (in->sock >= 0)
			close(in->sock);
		free(in);
	}
	handshake_unlisten();
}
