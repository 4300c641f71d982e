/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of libmlx4 that have no implementation yet, one line each. Delete the line of a call
 * together with writing the call; docs/support.py then counts it as working.
 */
#include "util/stub.h"
