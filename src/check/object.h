/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects that are alive, each with the place of its creation: what is never destroyed, and what was
 * destroyed too early.
 */
#ifndef CHECK_OBJECT_H
#define CHECK_OBJECT_H

#include "check/place.h"
#include "verbs/handle.h"

void check_object_added(const void *object, int kind);
void check_object_removed(const void *object);
void check_object_busy(const void *object, int err);
/* Tells of all objects of this process that are left. */
void check_objects_left(void);
/* Where the object was created; NULL: unknown. */
const struct check_place *check_object_place(const void *object);

#endif
