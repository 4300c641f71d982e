/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work as the adapter executes it, after a ring format has decoded it, and completions before a
 * ring format has encoded them. Values and bits carry over to and from the rings; nothing here is
 * kept: the rings are the only representation of queued work.
 */
#ifndef HCA_WORK_H
#define HCA_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "ether/aso_types.h"
#include "hca/device/adapter.h"
#include "hca/device/crypto.h"
#include "hca/device/signature.h"

#define HCA_MAX_SGE 64

/* Operations of a send queue. */
enum hca_op {
	HCA_OP_NOP,
	HCA_OP_SEND,
	HCA_OP_SEND_IMM,
	HCA_OP_SEND_INV,
	HCA_OP_WRITE,
	HCA_OP_WRITE_IMM,
	HCA_OP_READ,
	HCA_OP_CMP_SWAP,
	HCA_OP_FETCH_ADD,
	HCA_OP_LOCAL_INV,
	HCA_OP_BIND_MW,
	HCA_OP_TSO,
	HCA_OP_UMR, /* builds an indirect key */
	HCA_OP_MMO, /* memory to memory: from the first element to the second */
	HCA_OP_TAG, /* changes the list of a tag matching receive queue */
	HCA_OP_FLUSH,
	HCA_OP_ATOMIC_WRITE,
	HCA_OP_MASKED_CMP_SWAP,
	HCA_OP_MASKED_FETCH_ADD,
	HCA_OP_SET_PSV, /* sets a signature context */
	HCA_OP_GET_PSV, /* writes such contexts to the first element */
	HCA_OP_ASO,     /* reads or changes an ASO object, of raw send queues */
	HCA_OP_FRAMES,  /* each element is a frame of its own, of raw send queues */
	HCA_OP_COUNT,
};

/* A scatter or gather element. With this key the address is the adapter's own (inline data). */
#define HCA_KEY_INLINE 0xfffffffeu

struct hca_sge {
	uint64_t addr;
	uint32_t len;
	uint32_t key;
};

/*
 * An atomic operation with masks. Compare and swap: the bits of compare_mask are compared, those
 * of swap_mask replaced. Fetch and add: the number is divided into fields, and no carry leaves a
 * field. Of 4-byte operands the low halves count.
 */
struct hca_atomic {
	bool add;
	uint8_t size;     /* 4 or 8 bytes */
	uint64_t swap;    /* or what to add */
	uint64_t compare; /* or the uppermost bits of the fields */
	uint64_t swap_mask, compare_mask;
};

/* Where a datagram goes, or a connected queue pair's path. */
struct hca_av {
	struct hca_gid dgid;
	bool has_grh;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;
	uint16_t dlid;
	uint8_t src_path_bits;
	uint8_t sl;
	uint8_t static_rate;
	uint8_t port;
	uint8_t dmac[6];
	uint16_t udp_sport; /* of RoCEv2; 0: the adapter's choice */
};

struct hca_bind {
	uint32_t mw_key;  /* the window's present key */
	uint32_t new_key; /* after the bind */
	uint32_t mr_key;
	uint32_t access; /* hca_access bits */
	uint64_t addr;
	uint64_t len; /* 0: unbind */
	bool type2;
};

/* Offloads of a raw frame that is sent. */
enum hca_offload {
	HCA_OFFLOAD_L3 = 1 << 0, /* IPv4 header check sum */
	HCA_OFFLOAD_L4 = 1 << 1, /* TCP or UDP check sum */
	HCA_OFFLOAD_INNER_L3 = 1 << 2,
	HCA_OFFLOAD_INNER_L4 = 1 << 3,
	HCA_OFFLOAD_VLAN = 1 << 4, /* insert a tag */
};

enum hca_umr_mask {
	HCA_UMR_TAG = 1 << 0, /* the key's low byte */
	HCA_UMR_ACCESS = 1 << 1,
	HCA_UMR_LENGTH = 1 << 2,
	HCA_UMR_START = 1 << 3,
	HCA_UMR_LAYOUT = 1 << 4,
	HCA_UMR_TRANSFORMS = 1 << 5, /* whether the key's transforms are in use */
	HCA_UMR_SIGNATURE = 1 << 6,
	HCA_UMR_CRYPTO = 1 << 7,
};

/* The change of an indirect key by a request, whose elements are the key's pieces. */
struct hca_umr {
	uint32_t key;
	uint32_t mask; /* enum hca_umr_mask */
	bool free;     /* out of use afterwards */
	uint8_t tag;
	uint32_t access;
	uint64_t start, length;
	uint32_t
		rounds; /* 0: a list; else interleaved: an element's length is bytes | stride << 16 */
	bool transforms;
	struct hca_sig_conf sig;
	struct hca_crypto_conf crypto;
};

/*
 * A memory-to-memory operation. Elements: the input, the output, and, if there is a third, 64 bytes for
 * results.
 */
struct hca_mmo {
	enum hca_mmo_kind kind;
	/* deflate: window and block in bytes, and whether each block has codes of its own */
	uint8_t log_window, log_block;
	bool dynamic;
	/* LZ4: blocks with their lengths, with checksums of blocks, and not referring to each other */
	bool has_lengths, has_sums, independent;
};

#define HCA_PSV_MOST 4

/* Signature contexts that a request sets (the first) or reads. */
struct hca_psv_op {
	uint32_t count;
	uint32_t index[HCA_PSV_MOST];
	uint16_t syndrome;
	uint64_t value;
};

/* Access to a context of an ASO object; an element, if there is one, gets it as it was. */
struct hca_aso_access {
	uint32_t number;
	uint8_t kind; /* enum aso_kind */
	struct aso_change change;
};

enum hca_tag_change { HCA_TAG_SYNC, HCA_TAG_APPEND, HCA_TAG_REMOVE };

/* A change of the list of tagged buffers (queue/tag_list.h). */
struct hca_tag_op {
	uint8_t change; /* enum hca_tag_change */
	bool signaled;  /* with a completion in the receive queue's CQ */
	bool sync;      /* `handled` is valid */
	uint16_t
		index; /* of the entry to remove, or of that which the append after this one fills */
	uint16_t handled;
	uint64_t tag, mask;
};

#define HCA_SEND_ENTRY_MAX 1024u

/* One decoded send work request. */
struct hca_send {
	enum hca_op op;
	bool signaled;
	bool solicited;
	bool fence;
	bool bad; /* malformed; syndrome and status of the completion below */
	uint8_t bad_status;
	uint8_t bad_vendor;
	uint16_t blocks;  /* ring slots that it takes */
	uint16_t counter; /* names it in its completion */
	uint32_t imm;     /* immediate data in network order, or the key to invalidate */
	uint64_t raddr;
	uint32_t rkey;
	uint32_t xrc_srqn;
	uint64_t compare; /* compare value, or what to add */
	uint64_t swap;
	struct hca_atomic masked; /* of a masked atomic, which uses neither of them */
	uint32_t
		feth; /* FLUSH, whose range is `length` at raddr: enum roce_feth of roce/packet.h */
	/* datagrams */
	struct hca_av av;
	uint32_t dqpn;
	uint32_t qkey;
	/* of a DC initiator */
	uint64_t dc_key;
	uint16_t dc_stream;
	struct hca_bind bind;
	struct hca_umr umr;
	struct hca_mmo mmo;
	struct hca_psv_op psv;
	struct hca_aso_access aso;
	struct hca_tag_op tag; /* the buffer, if there is one, is the first element */
	/* raw frames */
	uint8_t offload; /* enum hca_offload */
	uint16_t mss;
	uint16_t tso_header; /* bytes at the front that every segment repeats */
	uint16_t vlan_tci;   /* with HCA_OFFLOAD_VLAN */
	bool wire_only;      /* not for receivers at the port that it leaves by */
	uint64_t length;     /* sum of the elements */
	int sge_count;
	struct hca_sge sge[HCA_MAX_SGE];
	/* Space for a format to assemble an entry that wraps around the end of the ring. */
	_Alignas(16) uint8_t joined[HCA_SEND_ENTRY_MAX];
};

/* One decoded receive work request. */
struct hca_recv {
	uint16_t counter;
	int sge_count;
	struct hca_sge sge[HCA_MAX_SGE];
};

/* Completion status; numbers as enum ibv_wc_status has them. */
enum hca_status {
	HCA_SUCCESS = 0,
	HCA_LOC_LEN_ERR = 1,
	HCA_LOC_QP_OP_ERR = 2,
	HCA_LOC_PROT_ERR = 4,
	HCA_WR_FLUSH_ERR = 5,
	HCA_MW_BIND_ERR = 6,
	HCA_BAD_RESP_ERR = 7,
	HCA_LOC_ACCESS_ERR = 8,
	HCA_REM_INV_REQ_ERR = 9,
	HCA_REM_ACCESS_ERR = 10,
	HCA_REM_OP_ERR = 11,
	HCA_RETRY_EXC_ERR = 12,
	HCA_RNR_RETRY_EXC_ERR = 13,
	HCA_REM_ABORT_ERR = 16,
	HCA_GENERAL_ERR = 21,
	HCA_SIG_ERR = 64, /* belongs to no request: hca_cqe.sig describes a wrong signature */
};

/* The kind of a message, as its receive completion states it. */
enum hca_recv_kind {
	HCA_RECV_SEND,
	HCA_RECV_SEND_IMM,
	HCA_RECV_SEND_INV,
	HCA_RECV_WRITE_IMM,
};

/* A received frame, as its completion describes it. */
struct hca_frame_info {
	uint8_t check; /* enum ether_check of ether/frame.h */
	uint8_t l3, l4;
	bool fragment;
	bool options;  /* IPv4 options or IPv6 extension headers */
	uint8_t tcp;   /* 1: no ACK, 2: ACK alone, 3: ACK and data; 0: not TCP */
	bool has_vlan; /* a tag was stripped */
	uint16_t vlan_tci;
	uint32_t tag; /* of the flow rule, 24 bits */
	uint32_t rss_hash;
	uint32_t rss_fields; /* enum ether_rss */
	/* multi-packet receive queues: `counter` is then the first stride's number in its entry */
	uint16_t strides; /* 0: not such a queue */
	uint16_t entry;   /* index of the receive entry */
	bool filler;      /* the strides are skipped, they hold no frame */
};

/* Completions of a tag matching receive queue; numbers as app_op of mlx5's CQEs has them. */
enum hca_tm_what {
	HCA_TM_CONSUMED = 0x1,   /* a buffer was matched, its data will come */
	HCA_TM_EXPECTED = 0x2,   /* the data of a buffer that was matched is there */
	HCA_TM_UNEXPECTED = 0x3, /* nothing matched: a plain receive entry has the message */
	HCA_TM_NO_TAG = 0x4,     /* the message takes no part in matching */
	HCA_TM_APPEND = 0x5,
	HCA_TM_REMOVE = 0x6,
	HCA_TM_SYNC = 0x7,
	HCA_TM_CONSUMED_MSG = 0xa,         /* matched, and the data is there */
	HCA_TM_CONSUMED_MSG_SW_RNDV = 0xb, /* matched by a rendezvous that the program has to do */
	HCA_TM_CANCELED = 0xc,             /* matched, and the data will not come */
};

#define HCA_TM_HEADER_BYTES 16u

struct hca_tm_info {
	uint8_t what; /* enum hca_tm_what */
	bool done;    /* of a change: it took effect */
	uint16_t index;
	uint16_t unexpected;                 /* of a change: messages that matched nothing */
	uint8_t header[HCA_TM_HEADER_BYTES]; /* of the message, where what is a match */
};

/* A completion, for a ring format to write. */
struct hca_cqe {
	bool is_recv;
	bool solicited;
	uint16_t vendor; /* the adapter's own syndrome of an error; above it, the MMO engine's */
	uint16_t counter;
	enum hca_status status;
	enum hca_op op; /* of a send */
	uint32_t qpn;
	uint32_t user_index; /* of a QP, SRQ or WQ when the ring format has one */
	uint32_t byte_len;
	uint64_t timestamp;              /* adapter clock; 0: now */
	const struct hca_sig_error *sig; /* with HCA_SIG_ERR */
	/* of a receive; not set otherwise */
	enum hca_recv_kind recv_kind;
	uint32_t imm; /* network order, or the invalidated key in host order */
	bool grh;
	bool xrc; /* came through an XRC QP, which may be another process's */
	bool roce;
	bool raw;          /* a frame; `frame` is valid */
	uint8_t roce_kind; /* 0: RoCE v1 or IB GRH, 1: v2 over IPv6, 2: v2 over IPv4 */
	uint8_t sl;
	uint8_t path_bits;
	uint8_t smac[6];
	uint16_t slid;
	uint16_t pkey_index;
	uint32_t srqn; /* 0: not from a shared receive queue */
	uint32_t src_qpn;
	const struct hca_tm_info *tm; /* of a tag matching queue, or NULL */
	struct hca_frame_info frame;
};

#endif
