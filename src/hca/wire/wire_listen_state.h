/* SPDX-License-Identifier: BSD-2-Clause */
/* How many of the addresses of ports and groups that are to be open are open. */
#ifndef HCA_WIRE_LISTEN_STATE_H
#define HCA_WIRE_LISTEN_STATE_H

#include "util/shortage.h"

/* The later ones are the worse ones. */
enum wire_listen_state {
	WIRE_LISTEN_ALL,   /* are open */
	WIRE_LISTEN_SOME,  /* one cannot be bound yet: some more attempts */
	WIRE_LISTEN_SHORT, /* memory or descriptors are lacking here: attempts until it succeeds */
};

/* The state after one more address, whose opening gave this error. */
static inline enum wire_listen_state wire_listen_worse(enum wire_listen_state state, int err)
{
	if (is_shortage(err))
		return WIRE_LISTEN_SHORT;
	if ((err == -EADDRNOTAVAIL || err == -ENODEV) && state == WIRE_LISTEN_ALL)
		return WIRE_LISTEN_SOME;
	return state;
}

#endif
