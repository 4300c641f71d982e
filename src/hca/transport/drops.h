/* SPDX-License-Identifier: BSD-2-Clause */
/* Well-formed packets from other hosts that were dropped, counted by reason, for reports. */
#ifndef HCA_DROPS_H
#define HCA_DROPS_H

#include <stdint.h>

enum drop_reason {
	DROP_PKEY,
	DROP_NO_QP,
	DROP_STRANGER, /* not from the peer of the connection */
	DROP_KIND,     /* not of the queue pair's transport */
	DROP_STATE,
	DROP_QKEY,
	DROP_NO_RECEIVE, /* a datagram */
	DROP_TOO_LONG,   /* a datagram */
	DROP_UNASKED,    /* an answer to nothing that is open */
	DROP_SEEN,       /* a duplicate request; it may be answered again */
	DROP_GUESS,      /* from an unknown port, after too many packet numbers that were wrong */
	DROP_REASONS,
};

void drop_count(enum drop_reason why);
uint64_t drop_counted(enum drop_reason why);
const char *drop_reason_name(enum drop_reason why);

#endif
