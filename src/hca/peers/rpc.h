/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions to other processes of the host, for what only the owner of an object can do. Not for
 * data paths: the asker waits, the owner's service thread does what it is asked.
 */
#ifndef HCA_RPC_H
#define HCA_RPC_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

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
	HCA_RPC_VERBS,
};

/*
 * Asks, and waits for the answer: what the owner's function returned, with its output in `out`
 * when that is 0. -ECONNRESET when the process dies meanwhile or is dead, -ETIMEDOUT when it does not
 * answer within 20 s. Not inside an epoch section, not on the service thread.
 */
int hca_rpc_call(fabric_id_t who, enum hca_rpc_verb verb, const void *in, size_t len, void *out,
		 size_t out_len);

/*
 * The same for who needs no answer: from any thread, with any lock held. It arrives in order, or is
 * lost with the process, or when that does not read for 5 s.
 */
void hca_rpc_notify(fabric_id_t who, enum hca_rpc_verb verb, const void *in, size_t len);

/*
 * The other side, one function per verb: `in` has HCA_RPC_BYTES, zeros behind what was sent. Runs on
 * the service thread, outside of guards and locks.
 */
typedef int (*hca_ask_fn)(fabric_id_t from, const void *in, void *out);
void hca_rpc_serve(enum hca_rpc_verb verb, hca_ask_fn fn);

/* ---- for peer.c, drain.c and host.c ---- */

/* A record that is a question or an answer; false when it makes no sense. Inside an epoch section. */
bool rpc_record(fabric_id_t from, const void *body, uint32_t len, bool is_answer);
extern const struct peer_listener rpc_peer_listener;
void rpc_forked(void);

#endif
