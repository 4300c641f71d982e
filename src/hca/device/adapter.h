/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter and the configuration of its ports. Types only. Constant once the list of adapters
 * is built (adapter_list.h); the state of ports and their GIDs are in port.h.
 */
#ifndef HCA_ADAPTER_H
#define HCA_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "hca/device/model.h"

#define HCA_NAME_MAX     64
#define HCA_PORTS_MAX    4
#define HCA_ADAPTERS_MAX 32
#define HCA_FIXED_GIDS   16
#define HCA_LAG_LINKS    2

struct hca_gid {
	uint8_t raw[16];
};

/* An IPv4 address, mapped. */
static inline bool hca_gid_is_ipv4(const struct hca_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

struct hca_port_config {
	enum hca_link link;
	char switch_name[24]; /* the virtual switch for raw frames */
	char interface[16];   /* bound interface; "" means every interface that is up */
	int gid_count;        /* fixed GIDs from the configuration; 0: follow the interfaces */
	struct hca_gid gids[HCA_FIXED_GIDS];
};

#define HCA_KEK_MAX        32u
#define HCA_CREDENTIAL_LEN 40u

/* Secrets that a crypto officer has stored in the adapter. */
struct hca_crypto_config {
	uint8_t kek_len; /* 16 or 32; 0: keys are imported in plaintext */
	bool has_credential;
	uint8_t kek[HCA_KEK_MAX];
	uint8_t credential[HCA_CREDENTIAL_LEN];
};

struct hca_adapter {
	char name[HCA_NAME_MAX];
	int index;
	const struct hca_model *model;
	struct hca_limits limits;
	uint64_t node_guid; /* host order */
	char pci_slot[16];
	int port_count;
	struct hca_port_config ports[HCA_PORTS_MAX]; /* [0] is port 1 */
	uint8_t lag_count; /* links that are bonded behind port 1; 0: none */
	char lag_interfaces[HCA_LAG_LINKS][16];
	bool switchdev; /* mode of the adapter's switch, as devlink shows it; false: legacy */
	bool roce_off;  /* Ethernet ports are for raw frames only: they have no GIDs */
	struct hca_crypto_config crypto;
};

#endif
