/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts that several processes share (ibv_import_device). The numbers of protection domains,
 * regions and device memory are unique on the host, and every process that has such an object keeps
 * a row for it in the table of keys of its segment: its kind, its context, and the number of objects
 * of that process that use it. A process that needs to know about an object reads the rows of the
 * other processes; a process that dies takes its rows with it.
 *
 * All processes that share a context are linked with each other. No lock of its own.
 */
#ifndef HCA_CTX_SHARE_H
#define HCA_CTX_SHARE_H

#include <stdbool.h>

#include "hca/device/ctx.h"
#include "hca/peers/segment.h"

/*
 * Makes the context the same as another process's, or the parent's after a fork: registers this
 * process as a sharer, and waits until it is linked with the others.
 */
VB_API int hca_ctx_share(struct hca_ctx *ctx, uint64_t uid, fabric_id_t creator);
VB_API void hca_ctx_unshare(struct hca_ctx *ctx);

/* Makes a row of this process, with no users, visible to the others. */
void hca_row_show(struct hca_mr_entry *row, const struct hca_ctx *ctx, uint32_t kind);
/* False once this process has hidden the row, by itself or because another one asked. */
bool hca_row_is_shown(const struct hca_mr_entry *row, uint32_t kind);
void hca_row_hide(struct hca_mr_entry *row);

/* The rows of the other sharers of a context, for one number. */
struct hca_row_others {
	bool exists;        /* at least one is of this kind */
	bool other_kind;    /* at least one is of another kind, or a key */
	unsigned int users; /* in all rows of this kind */
};

struct hca_row_others hca_row_query(const struct hca_ctx *ctx, uint32_t number, uint32_t kind);
/* Has all other processes hide their rows, with any lock held. */
void hca_row_hide_others(const struct hca_ctx *ctx, uint32_t number, uint32_t kind);
/* Waits until they have, but for processes that are stopped. No lock of a handler is held. */
void hca_row_wait_hidden(const struct hca_ctx *ctx, uint32_t number, uint32_t kind);

#endif
