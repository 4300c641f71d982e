/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/settle.h"

#include <string.h>

#include "hca/queue/srq.h"

#include "sim/completion.h"
#include "sim/end.h"
#include "sim/host.h"
#include "sim/net.h"
#include "sim/post.h"
#include "sim/trace.h"
#include "sim/work.h"

/* Longer than all retries of the longest timeout that the shapes have. */
#define PATIENCE_NS 20000000000ull

/* ---- receives ---- */

static struct end *owner_of(const struct rq *rq)
{
	for (unsigned int i = 0; i < sim.shape.ends && !rq->shared; i++)
		if (sim.end[i].rq == rq)
			return &sim.end[i];
	return NULL;
}

void settle_post_receives(struct rq *rq, unsigned int count, struct rng *rng)
{
	struct end *end = owner_of(rq);

	if (rq->host->gone || (end && end->hca->state == HCA_QPS_RESET))
		return;
	rq_post(rq, end, count, rng);
}

static bool is_target(const struct rq *rq)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++)
		if (sim.end[i].rq == rq)
			return sim.end[i].type == HCA_QP_DCT;
	return false;
}

/*
 * Entries of a shared queue that a message had taken when its queue pair was reset never complete.
 * Those that a session of a DC target holds complete when the initiator begins the next session.
 */
static void reclaim(struct rq *rq)
{
	uint32_t left = hca_srq_posted(rq->srq), at = rq->srq->head;
	bool waits[64] = { false };

	for (; left; left--, at = rq->slot[at].next)
		waits[at] = true;
	for (uint32_t i = 0; i < rq->size; i++) {
		struct recv *r = &rq->slot[i];

		if (!r->posted || waits[i])
			continue;
		SIM_CHECK(rq->orphans || rq->loose || is_target(rq),
			  "SRQ %u of host %u: entry %u never completes", rq->index, rq->host->index,
			  i);
		memcpy(rq->host->shadow + r->off, rq->host->mem + r->off, r->len);
		if (!is_target(rq))
			rq_release(rq, r);
	}
	rq->orphans = 0;
}

/* ---- completion of everything ---- */

static bool is_idle(void)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++)
		if (sim.end[i].hca && sim.end[i].done != sim.end[i].posted)
			return false;
	return !net_has_packets();
}

/*
 * Lets everything go on that could: receives, queues that were stopped, and doorbells, but only the
 * first time: a request must not depend on later ones.
 */
static void push(struct rng *rng, bool first)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[i];

		if (!end->hca)
			continue;
		if (end->hca->state == HCA_QPS_SQD) {
			end_set_state(end, HCA_QPS_RTS);
			end->drained = false;
		}
		if (!end_sends(end) || end->done == end->posted || end->hca->state < HCA_QPS_RTS)
			continue;
		if ((end->slot[(end->posted - 1) % end->slots].signaled || !post_nop(end)) && first)
			post_ring(end);
	}
	for (unsigned int i = 0; i < sim.shape.rqs; i++) {
		const struct end *end = owner_of(&sim.rq[i]);

		if (!end || !end->hca || end->hca->state != HCA_QPS_ERR)
			settle_post_receives(&sim.rq[i], sim.rq[i].size, rng);
	}
}

/* A request may wait for ever only for a receive that cannot be posted. */
static bool may_be_stuck(const struct end *end)
{
	for (uint32_t i = end->done; i != end->posted; i++) {
		const struct work *w = end->slot[i % end->slots].work;

		if (work_may_lack_receive(w) && end->rnr_retry == 7)
			return true;
	}
	return false;
}

/* The last request has no signal, and there is no room for the completion of another behind it. */
static bool lacks_signal(const struct end *end)
{
	return !end->slot[(end->posted - 1) % end->slots].signaled &&
	       end->send_cq->reserved >= end->send_cq->size;
}

static bool all_are_stuck(void)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		const struct end *end = &sim.end[i];

		if (end->hca && end->done != end->posted && !may_be_stuck(end) &&
		    !lacks_signal(end))
			return false;
	}
	return true;
}

/* A request without a signal that is not flushed had succeeded before. */
static void take_silent(struct end *end)
{
	for (; end->done != end->posted; end->done++) {
		struct work *w = end->slot[end->done % end->slots].work;

		SIM_CHECK(!w->signaled && !end->flushing, "%s: not flushed", work_name(w));
		end->send_cq->reserved--;
		work_complete(w, HCA_SUCCESS);
	}
}

/*
 * Ends requests that wait for a receive. True: others may go on, as there is room for completions
 * now.
 */
static bool end_stuck(void)
{
	bool some = false;

	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[i];

		if (!end->hca || end->done == end->posted || !may_be_stuck(end))
			continue;
		work_end_failed(end);
		SIM_CHECK(!end_set_state(end, HCA_QPS_ERR), "%s: not in ERR", end_name(end));
		completion_poll_all();
		take_silent(end);
		some = true;
	}
	return some;
}

static void wait_all(struct rng *rng)
{
	uint64_t until = net.now_ns + PATIENCE_NS, step = 20000;

	while (net.now_ns < until) {
		completion_poll_all();
		if (is_idle() || (step > 5000000 && all_are_stuck()))
			break;
		push(rng, false);
		net_pass(step);
		if (step < 200000000)
			step += step / 2;
	}
}

static void finish_all(void)
{
	struct rng rng = rng_fork(sim.seed, net_elapsed_ns());

	push(&rng, true);
	do
		wait_all(&rng);
	while (end_stuck());
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		const struct end *end = &sim.end[i];

		SIM_CHECK(!end->hca || end->done == end->posted,
			  "%s: not complete after %u s, in state %d",
			  work_name(end->slot[end->done % end->slots].work),
			  (unsigned int)(PATIENCE_NS / 1000000000u), end->hca->state);
	}
	while (net_has_packets())
		net_pass(1000000);
	completion_poll_all();
}

/* ---- checks ---- */

/*
 * Messages of no bytes look the same. The one that was received counted as an earlier one, which
 * was lost for want of a receive, as UC may: it was this one.
 */
static bool was_taken_for_another(const struct work *w)
{
	for (unsigned int i = 0; i < w->to->inbox_count && w->to->inbox[i] != w; i++) {
		struct work *v = w->to->inbox[i];

		if (v->end != w->end || v->rq != w->rq || v->kind != HCA_RECV_SEND || v->length ||
		    !v->delivered || work_is_certain(v))
			continue;
		v->delivered = false;
		return true;
	}
	return false;
}

static void check_messages(void)
{
	for (unsigned int i = 0; i < sim.works; i++) {
		const struct work *w = sim.work[i];

		if (!w->message || w->state != WORK_DONE || w->status != HCA_SUCCESS ||
		    w->to->host->gone || w->dead)
			continue;
		if (!end_is_reliable(w->end) && !work_is_certain(w))
			continue;
		SIM_CHECK(w->delivered || (!w->length && w->kind == HCA_RECV_SEND &&
					   !end_is_reliable(w->end) && was_taken_for_another(w)),
			  "%s: succeeded, and was not received", work_name(w));
	}
}

/* Requests of a reliable connection are carried out in order: none behind one that was not. */
static void check_order(void)
{
	static const struct work *missing[1u << 16];

	for (unsigned int i = 0; i < sim.shape.ends; i++)
		missing[i] = NULL;
	for (unsigned int i = 0; i < sim.works; i++) {
		const struct work *w = sim.work[i], *before = missing[w->end->index];
		int evidence;

		if (!end_is_reliable(w->end) || w->to->host->gone || w->never_runs)
			continue;
		evidence = work_evidence(w);
		if (evidence < 0) {
			SIM_CHECK(w->state != WORK_DONE || w->status != HCA_SUCCESS,
				  "%s: succeeded, and was not carried out", work_name(w));
			if (!before)
				missing[w->end->index] = w;
		}
		if (evidence > 0 && before && before->life == w->life)
			sim_fail("%s: carried out, and %s was not", work_name(w),
				 work_name(before));
		if (before && before->life != w->life)
			missing[w->end->index] = NULL;
	}
}

static void check_counters(struct host *host)
{
	for (unsigned int i = 0; i < COUNTERS; i++) {
		uint64_t value;

		memcpy(&value, host->mem + (size_t)i * 8, 8);
		SIM_CHECK(!(value & ~host->adding[i]),
			  "host %u: counter %u is 0x%llx, but only 0x%llx was added: twice?",
			  host->index, i, (unsigned long long)value,
			  (unsigned long long)host->adding[i]);
		SIM_CHECK(!(host->added[i] & ~value),
			  "host %u: counter %u is 0x%llx, but 0x%llx was added", host->index, i,
			  (unsigned long long)value, (unsigned long long)host->added[i]);
	}
	memcpy(host->shadow, host->mem, (size_t)COUNTERS * 8);
}

static void accept_receives(const struct rq *rq)
{
	const struct end *end = owner_of(rq);

	for (uint32_t i = 0; i < rq->size; i++) {
		const struct recv *r = &rq->slot[i];

		if (r->posted && (rq->loose || (end && end->type == HCA_QP_UC)))
			memcpy(rq->host->shadow + r->off, rq->host->mem + r->off, r->len);
	}
}

static void check_memory(struct host *host)
{
	for (unsigned int i = 0; i < REGIONS; i++) {
		const struct region *r = &host->region[i];

		SIM_CHECK(!r->frozen || !memcmp(r->frozen, host->mem + r->off, r->len),
			  "host %u: region %u was changed after it was deregistered", host->index,
			  i);
	}
	if (host->gone || !memcmp(host->mem, host->shadow, host->bytes))
		return;
	for (uint32_t i = 0; i < host->bytes; i++)
		if (host->mem[i] != host->shadow[i])
			sim_fail("host %u: offset %u of region %d is 0x%02x, and should be 0x%02x",
				 host->index, i - host->region[host_region_of(host, i)].off,
				 host_region_of(host, i), host->mem[i], host->shadow[i]);
}

static void check_states(void)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[i];

		completion_explain(end);
		if (end->hca && !end_is_open(end))
			SIM_CHECK(end->failed || end->fail_ok, "%s: in state %d for no reason",
				  end_name(end), end->hca->state);
	}
}

static void check_all(void)
{
	sim.settled = true;
	check_states();
	check_messages();
	check_order();
	for (unsigned int i = 0; i < sim.slices; i++)
		slice_check(sim.slice[i]);
	for (unsigned int i = 0; i < sim.slices; i++)
		memcpy(span_shadow(&sim.slice[i]->at), span_mem(&sim.slice[i]->at),
		       sim.slice[i]->at.len);
	for (unsigned int i = 0; i < sim.swaps; i++)
		swap_word_check(sim.swap[i]);
	for (unsigned int i = 0; i < sim.shape.rqs; i++) {
		if (sim.rq[i].srq)
			reclaim(&sim.rq[i]);
		accept_receives(&sim.rq[i]);
	}
	for (unsigned int i = 0; i < sim.shape.hosts; i++) {
		check_counters(&sim.host[i]);
		check_memory(&sim.host[i]);
	}
	sim.settled = false;
}

/* ---- rounds ---- */

static void clear_model(void)
{
	work_free_all();
	slice_free_all();
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[i];

		end->inbox_count = 0;
		end->swap = NULL;
		end->last_slice = NULL;
	}
	for (unsigned int i = 0; i < sim.shape.rqs; i++) {
		sim.rq[i].owed = 0;
		sim.rq[i].loose = sim.rq[i].scarce = false;
	}
}

static void revive_host(struct host *host)
{
	host->trouble = false;
	host->down_until_ns = 0;
	if (!host->gone) {
		if (host->region[REGION_SPARE].gone)
			host_register(host, REGION_SPARE);
		host->region[REGION_SPARE].gone = false;
		return;
	}
	host->gone = false;
	for (unsigned int i = 0; i < REGIONS; i++)
		host->region[i].gone = false;
	host_start(host);
	end_start_host(host);
	/* New queue pairs: their peers have to connect to them. */
	for (unsigned int i = 0; i < sim.shape.ends; i++)
		if (sim.end[i].host == host && sim.end[i].peer)
			sim.end[i].peer->failed = true;
}

static void revive_ends(void)
{
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		struct end *end = &sim.end[i];

		if (!end_is_open(end) || end->failed)
			end_reconnect(end);
		else if (end->peer && !end_is_open(end->peer))
			end_reconnect(end);
		end->trouble = sim.shape.harsh;
		end->fail_ok = sim.shape.starved;
		end_renew_window(end);
	}
}

void settle_start(void)
{
	for (unsigned int i = 0; i < sim.shape.hosts; i++) {
		host_refill(&sim.host[i]);
		host_start(&sim.host[i]);
		end_start_host(&sim.host[i]);
	}
	for (unsigned int i = 0; i < sim.shape.ends; i++)
		end_open(&sim.end[i]);
}

void settle_round(bool more)
{
	finish_all();
	check_all();
	clear_model();
	if (!more)
		return;
	trace_line("---- a new round");
	for (unsigned int i = 0; i < sim.shape.hosts; i++)
		revive_host(&sim.host[i]);
	revive_ends();
	for (unsigned int i = 0; i < sim.shape.hosts; i++)
		host_refill(&sim.host[i]);
}

void settle_stop(void)
{
	for (unsigned int i = 0; i < sim.shape.hosts; i++)
		if (!sim.host[i].gone) {
			end_stop_host(&sim.host[i]);
			host_stop(&sim.host[i]);
		}
}

void settle_vanish(struct host *host)
{
	host->gone = host->trouble = true;
	end_stop_host(host);
	for (unsigned int i = 0; i < sim.shape.rqs; i++)
		if (sim.rq[i].host == host)
			work_discard_receives(&sim.rq[i]);
	host_stop(host);
}
