/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/state.h"

const struct fabric_page fabric_no_page = { .polling = 1 };
const struct fabric_poll_set fabric_no_links;

struct fabric fabric = {
	.poll = { .page = (struct fabric_page *)&fabric_no_page,
		  .set = (struct fabric_poll_set *)&fabric_no_links },
	.epoch = { .generation = 3 },
	.init_lock = PTHREAD_MUTEX_INITIALIZER,
	.directory = { .lock = PTHREAD_MUTEX_INITIALIZER,
		       .fd = -1,
		       .lock_timeout_ns = 30000000000ull },
	.segment = { .fd = -1 },
	.mailbox = { .fd = -1 },
	.links = { .lock = PTHREAD_MUTEX_INITIALIZER },
	.handshake = { .listener = -1 },
	.service = { .awake = PTHREAD_MUTEX_INITIALIZER,
		     .lock = PTHREAD_MUTEX_INITIALIZER,
		     .callback_done = PTHREAD_COND_INITIALIZER,
		     .epoll = -1,
		     .wake = -1,
		     .timer = -1,
		     .work = STAILQ_HEAD_INITIALIZER(fabric.service.work),
		     .in_callback = SIZE_MAX,
		     .armed_ns = UINT64_MAX },
};
