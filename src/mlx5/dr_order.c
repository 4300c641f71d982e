/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which actions a direct rule may have, in which order: the device decapsulates before it modifies
 * and encapsulates, and only counters follow the final action.
 */
#include "mlx5/dr_order.h"

#include <errno.h>

#include "mlx5/dr_types.h"
#include "util/explain.h"

#define VLANS_MOST 2u

/* The last action that changed the packet, one bit each. */
enum {
	AT_START = 1 << 0,
	AT_OTHER = 1 << 1, /* no change of the packet */
	AT_DECAP = 1 << 2,
	AT_POP = 1 << 3,
	AT_MODIFY = 1 << 4,
	AT_PUSH = 1 << 5,
	AT_ENCAP = 1 << 6,
	AT_END = 1 << 7,
	AT_ASO = 1 << 8, /* a meter or a connection */
};

#define BARE  (AT_START | AT_OTHER)
#define OPEN  (BARE | AT_DECAP | AT_POP | AT_MODIFY | AT_PUSH | AT_ENCAP)
#define WHOLE (OPEN & ~AT_ENCAP)
#define ALL   (OPEN | AT_ASO | AT_END)

static const struct {
	uint16_t behind[3]; /* RX, TX, FDB */
	uint16_t then;      /* 0: unchanged */
} orders[] = {
	[DR_DROP] = { { BARE, BARE | AT_ASO, BARE }, AT_END },
	[DR_MISS] = { { BARE, BARE | AT_ASO, BARE }, AT_END },
	[DR_QUEUE] = { { OPEN | AT_ASO, 0, 0 }, AT_END },
	[DR_TABLE] = { { OPEN | AT_ASO, OPEN | AT_ASO, OPEN | AT_ASO }, AT_END },
	[DR_ROOT] = { { OPEN | AT_ASO, OPEN | AT_ASO, OPEN | AT_ASO }, AT_END },
	[DR_PORT] = { { 0, 0, OPEN | AT_ASO }, AT_END },
	[DR_ARRAY] = { { OPEN | AT_ASO, 0, OPEN | AT_ASO }, AT_END },
	[DR_SAMPLER] = { { OPEN | AT_ASO, 0, OPEN | AT_ASO }, AT_END },
	[DR_METER] = { { OPEN, OPEN, OPEN }, AT_END },
	[DR_FIRST_HIT] = { { OPEN | AT_ASO, OPEN | AT_ASO, OPEN | AT_ASO }, 0 },
	[DR_ASO] = { { BARE | AT_DECAP | AT_POP | AT_MODIFY | AT_ASO, BARE | AT_ASO,
		       BARE | AT_DECAP | AT_POP | AT_MODIFY | AT_PUSH | AT_ASO },
		     AT_ASO },
	[DR_TAG] = { { OPEN, 0, 0 }, 0 },
	[DR_COUNT] = { { ALL, ALL, ALL }, 0 },
	[DR_DECAP] = { { BARE, 0, BARE }, AT_DECAP },
	[DR_POP] = { { BARE | AT_DECAP | AT_POP, BARE | AT_POP, BARE | AT_DECAP | AT_POP },
		     AT_POP },
	[DR_MODIFY] = { { BARE | AT_DECAP | AT_POP, BARE | AT_POP | AT_ASO,
			  BARE | AT_DECAP | AT_POP },
			AT_MODIFY },
	[DR_PUSH] = { { WHOLE & ~AT_POP, (WHOLE & ~AT_DECAP) | AT_ASO, WHOLE }, AT_PUSH },
	[DR_ENCAP] = { { WHOLE, (WHOLE & ~AT_DECAP) | AT_ASO, WHOLE }, AT_ENCAP },
};

bool dr_kind_is_end(enum dr_kind kind)
{
	return orders[kind].then == AT_END;
}

/* Not offered in the root table, which is the kernel's. */
static int check_root(const struct mlx5dv_dr_action *a, size_t i)
{
	if (a->kind == DR_ROOT || a->kind == DR_PORT || a->kind == DR_SAMPLER ||
	    a->kind == DR_POP || a->kind == DR_PUSH || a->aso)
		return explain(EOPNOTSUPP,
			       "mlx5dv_dr_rule_create: action %zu (%s) is not for rules of a root "
			       "table",
			       i, a->name);
	return 0;
}

static int check_count(const struct mlx5dv_dr_action *a, size_t i, unsigned int before)
{
	bool vlan = a->kind == DR_POP || a->kind == DR_PUSH;

	if (before < (vlan ? VLANS_MOST : 1) || a->kind == DR_FIRST_HIT || a->kind == DR_ASO)
		return 0;
	return explain(a->kind == DR_PUSH ? EOPNOTSUPP : EINVAL,
		       "mlx5dv_dr_rule_create: action %zu (%s) is one too many of its kind; a rule "
		       "can have %u",
		       i, a->name, vlan ? VLANS_MOST : 1);
}

static int check_table(const struct mlx5dv_dr_table *t, const struct mlx5dv_dr_action *a, size_t i)
{
	if (a->root_only)
		return explain(
			EINVAL,
			"mlx5dv_dr_rule_create: action %zu (%s) was created for a root table", i,
			a->name);
	if ((a->kind == DR_SAMPLER || a->kind == DR_METER) && a->table->level <= t->level)
		return explain(EINVAL,
			       "mlx5dv_dr_rule_create: the packet would go on at level %u, "
			       "but the rule is at level %u",
			       a->table->level, t->level);
	return 0;
}

int dr_order_check(const struct mlx5dv_dr_table *t, size_t count,
		   struct mlx5dv_dr_action *const actions[])
{
	unsigned int seen[DR_KINDS] = { 0 };
	uint16_t at = AT_START;
	int err;

	for (size_t i = 0; i < count; i++) {
		const struct mlx5dv_dr_action *a = actions[i];

		if (!t->level) {
			err = check_root(a, i);
			if (err)
				return err;
			continue;
		}
		err = check_table(t, a, i);
		if (!err)
			err = check_count(a, i, seen[a->kind]++);
		if (err)
			return err;
		if (!(orders[a->kind].behind[t->domain->domain] & at))
			return explain(EOPNOTSUPP,
				       "mlx5dv_dr_rule_create: action %zu (%s) is in the wrong "
				       "place, or in the wrong kind of domain",
				       i, a->name);
		if (orders[a->kind].then)
			at = orders[a->kind].then;
		else if (at == AT_START)
			at = AT_OTHER;
	}
	return 0;
}
