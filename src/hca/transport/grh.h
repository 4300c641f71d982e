/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The 40 bytes in front of a datagram: an InfiniBand GRH (which is an IPv6 header), or for RoCE v2
 * over IPv4 the IPv4 header in the last 20 bytes.
 */
#ifndef HCA_GRH_H
#define HCA_GRH_H

#include "hca/device/port.h"
#include "hca/device/work.h"

#define HCA_GRH_BYTES 40

/*
 * For `payload` bytes behind BTH and DETH: the data, and immediate data. Returns the kind of header, as
 * struct hca_cqe.roce_kind has it.
 */
uint8_t hca_grh_build(const struct hca_av *av, const struct hca_gid_entry *src, uint32_t payload,
		      uint8_t grh[HCA_GRH_BYTES]);

#endif
