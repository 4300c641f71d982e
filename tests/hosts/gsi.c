/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pair 1 between hosts. Used by hosts.py.
 *
 *	gsi listen SERVICE		says "listening", then answers until it is killed
 *	gsi connect ADDRESS SERVICE N	connects and disconnects N times
 *
 * What lies in the socket of a process that ends is lost for those it shared the address with, so a
 * message that is not answered is sent again, as a connection manager does.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "hca/gsi_rig.h"

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("line %d: %s\n", __LINE__, #condition);                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static struct inbox inbox = INBOX;
static const struct hca_adapter *adapter;
static struct hca_gsi_agent *agent;
static struct hca_av way;

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list && list[0]);
	check(ibv_open_device(list[0]));
	adapter = adapter_with(HCA_LINK_ETHERNET);
	check(adapter && way_to_self(adapter, &way));
	check(!hca_gsi_agent_create(HCA_MAD_CM, &inbox_ops, &inbox, &agent));
}

static void send_cm(uint8_t attr, uint32_t local, uint32_t remote, uint64_t service)
{
	uint8_t mad[256];

	cm_make(mad, attr, local, remote, service);
	check(!hca_gsi_send(adapter, &way, mad));
}

static void serve(uint64_t service)
{
	struct hca_gsi_mad m;
	uint32_t id = hca_gsi_comm_id();

	check(!hca_gsi_service_add(service, NULL));
	puts("listening");
	fflush(stdout);
	for (;;) {
		if (!inbox_take(&inbox, &m))
			continue;
		way = m.from;
		if (m.mad[17] == HCA_CM_REQ) {
			check(get32(m.mad + 36) == (uint32_t)service);
			send_cm(HCA_CM_REP, id, get32(m.mad + 24), 0);
		} else {
			check(m.mad[17] == HCA_CM_DREQ && get32(m.mad + 28) == id);
			send_cm(HCA_CM_DREP, id, get32(m.mad + 24), 0);
		}
	}
}

/* The entry of the GID table that speaks the other's kind of address. */
static void aim(const char *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct hca_gid_entry e;
	bool v4 = !strchr(address, ':');

	memcpy(way.dgid.raw, mapped, sizeof(mapped));
	check(inet_pton(v4 ? AF_INET : AF_INET6, address, v4 ? &way.dgid.raw[12] : way.dgid.raw) ==
	      1);
	for (unsigned int i = 0; i < adapter->limits.gid_table_len; i++)
		if (!hca_port_gid(adapter, 1, i, &e) && e.type == HCA_GID_ROCE_V2 &&
		    (memcmp(e.gid.raw, mapped, sizeof(mapped)) == 0) == v4 &&
		    e.gid.raw[0] != 0xfe && !hca_gid_is_empty(&e.gid)) {
			way.sgid_index = (uint8_t)i;
			return;
		}
	check(!"an address of that kind");
}

/* Asks until it is answered; returns the other's id. */
static uint32_t ask(uint8_t attr, uint32_t id, uint32_t remote, uint64_t service)
{
	struct hca_gsi_mad m;

	for (int tries = 0; tries < WAIT_S; tries++) {
		send_cm(attr, id, remote, service);
		while (inbox_take_within(&inbox, 1, &m)) {
			/* late answers to what was asked twice */
			if (m.mad[17] != (attr == HCA_CM_REQ ? HCA_CM_REP : HCA_CM_DREP) ||
			    get32(m.mad + 28) != id)
				continue;
			check(!memcmp(&m.from.dgid, &way.dgid, sizeof(way.dgid)));
			return get32(m.mad + 24);
		}
	}
	check(!"an answer");
	return 0;
}

static void request(uint64_t service, int n)
{
	for (int i = 0; i < n; i++) {
		uint32_t id = hca_gsi_comm_id(), theirs = ask(HCA_CM_REQ, id, 0, service);

		check(ask(HCA_CM_DREQ, id, theirs, 0) == theirs);
	}
}

int main(int argc, char **argv)
{
	check(argc >= 3);
	open_all();
	if (!strcmp(argv[1], "listen")) {
		serve(strtoull(argv[2], NULL, 0));
	} else {
		check(argc >= 5);
		aim(argv[2]);
		request(strtoull(argv[3], NULL, 0), atoi(argv[4]));
	}
	return 0;
}
