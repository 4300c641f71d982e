/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive side scaling: indirection tables of work queues, and the Toeplitz hash that chooses the
 * table entry for a frame.
 */
#ifndef HCA_RSS_H
#define HCA_RSS_H

#include "ether/toeplitz.h"
#include "hca/raw/wq.h"

#define HCA_IND_LOG_MOST 11u /* 2048 entries, the limit that the adapters report */

struct hca_ind_table {
	uint32_t number;
	uint8_t log_size;
	atomic_uint users; /* struct hca_rss */
	struct hca_wq *wq[];
};

/* Takes one reference to a queue (dest.users) for each of its entries. */
VB_API int hca_ind_table_create(struct hca_wq *const *wq, uint8_t log_size,
				struct hca_ind_table **out);
VB_API int hca_ind_table_destroy(struct hca_ind_table *table); /* -EBUSY while a hash uses it */
/* Replaces all entries; the size stays. */
VB_API int hca_ind_table_modify(struct hca_ind_table *table, struct hca_wq *const *wq);

/* A hash and its table: the receive side of an RSS QP, or a TIR. */
struct hca_rss {
	struct ether_dest dest;
	struct hca_ind_table *table;
	uint32_t fields; /* enum ether_rss; 0: all frames go to the first entry */
	uint8_t self_lb; /* enum hca_self_lb */
	struct hca_ctx *ctx;
	struct ether_toeplitz toeplitz;
};

/* `key` has ETHER_RSS_KEY bytes; without fields it may be NULL. */
VB_API int hca_rss_create(struct hca_ctx *ctx, struct hca_ind_table *table, uint32_t fields,
			  const uint8_t *key, struct hca_rss **out);
/* Changes the table; the new one may have another size. */
VB_API void hca_rss_set_table(struct hca_rss *rss, struct hca_ind_table *table);
/* Changes fields and key. */
VB_API void hca_rss_set_hash(struct hca_rss *rss, uint32_t fields, const uint8_t *key);
VB_API int hca_rss_destroy(struct hca_rss *rss); /* -EBUSY while a rule leads to it */

#endif
