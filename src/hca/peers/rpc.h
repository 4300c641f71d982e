/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls to other processes of the host, for work that only the owner of an object can do. Not for
 * data paths: the caller waits while the owner's service thread runs the handler.
 */
#ifndef HCA_RPC_H
#define HCA_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/id.h"
#include "hca/peers/peer_types.h"
#include "hca/peers/rpc_types.h"
#include "util/api.h"

/*
 * Calls, and waits for the reply: returns the handler's result, with its output in `out` when that
 * is 0. -ECONNRESET: the process is dead, or dies meanwhile; -ETIMEDOUT: no reply within 20 s. Not
 * inside an epoch section, not on the service thread.
 */
VB_API int hca_rpc_call(fabric_id_t to, enum hca_rpc_verb verb, const void *in, size_t len,
			void *out, size_t out_len);

/*
 * Calls without waiting for a reply: from any thread, with any lock held. Notifications arrive in
 * order. One is lost when the process dies, or does not read its link for 5 s.
 */
void hca_rpc_notify(fabric_id_t to, enum hca_rpc_verb verb, const void *in, size_t len);

/* This process, as others call it; joins the host's fabric if need be. FABRIC_ID_NONE: that failed. */
VB_API fabric_id_t hca_rpc_self(void);

/* Sets the handler of a verb, before any call can arrive. */
VB_API void hca_rpc_serve(enum hca_rpc_verb verb, hca_rpc_fn *fn);

/* A record from a link: a call or a reply. False: malformed. Inside an epoch section. */
bool rpc_record(fabric_id_t from, const void *body, uint32_t len, bool is_reply);

extern const struct peer_listener rpc_peer_listener;

#endif
