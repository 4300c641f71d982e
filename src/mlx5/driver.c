/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmlx5's entry: libibverbs calls it to open a ConnectX-4 or later.
 */
#include "driver/cq.h"
#include "mlx5/context.h"
#include "mlx5/cq.h"
#include "mlx5/qp.h"
#include "mlx5/srq.h"
#include "mlx5/tag.h"
#include "mlx5/wq.h"
#include "verbs/driver.h"

static void query_odp(struct ibv_device_attr_ex *attr)
{
	const uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			    IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC |
			    IBV_ODP_SUPPORT_SRQ_RECV | IBV_ODP_SUPPORT_FLUSH |
			    IBV_ODP_SUPPORT_ATOMIC_WRITE;

	attr->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps = rc;
	attr->odp_caps.per_transport_caps.ud_odp_caps = IBV_ODP_SUPPORT_SEND;
	attr->xrc_odp_caps = rc;
}

static void query_packets(struct ibv_device_attr_ex *attr, uint32_t max_wq)
{
	attr->raw_packet_caps = IBV_RAW_PACKET_CAP_CVLAN_STRIPPING |
				IBV_RAW_PACKET_CAP_SCATTER_FCS | IBV_RAW_PACKET_CAP_IP_CSUM |
				IBV_RAW_PACKET_CAP_DELAY_DROP;
	attr->tso_caps.max_tso = 262144;
	attr->tso_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	attr->rss_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	attr->rss_caps.max_rwq_indirection_tables = 1048576;
	attr->rss_caps.max_rwq_indirection_table_size = 1 << HCA_IND_LOG_MOST;
	attr->rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
	attr->rss_caps.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
					     IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
					     IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
					     IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP |
					     IBV_RX_HASH_IPSEC_SPI | IBV_RX_HASH_INNER;
	attr->packet_pacing_caps.qp_rate_limit_min = HCA_RATE_LEAST;
	attr->packet_pacing_caps.qp_rate_limit_max = HCA_RATE_MOST;
	attr->packet_pacing_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	attr->max_wq_type_rq = max_wq;
	attr->orig_attr.max_raw_ethy_qp = 0;
}

static void query_device(struct vb_context *ctx, struct ibv_device_attr_ex *attr)
{
	attr->orig_attr.device_cap_flags =
		IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_CHANGE_PHY_PORT |
		IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_XRC |
		IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
		IBV_DEVICE_RAW_IP_CSUM | IBV_DEVICE_MANAGED_FLOW_STEERING;
	attr->device_cap_flags_ex = IBV_DEVICE_RAW_SCATTER_FCS | IBV_DEVICE_PCI_WRITE_END_PADDING |
				    VB_DEVICE_FLUSH_GLOBAL | VB_DEVICE_FLUSH_PERSISTENT |
				    VB_DEVICE_ATOMIC_WRITE;
	attr->completion_timestamp_mask = 0x7fffffffffffffff;
	attr->hca_core_clock = ctx->adapter->model->core_clock_khz;
	attr->cq_mod_caps.max_cq_count = UINT16_MAX;
	attr->cq_mod_caps.max_cq_period = 4095;
	query_odp(attr);
	if (mlx5_has_tags(ctx->adapter->model))
		attr->tm_caps = (struct ibv_tm_caps){ .max_rndv_hdr_size = MLX5_TAG_RNDV_MOST,
						      .max_num_tags = MLX5_TAG_MOST,
						      .flags = IBV_TM_CAP_RC,
						      .max_ops = MLX5_TAG_OPS_MOST,
						      .max_sge = 1 };
	if (ctx->adapter->ports[0].link == HCA_LINK_ETHERNET)
		query_packets(attr, ctx->adapter->limits.max_wq);
}

VB_API extern const struct vb_driver verbena_driver;

const struct vb_driver verbena_driver = {
	.abi = VB_DRIVER_ABI,
	.name = "mlx5",
	.all_flows = true,
	.log_ind_table = HCA_IND_LOG_MOST,
	.context_init = mlx5_context_init,
	.context_fini = mlx5_context_fini,
	.create_cq = mlx5_create_cq,
	.resize_cq = mlx5_resize_cq,
	.destroy_cq = mlx5_destroy_cq,
	.cq_event = drv_cq_event,
	.create_srq = mlx5_create_srq,
	.destroy_srq = mlx5_destroy_srq,
	.create_qp = mlx5_create_qp,
	.check_driver_qp = mlx5_check_driver_qp,
	.destroy_qp = mlx5_destroy_qp,
	.open_qp = mlx5_open_qp,
	.reset_qp = mlx5_reset_qp,
	.create_wq = mlx5_create_wq,
	.destroy_wq = mlx5_destroy_wq,
	.reset_wq = mlx5_reset_wq,
	.init_ah = mlx5_init_ah,
	.query_device = query_device,
};
