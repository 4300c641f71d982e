/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5 direct verbs: what a ConnectX-4 or later offers beyond verbs. This file has devices, queues
 * and memory; the headers it includes have ring formats, memory keys, steering and DEVX.
 *
 * The usual shape of an attribute struct: comp_mask tells which of the later members count, and
 * a comment beside an integer names the enum its bits come from.
 */
#ifndef _MLX5DV_H_
#define _MLX5DV_H_

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/types.h>
#include <sys/types.h>

#include <infiniband/verbs.h>
#include <infiniband/tm_types.h>
#include <infiniband/mlx5_api.h>
#include <infiniband/mlx5dv_rings.h>
#include <infiniband/mlx5dv_mkey.h>
#include <infiniband/mlx5dv_flow.h>
#include <infiniband/mlx5dv_devx.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an allocator of a parent domain is asked for. */
#define MLX5DV_RES_TYPE_QP  ((uint64_t)RDMA_DRIVER_MLX5 << 32 | 1)
#define MLX5DV_RES_TYPE_RWQ ((uint64_t)RDMA_DRIVER_MLX5 << 32 | 2)
#define MLX5DV_RES_TYPE_DBR ((uint64_t)RDMA_DRIVER_MLX5 << 32 | 3)
#define MLX5DV_RES_TYPE_SRQ ((uint64_t)RDMA_DRIVER_MLX5 << 32 | 4)
#define MLX5DV_RES_TYPE_CQ  ((uint64_t)RDMA_DRIVER_MLX5 << 32 | 5)

/* Device query */

enum mlx5dv_context_comp_mask {
	MLX5DV_CONTEXT_MASK_CQE_COMPRESION = 1 << 0,
	MLX5DV_CONTEXT_MASK_SWP = 1 << 1,
	MLX5DV_CONTEXT_MASK_STRIDING_RQ = 1 << 2,
	MLX5DV_CONTEXT_MASK_TUNNEL_OFFLOADS = 1 << 3,
	MLX5DV_CONTEXT_MASK_DYN_BFREGS = 1 << 4,
	MLX5DV_CONTEXT_MASK_CLOCK_INFO_UPDATE = 1 << 5,
	MLX5DV_CONTEXT_MASK_FLOW_ACTION_FLAGS = 1 << 6,
	MLX5DV_CONTEXT_MASK_DC_ODP_CAPS = 1 << 7,
	MLX5DV_CONTEXT_MASK_HCA_CORE_CLOCK = 1 << 8,
	MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS = 1 << 9,
	MLX5DV_CONTEXT_MASK_SIGNATURE_OFFLOAD = 1 << 10,
	MLX5DV_CONTEXT_MASK_DCI_STREAMS = 1 << 11,
	MLX5DV_CONTEXT_MASK_WR_MEMCPY_LENGTH = 1 << 12,
	MLX5DV_CONTEXT_MASK_CRYPTO_OFFLOAD = 1 << 13,
	MLX5DV_CONTEXT_MASK_MAX_DC_RD_ATOM = 1 << 14,
	MLX5DV_CONTEXT_MASK_REG_C0 = 1 << 15,
	MLX5DV_CONTEXT_MASK_OOO_RECV_WRS = 1 << 16,
};

enum mlx5dv_context_flags {
	MLX5DV_CONTEXT_FLAGS_CQE_V1 = 1 << 0,
	MLX5DV_CONTEXT_FLAGS_OBSOLETE = 1 << 1, /* no meaning any more */
	MLX5DV_CONTEXT_FLAGS_MPW_ALLOWED = 1 << 2,
	MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW = 1 << 3,
	MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP = 1 << 4,
	MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD = 1 << 5,
	MLX5DV_CONTEXT_FLAGS_PACKET_BASED_CREDIT_MODE = 1 << 6,
	MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS = 1 << 7,
	MLX5DV_CONTEXT_FLAGS_BLUEFLAME = 1 << 8,
};

enum mlx5dv_cqe_comp_res_format {
	MLX5DV_CQE_RES_FORMAT_HASH = 1 << 0,
	MLX5DV_CQE_RES_FORMAT_CSUM = 1 << 1,
	MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX = 1 << 2,
};

struct mlx5dv_cqe_comp_caps {
	uint32_t max_num;
	uint32_t supported_format; /* mlx5dv_cqe_comp_res_format */
};

enum mlx5dv_sw_parsing_offloads {
	MLX5DV_SW_PARSING = 1 << 0,
	MLX5DV_SW_PARSING_CSUM = 1 << 1,
	MLX5DV_SW_PARSING_LSO = 1 << 2,
};

struct mlx5dv_sw_parsing_caps {
	uint32_t sw_parsing_offloads; /* mlx5dv_sw_parsing_offloads */
	uint32_t supported_qpts;
};

struct mlx5dv_striding_rq_caps {
	uint32_t min_single_stride_log_num_of_bytes;
	uint32_t max_single_stride_log_num_of_bytes;
	uint32_t min_single_wqe_log_num_of_strides;
	uint32_t max_single_wqe_log_num_of_strides;
	uint32_t supported_qpts;
};

struct mlx5dv_dci_streams_caps {
	uint8_t max_log_num_concurent;
	uint8_t max_log_num_errored;
};

enum mlx5dv_tunnel_offloads {
	MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_VXLAN = 1 << 0,
	MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_GRE = 1 << 1,
	MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_GENEVE = 1 << 2,
	MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_CW_MPLS_OVER_GRE = 1 << 3,
	MLX5DV_RAW_PACKET_CAP_TUNNELED_OFFLOAD_CW_MPLS_OVER_UDP = 1 << 4,
};

struct mlx5dv_ooo_recv_wrs_caps {
	uint32_t max_rc;
	uint32_t max_xrc;
	uint32_t max_dct;
	uint32_t max_ud;
	uint32_t max_uc;
};

struct mlx5dv_context {
	uint8_t version;
	uint64_t flags;     /* mlx5dv_context_flags */
	uint64_t comp_mask; /* mlx5dv_context_comp_mask */
	struct mlx5dv_cqe_comp_caps cqe_comp_caps;
	struct mlx5dv_sw_parsing_caps sw_parsing_caps;
	struct mlx5dv_striding_rq_caps striding_rq_caps;
	uint32_t tunnel_offloads_caps; /* mlx5dv_tunnel_offloads */
	uint32_t max_dynamic_bfregs;
	uint64_t max_clock_info_update_nsec;
	uint32_t flow_action_flags; /* mlx5dv_flow_action_cap_flags */
	uint32_t dc_odp_caps;       /* ibv_odp_transport_cap_bits */
	void *hca_core_clock;
	uint8_t num_lag_ports;
	struct mlx5dv_sig_caps sig_caps;
	struct mlx5dv_dci_streams_caps dci_streams_caps;
	size_t max_wr_memcpy_length;
	struct mlx5dv_crypto_caps crypto_caps;
	uint64_t max_dc_rd_atom;
	uint64_t max_dc_init_rd_atom;
	struct mlx5dv_reg reg_c0;
	struct mlx5dv_ooo_recv_wrs_caps ooo_recv_wrs_caps;
};

/* comp_mask goes in as the wish and comes back as what was filled. */
int mlx5dv_query_device(struct ibv_context *ctx_in, struct mlx5dv_context *attrs_out);

int _mlx5dv_query_port(struct ibv_context *context, uint32_t port_num, struct mlx5dv_port *info,
		       size_t info_len);

static inline int mlx5dv_query_port(struct ibv_context *context, uint32_t port_num,
				    struct mlx5dv_port *info)
{
	return _mlx5dv_query_port(context, port_num, info, sizeof(struct mlx5dv_port));
}

/* Devices and contexts */

enum mlx5dv_context_attr_flags {
	MLX5DV_CONTEXT_FLAGS_DEVX = 1 << 0,
};

enum mlx5dv_context_attr_comp_mask {
	MLX5DV_CONTEXT_ATTR_MASK_FD_ARRAY = 1 << 0,
};

struct mlx5dv_context_attr {
	uint32_t flags;     /* mlx5dv_context_attr_flags */
	uint64_t comp_mask; /* mlx5dv_context_attr_comp_mask */
	struct ibv_fd_arr *fds;
};

bool mlx5dv_is_supported(struct ibv_device *device);
struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr);

enum mlx5dv_vfio_context_attr_flags {
	MLX5DV_VFIO_CTX_FLAGS_INIT_LINK_DOWN = 1 << 0,
};

struct mlx5dv_vfio_context_attr {
	const char *pci_name;
	uint32_t flags; /* mlx5dv_vfio_context_attr_flags */
	uint64_t comp_mask;
};

/* A program that drives a device through VFIO polls the fd and lets the library do the rest. */
struct ibv_device **mlx5dv_get_vfio_device_list(struct mlx5dv_vfio_context_attr *attr);
int mlx5dv_vfio_get_events_fd(struct ibv_context *ibctx);
int mlx5dv_vfio_process_events(struct ibv_context *context);

enum mlx5dv_set_ctx_attr_type {
	MLX5DV_CTX_ATTR_BUF_ALLOCATORS = 1,
};

struct mlx5dv_ctx_allocators {
	void *(*alloc)(size_t size, void *priv_data);
	void (*free)(void *ptr, void *priv_data);
	void *data;
};

/* 0, or a positive errno. */
int mlx5dv_set_context_attr(struct ibv_context *context, enum mlx5dv_set_ctx_attr_type type,
			    void *attr);

enum {
	MLX5_MMAP_GET_REGULAR_PAGES_CMD = 0,
	MLX5_MMAP_GET_NC_PAGES_CMD = 3,
};

int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf, size_t buf_len);
int mlx5dv_reserved_qpn_alloc(struct ibv_context *ctx, uint32_t *qpn);
int mlx5dv_reserved_qpn_dealloc(struct ibv_context *ctx, uint32_t qpn);

/* Clock */

struct mlx5dv_clock_info {
	uint64_t nsec;
	uint64_t last_cycles;
	uint64_t frac;
	uint32_t mult;
	uint32_t shift;
	uint64_t mask;
};

/* 0, or a positive errno. */
int mlx5dv_get_clock_info(struct ibv_context *context, struct mlx5dv_clock_info *clock_info);

/*
 * Nanoseconds of a device timestamp. The cycle counter wraps, so a stamp counts as past or
 * future, whichever way round is shorter; clock_info must be fresher than half a lap.
 */
static inline uint64_t mlx5dv_ts_to_ns(struct mlx5dv_clock_info *clock_info,
				       uint64_t device_timestamp)
{
	const struct mlx5dv_clock_info *c = clock_info;
	const uint64_t ahead = (device_timestamp - c->last_cycles) & c->mask;
	const uint64_t behind = (c->last_cycles - device_timestamp) & c->mask;

	if (ahead <= c->mask / 2)
		return c->nsec + ((ahead * c->mult + c->frac) >> c->shift);
	return c->nsec - ((behind * c->mult - c->frac) >> c->shift);
}

/* Completion queues */

enum mlx5dv_cq_init_attr_mask {
	MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE = 1 << 0,
	MLX5DV_CQ_INIT_ATTR_MASK_FLAGS = 1 << 1,
	MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE = 1 << 2,
};

enum mlx5dv_cq_init_attr_flags {
	MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD = 1 << 0,
	MLX5DV_CQ_INIT_ATTR_FLAGS_RESERVED = 1 << 1,
};

struct mlx5dv_cq_init_attr {
	uint64_t comp_mask;          /* mlx5dv_cq_init_attr_mask */
	uint8_t cqe_comp_res_format; /* mlx5dv_cqe_comp_res_format */
	uint32_t flags;              /* mlx5dv_cq_init_attr_flags */
	uint16_t cqe_size;
};

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *cq_attr,
				   struct mlx5dv_cq_init_attr *mlx5_cq_attr);

/* Queue pairs */

enum mlx5dv_qp_create_flags {
	MLX5DV_QP_CREATE_TUNNEL_OFFLOADS = 1 << 0,
	MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC = 1 << 1,
	MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC = 1 << 2,
	MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE = 1 << 3,
	MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE = 1 << 4,
	MLX5DV_QP_CREATE_PACKET_BASED_CREDIT_MODE = 1 << 5,
	MLX5DV_QP_CREATE_SIG_PIPELINING = 1 << 6,
	MLX5DV_QP_CREATE_OOO_DP = 1 << 7,
};

enum mlx5dv_qp_create_send_ops_flags {
	MLX5DV_QP_EX_WITH_MR_INTERLEAVED = 1 << 0,
	MLX5DV_QP_EX_WITH_MR_LIST = 1 << 1,
	MLX5DV_QP_EX_WITH_MKEY_CONFIGURE = 1 << 2,
	MLX5DV_QP_EX_WITH_RAW_WQE = 1 << 3,
	MLX5DV_QP_EX_WITH_MEMCPY = 1 << 4,
};

enum mlx5dv_qp_init_attr_mask {
	MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS = 1 << 0,
	MLX5DV_QP_INIT_ATTR_MASK_DC = 1 << 1,
	MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS = 1 << 2,
	MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS = 1 << 3,
};

enum mlx5dv_dc_type {
	MLX5DV_DCTYPE_DCT = 1,
	MLX5DV_DCTYPE_DCI = 2,
};

struct mlx5dv_dci_streams {
	uint8_t log_num_concurent;
	uint8_t log_num_errored;
};

struct mlx5dv_dc_init_attr {
	enum mlx5dv_dc_type dc_type;
	union {
		uint64_t dct_access_key;
		struct mlx5dv_dci_streams dci_streams;
	};
};

struct mlx5dv_qp_init_attr {
	uint64_t comp_mask;    /* mlx5dv_qp_init_attr_mask */
	uint32_t create_flags; /* mlx5dv_qp_create_flags */
	struct mlx5dv_dc_init_attr dc_init_attr;
	uint64_t send_ops_flags; /* mlx5dv_qp_create_send_ops_flags */
};

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_attr,
				struct mlx5dv_qp_init_attr *mlx5_qp_attr);
int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t udp_sport);
int mlx5dv_query_qp_lag_port(struct ibv_qp *qp, uint8_t *port_num, uint8_t *active_port_num);
int mlx5dv_modify_qp_lag_port(struct ibv_qp *qp, uint8_t port_num);
int mlx5dv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream_id);
int mlx5dv_map_ah_to_qp(struct ibv_ah *ah, uint32_t qp_num);

/* Receive work queues. A striding one packs many messages into each receive entry. */

enum mlx5dv_wq_init_attr_mask {
	MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ = 1 << 0,
};

struct mlx5dv_striding_rq_init_attr {
	uint32_t single_stride_log_num_of_bytes;
	uint32_t single_wqe_log_num_of_strides;
	uint8_t two_byte_shift_en; /* two zero bytes before each message align its IP header */
};

struct mlx5dv_wq_init_attr {
	uint64_t comp_mask; /* mlx5dv_wq_init_attr_mask */
	struct mlx5dv_striding_rq_init_attr striding_rq_attrs;
};

struct ibv_wq *mlx5dv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *wq_init_attr,
				struct mlx5dv_wq_init_attr *mlx5_wq_attr);

/* Device memory and dma-bufs */

struct mlx5dv_alloc_dm_attr {
	enum mlx5dv_alloc_dm_type type;
	uint64_t comp_mask;
};

struct ibv_dm *mlx5dv_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *dm_attr,
			       struct mlx5dv_alloc_dm_attr *mlx5_dm_attr);
void *mlx5dv_dm_map_op_addr(struct ibv_dm *dm, uint8_t op);

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				    uint64_t iova, int fd, int access, int mlx5_access);

/*
 * Raw objects: the rings, doorbell records and numbers behind verbs objects. Asking for a CQ
 * passes its consumer index to the caller.
 */

enum mlx5dv_qp_comp_mask {
	MLX5DV_QP_MASK_UAR_MMAP_OFFSET = 1 << 0,
	MLX5DV_QP_MASK_RAW_QP_HANDLES = 1 << 1,
	MLX5DV_QP_MASK_RAW_QP_TIR_ADDR = 1 << 2,
};

struct mlx5dv_qp {
	__be32 *dbrec;
	struct {
		void *buf;
		uint32_t wqe_cnt;
		uint32_t stride;
	} sq;
	struct {
		void *buf;
		uint32_t wqe_cnt;
		uint32_t stride;
	} rq;
	struct {
		void *reg;
		uint32_t size;
	} bf;
	uint64_t comp_mask; /* mlx5dv_qp_comp_mask */
	off_t uar_mmap_offset;
	uint32_t tirn;
	uint32_t tisn;
	uint32_t rqn;
	uint32_t sqn;
	uint64_t tir_icm_addr;
};

struct mlx5dv_cq {
	void *buf;
	__be32 *dbrec;
	uint32_t cqe_cnt;
	uint32_t cqe_size;
	void *cq_uar;
	uint32_t cqn;
	uint64_t comp_mask;
};

enum mlx5dv_srq_comp_mask {
	MLX5DV_SRQ_MASK_SRQN = 1 << 0,
};

struct mlx5dv_srq {
	void *buf;
	__be32 *dbrec;
	uint32_t stride;
	uint32_t head;
	uint32_t tail;
	uint64_t comp_mask; /* mlx5dv_srq_comp_mask */
	uint32_t srqn;
};

struct mlx5dv_rwq {
	void *buf;
	__be32 *dbrec;
	uint32_t wqe_cnt;
	uint32_t stride;
	uint64_t comp_mask;
};

enum mlx5dv_dm_comp_mask {
	MLX5DV_DM_MASK_REMOTE_VA = 1 << 0,
};

struct mlx5dv_dm {
	void *buf;
	uint64_t length;
	uint64_t comp_mask; /* mlx5dv_dm_comp_mask */
	uint64_t remote_va;
};

struct mlx5dv_ah {
	struct mlx5_wqe_av *av;
	uint64_t comp_mask;
};

struct mlx5dv_pd {
	uint32_t pdn;
	uint64_t comp_mask;
};

struct mlx5dv_devx {
	uint32_t handle;
};

struct mlx5dv_obj {
	struct {
		struct ibv_qp *in;
		struct mlx5dv_qp *out;
	} qp;
	struct {
		struct ibv_cq *in;
		struct mlx5dv_cq *out;
	} cq;
	struct {
		struct ibv_srq *in;
		struct mlx5dv_srq *out;
	} srq;
	struct {
		struct ibv_wq *in;
		struct mlx5dv_rwq *out;
	} rwq;
	struct {
		struct ibv_dm *in;
		struct mlx5dv_dm *out;
	} dm;
	struct {
		struct ibv_ah *in;
		struct mlx5dv_ah *out;
	} ah;
	struct {
		struct ibv_pd *in;
		struct mlx5dv_pd *out;
	} pd;
	struct {
		struct mlx5dv_devx_obj *in;
		struct mlx5dv_devx *out;
	} devx;
};

/* Any combination may be asked for in one call. */
enum mlx5dv_obj_type {
	MLX5DV_OBJ_QP = 1 << 0,
	MLX5DV_OBJ_CQ = 1 << 1,
	MLX5DV_OBJ_SRQ = 1 << 2,
	MLX5DV_OBJ_RWQ = 1 << 3,
	MLX5DV_OBJ_DM = 1 << 4,
	MLX5DV_OBJ_AH = 1 << 5,
	MLX5DV_OBJ_PD = 1 << 6,
	MLX5DV_OBJ_DEVX = 1 << 7,
};

int mlx5dv_init_obj(struct mlx5dv_obj *obj, uint64_t obj_type);

/* Pacing and scheduling */

struct mlx5dv_pp {
	uint16_t index;
};

struct mlx5dv_pp *mlx5dv_pp_alloc(struct ibv_context *context, size_t pp_context_sz,
				  const void *pp_context, uint32_t flags);
void mlx5dv_pp_free(struct mlx5dv_pp *pp);

struct mlx5dv_sched_node;
struct mlx5dv_sched_leaf;

enum mlx5dv_sched_elem_attr_flags {
	MLX5DV_SCHED_ELEM_ATTR_FLAGS_BW_SHARE = 1 << 0,
	MLX5DV_SCHED_ELEM_ATTR_FLAGS_MAX_AVG_BW = 1 << 1,
};

struct mlx5dv_sched_attr {
	struct mlx5dv_sched_node *parent;
	uint32_t flags; /* mlx5dv_sched_elem_attr_flags */
	uint32_t bw_share;
	uint32_t max_avg_bw;
	uint64_t comp_mask;
};

struct mlx5dv_sched_node *mlx5dv_sched_node_create(struct ibv_context *context,
						   const struct mlx5dv_sched_attr *sched_attr);
int mlx5dv_sched_node_modify(struct mlx5dv_sched_node *node,
			     const struct mlx5dv_sched_attr *sched_attr);
int mlx5dv_sched_node_destroy(struct mlx5dv_sched_node *node);

struct mlx5dv_sched_leaf *mlx5dv_sched_leaf_create(struct ibv_context *context,
						   const struct mlx5dv_sched_attr *sched_attr);
int mlx5dv_sched_leaf_modify(struct mlx5dv_sched_leaf *leaf,
			     const struct mlx5dv_sched_attr *sched_attr);
int mlx5dv_sched_leaf_destroy(struct mlx5dv_sched_leaf *leaf);

int mlx5dv_modify_qp_sched_elem(struct ibv_qp *qp, const struct mlx5dv_sched_leaf *requestor,
				const struct mlx5dv_sched_leaf *responder);

#ifdef __cplusplus
}
#endif

#endif
