/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversion of addresses, queue pair attributes and path records between the layouts of the kernel and
 * of the API. No system calls.
 */
#include "verbs/public.h"

#include <string.h>

#pragma GCC visibility push(default)
#include <infiniband/marshall.h>
#pragma GCC visibility pop

static struct ibv_global_route route_of(const struct ib_uverbs_global_route *from)
{
	struct ibv_global_route to = {
		.flow_label = from->flow_label,
		.sgid_index = from->sgid_index,
		.hop_limit = from->hop_limit,
		.traffic_class = from->traffic_class,
	};

	memcpy(to.dgid.raw, from->dgid, sizeof(to.dgid.raw));
	return to;
}

static struct ibv_ah_attr address_of(const struct ib_uverbs_ah_attr *from)
{
	return (struct ibv_ah_attr){
		.grh = route_of(&from->grh),
		.is_global = from->is_global,
		.port_num = from->port_num,
		.dlid = from->dlid,
		.sl = from->sl,
		.src_path_bits = from->src_path_bits,
		.static_rate = from->static_rate,
	};
}

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src)
{
	*dst = address_of(src);
}

/* The kernel's record has no rate_limit: dst keeps its own. */
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src)
{
	*dst = (struct ibv_qp_attr){
		.qp_state = src->qp_state,
		.cur_qp_state = src->cur_qp_state,
		.en_sqd_async_notify = src->en_sqd_async_notify,
		.sq_draining = src->sq_draining,
		.qp_access_flags = src->qp_access_flags,
		.qkey = src->qkey,
		.dest_qp_num = src->dest_qp_num,
		.sq_psn = src->sq_psn,
		.rq_psn = src->rq_psn,
		.path_mtu = src->path_mtu,
		.path_mig_state = src->path_mig_state,
		.port_num = src->port_num,
		.pkey_index = src->pkey_index,
		.ah_attr = address_of(&src->ah_attr),
		.alt_port_num = src->alt_port_num,
		.alt_pkey_index = src->alt_pkey_index,
		.alt_ah_attr = address_of(&src->alt_ah_attr),
		.timeout = src->timeout,
		.alt_timeout = src->alt_timeout,
		.retry_cnt = src->retry_cnt,
		.rnr_retry = src->rnr_retry,
		.min_rnr_timer = src->min_rnr_timer,
		.max_rd_atomic = src->max_rd_atomic,
		.max_dest_rd_atomic = src->max_dest_rd_atomic,
		.cap = { .max_send_wr = src->max_send_wr,
			 .max_recv_wr = src->max_recv_wr,
			 .max_send_sge = src->max_send_sge,
			 .max_recv_sge = src->max_recv_sge,
			 .max_inline_data = src->max_inline_data },
		.rate_limit = dst->rate_limit,
	};
}

/* Both layouts of a path record have the same member names. */
#define PATH_MEMBERS(from)                                                                         \
	.dlid = (from)->dlid, .slid = (from)->slid, .raw_traffic = (from)->raw_traffic,            \
	.flow_label = (from)->flow_label, .hop_limit = (from)->hop_limit,                          \
	.traffic_class = (from)->traffic_class, .reversible = (from)->reversible,                  \
	.numb_path = (from)->numb_path, .pkey = (from)->pkey, .sl = (from)->sl,                    \
	.mtu_selector = (from)->mtu_selector, .mtu = (from)->mtu,                                  \
	.rate_selector = (from)->rate_selector, .rate = (from)->rate,                              \
	.packet_life_time_selector = (from)->packet_life_time_selector,                            \
	.packet_life_time = (from)->packet_life_time, .preference = (from)->preference

void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src)
{
	*dst = (struct ibv_sa_path_rec){ PATH_MEMBERS(src) };
	memcpy(dst->dgid.raw, src->dgid, sizeof(src->dgid));
	memcpy(dst->sgid.raw, src->sgid, sizeof(src->sgid));
}

void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src)
{
	*dst = (struct ib_user_path_rec){ PATH_MEMBERS(src) };
	memcpy(dst->dgid, src->dgid.raw, sizeof(dst->dgid));
	memcpy(dst->sgid, src->sgid.raw, sizeof(dst->sgid));
}
