/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Models of real adapters: ids, firmware, limits. Constant; no lock.
 */
#ifndef HCA_MODEL_H
#define HCA_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

enum hca_link {
	HCA_LINK_INFINIBAND,
	HCA_LINK_ETHERNET,
};

enum hca_driver {
	HCA_DRIVER_MLX5,
	HCA_DRIVER_MLX4,
};

/* Features that only some generations of mlx5 have. */
enum hca_feature {
	HCA_HAS_NO_INLINE = 1 << 0,    /* frames need no header in their send queue entry */
	HCA_HAS_TAG_MATCHING = 1 << 1, /* lists of tags in the adapter */
	HCA_HAS_EDITS = 1 << 2,        /* rules that change headers, tunnels, direct rules */
	HCA_HAS_DC_ODP = 1 << 3,
	HCA_HAS_DC_STREAMS = 1 << 4,
	HCA_HAS_GENEVE_OPTIONS = 1 << 5, /* an option of Geneve that a program names */
	HCA_HAS_ASO = 1 << 6, /* objects that rules update: meters, first hits, connections */
	HCA_HAS_OUT_OF_ORDER = 1 << 7, /* packets are taken in any order (direct data placement) */
	HCA_HAS_NEW_SIGNATURES = 1
				 << 8, /* CRC-32C and CRC-64 of memory keys, blocks of 4048 bytes */
	HCA_HAS_NO_RECORD = 1 << 9,    /* send queues without a doorbell record */
	HCA_HAS_FRAMES = 1 << 10,      /* several frames in a send queue entry (enhanced MPW) */
	HCA_HAS_MEMORY_FAULTS = 1 << 11, /* page faults by memory key, not by queue pair (ODP v2) */
	HCA_HAS_RDMA_CONTROL = 1 << 12,  /* privileged contexts (RDMA_CTRL) */
};

/* Operations of the memory-to-memory engine (MMO). */
enum hca_mmo_kind {
	HCA_MMO_DMA, /* a copy */
	HCA_MMO_DEFLATE,
	HCA_MMO_INFLATE,
	HCA_MMO_UNLZ4,
};

/* Operations that a model has, and the layout of its results. */
enum hca_mmo_can {
	HCA_MMO_CAN_DMA = 1 << HCA_MMO_DMA,
	HCA_MMO_CAN_DEFLATE = 1 << HCA_MMO_DEFLATE,
	HCA_MMO_CAN_INFLATE = 1 << HCA_MMO_INFLATE,
	HCA_MMO_CAN_UNLZ4 = 1 << HCA_MMO_UNLZ4,
	HCA_MMO_RESULTS_2 = 1 << 7, /* layout of BlueField-3 */
};

/*
 * The longest operations. A request is executed by one call, under the queue pair's lock: these
 * take some milliseconds.
 */
#define HCA_MMO_LOG_DMA   24
#define HCA_MMO_LOG_CODEC 21

/*
 * AES-XTS by memory keys: how BSFs have the tweak, and whether drivers let a key have more than one
 * data unit. The first engines have it little endian, as IEEE 1619 does.
 */
enum hca_crypto_engine {
	HCA_CRYPTO_NONE,
	HCA_CRYPTO_SINGLE_LE,
	HCA_CRYPTO_MULTI_BE,
};

/*
 * Limits that a configuration may lower. All 64 bits wide, so that one table of names and offsets
 * serves the parser.
 */
struct hca_limits {
	uint64_t max_mr_size;
	uint64_t max_qp;
	uint64_t max_qp_wr;
	uint64_t max_sge;
	uint64_t max_sge_rd;
	uint64_t max_cq;
	uint64_t max_cqe;
	uint64_t max_mr;
	uint64_t max_pd;
	uint64_t max_qp_rd_atom;
	uint64_t max_res_rd_atom;
	uint64_t max_qp_init_rd_atom;
	uint64_t max_mw;
	uint64_t max_mcast_grp;
	uint64_t max_mcast_qp_attach;
	uint64_t max_total_mcast_qp_attach;
	uint64_t max_ah;
	uint64_t max_srq;
	uint64_t max_srq_wr;
	uint64_t max_srq_sge;
	uint64_t max_wq;
	uint64_t max_pkeys;
	uint64_t max_inline;
	uint64_t max_dm_size;
	uint64_t max_msg_size;
	uint64_t gid_table_len;
	uint64_t pkey_table_len;
	uint64_t comp_vectors;
};

struct hca_model {
	const char *name;     /* as the configuration spells it */
	const char *hca_type; /* as sysfs spells it */
	const char *board_id;
	const char *fw_ver;
	enum hca_driver driver;
	enum hca_link link; /* when the configuration does not say */
	uint16_t pci_device;
	uint32_t hw_ver;
	uint32_t guid_oui;     /* top 24 bits of a GUID */
	uint16_t active_speed; /* enum of the port attributes, per lane */
	uint8_t lanes;         /* of a link: 2 or 4 */
	uint32_t lane_mbps;
	uint8_t ack_delay;
	uint32_t core_clock_khz;
	uint32_t features; /* enum hca_feature */
	enum hca_crypto_engine crypto;
	uint8_t mmo; /* enum hca_mmo_can */
	struct hca_limits limits;
};

static inline bool hca_model_has(const struct hca_model *model, enum hca_feature feature)
{
	return model->features & feature;
}

#define HCA_VENDOR_ID     0x02c9
#define HCA_PCI_VENDOR_ID 0x15b3

/* By name, without regard to case; NULL when there is none. */
VB_API const struct hca_model *hca_model_find(const char *name);
/* For messages: "ConnectX-3, ConnectX-6, ...". */
VB_API const char *hca_model_names(void);

/* The limit of this name inside l, NULL when there is none. */
uint64_t *hca_limit_find(struct hca_limits *l, const char *name);

#endif
