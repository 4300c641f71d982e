/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirection tables and hashing. References: a rule holds a hash (dest.users), a hash its table
 * (users), a table its work queues (dest.users); each is destroyed only when nothing holds it.
 */
#include "hca/raw/rss.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/rss.h"
#include "fabric/epoch.h"
#include "hca/hca.h"
#include "hca/raw/vswitch.h"
#include "util/explain.h"

int hca_ind_table_create(struct hca_wq *const *wq, uint8_t log_size, struct hca_ind_table **out)
{
	struct hca_ind_table *table;
	size_t count;

	if (log_size > HCA_IND_LOG_MOST)
		return explain(EINVAL, "an indirection table has at most 2^%u entries, not 2^%u",
			       HCA_IND_LOG_MOST, log_size);
	count = (size_t)1 << log_size;
	table = calloc(1, sizeof(*table) + count * sizeof(table->wq[0]));
	if (!table)
		return -ENOMEM;
	table->log_size = log_size;
	table->number = atomic_fetch_add(&hca.raw.rss.next_table, 1) & 0xffffff;
	for (size_t i = 0; i < count; i++) {
		table->wq[i] = wq[i];
		ether_dest_get(&wq[i]->dest);
	}
	*out = table;
	return 0;
}

int hca_ind_table_modify(struct hca_ind_table *table, struct hca_wq *const *wq)
{
	for (size_t i = 0; i < (size_t)1 << table->log_size; i++) {
		struct hca_wq *old = table->wq[i];

		ether_dest_get(&wq[i]->dest);
		/* [RSS2] pairs with deliver(): the queue before its pointer */
		__atomic_store_n(&table->wq[i], wq[i], __ATOMIC_RELEASE);
		ether_dest_put(&old->dest);
	}
	epoch_wait();
	return 0;
}

int hca_ind_table_destroy(struct hca_ind_table *table)
{
	unsigned int users = atomic_load(&table->users);

	if (users)
		return explain(EBUSY, "%u queue pairs use the indirection table", users);
	for (size_t i = 0; i < (size_t)1 << table->log_size; i++)
		ether_dest_put(&table->wq[i]->dest);
	free(table);
	return 0;
}

static void deliver(struct ether_dest *dest, struct ether_frame *frame)
{
	struct hca_rss *rss = container_of(dest, struct hca_rss, dest);
	/* [RSS1] pairs with hca_rss_set_table(): a table's entries before the table */
	const struct hca_ind_table *table = __atomic_load_n(&rss->table, __ATOMIC_ACQUIRE);
	uint8_t input[ETHER_RSS_INPUT];
	struct hca_wq *wq;
	size_t len;

	frame->rss_hash = 0;
	frame->rss_fields = 0;
	if (likely(rss->fields)) {
		len = ether_rss_input(frame->data, ether_frame_parse(frame), rss->fields, input,
				      &frame->rss_fields);
		frame->rss_hash = ether_toeplitz(&rss->toeplitz, input, len);
	}
	/* [RSS2] */
	wq = __atomic_load_n(&table->wq[frame->rss_hash & ((1u << table->log_size) - 1)],
			     __ATOMIC_ACQUIRE);
	hca_wq_receive(wq, frame, wq->self_lb | rss->self_lb);
}

static void set_hash(struct hca_rss *rss, uint32_t fields, const uint8_t *key)
{
	rss->fields = fields & ~(uint32_t)ETHER_RSS_INNER ? fields : 0;
	if (rss->fields)
		ether_toeplitz_init(&rss->toeplitz, key);
}

int hca_rss_create(struct hca_ctx *ctx, struct hca_ind_table *table, uint32_t fields,
		   const uint8_t *key, struct hca_rss **out)
{
	struct hca_rss *rss;
	int err = vswitch_join(ctx->adapter);

	if (err)
		return err;
	rss = calloc(1, sizeof(*rss));
	if (!rss)
		return -ENOMEM;
	rss->dest.deliver = deliver;
	rss->ctx = ctx;
	rss->table = table;
	set_hash(rss, fields, key);
	atomic_fetch_add(&table->users, 1);
	*out = rss;
	return 0;
}

void hca_rss_set_table(struct hca_rss *rss, struct hca_ind_table *table)
{
	struct hca_ind_table *old = rss->table;

	atomic_fetch_add(&table->users, 1);
	/* [RSS1] */
	__atomic_store_n(&rss->table, table, __ATOMIC_RELEASE);
	epoch_wait();
	atomic_fetch_sub(&old->users, 1);
}

void hca_rss_set_hash(struct hca_rss *rss, uint32_t fields, const uint8_t *key)
{
	wq_rx_begin(); /* deliver() runs under the receive lock */
	set_hash(rss, fields, key);
	wq_rx_end();
}

int hca_rss_destroy(struct hca_rss *rss)
{
	unsigned int users = atomic_load(&rss->dest.users);

	if (users)
		return explain(EBUSY, "%u flow rules lead to the queue pair", users);
	epoch_wait();
	atomic_fetch_sub(&rss->table->users, 1);
	free(rss);
	return 0;
}
