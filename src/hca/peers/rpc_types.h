/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls between processes of the host: what can be called. Types only. */
#ifndef HCA_RPC_TYPES_H
#define HCA_RPC_TYPES_H

#include "fabric/id.h"

#define HCA_RPC_BYTES 512u

enum hca_rpc_verb {
	HCA_RPC_MR_DESTROY,
	HCA_RPC_DM_DESTROY,
	HCA_RPC_XRC_OPEN,
	HCA_RPC_XRC_MODIFY,
	HCA_RPC_XRC_QUERY,
	HCA_RPC_XRC_CLOSE,
	HCA_RPC_XRC_EVENT,
	HCA_RPC_SERVE_COPIES,
	HCA_RPC_ROW_HIDE,
	HCA_RPC_DEVX, /* libmlx5 */
	HCA_RPC_VERBS,
};

/*
 * Handles a call of the process `from`: `in` has HCA_RPC_BYTES, zeros behind what was sent, and
 * `out` as many. Runs on the service thread, outside of epoch sections and locks.
 */
typedef int hca_rpc_fn(fabric_id_t from, const void *in, void *out);

#endif
