/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the fabric know of the service thread, and what it calls in every turn.
 */
#ifndef FABRIC_SERVICE_PRIV_H
#define FABRIC_SERVICE_PRIV_H

#include <stdint.h>

/* Creates the descriptors; the thread starts when it is needed. */
int fabric_service_init(void);
/* Ends the thread (every link dies on it) and closes the descriptors. */
void fabric_service_fini(void);
/* Makes sure that the thread runs. */
int fabric_service_need(void);
/* Makes it take a turn. Any thread. */
void fabric_service_wake(void);
/* Peers get a copy to wake us with. */
int fabric_service_wake_fd(void);

/* First of all, waits until the thread sleeps: the child finds no half-done step of its. */
void fabric_service_fork_prepare_turn(void);
void fabric_service_fork_prepare(void);
void fabric_service_fork_parent(void);
void fabric_service_fork_child(void);

/*
 * A turn does what is to be done and returns when, at the latest, it wants the next one: absolute
 * time, 0 for at once, UINT64_MAX for never.
 */
uint64_t fabric_poll_turn(uint64_t now_ns);
uint64_t fabric_links_turn(uint64_t now_ns);

#endif
