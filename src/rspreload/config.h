/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which sockets become rsockets. A line of the configuration file names a program, a domain (INET,
 * INET6, IB), a type (STREAM, DGRAM) and a protocol (TCP, UDP), each of which may be `*`; a prefix
 * AF_, PF_, SOCK_ or IPPROTO_ is allowed, and case does not count. The program matches when the base
 * name of the running one begins with it. `#` at the start of a line makes it a comment; a line that
 * is not understood is ignored. Without any line, every socket becomes an rsocket if it can.
 */
#ifndef RSPRELOAD_CONFIG_H
#define RSPRELOAD_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "util/array.h"

#define RSPRELOAD_CONFIG_FILE "/etc/rdma/rsocket/preload_config"

/* 0 and "" stand for any. */
struct rsp_rule {
	char program[64];
	int domain, type, protocol;
};

struct rsp_config {
	ARRAY_OF(struct rsp_rule) rules;
};

void rsp_config_read(struct rsp_config *config, FILE *file);
void rsp_config_fini(struct rsp_config *config);

/* type without SOCK_NONBLOCK and SOCK_CLOEXEC; protocol 0 is the usual one of the type. */
bool rsp_config_matches(const struct rsp_config *config, const char *program, int domain, int type,
			int protocol);

#endif
