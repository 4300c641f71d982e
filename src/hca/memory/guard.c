/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/guard.h"

#include <byteswap.h>
#include <endian.h>
#include <isa-l/crc.h>
#include <limits.h>
#include <string.h>

#include "util/api.h"
#include "util/copy.h"
#include "util/crc64.h"
#include "util/vector.h"

/*
 * The CRCs of 32 and 64 bits are inverted at the end, whatever they started from: memory of zeros
 * with a CRC of zero is wrong for every start value.
 */
void guard_start(struct guard *g, enum hca_sig_kind kind, bool ones)
{
	*g = (struct guard){ .kind = kind };
	switch (kind) {
	case HCA_SIG_DIF_CRC:
	case HCA_SIG_DIF_CSUM:
		g->value = ones ? UINT16_MAX : 0;
		break;
	case HCA_SIG_CRC32: /* ISA-L inverts before and after */
		g->value = ones ? 0 : UINT32_MAX;
		break;
	case HCA_SIG_CRC32C:
		g->value = ones ? UINT32_MAX : 0;
		break;
	case HCA_SIG_CRC64:
		g->value = ones ? UINT64_MAX : 0;
		break;
	case HCA_SIG_NONE:
		break;
	}
}

static uint64_t fold16(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & UINT16_MAX) + (sum >> 16);
	return (sum & UINT16_MAX) + (sum >> 16);
}

/*
 * The sum in ones' complement of 16-bit words (RFC 1071). The order of bytes in a word does not
 * matter until the end, so words of this machine are added, four at a time.
 */
static uint64_t sum_words(const uint8_t *p, size_t len)
{
	uint64_t sum = 0, word = 0;

	for (; len >= 4; p += 4, len -= 4) {
		uint32_t next;

		memcpy(&next, p, sizeof(next));
		sum += next;
	}
	memcpy(&word, p, len);
	sum = fold16(sum + word);
	return be16toh((uint16_t)sum);
}

static void add_words(struct guard *g, const uint8_t *p, size_t len)
{
	uint64_t sum = sum_words(p, len);

	if (g->odd)
		sum = bswap_16((uint16_t)sum);
	g->value = fold16(g->value + fold16(sum));
	g->odd ^= len & 1;
}

/* ISA-L's function takes an int for the length. */
static uint32_t crc32c(uint32_t crc, const uint8_t *p, size_t len)
{
	for (size_t n; len; p += n, len -= n) {
		n = len < INT_MAX ? len : INT_MAX;
		crc = crc32_iscsi((unsigned char *)p, (int)n, crc); /* does not write to it */
	}
	return crc;
}

void guard_add(struct guard *g, const void *data, size_t len)
{
	switch ((enum hca_sig_kind)g->kind) {
	case HCA_SIG_DIF_CRC:
		g->value = crc16_t10dif((uint16_t)g->value, data, len);
		break;
	case HCA_SIG_DIF_CSUM:
		add_words(g, data, len);
		break;
	case HCA_SIG_CRC32:
		g->value = crc32_gzip_refl((uint32_t)g->value, data, len);
		break;
	case HCA_SIG_CRC32C:
		g->value = crc32c((uint32_t)g->value, data, len);
		break;
	case HCA_SIG_CRC64:
		g->value = crc64_xp10(g->value, data, len);
		break;
	case HCA_SIG_NONE:
		break;
	}
	vector_clear_upper();
}

void guard_add_copy(struct guard *g, void *to, const void *data, size_t len)
{
	/* ISA-L does not write to the data. */
	if (g->kind == HCA_SIG_DIF_CRC) {
		g->value = crc16_t10dif_copy((uint16_t)g->value, to, (uint8_t *)data, len);
		vector_clear_upper();
		return;
	}
	vb_copy(to, data, len);
	if (g->kind == HCA_SIG_CRC32C) { /* frequent, and short enough for the jump to count */
		g->value = crc32c((uint32_t)g->value, data, len);
		vector_clear_upper();
		return;
	}
	guard_add(g, data, len);
}

uint64_t guard_value(const struct guard *g)
{
	switch ((enum hca_sig_kind)g->kind) {
	case HCA_SIG_DIF_CSUM:
		return ~g->value & UINT16_MAX;
	case HCA_SIG_CRC32C:
		return ~g->value & UINT32_MAX;
	case HCA_SIG_CRC64:
		return ~g->value;
	default:
		return g->value;
	}
}

uint64_t guard_save(const struct guard *g)
{
	switch ((enum hca_sig_kind)g->kind) {
	case HCA_SIG_DIF_CRC:
	case HCA_SIG_DIF_CSUM:
		return g->value << 48;
	case HCA_SIG_CRC32:
		return (~g->value & UINT32_MAX) << 32;
	case HCA_SIG_CRC32C:
		return g->value << 32;
	default:
		return g->value;
	}
}

void guard_load(struct guard *g, enum hca_sig_kind kind, uint64_t saved)
{
	guard_start(g, kind, false);
	switch (kind) {
	case HCA_SIG_DIF_CRC:
	case HCA_SIG_DIF_CSUM:
		g->value = saved >> 48;
		break;
	case HCA_SIG_CRC32:
		g->value = ~(saved >> 32) & UINT32_MAX;
		break;
	case HCA_SIG_CRC32C:
		g->value = saved >> 32;
		break;
	default:
		g->value = saved;
		break;
	}
}
