/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture of the host's network interfaces and their addresses. Used by port.c.
 */
#ifndef HCA_INTERFACES_H
#define HCA_INTERFACES_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/adapter.h"

struct host_interface {
	char name[16];
	char lower[16]; /* a VLAN's real device, else "" */
	uint32_t index;
	uint32_t mtu;
	uint8_t mac[6];
	bool up; /* administratively up, with a carrier */
	bool loopback;
};

struct host_address {
	uint32_t index; /* of its interface */
	struct hca_gid gid;
};

struct host_picture {
	int interface_count, address_count;
	struct host_interface *interfaces;
	struct host_address *addresses; /* IPv4 first, then IPv6, in the kernel's order */
};

int host_picture_take(struct host_picture *out);
void host_picture_free(struct host_picture *p);
const struct host_interface *host_interface_find(const struct host_picture *p, uint32_t index);

/* A netlink socket that becomes readable when interfaces or addresses change; -errno. */
int host_watch_open(void);
/* True when something has changed since the last call. Never waits. */
bool host_watch_drain(int fd);

#endif
