/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of links that pollers look at; changed on the service thread only.
 */
#ifndef FABRIC_POLL_PRIV_H
#define FABRIC_POLL_PRIV_H

#include "fabric/service.h"

void fabric_poll_init(struct fabric_page *page, unsigned int (*drain)(struct fabric_link *link));
void fabric_poll_fini(void);
int fabric_poll_add(struct fabric_link *link);
void fabric_poll_remove(struct fabric_link *link);

#endif
