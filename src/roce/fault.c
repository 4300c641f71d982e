/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "roce/fault_parse.h"
#include "roce/opcode.h"
#include "roce/pkt_id.h"

/* Newest faults that roce_fault_list() reports. */
#define KEPT 1024u

struct roce_fault {
	struct roce_inspect_flag enabled; /* first member: see roce_fault_on() */
	pthread_mutex_t lock;
	struct roce_rules *rules;
	uint64_t start_ns;
	uint64_t fired;
	struct roce_fired kept[KEPT];
	struct roce_pkt_ids *ids;
};

_Static_assert(offsetof(struct roce_fault, enabled) == 0, "roce_fault_on() reads it");

int roce_fault_create(struct roce_fault **out)
{
	struct roce_fault *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	pthread_mutex_init(&f->lock, NULL);
	*out = f;
	return 0;
}

void roce_fault_destroy(struct roce_fault *f)
{
	if (!f)
		return;
	roce_inspect_flag_set(&f->enabled, false);
	roce_rules_free(f->rules);
	roce_pkt_ids_destroy(f->ids);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void roce_fault_lock(struct roce_fault *f)
{
	pthread_mutex_lock(&f->lock);
}

void roce_fault_unlock(struct roce_fault *f)
{
	pthread_mutex_unlock(&f->lock);
}

/* splitmix64, which has no bad seeds. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

int roce_fault_load(struct roce_fault *f, const char *script, uint64_t seed, uint64_t now_ns)
{
	struct roce_pkt_ids *ids, *old_ids;
	struct roce_rules *rules, *old;
	int err = roce_rules_parse(script, &rules);

	if (err)
		return err;
	ids = roce_pkt_ids_create();
	if (!ids) {
		roce_rules_free(rules);
		return -ENOMEM;
	}
	/* Each rule has its own random sequence, so that a new rule does not change the faults of others. */
	for (uint32_t i = 0; i < rules->count; i++) {
		uint64_t state = seed + i;

		rules->rule[i].seed = rules->rule[i].random = next_random(&state);
	}
	pthread_mutex_lock(&f->lock);
	old = f->rules;
	old_ids = f->ids;
	f->rules = rules;
	f->ids = ids;
	f->start_ns = now_ns;
	f->fired = 0;
	roce_inspect_flag_set(&f->enabled, rules->count > 0);
	pthread_mutex_unlock(&f->lock);
	roce_rules_free(old);
	roce_pkt_ids_destroy(old_ids);
	return 0;
}

void roce_fault_reset_qp(struct roce_fault *f, uint32_t qpn)
{
	pthread_mutex_lock(&f->lock);
	if (f->ids)
		roce_pkt_id_forget(f->ids, qpn);
	pthread_mutex_unlock(&f->lock);
}

static bool op_matches(const struct roce_rule *r, uint8_t op)
{
	if (!r->has_op)
		return true;
	return r->any_transport ? (op & ROCE_PKT_OPCODE_MASK) == r->op && op != ROCE_OP_CNP
				: op == r->op;
}

/* A range may wrap around. */
static bool psn_matches(const struct roce_rule *r, uint32_t psn)
{
	if (!r->has_psn)
		return true;
	return ((psn - r->psn_first) & PSN_MASK) <= ((r->psn_last - r->psn_first) & PSN_MASK);
}

static bool matches(const struct roce_rule *r, enum roce_dir dir, const struct roce_pkt *pkt,
		    const struct roce_addr *peer, uint64_t since_ns)
{
	return (r->dirs & dir) && op_matches(r, pkt->op) && psn_matches(r, pkt->psn) &&
	       (!r->has_qp || r->qp == pkt->dqpn) && (!r->has_sqp || r->sqp == pkt->sqpn) &&
	       (!r->has_peer || (peer && !memcmp(r->peer.gid, peer->gid, 16))) &&
	       since_ns >= r->from_ns && (!r->to_ns || since_ns < r->to_ns);
}

/* ---- chance ---- */

/* A random number that depends on the packet's identity only; without one, the next of the sequence. */
static uint64_t draw(struct roce_rule *r, const struct roce_pkt_id *id)
{
	uint64_t state;

	if (!id)
		return next_random(&r->random);
	state = r->seed ^ id->number;
	state = next_random(&state);
	return next_random(&state);
}

/*
 * Applies counts and chance, for a packet that matches. Rules that select packets ignore those that are sent
 * again without having been lost: such repeats depend on timing, and selection must be the same in every run.
 */
static bool fires(struct roce_rule *r, const struct roce_pkt_id *id)
{
	bool selects = r->has_chance || r->nth || r->every;
	uint64_t n;

	if (selects && id && id->again && !r->again)
		return false;
	n = ++r->met;
	if (n <= r->after)
		return false;
	n -= r->after;
	if ((r->nth && n != r->nth) || (r->every && n % r->every))
		return false;
	if (r->has_chance && draw(r, id) >> 32 >= r->chance)
		return false;
	if (r->limit && r->fired >= r->limit)
		return false;
	r->fired++;
	return true;
}

static void record(struct roce_fault *f, uint32_t rule, enum roce_dir dir,
		   const struct roce_pkt *pkt, const struct roce_pkt_id *id, uint64_t now_ns)
{
	f->kept[f->fired++ % KEPT] = (struct roce_fired){
		.at_ns = now_ns,
		.rule = rule,
		.action = f->rules->rule[rule].action,
		.dir = dir,
		.op = pkt->op,
		.qpn = pkt->dqpn,
		.psn = pkt->psn,
		.connection = id ? id->connection : 0,
		.packet = id ? id->packet : 0,
		.times = id ? id->times : 0,
	};
}

static bool is_for_requests(enum roce_fault_action action)
{
	return action == ROCE_FAULT_RNR || action == ROCE_FAULT_NAK;
}

/* Whether the packet will be sent again. */
static bool is_lost(enum roce_fault_action action)
{
	return action == ROCE_FAULT_DROP || action == ROCE_FAULT_CORRUPT || is_for_requests(action);
}

static struct roce_verdict judge(struct roce_fault *f, bool requests, enum roce_dir dir,
				 const struct roce_pkt *pkt, const struct roce_addr *peer,
				 uint64_t now_ns)
{
	struct roce_verdict v = { .action = ROCE_FAULT_NONE };
	struct roce_pkt_id found, *id = NULL;

	if (!roce_fault_on(f))
		return v;
	pthread_mutex_lock(&f->lock);
	if (f->ids && roce_pkt_id_find(f->ids, requests, dir, pkt, peer, &found))
		id = &found;
	for (uint32_t i = 0; f->rules && i < f->rules->count; i++) {
		struct roce_rule *r = &f->rules->rule[i];

		if (is_for_requests(r->action) != requests ||
		    !matches(r, dir, pkt, peer, now_ns - f->start_ns) || !fires(r, id))
			continue;
		if (r->action == ROCE_FAULT_PASS)
			break;
		record(f, i, dir, pkt, id, now_ns);
		v.action = r->action;
		v.delay_ns = r->delay_ns;
		v.syndrome = r->syndrome;
		v.bit = r->has_bit ? r->bit : (uint32_t)draw(r, id);
		break;
	}
	if (id)
		*id->lost = is_lost(v.action);
	pthread_mutex_unlock(&f->lock);
	return v;
}

struct roce_verdict roce_fault_judge(struct roce_fault *f, enum roce_dir dir,
				     const struct roce_pkt *pkt, const struct roce_addr *peer,
				     uint64_t now_ns)
{
	return judge(f, false, dir, pkt, peer, now_ns);
}

struct roce_verdict roce_fault_judge_request(struct roce_fault *f, const struct roce_pkt *pkt,
					     const struct roce_addr *peer, uint64_t now_ns)
{
	return judge(f, true, ROCE_DIR_IN, pkt, peer, now_ns);
}

bool roce_fault_rule(struct roce_fault *f, uint32_t rule, const char **text, uint64_t *fired)
{
	bool found = false;

	pthread_mutex_lock(&f->lock);
	if (f->rules && rule < f->rules->count) {
		*text = f->rules->rule[rule].text;
		*fired = f->rules->rule[rule].fired;
		found = true;
	}
	pthread_mutex_unlock(&f->lock);
	return found;
}

size_t roce_fault_list(struct roce_fault *f, struct roce_fired *out, size_t max)
{
	uint64_t n;

	pthread_mutex_lock(&f->lock);
	n = f->fired < KEPT ? f->fired : KEPT;
	n = n < max ? n : max;
	for (uint64_t i = 0; i < n; i++)
		out[i] = f->kept[(f->fired - n + i) % KEPT];
	pthread_mutex_unlock(&f->lock);
	return n;
}
