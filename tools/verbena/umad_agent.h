/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An agent of /dev/infiniband/umadN: what a program registers to send MADs, and to have the requests of a class.
 */
#ifndef VERBENA_UMAD_AGENT_H
#define VERBENA_UMAD_AGENT_H

#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stdint.h>

struct umad_agent {
	bool used;
	uint32_t qpn;
	uint8_t mgmt_class; /* 0: no requests are wanted */
	uint8_t version;
	uint8_t rmpp_version;
	uint32_t oui;
	uint64_t methods[2];
};

void umad_agent_from_req(const struct ib_user_mad_reg_req *req, struct umad_agent *out);
/* -EINVAL, with the flags that there are, when others are wanted. */
int umad_agent_from_req2(struct ib_user_mad_reg_req2 *req, struct umad_agent *out);

/* What the kernel refuses, 0 or -errno. */
int umad_agent_check(const struct umad_agent *a, bool is_ethernet);
/* Whether a request would be for both. */
bool umad_agents_overlap(const struct umad_agent *a, const struct umad_agent *b);

#endif
