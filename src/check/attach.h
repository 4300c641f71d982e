/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The entry of the checker: libibverbs (verbs/observer.c) calls it with the first context.
 */
#ifndef CHECK_ATTACH_H
#define CHECK_ATTACH_H

#include "verbs/observer.h"

VB_API const struct vb_observer *verbena_check_attach(void);

#endif
