/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matches each arriving and leaving frame against the rules, without a lock, in an epoch section.
 */
#include "ether/steer.h"

#include <stdlib.h>
#include <string.h>

#include "ether/aso.h"
#include "ether/flow_action.h"
#include "ether/flow_edit.h"
#include "ether/flow_layout.h"
#include "ether/flow_rule.h"
#include "ether/flow_run.h"
#include "ether/state.h"

#define STEER_SOME 8u /* packets whose rules are prefetched together */

static void run_actions(struct flow_run *run, const struct flow_action *actions,
			unsigned int count);
static void run_table(struct flow_run *run, struct flow_table *table);
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
	/* [F1] pairs with flow_table_root(): the table before its pointer: the table before its pointer */
	struct flow_table *root = atomic_load_explicit(&engine->root[domain], memory_order_acquire);

	/* An empty table does nothing, in any domain. */
	if (!root || !atomic_load_explicit(&root->groups, memory_order_relaxed))
		return NULL;
	return root;
}

/* An outgoing packet that a rule of the FDB sends to the function which it is from. */
static void come_back(struct flow_run *run, struct flow_table *root)
{
	if (!ether_state.receive_begin)
		return;
	run->out = NULL;
	ether_state.receive_begin(&run->frame);
	run_table(run, root);
	ether_state.receive_end();
}

/* The packet has passed the last rule of a domain. */
static void leave(struct flow_run *run, bool uplink)
{
	struct flow_port *engine = run->port->engine;
	struct flow_table *next = NULL;

	if (flow_domain_is_rdma(run->domain)) {
		run->out->is_sent = true;
		return;
	}
	if (run->domain == FLOW_TX) {
		run->domain = FLOW_FDB;
		next = root_of(engine, FLOW_FDB);
	} else if (run->domain == FLOW_FDB && !uplink) {
		run->domain = FLOW_RX;
		next = root_of(engine, FLOW_RX);
		if (!next)
			return;
	} else if (run->domain != FLOW_FDB) {
		return;
	}
	if (next && run->domain == FLOW_RX && run->out) {
		come_back(run, next);
	} else if (next) {
		run_table(run, next);
	} else if (run->out && !run->out->is_sent) {
		/* The bytes may be those of the run that this one is a copy of, which are freed earlier. */
		if (!run->own && run->frame.data != run->given && !flow_run_own(run, 0))
			return;
		run->out->is_sent = true;
		run->out->frame = run->frame;
		run->out->own = run->own;
		run->own = NULL;
	} else if (ether_state.transmit) {
		ether_state.transmit(run->port, &run->frame);
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

/* On a copy, so that changes of the packet stay there. */
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

static void run_aso(struct flow_run *run, const struct flow_action *a)
{
	uint8_t *lowest = run->key.bytes + (FLOW_reg_c_0 >> 11) - 4 * a->reg + 3;

	*lowest = aso_hit(a->aso, a->from, a->arg, &run->frame);
	run->hashed = NULL;
}

/* Runs all actions but destinations; false when the packet is dropped. */
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
		case FLOW_OP_ASO:
			run_aso(run, a);
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
			run_table(run, a->sampler->next);
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
		/* A destination does not change the frame; any other action but the last works on
		 * a copy. */
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

/* Runs a rule whose destination gets the packet from another rule: only counts. */
static void run_echo(struct flow_run *run, struct flow_rule *rule)
{
	const struct flow_action *a = flow_rule_actions(rule);

	for (unsigned int i = 0; i < rule->action_count; i++)
		if (a[i].op == FLOW_OP_COUNT)
			count_frame(a[i].counter, run);
}

/* True when the packet goes on to rules of lower priority. */
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

static void run_table(struct flow_run *run, struct flow_table *table)
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
	run->frame.src_vport = out ? FLOW_VPORT_PF : FLOW_VPORT_UPLINK;
	run->frame.geneve_option = atomic_load_explicit(&port->geneve_option, memory_order_relaxed);
	memset(run->key.bytes + FLOW_KEY_MISC2, 0, 64); /* registers start as 0 */
}

static void sniff(struct ether_port *port, struct ether_frame *frame, struct flow_table *sniffer)
{
	struct flow_run run;

	begin(&run, port, frame, FLOW_SNIFFER, NULL);
	run.frame.src_process = 0; /* outgoing frames are seen too, also by their own context */
	run_table(&run, sniffer);
	free(run.own);
}

/* Prefetches the first rule of the packet: its slot, and then the rule. */
static void prefetch_slot(struct flow_run *run, struct flow_table *root)
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

static void prefetch_rule(const struct flow_run *run)
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
		prefetch_slot(&run[i], root);
	}
	if (count > 1)
		for (unsigned int i = 0; i < count; i++)
			prefetch_rule(&run[i]);
	for (; done < count && !(stop && stop()); done++) {
		run_table(&run[done], root);
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
	epoch_enter();
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
	epoch_exit();
	return done;
}

void ether_steer(struct ether_port *port, struct ether_frame *frame)
{
	ether_steer_many(port, frame, 1, NULL);
}

/* ---- outgoing frames ---- */

/* Keeps the bytes of a changed frame until the thread's next one. */
static bool keep(uint8_t *own)
{
	if (!ether_state.has_changed_frame) {
		free(own);
		return false;
	}
	free(pthread_getspecific(ether_state.changed_frame));
	if (pthread_setspecific(ether_state.changed_frame, own)) {
		pthread_setspecific(ether_state.changed_frame, NULL);
		free(own);
		return false;
	}
	return true;
}

bool ether_steer_out(struct ether_port *port, struct ether_frame *frame)
{
	struct flow_port *engine = __atomic_load_n(&port->engine, __ATOMIC_ACQUIRE); /* [F1] */
	struct flow_out out = { .is_sent = false };
	struct flow_table *root;
	struct flow_run run;

	if (!engine)
		return true;
	epoch_enter();
	root = root_of(engine, FLOW_TX);
	if (!root)
		root = root_of(engine, FLOW_FDB);
	if (!root) {
		epoch_exit();
		return true;
	}
	begin(&run, port, frame, root->domain, &out);
	run_table(&run, root);
	free(run.own);
	epoch_exit();
	if (!out.is_sent)
		return false;
	*frame = out.frame;
	return !out.own || keep(out.own);
}

/* ---- packets of queue pairs ---- */

bool ether_steer_rdma(struct ether_port *port, struct ether_frame *frame, bool leaves)
{
	static const enum flow_domain domains[2][2] = {
		{ FLOW_RDMA_RX, FLOW_RDMA_TRANSPORT_RX },
		{ FLOW_RDMA_TRANSPORT_TX, FLOW_RDMA_TX },
	};
	struct flow_port *engine = __atomic_load_n(&port->engine, __ATOMIC_ACQUIRE); /* [F1] */
	struct flow_out out = { .is_sent = true };
	struct flow_run run;

	if (!engine)
		return true;
	epoch_enter();
	for (unsigned int i = 0; i < 2 && out.is_sent; i++) {
		struct flow_table *root = root_of(engine, domains[leaves][i]);

		if (!root)
			continue;
		out.is_sent = false;
		begin(&run, port, frame, domains[leaves][i], &out);
		run_table(&run, root);
	}
	epoch_exit();
	return out.is_sent;
}
