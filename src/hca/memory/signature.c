/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/signature.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/guard.h"
#include "hca/memory/psv.h"
#include "hca/memory/signature_error.h"
#include "util/copy.h"

#define FIELD_MOST 8 /* bytes of a signature */
#define NOWHERE    UINT64_MAX

enum { MEMORY, WIRE, DOMAINS };

/* A domain, and how far an ascending access has come in it. */
struct side {
	struct hca_sig_domain d;
	uint32_t field;     /* bytes of a signature */
	bool needed;        /* the guard is checked or made */
	uint64_t left;      /* data up to the end of the block; without blocks: no end in sight */
	uint64_t blocks;    /* whose data is complete */
	uint64_t done;      /* the guard of the last one of those */
	struct guard guard; /* of the block in progress */
	bool resumed;       /* the guard that a context had at first is known */
	uint64_t resume;
};

struct signature {
	struct transform base;
	struct side side[DOMAINS];
	uint8_t check, copy; /* masks of bytes of a signature */
	uint64_t check_bits, copy_bits;
	bool same; /* the guards of both domains are always equal */
	bool told; /* an error was reported: the only one until the key is configured again */
	uint32_t key, pdn;
	/* Where an ascending access goes on. */
	bool to_wire;
	int skip;       /* bytes of the wire's signature that are done; -1: data is next */
	uint64_t at;    /* on the wire */
	uint64_t place; /* of the next data in memory, behind all signatures */
	uint8_t field[FIELD_MOST];    /* towards memory: the signature that is arriving */
	bool field_whole;             /* ... from its first byte on */
	struct signature_error error; /* guarded by hca.memory.signature.lock */
};

/* The space below, and the part of it that an access needs as plain memory if it can be had so. */
struct window {
	const struct transform_space *below;
	uint8_t *bytes; /* or NULL */
	uint64_t start;
};

/* ---- domains ---- */

static uint32_t field_size(const struct hca_sig_domain *d)
{
	static const uint8_t sizes[] = {
		[HCA_SIG_NONE] = 0,  [HCA_SIG_DIF_CRC] = 8, [HCA_SIG_DIF_CSUM] = 8,
		[HCA_SIG_CRC32] = 4, [HCA_SIG_CRC32C] = 4,  [HCA_SIG_CRC64] = 8,
	};

	return d->leaves ? 0 : sizes[d->kind];
}

static bool is_dif(const struct hca_sig_domain *d)
{
	return d->kind == HCA_SIG_DIF_CRC || d->kind == HCA_SIG_DIF_CSUM;
}

/* The bytes of a signature, as masks have them, that are the guard. */
static uint8_t guard_bytes(const struct hca_sig_domain *d)
{
	if (is_dif(d))
		return 0xc0;
	return d->kind == HCA_SIG_CRC64 ? 0xff : 0xf0;
}

/* From one block to the next. */
static uint64_t stride(const struct hca_sig_domain *d)
{
	return (uint64_t)d->block + field_size(d);
}

/* Bytes with signatures: of whole blocks, and the data of one that is not. */
static uint64_t with_fields(const struct hca_sig_domain *d, uint64_t data)
{
	return d->kind ? data + data / d->block * field_size(d) : data;
}

static uint64_t without_fields(const struct hca_sig_domain *d, uint64_t bytes)
{
	uint64_t rest;

	if (!d->kind)
		return bytes;
	rest = bytes % stride(d);
	return bytes / stride(d) * d->block + (rest < d->block ? rest : d->block);
}

/* ---- signatures as numbers ---- */

static uint64_t load_field(const struct hca_sig_domain *d, const uint8_t *field)
{
	uint64_t wide;
	uint32_t half;

	if (field_size(d) == sizeof(half)) {
		memcpy(&half, field, sizeof(half));
		return (uint64_t)le32toh(half) << 32;
	}
	memcpy(&wide, field, sizeof(wide));
	return is_dif(d) ? be64toh(wide) : le64toh(wide);
}

static void store_field(const struct hca_sig_domain *d, uint64_t number, uint8_t *field)
{
	uint64_t wide = is_dif(d) ? htobe64(number) : htole64(number);
	uint32_t half = htole32((uint32_t)(number >> 32));

	if (field_size(d) == sizeof(half))
		memcpy(field, &half, sizeof(half));
	else
		memcpy(field, &wide, sizeof(wide));
}

/* The right signature of the last complete block. */
static uint64_t calculate(const struct side *side)
{
	const struct hca_sig_domain *d = &side->d;
	uint32_t ref = d->ref;

	if (!is_dif(d))
		return d->kind == HCA_SIG_CRC64 ? side->done : side->done << 32;
	if (d->counts)
		ref += (uint32_t)(side->blocks - 1);
	return side->done << 48 | (uint64_t)d->app << 32 | ref;
}

/* A mask of bits from one of bytes. */
static uint64_t widen(uint8_t bytes)
{
	uint64_t bits = 0;

	for (int i = 0; i < 8; i++)
		if (bytes >> i & 1)
			bits |= 0xffull << (8 * i);
	return bits;
}

static bool escapes(const struct hca_sig_domain *d, uint64_t found)
{
	if (!is_dif(d) || d->escape == HCA_SIG_ESCAPE_NONE || (found >> 32 & 0xffff) != 0xffff)
		return false;
	return d->escape == HCA_SIG_ESCAPE_APP || (found & UINT32_MAX) == UINT32_MAX;
}

/* ---- errors ---- */

/* The guard is named before the application tag, and that before the reference tag. */
static enum hca_sig_fault fault_of(const struct hca_sig_domain *d, uint64_t wrong)
{
	if (!is_dif(d) || wrong >> 48)
		return HCA_SIG_BAD_GUARD;
	return wrong >> 32 ? HCA_SIG_BAD_APP : HCA_SIG_BAD_REF;
}

/* The signature of the last complete block. */
static void check_field(struct signature *s, int which, const uint8_t *field)
{
	const struct side *side = &s->side[which];
	uint64_t found = load_field(&side->d, field), right = calculate(side);
	uint64_t wrong = (found ^ right) & s->check_bits;

	if (is_dif(&side->d))
		wrong &= ~((uint64_t)(uint16_t)~side->d.app_mask << 32);
	if (!wrong || s->told || escapes(&side->d, found))
		return;
	s->told = true;
	signature_error_raise(&s->error, &(struct hca_sig_error){
						 .fault = fault_of(&side->d, wrong),
						 .in_memory = which == MEMORY,
						 .key = s->key,
						 .expected = found,
						 .actual = right,
						 .offset = (side->blocks - 1) * stride(&side->d),
					 });
}

/* ---- memory ---- */

/* The end of what an access to [s->at, end) of the wire touches. */
static uint64_t memory_end(const struct signature *s, uint64_t end)
{
	return with_fields(&s->side[MEMORY].d, without_fields(&s->side[WIRE].d, end));
}

static struct window open_window(const struct signature *s, const struct transform_space *below,
				 uint64_t end)
{
	uint64_t last = memory_end(s, end);
	struct window w = { .below = below, .start = s->place };

	/* The signature of a block that is complete, which may be copied, lies before. */
	if (s->skip >= 0)
		w.start -= s->side[MEMORY].field;
	if (last > w.start)
		w.bytes = transform_map(below, w.start, last - w.start, !s->to_wire);
	return w;
}

static uint8_t *map(const struct window *w, uint64_t off, uint64_t len, bool write)
{
	if (likely(w->bytes))
		return w->bytes + (off - w->start);
	return transform_map(w->below, off, len, write);
}

/* Bytes to be read, in place or in `buf`; NULL: they cannot be read. */
static const uint8_t *get(const struct window *w, uint64_t off, uint8_t *buf, uint64_t len)
{
	if (likely(w->bytes))
		return w->bytes + (off - w->start);
	return transform_get(w->below, off, buf, len) ? buf : NULL;
}

static bool put(const struct window *w, uint64_t off, const uint8_t *from, uint64_t len)
{
	if (unlikely(!w->bytes))
		return transform_put(w->below, off, from, len);
	memcpy(w->bytes + (off - w->start), from, len);
	return true;
}

/* ---- data ---- */

/* Where the guard of a block begins. A context counts as it was when the first data came. */
static void start_guard(struct signature *s, struct side *side)
{
	const struct hca_psv *psv;

	guard_start(&side->guard, side->d.kind, side->d.ones);
	if (likely(!side->d.resumes) || side->blocks)
		return;
	if (!side->resumed) {
		psv = hca_psv_find(side->d.psv, s->pdn);
		side->resume = psv ? atomic_load_explicit(&psv->value, memory_order_relaxed) : 0;
		side->resumed = true;
	}
	guard_load(&side->guard, side->d.kind, side->resume);
}

static void leave_guard(const struct signature *s, const struct side *side)
{
	struct hca_psv *psv = hca_psv_find(side->d.psv, s->pdn);

	if (psv)
		atomic_store_explicit(&psv->value, guard_save(&side->guard), memory_order_relaxed);
}

/* Accounts for data within one block of each domain; true: the block of memory is complete. */
static inline bool pass(struct signature *s, uint64_t len)
{
	bool ended[DOMAINS];

	s->place += len;
	for (int i = 0; i < DOMAINS; i++) {
		struct side *side = &s->side[i];

		side->left -= len;
		ended[i] = !side->left;
		if (!ended[i])
			continue;
		side->left = side->d.block;
		side->blocks++;
		if (unlikely(side->d.leaves))
			leave_guard(s, side);
		if (side->needed) {
			side->done = guard_value(&side->guard);
			start_guard(s, side);
		}
	}
	if (s->same)
		s->side[s->side[WIRE].needed ? MEMORY : WIRE].done =
			s->side[s->side[WIRE].needed ? WIRE : MEMORY].done;
	if (ended[WIRE] && s->side[WIRE].field)
		s->skip = 0;
	if (ended[MEMORY])
		s->place += s->side[MEMORY].field;
	return ended[MEMORY] && s->side[MEMORY].field;
}

static void add(struct signature *s, const void *p, uint64_t len)
{
	for (int i = 0; i < DOMAINS; i++)
		if (s->side[i].needed)
			guard_add(&s->side[i].guard, p, len);
}

/* Copies data and adds it. The common case, one guard, takes one pass. */
static void add_copy(struct signature *s, void *to, const void *from, uint64_t len)
{
	struct side *m = &s->side[MEMORY], *w = &s->side[WIRE];

	if (m->needed != w->needed) {
		guard_add_copy(m->needed ? &m->guard : &w->guard, to, from, len);
		return;
	}
	vb_copy(to, from, len);
	add(s, from, len);
}

/* Data that can be moved at once. */
static uint64_t portion(const struct signature *s, uint64_t len)
{
	uint64_t m = s->side[MEMORY].left, w = s->side[WIRE].left;

	len = m < len ? m : len;
	return w < len ? w : len;
}

static void choose_guards(struct signature *s)
{
	struct side *from = &s->side[s->to_wire ? MEMORY : WIRE];
	struct side *to = &s->side[s->to_wire ? WIRE : MEMORY];
	uint8_t made = guard_bytes(&to->d) & ~s->copy;

	from->needed = from->d.kind && (s->check & guard_bytes(&from->d) || from->d.leaves);
	to->needed = to->d.kind && made && !(s->same && from->needed);
}

/* Reads the data of the blocks in progress again. */
static bool replay(struct signature *s, const struct transform_space *below, uint64_t len)
{
	uint8_t buf[4096];

	while (len) {
		uint64_t n = portion(s, len < sizeof(buf) ? len : sizeof(buf));

		if (!transform_get(below, s->place, buf, n))
			return false;
		add(s, buf, n);
		pass(s, n);
		len -= n;
	}
	return true;
}

/* Goes to an offset on the wire, where `skip` bytes of a signature are done, or data is next. */
static bool go_to(struct signature *s, const struct transform_space *below, uint64_t off, int skip)
{
	uint64_t data = without_fields(&s->side[WIRE].d, off), start = data;

	for (int i = 0; i < DOMAINS; i++) {
		const struct hca_sig_domain *d = &s->side[i].d;
		uint64_t begun = d->kind ? data % d->block : 0;

		if (i == WIRE && skip >= 0)
			begun = d->block;
		start = data - begun < start ? data - begun : start;
	}
	for (int i = 0; i < DOMAINS; i++) {
		struct side *side = &s->side[i];
		const struct hca_sig_domain *d = &side->d;

		side->left = d->kind ? d->block - start % d->block : UINT64_MAX;
		side->blocks = d->kind ? start / d->block : 0;
		start_guard(s, side);
	}
	s->place = with_fields(&s->side[MEMORY].d, start);
	s->skip = -1;
	if (!replay(s, below, data - start))
		return false;
	s->skip = skip;
	return true;
}

static bool seek(struct signature *s, const struct transform_space *below, uint64_t off,
		 bool to_wire)
{
	const struct side *w = &s->side[WIRE];
	uint64_t within;
	int skip = -1;

	if (likely(s->at == off && s->to_wire == to_wire))
		return true;
	s->at = off;
	s->to_wire = to_wire;
	choose_guards(s);
	if (w->d.kind) {
		within = off % stride(&w->d);
		skip = within < w->d.block ? -1 : (int)(within - w->d.block);
	}
	s->field_whole = skip <= 0;
	return go_to(s, below, off, skip);
}

/* Bytes of the wire's signature are done. */
static void field_passed(struct signature *s, uint64_t len)
{
	s->skip += (int)len;
	if ((uint32_t)s->skip == s->side[WIRE].field)
		s->skip = -1;
}

/* ---- towards the wire ---- */

static bool check_memory(struct signature *s, const struct window *w)
{
	const struct side *m = &s->side[MEMORY];
	const uint8_t *field;
	uint8_t buf[FIELD_MOST];

	if (!s->check)
		return true;
	field = get(w, s->place - m->field, buf, m->field);
	if (!field)
		return false;
	check_field(s, MEMORY, field);
	return true;
}

static bool send_data(struct signature *s, const struct window *w, uint8_t *to, uint64_t len)
{
	const void *from = map(w, s->place, len, false);

	if (likely(from)) {
		add_copy(s, to, from, len);
	} else {
		if (!transform_get(w->below, s->place, to, len))
			return false;
		add(s, to, len);
	}
	return !pass(s, len) || check_memory(s, w);
}

static bool send_field(struct signature *s, const struct window *w, uint8_t *to, uint64_t len)
{
	const struct side *wire = &s->side[WIRE];
	uint64_t number = calculate(wire);
	uint8_t field[FIELD_MOST];

	if (s->copy) {
		const uint8_t *kept = get(w, s->place - wire->field, field, wire->field);

		if (!kept)
			return false;
		number = (number & ~s->copy_bits) | (load_field(&wire->d, kept) & s->copy_bits);
	}
	if (likely(len == wire->field)) {
		store_field(&wire->d, number, to);
	} else {
		store_field(&wire->d, number, field);
		memcpy(to, field + s->skip, len);
	}
	field_passed(s, len);
	return true;
}

/* The part of `len` bytes on the wire that can be moved at once. */
static uint64_t next_piece(const struct signature *s, uint64_t len)
{
	uint64_t n = s->skip < 0 ? portion(s, len) : s->side[WIRE].field - (uint32_t)s->skip;

	return n < len ? n : len;
}

static bool read_signature(struct transform *t, const struct transform_space *below, uint64_t off,
			   void *to, uint64_t len)
{
	struct signature *s = (struct signature *)t;
	uint8_t *at = to;
	bool ok = seek(s, below, off, true);
	struct window w;

	if (ok)
		w = open_window(s, below, off + len);
	while (ok && len) {
		uint64_t n = next_piece(s, len);

		ok = s->skip < 0 ? send_data(s, &w, at, n) : send_field(s, &w, at, n);
		at += n;
		len -= n;
		s->at += n;
	}
	if (!ok)
		s->at = NOWHERE;
	return ok;
}

/* ---- towards memory ---- */

/* `from` the signature of the wire, or NULL. */
static bool make_memory(struct signature *s, const struct window *w, const uint8_t *from)
{
	const struct side *m = &s->side[MEMORY];
	uint64_t number = calculate(m);
	uint8_t field[FIELD_MOST];

	if (from)
		number = (number & ~s->copy_bits) | (load_field(&m->d, from) & s->copy_bits);
	store_field(&m->d, number, field);
	return put(w, s->place - m->field, field, m->field);
}

static bool receive_data(struct signature *s, const struct window *w, const uint8_t *from,
			 uint64_t len)
{
	void *to = map(w, s->place, len, true);

	if (likely(to)) {
		add_copy(s, to, from, len);
	} else {
		if (!transform_put(w->below, s->place, from, len))
			return false;
		add(s, from, len);
	}
	/* A signature that is copied in part follows with the wire's. */
	return !pass(s, len) || s->copy || make_memory(s, w, NULL);
}

static bool receive_field(struct signature *s, const struct window *w, const uint8_t *from,
			  uint64_t len)
{
	if (!s->skip)
		s->field_whole = true;
	memcpy(s->field + s->skip, from, len);
	field_passed(s, len);
	if (s->skip >= 0 || !s->field_whole)
		return true;
	check_field(s, WIRE, s->field);
	return !s->copy || make_memory(s, w, s->field);
}

static bool write_signature(struct transform *t, const struct transform_space *below, uint64_t off,
			    const void *from, uint64_t len)
{
	struct signature *s = (struct signature *)t;
	const uint8_t *at = from;
	bool ok = seek(s, below, off, false);
	struct window w;

	if (ok)
		w = open_window(s, below, off + len);
	while (ok && len) {
		uint64_t n = next_piece(s, len);

		ok = s->skip < 0 ? receive_data(s, &w, at, n) : receive_field(s, &w, at, n);
		at += n;
		len -= n;
		s->at += n;
	}
	if (!ok)
		s->at = NOWHERE;
	return ok;
}

/* ---- the stage ---- */

static uint64_t length_signature(const struct transform *t, uint64_t below)
{
	const struct signature *s = (const struct signature *)t;

	return with_fields(&s->side[WIRE].d, without_fields(&s->side[MEMORY].d, below));
}

static void free_signature(struct transform *t)
{
	struct signature *s = (struct signature *)t;

	signature_error_drop(&s->error);
	free(s);
}

static const struct transform_ops signature_ops = { length_signature, read_signature,
						    write_signature, free_signature };

static bool domain_valid(const struct hca_sig_domain *d)
{
	return !d->kind || (d->kind <= HCA_SIG_CRC64 && d->block >= FIELD_MOST &&
			    d->escape <= HCA_SIG_ESCAPE_APP_REF);
}

/* The signature is that of more than this key's data. */
static bool in_parts(const struct hca_sig_domain *d)
{
	return d->resumes || d->leaves;
}

bool signature_valid(const struct hca_sig_conf *conf)
{
	const struct hca_sig_domain *m = &conf->memory, *w = &conf->wire;

	if (!domain_valid(m) || !domain_valid(w))
		return false;
	return !conf->copy || (m->block == w->block && m->kind && !in_parts(m) && !in_parts(w) &&
			       (m->kind == w->kind || (is_dif(m) && is_dif(w))));
}

struct transform *signature_create(const struct hca_sig_conf *conf, uint32_t key, uint32_t pdn)
{
	struct signature *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base.ops = &signature_ops;
	s->side[MEMORY] = (struct side){ .d = conf->memory, .field = field_size(&conf->memory) };
	s->side[WIRE] = (struct side){ .d = conf->wire, .field = field_size(&conf->wire) };
	s->check = conf->check;
	s->copy = conf->copy;
	s->check_bits = widen(conf->check);
	s->copy_bits = widen(conf->copy);
	s->same = conf->memory.kind && conf->memory.kind == conf->wire.kind &&
		  conf->memory.block == conf->wire.block && conf->memory.ones == conf->wire.ones &&
		  !in_parts(&conf->memory) && !in_parts(&conf->wire);
	s->key = key;
	s->pdn = pdn;
	s->at = NOWHERE;
	return &s->base;
}
