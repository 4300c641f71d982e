/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What processes that share a context (ibv_import_device) know of each other. Numbers of protection
 * domains, regions and device memory name one object of the host each, and every process that has
 * one shows a row for it in its segment's table of keys: what it is, which context it belongs to, and
 * how many objects of that process use it. So whoever wants to know asks the rows of the others, and
 * a process that dies takes its own with it.
 *
 * All processes that share a context are linked with each other. No lock of its own.
 */
#ifndef HCA_CTX_SHARE_H
#define HCA_CTX_SHARE_H

#include <stdbool.h>

#include "hca/device/ctx.h"
#include "hca/peers/segment.h"

/*
 * Makes the context one of another process, or of this one before it forked: lists this process as
 * a sharer and links it with the others. Waits until they are linked.
 */
VB_API int hca_ctx_share(struct hca_ctx *ctx, uint64_t uid, fabric_id_t creator);
VB_API void hca_ctx_unshare(struct hca_ctx *ctx);

/* A new row of this process, with no users. */
void hca_row_show(struct hca_mr_entry *row, const struct hca_ctx *ctx, uint32_t kind);
/* Whether it was not taken back, by whichever process. */
bool hca_row_is_shown(const struct hca_mr_entry *row, uint32_t kind);
void hca_row_hide(struct hca_mr_entry *row);

/* What other sharers of the context say about a number. */
struct hca_row_others {
	bool exists; /* at least one has such a row */
	bool other_kind;
	unsigned int users;
};

struct hca_row_others hca_row_look(const struct hca_ctx *ctx, uint32_t number, uint32_t kind);
/* Takes the number's rows back, in all other processes. */
void hca_row_hide_others(const struct hca_ctx *ctx, uint32_t number, uint32_t kind);

#endif
