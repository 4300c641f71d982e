/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subnet administrator of a host's InfiniBand ports (IBTA volume 1, chapter 15), as programs reach it by
 * /dev/infiniband/umadN. Multicast groups need no creation here, since any process attaches to any of them: joining
 * tells the LID of a group, which librdmacm takes by the same rule. Tables (SubnAdmGetTable) are refused.
 */
#ifndef VERBENA_SA_H
#define VERBENA_SA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hca/wire/gsi_mad.h"

#define SA_GIDS 8

struct sa_port {
	uint16_t lid; /* 0: an Ethernet port, where no administrator is */
	uint16_t sm_lid;
	uint8_t mtu, rate; /* as records have them */
	uint8_t gid_count;
	uint8_t gid[SA_GIDS][16];
};

struct sa_subnet {
	size_t count;
	struct sa_port *ports;
};

/* Makes the response of a request by `from`. False: none is owed. */
bool sa_answer(const struct sa_subnet *s, const struct sa_port *from, uint8_t mad[HCA_MAD_BYTES]);

#endif
