/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulated loads and stores; see access.h. On x86-64 the encoding is in volume 2 of the processor's manual:
 * prefixes, opcode, ModRM, SIB, displacement, immediate. On arm64 it is in "Loads and Stores" of chapter C4 of the
 * architecture's manual: one word.
 */
#include "util/access.h"

#include <errno.h>

#include "util/access_x86.h"

enum kind {
	KIND_STORE,
	KIND_LOAD,
	KIND_LOAD_ZERO,
	KIND_LOAD_SIGN,
	KIND_COMPARE,
	KIND_TEST,
};

#if ACCESS_KNOWN

static uint64_t mask_of(unsigned int size)
{
	return size == 8 ? UINT64_MAX : (1ull << 8 * size) - 1;
}

static uint64_t extend(uint64_t value, unsigned int size)
{
	unsigned int shift = 64 - 8 * size;

	return (uint64_t)((int64_t)(value << shift) >> shift);
}

#endif

#ifdef __x86_64__

enum {
	REX_B = 1,
	REX_X = 2,
	REX_R = 4,
	REX_W = 8,
};

#define FLAG_C 0x001u
#define FLAG_P 0x004u
#define FLAG_Z 0x040u
#define FLAG_S 0x080u
#define FLAG_O 0x800u

struct text {
	const uint8_t *start, *at;
	bool has_rex, half; /* half: the prefix that makes operands 16 bits wide */
	uint8_t rex;
	uint8_t mod, reg, rm;
};

static uint64_t take(struct text *t, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)*t->at++ << 8 * i;
	return value;
}

/* Prefixes for segments, locks and repetition are not supported. */
static void take_prefixes(struct text *t)
{
	while (*t->at == 0x66) {
		t->half = true;
		t->at++;
	}
	if ((*t->at & 0xf0) == 0x40) {
		t->has_rex = true;
		t->rex = *t->at++ & 0xf;
	}
}

/* The address is known from the fault; only the length of its encoding is needed. */
static int take_operands(struct text *t)
{
	uint8_t modrm = *t->at++, base;

	t->mod = modrm >> 6;
	t->reg = (modrm >> 3 & 7) | (t->rex & REX_R ? 8 : 0);
	t->rm = modrm & 7;
	if (t->mod == 3)
		return -EOPNOTSUPP;
	base = t->rm;
	if (t->rm == 4)
		base = *t->at++ & 7;
	if (t->mod == 1)
		t->at += 1;
	else if (t->mod == 2 || base == 5)
		t->at += 4;
	return 0;
}

static unsigned int operand_size(const struct text *t)
{
	if (t->rex & REX_W)
		return 8;
	return t->half ? 2 : 4;
}

/* Without a REX prefix, bytes 4 to 7 are the second ones of the first four registers. */
static void set_register(const struct text *t, unsigned int size, struct access *out)
{
	out->reg = t->reg;
	out->reg_size = (uint8_t)size;
	out->high = size == 1 && !t->has_rex && t->reg >= 4;
	if (out->high)
		out->reg -= 4;
}

static uint64_t get_register(const ucontext_t *at, const struct access *a)
{
	uint64_t value = access_general(at, a->reg);

	return (a->high ? value >> 8 : value) & mask_of(a->reg_size);
}

static void put_register(ucontext_t *at, const struct access *a, uint64_t value)
{
	greg_t *place = &at->uc_mcontext.gregs[access_places[a->reg]];
	unsigned int shift = a->high ? 8 : 0;
	uint64_t mask = mask_of(a->reg_size) << shift;

	if (a->reg_size == 4)
		*place = (greg_t)(uint32_t)value;
	else
		*place = (greg_t)(((uint64_t)*place & ~mask) | (value << shift & mask));
}

static int decode_plain(struct text *t, const ucontext_t *at, uint8_t op, struct access *out)
{
	unsigned int wide = operand_size(t), size = op & 1 ? wide : 1;

	out->size = (uint8_t)size;
	switch (op) {
	case 0x88: /* mov to memory */
	case 0x89:
		out->kind = KIND_STORE;
		break;
	case 0x8a: /* and from it */
	case 0x8b:
		out->kind = KIND_LOAD;
		break;
	case 0x38: /* cmp: memory first */
	case 0x39:
	case 0x3a: /* ... or second */
	case 0x3b:
		out->kind = KIND_COMPARE;
		out->reversed = op >= 0x3a;
		break;
	case 0x84: /* test */
	case 0x85:
		out->kind = KIND_TEST;
		break;
	case 0x63: /* movsxd */
		out->kind = KIND_LOAD_SIGN;
		out->size = 4;
		size = wide;
		break;
	default:
		return -EOPNOTSUPP;
	}
	set_register(t, size, out);
	out->value = get_register(at, out);
	return 0;
}

/* With a constant behind the address. The register field of ModRM selects the instruction. */
static int decode_immediate(struct text *t, uint8_t op, struct access *out)
{
	unsigned int wide = operand_size(t), size = op & 1 ? wide : 1;
	unsigned int bytes = size == 8 ? 4 : size, which = t->reg & 7;

	if ((op & 0xfe) == 0xc6 && which == 0)
		out->kind = KIND_STORE;
	else if ((op & 0xfe) == 0xf6 && which == 0)
		out->kind = KIND_TEST;
	else if ((op & 0xfc) == 0x80 && op != 0x82 && which == 7)
		out->kind = KIND_COMPARE;
	else
		return -EOPNOTSUPP;
	if (op == 0x83)
		bytes = 1;
	out->size = (uint8_t)size;
	out->value = extend(take(t, bytes), bytes) & mask_of(size);
	return 0;
}

static int decode_two(struct text *t, const ucontext_t *at, uint8_t op, struct access *out)
{
	unsigned int wide = operand_size(t);

	switch (op) {
	case 0xb6: /* movzx */
	case 0xb7:
		out->kind = KIND_LOAD_ZERO;
		out->size = op & 1 ? 2 : 1;
		break;
	case 0xbe: /* movsx */
	case 0xbf:
		out->kind = KIND_LOAD_SIGN;
		out->size = op & 1 ? 2 : 1;
		break;
	case 0xc3: /* movnti */
		out->kind = KIND_STORE;
		out->size = (uint8_t)wide;
		break;
	default:
		return -EOPNOTSUPP;
	}
	set_register(t, wide, out);
	out->value = get_register(at, out);
	return 0;
}

int access_decode(const ucontext_t *at, struct access *out)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): where the thread was */
	const uint8_t *start = (const uint8_t *)(uintptr_t)at->uc_mcontext.gregs[REG_RIP];
	struct text t = { .start = start, .at = start };
	bool two;
	uint8_t op;
	int err;

	*out = (struct access){ 0 };
	take_prefixes(&t);
	op = *t.at++;
	two = op == 0x0f;
	if (two)
		op = *t.at++;
	err = take_operands(&t);
	if (err)
		return err;
	if (two)
		err = decode_two(&t, at, op, out);
	else if ((op & 0xfc) == 0x80 || (op & 0xfe) == 0xc6 || (op & 0xfe) == 0xf6)
		err = decode_immediate(&t, op, out);
	else
		err = decode_plain(&t, at, op, out);
	out->store = out->kind == KIND_STORE;
	out->length = (uint8_t)(t.at - t.start);
	return err;
}

/* Except the auxiliary flag, which only decimal arithmetic uses. */
static void set_flags(ucontext_t *at, uint64_t result, unsigned int size, bool carry, bool overflow)
{
	greg_t *place = &at->uc_mcontext.gregs[REG_EFL];
	uint64_t flags = (uint64_t)*place & ~(uint64_t)(FLAG_C | FLAG_P | FLAG_Z | FLAG_S | FLAG_O);

	result &= mask_of(size);
	flags |= carry ? FLAG_C : 0;
	flags |= overflow ? FLAG_O : 0;
	flags |= result ? 0 : FLAG_Z;
	flags |= result >> (8 * size - 1) ? FLAG_S : 0;
	flags |= __builtin_parity(result & 0xff) ? 0 : FLAG_P;
	*place = (greg_t)flags;
}

static void compare(ucontext_t *at, uint64_t a, uint64_t b, unsigned int size)
{
	uint64_t difference = a - b, sign = 1ull << (8 * size - 1);

	set_flags(at, difference, size, a < b, (a ^ b) & (a ^ difference) & sign);
}

void access_finish(ucontext_t *at, const struct access *a, uint64_t loaded)
{
	at->uc_mcontext.gregs[REG_RIP] += a->length;
	loaded &= mask_of(a->size);
	switch ((enum kind)a->kind) {
	case KIND_STORE:
		break;
	case KIND_LOAD:
	case KIND_LOAD_ZERO:
		put_register(at, a, loaded);
		break;
	case KIND_LOAD_SIGN:
		put_register(at, a, extend(loaded, a->size));
		break;
	case KIND_COMPARE:
		if (a->reversed)
			compare(at, a->value, loaded, a->size);
		else
			compare(at, loaded, a->value, a->size);
		break;
	case KIND_TEST:
		set_flags(at, loaded & a->value, a->size, false, false);
		break;
	}
}

#elif defined(__aarch64__)

#define ZERO_OR_SP 31u

static uint64_t get_register(const ucontext_t *at, unsigned int reg)
{
	return reg == ZERO_OR_SP ? 0 : at->uc_mcontext.regs[reg];
}

/* opc: 0 stores, 1 loads, 2 and 3 load with the sign, into 64 and 32 bits. */
static int decode_opc(uint32_t word, struct access *out)
{
	unsigned int opc = word >> 22 & 3;

	out->store = !opc;
	out->kind = opc == 0 ? KIND_STORE : opc == 1 ? KIND_LOAD_ZERO : KIND_LOAD_SIGN;
	out->reg_size = opc == 2 ? 8 : 4;
	if (out->size == 8)
		out->reg_size = 8;
	return opc < 2 || out->size < (opc == 2 ? 8 : 4) ? 0 : -EOPNOTSUPP;
}

/* The address is known from the fault; of its forms only those that change the base register matter. */
static int decode_address(uint32_t word, struct access *out)
{
	unsigned int form = word >> 10 & 3;

	if (word & 1u << 24) /* an unsigned offset */
		return 0;
	if (word & 1u << 21) /* a register as offset; others are atomic operations */
		return form == 2 ? 0 : -EOPNOTSUPP;
	if (form & 1) { /* the base register changes, after or before */
		out->base = word >> 5 & 31;
		out->step = (int16_t)((int32_t)(word << 11) >> 23);
	}
	return 0;
}

int access_decode(const ucontext_t *at, struct access *out)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): where the thread was */
	uint32_t word = *(const uint32_t *)(uintptr_t)at->uc_mcontext.pc;
	int err = -EOPNOTSUPP;

	*out = (struct access){ .size = (uint8_t)(1u << (word >> 30)),
				.length = 4,
				.reg = word & 31 };
	if ((word & 0x3fbffc00) == 0x089ffc00) { /* STLR, LDAR */
		out->store = !(word & 1u << 22);
		out->kind = out->store ? KIND_STORE : KIND_LOAD_ZERO;
		out->reg_size = 8;
		err = 0;
	} else if ((word & 0x3ffffc00) == 0x38bfc000) { /* LDAPR */
		out->kind = KIND_LOAD_ZERO;
		out->reg_size = 8;
		err = 0;
	} else if ((word & 0x3e000000) == 0x38000000) {
		err = decode_opc(word, out);
		if (!err)
			err = decode_address(word, out);
	}
	out->value = get_register(at, out->reg) & mask_of(out->size);
	return err;
}

void access_finish(ucontext_t *at, const struct access *a, uint64_t loaded)
{
	loaded &= mask_of(a->size);
	if (a->kind == KIND_LOAD_SIGN)
		loaded = extend(loaded, a->size) & mask_of(a->reg_size);
	if (!a->store && a->reg != ZERO_OR_SP)
		at->uc_mcontext.regs[a->reg] = loaded;
	if (a->step && a->base == ZERO_OR_SP)
		at->uc_mcontext.sp += (uint64_t)(int64_t)a->step;
	else if (a->step)
		at->uc_mcontext.regs[a->base] += (uint64_t)(int64_t)a->step;
	at->uc_mcontext.pc += a->length;
}

#else

int access_decode(const ucontext_t *at, struct access *out)
{
	(void)at;
	(void)out;
	return -EOPNOTSUPP;
}

void access_finish(ucontext_t *at, const struct access *access, uint64_t loaded)
{
	(void)at;
	(void)access;
	(void)loaded;
}

#endif
