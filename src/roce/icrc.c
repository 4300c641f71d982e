/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arithmetic is on polynomials over GF(2) modulo that of CRC-32, as 32-bit numbers with x^0 in the highest
 * bit: the order in which the CRC takes the bits of a message.
 */
#include "roce/icrc.h"

#include <assert.h>
#include <endian.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <isa-l/crc.h>

#include "roce/crc_clmul.h"
#include "roce/crc_table.h"
#include "roce/header.h"
#include "roce/ip_header.h"
#include "util/api.h"

#define POLY 0xedb88320u
#define ONE  0x80000000u

enum {
	PSEUDO_LRH = 8, /* bytes of ones in place of a local routing header */
	MASKED = 4,     /* byte of the BTH that holds FECN and BECN */
	/* bytes between the IPv4 id and the BTH */
	AFTER_ID = ROCE_IPV4_BYTES - 6 + ROCE_UDP_BYTES,
	MAX_HEADERS = PSEUDO_LRH + ROCE_IPV6_BYTES + ROCE_UDP_BYTES,
	/* packet lengths, in words */
	LENGTHS = ROCE_MAX_PACKET / 4 + 1,
};

/* Constant after the first flow is initialized. */
static struct {
	pthread_once_t once;
	bool has_avx;
	bool has_clmul;
	bool isal_is_slow; /* for want of carry-less multiplication */
	/*
	 * By packet length. A flow's CRC covers its headers with length fields of 0. Since a CRC is linear, what
	 * the real lengths and the masked byte add to it is the same for all flows.
	 */
	uint32_t added_ipv4[LENGTHS], added_ipv6[LENGTHS];
	/* By packet length: x^(32 + 8 * (AFTER_ID + length)), the weight of the id's first byte; its inverse. */
	uint32_t power[LENGTHS], inverse[LENGTHS];
	/* Contributions of the high and the low byte of an id to a flow's CRC. */
	uint32_t id_high[256], id_low[256];
	struct roce_crc_table table; /* without carry-less multiplication */
} icrc_tables = { .once = PTHREAD_ONCE_INIT };

static inline uint32_t times_x(uint32_t a)
{
	return a >> 1 ^ (POLY & -(a & 1));
}

static inline uint32_t over_x(uint32_t a)
{
	uint32_t odd = a >> 31;

	return (a ^ (POLY & -odd)) << 1 | odd;
}

/* a * b, where only the `bits` highest bits of a are used. Without branches. */
static inline uint32_t times(uint32_t a, uint32_t b, int bits)
{
	uint32_t product = 0;

	for (int i = 0; i < bits; i++) {
		product ^= b & -(a >> (31 - i) & 1);
		b = times_x(b);
	}
	return product;
}

/*
 * ISA-L returns with the upper halves of vector registers in use, which makes every later SSE instruction
 * of the program slow: that costs up to four times as much as the CRC.
 */
static uint32_t crc32_long(uint32_t crc, const uint8_t *data, size_t len)
{
	if (unlikely(icrc_tables.isal_is_slow))
		return roce_crc_table_update(&icrc_tables.table, crc, data, len);
	crc = crc32_gzip_refl(crc, data, len);
#ifdef __x86_64__
	if (likely(icrc_tables.has_avx))
		__asm__ volatile("vzeroupper" ::
					 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
					   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
					   "xmm13", "xmm14", "xmm15");
#endif
	return crc;
}

/* `len` is a multiple of four. */
static inline uint32_t crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	if (len > ROCE_CRC_CLMUL_MAX)
		return crc32_long(crc, data, len);
	if (likely(icrc_tables.has_clmul))
		return roce_crc_clmul(crc, data, len);
	return roce_crc_table_words(&icrc_tables.table, crc, data, len);
}

/*
 * Writes pseudo LRH, IP and UDP header of a flow, with ones in the fields that may change on the way:
 * traffic class, TTL, flow label and checksums. Lengths are 0 when `udp_len` is. Returns the length.
 */
static size_t put_headers(uint8_t *out, const struct roce_addr *src, const struct roce_addr *dst,
			  uint16_t sport, uint16_t dport, uint16_t udp_len)
{
	const struct roce_ip fields = {
		.src = src->gid,
		.dst = dst->gid,
		.tclass = 0xff,
		.flow_label = 0xfffff,
		.ttl = 0xff,
		.proto = IPPROTO_UDP,
	};
	bool ipv4 = roce_addr_is_ipv4(src);
	uint8_t *ip = out + PSEUDO_LRH, *udp = ip + (ipv4 ? ROCE_IPV4_BYTES : ROCE_IPV6_BYTES);

	memset(out, 0xff, PSEUDO_LRH);
	if (ipv4) {
		roce_put_ipv4(ip, &fields, udp_len ? ROCE_IPV4_BYTES + udp_len : 0);
		roce_put16(ip + 10, 0xffff);
	} else {
		roce_put_ipv6(ip, &fields, udp_len);
	}
	roce_put16(udp, sport);
	roce_put16(udp + 2, dport);
	roce_put16(udp + 4, udp_len);
	roce_put16(udp + 6, 0xffff);
	return udp + ROCE_UDP_BYTES - out;
}

static void fill_added(const struct roce_addr *any, uint32_t added[LENGTHS])
{
	static const uint8_t zeros[ROCE_MAX_PACKET], masked[ROCE_BTH_BYTES] = { [MASKED] = 0xff };
	uint8_t head[MAX_HEADERS];
	uint32_t zero = crc32(0, head, put_headers(head, any, any, 0, 0, 0));

	zero = crc32(zero, zeros, ROCE_BTH_BYTES);
	for (size_t i = ROCE_BTH_BYTES / 4; i < LENGTHS; i++) {
		size_t len = i * 4;
		uint32_t crc = crc32(
			0, head,
			put_headers(head, any, any, 0, 0, ROCE_UDP_BYTES + len + ROCE_ICRC_BYTES));

		crc = crc32(crc, masked, sizeof(masked));
		if (len > sizeof(masked))
			crc = crc32(crc, zeros, len - sizeof(masked));
		added[i] = crc ^ zero;
		zero = crc32(zero, zeros, 4);
	}
}

/* The id's first byte has the higher power of x. */
static uint32_t id_term(size_t len, uint16_t id)
{
	uint32_t bytes = (uint32_t)(id >> 8) << 16 | (uint32_t)(id & 0xff) << 24;

	return times(bytes, icrc_tables.power[len / 4], 16);
}

static void fill_tables(void)
{
	static const struct roce_addr ipv4 = { .gid = { [10] = 0xff, 0xff } }, ipv6;
	uint32_t up = ONE, down = ONE;

	icrc_tables.has_clmul = roce_crc_clmul_supported();
#ifdef __x86_64__
	icrc_tables.has_avx = __builtin_cpu_supports("avx");
	icrc_tables.isal_is_slow = !icrc_tables.has_clmul;
#endif
	if (!icrc_tables.has_clmul)
		roce_crc_table_init(&icrc_tables.table);
	fill_added(&ipv4, icrc_tables.added_ipv4);
	fill_added(&ipv6, icrc_tables.added_ipv6);
	for (int i = 0; i < 32 + 8 * AFTER_ID; i++) {
		up = times_x(up);
		down = over_x(down);
	}
	for (size_t i = 0; i < LENGTHS; i++) {
		icrc_tables.power[i] = up;
		icrc_tables.inverse[i] = down;
		for (int bit = 0; bit < 32; bit++) {
			up = times_x(up);
			down = over_x(down);
		}
	}
	for (unsigned int byte = 0; byte < 256; byte++) {
		icrc_tables.id_high[byte] = id_term(0, byte << 8);
		icrc_tables.id_low[byte] = id_term(0, byte);
	}
}

void roce_icrc_flow_init(struct roce_icrc_flow *flow, const struct roce_addr *src,
			 const struct roce_addr *dst, uint16_t sport, uint16_t dport)
{
	uint8_t head[MAX_HEADERS];

	pthread_once(&icrc_tables.once, fill_tables);
	flow->ipv4 = roce_addr_is_ipv4(src);
	flow->crc = crc32(0, head, put_headers(head, src, dst, sport, dport, 0));
}

/* Slow path for packets with FECN or BECN: the byte counts as ones, whatever it holds. */
__attribute__((cold, noinline)) static uint32_t crc32_masked(uint32_t crc, const uint8_t *packet,
							     size_t len)
{
	uint8_t bth[ROCE_BTH_BYTES];

	memcpy(bth, packet, sizeof(bth));
	bth[MASKED] = 0;
	crc = crc32(crc, bth, sizeof(bth));
	return len > sizeof(bth) ? crc32(crc, packet + sizeof(bth), len - sizeof(bth)) : crc;
}

uint32_t roce_icrc_id_term(size_t len, uint16_t id)
{
	pthread_once(&icrc_tables.once, fill_tables);
	return id_term(len, id);
}

static inline uint32_t added(const struct roce_icrc_flow *flow, size_t len)
{
	assert(len >= ROCE_BTH_BYTES && len < ROCE_MAX_PACKET && !(len & 3));
	return (flow->ipv4 ? icrc_tables.added_ipv4 : icrc_tables.added_ipv6)[len / 4];
}

static inline uint32_t crc32_packet(const struct roce_icrc_flow *flow, const uint8_t *packet,
				    size_t len, uint16_t id)
{
	uint32_t crc = flow->crc;

	if (likely(flow->ipv4))
		crc ^= icrc_tables.id_high[id >> 8] ^ icrc_tables.id_low[id & 0xff];
	if (unlikely(packet[MASKED]))
		return crc32_masked(crc, packet, len);
	return crc32(crc, packet, len);
}

/* added() comes first, so that few registers are saved across the call of the CRC. */
uint32_t roce_icrc_compute(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
			   uint16_t id)
{
	uint32_t rest = added(flow, len);

	return crc32_packet(flow, packet, len, id) ^ rest;
}

/* Corrects the guess *id by what explains the difference of the ICRCs; false when no id does. */
static __attribute__((cold, noinline)) bool find_id(size_t len, uint32_t difference, uint16_t *id)
{
	uint32_t term = times(difference, icrc_tables.inverse[len / 4], 32);

	if (term & 0xffff)
		return false;
	*id ^= (term >> 16 & 0xff) << 8 | term >> 24;
	return true;
}

bool roce_icrc_check(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
		     uint16_t *id)
{
	uint32_t received, difference;

	len -= ROCE_ICRC_BYTES;
	memcpy(&received, packet + len, sizeof(received));
	difference = le32toh(received) ^ added(flow, len);
	difference ^= crc32_packet(flow, packet, len, *id);
	if (unlikely(!flow->ipv4)) {
		*id = 0;
		return !difference;
	}
	return likely(!difference) || find_id(len, difference, id);
}
