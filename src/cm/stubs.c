/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of librdmacm that have no implementation yet, one line each. Delete the line of a
 * call together with writing the call; docs/support.py then counts it as working.
 */
#include "util/stub.h"

/* Multicast */
STUB_MINUS1(rdma_join_multicast)
STUB_MINUS1(rdma_join_multicast_ex)
STUB_MINUS1(rdma_leave_multicast)
