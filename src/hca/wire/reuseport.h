/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which process's socket the kernel gives a packet to, when several have one at the same address
 * (roce/reuseport.h says how). A process finds the place of its socket by probes, lists it in the host
 * directory, and hands the kernel a program made of all that is listed there. Places change as
 * processes come and go; whoever notices that others have to pass on its packets looks for its
 * place anew.
 *
 * A program costs every packet. Whoever finds itself alone takes it away; whoever comes is listed first,
 * finds that others are, and brings one along. What the kernel gave to the wrong one in between is passed
 * on.
 */
#ifndef HCA_STEER_H
#define HCA_STEER_H

#include <stdbool.h>
#include <stdint.h>

struct roce_endpoint;

/* Of one endpoint. Service thread only, once begun. */
struct reuseport {
	bool probing;
	bool listed;
	bool known;  /* where our socket is; otherwise we are listed at place 0, which passes on */
	bool shared; /* others were listed when last looked */
	uint32_t index;   /* while listed */
	uint32_t count;   /* places that are probed */
	uint32_t tries;   /* of this search */
	uint32_t strays;  /* reuseport_strays when the last search began */
	uint64_t due;     /* the answer is looked at, or the next search may begin */
	uint64_t version; /* of the list, when last looked */
	uint64_t look_ns; /* when to look whether others, who need not tell, have gone */
};

/* Before anybody reads from the endpoint. */
void reuseport_begin(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns);
void reuseport_end(struct reuseport *s, struct roce_endpoint *ep);
/* Does what is due; returns when to come again, UINT64_MAX for never. */
uint64_t reuseport_run(struct reuseport *s, struct roce_endpoint *ep, uint64_t now_ns);

/* Another process had to pass a packet on to us. Any thread. */
void reuseport_stray(uint64_t now_ns);

#endif
