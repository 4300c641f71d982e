/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket addresses of the three families the connection manager knows: AF_INET, AF_INET6, AF_IB.
 * Pure functions.
 */
#ifndef CM_SOCKADDR_H
#define CM_SOCKADDR_H

#include <infiniband/ib.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define CM_ADDR_TEXT 96

/* 0 for NULL and for unknown families. */
socklen_t cm_addr_len(const struct sockaddr *addr);

/* For AF_IB the port is the low 16 bits of the service id. */
uint16_t cm_addr_port(const struct sockaddr *addr);
void cm_addr_set_port(struct sockaddr *addr, uint16_t port);

bool cm_addr_is_any(const struct sockaddr *addr);
bool cm_addr_is_link_local(const struct sockaddr *addr);
/* 127.0.0.0/8 or ::1. */
bool cm_addr_is_loopback(const struct sockaddr *addr);
/* A listener there takes requests for every address: a wildcard, or as in the kernel loopback. */
bool cm_addr_takes_all(const struct sockaddr *addr);

/* Same family and same host part, whatever the port. */
bool cm_addr_same_host(const struct sockaddr *a, const struct sockaddr *b);

/* The GID that stands for the address: IPv4 addresses are mapped (::ffff:a.b.c.d). */
void cm_addr_to_gid(const struct sockaddr *addr, union ibv_gid *gid);

/* The address of a family that the GID stands for; port 0. scope_id is for AF_INET6. */
void cm_addr_from_gid(int family, const union ibv_gid *gid, uint32_t scope_id,
		      struct sockaddr_storage *out);

/* Writes "address:port" for explanations and returns text. */
const char *cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT]);

#endif
