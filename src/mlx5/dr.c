/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domains, tables, matchers and rules of mlx5dv_dr_*(); types are in dr_types.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "mlx5/dr_aso.h"
#include "mlx5/dr_order.h"
#include "mlx5/dr_types.h"
#include "mlx5/dv.h"
#include "mlx5/flow_match.h"
#include "util/explain.h"

#define ACTIONS_MOST   32u
#define LOG_RULES_MOST 24u

/* ---- domains ---- */

struct mlx5dv_dr_domain *mlx5dv_dr_domain_create(struct ibv_context *context,
						 enum mlx5dv_dr_domain_type type)
{
	static const enum flow_domain domains[] = {
		[MLX5DV_DR_DOMAIN_TYPE_NIC_RX] = FLOW_RX,
		[MLX5DV_DR_DOMAIN_TYPE_NIC_TX] = FLOW_TX,
		[MLX5DV_DR_DOMAIN_TYPE_FDB] = FLOW_FDB,
	};
	struct mlx5dv_dr_domain *d;
	struct ether_port *port;
	int err;

	if (!mlx5_dv_context(context, "mlx5dv_dr_domain_create"))
		return NULL;
	if (!hca_model_has(to_context(context)->adapter->model, HCA_HAS_EDITS))
		return dr_null(explain(EOPNOTSUPP,
				       "mlx5dv_dr_domain_create: a %s has no direct rules",
				       to_context(context)->adapter->model->name));
	if ((unsigned int)type >= array_size(domains))
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_domain_create: type %d; there are NIC_RX "
				       "(0), NIC_TX (1) and FDB (2)",
				       (int)type));
	err = hca_flow_port(to_context(context)->adapter, 1, FLOW_RX, &port);
	if (err)
		return dr_null(err);
	d = calloc(1, sizeof(*d));
	if (!d)
		return dr_null(explain(ENOMEM, "no memory for a domain"));
	d->adapter = to_context(context)->adapter;
	d->port = port;
	d->domain = domains[type];
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

static int check_idle(const atomic_uint *users, const char *what)
{
	unsigned int n = atomic_load(users);

	return n ? explain(EBUSY, "%s: %u objects are built on it", what, n) : 0;
}

int mlx5dv_dr_domain_destroy(struct mlx5dv_dr_domain *d)
{
	int err = check_idle(&d->users, "mlx5dv_dr_domain_destroy");

	if (err)
		return dr_result(err);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return 0;
}

/* A rule is in effect when the call that made it returns. */
int mlx5dv_dr_domain_sync(struct mlx5dv_dr_domain *d, uint32_t flags)
{
	const uint32_t known = MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW | MLX5DV_DR_DOMAIN_SYNC_FLAGS_HW |
			       MLX5DV_DR_DOMAIN_SYNC_FLAGS_MEM;

	if (flags & ~known)
		return dr_result(explain(EOPNOTSUPP,
					 "mlx5dv_dr_domain_sync: flags 0x%x; 0x%x are known", flags,
					 known));
	return 0;
}

/* There is no device memory to reclaim. */
void mlx5dv_dr_domain_set_reclaim_device_memory(struct mlx5dv_dr_domain *d, bool enable)
{
}

void mlx5dv_dr_domain_allow_duplicate_rules(struct mlx5dv_dr_domain *d, bool allow)
{
	atomic_store(&d->refuse_duplicates, !allow);
}

/* ---- tables ---- */

struct mlx5dv_dr_table *mlx5dv_dr_table_create(struct mlx5dv_dr_domain *d, uint32_t level)
{
	struct mlx5dv_dr_table *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return dr_null(explain(ENOMEM, "no memory for a table"));
	t->domain = d;
	t->level = level;
	err = level ? flow_table_create(d->port, d->domain, &t->engine)
		    : flow_table_root(d->port, d->domain, &t->engine);
	if (err) {
		free(t);
		return dr_null(err);
	}
	atomic_fetch_add(&d->users, 1);
	pthread_mutex_lock(&d->lock);
	LIST_INSERT_HEAD(&d->tables, t, link);
	pthread_mutex_unlock(&d->lock);
	return t;
}

int mlx5dv_dr_table_destroy(struct mlx5dv_dr_table *t)
{
	struct mlx5dv_dr_domain *d = t->domain;
	int err = check_idle(&t->users, "mlx5dv_dr_table_destroy");

	if (err)
		return dr_result(err);
	pthread_mutex_lock(&d->lock);
	LIST_REMOVE(t, link);
	pthread_mutex_unlock(&d->lock);
	if (t->level)
		flow_table_put(t->engine);
	free(t);
	atomic_fetch_sub(&d->users, 1);
	return 0;
}

/* ---- matchers ---- */

/*
 * Outside of the root, a mask of the IP version with any bit set is the whole mask: with the bit of
 * 4 alone, 6 would match as well.
 */
static int widen_version(struct flow_key *mask, unsigned int field)
{
	uint64_t version = flow_key_get(mask, field);

	if (!version)
		return 0;
	if (version != 4 && version != 6)
		return explain(EOPNOTSUPP,
			       "mlx5dv_dr_matcher_create: IP version 0x%llx in the mask; outside "
			       "of the root it is 4, 6 or 0, and the same in the rules",
			       (unsigned long long)version);
	flow_key_set(mask, field, 0xf);
	return 0;
}

static int check_version(const struct mlx5dv_dr_matcher *m, const struct flow_key *value,
			 unsigned int field, unsigned int asked)
{
	uint64_t version = flow_key_get(value, field);

	if (m->table->level && asked && version != asked)
		return explain(EOPNOTSUPP,
			       "mlx5dv_dr_rule_create: IP version %llu; the matcher has %u",
			       (unsigned long long)version, asked);
	return 0;
}

static size_t match_most(const struct mlx5dv_dr_table *t)
{
	return t->level ? MLX5_MATCH_BYTES_DR : MLX5_MATCH_BYTES;
}

static int make_matcher(struct mlx5dv_dr_matcher *m,
			const struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_dr_table *t = m->table;
	uint32_t priority = m->priority;
	int err;

	if (!t->level) {
		if (priority >= MLX5_FLOW_PRIORITIES)
			return explain(ENOSPC,
				       "mlx5dv_dr_matcher_create: priority %u; a root table "
				       "has 0 to %u",
				       priority, MLX5_FLOW_PRIORITIES - 1);
		priority = HCA_FLOW_PRIORITY(priority, false);
	}
	err = mlx5_match_read(mask, match_most(t), m->criteria, &m->mask);
	m->outer_version = flow_key_get(&m->mask, FLOW_OUTER_ip_version);
	m->inner_version = flow_key_get(&m->mask, FLOW_INNER_ip_version);
	if (!err && t->level)
		err = widen_version(&m->mask, FLOW_OUTER_ip_version);
	if (!err && t->level)
		err = widen_version(&m->mask, FLOW_INNER_ip_version);
	return err ? err : flow_matcher_create(t->engine, priority, &m->mask, &m->engine);
}

struct mlx5dv_dr_matcher *mlx5dv_dr_matcher_create(struct mlx5dv_dr_table *t, uint16_t priority,
						   uint8_t criteria,
						   struct mlx5dv_flow_match_parameters *mask)
{
	struct mlx5dv_dr_matcher *m = aligned_alloc(_Alignof(struct mlx5dv_dr_matcher), sizeof(*m));
	int err;

	if (!m)
		return dr_null(explain(ENOMEM, "no memory for a matcher"));
	memset(m, 0, sizeof(*m));
	m->table = t;
	m->priority = priority;
	m->criteria = criteria;
	err = make_matcher(m, mask);
	if (err) {
		free(m);
		return dr_null(err);
	}
	atomic_fetch_add(&t->users, 1);
	pthread_mutex_lock(&t->domain->lock);
	LIST_INSERT_HEAD(&t->matchers, m, link);
	pthread_mutex_unlock(&t->domain->lock);
	return m;
}

int mlx5dv_dr_matcher_destroy(struct mlx5dv_dr_matcher *m)
{
	struct mlx5dv_dr_table *t = m->table;
	int err = check_idle(&m->users, "mlx5dv_dr_matcher_destroy");

	if (err)
		return dr_result(err);
	pthread_mutex_lock(&t->domain->lock);
	LIST_REMOVE(m, link);
	pthread_mutex_unlock(&t->domain->lock);
	flow_matcher_destroy(m->engine);
	free(m);
	atomic_fetch_sub(&t->users, 1);
	return 0;
}

/* The layout is a hint for hardware tables: checked, not used. */
int mlx5dv_dr_matcher_set_layout(struct mlx5dv_dr_matcher *m,
				 struct mlx5dv_dr_matcher_layout *layout)
{
	const uint32_t known =
		MLX5DV_DR_MATCHER_LAYOUT_RESIZABLE | MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE;

	if (!m->table->level)
		return dr_result(
			explain(ENOTSUP, "mlx5dv_dr_matcher_set_layout: not in a root table"));
	if (layout->flags & ~known)
		return dr_result(explain(ENOTSUP,
					 "mlx5dv_dr_matcher_set_layout: flags 0x%x; 0x%x are known",
					 layout->flags, known));
	if (layout->flags & MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE &&
	    layout->log_num_of_rules_hint > LOG_RULES_MOST)
		return dr_result(explain(ENOTSUP,
					 "mlx5dv_dr_matcher_set_layout: 2^%u rules; 2^%u are "
					 "the most",
					 layout->log_num_of_rules_hint, LOG_RULES_MOST));
	return 0;
}

/* ---- rules ---- */

static int list_actions(const struct mlx5dv_dr_matcher *m, size_t count,
			struct mlx5dv_dr_action *const actions[], struct flow_action *out,
			unsigned int *out_count)
{
	bool ended = false;
	int err;

	*out_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct mlx5dv_dr_action *a = actions[i];

		if (!a || (a->domain && a->domain != m->table->domain &&
			   !dr_aso_is_linked(m->table->domain, a)))
			return explain(EINVAL,
				       "mlx5dv_dr_rule_create: action %zu (%s) belongs to "
				       "another domain",
				       i, a ? a->name : "none");
	}
	err = dr_order_check(m->table, count, actions);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		const struct mlx5dv_dr_action *a = actions[i];

		if (dr_kind_is_end(a->kind) && ended)
			return explain(EOPNOTSUPP,
				       "mlx5dv_dr_rule_create: action %zu (%s) is a second "
				       "destination; an array can have many",
				       i, a->name);
		if (*out_count + a->step_count > ACTIONS_MOST)
			return explain(EINVAL, "mlx5dv_dr_rule_create: more than %u actions",
				       ACTIONS_MOST);
		ended = ended || dr_kind_is_end(a->kind);
		memcpy(out + *out_count, a->steps, a->step_count * sizeof(*out));
		*out_count += a->step_count;
	}
	return 0;
}

static int make_rule(struct mlx5dv_dr_rule *r, const struct mlx5dv_flow_match_parameters *value)
{
	struct mlx5dv_dr_matcher *m = r->matcher;
	bool unique = m->table->level && atomic_load(&m->table->domain->refuse_duplicates);
	struct flow_action actions[ACTIONS_MOST];
	unsigned int count;
	int err;

	if (m->table->level && value && value->match_sz % 4)
		return explain(EINVAL,
			       "mlx5dv_dr_rule_create: a value of %zu bytes; outside of the "
			       "root it comes in words of 4",
			       value->match_sz);
	err = mlx5_match_read(value, match_most(m->table), m->criteria, &r->value);
	if (!err)
		err = check_version(m, &r->value, FLOW_OUTER_ip_version, m->outer_version);
	if (!err)
		err = check_version(m, &r->value, FLOW_INNER_ip_version, m->inner_version);
	if (!err)
		err = list_actions(m, r->action_count, r->actions, actions, &count);
	if (!err)
		err = flow_rule_create(m->engine, &r->value, unique ? FLOW_RULE_ALONE : 0, actions,
				       count, &r->engine);
	return err;
}

struct mlx5dv_dr_rule *mlx5dv_dr_rule_create(struct mlx5dv_dr_matcher *m,
					     struct mlx5dv_flow_match_parameters *value,
					     size_t count, struct mlx5dv_dr_action *actions[])
{
	size_t align = _Alignof(struct mlx5dv_dr_rule), size;
	struct mlx5dv_dr_rule *r;
	int err;

	if (count > ACTIONS_MOST)
		return dr_null(explain(EINVAL,
				       "mlx5dv_dr_rule_create: %zu actions; %u are the most", count,
				       ACTIONS_MOST));
	size = sizeof(*r) + count * sizeof(r->actions[0]);
	r = aligned_alloc(align, (size + align - 1) / align * align);
	if (!r)
		return dr_null(explain(ENOMEM, "no memory for a rule"));
	memset(r, 0, size);
	r->matcher = m;
	r->action_count = count;
	if (count)
		memcpy(r->actions, actions, count * sizeof(r->actions[0]));
	err = make_rule(r, value);
	if (err) {
		free(r);
		return dr_null(err);
	}
	for (size_t i = 0; i < count; i++)
		atomic_fetch_add(&actions[i]->users, 1);
	atomic_fetch_add(&m->users, 1);
	pthread_mutex_lock(&m->table->domain->lock);
	LIST_INSERT_HEAD(&m->rules, r, link);
	pthread_mutex_unlock(&m->table->domain->lock);
	return r;
}

int mlx5dv_dr_rule_destroy(struct mlx5dv_dr_rule *r)
{
	struct mlx5dv_dr_matcher *m = r->matcher;

	pthread_mutex_lock(&m->table->domain->lock);
	LIST_REMOVE(r, link);
	pthread_mutex_unlock(&m->table->domain->lock);
	flow_rule_destroy(r->engine);
	for (size_t i = 0; i < r->action_count; i++)
		atomic_fetch_sub(&r->actions[i]->users, 1);
	free(r);
	atomic_fetch_sub(&m->users, 1);
	return 0;
}
