/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signature contexts (PSV): a transient signature each, which requests set and read, and which a
 * key's signatures may start from. Numbers are of this process.
 */
#ifndef HCA_PSV_H
#define HCA_PSV_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca/device/work.h"
#include "hca/memory/pd.h"

struct hca_psv {
	struct hca_pd *pd;
	uint32_t index;
	_Atomic uint16_t syndrome; /* of the last error, or what a request set */
	_Atomic uint64_t value; /* guard << 48 | application tag << 32 | reference tag, or a CRC */
};

VB_API int hca_psv_create(struct hca_pd *pd, struct hca_psv **out);
VB_API void hca_psv_destroy(struct hca_psv *psv);

/* Inside an epoch section: the context of the domain with this number, or NULL. */
struct hca_psv *hca_psv_find(uint32_t index, uint32_t pdn);

#define HCA_PSV_BYTES 16

/* Inside an epoch section: requests. -EINVAL: there is no such context in the domain. */
int hca_psv_set(const struct hca_psv_op *op, uint32_t pdn);
/* HCA_PSV_BYTES each, as a request that sets a context has them. */
int hca_psv_get(const struct hca_psv_op *op, uint32_t pdn, uint8_t *out);

#endif
