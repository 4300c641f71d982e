/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bonded links (RoCE LAG): an adapter with one port and two links behind it, each an interface of the host.
 * A queue pair has an affinity, the number of a link from 1 on; while that link is down, the other one
 * carries its packets.
 */
#ifndef HCA_LAG_H
#define HCA_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/device/adapter.h"
#include "util/api.h"

struct host_picture;

static inline bool hca_lag_is_on(const struct hca_adapter *a)
{
	return a->lag_count;
}

/* The affinity of the next queue pair: links take turns. 0 without bonded links. */
VB_API uint8_t hca_lag_next(const struct hca_adapter *a);
/* The link that packets with this affinity leave by. 0 without bonded links. */
VB_API uint8_t hca_lag_active(const struct hca_adapter *a, uint8_t affinity);
/* The interface of a link; 0: there is none. */
uint32_t hca_lag_ifindex(const struct hca_adapter *a, uint8_t link);

/* The links that affinities stand for while all are up, as MODIFY_LAG sets them. */
VB_API void hca_lag_get_map(const struct hca_adapter *a, uint8_t map[HCA_LAG_LINKS]);
/* -EINVAL for a link that does not exist. */
VB_API int hca_lag_set_map(const struct hca_adapter *a, const uint8_t map[HCA_LAG_LINKS]);

/* Takes in the state of the interfaces; true when a link has changed. Under port.lock. */
bool lag_update(const struct hca_adapter *a, const struct host_picture *pic);

#endif
