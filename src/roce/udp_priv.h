/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files behind udp.h, tx.h and rx.h. */
#ifndef ROCE_UDP_PRIV_H
#define ROCE_UDP_PRIV_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "roce/taps.h"
#include "roce/udp.h"
#include "util/api.h"

/* 255 hops are the most there are; this is what everybody starts with. */
#define ROCE_TTL 64

/* Source ports that hosts are spread over; more would be sockets that are hardly used. */
#define ROCE_HOST_SOURCES 64

struct roce_tx;
struct roce_rx;

/* What happens with every packet. */
struct roce_tally {
	_Atomic uint64_t packets, bytes, calls;
};

struct roce_group {
	struct roce_group *next;
	struct roce_addr addr;
	unsigned int joined;
	int fd;
};

/* Where packets leave from. */
struct roce_source {
	int fd;
	uint16_t port;
	/* What the kernel puts on packets that say nothing else; only ep->tuner changes these. */
	uint8_t tclass, ttl;
	uint8_t others; /* sends in a row that wished for something else */
	/* The same of UDP_SEGMENT, 0 for none; and what the latest sends of segments had, how often. */
	uint16_t segment, wished;
	uint8_t alike;
};

struct roce_endpoint {
	struct roce_endpoint_opts opts;
	struct roce_addr local;
	uint16_t port;
	bool ipv4;
	bool gro;
	atomic_bool hops; /* are heard */
	atomic_bool segment;
	/* The first is the one that receives; then in order of opening, until the close. */
	_Atomic uint16_t sources;
	pthread_mutex_t source_lock;
	struct roce_source source[1 + ROCE_MAX_SOURCES];
	uint16_t by_host[ROCE_HOST_SOURCES]; /* index into source[]; 0: not opened yet */
	_Atomic(const struct roce_tx *)
		tuner; /* the first batch; others say all with each packet */
	_Atomic(const struct roce_rx *) taker; /* the first receiver */
	uint32_t sndbuf;
	uint32_t rcvbuf;
	const struct roce_taps *taps; /* never NULL */

	/* Groups: by their lock; the receiver takes it, too. */
	pthread_mutex_t group_lock;
	struct roce_group *groups;
	int group_fd;
	atomic_bool has_groups;

	/* What the probes of the latest round look like; -1 while none has come back. */
	_Atomic uint64_t cookie;
	_Atomic int64_t index;

	struct {
		_Atomic uint64_t tx_full, tx_lost;
		_Atomic uint64_t groups_full; /* of groups that were left */
		_Atomic uint64_t rx_drop[ROCE_DROP_COUNT];
		/* [1] by the tuner and the taker, one thread at a time each; [0] by all others */
		struct roce_tally tx[2], rx[2];
	} count;
};

static inline void roce_count(_Atomic uint64_t *counter, uint64_t n)
{
	if (n)
		atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Of a counter that nobody else writes at the time: a locked instruction costs what a header does. */
static inline void roce_count_sole(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t was = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, was + n, memory_order_relaxed);
}

static inline void roce_count_call(struct roce_tally tally[2], bool sole)
{
	if (likely(sole))
		roce_count_sole(&tally[1].calls, 1);
	else
		roce_count(&tally[0].calls, 1);
}

static inline void roce_count_packets(struct roce_tally tally[2], bool sole, uint64_t packets,
				      uint64_t bytes)
{
	if (likely(sole)) {
		roce_count_sole(&tally[1].packets, packets);
		roce_count_sole(&tally[1].bytes, bytes);
	} else {
		roce_count(&tally[0].packets, packets);
		roce_count(&tally[0].bytes, bytes);
	}
}

static inline uint64_t roce_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/*
 * libc makes these places to be cancelled at, which costs and must not be; its syscall() costs as much
 * again. The thread sanitizer has to see them, though: a packet orders what its sender did before what
 * its receiver does.
 */
#if defined(__SANITIZE_THREAD__)
#define ROCE_LIBC_CALLS
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ROCE_LIBC_CALLS
#endif
#endif

/* -1 and errno on failure. */
static inline long roce_call(long number, long a, const void *b, long c, long d, const void *e,
			     long f)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	register const void *r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long got;

	__asm__ volatile("syscall"
			 : "=a"(got)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (likely(got >= 0))
		return got;
	errno = -got;
	return -1;
#else
	return syscall(number, a, b, c, d, e, f);
#endif
}

static inline ssize_t roce_recvmsg(int fd, struct msghdr *msg, int flags)
{
#ifdef ROCE_LIBC_CALLS
	return recvmsg(fd, msg, flags);
#else
	return roce_call(SYS_recvmsg, fd, msg, flags, 0, NULL, 0);
#endif
}

static inline int roce_recvmmsg(int fd, struct mmsghdr *msg, unsigned int count, int flags)
{
#ifdef ROCE_LIBC_CALLS
	return recvmmsg(fd, msg, count, flags, NULL);
#else
	return roce_call(SYS_recvmmsg, fd, msg, count, flags, NULL, 0);
#endif
}

static inline ssize_t roce_sendmsg(int fd, const struct msghdr *msg, int flags)
{
#ifdef ROCE_LIBC_CALLS
	return sendmsg(fd, msg, flags);
#else
	return roce_call(SYS_sendmsg, fd, msg, flags, 0, NULL, 0);
#endif
}

static inline ssize_t roce_sendto(int fd, const void *data, size_t len, int flags,
				  const struct sockaddr *to, socklen_t to_len)
{
#ifdef ROCE_LIBC_CALLS
	return sendto(fd, data, len, flags, to, to_len);
#else
	return roce_call(SYS_sendto, fd, data, len, flags, to, to_len);
#endif
}

enum roce_socket_kind {
	ROCE_SOCKET_MAIN,
	ROCE_SOCKET_SOURCE,
	ROCE_SOCKET_GROUP,
};

static inline bool roce_socket_hears(enum roce_socket_kind kind)
{
	return kind != ROCE_SOCKET_SOURCE;
}

/* With its lock, where others may see the endpoint. */
void roce_source_add(struct roce_endpoint *ep, struct roce_source source);
/* Index into ep->source of the socket with this port; 0: none but the endpoint's own. */
uint16_t roce_source_find(const struct roce_endpoint *ep, uint16_t port);

/* A socket of the endpoint's IP version, or -errno. */
int roce_socket_make(const struct roce_endpoint *ep, enum roce_socket_kind kind);
/* The same, bound; -EADDRINUSE comes without a sentence. */
int roce_socket_open(const struct roce_endpoint *ep, enum roce_socket_kind kind,
		     const struct roce_addr *bind_to, uint16_t port);

/* Who holds UDP port `port` at `addr`, in words; best effort, never empty. */
void roce_port_holder(const struct roce_addr *addr, uint16_t port, char *text, size_t size);

void roce_groups_leave_all(struct roce_endpoint *ep);
/* What the kernel has found no room for in the sockets of groups. */
uint64_t roce_groups_full(const struct roce_endpoint *ep);
/* The same of one socket. */
uint32_t roce_socket_full(int fd);

/* The probe of one socket of the group (steer.c). */
#define ROCE_PROBE_BYTES 16
#define ROCE_PROBE_MAGIC 0xfe564250u
/* Whether the datagram is one; if it is ours, its index is taken. */
bool roce_probe_take(struct roce_endpoint *ep, const uint8_t *data, size_t len);

#endif
