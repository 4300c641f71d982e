/* SPDX-License-Identifier: BSD-2-Clause */
/* A descriptor that the service thread watches (service.h). */
#ifndef RSOCKET_WATCH_H
#define RSOCKET_WATCH_H

struct rs_watch {
	int fd;
	void (*ready)(struct rs_watch *watch); /* with the service lock held */
};

#endif
