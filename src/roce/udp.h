/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints: this process's end of the wire at one local address, an ordinary UDP socket on port
 * 4791. Packets leave through tx.h and arrive through rx.h. Nothing here has a thread; the caller
 * polls the descriptors.
 *
 * Several processes of one user may have endpoints at one address. The kernel then needs to know
 * whose packets are whose: roce_endpoint_steer() hands it a program that picks a process by the
 * packet's destination QP. A process is known to that program by its index in the group of sockets,
 * which follows the order of opening, except that the last one moves into the place of one that
 * closes. roce_endpoint_probe() and roce_endpoint_index() find one's own; what lands astray
 * meanwhile is the caller's to forward.
 *
 * Locking: sockets are the kernel's; counters are atomic. Opening, closing, joining and steering
 * one endpoint are for one thread at a time.
 */
#ifndef ROCE_UDP_H
#define ROCE_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/codec.h"

#define ROCE_UDP_PORT 4791
/* Sockets to send from, at one address, beside the endpoint's own. */
#define ROCE_MAX_SOURCES 320

/*
 * Packets to QPs of one block (QP number without its lowest bits) may share a send, so they share
 * the socket that receives them: one block belongs to one process.
 */
#define ROCE_QPN_BLOCK_BITS 8

struct roce_taps;

struct roce_endpoint_opts {
	uint16_t port;   /* 0: ROCE_UDP_PORT */
	uint32_t sndbuf; /* bytes wished for; 0: plenty */
	uint32_t rcvbuf;
	bool no_segment;              /* no UDP_SEGMENT (benchmarks) */
	bool no_gro;                  /* no UDP_GRO */
	bool lonely;                  /* the port is not shared with other processes */
	const struct roce_taps *taps; /* capture and faults, or NULL; outlives the endpoint */
};

struct roce_endpoint;

/*
 * -EADDRINUSE when another user, or a program that does not share, has the port (the sentence
 * says who, where /proc tells); -EADDRNOTAVAIL when the address is not local. NULL opts: defaults.
 */
int roce_endpoint_open(const struct roce_addr *local, const struct roce_endpoint_opts *opts,
		       struct roce_endpoint **out);
void roce_endpoint_close(struct roce_endpoint *ep);

/* Readable: packets for this address. Writable: there is room again after -EAGAIN. */
int roce_endpoint_fd(const struct roce_endpoint *ep);
/* Whether it is readable. A system call. */
bool roce_endpoint_has_packets(const struct roce_endpoint *ep);
/* Readable: packets for a group that was joined. All of them stay the same until close. */
int roce_endpoint_group_fd(const struct roce_endpoint *ep);

/*
 * A port that packets may leave from, beside the endpoint's own; it stays open. Any thread, any
 * time. -EADDRINUSE when a program that does not share has it, -EACCES when it is reserved,
 * -ENOSPC when there are ROCE_MAX_SOURCES.
 */
int roce_endpoint_source(struct roce_endpoint *ep, uint16_t port);
/*
 * A source port from 0xc000 on for all packets to a host, opened by the first call for it; 0: none could be
 * opened. Hosts share ports when there are many. Any thread.
 */
uint16_t roce_endpoint_source_for(struct roce_endpoint *ep, const struct roce_addr *host);

const struct roce_addr *roce_endpoint_addr(const struct roce_endpoint *ep);
/* The address is another interface's now, by which packets to groups leave from then on. */
void roce_endpoint_moved(struct roce_endpoint *ep);
/* The InfiniBand MTU of the interface, 256 to 4096, as it is now. */
uint32_t roce_endpoint_mtu(const struct roce_endpoint *ep);

struct roce_endpoint_limits {
	uint32_t sndbuf; /* bytes, as the kernel accounts them */
	uint32_t rcvbuf;
	bool segment; /* UDP_SEGMENT is in use; goes off when an interface refuses it */
	bool gro;
};

void roce_endpoint_limits(const struct roce_endpoint *ep, struct roce_endpoint_limits *out);

/*
 * Has packets say how many hops they had left. Every one of them pays for it; receivers of datagrams,
 * captures and who passes packets on ask for it, and are told 64 otherwise. Stays so.
 */
void roce_endpoint_hear_hops(struct roce_endpoint *ep);

/* Whether what lies unread fills half of the socket. A system call. */
bool roce_endpoint_is_pressed(const struct roce_endpoint *ep);

/* ---- several processes at one address ---- */

/* Packets to QPs first..last go to socket `index` of the group. */
struct roce_steer {
	uint32_t first;
	uint32_t last;
	uint32_t index;
};

#define ROCE_STEER_MAX 680u

/*
 * Replaces the whole group's program. Rows in any order, but they must not overlap; a QP in none of
 * them goes to socket `rest`, and to one by the kernel's own hash when there is no such socket; to any of
 * the rows' where the kernel does not take a longer program.
 */
int roce_endpoint_steer(struct roce_endpoint *ep, const struct roce_steer *rows, size_t count,
			uint32_t rest);
/*
 * Takes the group's program away, whoever handed it over, since it costs every packet. 0 also when there
 * is none; -errno when the kernel keeps it (before 5.3).
 */
int roce_endpoint_unsteer(struct roce_endpoint *ep);
/* Sends one tiny datagram to each of the sockets 0..count-1; every process may do so at any time.
 */
int roce_endpoint_probe(struct roce_endpoint *ep, uint32_t count);
/*
 * Takes the probes that have come back so far, before anybody else reads the socket: on most kernels
 * they are there as soon as they are sent. Stops at the first packet that is none.
 */
void roce_endpoint_hear_probes(struct roce_endpoint *ep);
/* What the last probe that came back says; -ENOENT while none has. Needs a program in place. */
int roce_endpoint_index(const struct roce_endpoint *ep, uint32_t *index);

/* ---- multicast ---- */

/*
 * Counted: as many leaves as joins. The interface is the group's, or else the endpoint's. -EINVAL for what
 * is not a group of the endpoint's IP version.
 */
int roce_endpoint_join(struct roce_endpoint *ep, const struct roce_addr *group);
int roce_endpoint_leave(struct roce_endpoint *ep, const struct roce_addr *group);

/* ---- counters ---- */

struct roce_counters {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* BTH through ICRC */
	uint64_t tx_calls; /* system calls */
	uint64_t tx_full;  /* no room in the socket */
	uint64_t tx_lost;  /* the kernel refused the packet: no route, too long, forbidden */
	uint64_t rx_packets;
	uint64_t rx_bytes;
	uint64_t rx_calls;
	uint64_t rx_full; /* packets that the kernel dropped: the socket, or a group's, was full */
	uint64_t rx_drop[ROCE_DROP_COUNT];
};

void roce_endpoint_counters(const struct roce_endpoint *ep, struct roce_counters *out);

#endif
