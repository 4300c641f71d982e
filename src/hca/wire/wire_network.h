/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire as the transport's network: RoCEv2 to other hosts. */
#ifndef HCA_WIRE_NETWORK_H
#define HCA_WIRE_NETWORK_H

#include "hca/transport/carrier.h"
#include "hca/transport/network.h"

extern const struct network wire_network;
extern const struct carrier wire_carrier;

#endif
