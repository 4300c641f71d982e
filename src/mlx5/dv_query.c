/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs that query and set properties of contexts.
 */
#include <errno.h>

#include "mlx5/clock.h"
#include "mlx5/cqe_comp.h"
#include "mlx5/dv.h"
#include "mlx5/dv_crypto.h"
#include "mlx5/objects.h"
#include "mlx5/qp.h"
#include "mlx5/sig.h"
#include "mlx5/wq.h"
#include "util/explain.h"

/* A clock reading does not expire: every call takes a new one. */
#define CLOCK_UPDATE_NS 1000000000ull

/* Fields whose value is 0 or none. */
#define ANSWERED_BY_ZERO                                                                           \
	(MLX5DV_CONTEXT_MASK_SWP | MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS |                           \
	 MLX5DV_CONTEXT_MASK_DYN_BFREGS | MLX5DV_CONTEXT_MASK_FLOW_ACTION_FLAGS)

/* Only members that comp_mask names are there: older programs have a shorter struct. */
static void fill_zeros(struct mlx5dv_context *out, uint64_t wanted)
{
	if (wanted & MLX5DV_CONTEXT_MASK_SWP)
		out->sw_parsing_caps = (struct mlx5dv_sw_parsing_caps){ 0 };
	if (wanted & MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS)
		out->tunnel_offloads_caps = 0;
	if (wanted & MLX5DV_CONTEXT_MASK_DYN_BFREGS)
		out->max_dynamic_bfregs = 0;
	if (wanted & MLX5DV_CONTEXT_MASK_FLOW_ACTION_FLAGS)
		out->flow_action_flags = 0;
}

#define ANSWERED_OF_DC                                                                             \
	(MLX5DV_CONTEXT_MASK_DC_ODP_CAPS | MLX5DV_CONTEXT_MASK_DCI_STREAMS |                       \
	 MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM)

static void fill_dc(const struct hca_adapter *adapter, struct mlx5dv_context *out, uint64_t wanted)
{
	const uint32_t odp = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
			     IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	uint8_t streams = hca_model_has(adapter->model, HCA_HAS_DC_STREAMS) ? MLX5_LOG_STREAMS : 0;

	if (wanted & MLX5DV_CONTEXT_MASK_DC_ODP_CAPS)
		out->dc_odp_caps = hca_model_has(adapter->model, HCA_HAS_DC_ODP) ? odp : 0;
	if (wanted & MLX5DV_CONTEXT_MASK_DCI_STREAMS)
		out->dci_streams_caps = (struct mlx5dv_dci_streams_caps){ streams, streams };
	if (wanted & MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM) {
		out->max_dc_rd_atom = adapter->limits.max_qp_rd_atom;
		out->max_dc_init_rd_atom = adapter->limits.max_qp_init_rd_atom;
	}
}

static void fill_out_of_order(const struct hca_adapter *adapter,
			      struct mlx5dv_ooo_recv_wrs_caps *out)
{
	out->max_rc = mlx5_out_of_order_most(adapter, IBV_QPT_RC);
	out->max_xrc = mlx5_out_of_order_most(adapter, IBV_QPT_XRC_RECV);
	out->max_dct = mlx5_out_of_order_most(adapter, IBV_QPT_DRIVER);
	out->max_ud = mlx5_out_of_order_most(adapter, IBV_QPT_UD);
	out->max_uc = mlx5_out_of_order_most(adapter, IBV_QPT_UC);
}

static void fill_striding(const struct mlx5_context *ctx, struct mlx5dv_striding_rq_caps *out)
{
	*out = (struct mlx5dv_striding_rq_caps){ 0 };
	if (!ctx->ethernet)
		return;
	out->min_single_stride_log_num_of_bytes = MLX5_STRIDE_LOG_LEAST;
	out->max_single_stride_log_num_of_bytes = MLX5_STRIDE_LOG_MOST;
	out->min_single_wqe_log_num_of_strides = MLX5_STRIDES_LOG_LEAST;
	out->max_single_wqe_log_num_of_strides = MLX5_STRIDES_LOG_MOST;
	out->supported_qpts = 1 << IBV_QPT_RAW_PACKET;
}

int mlx5dv_query_device(struct ibv_context *context, struct mlx5dv_context *out)
{
	const struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	uint64_t wanted, filled;

	if (!ctx)
		return errno;
	wanted = out->comp_mask;
	filled = wanted & ANSWERED_BY_ZERO;
	fill_zeros(out, filled);
	fill_dc(ctx->vb->adapter, out, wanted);
	filled |= wanted & ANSWERED_OF_DC;
	out->version = 0;
	out->flags = MLX5DV_CONTEXT_FLAGS_CQE_V1 | MLX5DV_CONTEXT_FLAGS_BLUEFLAME |
		     MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD | MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP;
	if (ctx->ethernet && hca_model_has(ctx->vb->adapter->model, HCA_HAS_FRAMES))
		out->flags |= MLX5DV_CONTEXT_FLAGS_MPW_ALLOWED | MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW;
	if (wanted & MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD) {
		mlx5_sig_caps(ctx->vb->adapter, &out->sig_caps);
		filled |= MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_STRIDING_RQ) {
		fill_striding(ctx, &out->striding_rq_caps);
		filled |= MLX5DV_CONTEXT_MASK_STRIDING_RQ;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD) {
		out->crypto_caps = mlx5_crypto_caps(ctx->vb->adapter);
		filled |= MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE) {
		out->max_clock_info_update_nsec = CLOCK_UPDATE_NS;
		filled |= MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH) {
		out->max_wr_memcpy_length =
			ctx->vb->adapter->model->mmo & HCA_MMO_CAN_DMA ? 1ul << HCA_MMO_LOG_DMA : 0;
		filled |= MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) {
		out->num_lag_ports = ctx->vb->adapter->lag_count ? ctx->vb->adapter->lag_count : 1;
		filled |= MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_CQE_COMPRESION) {
		out->cqe_comp_caps = (struct mlx5dv_cqe_comp_caps){
			.max_num = MLX5_COMP_MOST,
			.supported_format = MLX5DV_CQE_RES_FORMAT_HASH |
					    MLX5DV_CQE_RES_FORMAT_CSUM |
					    MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX,
		};
		filled |= MLX5DV_CONTEXT_MASK_CQE_COMPRESION;
	}
	if (wanted & MLX5DV_CONTEXT_MASK_OOO_RECV_WRS &&
	    hca_model_has(ctx->vb->adapter->model, HCA_HAS_OUT_OF_ORDER)) {
		fill_out_of_order(ctx->vb->adapter, &out->ooo_recv_wrs_caps);
		filled |= MLX5DV_CONTEXT_MASK_OOO_RECV_WRS;
	}
	out->comp_mask = filled;
	return 0;
}

int mlx5dv_get_clock_info(struct ibv_context *context, struct mlx5dv_clock_info *out)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);

	if (!ctx)
		return errno;
	mlx5_clock_read(ctx->vb->adapter, out);
	return 0;
}

int mlx5dv_set_context_attr(struct ibv_context *context, enum mlx5dv_set_ctx_attr_type type,
			    void *attr)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	const struct mlx5dv_ctx_allocators *from = attr;

	if (!ctx)
		return errno;
	if (type != MLX5DV_CTX_ATTR_BUF_ALLOCATORS)
		return -explain(ENOTSUP, "mlx5dv_set_context_attr: type %d; %d is known", type,
				MLX5DV_CTX_ATTR_BUF_ALLOCATORS);
	ctx->memory.allocators = (struct vb_allocators){ 0 };
	/* One of the two alone removes both. */
	if (from->alloc && from->free)
		ctx->memory.allocators =
			(struct vb_allocators){ from->alloc, from->free, from->data };
	return 0;
}
