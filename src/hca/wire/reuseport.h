/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choice of socket by BPF, when several processes have one at the same address (roce/reuseport.h).
 * A process finds the index of its socket in the kernel's group by probes, lists it in the host
 * directory, and attaches a program made of all listed indexes. Indexes change as processes come and
 * go; a process whose packets are forwarded to it by others searches for its index again.
 *
 * A program costs time for every packet. A process that is alone at the address detaches it. A new
 * process is listed first, finds that others are listed, and attaches a program. Packets that the
 * kernel gives to the wrong process in between are forwarded (forward.h).
 */
#ifndef HCA_REUSEPORT_H
#define HCA_REUSEPORT_H

#include <stdbool.h>
#include <stdint.h>

struct roce_addr;
struct roce_endpoint;

/* Of one endpoint. Service thread only, once begun. */
struct reuseport {
	uint8_t gid[16]; /* the address */
	bool probing;
	bool listed;
	bool known;            /* index is right; otherwise 0 is listed, whose owner forwards */
	bool shared;           /* others were listed at the last check */
	uint32_t index;        /* while listed */
	uint32_t count;        /* indexes that are probed */
	uint32_t tries;        /* of this search */
	uint32_t misdelivered; /* hca.wire.reuseport.misdelivered when the last search began */
	uint64_t due_ns;       /* the probes' answers are read, or the next search may begin */
	uint64_t version;      /* of the directory's list at the last check */
	uint64_t check_ns;     /* when to check for processes that have died */
};

/* Before the endpoint is opened: the number of processes that are listed tells others their index. */
void reuseport_announce(struct reuseport *r, const struct roce_addr *addr);
/* Before any thread receives from the endpoint. */
void reuseport_begin(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns);
void reuseport_end(struct reuseport *r);
/* Service thread. Returns the next deadline, UINT64_MAX for none. */
uint64_t reuseport_run(struct reuseport *r, struct roce_endpoint *ep, uint64_t now_ns);

/* Another process has forwarded a packet to this one. Any thread. */
void reuseport_misdelivered(uint64_t now_ns);

#endif
