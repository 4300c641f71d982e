/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues that a program owns: a ring of entries in memory, a consumer index and a request to
 * be woken that come through a doorbell page (uar.h), and a descriptor that stands for the
 * interrupt. Completion queues point here; asynchronous events are posted by the driver.
 */
#ifndef HCA_EQ_H
#define HCA_EQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fabric/lock.h"
#include "hca/device/format.h"
#include "hca/queue/uar.h"

#define HCA_EQ_INDEX_MASK 0xffffffu

/* An event as the ring format writes it; the driver knows what types and words mean. */
struct hca_eqe {
	uint8_t type; /* 0: a completion queue, whose number is the last word */
	uint8_t sub_type;
	uint32_t data[7]; /* host order */
};

struct hca_eq {
	struct fabric_lock lock; /* everything below; innermost but for a channel's */
	const struct hca_format *format;
	void *buf;
	uint32_t size; /* entries, a power of two */
	uint32_t eqn;
	struct hca_uar *uar;  /* the doorbell page; NULL when the program has freed it */
	struct uar_user user; /* of the page, unless that is freed */
	uint32_t rings;       /* the page's count when it was last read */
	int fd;               /* eventfd of the interrupt; several queues may share it */
	uint32_t pi, ci;
	bool armed;
	bool overran; /* events found no room */
	bool doubt;   /* its word in the page may have been overwritten; see eq.c */
	uint32_t raised_pi;
	/* Events that wait for room, which a word that was overwritten may have announced. */
	struct hca_eqe *kept;
	uint32_t kept_count;
	bool ignore_overrun;
	atomic_uint users; /* completion queues */
};

struct hca_eq_init {
	const struct hca_format *format;
	void *buf;
	uint32_t size;
	uint32_t eqn;
	struct hca_uar *uar;
	int fd;
	bool ignore_overrun;
};

VB_API int hca_eq_create(const struct hca_eq_init *init, struct hca_eq **out);
VB_API int hca_eq_destroy(struct hca_eq *eq); /* -EBUSY while a completion queue uses it */

/* Any lock may be held but an event queue's. An event that finds the ring full is lost. */
VB_API void hca_eq_post(struct hca_eq *eq, const struct hca_eqe *eqe);

#endif
