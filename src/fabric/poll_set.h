/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of links that polling threads look at. Only the service thread changes it: each change
 * makes a new set, and the old one is freed when no polling thread can still use it. A link is removed
 * without memory as well.
 */
#ifndef FABRIC_POLL_SET_H
#define FABRIC_POLL_SET_H

struct fabric_link;

/* 0 or -ENOMEM. */
int fabric_poll_set_add(struct fabric_link *link);
void fabric_poll_set_remove(struct fabric_link *link);
/* Empties the set, while no thread polls. */
void fabric_poll_set_clear(void);

#endif
