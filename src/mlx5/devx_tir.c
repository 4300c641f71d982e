/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_tir.h"

#include <errno.h>
#include <string.h>

#include "hca/raw/rss.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_wq.h"

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
	struct hca_wq *wq = devx_wq_find(c->devx, rqn, &rq);

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

int devx_query_tir(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_tir_out, tir_context), c->obj->image, c->obj->image_len);
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
	/* For queues that are made from now on. */
	if (mask & IFC_MODIFY_TIS_LAG_AFFINITY)
		ifc_set(c->obj->image, tisc, lag_tx_port_affinity,
			ifc_get(ctx, tisc, lag_tx_port_affinity));
	return 0;
}

int devx_query_tis(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_tis_out, tis_context), c->obj->image, c->obj->image_len);
	return 0;
}
