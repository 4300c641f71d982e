/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user's processes on this host and their queue pairs, as `verbena top` knows them: they are asked for snapshots
 * (hca/inspect/snapshot_types.h), several in an interval, at whose end rates are made of the differences. Nothing here
 * waits for a process.
 */
#ifndef VERBENA_TOP_HOST_H
#define VERBENA_TOP_HOST_H

#include <poll.h>
#include <stdbool.h>

#include "fabric/ask.h"
#include "hca/inspect/snapshot_types.h"

enum top_health {
	TOP_NEW, /* has not answered yet */
	TOP_ANSWERS,
	TOP_STOPPED, /* by a signal or a debugger */
	TOP_SILENT,  /* runs, but does not answer */
};

/* One direction. */
struct top_flow {
	bool has_messages, has_traffic;
	uint64_t messages, packets, bytes; /* since the queue pair was made, or reset */
	double messages_s, packets_s, bytes_s;
};

/* Packets and bytes, at the end and at the beginning of an interval. */
struct top_counts {
	uint64_t now[FABRIC_TRAFFIC_COUNTS], before[FABRIC_TRAFFIC_COUNTS];
	uint64_t now_ns, before_ns;
};

struct top_qp {
	struct snapshot_qp now, before; /* the last snapshot, the first one of the interval */
	uint64_t now_ns, before_ns;
	/* of the interval: requests between post and poll, in sum, by snapshot */
	uint64_t fill_sum;
	unsigned int samples;

	/* at the end of the last interval */
	struct top_flow tx, rx;
	double latency_us;             /* less than 0: not known */
	uint32_t retried, rnr, errors; /* in the interval; errors without flushed requests */
	pid_t peer_pid;                /* 0: not on this host, or not known */
	struct top_counts peer; /* its counts: what it did by itself it did at this end, too */
};

struct top_process {
	struct fabric_process entry;
	pid_t pid; /* in our namespace */
	enum top_health health;
	int sock; /* the open question; -1: none */
	uint64_t asked_ns;
	bool is_listed;
	struct top_qp *qp; /* by number */
	size_t count;
};

struct top_host {
	struct fabric_counts_view view;
	struct top_process **process; /* by pid */
	size_t count;
	uint64_t rolled_ns;
	double seconds; /* of the last interval */
};

uint64_t top_now_ns(void);

/* Looks which processes there are, and asks those that owe no answer. */
void top_host_ask(struct top_host *h);
/* The sockets of open questions; `fds` has room for count + `others`, which come first. Returns how many. */
size_t top_host_poll_set(const struct top_host *h, struct pollfd *fds, size_t others);
/* Takes the answers that have come. */
void top_host_take(struct top_host *h);
/* Whether a process owes an answer that may still come soon. */
bool top_host_is_waiting(struct top_host *h);
/* Ends the interval, and begins the next one. */
void top_host_roll(struct top_host *h);
void top_host_fini(struct top_host *h);

#endif
