/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RQ, RQT, TIR and TIS (SQ: devx_sq.c). Contexts are kept as the program gave them; states and
 * references are checked, and an object in use cannot be destroyed. An RQ with its own ring is a
 * work queue of the adapter; RQTs and TIRs may also have work queues of ibv_create_wq().
 */
#include "mlx5/devx_wq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/rss.h"
#include "hca/raw/wq.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_counter.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_obj.h"
#include "mlx5/format.h"
#include "mlx5/wq.h"

#define NUMBERS   (1u << 20)
#define RQT_MAX   2048u
#define LOG_WQ_SZ 15

int devx_wq_number(struct devx_cmd *c)
{
	int err = devx_number(c->obj, 1, NUMBERS, 1);

	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	ifc_set(c->out, obj_out, number, c->obj->number);
	return 0;
}

int devx_need(struct devx_cmd *c, enum devx_kind kind, uint32_t id, const char *what)
{
	struct mlx5dv_devx_obj *obj = devx_find(c->devx, kind, id);

	if (!obj)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT, "%s 0x%x does not exist",
				   what, id);
	devx_use(c->obj, obj);
	return 0;
}

/* ---- queues ---- */

/* The object holds the CQ until it is destroyed. */
int devx_check_cq(struct devx_cmd *c, uint32_t cqn)
{
	struct hca_cq *cq = devx_hold_cq(c, cqn);

	if (!cq)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
				   "completion queue 0x%x does not exist", cqn);
	c->obj->held_cq = cq;
	return 0;
}

int devx_check_wq(struct devx_cmd *c, const void *wq, uint32_t min_shift, void *at[2])
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
	int err;

	if (size > LOG_WQ_SZ || stride < min_shift)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "2^%u entries of 2^%u bytes; expected up to 2^%u of 2^%u or "
				   "more",
				   size, stride, LOG_WQ_SZ, min_shift);
	err = devx_umem_at(c, 0, &ring, &at[0]);
	return err ? err : devx_umem_at(c, 1, &record, &at[1]);
}

int devx_check_pd(struct devx_cmd *c, uint32_t pdn)
{
	struct hca_pd *pd = devx_hold_pd(c, pdn);

	if (!pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	c->obj->held_pd = pd;
	return 0;
}

static void fill_flags(const void *ctx, struct hca_wq_init *init)
{
	if (!ifc_get(ctx, rqc, vsd))
		init->flags |= HCA_WQF_CVLAN_STRIPPING;
	if (ifc_get(ctx, rqc, scatter_fcs))
		init->flags |= HCA_WQF_SCATTER_FCS;
	if (ifc_get(ifc_cptr(ctx, rqc, wq), wq, end_padding_mode))
		init->flags |= HCA_WQF_END_PADDING;
}

/* The adapter's work queue on the program's ring. */
static int make_rq(struct devx_cmd *c, const void *ctx, void *const at[2])
{
	const void *wq = ifc_cptr(ctx, rqc, wq);
	bool striding = ifc_get(wq, wq, wq_type) == IFC_WQ_CYCLIC_STRIDING;
	uint32_t shift = ifc_get(wq, wq, log_wq_stride), numbers;
	struct hca_wq_init init = {
		.pd = c->obj->held_pd,
		.cq = c->obj->held_cq,
		.format = &mlx5_format,
		.ring = { .buf = at[0],
			  .size = 1u << ifc_get(wq, wq, log_wq_sz),
			  .slot_shift = shift,
			  .max_sge = (1u << shift) / MLX5_DS - striding,
			  .signature = striding || ifc_get(wq, wq, wq_signature),
			  .db = (volatile uint32_t *)at[1] + MLX5_RCV_DBR },
		.user_index = ifc_get(ctx, rqc, user_index),
		.user = devx_user(c->obj),
	};
	int err;

	if (striding) {
		uint32_t strides = ifc_get(wq, wq, single_wqe_log_num_of_strides);

		/* Four signed bits: fewer than 2^9 strides are a negative number. */
		init.strides_shift = (strides ^ 8) + 1;
		init.stride_shift = ifc_get(wq, wq, single_stride_log_num_of_bytes) + 6;
		init.two_byte_shift = ifc_get(wq, wq, two_byte_shift_en);
		if (init.strides_shift < MLX5_STRIDES_LOG_LEAST)
			return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
					   "2^%u strides; 2^%u are the least", init.strides_shift,
					   MLX5_STRIDES_LOG_LEAST);
	}
	fill_flags(ctx, &init);
	err = hca_wq_create(&init, &c->obj->wq);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	numbers = c->obj->wq->wqn;
	return devx_refuse_errno(c, devx_number(c->obj, numbers, numbers + 1, 1), DEVX_WHY_OBJECT);
}

/* An RQ of an RMP has only a CQ of its own. */
static int make_rq_on_rmp(struct devx_cmd *c, const void *ctx)
{
	uint32_t rmpn = ifc_get(ctx, rqc, rmpn), number;
	struct hca_srq *srq = devx_hold_srq(c, rmpn);
	struct hca_wq_init init = { .cq = c->obj->held_cq,
				    .format = &mlx5_format,
				    .srq = srq,
				    .user_index = ifc_get(ctx, rqc, user_index),
				    .user = devx_user(c->obj) };
	int err;

	if (!srq || srq->type != HCA_SRQ_BASIC) {
		if (srq)
			hca_srq_put(srq);
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_SRQ,
				   "shared memory pool 0x%x does not exist", rmpn);
	}
	init.pd = srq->pd;
	fill_flags(ctx, &init);
	err = hca_wq_create(&init, &c->obj->wq);
	hca_srq_put(srq);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	number = c->obj->wq->wqn;
	return devx_refuse_errno(c, devx_number(c->obj, number, number + 1, 1), DEVX_WHY_OBJECT);
}

int devx_create_rq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_rq_in, ctx), *wq = ifc_cptr(ctx, rqc, wq);
	unsigned int memory = ifc_get(ctx, rqc, mem_rq_type);
	bool own = memory == IFC_MEM_RQ_INLINE;
	void *at[2] = { NULL, NULL };
	struct hca_counters *set;
	int err = 0;

	if (memory != IFC_MEM_RQ_INLINE && memory != IFC_MEM_RQ_RMP)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "mem_rq_type %u; 0 (inline) and 1 (RMP) are offered", memory);

	if (ifc_get(ctx, rqc, hairpin))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "hairpin queues are not offered, see the capabilities");
	if (own) {
		err = devx_check_wq(c, wq, 4, at);
		if (!err)
			err = devx_check_pd(c, ifc_get(wq, wq, pd));
	}
	if (!err)
		err = devx_check_cq(c, ifc_get(ctx, rqc, cqn));
	if (!err)
		err = devx_keep(c, ctx, ifc_len(rqc));
	if (!err)
		err = devx_counters_find(c, ifc_get(ctx, rqc, counter_set_id), &set);
	if (!err)
		err = own ? make_rq(c, ctx, at) : make_rq_on_rmp(c, ctx);
	if (!err) {
		hca_wq_set_counters(c->obj->wq, set);
		ifc_set(c->out, obj_out, number, c->obj->number);
		ifc_set(c->obj->image, rqc, state, IFC_WQ_RST);
	}
	return err;
}

/*
 * Legal: RST to RDY, RST and RDY to ERR, any to RST, any to itself. A queue that failed is no
 * longer in the state that the last command set (`left`); DPDK resets it from either state.
 */
int devx_check_transition(struct devx_cmd *c, unsigned int named, unsigned int left,
			  unsigned int from, unsigned int to)
{
	bool fine = to == from || to == IFC_WQ_RST || (from == IFC_WQ_RST && to == IFC_WQ_RDY) ||
		    (to == IFC_WQ_ERR);

	if (named != from && named != left)
		return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				   "queue 0x%x is in state %u, not in %u", c->obj->number, from,
				   named);
	if (!fine || (to != IFC_WQ_RST && to != IFC_WQ_RDY && to != IFC_WQ_ERR))
		return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				   "a queue does not go from state %u to %u", from, to);
	return 0;
}

/* The present state and indexes. */
static unsigned int rq_state(const struct mlx5dv_devx_obj *obj, uint32_t *taken)
{
	*taken = 0;
	if (!obj->wq)
		return ifc_get(obj->image, rqc, state);
	switch (hca_wq_progress(obj->wq, taken)) {
	case HCA_WQS_RDY:
		return IFC_WQ_RDY;
	case HCA_WQS_ERR:
		return IFC_WQ_ERR;
	default:
		return IFC_WQ_RST;
	}
}

static int change_rq_state(struct hca_wq *wq, unsigned int state)
{
	if (state == IFC_WQ_RDY)
		return hca_wq_modify(wq, HCA_WQS_RDY);
	return hca_wq_modify(wq, state == IFC_WQ_ERR ? HCA_WQS_ERR : HCA_WQS_RESET);
}

int devx_modify_rq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_rq_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_rq_in, modify_bitmask);
	uint8_t *image = c->obj->image;
	struct hca_counters *set = NULL;
	uint32_t taken;
	int err = devx_check_transition(c, ifc_get(c->in, modify_rq_in, rq_state),
					ifc_get(image, rqc, state), rq_state(c->obj, &taken),
					ifc_get(ctx, rqc, state));

	if (!err && mask & IFC_MODIFY_RQ_COUNTER_SET)
		err = devx_counters_find(c, ifc_get(ctx, rqc, counter_set_id), &set);
	if (!err && c->obj->wq)
		err = devx_refuse_errno(c, change_rq_state(c->obj->wq, ifc_get(ctx, rqc, state)),
					DEVX_WHY_STATE);
	if (err)
		return err;
	ifc_set(image, rqc, state, ifc_get(ctx, rqc, state));
	if (mask & IFC_MODIFY_RQ_VSD) {
		ifc_set(image, rqc, vsd, ifc_get(ctx, rqc, vsd));
		if (c->obj->wq)
			hca_wq_set_vlan_stripping(c->obj->wq, !ifc_get(ctx, rqc, vsd));
	}
	if (mask & IFC_MODIFY_RQ_SCATTER_FCS)
		ifc_set(image, rqc, scatter_fcs, ifc_get(ctx, rqc, scatter_fcs));
	if (mask & IFC_MODIFY_RQ_COUNTER_SET) {
		ifc_set(image, rqc, counter_set_id, ifc_get(ctx, rqc, counter_set_id));
		if (c->obj->wq)
			hca_wq_set_counters(c->obj->wq, set);
	}
	if (mask & IFC_MODIFY_RQ_LWM)
		ifc_set(ifc_ptr(image, rqc, wq), wq, lwm, ifc_get(ifc_cptr(ctx, rqc, wq), wq, lwm));
	return 0;
}

int devx_query_rq(struct devx_cmd *c)
{
	uint8_t *ctx = ifc_ptr(c->out, query_rq_out, rq_context), *wq = ifc_ptr(ctx, rqc, wq);
	const struct hca_wq *queue = c->obj->wq;
	uint32_t taken;

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(ctx, rqc, state, rq_state(c->obj, &taken));
	if (queue && !queue->srq && ifc_get(ctx, rqc, state) != IFC_WQ_RST) {
		ifc_set(wq, wq, hw_counter, taken & UINT16_MAX);
		ifc_set(wq, wq, sw_counter, queue->format->rq_producer(&queue->ring));
	}
	return 0;
}

int devx_query_tir(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_tir_out, tir_context), c->obj->image, c->obj->image_len);
	return 0;
}

/* ---- tables of receive queues ---- */

/* NULL: no such queue, or (with *rq set) one over an RMP, which frames cannot reach. */
static struct hca_wq *find_queue(struct devx *devx, uint32_t rqn, struct mlx5dv_devx_obj **rq)
{
	*rq = devx_find(devx, DEVX_RQ, rqn);
	return *rq ? (*rq)->wq : mlx5_wq_find(devx->ctx, rqn);
}

static int check_list(struct devx_cmd *c, const void *ctx, size_t given, uint32_t max)
{
	uint32_t count = ifc_get(ctx, rqtc, rqt_actual_size);
	struct mlx5dv_devx_obj *rq;

	if (!count || count > max || given < count * 4ull)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%u queues of at most %u, in %zu bytes", count, max, given);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t rqn = ifc_get_at(ctx, rqtc, rq_num, i) & 0xffffff;

		if (!find_queue(c->devx, rqn, &rq) && !rq)
			return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
					   "receive queue 0x%x (entry %u) does not exist", rqn, i);
	}
	return 0;
}

static void use_list(struct devx_cmd *c, int by)
{
	const uint8_t *ctx = c->obj->image;
	/* A verbs indirection table's references are the adapter's only. */
	uint32_t count = c->obj->stand_in ? 0 : ifc_get(ctx, rqtc, rqt_actual_size);

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

static uint8_t log_up(uint32_t count)
{
	return count > 1 ? 32 - __builtin_clz(count - 1) : 0;
}

/*
 * The adapter's table is as long as the longest list that MODIFY_RQT may set; a shorter list is
 * repeated. There is none when frames cannot reach a queue of the list.
 */
static int fill_table(struct devx_cmd *c, const void *ctx, uint32_t max)
{
	uint32_t count = ifc_get(ctx, rqtc, rqt_actual_size), size = 1u << log_up(max);
	struct hca_wq **wqs = calloc(size, sizeof(*wqs));
	struct mlx5dv_devx_obj *rq;
	int err = 0;

	if (!wqs)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	for (uint32_t i = 0; i < size; i++) {
		wqs[i] = find_queue(c->devx, ifc_get_at(ctx, rqtc, rq_num, i % count) & 0xffffff,
				    &rq);
		if (!wqs[i])
			goto free_wqs;
	}
	err = c->obj->ind_table ? hca_ind_table_modify(c->obj->ind_table, wqs)
				: hca_ind_table_create(wqs, log_up(max), &c->obj->ind_table);
	err = devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
free_wqs:
	free(wqs);
	return err;
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
		err = fill_table(c, ctx, max);
	if (!err)
		err = devx_wq_number(c);
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
	if (!err && c->obj->ind_table)
		err = fill_table(c, ctx, max);
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

/* Transport domain 0 always exists. */
static int need_td(struct devx_cmd *c, uint32_t td)
{
	return td ? devx_need(c, DEVX_TD, td, "transport domain") : 0;
}

static uint32_t hash_fields(const void *tirc)
{
	const void *inner = ifc_cptr(tirc, tirc, rx_hash_field_selector_inner);
	const void *outer = ifc_cptr(tirc, tirc, rx_hash_field_selector_outer);
	const void *use = ifc_get(inner, rx_hash_field_select, selected_fields) ? inner : outer;
	uint32_t selected = ifc_get(use, rx_hash_field_select, selected_fields);
	bool v6 = ifc_get(use, rx_hash_field_select, l3_prot_type) == IFC_L3_IPV6;
	bool udp = ifc_get(use, rx_hash_field_select, l4_prot_type) == IFC_L4_UDP;
	uint32_t fields = use == inner ? ETHER_RSS_INNER : 0;

	if (ifc_get(tirc, tirc, rx_hash_fn) != IFC_RX_HASH_TOEPLITZ)
		return 0;
	if (selected & IFC_HASH_SRC_IP)
		fields |= v6 ? ETHER_RSS_SRC_IPV6 : ETHER_RSS_SRC_IPV4;
	if (selected & IFC_HASH_DST_IP)
		fields |= v6 ? ETHER_RSS_DST_IPV6 : ETHER_RSS_DST_IPV4;
	if (selected & IFC_HASH_L4_SPORT)
		fields |= udp ? ETHER_RSS_SRC_PORT_UDP : ETHER_RSS_SRC_PORT_TCP;
	if (selected & IFC_HASH_L4_DPORT)
		fields |= udp ? ETHER_RSS_DST_PORT_UDP : ETHER_RSS_DST_PORT_TCP;
	if (selected & IFC_HASH_IPSEC_SPI)
		fields |= ETHER_RSS_IPSEC_SPI;
	return fields;
}

/* Despite the name self_lb_block, its bits permit the function's own frames. */
static void set_loopback(struct hca_rss *rss, unsigned int bits)
{
	rss->self_lb = (bits & IFC_SELF_LB_UC ? HCA_SELF_LB_UNICAST : 0) |
		       (bits & IFC_SELF_LB_MC ? HCA_SELF_LB_MULTICAST : 0);
}

/* The destination of rules: a hash over a table, of one queue if need be. */
static int make_tir(struct devx_cmd *c, const void *ctx, struct hca_wq *wq,
		    struct hca_ind_table *table)
{
	int err;

	if (wq) {
		err = hca_ind_table_create(&wq, 0, &c->obj->own_table);
		if (err)
			return devx_refuse_errno(c, err, DEVX_WHY_MEMORY);
		table = c->obj->own_table;
	}
	if (!table)
		return 0;
	err = hca_rss_create(&c->devx->ctx->vb->hca, table, wq ? 0 : hash_fields(ctx),
			     ifc_cptr(ctx, tirc, rx_hash_toeplitz_key), &c->obj->rss);
	if (err) {
		if (c->obj->own_table)
			hca_ind_table_destroy(c->obj->own_table);
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	}
	set_loopback(c->obj->rss, ifc_get(ctx, tirc, self_lb_block));
	return 0;
}

int devx_tir_destroy(struct mlx5dv_devx_obj *obj)
{
	int err = hca_rss_destroy(obj->rss);

	if (!err && obj->own_table)
		hca_ind_table_destroy(obj->own_table);
	return err;
}

static int create_direct(struct devx_cmd *c, const void *ctx)
{
	uint32_t rqn = ifc_get(ctx, tirc, inline_rqn);
	struct mlx5dv_devx_obj *rq;
	struct hca_wq *wq = find_queue(c->devx, rqn, &rq);

	if (!wq && !rq)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "receive queue 0x%x does not exist", rqn);
	if (rq)
		devx_use(c->obj, rq);
	return make_tir(c, ctx, wq, NULL);
}

static int create_indirect(struct devx_cmd *c, const void *ctx)
{
	uint32_t number = ifc_get(ctx, tirc, indirect_table);
	int err = devx_need(c, DEVX_RQT, number, "RQT");

	if (err)
		return err;
	return make_tir(c, ctx, NULL, devx_find(c->devx, DEVX_RQT, number)->ind_table);
}

int devx_create_tir(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_tir_in, ctx);
	int err = need_td(c, ifc_get(ctx, tirc, transport_domain));

	if (!err)
		err = devx_keep(c, ctx, ifc_len(tirc));
	if (err)
		return err;
	err = ifc_get(ctx, tirc, disp_type) == IFC_TIR_DIRECT ? create_direct(c, ctx)
							      : create_indirect(c, ctx);
	return err ? err : devx_wq_number(c);
}

static int move_tir(struct devx_cmd *c, uint32_t id)
{
	struct mlx5dv_devx_obj *rqt = devx_find(c->devx, DEVX_RQT, id), **place = c->obj->uses;

	if (!rqt || c->obj->own_table)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "RQT 0x%x does not exist, or the TIR has no table", id);
	if (c->obj->rss && rqt->ind_table)
		hca_rss_set_table(c->obj->rss, rqt->ind_table);
	for (int i = 0; i < DEVX_USES; i++)
		if (c->obj->uses[i] && c->obj->uses[i]->kind == DEVX_RQT) {
			place = &c->obj->uses[i];
			(*place)->users--;
		}
	*place = rqt;
	rqt->users++;
	return 0;
}

int devx_modify_tir(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_tir_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_tir_in, modify_bitmask);
	uint8_t *image = c->obj->image;

	if (mask & IFC_MODIFY_TIR_INDIRECT_TABLE) {
		uint32_t id = ifc_get(ctx, tirc, indirect_table);
		int err = move_tir(c, id);

		if (err)
			return err;
		ifc_set(image, tirc, indirect_table, id);
	}
	if (mask & IFC_MODIFY_TIR_SELF_LB) {
		ifc_set(image, tirc, self_lb_block, ifc_get(ctx, tirc, self_lb_block));
		if (c->obj->rss)
			set_loopback(c->obj->rss, ifc_get(ctx, tirc, self_lb_block));
	}
	if (mask & IFC_MODIFY_TIR_HASH) {
		memcpy(ifc_ptr(image, tirc, rx_hash_toeplitz_key),
		       ifc_cptr(ctx, tirc, rx_hash_toeplitz_key),
		       ifc_size(tirc, rx_hash_toeplitz_key) + 8);
		if (c->obj->rss && !c->obj->own_table)
			hca_rss_set_hash(c->obj->rss, hash_fields(image),
					 ifc_cptr(image, tirc, rx_hash_toeplitz_key));
	}
	return 0;
}

int devx_create_tis(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_tis_in, ctx);
	int err = need_td(c, ifc_get(ctx, tisc, transport_domain));

	if (!err)
		err = devx_keep(c, ctx, ifc_len(tisc));
	return err ? err : devx_wq_number(c);
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
