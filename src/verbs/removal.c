/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * As in rdma-core, an object of a removed adapter cannot be destroyed (EIO, and the object stays as it is),
 * unless RDMAV_ALLOW_DISASSOC_DESTROY is set.
 */
#include "verbs/removal.h"

#include <stdlib.h>

#include "verbs/context.h"
#include "verbs/private.h"

__attribute__((constructor)) static void read_environment(void)
{
	verbs_allow_disassociate_destroy = getenv("RDMAV_ALLOW_DISASSOC_DESTROY");
}

int vb_check_present(struct ibv_context *context)
{
	return hca_ctx_check(&to_context(context)->hca);
}

int vb_check_destroy(struct ibv_context *context)
{
	return verbs_allow_disassociate_destroy ? 0 : vb_check_present(context);
}
