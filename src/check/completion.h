/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a completion says of the requests of its queue.
 */
#ifndef CHECK_COMPLETION_H
#define CHECK_COMPLETION_H

#include "check/queue.h"

struct check_wc {
	uint64_t wr_id;
	enum ibv_wc_status status;
	uint32_t qp_num;
	bool receive;
};

/* Called for each completion that is handed to the program; `polled` is the place of the poll. */
void check_completion(struct check_cq *cq, const struct check_wc *wc,
		      const struct check_place *polled);

#endif
