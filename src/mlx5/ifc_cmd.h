/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command opcodes, status codes and object types of the mlx5 family, with their names for messages.
 * Goes with ifc.h. No state, no lock.
 */
#ifndef VB_MLX5_IFC_CMD_H
#define VB_MLX5_IFC_CMD_H

#include <stdint.h>

enum ifc_op {
#define IFC_OP(name, code) IFC_OP_##name = (code),
#include "mlx5/ifc_op.def"
#undef IFC_OP
};

/* Commands in this range concern no object and need no privilege of their own. */
enum {
	IFC_OP_GENERAL_FIRST = 0xb00,
	IFC_OP_GENERAL_LAST = 0xd00,
};

enum ifc_status {
	IFC_STATUS_OK = 0x00,
	IFC_STATUS_INTERNAL = 0x01,
	IFC_STATUS_BAD_OP = 0x02,
	IFC_STATUS_BAD_PARAM = 0x03,
	IFC_STATUS_BAD_SYS_STATE = 0x04,
	IFC_STATUS_BAD_RES = 0x05,
	IFC_STATUS_RES_BUSY = 0x06,
	IFC_STATUS_LIMIT = 0x08,
	IFC_STATUS_BAD_RES_STATE = 0x09,
	IFC_STATUS_BAD_INDEX = 0x0a,
	IFC_STATUS_NO_RES = 0x0f,
	IFC_STATUS_BAD_QP_STATE = 0x10,
	IFC_STATUS_BAD_PKT = 0x30,
	IFC_STATUS_BAD_CQ_SIZE = 0x40, /* a resize below the outstanding entries */
	IFC_STATUS_BAD_INPUT_LEN = 0x50,
	IFC_STATUS_BAD_OUTPUT_LEN = 0x51,
};

/* obj_type of general objects; a type below 64 is also its bit in general_obj_types. */
enum ifc_obj_type {
	IFC_OBJ_SW_ICM = 0x08,
	IFC_OBJ_FLOW_METER = 0x0a,
	IFC_OBJ_GENEVE_TLV_OPT = 0x0b,
	IFC_OBJ_DEK = 0x0c,
	IFC_OBJ_VIRTQ = 0x0d,
	IFC_OBJ_MATCH_DEFINER = 0x18,
	IFC_OBJ_VIRTIO_Q_COUNTERS = 0x1c,
	IFC_OBJ_IMPORT_KEK = 0x1d,
	IFC_OBJ_CREDENTIAL = 0x1e,
	IFC_OBJ_CRYPTO_LOGIN = 0x1f,
	IFC_OBJ_FLOW_SAMPLER = 0x20,
	IFC_OBJ_FLEX_PARSE_GRAPH = 0x22,
	IFC_OBJ_HEADER_MODIFY_ARGUMENT = 0x23,
	IFC_OBJ_ASO_FLOW_METER = 0x24,
	IFC_OBJ_ASO_FIRST_HIT = 0x25,
	IFC_OBJ_SCHEDULING_ELEMENT = 0x26,
	IFC_OBJ_RESERVED_QPN = 0x2c,
	IFC_OBJ_ASO_CT = 0x31,
	IFC_OBJ_AV_QP_MAPPING = 0x3a,
	IFC_OBJ_STC = 0x40,
	IFC_OBJ_RTC = 0x41,
	IFC_OBJ_STE = 0x42,
	IFC_OBJ_MODIFY_HEADER_PATTERN = 0x43,
	IFC_OBJ_RDMA_CTRL = 0x53,
	/* Not created this way, but named this way, when another function is given access. */
	IFC_OBJ_MKEY = 0xff01,
	IFC_OBJ_QP = 0xff02,
	IFC_OBJ_PSV = 0xff03,
	IFC_OBJ_RMP = 0xff04,
	IFC_OBJ_XRC_SRQ = 0xff05,
	IFC_OBJ_RQ = 0xff06,
	IFC_OBJ_SQ = 0xff07,
	IFC_OBJ_TIR = 0xff08,
	IFC_OBJ_TIS = 0xff09,
	IFC_OBJ_DCT = 0xff0a,
	IFC_OBJ_XRQ = 0xff0b,
	IFC_OBJ_RQT = 0xff0e,
	IFC_OBJ_FLOW_COUNTER = 0xff0f,
	IFC_OBJ_CQ = 0xff10,
	IFC_OBJ_FT_ALIAS = 0xff15,
	IFC_OBJ_TIR_ALIAS = 0xff16,
};

static inline const char *ifc_op_name(uint16_t op)
{
	switch (op) {
#define IFC_OP(name, code)                                                                         \
	case code:                                                                                 \
		return #name;
#include "mlx5/ifc_op.def"
#undef IFC_OP
	default:
		return "unknown command";
	}
}

static inline const char *ifc_status_text(uint8_t status)
{
	switch (status) {
	case IFC_STATUS_OK:
		return "ok";
	case IFC_STATUS_INTERNAL:
		return "internal error";
	case IFC_STATUS_BAD_OP:
		return "no such command, or op_mod";
	case IFC_STATUS_BAD_PARAM:
		return "a parameter is out of range or not supported";
	case IFC_STATUS_BAD_SYS_STATE:
		return "the device is not in a state for this";
	case IFC_STATUS_BAD_RES:
		return "no such object";
	case IFC_STATUS_RES_BUSY:
		return "the object is in use";
	case IFC_STATUS_LIMIT:
		return "a limit of the device is reached";
	case IFC_STATUS_BAD_RES_STATE:
		return "the object is not in a state for this";
	case IFC_STATUS_BAD_INDEX:
		return "index out of range";
	case IFC_STATUS_NO_RES:
		return "out of resources";
	case IFC_STATUS_BAD_QP_STATE:
		return "the queue pair is not in a state for this";
	case IFC_STATUS_BAD_PKT:
		return "malformed management packet";
	case IFC_STATUS_BAD_CQ_SIZE:
		return "more entries outstanding than the new size holds";
	case IFC_STATUS_BAD_INPUT_LEN:
		return "input mailbox too short";
	case IFC_STATUS_BAD_OUTPUT_LEN:
		return "output mailbox too short";
	default:
		return "unknown status";
	}
}

#endif
