/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters of system calls for the calling process, as container engines and service managers install them.
 * False: the kernel does not allow it.
 */
#ifndef PLACES_FILTER_H
#define PLACES_FILTER_H

#include <stdbool.h>

bool filter_userfaultfd(void);
/* What Docker's default profile refuses to a process without capabilities. */
bool filter_docker(void);
/* What a systemd service with SystemCallFilter=@system-service, RestrictNamespaces and MemoryDenyWriteExecute is refused. */
bool filter_service(void);
/* RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 */
bool filter_families(void);

#endif
