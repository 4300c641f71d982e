/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The models. Ids and limits are those that the real adapters and their kernel drivers report.
 */
#include "hca/device/model.h"

#include <string.h>
#include <strings.h>

/* clang-format off */
#define MLX5_LIMITS(dm)                                                                            \
	{                                                                                          \
		.max_mr_size = UINT64_MAX, .max_qp = 131072, .max_qp_wr = 32768, .max_sge = 30,    \
		.max_sge_rd = 30, .max_cq = 16777216, .max_cqe = 4194303, .max_mr = 16777216,      \
		.max_pd = 8388608, .max_qp_rd_atom = 16, .max_res_rd_atom = 2097152,               \
		.max_qp_init_rd_atom = 16, .max_mw = 16777216, .max_mcast_grp = 2097152,           \
		.max_mcast_qp_attach = 240, .max_total_mcast_qp_attach = 503316480,                \
		.max_ah = 2147483647, .max_srq = 8388608, .max_srq_wr = 32767, .max_srq_sge = 31,  \
		.max_wq = 8388608, .max_pkeys = 128, .max_inline = 828, .max_dm_size = dm,      \
		.max_msg_size = 1ull << 30, .gid_table_len = 255, .pkey_table_len = 1,             \
		.comp_vectors = 8,                                                                 \
	}

#define MLX4_LIMITS                                                                                \
	{                                                                                          \
		.max_mr_size = UINT64_MAX, .max_qp = 392632, .max_qp_wr = 16351, .max_sge = 32,    \
		.max_sge_rd = 30, .max_cq = 65408, .max_cqe = 4194303, .max_mr = 524032,           \
		.max_pd = 32764, .max_qp_rd_atom = 16, .max_res_rd_atom = 6282112,                 \
		.max_qp_init_rd_atom = 128, .max_mw = 524032, .max_mcast_grp = 8192,               \
		.max_mcast_qp_attach = 248, .max_total_mcast_qp_attach = 2031616,                  \
		.max_ah = 2147483647, .max_srq = 65472, .max_srq_wr = 16383, .max_srq_sge = 31,    \
		.max_wq = 392632, .max_pkeys = 128, .max_inline = 900, .max_dm_size = 0,                             \
		.max_msg_size = 1ull << 30, .gid_table_len = 128, .pkey_table_len = 128,           \
		.comp_vectors = 4,                                                                 \
	}

/*
 * Features by generation. Device memory, tag matching, rules that edit frames, several frames in a send
 * queue entry and DC on pages by demand came with ConnectX-5; objects that rules update with ConnectX-6 Dx. The first adapters with
 * streams of DC, options of Geneve, placement out of order, send queues without a doorbell record, page faults
 * by memory key and privileged contexts are not published; the models here are those that drivers or libraries were announced with.
 */
#define CONNECTX_4 0
#define CONNECTX_5                                                                                 \
	(HCA_HAS_NO_INLINE | HCA_HAS_TAG_MATCHING | HCA_HAS_EDITS | HCA_HAS_DC_ODP | HCA_HAS_FRAMES)
#define CONNECTX_6    (CONNECTX_5 | HCA_HAS_DC_STREAMS | HCA_HAS_NEW_SIGNATURES)
#define CONNECTX_6_DX (CONNECTX_6 | HCA_HAS_GENEVE_OPTIONS | HCA_HAS_ASO)
#define CONNECTX_7                                                                                 \
	(CONNECTX_6_DX | HCA_HAS_OUT_OF_ORDER | HCA_HAS_NO_RECORD | HCA_HAS_MEMORY_FAULTS |        \
	 HCA_HAS_RDMA_CONTROL)

#define DM 131072 /* bytes of device memory */

/* Speeds: bits of the port attributes' active_speed; FDR 16, EDR 32, HDR 64, NDR 128, XDR 256. */
static const struct hca_model models[] = {
	{ .name = "ConnectX-3", .hca_type = "MT4099", .board_id = "MT_1090120019",
	  .fw_ver = "2.42.5000", .driver = HCA_DRIVER_MLX4, .link = HCA_LINK_INFINIBAND,
	  .pci_device = 0x1003, .hw_ver = 0x1, .guid_oui = 0x0002c9, .active_speed = 16,
	  .lanes = 4, .lane_mbps = 14000, .ack_delay = 15, .core_clock_khz = 427000,
	  .limits = MLX4_LIMITS },
	{ .name = "ConnectX-3-Pro", .hca_type = "MT4103", .board_id = "MT_1090111019",
	  .fw_ver = "2.42.5000", .driver = HCA_DRIVER_MLX4, .link = HCA_LINK_INFINIBAND,
	  .pci_device = 0x1007, .hw_ver = 0x0, .guid_oui = 0x0002c9, .active_speed = 16,
	  .lanes = 4, .lane_mbps = 14000, .ack_delay = 15, .core_clock_khz = 427000,
	  .limits = MLX4_LIMITS },
	{ .name = "ConnectX-4", .hca_type = "MT4115", .board_id = "MT_2180110032",
	  .fw_ver = "12.28.2006", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x1013, .hw_ver = 0x0, .guid_oui = 0xe41d2d, .active_speed = 32,
	  .lanes = 4, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 156250,
	  .features = CONNECTX_4,
	  .limits = MLX5_LIMITS(0) },
	{ .name = "ConnectX-4-Lx", .hca_type = "MT4117", .board_id = "MT_2420110034",
	  .fw_ver = "14.32.1010", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x1015, .hw_ver = 0x0, .guid_oui = 0xec0d9a, .active_speed = 32,
	  .lanes = 2, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 156250,
	  .features = CONNECTX_4,
	  .limits = MLX5_LIMITS(0) },
	{ .name = "ConnectX-5", .hca_type = "MT4119", .board_id = "MT_0000000008",
	  .fw_ver = "16.35.3006", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x1017, .hw_ver = 0x0, .guid_oui = 0x506b4b, .active_speed = 32,
	  .lanes = 4, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 78125,
	  .features = CONNECTX_5,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "ConnectX-5-Ex", .hca_type = "MT4121", .board_id = "MT_0000000009",
	  .fw_ver = "16.35.3006", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x1019, .hw_ver = 0x0, .guid_oui = 0x98039b, .active_speed = 32,
	  .lanes = 4, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 78125,
	  .features = CONNECTX_5,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "ConnectX-6", .hca_type = "MT4123", .board_id = "MT_0000000224",
	  .fw_ver = "20.43.1014", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x101b, .hw_ver = 0x0, .guid_oui = 0xb8599f, .active_speed = 64,
	  .lanes = 4, .lane_mbps = 50000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_6, .crypto = HCA_CRYPTO_SINGLE_LE,
	  .mmo = HCA_MMO_CAN_DMA,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "ConnectX-6-Dx", .hca_type = "MT4125", .board_id = "MT_0000000359",
	  .fw_ver = "22.43.1014", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x101d, .hw_ver = 0x0, .guid_oui = 0x0c42a1, .active_speed = 32,
	  .lanes = 4, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_6_DX, .crypto = HCA_CRYPTO_MULTI_BE,
	  .mmo = HCA_MMO_CAN_DMA,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "ConnectX-6-Lx", .hca_type = "MT4127", .board_id = "MT_0000000531",
	  .fw_ver = "26.43.1014", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x101f, .hw_ver = 0x0, .guid_oui = 0xe8ebd3, .active_speed = 32,
	  .lanes = 2, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_6_DX,
	  .mmo = HCA_MMO_CAN_DMA,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "ConnectX-7", .hca_type = "MT4129", .board_id = "MT_0000000838",
	  .fw_ver = "28.43.1014", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x1021, .hw_ver = 0x0, .guid_oui = 0xa088c2, .active_speed = 128,
	  .lanes = 4, .lane_mbps = 100000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_7, .crypto = HCA_CRYPTO_MULTI_BE,
	  .mmo = HCA_MMO_CAN_DMA,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "ConnectX-8", .hca_type = "MT4131", .board_id = "MT_0000001222",
	  .fw_ver = "40.45.1200", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0x1023, .hw_ver = 0x0, .guid_oui = 0x5c2573, .active_speed = 256,
	  .lanes = 4, .lane_mbps = 200000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_7, .crypto = HCA_CRYPTO_MULTI_BE,
	  .mmo = HCA_MMO_CAN_DMA,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "BlueField-2", .hca_type = "MT41686", .board_id = "MT_0000000704",
	  .fw_ver = "24.43.1014", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0xa2d6, .hw_ver = 0x0, .guid_oui = 0x08c0eb, .active_speed = 32,
	  .lanes = 4, .lane_mbps = 25000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_6_DX, .crypto = HCA_CRYPTO_MULTI_BE,
	  .mmo = HCA_MMO_CAN_DMA | HCA_MMO_CAN_DEFLATE | HCA_MMO_CAN_INFLATE,
	  .limits = MLX5_LIMITS(DM) },
	{ .name = "BlueField-3", .hca_type = "MT41692", .board_id = "MT_0000000884",
	  .fw_ver = "32.43.1014", .driver = HCA_DRIVER_MLX5, .link = HCA_LINK_ETHERNET,
	  .pci_device = 0xa2dc, .hw_ver = 0x0, .guid_oui = 0xa088c2, .active_speed = 128,
	  .lanes = 4, .lane_mbps = 100000, .ack_delay = 16, .core_clock_khz = 1000000,
	  .features = CONNECTX_7, .crypto = HCA_CRYPTO_MULTI_BE,
	  .mmo = HCA_MMO_CAN_DMA | HCA_MMO_CAN_INFLATE | HCA_MMO_CAN_UNLZ4 | HCA_MMO_RESULTS_2,
	  .limits = MLX5_LIMITS(DM) },
};
/* clang-format on */

const struct hca_model *hca_model_find(const char *name)
{
	for (size_t i = 0; i < array_size(models); i++)
		if (!strcasecmp(models[i].name, name))
			return &models[i];
	return NULL;
}

const char *hca_model_names(void)
{
	return "ConnectX-3, ConnectX-3-Pro, ConnectX-4, ConnectX-4-Lx, ConnectX-5, ConnectX-5-Ex, "
	       "ConnectX-6, ConnectX-6-Dx, ConnectX-6-Lx, ConnectX-7, ConnectX-8, BlueField-2, "
	       "BlueField-3";
}

#define LIMIT(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct hca_limits, field)                                         \
	}

static const struct {
	const char *name;
	size_t offset;
} limit_names[] = {
	LIMIT(max_mr_size),
	LIMIT(max_qp),
	LIMIT(max_qp_wr),
	LIMIT(max_sge),
	LIMIT(max_sge_rd),
	LIMIT(max_cq),
	LIMIT(max_cqe),
	LIMIT(max_mr),
	LIMIT(max_pd),
	LIMIT(max_qp_rd_atom),
	LIMIT(max_res_rd_atom),
	LIMIT(max_qp_init_rd_atom),
	LIMIT(max_mw),
	LIMIT(max_mcast_grp),
	LIMIT(max_mcast_qp_attach),
	LIMIT(max_total_mcast_qp_attach),
	LIMIT(max_ah),
	LIMIT(max_srq),
	LIMIT(max_srq_wr),
	LIMIT(max_srq_sge),
	LIMIT(max_wq),
	LIMIT(max_pkeys),
	LIMIT(max_inline),
	LIMIT(max_dm_size),
	LIMIT(max_msg_size),
	LIMIT(gid_table_len),
	LIMIT(pkey_table_len),
	LIMIT(comp_vectors),
};

_Static_assert(array_size(limit_names) * sizeof(uint64_t) == sizeof(struct hca_limits),
	       "every limit has a name");

uint64_t *hca_limit_find(struct hca_limits *l, const char *name)
{
	for (size_t i = 0; i < array_size(limit_names); i++)
		if (!strcmp(limit_names[i].name, name))
			return (uint64_t *)((char *)l + limit_names[i].offset);
	return NULL;
}
