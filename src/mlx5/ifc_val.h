/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of the fields of ifc.h, where these are more than numbers: states, types, modes, event
 * codes, selection masks. No state, no lock.
 */
#ifndef VB_MLX5_IFC_VAL_H
#define VB_MLX5_IFC_VAL_H

/* Capability pages: op_mod of QUERY_HCA_CAP is IFC_CAP_OP_MOD(page, current). */
enum ifc_cap {
	IFC_CAP_GENERAL = 0x00,
	IFC_CAP_ETHERNET = 0x01,
	IFC_CAP_ODP = 0x02,
	IFC_CAP_ATOMIC = 0x03,
	IFC_CAP_ROCE = 0x04,
	IFC_CAP_IPOIB = 0x05,
	IFC_CAP_NIC_FLOW_TABLE = 0x07,
	IFC_CAP_ESW_FLOW_TABLE = 0x08,
	IFC_CAP_ESW = 0x09,
	IFC_CAP_QOS = 0x0c,
	IFC_CAP_DEVICE_MEMORY = 0x0f,
	IFC_CAP_VDPA = 0x13,
	IFC_CAP_DEVICE_EVENT = 0x14,
	IFC_CAP_CRYPTO = 0x1a,
	IFC_CAP_WQE_BASED_FLOW_TABLE = 0x1b,
	IFC_CAP_PARSE_GRAPH_NODE = 0x1c,
	IFC_CAP_GENERAL_2 = 0x20,
	IFC_CAP_ADV_RDMA = 0x28,
};

#define IFC_CAP_OP_MOD(page, current) ((page) << 1 | !!(current))

enum { IFC_PORT_TYPE_IB = 0, IFC_PORT_TYPE_ETH = 1 };

/* ts_format as capability, and as a queue's or CQ's choice */
enum { IFC_TS_CAP_FREE_RUNNING = 0, IFC_TS_CAP_REAL_TIME = 1, IFC_TS_CAP_BOTH = 2 };
enum { IFC_TS_FREE_RUNNING = 0, IFC_TS_DEFAULT = 1, IFC_TS_REAL_TIME = 2 };

/* atomic_operations; atomic_size_* are masks of sizes in bytes */
enum {
	IFC_ATOMIC_CMP_SWAP = 1 << 0,
	IFC_ATOMIC_FETCH_ADD = 1 << 1,
	IFC_ATOMIC_MASKED_CMP_SWAP = 1 << 2,
	IFC_ATOMIC_MASKED_FETCH_ADD = 1 << 3,
};

/* mini_cqe_res_format, with its extension above */
enum { IFC_MINI_CQE_HASH = 0, IFC_MINI_CQE_CSUM = 1, IFC_MINI_CQE_CSUM_STRIDE = 3 };

/* atomic_req_8B_endianness_mode */
enum { IFC_ATOMIC_REPLY_BE = 0, IFC_ATOMIC_REPLY_HOST = 1 };

/* mkc access mode: access_mode_4_2 << 2 | access_mode_1_0 */
enum {
	IFC_MKC_PA = 0,
	IFC_MKC_MTT = 1,
	IFC_MKC_KLMS = 2,
	IFC_MKC_KSM = 3,
	IFC_MKC_SW_ICM = 4,
	IFC_MKC_MEMIC = 5,
	IFC_MKC_CROSSING_VHCA = 6,
};

/* Keys for encryption, and logins */
enum { IFC_DEK_PURPOSE_AES_XTS = 3 };
enum { IFC_KEY_SIZE_128 = 0, IFC_KEY_SIZE_256 = 1 }; /* of DEKs and import KEKs */
enum { IFC_DEK_READY = 0, IFC_DEK_ERROR = 1 };
enum { IFC_LOGIN_VALID = 0, IFC_LOGIN_INVALID = 1 };
enum { IFC_IMPORT_METHOD_AES_XTS = 1 << 2 }; /* wrapped_import_method */

/* cqc */
enum { IFC_CQE_SZ_64 = 0, IFC_CQE_SZ_128 = 1, IFC_CQE_SZ_128_PAD = 2 };
enum { IFC_CQ_ARMED_SOLICITED = 6, IFC_CQ_ARMED = 9, IFC_CQ_FIRED = 10 };
enum { IFC_CQ_STATUS_OK = 0, IFC_CQ_STATUS_OVERFLOW = 9, IFC_CQ_STATUS_WRITE_FAIL = 10 };
enum { IFC_MODIFY_CQ_MODERATE = 0, IFC_MODIFY_CQ_RESIZE = 1 };
/* field_select of MODIFY_CQ, op_mod 0 then 1 */
enum {
	IFC_CQ_SELECT_PERIOD = 1 << 0,
	IFC_CQ_SELECT_MAX_COUNT = 1 << 1,
	IFC_CQ_SELECT_OVERRUN = 1 << 2,
};
enum {
	IFC_CQ_RESIZE_LOG_SIZE = 1 << 0,
	IFC_CQ_RESIZE_PAGE_OFFSET = 1 << 1,
	IFC_CQ_RESIZE_PAGE_SIZE = 1 << 2,
};

/* qpc */
enum {
	IFC_QP_RST = 0,
	IFC_QP_INIT = 1,
	IFC_QP_RTR = 2,
	IFC_QP_RTS = 3,
	IFC_QP_SQER = 4,
	IFC_QP_SQDRAINED = 5,
	IFC_QP_ERR = 6,
	IFC_QP_SQD = 7,
	IFC_QP_SUSPENDED = 9,
};
enum {
	IFC_QP_ST_RC = 0x0,
	IFC_QP_ST_UC = 0x1,
	IFC_QP_ST_UD = 0x2,
	IFC_QP_ST_XRC = 0x3,
	IFC_QP_ST_DCI = 0x5,
	IFC_QP_ST_QP0 = 0x7,
	IFC_QP_ST_QP1 = 0x8,
	IFC_QP_ST_RAW_DATAGRAM = 0x9,
	IFC_QP_ST_REG_UMR = 0xc,
};
enum { IFC_PM_ARMED = 0, IFC_PM_REARM = 1, IFC_PM_MIGRATED = 3 };
enum { IFC_RQ_REGULAR = 0, IFC_RQ_SRQ = 1, IFC_RQ_NONE = 3 }; /* rq_type */
/* send_dbr_mode: a record, or none and doorbells of the program or of the adapter's own processors */
enum { IFC_DBR_VALID = 0, IFC_DBR_NONE_EXT = 1, IFC_DBR_NONE_INT = 2 };
enum {
	IFC_MTU_256 = 1,
	IFC_MTU_512 = 2,
	IFC_MTU_1K = 3,
	IFC_MTU_2K = 4,
	IFC_MTU_4K = 5,
	IFC_MTU_RAW_ETHERNET = 7,
};
enum {
	IFC_ATOMIC_MODE_IB_SPEC = 1,
	IFC_ATOMIC_MODE_ONLY_8B = 2,
	IFC_ATOMIC_MODE_UP_TO_8B = 3,
	IFC_ATOMIC_MODE_UP_TO_16B = 4,
	IFC_ATOMIC_MODE_UP_TO_32B = 5,
	IFC_ATOMIC_MODE_UP_TO_64B = 6,
	IFC_ATOMIC_MODE_UP_TO_128B = 7,
	IFC_ATOMIC_MODE_UP_TO_256B = 8,
};
/* Payload in CQEs: what requester and responder may scatter there. */
enum { IFC_CS_REQ_OFF = 0, IFC_CS_REQ_32B = 0x11, IFC_CS_REQ_64B = 0x22 };
enum { IFC_CS_RES_OFF = 0, IFC_CS_RES_32B = 1, IFC_CS_RES_64B = 2 };
enum { IFC_QP_DBR_VALID = 0, IFC_QP_NO_DBR_EXTERNAL = 1, IFC_QP_NO_DBR_INTERNAL = 2 };

/* opt_param_mask of a state change: what it changes beyond what it must */
enum {
	IFC_QP_OPT_ALT_PATH = 1 << 0,
	IFC_QP_OPT_RRE = 1 << 1,
	IFC_QP_OPT_RAE = 1 << 2,
	IFC_QP_OPT_RWE = 1 << 3,
	IFC_QP_OPT_PKEY_INDEX = 1 << 4,
	IFC_QP_OPT_Q_KEY = 1 << 5,
	IFC_QP_OPT_RNR_TIMEOUT = 1 << 6,
	IFC_QP_OPT_PRIMARY_PATH = 1 << 7,
	IFC_QP_OPT_SRA_MAX = 1 << 8,
	IFC_QP_OPT_RRA_MAX = 1 << 9,
	IFC_QP_OPT_PM_STATE = 1 << 10,
	IFC_QP_OPT_DRAIN_SIGERR = 1 << 11,
	IFC_QP_OPT_RETRY_COUNT = 1 << 12,
	IFC_QP_OPT_RNR_RETRY = 1 << 13,
	IFC_QP_OPT_ACK_TIMEOUT = 1 << 14,
	IFC_QP_OPT_LAG_TX_AFFINITY = 1 << 15,
	IFC_QP_OPT_PRIMARY_PORT = 1 << 16,
	IFC_QP_OPT_SRQN = 1 << 18,
	IFC_QP_OPT_CQN_RCV = 1 << 19,
	IFC_QP_OPT_DC_HS = 1 << 20,
	IFC_QP_OPT_DC_KEY = 1 << 21,
	IFC_QP_OPT_OFFLOAD_TYPE = 1 << 24,
	IFC_QP_OPT_COUNTER_SET = 1 << 25,
};
/* opt_param_mask_95_32 */
enum {
	IFC_QP_OPT2_DCI_STREAM = 1 << 0,
	IFC_QP_OPT2_QOS_GROUP = 1 << 1,
	IFC_QP_OPT2_UDP_SPORT = 1 << 2,
	IFC_QP_OPT2_MMO = 1 << 3,
};

enum { IFC_DCT_ACTIVE = 0, IFC_DCT_DRAINING = 1, IFC_DCT_DRAINED = 2 };

/* Work queues */
enum {
	IFC_WQ_LINKED_LIST = 0,
	IFC_WQ_CYCLIC = 1,
	IFC_WQ_LINKED_LIST_STRIDING = 2,
	IFC_WQ_CYCLIC_STRIDING = 3,
};
enum { IFC_WQ_RST = 0, IFC_WQ_RDY = 1, IFC_WQ_ERR = 3 }; /* RQ, SQ and RMP states */
enum { IFC_SRQ_GOOD = 0, IFC_SRQ_ERROR = 1 };
enum { IFC_ARM_SRQ = 1, IFC_ARM_XRQ = 2 }; /* op_mod of ARM_RQ, ARM_XRC_SRQ, ARM_XRQ */
enum { IFC_XRQ_TAG_MATCHING = 1 };         /* topology */
enum { IFC_MEM_RQ_INLINE = 0, IFC_MEM_RQ_RMP = 1 };
enum { IFC_XRQ_TOPOLOGY_NONE = 0, IFC_XRQ_TOPOLOGY_TAG_MATCHING = 1 };
enum { IFC_XRQ_OFFLOAD_RNDV = 1 };
enum { IFC_OFFLOAD_TYPE_RNDV = 1 }; /* qpc and dctc */

/* modify_bitmask of MODIFY_RQ, _SQ, _RMP, _RQT, _TIR, _TIS */
enum {
	IFC_MODIFY_RQ_LWM = 1 << 0,
	IFC_MODIFY_RQ_VSD = 1 << 1,
	IFC_MODIFY_RQ_SCATTER_FCS = 1 << 2,
	IFC_MODIFY_RQ_COUNTER_SET = 1 << 3,
};
enum { IFC_MODIFY_SQ_RATE_LIMIT = 1 << 0, IFC_MODIFY_SQ_QOS_GROUP = 1 << 2 };
enum { IFC_MODIFY_RMP_LWM = 1 << 0 };
enum { IFC_MODIFY_RQT_LIST = 1 << 0 };
enum {
	IFC_MODIFY_TIR_LRO = 1 << 0,
	IFC_MODIFY_TIR_INDIRECT_TABLE = 1 << 1,
	IFC_MODIFY_TIR_HASH = 1 << 2,
	IFC_MODIFY_TIR_SELF_LB = 1 << 4,
};
enum {
	IFC_MODIFY_TIS_PRIO = 1 << 0,
	IFC_MODIFY_TIS_STRICT_LAG_AFFINITY = 1 << 1,
	IFC_MODIFY_TIS_LAG_AFFINITY = 1 << 2,
};

/* tirc */
enum { IFC_TIR_DIRECT = 0, IFC_TIR_INDIRECT = 1 };
enum { IFC_RX_HASH_NONE = 0, IFC_RX_HASH_XOR8 = 1, IFC_RX_HASH_TOEPLITZ = 2 };
enum { IFC_SELF_LB_UC = 1, IFC_SELF_LB_MC = 2 };
enum { IFC_L3_IPV4 = 0, IFC_L3_IPV6 = 1 };
enum { IFC_L4_TCP = 0, IFC_L4_UDP = 1 };
enum {
	IFC_HASH_SRC_IP = 1 << 0,
	IFC_HASH_DST_IP = 1 << 1,
	IFC_HASH_L4_SPORT = 1 << 2,
	IFC_HASH_L4_DPORT = 1 << 3,
	IFC_HASH_IPSEC_SPI = 1 << 4,
};

/* Flow tables */
enum {
	IFC_TABLE_NIC_RX = 0,
	IFC_TABLE_NIC_TX = 1,
	IFC_TABLE_FDB = 4,
	IFC_TABLE_NIC_RX_RDMA = 7,
	IFC_TABLE_NIC_TX_RDMA = 8,
	IFC_TABLE_RDMA_TRANSPORT_RX = 0xd,
	IFC_TABLE_RDMA_TRANSPORT_TX = 0xe,
};
enum { IFC_MISS_DEFAULT = 0, IFC_MISS_TABLE = 1 };
enum { IFC_MODIFY_TABLE_MISS = 1 << 0 };
enum {
	IFC_FLOW_ALLOW = 1 << 0,
	IFC_FLOW_DROP = 1 << 1,
	IFC_FLOW_FWD = 1 << 2,
	IFC_FLOW_COUNT = 1 << 3,
	IFC_FLOW_REFORMAT = 1 << 4,
	IFC_FLOW_DECAP = 1 << 5,
	IFC_FLOW_MOD_HDR = 1 << 6,
	IFC_FLOW_VLAN_POP = 1 << 7,
	IFC_FLOW_VLAN_PUSH = 1 << 8,
	IFC_FLOW_KNOWN = (1 << 9) - 1,
};
enum { IFC_DEST_VPORT = 0, IFC_DEST_TABLE = 1, IFC_DEST_TIR = 2, IFC_DEST_UPLINK = 8 };
enum {
	IFC_MODIFY_FTE_ACTION = 1 << 0,
	IFC_MODIFY_FTE_TAG = 1 << 1,
	IFC_MODIFY_FTE_DESTS = 1 << 2,
	IFC_MODIFY_FTE_COUNTERS = 1 << 3,
	IFC_MODIFY_FTE_KNOWN = (1 << 4) - 1,
};
enum {
	IFC_REFORMAT_L2_TO_VXLAN = 0,
	IFC_REFORMAT_L2_TO_NVGRE = 1,
	IFC_REFORMAT_L2_TO_L2_TUNNEL = 2,
	IFC_REFORMAT_L3_TUNNEL_TO_L2 = 3,
	IFC_REFORMAT_L2_TO_L3_TUNNEL = 4,
};

/* Scheduling elements: hierarchies, types, modify_bitmask */
enum { IFC_SCHED_ESW = 2, IFC_SCHED_NIC = 3 };
enum { IFC_SCHED_TSAR = 0, IFC_SCHED_QUEUE_GROUP = 4 };
enum { IFC_MODIFY_SCHED_SHARE = 1 << 0, IFC_MODIFY_SCHED_MAX = 1 << 1 };

/* Ports */
enum { IFC_VPORT_DOWN = 0, IFC_VPORT_UP = 1 };
enum { IFC_INLINE_MODE_CAP_L2 = 0, IFC_INLINE_MODE_CAP_VPORT = 1, IFC_INLINE_MODE_CAP_NONE = 2 };
enum { IFC_ROCE_V1 = 0, IFC_ROCE_V2 = 2 };
enum { IFC_ROCE_L3_IPV4 = 0, IFC_ROCE_L3_IPV6 = 1 };
enum { IFC_PTYS_IB = 1, IFC_PTYS_ETH = 4 };
enum { IFC_PPCNT_IEEE = 0 };
enum { IFC_REG_WRITE = 0, IFC_REG_READ = 1 }; /* op_mod of ACCESS_REG */
enum {
	IFC_REG_QSHR = 0x4030,
	IFC_REG_PTYS = 0x5004,
	IFC_REG_PPCNT = 0x5008,
	IFC_REG_HOST_ENDIANNESS = 0x7004,
	IFC_REG_MTUTC = 0x9055,
};

/* Event codes, eqe.type */
enum ifc_event {
	IFC_EVENT_COMP = 0x00,
	IFC_EVENT_PATH_MIG = 0x01,
	IFC_EVENT_COMM_EST = 0x02,
	IFC_EVENT_SQ_DRAINED = 0x03,
	IFC_EVENT_CQ_ERROR = 0x04,
	IFC_EVENT_WQ_CATAS = 0x05,
	IFC_EVENT_PATH_MIG_FAILED = 0x07,
	IFC_EVENT_INTERNAL_ERROR = 0x08,
	IFC_EVENT_PORT_STATE = 0x09,
	IFC_EVENT_CMD = 0x0a,
	IFC_EVENT_PAGE_REQUEST = 0x0b,
	IFC_EVENT_PAGE_FAULT = 0x0c,
	IFC_EVENT_NIC_VPORT_CHANGE = 0x0d,
	IFC_EVENT_WQ_INVALID_REQUEST = 0x10,
	IFC_EVENT_WQ_ACCESS = 0x11,
	IFC_EVENT_SRQ_CATAS = 0x12,
	IFC_EVENT_SRQ_LAST_WQE = 0x13,
	IFC_EVENT_SRQ_LIMIT = 0x14,
	IFC_EVENT_PORT_MODULE = 0x16,
	IFC_EVENT_XRQ_ERROR = 0x18,
	IFC_EVENT_DCT_DRAINED = 0x1c,
	IFC_EVENT_DCT_KEY_VIOLATION = 0x1d,
	IFC_EVENT_GENERAL = 0x22,
};

/* eqe_qp_srq.type */
enum {
	IFC_EVENT_QUEUE_QP = 0,
	IFC_EVENT_QUEUE_RQ = 1,
	IFC_EVENT_QUEUE_SQ = 2,
};

/* eqe_cq_err.syndrome */
enum { IFC_CQ_ERROR_OVERRUN = 1, IFC_CQ_ERROR_ACCESS = 2 };
/* eqe.sub_type of a port event */
enum {
	IFC_PORT_EVENT_DOWN = 1,
	IFC_PORT_EVENT_ACTIVE = 4,
	IFC_PORT_EVENT_INITIALIZED = 5,
	IFC_PORT_EVENT_LID = 6,
	IFC_PORT_EVENT_PKEY = 7,
	IFC_PORT_EVENT_GUID = 8,
	IFC_PORT_EVENT_CLIENT_REREGISTER = 9,
};

/* Byte offsets in a UAR page beyond the public MLX5_CQ_DOORBELL: EQ consumer index with and
 * without arming, send queues without a doorbell record, and the first BlueFlame register; and the
 * size of one such register. */
enum {
	IFC_UAR_EQ_ARM = 0x40,
	IFC_UAR_EQ_UPDATE = 0x48,
	IFC_UAR_SQ = 0x600,
	IFC_UAR_BF = 0x800,
	IFC_UAR_BF_SIZE = 0x100,
};

/* lag_state, and field_select of MODIFY_LAG */
enum {
	IFC_LAG_ACTIVE = 1,
	IFC_MODIFY_LAG_REMAP = 1 << 0,
};

#endif
