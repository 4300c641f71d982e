/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kinds of findings. Their ids are stable: suppressions and the users' scripts name them. docs/checker.md
 * has a page for each.
 */
#ifndef CHECK_CATALOG_H
#define CHECK_CATALOG_H

#include <stdbool.h>

enum check_kind {
	CHECK_SEND_BUFFER_CHANGED,
	CHECK_SEND_BUFFER_UNMAPPED,
	CHECK_STACK_BUFFER_RETURNED,
	CHECK_MR_IN_USE,
	CHECK_MR_UNMAPPED,
	CHECK_KEY_AFTER_DEREG,
	CHECK_SGE_REFUSED,
	CHECK_INLINE_TOO_LONG,
	CHECK_READ_SENT_UNFENCED,
	CHECK_USE_AFTER_DESTROY,
	CHECK_OBJECT_LEAKED,
	CHECK_DESTROY_BUSY,
	CHECK_AH_PER_MESSAGE,
	CHECK_MR_PER_MESSAGE,
	CHECK_FORK_UNPREPARED,
	CHECK_CQ_OVERRUN_POSSIBLE,
	CHECK_SEND_QUEUE_UNSIGNALED,
	CHECK_RECEIVE_QUEUE_DRY,
	CHECK_SRQ_DRY,
	CHECK_RNR_RETRY_EXCEEDED,
	CHECK_LOST_WAKEUP,
	CHECK_EVENTS_UNACKNOWLEDGED,
	CHECK_CQ_TWO_THREADS,
	CHECK_TD_TWO_THREADS,
	CHECK_GID_INDEX_0,
	CHECK_TIMEOUT_ZERO,
	CHECK_TIMEOUT_SHORT,
	CHECK_RD_ATOMIC_MISMATCH,
	CHECK_MTU_ABOVE_PORT,
	CHECK_CAPABILITY_NOT_ASKED,
	CHECK_LIMIT_NOT_PORTABLE,
	CHECK_KINDS,
};

struct check_catalog {
	const char *id;
	bool note; /* told, and no reason to fail */
	const char *why;
	const char *advice;
};

const struct check_catalog *check_catalog_of(enum check_kind kind);

#endif
