/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of librdmacm that have no implementation yet, one line each. Delete the line of a
 * call together with writing the call; docs/support.py then counts it as working.
 */
#include "util/stub.h"

/* Channels and events */
STUB_PTR(rdma_create_event_channel)
STUB_VOID(rdma_destroy_event_channel)
STUB_MINUS1(rdma_get_cm_event)
STUB_MINUS1(rdma_ack_cm_event)
STUB_MINUS1(rdma_write_cm_event)
STUB_TEXT(rdma_event_str)

/* Ids, addresses, routes */
STUB_MINUS1(rdma_create_id)
STUB_MINUS1(rdma_destroy_id)
STUB_MINUS1(rdma_migrate_id)
STUB_MINUS1(rdma_create_ep)
STUB_VOID(rdma_destroy_ep)
STUB_MINUS1(rdma_bind_addr)
STUB_MINUS1(rdma_resolve_addr)
STUB_MINUS1(rdma_resolve_route)
STUB_MINUS1(rdma_listen)
STUB_MINUS1(rdma_set_option)
STUB_ZERO(rdma_get_src_port)
STUB_ZERO(rdma_get_dst_port)
STUB_MINUS1(rdma_getaddrinfo)
STUB_VOID(rdma_freeaddrinfo)
STUB_MINUS1(rdma_resolve_addrinfo)
STUB_MINUS1(rdma_query_addrinfo)

/* Adapters and their objects */
STUB_PTR(rdma_get_devices)
STUB_VOID(rdma_free_devices)
STUB_MINUS1(rdma_create_qp)
STUB_MINUS1(rdma_create_qp_ex)
STUB_VOID(rdma_destroy_qp)
STUB_MINUS1(rdma_init_qp_attr)
STUB_MINUS1(rdma_create_srq)
STUB_MINUS1(rdma_create_srq_ex)
STUB_VOID(rdma_destroy_srq)

/* Connections: these wait for the IB CM protocol */
STUB_MINUS1(rdma_connect)
STUB_MINUS1(rdma_establish)
STUB_MINUS1(rdma_get_request)
STUB_MINUS1(rdma_accept)
STUB_MINUS1(rdma_reject)
STUB_MINUS1(rdma_reject_ece)
STUB_MINUS1(rdma_disconnect)
STUB_MINUS1(rdma_notify)
STUB_MINUS1(rdma_set_local_ece)
STUB_MINUS1(rdma_get_remote_ece)

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
