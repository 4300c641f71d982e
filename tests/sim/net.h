/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network and the clock of the simulation: packets between hosts, encoded with their ICRC, in
 * virtual time. Faults are those of verbena-fault(7): each host has a script, which judges its
 * packets on their way out and in; beside it links may be down, and hosts may be gone.
 */
#ifndef TESTS_SIM_NET_H
#define TESTS_SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

struct host;

struct net {
	uint64_t now_ns;
	uint64_t packets, lost, duplicated, corrupted, delayed, refused; /* of all runs */
};

extern struct net net;

/* Hands the network and the clock to struct hca. Once per program. */
void net_begin(void);
/* An empty network, at the same time of the clock for each seed. */
void net_reset(void);
/* Since net_reset(). */
uint64_t net_elapsed_ns(void);

/* Handles packets and timers of the next `ns`. */
void net_pass(uint64_t ns);
/* Moves on to the next packet or timer. False: there is none before `until_ns`. */
bool net_step(uint64_t until_ns);
/* Whether packets are under way. */
bool net_has_packets(void);
/* Packets to and from the host are lost for so long. */
void net_set_down(struct host *host, uint64_t ns);

/* The address of a host by its index, as a GID. */
void net_address(unsigned int index, uint8_t gid[16]);

#endif
