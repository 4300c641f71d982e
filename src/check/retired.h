/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Destroyed objects. Their memory is kept for a while, and their context becomes one whose operations tell of
 * the mistake and fail.
 */
#ifndef CHECK_RETIRED_H
#define CHECK_RETIRED_H

#include <stdbool.h>

#include "verbs/handle.h"

void check_retire(void *memory, const struct vb_handle *own, struct ibv_context **context);
/* A call was given a handle that is not in the table. */
void check_stale(const struct vb_handle *own, const char *call);
/* The address handle is a destroyed one; tells of it. */
bool check_ah_retired(const struct ibv_ah *ah);

#endif
