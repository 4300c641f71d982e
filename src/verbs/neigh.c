/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MACs of neighbours, waited for, and VLANs. No state, no lock.
 */
#include "verbs/neigh.h"

#include <errno.h>
#include <linux/if_vlan.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "hca/device/neigh.h"

#define RESOLVE_MS 3000 /* limit for an answer; that of rdma-core */
#define RETRY_MS   5    /* between two looks at the table */

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int vb_neigh_mac(unsigned int ifindex, const uint8_t from[16], const uint8_t to[16], uint8_t mac[6])
{
	long end = now_ms() + RESOLVE_MS;
	struct hca_next_hop hop;
	int err;

	if (!ifindex || hca_neigh_route(ifindex, NULL, to, &hop) || hop.is_known)
		return -EHOSTUNREACH;
	err = hca_neigh_find(&hop, mac);
	if (err != -ENOENT)
		return err ? -EHOSTUNREACH : 0;
	if (hca_neigh_probe(ifindex, from, to))
		return -EHOSTUNREACH;
	while (hca_neigh_find(&hop, mac)) {
		if (now_ms() > end)
			return -EHOSTUNREACH;
		poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

uint16_t vb_neigh_vlan(unsigned int ifindex)
{
	struct vlan_ioctl_args args = { .cmd = GET_VLAN_VID_CMD };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint16_t vid = VB_NO_VLAN;
	char name[IF_NAMESIZE];

	if (sock < 0)
		return vid;
	if (ifindex && if_indextoname(ifindex, name)) {
		snprintf(args.device1, sizeof(args.device1), "%s", name);
		if (!ioctl(sock, SIOCGIFVLAN, &args))
			vid = (uint16_t)args.u.VID;
	}
	close(sock);
	return vid;
}
