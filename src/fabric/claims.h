/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims on numbers of the host directory: several processes may have one number, as long as each
 * agrees with the claims that are there. The connection manager keeps its ports so. A claim ends with
 * its process.
 */
#ifndef FABRIC_CLAIMS_H
#define FABRIC_CLAIMS_H

#include <stdint.h>

#include "fabric/id.h"
#include "util/api.h"

/* A claim on a number, which is not 0. The fabric looks at the number only; the rest is for `refuse`. */
struct fabric_claim {
	uint32_t number;
	uint32_t flags;
	uint32_t scope;
	uint8_t addr[16];
};

/*
 * Called for each claim that a living process other than this one has on the number. Anything but 0
 * refuses, and is what the caller gets. Runs with the directory locked, so it must not call the
 * fabric.
 */
struct fabric_claim_check {
	int (*refuse)(const struct fabric_claim *other, void *arg);
	void *arg;
};

/*
 * Adds a claim unless it is refused. *handle, which is not 0, names it. -ENOSPC when the directory
 * holds no more claims; -ENOTCONN when the fabric is down.
 */
VB_API int fabric_claim_add(const struct fabric_claim *claim,
			    const struct fabric_claim_check *check, uint32_t *handle);
/* Changes the flags of a claim of this process unless that is refused. */
VB_API int fabric_claim_set_flags(uint32_t handle, uint32_t flags,
				  const struct fabric_claim_check *check);
/* Does nothing when the claim is not of this process (a forked child has none of its parent's). */
VB_API void fabric_claim_remove(uint32_t handle);

#endif
