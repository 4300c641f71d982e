/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pacing rates and scheduling elements: trees with QPs at their leaves. An element's limit acts on
 * all QPs below it (hca/transport/shaper.h); shares (bw_share) are stored and have no effect.
 */
#include "mlx5/dv_sched.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hca/transport/shaper.h"
#include "mlx5/dv.h"
#include "mlx5/ifc.h"
#include "mlx5/objects.h"
#include "mlx5/state.h"
#include "util/explain.h"

/* ---- pacing ---- */

static struct mlx5_rate *find_rate(const struct hca_adapter *a, const uint8_t *context,
				   bool dedicated)
{
	struct mlx5_rate *free_one = NULL;

	for (unsigned int i = 0; i < MLX5_RATES; i++) {
		struct mlx5_rate *r = &mlx5_state.rates[i];

		if (!r->users) {
			free_one = free_one ? free_one : r;
			r->pub.index = i + 1;
		} else if (!dedicated && !r->dedicated && r->adapter == a &&
			   !memcmp(r->context, context, MLX5_RATE_BYTES)) {
			return r;
		}
	}
	return free_one;
}

bool mlx5_rate_find(const struct hca_adapter *adapter, uint32_t index, uint32_t *kbps,
		    uint32_t *burst)
{
	const struct mlx5_rate *r;
	bool found;

	if (!index || index > MLX5_RATES)
		return false;
	r = &mlx5_state.rates[index - 1];
	pthread_mutex_lock(&mlx5_state.lock);
	found = r->users && r->adapter == adapter;
	if (found) {
		*kbps = ifc_get(r->context, set_pp_rate_limit_context, rate_limit);
		*burst = ifc_get(r->context, set_pp_rate_limit_context, burst_upper_bound);
	}
	pthread_mutex_unlock(&mlx5_state.lock);
	return found;
}

struct mlx5dv_pp *mlx5dv_pp_alloc(struct ibv_context *context, size_t size, const void *from,
				  uint32_t flags)
{
	const uint32_t known = MLX5DV_PP_ALLOC_FLAGS_DEDICATED_INDEX;
	uint8_t wanted[MLX5_RATE_BYTES] = { 0 };
	struct mlx5_rate *r;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	if (flags & ~known)
		return explain_null(EOPNOTSUPP, "mlx5dv_pp_alloc: flags 0x%x; 0x%x is known", flags,
				    known);
	if (!size || size > MLX5_RATE_BYTES)
		return explain_null(EINVAL, "mlx5dv_pp_alloc: a context of %zu bytes; 1 to %u",
				    size, MLX5_RATE_BYTES);
	memcpy(wanted, from, size);
	pthread_mutex_lock(&mlx5_state.lock);
	r = find_rate(to_context(context)->adapter, wanted, flags);
	if (r && !r->users++) {
		r->dedicated = flags;
		r->adapter = to_context(context)->adapter;
		memcpy(r->context, wanted, sizeof(wanted));
	}
	pthread_mutex_unlock(&mlx5_state.lock);
	if (!r)
		return explain_null(ENOSPC, "mlx5dv_pp_alloc: all %u rates are in use", MLX5_RATES);
	return &r->pub;
}

void mlx5dv_pp_free(struct mlx5dv_pp *pub)
{
	pthread_mutex_lock(&mlx5_state.lock);
	container_of(pub, struct mlx5_rate, pub)->users--;
	pthread_mutex_unlock(&mlx5_state.lock);
}

/* ---- scheduling ---- */

#define FLAGS_KNOWN                                                                                \
	(MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE | MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW)

struct mlx5dv_sched_node {
	struct ibv_context *context;
	struct mlx5dv_sched_node *parent; /* NULL: the root of a tree */
	uint32_t bw_share, max_avg_bw;
	atomic_uint children; /* elements and QPs */
	struct hca_shaper *shaper;
};

struct mlx5dv_sched_leaf {
	struct mlx5dv_sched_node node; /* its children are QPs */
};

static int check(struct ibv_context *context, const struct mlx5dv_sched_attr *attr,
		 const char *call, bool is_root)
{
	if (!attr)
		return explain(EINVAL, "%s: there are no attributes", call);
	if (attr->comp_mask || attr->flags & ~FLAGS_KNOWN)
		return explain(EINVAL, "%s: comp_mask 0x%llx, flags 0x%x; 0 and 0x%x are known",
			       call, (unsigned long long)attr->comp_mask, attr->flags, FLAGS_KNOWN);
	if (!attr->parent && !is_root)
		return explain(EINVAL, "%s: a leaf needs a parent", call);
	if (!attr->parent && attr->flags)
		return explain(EINVAL, "%s: a root has neither share nor limit", call);
	if (attr->parent && attr->parent->context != context)
		return explain(EINVAL, "%s: the parent belongs to another context", call);
	return 0;
}

static void set_attr(struct mlx5dv_sched_node *node, const struct mlx5dv_sched_attr *attr)
{
	if (attr->flags & MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE)
		node->bw_share = attr->bw_share;
	if (attr->flags & MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW)
		node->max_avg_bw = attr->max_avg_bw;
	hca_shaper_set(node->shaper, node->max_avg_bw);
}

static int init(struct mlx5dv_sched_node *node, struct ibv_context *context,
		const struct mlx5dv_sched_attr *attr)
{
	int err = hca_shaper_create(attr->parent ? attr->parent->shaper : NULL, 0, &node->shaper);

	if (err)
		return err;
	node->context = context;
	node->parent = attr->parent;
	set_attr(node, attr);
	if (node->parent)
		atomic_fetch_add(&node->parent->children, 1);
	return 0;
}

static int fini(struct mlx5dv_sched_node *node, const char *call)
{
	unsigned int children = atomic_load(&node->children);

	if (children)
		return explain(EBUSY, "%s: %u elements or queue pairs are below it", call,
			       children);
	if (node->parent)
		atomic_fetch_sub(&node->parent->children, 1);
	hca_shaper_put(node->shaper);
	return 0;
}

static int modify(struct mlx5dv_sched_node *node, const struct mlx5dv_sched_attr *attr,
		  const char *call)
{
	if (!attr)
		return explain(EINVAL, "%s: there are no attributes", call);
	if (attr->comp_mask || attr->flags & ~FLAGS_KNOWN)
		return explain(EINVAL, "%s: comp_mask 0x%llx, flags 0x%x; 0 and 0x%x are known",
			       call, (unsigned long long)attr->comp_mask, attr->flags, FLAGS_KNOWN);
	if (!node->parent)
		return explain(EINVAL, "%s: a root has neither share nor limit", call);
	set_attr(node, attr);
	return 0;
}

struct mlx5dv_sched_node *mlx5dv_sched_node_create(struct ibv_context *context,
						   const struct mlx5dv_sched_attr *attr)
{
	struct mlx5dv_sched_node *node;
	int err;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	err = check(context, attr, __func__, true);
	node = err ? NULL : calloc(1, sizeof(*node));
	if (!err)
		err = node ? init(node, context, attr) : -ENOMEM;
	if (!err)
		return node;
	free(node);
	errno = -err;
	return NULL;
}

struct mlx5dv_sched_leaf *mlx5dv_sched_leaf_create(struct ibv_context *context,
						   const struct mlx5dv_sched_attr *attr)
{
	struct mlx5dv_sched_leaf *leaf;
	int err;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	err = check(context, attr, __func__, false);
	leaf = err ? NULL : calloc(1, sizeof(*leaf));
	if (!err)
		err = leaf ? init(&leaf->node, context, attr) : -ENOMEM;
	if (!err)
		return leaf;
	free(leaf);
	errno = -err;
	return NULL;
}

int mlx5dv_sched_node_modify(struct mlx5dv_sched_node *node, const struct mlx5dv_sched_attr *attr)
{
	return errno = -modify(node, attr, __func__);
}

int mlx5dv_sched_leaf_modify(struct mlx5dv_sched_leaf *leaf, const struct mlx5dv_sched_attr *attr)
{
	return errno = -modify(&leaf->node, attr, __func__);
}

int mlx5dv_sched_node_destroy(struct mlx5dv_sched_node *node)
{
	int err = fini(node, __func__);

	if (err)
		return errno = -err;
	free(node);
	return 0;
}

int mlx5dv_sched_leaf_destroy(struct mlx5dv_sched_leaf *leaf)
{
	int err = fini(&leaf->node, __func__);

	if (err)
		return errno = -err;
	free(leaf);
	return 0;
}

/* ---- queue pairs at leaves ---- */

static void set_leaves(struct mlx5_qp *qp, const struct mlx5dv_sched_leaf *const to[2])
{
	pthread_mutex_lock(&mlx5_state.lock);
	for (int i = 0; i < 2; i++) {
		struct mlx5dv_sched_leaf *leaf = (struct mlx5dv_sched_leaf *)to[i];

		if (leaf)
			atomic_fetch_add(&leaf->node.children, 1);
		if (qp->sched[i])
			atomic_fetch_sub(&qp->sched[i]->node.children, 1);
		qp->sched[i] = leaf;
	}
	pthread_mutex_unlock(&mlx5_state.lock);
}

void mlx5_sched_leave(struct mlx5_qp *qp)
{
	const struct mlx5dv_sched_leaf *const nowhere[2] = { NULL, NULL };

	if (qp->sched[0] || qp->sched[1])
		set_leaves(qp, nowhere);
}

/* Only RC QPs have a responder with data to send; requests are scheduled in these states. */
static int check_qp(struct ibv_qp *qp, bool responder)
{
	enum hca_qp_state state = to_mqp(qp)->base.vb.hca->state;

	switch (qp->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_RAW_PACKET:
		break;
	default:
		return explain(EOPNOTSUPP,
			       "mlx5dv_modify_qp_sched_elem: QPs of type %d are not scheduled",
			       (int)qp->qp_type);
	}
	if (responder && qp->qp_type != IBV_QPT_RC)
		return explain(EINVAL,
			       "mlx5dv_modify_qp_sched_elem: QP 0x%x has no responder to schedule; "
			       "only RC has",
			       qp->qp_num);
	if (state != HCA_QPS_RTS && (state != HCA_QPS_INIT || qp->qp_type == IBV_QPT_RAW_PACKET))
		return explain(EOPNOTSUPP,
			       "mlx5dv_modify_qp_sched_elem: QP 0x%x is in state %d; expected RTS, "
			       "or INIT for other QPs than raw packet ones",
			       qp->qp_num, (int)state);
	return 0;
}

/* Read responses are not limited. */
int mlx5dv_modify_qp_sched_elem(struct ibv_qp *qp, const struct mlx5dv_sched_leaf *requester,
				const struct mlx5dv_sched_leaf *responder)
{
	const struct mlx5dv_sched_leaf *const to[2] = { requester, responder };
	int err;

	if (!mlx5_dv_context(qp->context, __func__))
		return errno;
	if ((requester && requester->node.context != qp->context) ||
	    (responder && responder->node.context != qp->context))
		return errno = -explain(EINVAL,
					"mlx5dv_modify_qp_sched_elem: the leaf belongs to "
					"another context than QP 0x%x",
					qp->qp_num);
	err = check_qp(qp, responder);
	if (err)
		return errno = -err;
	set_leaves(to_mqp(qp), to);
	hca_qp_set_shaper(to_mqp(qp)->base.vb.hca, requester ? requester->node.shaper : NULL);
	return 0;
}
