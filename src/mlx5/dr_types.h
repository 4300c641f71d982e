/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct rules: domain > table > matcher > rule, and actions that rules share. Each object counts
 * its users and is busy while it has any. Lists, for dumps, are under the domain's lock; everything
 * else is constant or the flow engine's.
 *
 * A domain takes no reference to its context: it works on a port of an adapter, which always
 * exists.
 */
#ifndef MLX5_DR_TYPES_H
#define MLX5_DR_TYPES_H

#include <pthread.h>
#include <sys/queue.h>

#include "mlx5/objects.h"
#include "verbs/flow_types.h"

struct mlx5dv_dr_domain {
	const struct hca_adapter *adapter;
	struct ether_port *port;
	enum flow_domain domain;
	atomic_bool refuse_duplicates; /* a second rule with the same value is refused */
	atomic_uint users;
	pthread_mutex_t lock;
	LIST_HEAD(, mlx5dv_dr_table) tables;
	LIST_HEAD(, dr_link)
	links; /* objects of other domains that rules here may use (dr_aso.c) */
};

struct mlx5dv_dr_table {
	struct mlx5dv_dr_domain *domain;
	uint32_t level; /* 0: the root, which all domains of the port share */
	struct flow_table *engine;
	atomic_uint users;
	LIST_HEAD(, mlx5dv_dr_matcher) matchers;
	LIST_ENTRY(mlx5dv_dr_table) link;
};

struct mlx5dv_dr_matcher {
	struct mlx5dv_dr_table *table;
	struct flow_matcher *engine;
	struct flow_key mask;
	uint16_t priority;
	uint8_t criteria;
	uint8_t outer_version, inner_version; /* IP version of the mask; 0: any */
	atomic_uint users;
	LIST_HEAD(, mlx5dv_dr_rule) rules;
	LIST_ENTRY(mlx5dv_dr_matcher) link;
};

struct mlx5dv_dr_rule {
	struct mlx5dv_dr_matcher *matcher;
	struct flow_rule *engine;
	struct flow_key value;
	LIST_ENTRY(mlx5dv_dr_rule) link;
	size_t action_count;
	struct mlx5dv_dr_action *actions[];
};

/* A destination with its own reformat is a table with one rule. */
struct dr_reformat_dest {
	struct flow_table *table;
	struct flow_matcher *matcher;
	struct flow_rule *rule;
};

/* dr_order.c has their order. */
enum dr_kind {
	DR_DROP,
	DR_MISS,
	DR_QUEUE,
	DR_TABLE,
	DR_ROOT,
	DR_PORT,
	DR_ARRAY,
	DR_SAMPLER,
	DR_TAG,
	DR_COUNT,
	DR_FIRST_HIT,
	DR_ASO,   /* a meter or a connection */
	DR_METER, /* and on to a table */
	DR_DECAP,
	DR_POP,
	DR_MODIFY,
	DR_PUSH,
	DR_ENCAP,
	DR_KINDS,
};

struct mlx5dv_dr_action {
	const char *name;
	enum dr_kind kind;
	atomic_uint users;
	bool root_only;                  /* for rules of a root table only */
	struct mlx5dv_dr_domain *domain; /* referenced, or NULL: any domain */
	struct mlx5dv_dr_table *table;   /* referenced, or NULL */
	struct aso *aso;                 /* referenced, or NULL */
	uint32_t aso_flags;
	/* other actions, referenced, and the action's own tables */
	unsigned int part_count, reformat_dest_count;
	struct mlx5dv_dr_action **parts;
	struct dr_reformat_dest *reformat_dests;
	/* copied into rules */
	unsigned int step_count;
	struct flow_action steps[];
};

/* NULL and errno. */
static inline void *dr_null(int err)
{
	errno = -err;
	return NULL;
}

/* The errno, positive. */
static inline int dr_result(int err)
{
	if (err)
		errno = -err;
	return -err;
}

#endif
