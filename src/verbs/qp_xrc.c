/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC receive queue pairs have one handle per ibv_create_qp() or ibv_open_qp(), and live until the
 * last is destroyed. A queue pair of another process has a stand-in here
 * (hca/transport/xrc_open.h). verbs_state.xrc_lock guards the handles of the process.
 */
#include "verbs/qp_xrc.h"

#include <pthread.h>

#include "hca/transport/xrc_open.h"
#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/object_check.h"
#include "verbs/qp_fill.h"
#include "verbs/result.h"
#include "verbs/state.h"

static struct vb_qp *handle_of(struct hash_link *link)
{
	return link ? container_of(link, struct vb_qp, xrc_link) : NULL;
}

static struct vb_qp *first_handle(uint32_t qp_num)
{
	return handle_of(hash_find(&verbs_state.xrc_handles, qp_num));
}

static struct vb_qp *next_handle(const struct vb_qp *qp)
{
	return handle_of(hash_next(&qp->xrc_link));
}

/* The context in which the queue pair was created must outlive every handle. */
static struct vb_context *home(const struct vb_qp *qp)
{
	return container_of(qp->hca->ctx, struct vb_context, hca);
}

static void add(struct vb_qp *qp)
{
	hash_add(&verbs_state.xrc_handles, &qp->xrc_link, qp->qp.qp_num);
	qp->listener.async = &to_context(qp->qp.context)->async;
	qp->listener.user = &qp->qp;
	hca_qp_listen(qp->hca, &qp->listener);
	atomic_fetch_add_explicit(&qp->xrcd->users, 1, memory_order_relaxed);
	vb_context_get(home(qp));
}

void vb_xrc_add(struct vb_qp *qp)
{
	pthread_mutex_lock(&verbs_state.xrc_lock);
	add(qp);
	pthread_mutex_unlock(&verbs_state.xrc_lock);
}

bool vb_xrc_del(struct vb_qp *qp)
{
	struct vb_context *home_ctx = home(qp);
	struct vb_qp *other;

	pthread_mutex_lock(&verbs_state.xrc_lock);
	hash_remove(&verbs_state.xrc_handles, &qp->xrc_link);
	other = first_handle(qp->qp.qp_num);
	while (other && other->hca != qp->hca)
		other = next_handle(other);
	hca_qp_unlisten(qp->hca, &qp->listener);
	pthread_mutex_unlock(&verbs_state.xrc_lock);
	atomic_fetch_sub_explicit(&qp->xrcd->users, 1, memory_order_release);
	/* Not the last reference: this handle or another one has a reference of its own. */
	vb_context_put(home_ctx);
	return other != NULL;
}

static int check(struct ibv_context *context, const struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;

	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return explain(EOPNOTSUPP, "ibv_open_qp: comp_mask 0x%x has unknown bits",
			       attr->comp_mask);
	if ((attr->comp_mask & needed) != needed)
		return explain(EINVAL,
			       "ibv_open_qp: comp_mask 0x%x; number, domain and type are needed "
			       "(0x%x)",
			       attr->comp_mask, needed);
	if (attr->qp_type != IBV_QPT_XRC_RECV)
		return explain(EINVAL,
			       "ibv_open_qp: type %d; only XRC receive queue pairs (%d) can be "
			       "opened",
			       (int)attr->qp_type, IBV_QPT_XRC_RECV);
	if (!attr->xrcd || attr->xrcd->context != context)
		return explain(EINVAL, "ibv_open_qp: the XRC domain %s",
			       attr->xrcd ? "belongs to another context" : "is NULL");
	return vb_check_xrcd(attr->xrcd, EINVAL, "ibv_open_qp");
}

static int open_handle(struct ibv_context *context, const struct ibv_qp_open_attr *attr,
		       struct vb_qp **out)
{
	struct vb_context *ctx = to_context(context);
	struct vb_xrcd *xrcd = to_xrcd(attr->xrcd);
	struct hca_qp *hca, *opened = NULL;
	struct vb_qp *of, *qp;
	int err = 0;

	of = first_handle(attr->qp_num);
	while (of && of->xrcd->number != xrcd->number)
		of = next_handle(of);
	if (!of)
		err = hca_xrc_open(&ctx->hca, attr->qp_num, xrcd->number, &opened);
	if (err)
		return err;
	hca = of ? of->hca : opened;
	err = ctx->driver->open_qp(ctx, hca, &qp);
	if (err) {
		if (opened)
			hca_qp_destroy(opened);
		return err;
	}
	vb_qp_fill(qp, context,
		   attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL,
		   IBV_QPT_XRC_RECV);
	qp->xrcd = xrcd;
	add(qp);
	vb_context_get(ctx);
	*out = qp;
	return 0;
}

struct ibv_qp *vb_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct vb_qp *qp;
	int err = check(context, attr);

	if (!err) {
		pthread_mutex_lock(&verbs_state.xrc_lock);
		err = open_handle(context, attr, &qp);
		pthread_mutex_unlock(&verbs_state.xrc_lock);
	}
	return err ? vb_null(err) : &qp->qp;
}
