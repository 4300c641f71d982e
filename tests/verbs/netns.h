/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network namespace of the test's own. netns_enter() starts the program again inside one, by
 * util-linux's unshare: directly when that is allowed, else inside a user namespace.
 */
#ifndef VERBS_NETNS_H
#define VERBS_NETNS_H

#include <stdbool.h>

/* Returns inside the namespace, or ends the program: 77 (skipped, with the reason) when no way in. */
void netns_enter(char **argv);

/* Runs `ip ...`; the command has to succeed. */
void netns_ip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Runs `ip ...`; true when the command succeeded. */
bool netns_try_ip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
