/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The IP addressing header that RDMA CM puts in front of the private data of REQ and SIDR_REQ (IBTA
 * annex A11). Pure functions.
 */
#ifndef CM_IP_HEADER_H
#define CM_IP_HEADER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define IP_HEADER_BYTES 36

/*
 * Writes the header for a connection from src to dst, both of AF_INET or both of AF_INET6: version,
 * family, the source's port, and the two addresses.
 */
void ip_header_put(const struct sockaddr *src, const struct sockaddr *dst,
		   uint8_t out[IP_HEADER_BYTES]);

/*
 * Reads a header: the addresses as the sender sees them, src with its port, dst with dst_port (of
 * the service id). False when the version or the family is unknown.
 */
bool ip_header_get(const uint8_t in[IP_HEADER_BYTES], uint16_t dst_port,
		   struct sockaddr_storage *src, struct sockaddr_storage *dst);

#endif
