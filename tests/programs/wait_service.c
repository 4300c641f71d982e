/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_service SECONDS SPACE PORT [ADDRESS]: ends when a process of this host listens to the port of a
 * port space of the connection manager ("tcp", "udp", "ipoib" or "ib"), at all addresses or at that one.
 * Ports of RDMA are in no table of the kernel, and servers do not say that they listen. Status 1: not
 * within the time.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hca/wire/gsi_route.h"

static uint64_t space_of(const char *name)
{
	if (!strcmp(name, "udp"))
		return RDMA_PS_UDP;
	if (!strcmp(name, "ipoib"))
		return RDMA_PS_IPOIB;
	return strcmp(name, "ib") ? RDMA_PS_TCP : RDMA_PS_IB;
}

/* As the directory has it: IPv4 mapped into IPv6. */
static bool to_gid(const char *text, uint8_t gid[16])
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text, gid + 12) == 1 || inet_pton(AF_INET6, text, gid) == 1;
}

/* At all addresses: of both versions, or of one. */
static bool offered_everywhere(uint64_t service)
{
	uint8_t gid[16];

	if (hca_gsi_service_offered(service, NULL))
		return true;
	to_gid("0.0.0.0", gid);
	if (hca_gsi_service_offered(service, gid))
		return true;
	memset(gid, HCA_GSI_ALL_IP6, sizeof(gid));
	return hca_gsi_service_offered(service, gid);
}

/* Not the time of day, which jumps in tests/places. */
static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	uint64_t service;
	uint8_t gid[16];
	time_t end;

	if (argc < 4 || !context || (argc > 4 && !to_gid(argv[4], gid)))
		return 2;
	end = now_s() + atoi(argv[1]);
	service = space_of(argv[2]) << 16 | (unsigned int)atoi(argv[3]);
	while (argc > 4 ? !hca_gsi_service_offered(service, gid) : !offered_everywhere(service)) {
		if (now_s() > end)
			return 1;
		nanosleep(&pause, NULL);
	}
	/* Nothing is left behind: tests of the checker run this program, too. */
	ibv_close_device(context);
	ibv_free_device_list(list);
	return 0;
}
