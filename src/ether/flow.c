/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames meet rules: called for each one that arrives or leaves, without a lock, in an epoch.
 */
#include "ether/flow.h"

#include <stdlib.h>
#include <string.h>

#include "ether/flow_priv.h"

#define STEER_SOME 8u /* packets whose rules are looked for at the same time */

extern struct flow_rule flow_rule_gone;

static void run_actions(struct flow_run *run, const struct flow_action *actions,
			unsigned int count);
static void run_table_from(struct flow_run *run, struct flow_table *table, uint32_t priority);

static void fill_key(struct flow_run *run, unsigned int parts)
{
	if (parts & ~run->filled) {
		flow_key_fill_parts(&run->key, &run->frame, parts & ~run->filled);
		run->filled |= parts;
	}
}

static uint32_t hash_of(struct flow_run *run, const struct flow_group *group)
{
	uint64_t hash = 0;

	fill_key(run, group->parts);
	for (unsigned int i = 0; i < group->word_count; i++)
		hash = flow_hash_step(hash, run->key.words[group->word[i]] & group->word_mask[i]);
	return flow_hash_end(hash);
}

static bool has_value(const struct flow_rule *rule, const struct flow_group *group,
		      const struct flow_key *key)
{
	uint64_t other = 0;

	for (unsigned int i = 0; i < group->word_count; i++)
		other |= rule->value[i] ^ (key->words[group->word[i]] & group->word_mask[i]);
	return !other;
}

static struct flow_rule *find_rule(struct flow_run *run, struct flow_group *group)
{
	/* [F3] pairs with grow() and slot_store() */
	struct flow_slots *slots = atomic_load_explicit(&group->slots, memory_order_acquire);
	struct flow_rule *rule;
	uint32_t hash;

	if (!slots)
		return NULL;
	hash = run->hashed == group ? run->hash : hash_of(run, group);
	for (uint32_t at = hash & slots->mask;; at = (at + 1) & slots->mask) {
		rule = atomic_load_explicit(&slots->at[at], memory_order_acquire);
		if (!rule)
			return NULL;
		if (rule->hash == hash && rule != &flow_rule_gone &&
		    likely(has_value(rule, group, &run->key)))
			return rule;
	}
}

static struct flow_table *root_of(struct flow_port *engine, enum flow_domain domain)
{
	/* [F1] pairs with flow_table_root() */
	struct flow_table *root = atomic_load_explicit(&engine->root[domain], memory_order_acquire);

	/* One that is empty does nothing, in any domain. */
	if (!root || !atomic_load_explicit(&root->groups, memory_order_relaxed))
		return NULL;
	return root;
}

/* Beyond the last rule of a domain. */
static void leave(struct flow_run *run, bool uplink)
{
	struct flow_port *engine = run->port->engine;
	struct flow_table *next = NULL;

	if (run->domain == FLOW_TX) {
		run->domain = FLOW_FDB;
		next = root_of(engine, FLOW_FDB);
	} else if (run->domain == FLOW_FDB && !uplink && !run->out) {
		run->domain = FLOW_RX;
		next = root_of(engine, FLOW_RX);
		if (!next)
			return;
	} else if (run->domain != FLOW_FDB || !uplink) {
		return;
	}
	if (next) {
		flow_run_table(run, next);
	} else if (run->out && !run->out->is_there) {
		/* Bytes that belong to the run which this one is a copy of do not last. */
		if (!run->own && run->frame.data != run->given && !flow_run_own(run, 0))
			return;
		run->out->is_there = true;
		run->out->frame = run->frame;
		run->out->own = run->own;
		run->own = NULL;
	} else if (ether_transmit) {
		ether_transmit(run->port, &run->frame);
	}
}

static void miss(struct flow_run *run)
{
	leave(run, run->out);
}

static void copy_run(struct flow_run *to, const struct flow_run *from)
{
	*to = *from;
	to->own = NULL;
}

/* On a copy, so that what it does to the packet is its own affair. */
static void run_aside(const struct flow_run *run, const struct flow_action *actions,
		      unsigned int count)
{
	struct flow_run copy;

	copy_run(&copy, run);
	run_actions(&copy, actions, count);
	free(copy.own);
}

static void sample(struct flow_run *run, struct flow_sampler *s)
{
	if (atomic_fetch_add_explicit(&s->seen, 1, memory_order_relaxed) % s->ratio == 0)
		run_aside(run, s->actions, s->action_count);
}

static void count_frame(struct flow_counter *counter, const struct flow_run *run)
{
	atomic_fetch_add_explicit(&counter->packets, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counter->bytes, run->frame.len, memory_order_relaxed);
}

/* Everything that happens on the way; false when the packet ends here. */
static bool prepare(struct flow_run *run, const struct flow_action *a, unsigned int count)
{
	for (; count; a++, count--) {
		switch (a->op) {
		case FLOW_OP_COUNT:
			count_frame(a->counter, run);
			break;
		case FLOW_OP_TAG:
			run->frame.tag = a->tag;
			break;
		case FLOW_OP_EDIT:
			if (!flow_edit_apply(a->edit, run))
				return false;
			break;
		case FLOW_OP_SAMPLE:
			sample(run, a->sampler);
			break;
		default:
			break;
		}
	}
	return true;
}

static void send_to(struct flow_run *run, const struct flow_action *a)
{
	switch (a->op) {
	case FLOW_OP_DEST:
		a->dest->deliver(a->dest, &run->frame);
		break;
	case FLOW_OP_TABLE:
		run_table_from(run, a->table, a->from);
		break;
	case FLOW_OP_SAMPLE:
		if (a->sampler->next)
			flow_run_table(run, a->sampler->next);
		break;
	case FLOW_OP_PORT:
		leave(run, a->vport != FLOW_VPORT_PF);
		break;
	case FLOW_OP_MISS:
		miss(run);
		break;
	default:
		break;
	}
}

static void run_actions(struct flow_run *run, const struct flow_action *actions, unsigned int count)
{
	const struct flow_action *last = NULL;

	if (!prepare(run, actions, count))
		return;
	for (unsigned int i = 0; i < count; i++) {
		const struct flow_action *a = &actions[i];

		if (a->op < FLOW_OP_SAMPLE)
			continue;
		/* A destination leaves the frame as it was; everybody else but the last works on a
		 * copy. */
		if (last && last->op != FLOW_OP_DEST) {
			struct flow_run copy;

			copy_run(&copy, run);
			send_to(&copy, last);
			free(copy.own);
		} else if (last) {
			send_to(run, last);
		}
		last = a;
	}
	if (last)
		send_to(run, last);
	else
		miss(run);
}

/* All that is left to do for a rule whose queue has the packet from another one. */
static void run_echo(struct flow_run *run, struct flow_rule *rule)
{
	const struct flow_action *a = flow_rule_actions(rule);

	for (unsigned int i = 0; i < rule->action_count; i++)
		if (a[i].op == FLOW_OP_COUNT)
			count_frame(a[i].counter, run);
}

/* True when rules of lower priority are to see the packet as well. */
static bool run_rules(struct flow_run *run, struct flow_table *table, struct flow_rule *rule)
{
	bool on = false;

	while (rule) {
		struct flow_rule *next =
			table->root ? atomic_load_explicit(&rule->also, memory_order_acquire)
				    : NULL;

		on = on || rule->flags & FLOW_RULE_GO_ON;
		if (unlikely(atomic_load_explicit(&rule->echo, memory_order_relaxed)))
			run_echo(run, rule);
		else if (next || on)
			run_aside(run, flow_rule_actions(rule), rule->action_count);
		else if (likely(rule->action_count == 1 &&
				flow_rule_actions(rule)->op == FLOW_OP_DEST))
			send_to(run, flow_rule_actions(rule));
		else
			run_actions(run, flow_rule_actions(rule), rule->action_count);
		rule = next;
	}
	return on;
}

static void run_table_from(struct flow_run *run, struct flow_table *table, uint32_t priority)
{
	/* [F2] pairs with change_groups() */
	struct flow_groups *groups = atomic_load_explicit(&table->groups, memory_order_acquire);
	uint32_t count = groups ? groups->count : 0;

	if (run->hops++ >= FLOW_HOPS)
		return;
	for (uint32_t i = 0; i < count; i++) {
		struct flow_rule *rule;

		if (unlikely(groups->at[i]->priority < priority))
			continue;
		rule = find_rule(run, groups->at[i]);
		if (rule && !run_rules(run, table, rule))
			return;
	}
	miss(run);
}

void flow_run_table(struct flow_run *run, struct flow_table *table)
{
	run_table_from(run, table, 0);
}

static void begin(struct flow_run *run, struct ether_port *port, struct ether_frame *frame,
		  enum flow_domain domain, struct flow_out *out)
{
	run->port = port;
	run->out = out;
	run->domain = domain;
	run->hops = 0;
	run->filled = 0;
	run->hashed = NULL;
	run->own = NULL;
	run->given = frame->data;
	run->reg_b = 0;
	run->frame = *frame;
	memset(run->key.bytes + FLOW_KEY_MISC2, 0, 64); /* registers begin as 0 */
}

static void sniff(struct ether_port *port, struct ether_frame *frame, struct flow_table *sniffer)
{
	struct flow_run run;

	begin(&run, port, frame, FLOW_SNIFFER, NULL);
	run.frame.src_process = 0; /* what leaves is seen, too, also by its own context */
	flow_run_table(&run, sniffer);
	free(run.own);
}

/* The rule that the packet meets first, on its way into the cache: its slot, and then itself. */
static void foresee_slot(struct flow_run *run, struct flow_table *root)
{
	/* [F2] */
	struct flow_groups *groups = atomic_load_explicit(&root->groups, memory_order_acquire);
	struct flow_group *group = groups ? groups->at[0] : NULL;
	struct flow_slots *slots;

	slots = group ? atomic_load_explicit(&group->slots, memory_order_acquire) : NULL; /* [F3] */
	if (!slots)
		return;
	run->hash = hash_of(run, group);
	run->hashed = group;
	__builtin_prefetch((const void *)&slots->at[run->hash & slots->mask]);
}

static void foresee_rule(const struct flow_run *run)
{
	struct flow_slots *slots;

	if (!run->hashed)
		return;
	slots = atomic_load_explicit(&run->hashed->slots, memory_order_acquire); /* [F3] */
	__builtin_prefetch(
		atomic_load_explicit(&slots->at[run->hash & slots->mask], memory_order_relaxed));
}

static unsigned int steer_some(struct ether_port *port, struct flow_table *root,
			       struct ether_frame *frames, unsigned int count, bool (*stop)(void))
{
	struct flow_run run[STEER_SOME];
	unsigned int done = 0;

	for (unsigned int i = 0; i < count; i++) {
		begin(&run[i], port, &frames[i], root->domain, NULL);
		foresee_slot(&run[i], root);
	}
	if (count > 1)
		for (unsigned int i = 0; i < count; i++)
			foresee_rule(&run[i]);
	for (; done < count && !(stop && stop()); done++) {
		flow_run_table(&run[done], root);
		free(run[done].own);
	}
	return done;
}

unsigned int ether_steer_many(struct ether_port *port, struct ether_frame *frames,
			      unsigned int count, bool (*stop)(void))
{
	struct flow_port *engine = __atomic_load_n(&port->engine, __ATOMIC_ACQUIRE); /* [F1] */
	struct flow_table *sniffer, *root;
	unsigned int done = 0, n, now;

	if (!engine)
		return count;
	fabric_epoch_enter();
	sniffer = root_of(engine, FLOW_SNIFFER);
	root = root_of(engine, FLOW_FDB);
	if (!root)
		root = root_of(engine, FLOW_RX);
	while (done < count) {
		n = unlikely(sniffer) ? 1 : count - done;
		if (n > STEER_SOME)
			n = STEER_SOME;
		if (unlikely(sniffer)) {
			if (stop && stop())
				break;
			sniff(port, &frames[done], sniffer);
		}
		now = !root ? n : steer_some(port, root, &frames[done], n, sniffer ? NULL : stop);
		done += now;
		if (now < n)
			break;
	}
	fabric_epoch_exit();
	return done;
}

void ether_steer(struct ether_port *port, struct ether_frame *frame)
{
	ether_steer_many(port, frame, 1, NULL);
}

/* ---- what leaves ---- */

static pthread_once_t kept_once = PTHREAD_ONCE_INIT;
static pthread_key_t kept;
static bool kept_is_valid;

static void make_kept(void)
{
	kept_is_valid = !pthread_key_create(&kept, free);
}

/* The bytes of a changed frame, until the thread's next one. */
static bool keep(uint8_t *own)
{
	pthread_once(&kept_once, make_kept);
	if (!kept_is_valid) {
		free(own);
		return false;
	}
	free(pthread_getspecific(kept));
	if (pthread_setspecific(kept, own)) {
		pthread_setspecific(kept, NULL);
		free(own);
		return false;
	}
	return true;
}

bool ether_steer_out(struct ether_port *port, struct ether_frame *frame)
{
	struct flow_port *engine = __atomic_load_n(&port->engine, __ATOMIC_ACQUIRE); /* [F1] */
	struct flow_out out = { .is_there = false };
	struct flow_table *root;
	struct flow_run run;

	if (!engine)
		return true;
	fabric_epoch_enter();
	root = root_of(engine, FLOW_TX);
	if (!root)
		root = root_of(engine, FLOW_FDB);
	if (!root) {
		fabric_epoch_exit();
		return true;
	}
	begin(&run, port, frame, root->domain, &out);
	flow_run_table(&run, root);
	free(run.own);
	fabric_epoch_exit();
	if (!out.is_there)
		return false;
	*frame = out.frame;
	return !out.own || keep(out.own);
}
