/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checker (verbena check), as the adapter sees it: functions for queues of programs that are checked, which
 * are those with `checked` set. The checker sets it before a queue is used. Hooks take no lock of libibverbs.
 */
#ifndef HCA_CHECKER_H
#define HCA_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/api.h"

struct hca_cq;
struct hca_qp;

struct hca_checker {
	/*
	 * A raw send queue is looked at; what is new in it begins next. `oldest` is the slot of the first request
	 * that is not completed, `next` that of the first that has not begun. QP's lock held.
	 */
	void (*sq_looked)(struct hca_qp *qp, uint32_t oldest, uint32_t next);
	/*
	 * The program was given the doorbell register of a raw send queue, two buffers of `size` bytes, of which it
	 * stores to one and the other in turn. QP's lock held.
	 */
	void (*sq_register)(struct hca_qp *qp, const void *reg, uint32_t size);
	/* A message has taken receive `counter` of the QP's own queue; its memory is untouched. QP's lock held. */
	void (*recv_taken)(struct hca_qp *qp, uint32_t counter);
	/*
	 * The adversary's next random number; NULL: there is none. With one, writes of peers come by packets, and their
	 * bytes are placed in any order (memory/shuffle.h).
	 */
	uint64_t (*random)(void);
	/* A datagram is dropped, of so many bytes with the GRH, or with this Q_Key. QP's lock held. */
	void (*datagram_too_long)(struct hca_qp *qp, uint32_t bytes);
	void (*datagram_qkey)(struct hca_qp *qp, uint32_t got, uint32_t want);
	/* There was no room for a completion; the consumer's index is this. CQ's lock held. */
	void (*cq_overrun)(struct hca_cq *cq, uint32_t consumer);
};

/* Once per process, before the first queue. */
VB_API void hca_checker_set(const struct hca_checker *checker);

#endif
