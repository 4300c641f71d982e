/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public header as the library itself includes it: its functions are exported (the version script
 * names their nodes), everything else stays hidden.
 */
#ifndef VERBS_PUBLIC_H
#define VERBS_PUBLIC_H

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#endif
