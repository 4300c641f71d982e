/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block signatures of a memory key, as a ring format has decoded them: data is cut into blocks, and
 * each is followed by a signature. Memory and wire have one domain each; the data is the same.
 * Types only.
 */
#ifndef HCA_DEVICE_SIGNATURE_H
#define HCA_DEVICE_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

enum hca_sig_kind {
	HCA_SIG_NONE,     /* data only; there are no blocks */
	HCA_SIG_DIF_CRC,  /* T10-DIF: guard (CRC-16), application and reference tag, 8 bytes */
	HCA_SIG_DIF_CSUM, /* the same with the checksum of IP as guard */
	HCA_SIG_CRC32,    /* of Fibre Channel and Ethernet, 4 bytes */
	HCA_SIG_CRC32C,   /* of iSCSI, 4 bytes */
	HCA_SIG_CRC64,    /* of XP10 (and NVMe), 8 bytes */
};

/* Blocks that are not checked. */
enum hca_sig_escape {
	HCA_SIG_ESCAPE_NONE,
	HCA_SIG_ESCAPE_APP,     /* the application tag is all ones */
	HCA_SIG_ESCAPE_APP_REF, /* that, and the reference tag is all ones */
};

struct hca_sig_domain {
	uint8_t kind;   /* enum hca_sig_kind */
	uint8_t escape; /* enum hca_sig_escape */
	bool ones;      /* the guard starts from all ones, not from zero */
	bool counts;    /* the reference tag grows by one with every block */
	uint16_t app;
	uint16_t app_mask; /* bits of it that are checked */
	uint32_t ref;
	uint32_t block; /* bytes of data */
	uint32_t psv;
	/*
	 * One block that is all the data may be a part of more: its guard goes on from that of the
	 * context `psv`, or is left there instead of a signature.
	 */
	bool resumes, leaves;
};

/*
 * Masks: bit i stands for byte i of the signature as a number: guard << 48 | app << 32 | ref, or
 * CRC-32 << 32, or CRC-64.
 */
struct hca_sig_conf {
	struct hca_sig_domain memory, wire;
	uint8_t check; /* bytes that are checked where data comes from */
	uint8_t copy;  /* bytes that are copied; needs domains of the same structure */
};

/* The first wrong block of a transfer. */
enum hca_sig_fault {
	HCA_SIG_BAD_GUARD,
	HCA_SIG_BAD_APP,
	HCA_SIG_BAD_REF,
};

struct hca_sig_error {
	enum hca_sig_fault fault;
	bool in_memory; /* the domain */
	uint32_t key;
	uint64_t expected; /* the signature found, as a number */
	uint64_t actual;   /* the one calculated */
	uint64_t offset;   /* of the block, with the signatures before it */
};

#endif
