/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other processes of the host say of their queue pairs. A question is an empty file in the fabric's folder,
 * of which the service threads are notified as of changed settings; the answer is another file.
 */
#ifndef HCA_QUERY_H
#define HCA_QUERY_H

#include <stddef.h>
#include <stdint.h>

#include "hca/inspect/story.h"
#include "util/api.h"

struct hca_answers {
	struct hca_story *story; /* the caller frees it */
	size_t count;
	unsigned int processes; /* that have answered */
	uint32_t silent;        /* pid of one that has not, within the time; or 0 */
};

/* Asks all processes, for `wait_ms` at most. 0 or -errno. The process need not have joined the fabric. */
VB_API int hca_query(struct hca_answers *out, unsigned int wait_ms);

/* All queue pairs of this process; the caller frees them. NULL: none, or no memory. */
struct hca_story *query_self(size_t *count);
/* Answers questions to this process: the service thread. */
void query_answer(const char *folder);

#endif
