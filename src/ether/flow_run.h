/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One packet's way through the tables.
 */
#ifndef ETHER_FLOW_RUN_H
#define ETHER_FLOW_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/flow_key.h"
#include "ether/frame.h"
#include "ether/port_types.h"

struct flow_group;

/* The result of ether_steer_out() for an outgoing packet. */
struct flow_out {
	bool is_sent; /* out of the port: own and frame are valid */
	uint8_t *own;
	struct ether_frame frame;
};

/* A packet that is matched against tables. */
struct flow_run {
	struct ether_port *port;
	struct flow_out *out; /* NULL for an incoming packet */
	uint8_t domain;       /* enum flow_domain */
	uint8_t hops;
	uint8_t filled; /* parts of the key */
	uint32_t hash;  /* of the key in group `hashed` */
	const struct flow_group *hashed;
	uint8_t *own;         /* the copy of the frame's bytes, if there is one; may be changed */
	const uint8_t *given; /* the original bytes */
	uint32_t reg_b;
	struct ether_frame frame;
	struct flow_key key;
};

/* Copies the bytes if they are not the run's own, with room for `front` more before them. */
bool flow_run_own(struct flow_run *run, uint32_t front);

#endif
