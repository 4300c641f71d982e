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

/* rsockets */
STUB_MINUS1(rsocket)
STUB_MINUS1(rbind)
STUB_MINUS1(rlisten)
STUB_MINUS1(raccept)
STUB_MINUS1(rconnect)
STUB_MINUS1(rshutdown)
STUB_MINUS1(rclose)
STUB_MINUS1(rread)
STUB_MINUS1(rreadv)
STUB_MINUS1(rrecv)
STUB_MINUS1(rrecvfrom)
STUB_MINUS1(rrecvmsg)
STUB_MINUS1(rwrite)
STUB_MINUS1(rwritev)
STUB_MINUS1(rsend)
STUB_MINUS1(rsendto)
STUB_MINUS1(rsendmsg)
STUB_MINUS1(rpoll)
STUB_MINUS1(rselect)
STUB_MINUS1(repoll_create)
STUB_MINUS1(repoll_ctl)
STUB_MINUS1(repoll_wait)
STUB_MINUS1(rgetpeername)
STUB_MINUS1(rgetsockname)
STUB_MINUS1(rsetsockopt)
STUB_MINUS1(rgetsockopt)
STUB_MINUS1(rfcntl)
STUB_MINUS1(riomap)
STUB_MINUS1(riounmap)
STUB_MINUS1(riowrite)
