/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/signature.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "hca/memory/guard.h"
#include "util/copy.h"

#define FIELD_MOST 8 /* bytes of a signature */
#define NOWHERE    UINT64_MAX

enum { MEMORY, WIRE, DOMAINS };

struct signature {
	struct transform base;
	struct hca_sig_domain domain[DOMAINS];
	uint8_t check, copy;
	bool same; /* the guards of both domains are always equal */
	bool told; /* of an error, the only one until the key is configured again */
	uint32_t key;
	/* Where an ascending access goes on. */
	uint64_t at; /* on the wire */
	bool to_wire;
	bool needed[DOMAINS]; /* the guard is checked or made */
	uint64_t data;        /* bytes of data before it */
	struct guard guard[DOMAINS];
	uint64_t done[DOMAINS];       /* the guard of the last block whose data is complete */
	uint8_t field[FIELD_MOST];    /* towards memory: the signature that is arriving */
	bool field_whole;             /* ... from its first byte on */
	struct signature_error error; /* guarded by hca.memory.signature.lock */
};

/* ---- domains ---- */

static uint64_t field_size(const struct hca_sig_domain *d)
{
	static const uint8_t sizes[] = {
		[HCA_SIG_NONE] = 0,  [HCA_SIG_DIF_CRC] = 8, [HCA_SIG_DIF_CSUM] = 8,
		[HCA_SIG_CRC32] = 4, [HCA_SIG_CRC32C] = 4,  [HCA_SIG_CRC64] = 8,
	};

	return sizes[d->kind];
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
	return field_size(d) == 4 ? 0xf0 : 0xff;
}

/* Bytes with signatures: of whole blocks, and the data of one that is not. */
static uint64_t with_fields(const struct hca_sig_domain *d, uint64_t data)
{
	return d->kind ? data + data / d->block * field_size(d) : data;
}

static uint64_t without_fields(const struct hca_sig_domain *d, uint64_t bytes)
{
	uint64_t block = d->block + field_size(d), rest;

	if (!d->kind)
		return bytes;
	rest = bytes % block;
	return bytes / block * d->block + (rest < d->block ? rest : d->block);
}

/* Data up to the end of the block. */
static uint64_t data_left(const struct hca_sig_domain *d, uint64_t data)
{
	return d->kind ? d->block - data % d->block : UINT64_MAX;
}

static bool at_block_end(const struct hca_sig_domain *d, uint64_t data)
{
	return d->kind && data % d->block == 0;
}

/* Offset of the signature behind `data` bytes, a number of whole blocks. */
static uint64_t field_place(const struct hca_sig_domain *d, uint64_t data)
{
	return with_fields(d, data) - field_size(d);
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

/* The right signature of the block that ends behind `data` bytes. */
static uint64_t calculate(const struct hca_sig_domain *d, uint64_t guard, uint64_t data)
{
	uint32_t ref = d->ref;

	if (!is_dif(d))
		return field_size(d) == 4 ? guard << 32 : guard;
	if (d->counts)
		ref += (uint32_t)(data / d->block - 1);
	return guard << 48 | (uint64_t)d->app << 32 | ref;
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

static void raise_error(struct signature *s, const struct hca_sig_error *error)
{
	s->told = true;
	pthread_mutex_lock(&hca.memory.signature.lock);
	s->error.error = *error;
	s->error.thread = pthread_self();
	s->error.listed = true;
	LIST_INSERT_HEAD(&hca.memory.signature.list, &s->error, link);
	atomic_fetch_add_explicit(&hca.memory.signature.errors, 1, memory_order_relaxed);
	pthread_mutex_unlock(&hca.memory.signature.lock);
}

/* Lock held. */
static void unlist(struct signature_error *e)
{
	LIST_REMOVE(e, link);
	e->listed = false;
	atomic_fetch_sub_explicit(&hca.memory.signature.errors, 1, memory_order_relaxed);
}

bool signature_take_error(struct hca_sig_error *out)
{
	struct signature_error *e;

	pthread_mutex_lock(&hca.memory.signature.lock);
	LIST_FOREACH(e, &hca.memory.signature.list, link)
		if (pthread_equal(e->thread, pthread_self())) {
			*out = e->error;
			unlist(e);
			break;
		}
	pthread_mutex_unlock(&hca.memory.signature.lock);
	return e;
}

/* The signature of the block that ends at s->data. */
static void check_field(struct signature *s, int which, const uint8_t *field)
{
	const struct hca_sig_domain *d = &s->domain[which];
	uint64_t found = load_field(d, field), right = calculate(d, s->done[which], s->data);
	uint64_t wrong = (found ^ right) & widen(s->check);

	if (is_dif(d))
		wrong &= ~((uint64_t)(uint16_t)~d->app_mask << 32);

	if (!wrong || s->told || escapes(d, found))
		return;
	raise_error(s, &(struct hca_sig_error){
			       .fault = fault_of(d, wrong),
			       .in_memory = which == MEMORY,
			       .key = s->key,
			       .expected = found,
			       .actual = right,
			       .offset = field_place(d, s->data) - d->block,
		       });
}

/* ---- data ---- */

/* Adds data, which ends in no domain behind the end of a block, to the guards. */
static void add(struct signature *s, const void *p, uint64_t len)
{
	s->data += len;
	for (int i = 0; i < DOMAINS; i++) {
		if (s->needed[i])
			guard_add(&s->guard[i], p, len);
		if (!at_block_end(&s->domain[i], s->data))
			continue;
		s->done[i] = guard_value(&s->guard[i]);
		guard_start(&s->guard[i], s->domain[i].kind, s->domain[i].ones);
	}
	if (s->same)
		s->done[!s->needed[WIRE] ? WIRE : MEMORY] =
			s->done[!s->needed[WIRE] ? MEMORY : WIRE];
}

/* Data that can be moved at once. */
static uint64_t portion(const struct signature *s, uint64_t len)
{
	for (int i = 0; i < DOMAINS; i++) {
		uint64_t left = data_left(&s->domain[i], s->data);

		len = left < len ? left : len;
	}
	return len;
}

/* Bytes of the wire's signature before `at`, or -1: data is next. */
static int field_done(const struct signature *s)
{
	const struct hca_sig_domain *d = &s->domain[WIRE];
	uint64_t within;

	if (!d->kind)
		return -1;
	within = s->at % (d->block + field_size(d));
	return within < d->block ? -1 : (int)(within - d->block);
}

static void choose_guards(struct signature *s)
{
	int from = s->to_wire ? MEMORY : WIRE, to = s->to_wire ? WIRE : MEMORY;
	uint8_t made = guard_bytes(&s->domain[to]) & ~s->copy;

	s->needed[from] = s->domain[from].kind && s->check & guard_bytes(&s->domain[from]);
	s->needed[to] = s->domain[to].kind && made && !(s->same && s->needed[from]);
}

/* Reads the data of the blocks in progress again. */
static bool replay(struct signature *s, const struct transform_space *below, uint64_t upto)
{
	uint8_t buf[4096];

	while (s->data < upto) {
		uint64_t n = upto - s->data < sizeof(buf) ? upto - s->data : sizeof(buf);

		n = portion(s, n);
		if (!transform_get(below, with_fields(&s->domain[MEMORY], s->data), buf, n))
			return false;
		add(s, buf, n);
	}
	return true;
}

/* Goes to an offset on the wire. */
static bool seek(struct signature *s, const struct transform_space *below, uint64_t off,
		 bool to_wire)
{
	uint64_t data = without_fields(&s->domain[WIRE], off), start = data;

	if (likely(s->at == off && s->to_wire == to_wire))
		return true;
	s->at = off;
	s->to_wire = to_wire;
	choose_guards(s);
	for (int i = 0; i < DOMAINS; i++) {
		const struct hca_sig_domain *d = &s->domain[i];
		uint64_t begun = d->kind ? data % d->block : 0;

		guard_start(&s->guard[i], d->kind, d->ones);
		if (i == WIRE && field_done(s) >= 0)
			begun = d->block;
		start = data - begun < start ? data - begun : start;
	}
	s->data = start;
	s->field_whole = field_done(s) <= 0;
	return replay(s, below, data);
}

/* ---- towards the wire ---- */

static bool check_memory(struct signature *s, const struct transform_space *below)
{
	const struct hca_sig_domain *d = &s->domain[MEMORY];
	uint8_t field[FIELD_MOST];

	if (!s->check)
		return true;
	if (!transform_get(below, field_place(d, s->data), field, field_size(d)))
		return false;
	check_field(s, MEMORY, field);
	return true;
}

static bool send_data(struct signature *s, const struct transform_space *below, uint8_t *to,
		      uint64_t len)
{
	uint64_t place = with_fields(&s->domain[MEMORY], s->data);
	const void *from = transform_map(below, place, len, false);

	if (from)
		vb_copy(to, from, len);
	else if (!transform_get(below, place, to, len))
		return false;
	add(s, from ? from : to, len);
	return !at_block_end(&s->domain[MEMORY], s->data) || check_memory(s, below);
}

static bool send_field(struct signature *s, const struct transform_space *below, uint64_t skip,
		       uint8_t *to, uint64_t len)
{
	const struct hca_sig_domain *d = &s->domain[WIRE];
	uint64_t number = calculate(d, s->done[WIRE], s->data), kept = widen(s->copy);
	uint8_t field[FIELD_MOST];

	if (s->copy) {
		if (!transform_get(below, field_place(d, s->data), field, field_size(d)))
			return false;
		number = (number & ~kept) | (load_field(d, field) & kept);
	}
	store_field(d, number, field);
	memcpy(to, field + skip, len);
	return true;
}

static bool read_signature(struct transform *t, const struct transform_space *below, uint64_t off,
			   void *to, uint64_t len)
{
	struct signature *s = (struct signature *)t;
	uint8_t *at = to;
	bool ok = seek(s, below, off, true);

	while (ok && len) {
		int skip = field_done(s);
		uint64_t n = skip < 0 ? portion(s, len) : field_size(&s->domain[WIRE]) - skip;

		n = n < len ? n : len;
		ok = skip < 0 ? send_data(s, below, at, n) : send_field(s, below, skip, at, n);
		s->at += n;
		at += n;
		len -= n;
	}
	if (!ok)
		s->at = NOWHERE;
	return ok;
}

/* ---- towards memory ---- */

/* `from` the signature of the wire, or NULL. */
static bool make_memory(struct signature *s, const struct transform_space *below,
			const uint8_t *from)
{
	const struct hca_sig_domain *d = &s->domain[MEMORY];
	uint64_t number = calculate(d, s->done[MEMORY], s->data), kept = widen(s->copy);
	uint8_t field[FIELD_MOST];

	if (from)
		number = (number & ~kept) | (load_field(d, from) & kept);
	store_field(d, number, field);
	return transform_put(below, field_place(d, s->data), field, field_size(d));
}

static bool receive_data(struct signature *s, const struct transform_space *below,
			 const uint8_t *from, uint64_t len)
{
	uint64_t place = with_fields(&s->domain[MEMORY], s->data);
	void *to = transform_map(below, place, len, true);

	if (to)
		vb_copy(to, from, len);
	else if (!transform_put(below, place, from, len))
		return false;
	add(s, from, len);
	/* A signature that is copied in part follows with the wire's. */
	return !at_block_end(&s->domain[MEMORY], s->data) || s->copy || make_memory(s, below, NULL);
}

static bool receive_field(struct signature *s, const struct transform_space *below, uint64_t skip,
			  const uint8_t *from, uint64_t len)
{
	if (!skip)
		s->field_whole = true;
	memcpy(s->field + skip, from, len);
	if (skip + len < field_size(&s->domain[WIRE]) || !s->field_whole)
		return true;
	check_field(s, WIRE, s->field);
	return !s->copy || make_memory(s, below, s->field);
}

static bool write_signature(struct transform *t, const struct transform_space *below, uint64_t off,
			    const void *from, uint64_t len)
{
	struct signature *s = (struct signature *)t;
	const uint8_t *at = from;
	bool ok = seek(s, below, off, false);

	while (ok && len) {
		int skip = field_done(s);
		uint64_t n = skip < 0 ? portion(s, len) : field_size(&s->domain[WIRE]) - skip;

		n = n < len ? n : len;
		ok = skip < 0 ? receive_data(s, below, at, n)
			      : receive_field(s, below, skip, at, n);
		s->at += n;
		at += n;
		len -= n;
	}
	if (!ok)
		s->at = NOWHERE;
	return ok;
}

/* ---- the stage ---- */

static uint64_t length_signature(const struct transform *t, uint64_t below)
{
	const struct signature *s = (const struct signature *)t;

	return with_fields(&s->domain[WIRE], without_fields(&s->domain[MEMORY], below));
}

static void free_signature(struct transform *t)
{
	struct signature *s = (struct signature *)t;

	pthread_mutex_lock(&hca.memory.signature.lock);
	if (s->error.listed)
		unlist(&s->error);
	pthread_mutex_unlock(&hca.memory.signature.lock);
	free(s);
}

static const struct transform_ops signature_ops = { length_signature, read_signature,
						    write_signature, free_signature };

static bool domain_valid(const struct hca_sig_domain *d)
{
	return !d->kind || (d->kind <= HCA_SIG_CRC64 && d->block >= FIELD_MOST &&
			    d->escape <= HCA_SIG_ESCAPE_APP_REF);
}

bool signature_valid(const struct hca_sig_conf *conf)
{
	const struct hca_sig_domain *m = &conf->memory, *w = &conf->wire;

	if (!domain_valid(m) || !domain_valid(w))
		return false;
	return !conf->copy || (m->block == w->block && m->kind &&
			       (m->kind == w->kind || (is_dif(m) && is_dif(w))));
}

struct transform *signature_create(const struct hca_sig_conf *conf, uint32_t key)
{
	struct signature *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base.ops = &signature_ops;
	s->domain[MEMORY] = conf->memory;
	s->domain[WIRE] = conf->wire;
	s->check = conf->check;
	s->copy = conf->copy;
	s->same = conf->memory.kind && conf->memory.kind == conf->wire.kind &&
		  conf->memory.block == conf->wire.block && conf->memory.ones == conf->wire.ones;
	s->key = key;
	s->at = NOWHERE;
	return &s->base;
}
