/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/decode.h"

enum roce_drop roce_decode(const uint8_t *data, size_t len, struct roce_pkt *out,
			   struct roce_payload *payload)
{
	return roce_decode_inline(data, len, out, payload);
}
