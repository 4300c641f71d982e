/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polynomials over GF(2) modulo that of CRC-32, as 32-bit numbers with x^0 in the highest bit: the
 * order in which the CRC takes the bits of a message.
 */
#include "roce/icrc.h"

#include <assert.h>
#include <endian.h>
#include <pthread.h>
#include <string.h>
#include <isa-l/crc.h>

#include "roce/fold.h"
#include "roce/opcode.h"
#include "roce/slice.h"
#include "util/api.h"

#define POLY 0xedb88320u
#define ONE  0x80000000u

enum {
	ONES = 8,
	IPV4 = 20,
	IPV6 = 40,
	UDP = 8,
	PROTO_UDP = 17,
	MASKED = 4, /* the byte of the BTH that holds FECN and BECN */
	/* between the IPv4 id and the BTH */
	BEHIND_ID = IPV4 - 6 + UDP,
};

#define CLASSES (ROCE_MAX_PACKET / 4 + 1)

/*
 * By length of the packet in words. A flow's CRC is that of its headers with lengths of 0, carried
 * on over the packet as it is: what the real lengths and the masked byte add is the same for all
 * flows, since a CRC is linear.
 */
static uint32_t added_ipv4[CLASSES], added_ipv6[CLASSES];
/* The weight of the IPv4 id's first byte: x^n for n = 32 + 8 * (BEHIND_ID + length), and its inverse. */
static uint32_t power[CLASSES], inverse[CLASSES];
/* What the bytes of an id add to a flow's CRC. */
static uint32_t by_high[256], by_low[256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
static bool has_avx;
static bool by_table; /* the CPU has no carry-less multiplication */
static bool has_fold;

static inline uint32_t times_x(uint32_t a)
{
	return a >> 1 ^ (POLY & -(a & 1));
}

static inline uint32_t over_x(uint32_t a)
{
	uint32_t odd = a >> 31;

	return (a ^ (POLY & -odd)) << 1 | odd;
}

/* a * b, where only the `bits` highest of a count. No branch to mispredict. */
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
 * ISA-L returns with the upper halves of vector registers in use, after which every SSE instruction
 * of the whole program is slow: four times the price of the CRC itself was measured here alone.
 */
static uint32_t crc32_long(uint32_t crc, const uint8_t *data, size_t len)
{
	if (unlikely(by_table))
		return roce_slice_crc32(crc, data, len);
	crc = crc32_gzip_refl(crc, data, len);
#ifdef __x86_64__
	if (likely(has_avx))
		__asm__ volatile("vzeroupper" ::
					 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
					   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
					   "xmm13", "xmm14", "xmm15");
#endif
	return crc;
}

/* Of whole words. Requests, acknowledgements and small messages are short ones. */
static inline uint32_t crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	if (len > ROCE_FOLD_MOST)
		return crc32_long(crc, data, len);
	if (likely(has_fold))
		return roce_fold_crc32(crc, data, len);
	return roce_slice_words(crc, data, len);
}

static inline void put16(uint8_t *to, uint16_t v)
{
	to[0] = v >> 8;
	to[1] = v;
}

/* Ones, IP and UDP header of a flow; what may change on the way is ones, too. Returns the length.
 */
static size_t put_headers(uint8_t *out, const struct roce_addr *src, const struct roce_addr *dst,
			  uint16_t sport, uint16_t dport, uint16_t udp_len)
{
	bool ipv4 = roce_addr_is_ipv4(src);
	uint8_t *ip = out + ONES, *udp = ip + (ipv4 ? IPV4 : IPV6);

	memset(out, 0xff, ONES + IPV6 + UDP);
	if (ipv4) {
		/* TOS, TTL and check sum stay ones. */
		ip[0] = 0x45;
		put16(ip + 2, udp_len ? IPV4 + udp_len : 0);
		put16(ip + 4, 0);
		put16(ip + 6, 0x4000); /* don't fragment */
		ip[9] = PROTO_UDP;
		memcpy(ip + 12, src->gid + 12, 4);
		memcpy(ip + 16, dst->gid + 12, 4);
	} else {
		/* Traffic class, flow label and hop limit stay ones. */
		ip[0] = 0x6f;
		put16(ip + 4, udp_len);
		ip[6] = PROTO_UDP;
		memcpy(ip + 8, src->gid, 16);
		memcpy(ip + 24, dst->gid, 16);
	}
	put16(udp, sport);
	put16(udp + 2, dport);
	put16(udp + 4, udp_len);
	return udp + UDP - out;
}

static void fill_added(const struct roce_addr *any, uint32_t added[CLASSES])
{
	static const uint8_t nothing[ROCE_MAX_PACKET], masked[ROCE_BTH_BYTES] = { [MASKED] = 0xff };
	uint8_t head[ONES + IPV6 + UDP];
	uint32_t zero = crc32(0, head, put_headers(head, any, any, 0, 0, 0));

	zero = crc32(zero, nothing, ROCE_BTH_BYTES);
	for (size_t class = ROCE_BTH_BYTES / 4; class < CLASSES; class ++) {
		size_t len = class * 4;
		uint32_t crc = crc32(
			0, head, put_headers(head, any, any, 0, 0, UDP + len + ROCE_ICRC_BYTES));

		crc = crc32(crc, masked, sizeof(masked));
		if (len > sizeof(masked))
			crc = crc32(crc, nothing, len - sizeof(masked));
		added[class] = crc ^ zero;
		zero = crc32(zero, nothing, 4);
	}
}

/* The id's two bytes, the first of which is the CRC's higher power. */
static uint32_t id_term(size_t len, uint16_t id)
{
	return times((uint32_t)(id >> 8) << 16 | (uint32_t)(id & 0xff) << 24, power[len / 4], 16);
}

static void fill_tables(void)
{
	static const struct roce_addr ipv4 = { .gid = { [10] = 0xff, 0xff } }, ipv6;
	uint32_t up = ONE, down = ONE;

#ifdef __x86_64__
	has_avx = __builtin_cpu_supports("avx");
	by_table = !__builtin_cpu_supports("pclmul");
#endif
	has_fold = roce_fold_init();
	if (!has_fold)
		roce_slice_init();
	fill_added(&ipv4, added_ipv4);
	fill_added(&ipv6, added_ipv6);
	for (int i = 0; i < 32 + 8 * BEHIND_ID; i++) {
		up = times_x(up);
		down = over_x(down);
	}
	for (size_t class = 0; class < CLASSES; class ++) {
		power[class] = up;
		inverse[class] = down;
		for (int i = 0; i < 32; i++) {
			up = times_x(up);
			down = over_x(down);
		}
	}
	for (unsigned int byte = 0; byte < 256; byte++) {
		by_high[byte] = id_term(0, byte << 8);
		by_low[byte] = id_term(0, byte);
	}
}

void roce_icrc_flow_init(struct roce_icrc_flow *flow, const struct roce_addr *src,
			 const struct roce_addr *dst, uint16_t sport, uint16_t dport)
{
	uint8_t head[ONES + IPV6 + UDP];

	pthread_once(&tables_once, fill_tables);
	flow->ipv4 = roce_addr_is_ipv4(src);
	flow->crc = crc32(0, head, put_headers(head, src, dst, sport, dport, 0));
}

/* A router was here, or wants us to slow down: the byte counts as ones, whatever it holds. */
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
	pthread_once(&tables_once, fill_tables);
	return id_term(len, id);
}

static inline uint32_t added(const struct roce_icrc_flow *flow, size_t len)
{
	assert(len >= ROCE_BTH_BYTES && len < ROCE_MAX_PACKET && !(len & 3));
	return (flow->ipv4 ? added_ipv4 : added_ipv6)[len / 4];
}

static inline uint32_t crc32_packet(const struct roce_icrc_flow *flow, const uint8_t *packet,
				    size_t len, uint16_t id)
{
	uint32_t crc = flow->crc;

	if (likely(flow->ipv4))
		crc ^= by_high[id >> 8] ^ by_low[id & 0xff];
	if (unlikely(packet[MASKED]))
		return crc32_masked(crc, packet, len);
	return crc32(crc, packet, len);
}

/* What depends on the length comes first: then little has to be kept over the call. */
uint32_t roce_icrc_compute(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
			   uint16_t id)
{
	uint32_t rest = added(flow, len);

	return crc32_packet(flow, packet, len, id) ^ rest;
}

/* By how much the guess was wrong; false when no id explains the difference. */
static __attribute__((cold, noinline)) bool find_id(size_t len, uint32_t difference, uint16_t *id)
{
	uint32_t term = times(difference, inverse[len / 4], 32);

	if (term & 0xffff)
		return false;
	*id ^= (term >> 16 & 0xff) << 8 | term >> 24;
	return true;
}

bool roce_icrc_check(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
		     uint16_t *id)
{
	uint32_t came, difference;

	len -= ROCE_ICRC_BYTES;
	memcpy(&came, packet + len, sizeof(came));
	difference = le32toh(came) ^ added(flow, len);
	difference ^= crc32_packet(flow, packet, len, *id);
	if (unlikely(!flow->ipv4)) {
		*id = 0;
		return !difference;
	}
	return likely(!difference) || find_id(len, difference, id);
}
