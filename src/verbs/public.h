/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public header as the library itself includes it: what it declares is exported (the version
 * script says under which node), everything else stays hidden.
 */
#ifndef VERBS_PUBLIC_H
#define VERBS_PUBLIC_H

#pragma GCC visibility push(default)
#include <infiniband/verbs.h>
#pragma GCC visibility pop

#endif
