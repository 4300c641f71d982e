/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs and shared receive queues: creation, states, receives. */
#ifndef TESTS_SIM_END_H
#define TESTS_SIM_END_H

#include "sim/sim.h"

#define END_QKEY   0x11111111u
#define END_DC_KEY 0xdcdcdcdcull

/* All of a host: shared receive queues, then queue pairs, in RESET. */
void end_start_host(struct host *host);
/* They end without a word to their peers. */
void end_stop_host(struct host *host);

/* From RESET to where it works, with a new packet sequence number. */
void end_open(struct end *end);
/* To RESET; requests and receives are gone without completions. */
void end_reset(struct end *end);
/* RESET of this end and its peer, and back. */
void end_reconnect(struct end *end);
int end_set_state(struct end *end, enum hca_qp_state state);
/* An unbound window, with another key. */
void end_renew_window(struct end *end);
bool end_is_open(const struct end *end);

/* Posts up to `count` receives, as the queue and its CQ have room. */
void rq_post(struct rq *rq, struct end *end, unsigned int count, struct rng *rng);

/* The receive has completed, or never will: its slot is free. */
void rq_release(struct rq *rq, struct recv *r);

/* The path to an address. */
void end_path(const struct end *end, const struct hca_gid *dgid, struct hca_av *out);

static inline bool end_sends(const struct end *end)
{
	return end->type != HCA_QP_XRC_RECV && end->type != HCA_QP_DCT;
}

static inline bool end_is_reliable(const struct end *end)
{
	return end->type != HCA_QP_UC && end->type != HCA_QP_UD;
}

const char *end_name(const struct end *end);

#endif
