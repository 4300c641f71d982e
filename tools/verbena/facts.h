/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about the adapters, for the commands. Nearly all of them are asked for through the public verbs
 * library, so that it is what programs see; the rest (PCI slot, board, bound interface) comes from
 * the adapter library by name. A snapshot: addresses may change afterwards.
 */
#ifndef VERBENA_FACTS_H
#define VERBENA_FACTS_H

#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct gid_fact {
	unsigned int index;
	union ibv_gid gid;
	uint32_t type; /* enum ibv_gid_type */
	char interface[IF_NAMESIZE];
};

struct port_fact {
	struct ibv_port_attr attr;
	char interface[IF_NAMESIZE]; /* "" when none backs the port */
	int gid_count;               /* entries that are in use */
	struct gid_fact *gids;
	uint16_t *pkeys; /* host order, attr.pkey_tbl_len of them */
};

struct adapter_fact {
	char name[64];
	uint32_t index; /* ibv_get_device_index() of the run's programs */
	char uverbs[64];
	const char *model, *hca_type, *board_id, *driver;
	char pci_slot[16];
	uint16_t pci_device;
	bool switchdev; /* mode of the adapter's switch */
	bool roce;
	bool rdma_control; /* has privileged contexts */
	struct ibv_device_attr attr;
	int port_count;
	struct port_fact *ports; /* [0] is port 1 */
};

struct facts {
	int count;
	struct adapter_fact *adapters;
};

/* 0 or an exit status other than 0, after saying why. */
int facts_take(struct facts *out);
void facts_free(struct facts *f);

const char *facts_link(const struct port_fact *port);
const char *facts_gid_type(const struct port_fact *port, const struct gid_fact *gid);

/* Four groups of 16 bits with colons, as sysfs writes it. */
void facts_guid_text(__be64 guid, char out[20]);

#endif
