/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transform of block signatures (transform.h). Towards the wire, signatures of memory are
 * checked and those of the wire are made; towards memory, the other way round. Domains may differ in
 * everything but the data: block sizes, kinds, or one of them has no signatures at all.
 * A wrong signature does not end a transfer: the first one of a key is reported (signature_error.h).
 */
#ifndef HCA_SIGNATURE_H
#define HCA_SIGNATURE_H

#include <stdbool.h>

#include "hca/device/signature.h"
#include "hca/memory/transform.h"

/* A configuration that can be carried out. */
bool signature_valid(const struct hca_sig_conf *conf);
/* The stage of a key of a protection domain; NULL: no memory. */
struct transform *signature_create(const struct hca_sig_conf *conf, uint32_t key, uint32_t pdn);

#endif
