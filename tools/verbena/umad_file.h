/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open descriptor of /dev/infiniband/umadN, as the kernel's ib_umad has it: agents, the MADs that they send, and
 * those that come back: a response, or after its time the request itself, with ETIMEDOUT.
 */
#ifndef VERBENA_UMAD_FILE_H
#define VERBENA_UMAD_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sa.h"

struct umad_file;

struct umad_device {
	struct sa_port port;
	const struct sa_subnet *subnet;
	LIST_HEAD(, umad_file) files;
};

/* Takes over `fd`, a connection from a program. NULL without memory; `fd` stays open then. */
struct umad_file *umad_file_create(int fd, struct umad_device *device);
void umad_file_destroy(struct umad_file *f);
/* Handles a message. False: the program has closed the descriptor. */
bool umad_file_receive(struct umad_file *f, uint64_t now_ms);
/* Returns what has waited for long enough; then when to call again, UINT64_MAX: not before a message. */
uint64_t umad_file_expire(struct umad_file *f, uint64_t now_ms);

#endif
