/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers to netlink requests, taken from the file `netlink` of the tree.
 */
#ifndef FACADE_ANSWER_H
#define FACADE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

/* Does the first request in `buf` name a generic family that the file knows? */
bool answer_known(const void *buf, size_t len);

/*
 * Answers all requests in `buf`: what a kernel would send is put into the receive queue of `fd`, a socket of
 * NETLINK_USERSOCK. 0 or -errno.
 */
int answer_requests(int fd, const void *buf, size_t len);

#endif
