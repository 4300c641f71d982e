/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of a peer, mapped here.
 */
#ifndef FABRIC_SHARE_VIEW_H
#define FABRIC_SHARE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrows the peer's memfd, which must stay open. No lock: the owner of the view serialises its use. */
struct share_view {
	int fd;
	bool self;     /* it is our own memfd, whose pages are mapped already */
	size_t mapped; /* bytes */
};

/* -EPROTO when the descriptor is not such a memfd. */
int share_view_init(struct share_view *view, int fd);
/* Our address for the peer's peer_va, valid for len bytes; NULL: errno is EINVAL or ENOMEM. */
void *share_view_map(struct share_view *view, uint64_t peer_va, size_t len);
/* An address from share_view_map(), with the same len. */
void share_view_unmap(struct share_view *view, void *local, size_t len);
/* Every mapping must have been unmapped. */
void share_view_fini(struct share_view *view);

#endif
