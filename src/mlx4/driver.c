/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libmlx4's entry: libibverbs calls it to open a ConnectX-3.
 */
#include "driver/cq.h"
#include "mlx4/context.h"
#include "mlx4/cq.h"
#include "mlx4/qp.h"
#include "mlx4/srq.h"
#include "mlx4/wq.h"
#include "verbs/driver.h"

static void query_device(struct vb_context *ctx, struct ibv_device_attr_ex *attr)
{
	attr->orig_attr.device_cap_flags =
		IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR | IBV_DEVICE_CHANGE_PHY_PORT |
		IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_XRC |
		IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->completion_timestamp_mask = 0xffffffffffff;
	attr->hca_core_clock = ctx->adapter->model->core_clock_khz;
	attr->cq_mod_caps.max_cq_count = UINT16_MAX;
	attr->cq_mod_caps.max_cq_period = UINT16_MAX;
	if (ctx->adapter->ports[0].link != HCA_LINK_ETHERNET)
		return;
	attr->orig_attr.device_cap_flags |=
		IBV_DEVICE_MANAGED_FLOW_STEERING | IBV_DEVICE_RAW_IP_CSUM;
	attr->raw_packet_caps = IBV_RAW_PACKET_CAP_SCATTER_FCS | IBV_RAW_PACKET_CAP_IP_CSUM;
	attr->tso_caps.max_tso = 262144;
	attr->tso_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	attr->rss_caps.supported_qpts = 1 << IBV_QPT_RAW_PACKET;
	attr->rss_caps.max_rwq_indirection_tables = 65536;
	attr->rss_caps.max_rwq_indirection_table_size = 1 << MLX4_LOG_IND_TABLE;
	attr->rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
	attr->rss_caps.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
					     IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6 |
					     IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
					     IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
	attr->max_wq_type_rq = ctx->adapter->limits.max_wq;
}

VB_API extern const struct vb_driver verbena_driver;

const struct vb_driver verbena_driver = {
	.abi = VB_DRIVER_ABI,
	.name = "mlx4",
	.log_ind_table = MLX4_LOG_IND_TABLE,
	.context_init = mlx4_context_init,
	.context_fini = mlx4_context_fini,
	.create_cq = mlx4_create_cq,
	.resize_cq = mlx4_resize_cq,
	.destroy_cq = mlx4_destroy_cq,
	.cq_event = drv_cq_event,
	.create_srq = mlx4_create_srq,
	.destroy_srq = mlx4_destroy_srq,
	.create_qp = mlx4_create_qp,
	.destroy_qp = mlx4_destroy_qp,
	.open_qp = mlx4_open_qp,
	.reset_qp = mlx4_reset_qp,
	.create_wq = mlx4_create_wq,
	.destroy_wq = mlx4_destroy_wq,
	.reset_wq = mlx4_reset_wq,
	.init_ah = mlx4_init_ah,
	.query_device = query_device,
};
