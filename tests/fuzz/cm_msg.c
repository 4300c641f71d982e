/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whatever comes to queue pair 1: a MAD read as every message of the communication manager, and the
 * IP addressing headers in it.
 *
 * Input: the MAD, with zeros after its end when it is short.
 */
#include <netinet/in.h>
#include <string.h>

#include "cm/ip_header.h"
#include "cm/msg.h"
#include "fuzz.h"

#define TID 0x0123456789abcdef

/* Where the private data of REQ and SIDR_REQ begins. */
enum {
	REQ_PRIVATE = 164,
	SIDR_REQ_PRIVATE = 40,
};

static void check_head(const uint8_t *mad, enum msg_kind kind)
{
	struct msg_head head;

	CHECK(msg_get_head(mad, &head));
	CHECK(head.kind == kind && head.tid == TID);
}

/* A message that was read and written again has the same fields when it is read, and the same bytes. */
#define CHECK_AGAIN(name, kind)                                                                    \
	static void check_##name(const uint8_t *mad)                                               \
	{                                                                                          \
		uint8_t first[MSG_BYTES], second[MSG_BYTES];                                       \
		struct msg_##name m, again;                                                        \
                                                                                                   \
		msg_get_##name(mad, &m);                                                           \
		msg_put_##name(&m, TID, first);                                                    \
		check_head(first, kind);                                                           \
		msg_get_##name(first, &again);                                                     \
		CHECK(!memcmp(&m, &again, sizeof(m)));                                             \
		msg_put_##name(&again, TID, second);                                               \
		CHECK(!memcmp(first, second, MSG_BYTES));                                          \
	}
CHECK_AGAIN(req, MSG_REQ)
CHECK_AGAIN(rep, MSG_REP)
CHECK_AGAIN(mra, MSG_MRA)
CHECK_AGAIN(rej, MSG_REJ)
CHECK_AGAIN(dreq, MSG_DREQ)
CHECK_AGAIN(lap, MSG_LAP)
CHECK_AGAIN(apr, MSG_APR)
CHECK_AGAIN(sidr_req, MSG_SIDR_REQ)
CHECK_AGAIN(sidr_rep, MSG_SIDR_REP)

static void check_rtu(const uint8_t *mad, enum msg_kind kind)
{
	struct msg_rtu m, again;
	uint8_t out[MSG_BYTES];

	msg_get_rtu(mad, &m);
	msg_put_rtu(&m, kind, TID, out);
	check_head(out, kind);
	msg_get_rtu(out, &again);
	CHECK(!memcmp(&m, &again, sizeof(m)));
	/* A RTU and a DREP have no reserved bits. */
	CHECK(!memcmp(out + 24, mad + 24, MSG_BYTES - 24));
}

static void check_info(const uint8_t *mad)
{
	struct msg_sidr_rep sidr_rep;
	struct msg_rej rej;
	struct msg_apr apr;

	msg_get_rej(mad, &rej);
	CHECK(rej.info_len <= sizeof(rej.info));
	msg_get_apr(mad, &apr);
	CHECK(apr.info_len <= sizeof(apr.info));
	msg_get_sidr_rep(mad, &sidr_rep);
	CHECK(sidr_rep.info_len <= sizeof(sidr_rep.info));
}

static void check_ip_header(const uint8_t *in)
{
	struct sockaddr_storage src, dst, src_again, dst_again;
	uint8_t out[IP_HEADER_BYTES];

	if (!ip_header_get(in, 4791, &src, &dst)) {
		CHECK(in[0] || (in[1] >> 4 != 4 && in[1] >> 4 != 6));
		return;
	}
	CHECK(src.ss_family == AF_INET || src.ss_family == AF_INET6);
	CHECK(src.ss_family == dst.ss_family);
	ip_header_put((struct sockaddr *)&src, (struct sockaddr *)&dst, out);
	CHECK(out[0] == in[0] && out[1] >> 4 == in[1] >> 4);
	CHECK(!memcmp(out + 2, in + 2, 2));
	CHECK(ip_header_get(out, 4791, &src_again, &dst_again));
	CHECK(!memcmp(&src, &src_again, sizeof(src)) && !memcmp(&dst, &dst_again, sizeof(dst)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly a MAD, so that the sanitizer sees a read beyond it. */
	uint8_t *mad = calloc(1, MSG_BYTES);
	struct msg_head head;

	memcpy(mad, data, size < MSG_BYTES ? size : MSG_BYTES);
	if (msg_get_head(mad, &head))
		CHECK(head.kind == (mad[16] << 8 | mad[17]));
	check_req(mad);
	check_rep(mad);
	check_mra(mad);
	check_rej(mad);
	check_dreq(mad);
	check_lap(mad);
	check_apr(mad);
	check_sidr_req(mad);
	check_sidr_rep(mad);
	check_rtu(mad, MSG_RTU);
	check_rtu(mad, MSG_DREP);
	check_info(mad);
	check_ip_header(mad);
	check_ip_header(mad + REQ_PRIVATE);
	check_ip_header(mad + SIDR_REQ_PRIVATE);
	free(mad);
	return 0;
}
