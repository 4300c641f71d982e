/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the communication manager (IBTA 1.4 chapter 12) as structs, and their bytes in a MAD.
 * Pure functions. Integers are in host order; fields that the messages hold in fewer bits are cut
 * when written. Private data is copied whole and is padded with zeros by the sender.
 */
#ifndef CM_MSG_H
#define CM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSG_BYTES 256 /* of a MAD */

/* Attribute ids of the class 7. */
enum msg_kind {
	MSG_REQ = 0x10,
	MSG_MRA = 0x11,
	MSG_REJ = 0x12,
	MSG_REP = 0x13,
	MSG_RTU = 0x14,
	MSG_DREQ = 0x15,
	MSG_DREP = 0x16,
	MSG_SIDR_REQ = 0x17,
	MSG_SIDR_REP = 0x18,
	MSG_LAP = 0x19,
	MSG_APR = 0x1a,
};

/* Bytes of private data in each message. */
enum {
	MSG_REQ_PRIVATE = 92,
	MSG_MRA_PRIVATE = 222,
	MSG_REJ_PRIVATE = 148,
	MSG_REP_PRIVATE = 196,
	MSG_RTU_PRIVATE = 224,
	MSG_DREQ_PRIVATE = 220,
	MSG_DREP_PRIVATE = 224,
	MSG_SIDR_REQ_PRIVATE = 216,
	MSG_SIDR_REP_PRIVATE = 136,
	MSG_LAP_PRIVATE = 168,
	MSG_APR_PRIVATE = 148,
};

/* REQ's transport service type. */
enum msg_transport {
	MSG_TRANSPORT_RC = 0,
	MSG_TRANSPORT_UC = 1,
	MSG_TRANSPORT_RD = 2,
	MSG_TRANSPORT_EXTENDED = 3, /* msg_req.extended_transport says which: 1 is XRC */
};

/* Which message a MRA or REJ answers. */
enum msg_answered {
	MSG_ANSWERED_REQ = 0,
	MSG_ANSWERED_REP = 1,
	MSG_ANSWERED_OTHER = 2, /* LAP in a MRA; no message (a timeout, say) in a REJ */
};

/* Reasons of a REJ (12.6.7.2). */
enum msg_reason {
	MSG_REJ_NO_QP = 1,
	MSG_REJ_NO_EEC = 2,
	MSG_REJ_NO_RESOURCES = 3,
	MSG_REJ_TIMEOUT = 4,
	MSG_REJ_UNSUPPORTED = 5,
	MSG_REJ_INVALID_COMM_ID = 6,
	MSG_REJ_INVALID_COMM_INSTANCE = 7,
	MSG_REJ_INVALID_SERVICE_ID = 8,
	MSG_REJ_INVALID_TRANSPORT = 9,
	MSG_REJ_STALE_CONN = 10,
	MSG_REJ_RDC_NOT_EXIST = 11,
	MSG_REJ_INVALID_GID = 12,
	MSG_REJ_INVALID_LID = 13,
	MSG_REJ_INVALID_SL = 14,
	MSG_REJ_INVALID_TRAFFIC_CLASS = 15,
	MSG_REJ_INVALID_HOP_LIMIT = 16,
	MSG_REJ_INVALID_PACKET_RATE = 17,
	MSG_REJ_INVALID_ALT_GID = 18,
	MSG_REJ_INVALID_ALT_LID = 19,
	MSG_REJ_INVALID_ALT_SL = 20,
	MSG_REJ_INVALID_ALT_TRAFFIC_CLASS = 21,
	MSG_REJ_INVALID_ALT_HOP_LIMIT = 22,
	MSG_REJ_INVALID_ALT_PACKET_RATE = 23,
	MSG_REJ_PORT_CM_REDIRECT = 24,
	MSG_REJ_PORT_REDIRECT = 25,
	MSG_REJ_INVALID_MTU = 26,
	MSG_REJ_INSUFFICIENT_RESP_RESOURCES = 27,
	MSG_REJ_CONSUMER_DEFINED = 28,
	MSG_REJ_INVALID_RNR_RETRY = 29,
	MSG_REJ_DUPLICATE_LOCAL_COMM_ID = 30,
	MSG_REJ_INVALID_CLASS_VERSION = 31,
	MSG_REJ_INVALID_FLOW_LABEL = 32,
	MSG_REJ_INVALID_ALT_FLOW_LABEL = 33,
	MSG_REJ_VENDOR_OPTION_UNSUPPORTED = 35,
};

/* Fields of the header of every message. The class, its version and the method are constants. */
struct msg_head {
	uint16_t kind; /* enum msg_kind, when the sender keeps to it */
	uint64_t tid;
};

struct msg_path {
	uint16_t local_lid, remote_lid;
	uint8_t local_gid[16], remote_gid[16];
	uint32_t flow_label; /* 20 bits */
	uint8_t packet_rate; /* 6 bits */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl; /* 4 bits */
	bool is_subnet_local;
	uint8_t local_ack_timeout; /* 5 bits */
};

struct msg_req {
	uint32_t local_comm_id;
	uint32_t vendor_id; /* ECE, 24 bits: 0 for none */
	uint32_t attr_mod;  /* ECE: the options, in the header's attribute modifier */
	uint64_t service_id;
	uint64_t local_ca_guid;
	uint32_t local_qkey;
	uint32_t local_qpn; /* 24 bits */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_cm_timeout; /* 5 bits */
	uint8_t transport;         /* enum msg_transport */
	bool flow_control;
	uint32_t starting_psn;    /* 24 bits */
	uint8_t local_cm_timeout; /* 5 bits */
	uint8_t retry_count;      /* 3 bits */
	uint16_t pkey;
	uint8_t path_mtu; /* 4 bits, enum ibv_mtu */
	bool rdc_exists;
	uint8_t rnr_retry_count; /* 3 bits */
	uint8_t max_cm_retries;  /* 4 bits */
	bool srq;
	uint8_t extended_transport;         /* 3 bits */
	struct msg_path primary, alternate; /* no alternate path: its local LID and GID are zero */
	uint8_t private_data[MSG_REQ_PRIVATE];
};

struct msg_rep {
	uint32_t local_comm_id, remote_comm_id;
	uint32_t local_qkey;
	uint32_t local_qpn;    /* 24 bits */
	uint32_t local_eecn;   /* 24 bits; XRC: the number of the target QP, and local_qpn is 0 */
	uint32_t starting_psn; /* 24 bits */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay;  /* 5 bits */
	uint8_t failover_accepted; /* 2 bits */
	bool flow_control;
	uint8_t rnr_retry_count; /* 3 bits */
	bool srq;
	uint64_t local_ca_guid;
	uint32_t vendor_id; /* ECE, as in msg_req */
	uint32_t attr_mod;
	uint8_t private_data[MSG_REP_PRIVATE];
};

/* RTU and DREP are the same but for their attribute. */
struct msg_rtu {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t private_data[MSG_RTU_PRIVATE];
};

struct msg_mra {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t answered;        /* 2 bits, enum msg_answered */
	uint8_t service_timeout; /* 5 bits */
	uint8_t private_data[MSG_MRA_PRIVATE];
};

/* Bytes of additional information in REJ, APR and SIDR_REP. When read, info_len is at most this. */
#define MSG_REJ_INFO 72

struct msg_rej {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t answered; /* 2 bits, enum msg_answered */
	uint8_t info_len; /* 7 bits */
	uint16_t reason;  /* enum msg_reason */
	uint8_t info[MSG_REJ_INFO];
	uint8_t private_data[MSG_REJ_PRIVATE];
};

struct msg_dreq {
	uint32_t local_comm_id, remote_comm_id;
	uint32_t remote_qpn; /* 24 bits */
	uint8_t private_data[MSG_DREQ_PRIVATE];
};

struct msg_lap {
	uint32_t local_comm_id, remote_comm_id;
	uint32_t remote_qpn;       /* 24 bits */
	uint8_t remote_cm_timeout; /* 5 bits */
	struct msg_path alternate;
	uint8_t private_data[MSG_LAP_PRIVATE];
};

struct msg_apr {
	uint32_t local_comm_id, remote_comm_id;
	uint8_t info_len;
	uint8_t status;
	uint8_t info[MSG_REJ_INFO];
	uint8_t private_data[MSG_APR_PRIVATE];
};

struct msg_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	uint8_t private_data[MSG_SIDR_REQ_PRIVATE];
};

enum msg_sidr_status {
	MSG_SIDR_VALID = 0,
	MSG_SIDR_UNSUPPORTED = 1,
	MSG_SIDR_REJECTED = 2,
	MSG_SIDR_NO_QP = 3,
	MSG_SIDR_REDIRECT = 4,
	MSG_SIDR_UNSUPPORTED_VERSION = 5,
};

struct msg_sidr_rep {
	uint32_t request_id;
	uint8_t status;
	uint8_t info_len;
	uint32_t qpn;       /* 24 bits */
	uint32_t vendor_id; /* ECE, as in msg_req */
	uint32_t attr_mod;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[MSG_REJ_INFO];
	uint8_t private_data[MSG_SIDR_REP_PRIVATE];
};

/* False when the MAD is no message of the communication manager: wrong version, class or method. */
bool msg_get_head(const uint8_t mad[MSG_BYTES], struct msg_head *out);

/* Each writes the whole MAD. msg_put_rtu() and msg_get_rtu() serve RTU and DREP. */
void msg_put_req(const struct msg_req *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_rep(const struct msg_rep *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_rtu(const struct msg_rtu *m, enum msg_kind kind, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_mra(const struct msg_mra *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_rej(const struct msg_rej *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_dreq(const struct msg_dreq *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_lap(const struct msg_lap *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_apr(const struct msg_apr *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_sidr_req(const struct msg_sidr_req *m, uint64_t tid, uint8_t mad[MSG_BYTES]);
void msg_put_sidr_rep(const struct msg_sidr_rep *m, uint64_t tid, uint8_t mad[MSG_BYTES]);

/* Every byte pattern is a message: the caller judges the values. */
void msg_get_req(const uint8_t mad[MSG_BYTES], struct msg_req *m);
void msg_get_rep(const uint8_t mad[MSG_BYTES], struct msg_rep *m);
void msg_get_rtu(const uint8_t mad[MSG_BYTES], struct msg_rtu *m);
void msg_get_mra(const uint8_t mad[MSG_BYTES], struct msg_mra *m);
void msg_get_rej(const uint8_t mad[MSG_BYTES], struct msg_rej *m);
void msg_get_dreq(const uint8_t mad[MSG_BYTES], struct msg_dreq *m);
void msg_get_lap(const uint8_t mad[MSG_BYTES], struct msg_lap *m);
void msg_get_apr(const uint8_t mad[MSG_BYTES], struct msg_apr *m);
void msg_get_sidr_req(const uint8_t mad[MSG_BYTES], struct msg_sidr_req *m);
void msg_get_sidr_rep(const uint8_t mad[MSG_BYTES], struct msg_sidr_rep *m);

#endif
