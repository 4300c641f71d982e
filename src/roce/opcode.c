/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/opcode.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define HAS(headers, one, bytes) (((headers) & (one)) ? (bytes) : 0)
#define LENGTH(h)                                                                                  \
	(ROCE_BTH_BYTES + HAS(h, ROCE_HDR_DETH, ROCE_DETH_BYTES) +                                 \
	 HAS(h, ROCE_HDR_DCETH, ROCE_DCETH_BYTES) + HAS(h, ROCE_HDR_XRCETH, ROCE_XRCETH_BYTES) +   \
	 HAS(h, ROCE_HDR_FETH, ROCE_FETH_BYTES) + HAS(h, ROCE_HDR_RETH, ROCE_RETH_BYTES) +         \
	 HAS(h, ROCE_HDR_ATOMICETH, ROCE_ATOMICETH_BYTES) +                                        \
	 HAS(h, ROCE_HDR_AETH, ROCE_AETH_BYTES) +                                                  \
	 HAS(h, ROCE_HDR_ATOMICACKETH, ROCE_ATOMICACKETH_BYTES) +                                  \
	 HAS(h, ROCE_HDR_IMMDT, ROCE_IMMDT_BYTES) + HAS(h, ROCE_HDR_IETH, ROCE_IETH_BYTES))

#define ROW(tr, op, h, msg_part, rule, req)                                                        \
	[ROCE_TR_##tr | ROCE_PKT_##op] = {                                                         \
		.name = #tr " " #op,                                                               \
		.headers = (h),                                                                    \
		.length = LENGTH(h),                                                               \
		.part = (msg_part),                                                                \
		.payload = ROCE_PAYLOAD_##rule,                                                    \
		.request = (req),                                                                  \
	}
#define REQUEST(tr, op, h, part, rule)  ROW(tr, op, h, part, rule, true)
#define RESPONSE(tr, op, h, part, rule) ROW(tr, op, h, part, rule, false)

#define ONLY   (ROCE_FIRST | ROCE_LAST)
#define MIDDLE 0
#define RETH   ROCE_HDR_RETH
#define ATOMIC ROCE_HDR_ATOMICETH
#define AETH   ROCE_HDR_AETH
#define IMM    ROCE_HDR_IMMDT
#define IETH   ROCE_HDR_IETH
#define DETH   ROCE_HDR_DETH

/* Opcodes of RC, UC, XRC and DC; `x` is the extension header of every XRC or DC request. */
#define SEND_AND_WRITE(tr, x)                                                                      \
	REQUEST(tr, SEND_FIRST, x, ROCE_FIRST, FULL), REQUEST(tr, SEND_MIDDLE, x, MIDDLE, FULL),   \
		REQUEST(tr, SEND_LAST, x, ROCE_LAST, SOME),                                        \
		REQUEST(tr, SEND_LAST_IMM, (x) | IMM, ROCE_LAST, SOME),                            \
		REQUEST(tr, SEND_ONLY, x, ONLY, ANY),                                              \
		REQUEST(tr, SEND_ONLY_IMM, (x) | IMM, ONLY, ANY),                                  \
		REQUEST(tr, WRITE_FIRST, (x) | RETH, ROCE_FIRST, FULL),                            \
		REQUEST(tr, WRITE_MIDDLE, x, MIDDLE, FULL),                                        \
		REQUEST(tr, WRITE_LAST, x, ROCE_LAST, SOME),                                       \
		REQUEST(tr, WRITE_LAST_IMM, (x) | IMM, ROCE_LAST, SOME),                           \
		REQUEST(tr, WRITE_ONLY, (x) | RETH, ONLY, ANY),                                    \
		REQUEST(tr, WRITE_ONLY_IMM, (x) | RETH | IMM, ONLY, ANY)

/* Opcodes of the reliable transports RC, XRC and DC. */
#define RELIABLE(tr, x)                                                                            \
	SEND_AND_WRITE(tr, x), REQUEST(tr, READ_REQUEST, (x) | RETH, ONLY, NONE),                  \
		RESPONSE(tr, READ_RESP_FIRST, AETH, ROCE_FIRST, FULL),                             \
		RESPONSE(tr, READ_RESP_MIDDLE, 0, MIDDLE, FULL),                                   \
		RESPONSE(tr, READ_RESP_LAST, AETH, ROCE_LAST, SOME),                               \
		RESPONSE(tr, READ_RESP_ONLY, AETH, ONLY, ANY),                                     \
		RESPONSE(tr, ACK, AETH, ONLY, NONE),                                               \
		RESPONSE(tr, ATOMIC_ACK, AETH | ROCE_HDR_ATOMICACKETH, ONLY, NONE),                \
		REQUEST(tr, CMP_SWAP, (x) | ATOMIC, ONLY, NONE),                                   \
		REQUEST(tr, FETCH_ADD, (x) | ATOMIC, ONLY, NONE),                                  \
		REQUEST(tr, SEND_LAST_INV, (x) | IETH, ROCE_LAST, SOME),                           \
		REQUEST(tr, SEND_ONLY_INV, (x) | IETH, ONLY, ANY),                                 \
		REQUEST(tr, FLUSH, (x) | ROCE_HDR_FETH | RETH, ONLY, NONE),                        \
		REQUEST(tr, ATOMIC_WRITE, (x) | RETH, ONLY, WORD),                                 \
		REQUEST(tr, MASKED_ATOMIC, (x) | RETH, ONLY, ARGS)

_Static_assert(LENGTH(ROCE_HDR_DCETH | ATOMIC) == ROCE_MAX_HEADER,
	       "ROCE_MAX_HEADER is the longest");

const struct roce_opcode_info roce_opcode_table[256] = {
	RELIABLE(RC, 0),
	SEND_AND_WRITE(UC, 0),
	REQUEST(UD, SEND_ONLY, DETH, ONLY, ANY),
	REQUEST(UD, SEND_ONLY_IMM, DETH | IMM, ONLY, ANY),
	RELIABLE(XRC, ROCE_HDR_XRCETH),
	RELIABLE(DC, ROCE_HDR_DCETH),
	[ROCE_OP_CNP] = {
		.name = "CNP",
		.length = ROCE_BTH_BYTES,
		.part = ONLY,
		.payload = ROCE_PAYLOAD_CNP,
	},
};

const struct roce_payload_range roce_payload_ranges[] = {
	[ROCE_PAYLOAD_NONE] = { 0, 0, false },
	[ROCE_PAYLOAD_FULL] = { 256, ROCE_MAX_PAYLOAD, true },
	[ROCE_PAYLOAD_SOME] = { 1, ROCE_MAX_PAYLOAD, false },
	[ROCE_PAYLOAD_ANY] = { 0, ROCE_MAX_PAYLOAD, false },
	[ROCE_PAYLOAD_CNP] = { ROCE_CNP_BYTES, ROCE_CNP_BYTES, false },
	[ROCE_PAYLOAD_WORD] = { 8, 8, false },
	[ROCE_PAYLOAD_ARGS] = { ROCE_MASKED_ADD_BYTES, ROCE_MASKED_SWAP_BYTES, false },
};

/* Ignores case, and treats a blank as an underscore. */
static bool same(const char *name, const char *text)
{
	for (; *name && *text; name++, text++) {
		int a = *name == ' ' ? '_' : toupper((unsigned char)*name);
		int b = *text == ' ' ? '_' : toupper((unsigned char)*text);

		if (a != b)
			return false;
	}
	return *name == *text;
}

int roce_opcode_parse(const char *text, uint8_t *op, bool *any_transport)
{
	for (unsigned int i = 0; i < 256; i++) {
		const char *name = roce_opcode_table[i].name;
		const char *bare = name ? strchr(name, ' ') : NULL;

		if (!name)
			continue;
		if (same(name, text)) {
			*op = i;
			*any_transport = false;
			return 0;
		}
		if (bare && same(bare + 1, text)) {
			*op = i & ROCE_PKT_OPCODE_MASK;
			*any_transport = true;
			return 0;
		}
	}
	return -ENOENT;
}
