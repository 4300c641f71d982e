/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw queues and what spreads packets over them: RQ, SQ, RQT, TIR, TIS. Their contexts are kept as
 * the program gave them, their states and references are checked, and who is needed cannot go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx.h"

#define NUMBERS   (1u << 20)
#define RQT_MAX   2048u
#define LOG_WQ_SZ 15

static int number(struct devx_cmd *c)
{
	int err = devx_number(c->obj, 1, NUMBERS, 1);

	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	ifc_set(c->out, obj_out, number, c->obj->number);
	return 0;
}

static int need(struct devx_cmd *c, enum devx_kind kind, uint32_t id, const char *what)
{
	struct mlx5dv_devx_obj *obj = devx_find(c->devx, kind, id);

	if (!obj)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT, "%s 0x%x does not exist",
				   what, id);
	devx_use(c->obj, obj);
	return 0;
}

/* ---- queues ---- */

/* The completion queue stays held by the object: c->obj->hca is none of destroy_hca()'s here. */
static int check_cq(struct devx_cmd *c, uint32_t cqn)
{
	struct hca_cq *cq = hca_cq_hold(c->adapter, cqn);

	if (!cq)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
				   "completion queue 0x%x does not exist", cqn);
	c->obj->held_cq = cq;
	return 0;
}

static int check_wq(struct devx_cmd *c, const void *wq, uint32_t min_shift)
{
	unsigned int size = ifc_get(wq, wq, log_wq_sz), stride = ifc_get(wq, wq, log_wq_stride);
	struct devx_ring ring = { .id = ifc_get(wq, wq, wq_umem_id),
				  .offset = ifc_get(wq, wq, wq_umem_offset),
				  .valid = ifc_get(wq, wq, wq_umem_valid),
				  .bytes = 1ull << (size + stride),
				  .align = 64,
				  .what = "ring" };
	struct devx_ring record = { .id = ifc_get(wq, wq, dbr_umem_id),
				    .offset = ifc_get(wq, wq, dbr_addr),
				    .valid = ifc_get(wq, wq, dbr_umem_valid),
				    .bytes = 8,
				    .align = 4,
				    .what = "doorbell record" };
	void *at;
	int err;

	if (size > LOG_WQ_SZ || stride < min_shift)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "2^%u entries of 2^%u bytes; right are up to 2^%u of 2^%u or "
				   "more",
				   size, stride, LOG_WQ_SZ, min_shift);
	err = devx_umem_at(c, 0, &ring, &at);
	return err ? err : devx_umem_at(c, 1, &record, &at);
}

static int check_pd(struct devx_cmd *c, uint32_t pdn)
{
	struct hca_pd *pd = hca_pd_hold(c->adapter, pdn);

	if (!pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	c->obj->held_pd = pd;
	return 0;
}

int devx_create_rq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_rq_in, ctx), *wq = ifc_cptr(ctx, rqc, wq);
	int err = 0;

	if (ifc_get(ctx, rqc, hairpin))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "hairpin queues are not offered; the capabilities say so");
	if (ifc_get(ctx, rqc, mem_rq_type) == IFC_MEM_RQ_INLINE) {
		err = check_wq(c, wq, 4);
		if (!err)
			err = check_pd(c, ifc_get(wq, wq, pd));
	}
	if (!err)
		err = check_cq(c, ifc_get(ctx, rqc, cqn));
	if (!err)
		err = devx_keep(c, ctx, ifc_len(rqc));
	if (!err)
		err = number(c);
	if (!err)
		ifc_set(c->obj->image, rqc, state, IFC_WQ_RST);
	return err;
}

int devx_create_sq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_sq_in, ctx), *wq = ifc_cptr(ctx, sqc, wq);
	int err = 0;

	if (ifc_get(ctx, sqc, hairpin))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "hairpin queues are not offered; the capabilities say so");
	err = check_wq(c, wq, 6);
	if (!err)
		err = check_pd(c, ifc_get(wq, wq, pd));
	if (!err)
		err = devx_uar_use(c, ifc_get(wq, wq, uar_page), NULL);
	if (!err)
		err = check_cq(c, ifc_get(ctx, sqc, cqn));
	if (!err && ifc_get(ctx, sqc, tis_lst_sz))
		err = need(c, DEVX_TIS, ifc_get(ctx, sqc, tis_num_0), "TIS");
	if (!err)
		err = devx_keep(c, ctx, ifc_len(sqc));
	if (!err)
		err = number(c);
	if (!err)
		ifc_set(c->obj->image, sqc, state, IFC_WQ_RST);
	return err;
}

/* RST to RDY, either to ERR, any to RST; and to where it is. */
static int check_edge(struct devx_cmd *c, unsigned int said, unsigned int from, unsigned int to)
{
	bool fine = to == from || to == IFC_WQ_RST || (from == IFC_WQ_RST && to == IFC_WQ_RDY) ||
		    (to == IFC_WQ_ERR);

	if (said != from)
		return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				   "queue 0x%x is in state %u, not in %u", c->obj->number, from,
				   said);
	if (!fine || (to != IFC_WQ_RST && to != IFC_WQ_RDY && to != IFC_WQ_ERR))
		return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				   "a queue does not go from state %u to %u", from, to);
	return 0;
}

int devx_modify_rq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_rq_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_rq_in, modify_bitmask);
	uint8_t *image = c->obj->image;
	int err = check_edge(c, ifc_get(c->in, modify_rq_in, rq_state), ifc_get(image, rqc, state),
			     ifc_get(ctx, rqc, state));

	if (err)
		return err;
	ifc_set(image, rqc, state, ifc_get(ctx, rqc, state));
	if (mask & IFC_MODIFY_RQ_VSD)
		ifc_set(image, rqc, vsd, ifc_get(ctx, rqc, vsd));
	if (mask & IFC_MODIFY_RQ_SCATTER_FCS)
		ifc_set(image, rqc, scatter_fcs, ifc_get(ctx, rqc, scatter_fcs));
	if (mask & IFC_MODIFY_RQ_COUNTER_SET)
		ifc_set(image, rqc, counter_set_id, ifc_get(ctx, rqc, counter_set_id));
	if (mask & IFC_MODIFY_RQ_LWM)
		ifc_set(ifc_ptr(image, rqc, wq), wq, lwm, ifc_get(ifc_cptr(ctx, rqc, wq), wq, lwm));
	return 0;
}

int devx_modify_sq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_sq_in, ctx);
	uint8_t *image = c->obj->image;
	int err = check_edge(c, ifc_get(c->in, modify_sq_in, sq_state), ifc_get(image, sqc, state),
			     ifc_get(ctx, sqc, state));

	if (!err)
		ifc_set(image, sqc, state, ifc_get(ctx, sqc, state));
	return err;
}

/* RQ, SQ and TIR: the context at one and the same place. */
int devx_query_wq(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_rq_out, rq_context), c->obj->image, c->obj->image_len);
	return 0;
}

/* ---- tables of receive queues ---- */

static int check_list(struct devx_cmd *c, const void *ctx, size_t given, uint32_t max)
{
	uint32_t count = ifc_get(ctx, rqtc, rqt_actual_size);

	if (!count || count > max || given < count * 4ull)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%u queues of at most %u, in %zu bytes", count, max, given);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t rqn = ifc_get_at(ctx, rqtc, rq_num, i) & 0xffffff;

		if (!devx_find(c->devx, DEVX_RQ, rqn))
			return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
					   "receive queue 0x%x (entry %u) does not exist", rqn, i);
	}
	return 0;
}

static void use_list(struct devx_cmd *c, int by)
{
	const uint8_t *ctx = c->obj->image;
	uint32_t count = ifc_get(ctx, rqtc, rqt_actual_size);

	for (uint32_t i = 0; i < count; i++) {
		struct mlx5dv_devx_obj *rq =
			devx_find(c->devx, DEVX_RQ, ifc_get_at(ctx, rqtc, rq_num, i) & 0xffffff);

		if (rq)
			rq->users += by;
	}
}

static int keep_list(struct devx_cmd *c, const void *ctx)
{
	return devx_keep(c, ctx, ifc_len(rqtc) + ifc_get(ctx, rqtc, rqt_actual_size) * 4ull);
}

int devx_create_rqt(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_rqt_in, rqt_context);
	uint32_t max = ifc_get(ctx, rqtc, rqt_max_size);
	int err;

	if (max > RQT_MAX)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "rqt_max_size %u; at most %u", max, RQT_MAX);
	err = check_list(c, ctx, c->inlen - ifc_len(create_rqt_in), max);
	if (!err)
		err = keep_list(c, ctx);
	if (!err)
		err = number(c);
	if (!err)
		use_list(c, 1);
	return err;
}

int devx_modify_rqt(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_rqt_in, rqt_context);
	uint32_t max = ifc_get(c->obj->image, rqtc, rqt_max_size);
	int err;

	if (!(ifc_get(c->in, modify_rqt_in, modify_bitmask) & IFC_MODIFY_RQT_LIST))
		return 0;
	err = check_list(c, ctx, c->inlen - ifc_len(modify_rqt_in), max);
	if (err)
		return err;
	use_list(c, -1);
	err = keep_list(c, ctx);
	if (!err)
		ifc_set(c->obj->image, rqtc, rqt_max_size, max);
	use_list(c, 1);
	return err;
}

int devx_query_rqt(struct devx_cmd *c)
{
	size_t at = ifc_byte(query_rqt_out, rqt_context), room = c->outlen - at;

	memcpy(c->out + at, c->obj->image, c->obj->image_len < room ? c->obj->image_len : room);
	return 0;
}

void devx_rqt_release(struct mlx5dv_devx_obj *obj)
{
	struct devx_cmd c = { .devx = obj->devx, .obj = obj };

	use_list(&c, -1);
}

/* ---- receive and send interfaces ---- */

int devx_create_tir(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_tir_in, ctx);
	int err = need(c, DEVX_TD, ifc_get(ctx, tirc, transport_domain), "transport domain");

	if (err)
		return err;
	if (ifc_get(ctx, tirc, disp_type) == IFC_TIR_DIRECT)
		err = need(c, DEVX_RQ, ifc_get(ctx, tirc, inline_rqn), "receive queue");
	else
		err = need(c, DEVX_RQT, ifc_get(ctx, tirc, indirect_table), "RQT");
	if (!err)
		err = devx_keep(c, ctx, ifc_len(tirc));
	return err ? err : number(c);
}

int devx_modify_tir(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_tir_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_tir_in, modify_bitmask);
	uint8_t *image = c->obj->image;

	if (mask & IFC_MODIFY_TIR_INDIRECT_TABLE) {
		uint32_t id = ifc_get(ctx, tirc, indirect_table);
		struct mlx5dv_devx_obj *rqt = devx_find(c->devx, DEVX_RQT, id);

		if (!rqt)
			return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
					   "RQT 0x%x does not exist", id);
		if (c->obj->uses[1])
			c->obj->uses[1]->users--;
		c->obj->uses[1] = rqt;
		rqt->users++;
		ifc_set(image, tirc, indirect_table, id);
	}
	if (mask & IFC_MODIFY_TIR_SELF_LB)
		ifc_set(image, tirc, self_lb_block, ifc_get(ctx, tirc, self_lb_block));
	if (mask & IFC_MODIFY_TIR_HASH)
		memcpy(ifc_ptr(image, tirc, rx_hash_toeplitz_key),
		       ifc_cptr(ctx, tirc, rx_hash_toeplitz_key),
		       ifc_size(tirc, rx_hash_toeplitz_key) + 8);
	return 0;
}

int devx_create_tis(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_tis_in, ctx);
	int err = need(c, DEVX_TD, ifc_get(ctx, tisc, transport_domain), "transport domain");

	if (!err)
		err = devx_keep(c, ctx, ifc_len(tisc));
	return err ? err : number(c);
}

int devx_modify_tis(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_tis_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_tis_in, modify_bitmask);

	if (mask & IFC_MODIFY_TIS_PRIO)
		ifc_set(c->obj->image, tisc, prio, ifc_get(ctx, tisc, prio));
	return 0;
}

int devx_query_tis(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_tis_out, tis_context), c->obj->image, c->obj->image_len);
	return 0;
}
