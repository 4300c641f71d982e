/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dumps in text: a line for each object, indented below its parent.
 */
#include <errno.h>

#include "hca/raw/flow.h"
#include "mlx5/dr_types.h"
#include "util/explain.h"

/* The domain's lock is held for all of these. */
static void dump_rule(FILE *out, const struct mlx5dv_dr_rule *r)
{
	char text[2048];

	flow_key_print(&r->value, &r->matcher->mask, text, sizeof(text));
	fprintf(out, "      rule %p: %s ->", (const void *)r, *text ? text : "everything");
	for (size_t i = 0; i < r->action_count; i++)
		fprintf(out, "%s %s", i ? "," : "", r->actions[i]->name);
	fprintf(out, "\n");
}

static void dump_matcher(FILE *out, const struct mlx5dv_dr_matcher *m)
{
	const struct mlx5dv_dr_rule *r;

	fprintf(out, "    matcher %p: priority %u, criteria 0x%x\n", (const void *)m, m->priority,
		m->criteria);
	LIST_FOREACH(r, &m->rules, link)
		dump_rule(out, r);
}

static void dump_table(FILE *out, const struct mlx5dv_dr_table *t)
{
	const struct mlx5dv_dr_matcher *m;
	unsigned int groups, rules;

	flow_table_size(t->engine, &groups, &rules);
	fprintf(out, "  table %p: level %u, %u rules in %u groups%s\n", (const void *)t, t->level,
		rules, groups, t->level ? "" : ", those of others included");
	LIST_FOREACH(m, &t->matchers, link)
		dump_matcher(out, m);
}

static void dump_domain(FILE *out, const struct mlx5dv_dr_domain *d)
{
	const struct mlx5dv_dr_table *t;
	static const char *const names[] = { "receive", "send", "switch", "sniffer" };

	fprintf(out, "domain %p: %s of %s port %u\n", (const void *)d, names[d->domain],
		d->adapter->name, d->port->number);
	LIST_FOREACH(t, &d->tables, link)
		dump_table(out, t);
}

static int check(const FILE *out, const void *object)
{
	return out && object ? 0 : dr_result(explain(EINVAL, "the file or the object is NULL"));
}

int mlx5dv_dump_dr_domain(FILE *out, struct mlx5dv_dr_domain *d)
{
	int err = check(out, d);

	if (err)
		return err;
	pthread_mutex_lock(&d->lock);
	dump_domain(out, d);
	pthread_mutex_unlock(&d->lock);
	return 0;
}

int mlx5dv_dump_dr_table(FILE *out, struct mlx5dv_dr_table *t)
{
	int err = check(out, t);

	if (err)
		return err;
	pthread_mutex_lock(&t->domain->lock);
	dump_table(out, t);
	pthread_mutex_unlock(&t->domain->lock);
	return 0;
}

int mlx5dv_dump_dr_matcher(FILE *out, struct mlx5dv_dr_matcher *m)
{
	int err = check(out, m);

	if (err)
		return err;
	pthread_mutex_lock(&m->table->domain->lock);
	dump_matcher(out, m);
	pthread_mutex_unlock(&m->table->domain->lock);
	return 0;
}

int mlx5dv_dump_dr_rule(FILE *out, struct mlx5dv_dr_rule *r)
{
	int err = check(out, r);

	if (err)
		return err;
	pthread_mutex_lock(&r->matcher->table->domain->lock);
	dump_rule(out, r);
	pthread_mutex_unlock(&r->matcher->table->domain->lock);
	return 0;
}
