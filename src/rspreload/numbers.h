/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of rsockets: new ones, copies, and the closing of them. */
#ifndef RSPRELOAD_NUMBERS_H
#define RSPRELOAD_NUMBERS_H

#include "rspreload/table.h"

/* A kernel socket whose number the program gets; flags: SOCK_NONBLOCK, SOCK_CLOEXEC. -1 and errno. */
int rsp_numbers_open(int domain, int type, int flags);

/* Puts the rsocket (or nothing, for the RSP_LATE kinds) behind the number. 0 or -errno. */
int rsp_numbers_set(int number, enum rsp_kind kind, int rs);

/* fcntl(number, F_DUPFD or F_DUPFD_CLOEXEC, least): the copy shares the rsocket. -1 and errno. */
int rsp_numbers_copy(int number, int cmd, int least);

#endif
