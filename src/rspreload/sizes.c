/* SPDX-License-Identifier: BSD-2-Clause */
#include "rspreload/sizes.h"

#include <rdma/rsocket.h>

#include "rspreload/state.h"

static void apply(int rs, int option, const int *value)
{
	if (*value)
		rsetsockopt(rs, SOL_RDMA, option, value, sizeof(*value));
}

void rsp_sizes_set(int rs)
{
	apply(rs, RDMA_SQSIZE, &rsp.sq_size);
	apply(rs, RDMA_RQSIZE, &rsp.rq_size);
	apply(rs, RDMA_INLINE, &rsp.inline_size);
}
