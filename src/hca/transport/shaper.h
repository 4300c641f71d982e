/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shapers: limits of average bandwidth that queue pairs have in common. They form trees; a request
 * goes out when none from its queue pair's shaper up to the root says to wait. No lock: each keeps
 * the time at which what was sent so far would have ended at its rate.
 */
#ifndef HCA_SHAPER_H
#define HCA_SHAPER_H

#include <stdatomic.h>
#include <stdint.h>

#include "util/api.h"

struct hca_shaper {
	atomic_uint refs;
	struct hca_shaper *parent; /* held, or NULL */
	_Atomic uint32_t mbps;     /* 0: no limit of its own */
	_Atomic uint64_t busy_until_ns;
};

VB_API int hca_shaper_create(struct hca_shaper *parent, uint32_t mbps, struct hca_shaper **out);
VB_API void hca_shaper_set(struct hca_shaper *shaper, uint32_t mbps);
VB_API struct hca_shaper *hca_shaper_get(struct hca_shaper *shaper); /* or NULL */
VB_API void hca_shaper_put(struct hca_shaper *shaper);

/* ---- the requester's ---- */

/* Nanoseconds until the next request may go out. */
uint64_t shaper_wait_ns(const struct hca_shaper *shaper, uint64_t now_ns);
/* This many bytes were sent. */
void shaper_charge(struct hca_shaper *shaper, uint64_t now_ns, uint64_t bytes);

#endif
