/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Management datagrams: constants, and the fields that tell what a datagram is and for whom.
 */
#ifndef HCA_GSI_MAD_H
#define HCA_GSI_MAD_H

#include <stdint.h>

#define HCA_GSI_QPN   1u
#define HCA_GSI_QKEY  0x80010000u
#define HCA_MAD_BYTES 256u

enum hca_mad_class {
	HCA_MAD_CM = 0x07,
};

/* Attributes of the connection manager's class: which message it is. */
enum hca_cm_attr {
	HCA_CM_REQ = 0x10,
	HCA_CM_MRA = 0x11,
	HCA_CM_REJ = 0x12,
	HCA_CM_REP = 0x13,
	HCA_CM_RTU = 0x14,
	HCA_CM_DREQ = 0x15,
	HCA_CM_DREP = 0x16,
	HCA_CM_SIDR_REQ = 0x17,
	HCA_CM_SIDR_REP = 0x18,
	HCA_CM_LAP = 0x19,
	HCA_CM_APR = 0x1a,
};

/* Offsets in a MAD. */
enum {
	MAD_BASE_VERSION = 0,
	MAD_CLASS = 1,
	MAD_METHOD = 3,
	MAD_TID = 8,
	MAD_ATTR = 16,
	CM_LOCAL_ID = 24,
	CM_REMOTE_ID = 28,
	CM_SERVICE_ID = 32,
	/* destination IP address in the private data (IBTA volume 1, A11) */
	CM_REQ_IP = 24 + 140 + 20,
	CM_SIDR_IP = 24 + 16 + 20,
	CM_IP_VERSION = -19, /* from there: in the upper half of the byte */
};

#define MAD_METHOD_RESPONSE 0x80

static inline uint16_t mad_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t mad_get32(const uint8_t *p)
{
	return (uint32_t)mad_get16(p) << 16 | mad_get16(p + 2);
}

static inline uint64_t mad_get64(const uint8_t *p)
{
	return (uint64_t)mad_get32(p) << 32 | mad_get32(p + 4);
}

#endif
