/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which adapter port an address belongs to. With cm.lock held.
 */
#ifndef CM_GID_H
#define CM_GID_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/socket.h>

struct cm_device;
struct cm_id;

struct cm_gid {
	struct cm_device *device;
	uint8_t port_num;
	uint8_t link_layer;
	uint16_t lid;
	int index;
	union ibv_gid gid;
};

/*
 * The port whose GID table holds the address; RoCE v2 entries before v1. IP addresses belong to
 * Ethernet ports, and to the InfiniBand port that is configured with their interface; AF_IB addresses
 * to any. A loopback address belongs to the first port. 0, or -ENOENT without an explanation: the caller
 * gives it. An address that is not found makes the list of adapters be read again.
 */
int cm_gid_find(const struct sockaddr *addr, struct cm_gid *out);
/*
 * Finds the port as cm_gid_find() does, among adapters that the service thread has noticed: for an address that
 * may well be another host's.
 */
int cm_gid_find_listed(const struct sockaddr *addr, struct cm_gid *out);

/* The first GID of the first active port, for a wildcard destination. 0 or -ENOENT. */
int cm_gid_first(bool ethernet_only, struct cm_gid *out);

/* Gives the id the adapter of the GID and its default PD. */
int cm_gid_attach(struct cm_id *id, const struct cm_gid *gid);

#endif
