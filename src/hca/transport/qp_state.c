/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/qp_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/explain.h"

#define PKEY   HCA_QPM_PKEY_INDEX
#define PORT   HCA_QPM_PORT
#define QKEY   HCA_QPM_QKEY
#define ACCESS HCA_QPM_ACCESS
#define AV     HCA_QPM_AV
#define MTU    HCA_QPM_PATH_MTU
#define DQPN   HCA_QPM_DEST_QPN
#define RQPSN  HCA_QPM_RQ_PSN
#define SQPSN  HCA_QPM_SQ_PSN
#define RDDST  HCA_QPM_MAX_DEST_RD_ATOMIC
#define RDSRC  HCA_QPM_MAX_RD_ATOMIC
#define MINRNR HCA_QPM_MIN_RNR_TIMER
#define TMO    HCA_QPM_TIMEOUT
#define RETRY  HCA_QPM_RETRY_CNT
#define RNR    HCA_QPM_RNR_RETRY
#define ALT    HCA_QPM_ALT_PATH
#define MIG    HCA_QPM_PATH_MIG_STATE
#define CUR    HCA_QPM_CUR_STATE
#define NOTIFY HCA_QPM_EN_SQD_NOTIFY
#define RATE   HCA_QPM_RATE_LIMIT

/* Which types a row speaks of. */
#define T(type) (1u << (type))
#define RC      T(HCA_QP_RC)
#define UC      T(HCA_QP_UC)
#define UD      T(HCA_QP_UD)
#define XS      T(HCA_QP_XRC_SEND)
#define XR      T(HCA_QP_XRC_RECV)
#define RAW     T(HCA_QP_RAW)
#define DCI     T(HCA_QP_DCI)
#define DCT     T(HCA_QP_DCT)
#define ALL     (RC | UC | UD | XS | XR | RAW | DCI)

#define S(state) HCA_QPS_##state

static const struct edge {
	uint8_t from, to;
	uint32_t types;
	uint32_t must, may;
} edges[] = {
	{ S(RESET), S(RESET), ALL, 0, 0 },
	{ S(RESET), S(INIT), UD, PKEY | PORT | QKEY, 0 },
	{ S(RESET), S(INIT), RC | UC | XS | XR, PKEY | PORT | ACCESS, 0 },
	{ S(RESET), S(INIT), RAW, PORT, 0 },
	{ S(RESET), S(INIT), DCI, PKEY | PORT, ACCESS },
	{ S(RESET), S(INIT), DCT, PKEY | PORT | ACCESS, 0 },

	{ S(INIT), S(RESET), ALL, 0, 0 },
	{ S(INIT), S(ERR), ALL, 0, 0 },
	{ S(INIT), S(INIT), UD, 0, PKEY | PORT | QKEY },
	{ S(INIT), S(INIT), RC | UC | XS | XR, 0, PKEY | PORT | ACCESS },
	{ S(INIT), S(INIT), RAW, 0, 0 },
	{ S(INIT), S(RTR), UD, 0, PKEY | QKEY },
	{ S(INIT), S(RTR), UC | XS, AV | MTU | DQPN | RQPSN, ALT | ACCESS | PKEY },
	{ S(INIT), S(RTR), RC | XR, AV | MTU | DQPN | RQPSN | RDDST | MINRNR, ALT | ACCESS | PKEY },
	{ S(INIT), S(INIT), DCI, 0, PKEY | PORT | ACCESS },
	{ S(INIT), S(RTR), RAW, 0, 0 },
	{ S(INIT), S(RTR), DCI, MTU, PKEY | AV },
	{ S(INIT), S(RTR), DCT, AV | MTU | MINRNR, 0 },

	{ S(RTR), S(RESET), ALL, 0, 0 },
	{ S(RTR), S(ERR), ALL, 0, 0 },
	{ S(RTR), S(RTS), UD, SQPSN, CUR | QKEY },
	{ S(RTR), S(RTS), UC, SQPSN, CUR | ALT | ACCESS | MIG },
	{ S(RTR), S(RTS), RC, TMO | RETRY | RNR | SQPSN | RDSRC,
	  CUR | ALT | ACCESS | MINRNR | MIG },
	{ S(RTR), S(RTS), XS, TMO | RETRY | RNR | SQPSN | RDSRC, CUR | ALT | ACCESS | MIG },
	{ S(RTR), S(RTS), XR, TMO | SQPSN, CUR | ALT | ACCESS | MINRNR | MIG },
	{ S(RTR), S(RTS), RAW, 0, RATE },
	{ S(RTR), S(RTS), DCI, TMO | RETRY | RNR | SQPSN | RDSRC, MINRNR },

	{ S(RTS), S(RESET), ALL, 0, 0 },
	{ S(RTS), S(ERR), ALL, 0, 0 },
	{ S(RTS), S(RTS), UD, 0, CUR | QKEY },
	{ S(RTS), S(RTS), UC | XS, 0, CUR | ACCESS | ALT | MIG },
	{ S(RTS), S(RTS), RC | XR, 0, CUR | ACCESS | ALT | MIG | MINRNR },
	{ S(RTS), S(RTS), RAW, 0, RATE },
	{ S(RTS), S(RTS), DCI, 0, MINRNR },
	{ S(RTS), S(SQD), ALL & ~(RAW | DCI), 0, NOTIFY },
	{ S(RTS), S(SQD), RAW, 0, 0 },

	{ S(SQD), S(RESET), ALL, 0, 0 },
	{ S(SQD), S(ERR), ALL, 0, 0 },
	{ S(SQD), S(RTS), UD, 0, CUR | QKEY },
	{ S(SQD), S(RTS), UC | XS, 0, CUR | ALT | ACCESS | MIG },
	{ S(SQD), S(RTS), RC | XR, 0, CUR | ALT | ACCESS | MINRNR | MIG },
	{ S(SQD), S(RTS), RAW, 0, 0 },
	{ S(SQD), S(SQD), UD, 0, PKEY | QKEY },
	{ S(SQD), S(SQD), RAW, 0, 0 },
	{ S(SQD), S(SQD), UC, 0, AV | ALT | ACCESS | PKEY | MIG },
	{ S(SQD), S(SQD), RC, 0,
	  PORT | AV | TMO | RETRY | RNR | RDSRC | RDDST | ALT | ACCESS | PKEY | MINRNR | MIG },
	{ S(SQD), S(SQD), XS, 0,
	  PORT | AV | TMO | RETRY | RNR | RDSRC | ALT | ACCESS | PKEY | MIG },
	{ S(SQD), S(SQD), XR, 0, PORT | AV | TMO | RDDST | ALT | ACCESS | PKEY | MINRNR | MIG },

	{ S(SQE), S(RESET), ALL, 0, 0 },
	{ S(SQE), S(ERR), ALL, 0, 0 },
	{ S(SQE), S(RTS), UD, 0, CUR | QKEY },
	{ S(SQE), S(RTS), UC, 0, CUR | ACCESS },
	{ S(SQE), S(RTS), RAW, 0, 0 },

	{ S(ERR), S(RESET), ALL, 0, 0 },
	{ S(ERR), S(ERR), ALL, 0, 0 },
};

const char *qp_state_name(enum hca_qp_state state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return (size_t)state < array_size(names) ? names[state] : "?";
}

static const char *mask_names(uint32_t mask, char *buf, size_t size)
{
	/* clang-format off */
	static const char *const names[] = {
		"STATE",	  "CUR_STATE",	 "EN_SQD_ASYNC_NOTIFY", "ACCESS_FLAGS",
		"PKEY_INDEX",	  "PORT",	 "QKEY",		"AV",
		"PATH_MTU",	  "TIMEOUT",	 "RETRY_CNT",		"RNR_RETRY",
		"RQ_PSN",	  "MAX_QP_RD_ATOMIC", "ALT_PATH",	"MIN_RNR_TIMER",
		"SQ_PSN",	  "MAX_DEST_RD_ATOMIC", "PATH_MIG_STATE", "CAP",
		"DEST_QPN",
	};
	/* clang-format on */

	buf[0] = 0;
	for (size_t i = 0; i < 32; i++) {
		size_t used = strlen(buf);

		if (!(mask & 1u << i))
			continue;
		if (i < array_size(names))
			snprintf(buf + used, size - used, "%s%s", used ? " " : "", names[i]);
		else
			snprintf(buf + used, size - used, "%sbit %zu", used ? " " : "", i);
	}
	return buf;
}

int qp_state_check(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to,
		   uint32_t mask)
{
	char missing[256], extra[256];

	for (size_t i = 0; i < array_size(edges); i++) {
		const struct edge *e = &edges[i];
		uint32_t lacks, odd;

		if (e->from != from || e->to != to || !(e->types & T(type)))
			continue;
		lacks = e->must & ~mask;
		odd = mask & ~(e->must | e->may | HCA_QPM_STATE);
		if (!lacks && !odd)
			return 0;
		if (lacks)
			return explain(EINVAL, "%s to %s also needs: %s", qp_state_name(from),
				       qp_state_name(to),
				       mask_names(lacks, missing, sizeof(missing)));
		return explain(EINVAL, "%s to %s does not take: %s", qp_state_name(from),
			       qp_state_name(to), mask_names(odd, extra, sizeof(extra)));
	}
	return explain(EINVAL, "a queue pair of this type does not go from %s to %s",
		       qp_state_name(from), qp_state_name(to));
}
