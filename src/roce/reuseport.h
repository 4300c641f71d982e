/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several processes at one address: their main sockets form a reuseport group, and a BPF program, which the
 * group has in common, selects one by the packet's destination QP. The program names a socket by its index
 * in the group, which is the order of opening; when a socket closes, the last one takes its index. A
 * process finds its own index by probes. Packets that arrive at the wrong process meanwhile are
 * forwarded by the caller.
 *
 * One thread at a time per endpoint.
 */
#ifndef ROCE_REUSEPORT_H
#define ROCE_REUSEPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roce_endpoint;

/* Packets to QPs first..last go to socket `index`. */
struct roce_reuseport_range {
	uint32_t first;
	uint32_t last;
	uint32_t index;
};

#define ROCE_REUSEPORT_RANGES 680u

/*
 * Replaces the group's program. Ranges may be in any order, but must not overlap. QPs outside go to socket
 * `rest`; to one chosen by the kernel's hash when there is no such socket; to that of a neighbouring range
 * when the kernel refuses a program of full length.
 */
int roce_reuseport_attach(struct roce_endpoint *ep, const struct roce_reuseport_range *ranges,
			  size_t count, uint32_t rest);
/* Removes the group's program, which costs every packet. 0 also without one; -errno before Linux 5.3. */
int roce_reuseport_detach(struct roce_endpoint *ep);

/* Sends one probe to each of the sockets 0..count-1. Any process, any time; needs a program. */
int roce_reuseport_probe(struct roce_endpoint *ep, uint32_t count);
/*
 * Reads the probes at the head of the main socket's queue, before anything else reads it: most kernels
 * deliver them while they are sent.
 */
void roce_reuseport_read_probes(struct roce_endpoint *ep);
/*
 * Probes `guess` and its neighbours, nearest first, until one leads here; each costs another process a
 * wake-up. Before anything else reads the main socket. -ENOENT: none does within `reach`, or the answer
 * is not certain, or late.
 */
int roce_reuseport_find(struct roce_endpoint *ep, uint32_t guess, uint32_t reach, uint32_t *index);
/* Whether a received datagram is a probe; takes the index from one of our own. */
bool roce_reuseport_take_probe(struct roce_endpoint *ep, const uint8_t *data, size_t len);
/* The index that the latest probes found; -ENOENT when none has come back. */
int roce_reuseport_index(const struct roce_endpoint *ep, uint32_t *index);

#endif
