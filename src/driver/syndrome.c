/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/syndrome.h"

#include "util/api.h"

static const struct {
	uint8_t status, syndrome;
} syndromes[] = {
	{ HCA_LOC_LEN_ERR, 0x01 },    { HCA_LOC_QP_OP_ERR, 0x02 },
	{ HCA_LOC_PROT_ERR, 0x04 },   { HCA_WR_FLUSH_ERR, 0x05 },
	{ HCA_MW_BIND_ERR, 0x06 },    { HCA_BAD_RESP_ERR, 0x10 },
	{ HCA_LOC_ACCESS_ERR, 0x11 }, { HCA_REM_INV_REQ_ERR, 0x12 },
	{ HCA_REM_ACCESS_ERR, 0x13 }, { HCA_REM_OP_ERR, 0x14 },
	{ HCA_RETRY_EXC_ERR, 0x15 },  { HCA_RNR_RETRY_EXC_ERR, 0x16 },
	{ HCA_REM_ABORT_ERR, 0x22 },
};

uint8_t drv_syndrome(enum hca_status status)
{
	for (size_t i = 0; i < array_size(syndromes); i++)
		if (syndromes[i].status == status)
			return syndromes[i].syndrome;
	return 0xff;
}

enum ibv_wc_status drv_syndrome_status(uint8_t syndrome)
{
	for (size_t i = 0; i < array_size(syndromes); i++)
		if (syndromes[i].syndrome == syndrome)
			return (enum ibv_wc_status)syndromes[i].status;
	return IBV_WC_GENERAL_ERR;
}
