/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirection tables of work queues, and what spreads frames over them by a hash.
 */
#ifndef HCA_RSS_H
#define HCA_RSS_H

#include "ether/toeplitz.h"
#include "hca/raw/wq.h"

#define HCA_IND_LOG_MOST 11u /* 2048 entries, as the adapters say */

struct hca_ind_table {
	uint32_t number;
	uint8_t log_size;
	atomic_uint users; /* spreaders on it */
	struct hca_wq *wq[];
};

/* Holds every queue as often as it is in it. */
VB_API int hca_ind_table_create(struct hca_wq *const *wq, uint8_t log_size,
				struct hca_ind_table **out);
VB_API int hca_ind_table_destroy(struct hca_ind_table *table); /* -EBUSY while something uses it */
/* Takes another set of queues of the same size in its place. */
VB_API int hca_ind_table_modify(struct hca_ind_table *table, struct hca_wq *const *wq);

/* A hash over a table: what is behind an RSS QP, or a TIR. */
struct hca_rss {
	struct ether_dest dest;
	struct hca_ind_table *table;
	uint32_t fields; /* enum ether_rss; 0: everything goes to the first entry */
	uint8_t self_lb; /* enum hca_self_lb */
	struct hca_ctx *ctx;
	struct ether_toeplitz toeplitz;
};

/* `key` has ETHER_RSS_KEY bytes; it is not looked at without fields. */
VB_API int hca_rss_create(struct hca_ctx *ctx, struct hca_ind_table *table, uint32_t fields,
			  const uint8_t *key, struct hca_rss **out);
/* From now on over another table, whatever its size. */
VB_API void hca_rss_set_table(struct hca_rss *rss, struct hca_ind_table *table);
/* From now on by other fields or another key. */
VB_API void hca_rss_set_hash(struct hca_rss *rss, uint32_t fields, const uint8_t *key);
VB_API int hca_rss_destroy(struct hca_rss *rss); /* -EBUSY while a rule leads to it */

#endif
