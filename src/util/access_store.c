/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes stores of x86-64: the encoding is in volume 2 of the processor's manual (2.1 legacy prefixes, ModRM and SIB;
 * 2.3 VEX; 2.7 EVEX), the layout of saved vector registers in volume 1, 13.4.
 */
#include "util/access_store.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__

#include <cpuid.h>

#include "util/access.h"
#include "util/access_x86.h"

#define XSTATE_MAGIC 0x46505853u
#define XSTATE_SSE   (1u << 1)
#define XSTATE_UPPER (1u << 7)

/* As VEX and EVEX encode them. */
enum prefix { PREFIX_NONE, PREFIX_66, PREFIX_F3, PREFIX_F2 };

struct instruction {
	const uint8_t *start, *at;
	bool is_vector, is_evex;
	uint8_t prefix; /* enum prefix */
	uint8_t opcode;
	uint8_t reg, base, index; /* extensions of ModRM's and SIB's fields: 0, 8, 16 */
	uint8_t vector_size;      /* bytes */
};

/* ---- prefixes and opcode ---- */

static void take_vex(struct instruction *i, bool is_long)
{
	uint8_t first = *i->at++, last = is_long ? *i->at++ : first;

	i->reg = first & 0x80 ? 0 : 8;
	if (is_long) {
		i->index = first & 0x40 ? 0 : 8;
		i->base = first & 0x20 ? 0 : 8;
	}
	i->is_vector = !is_long || (first & 0x1f) == 1;
	i->vector_size = last & 4 ? 32 : 16;
	i->prefix = last & 3;
}

/* No masks, no broadcast. */
static void take_evex(struct instruction *i)
{
	uint8_t p0 = *i->at++, p1 = *i->at++, p2 = *i->at++;

	i->reg = (p0 & 0x80 ? 0 : 8) + (p0 & 0x10 ? 0 : 16);
	i->index = p0 & 0x40 ? 0 : 8;
	i->base = p0 & 0x20 ? 0 : 8;
	i->vector_size = (uint8_t)(16u << (p2 >> 5 & 3));
	i->is_evex = true;
	i->prefix = p1 & 3;
	i->is_vector = (p0 & 7) == 1 && p1 & 4 && !(p2 & 0x17) && (p2 >> 5 & 3) < 3;
}

static void take_legacy(struct instruction *i)
{
	uint8_t rex = 0;

	for (; *i->at == 0x66 || *i->at == 0xf3 || *i->at == 0xf2; i->at++)
		i->prefix = *i->at == 0x66 ? PREFIX_66 : *i->at == 0xf3 ? PREFIX_F3 : PREFIX_F2;
	if ((*i->at & 0xf0) == 0x40)
		rex = *i->at++;
	i->reg = rex & 4 ? 8 : 0;
	i->index = rex & 2 ? 8 : 0;
	i->base = rex & 1 ? 8 : 0;
	i->vector_size = 16;
	i->is_vector = *i->at == 0x0f;
	if (i->is_vector)
		i->at++;
}

static void take_opcode(struct instruction *i)
{
	switch (*i->at) {
	case 0xc5:
	case 0xc4:
		i->at++;
		take_vex(i, i->at[-1] == 0xc4);
		break;
	case 0x62:
		i->at++;
		take_evex(i);
		break;
	default:
		take_legacy(i);
		break;
	}
	i->opcode = *i->at++;
}

/* Whole registers; some prefixes make the same opcode a store of one element, or of an MMX register. */
static bool is_vector_store(const struct instruction *i)
{
	switch (i->opcode) {
	case 0x11: /* MOVUPS, MOVUPD */
	case 0x29: /* MOVAPS, MOVAPD */
	case 0x2b: /* MOVNTPS, MOVNTPD */
		return i->prefix <= PREFIX_66;
	case 0x7f: /* MOVDQA, MOVDQU */
		return i->prefix == PREFIX_66 || i->prefix == PREFIX_F3 ||
		       (i->is_evex && i->prefix == PREFIX_F2);
	case 0xe7: /* MOVNTDQ */
		return i->prefix == PREFIX_66;
	default:
		return false;
	}
}

/* ---- the address ---- */

static int64_t take_displacement(struct instruction *i, unsigned int bytes)
{
	int64_t value = 0;

	if (bytes == 1) {
		value = (int64_t)(*i->at ^ 0x80) - 0x80;
		/* The displacement of one byte counts vectors (EVEX). */
		if (i->is_evex)
			value *= i->vector_size;
	} else if (bytes == 4) {
		int32_t word;

		memcpy(&word, i->at, sizeof(word));
		value = word;
	}
	i->at += bytes;
	return value;
}

/* False: a register operand, or an address relative to the instruction. */
static bool take_address(struct instruction *i, const ucontext_t *at, uintptr_t *out)
{
	uint8_t modrm = *i->at++, mod = modrm >> 6, rm = modrm & 7;
	bool has_base = true;
	uint64_t address = 0;

	i->reg += modrm >> 3 & 7;
	if (mod == 3 || (mod == 0 && rm == 5))
		return false;
	if (rm == 4) {
		uint8_t sib = *i->at++, index = (sib >> 3 & 7) + i->index;

		rm = sib & 7;
		has_base = mod || rm != 5;
		if (index != 4)
			address = access_general(at, index) << (sib >> 6);
	}
	if (has_base)
		address += access_general(at, rm + i->base);
	address += (uint64_t)take_displacement(i, mod == 1 ? 1 : mod == 2 || !has_base ? 4 : 0);
	*out = address;
	return true;
}

/* ---- the value ---- */

uint32_t access_store_upper_vectors(void)
{
	unsigned int size, offset, c, d;

	return __get_cpuid_count(0xd, 7, &size, &offset, &c, &d) && size ? offset : 0;
}

/* A component that is not in the saved area has its initial value, 0. */
static bool get_vector(const ucontext_t *at, unsigned int number, uint32_t upper, uint64_t *out)
{
	const uint8_t *area = (const uint8_t *)at->uc_mcontext.fpregs;
	uint64_t saved = XSTATE_SSE;
	uint32_t magic;

	if (!area)
		return false;
	memcpy(&magic, area + 464, sizeof(magic));
	if (magic == XSTATE_MAGIC)
		memcpy(&saved, area + 512, sizeof(saved));
	*out = 0;
	if (number < 16) {
		if (saved & XSTATE_SSE)
			memcpy(out, area + 160 + 16 * number, sizeof(*out));
		return true;
	}
	if (!upper || magic != XSTATE_MAGIC)
		return false;
	if (saved & XSTATE_UPPER)
		memcpy(out, area + upper + 64 * (number - 16), sizeof(*out));
	return true;
}

int access_store_decode(const ucontext_t *at, uint32_t upper_vectors, struct access_store *out)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): where the thread is */
	const uint8_t *start = (const uint8_t *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP];
	struct instruction i = { .start = start, .at = start };
	struct access plain;

	take_opcode(&i);
	if (!take_address(&i, at, &out->address))
		return -EOPNOTSUPP;
	if (i.is_vector && is_vector_store(&i)) {
		out->size = i.vector_size;
		out->length = (uint8_t)(i.at - i.start);
		return get_vector(at, i.reg, upper_vectors, &out->first) ? 0 : -EOPNOTSUPP;
	}
	if (access_decode(at, &plain) || !plain.store)
		return -EOPNOTSUPP;
	out->size = plain.size;
	out->length = plain.length;
	out->first = plain.value;
	return 0;
}

void access_store_finish(ucontext_t *at, const struct access_store *store)
{
	at->uc_mcontext.gregs[REG_RIP] += store->length;
}

#else

uint32_t access_store_upper_vectors(void)
{
	return 0;
}

int access_store_decode(const ucontext_t *at, uint32_t upper_vectors, struct access_store *out)
{
	(void)at;
	(void)upper_vectors;
	(void)out;
	return -EOPNOTSUPP;
}

void access_store_finish(ucontext_t *at, const struct access_store *store)
{
	(void)at;
	(void)store;
}

#endif
