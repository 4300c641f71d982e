/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data encryption keys (DEKs). A memory key names one by its number when it is configured
 * (hca_dek_hold()) and keeps a reference; once the DEK is destroyed, accesses by that key fail.
 */
#ifndef HCA_DEK_H
#define HCA_DEK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/device/crypto.h"
#include "hca/memory/pd.h"

#define HCA_DEK_KEY_MAX 128u

struct xts_key;

struct hca_dek_attr {
	bool is_256; /* two AES keys of 256 bits, else of 128 */
	bool has_keytag;
	uint8_t opaque[8];
	/* Both keys and the tag; wrapped, with 8 bytes more, when the adapter imports them so. */
	uint8_t key[HCA_DEK_KEY_MAX];
};

struct hca_dek {
	struct hca_pd *pd;
	uint32_t number;
	uint32_t pdn;
	bool is_256, has_keytag;
	uint8_t opaque[8];
	uint8_t keytag[HCA_KEYTAG_LEN];
	unsigned int refs; /* guarded by hca.memory.crypto.lock */
	atomic_bool gone;
	struct xts_key *xts;
};

/* -EINVAL for a key that is wrapped otherwise, -EPERM without a login that the adapter asks for. */
VB_API int hca_dek_create(struct hca_pd *pd, const struct hca_dek_attr *attr, struct hca_dek **out);
VB_API void hca_dek_destroy(struct hca_dek *dek);
/* Whether it may be queried: -EPERM without a login that the adapter asks for. */
VB_API int hca_dek_check_query(const struct hca_dek *dek);

/* By number, with a reference taken; NULL when the domain has none. */
struct hca_dek *hca_dek_hold(uint32_t number, uint32_t pdn);
void hca_dek_get(struct hca_dek *dek);
void hca_dek_put(struct hca_dek *dek);

#endif
