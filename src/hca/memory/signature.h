/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transform of block signatures (transform.h). Towards the wire, signatures of memory are
 * checked and those of the wire are made; towards memory, the other way round. Domains may differ in
 * everything but the data: block sizes, kinds, or one of them has no signatures at all.
 *
 * A wrong signature does not end a transfer. The first one of a key is kept until the queue pair on
 * whose behalf the data was moved, in this thread, takes it to tell its program.
 */
#ifndef HCA_SIGNATURE_H
#define HCA_SIGNATURE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/device/signature.h"
#include "hca/hca.h"
#include "hca/memory/transform.h"

/* A configuration that can be carried out. */
bool signature_valid(const struct hca_sig_conf *conf);
/* The stage of a key; NULL: no memory. */
struct transform *signature_create(const struct hca_sig_conf *conf, uint32_t key);

/* Inside the epoch section in which the data was moved: the next error of this thread. */
bool signature_take_error(struct hca_sig_error *out);

/* Whether any thread has one; nearly always not. */
static inline bool signature_has_errors(void)
{
	return unlikely(atomic_load_explicit(&hca.memory.signature.errors, memory_order_relaxed));
}

#endif
