/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbell pages by their address, for a signal handler, which looks without a lock. */
#ifndef HCA_UAR_PLACE_H
#define HCA_UAR_PLACE_H

#include <stdint.h>

#define HCA_UAR_SIZE 4096u

struct hca_uar;

/* hca.queue.watch_lock held. -ENOMEM. */
int uar_place_add(struct hca_uar *uar, uintptr_t page);
void uar_place_remove(const struct hca_uar *uar, uintptr_t page);

/* The page with this address, or NULL. Inside an epoch section. */
struct hca_uar *uar_place_find(uintptr_t address);

#endif
