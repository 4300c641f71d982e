/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS turns one block of 16 bytes into another, and depends on a block's place only: data comes in
 * pieces of any size, in any order and repeatedly, and the stage needs hardly any state. Groups are
 * what changes as a whole: a block, or the last two of a data unit whose last one is short
 * (ciphertext stealing, IEEE 1619 5.3.2). A piece that ends inside of a group reads, changes and
 * writes that group. Signatures below do not give back what was written: then the group waits for
 * its other bytes.
 */
#include "hca/memory/crypt.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "hca/memory/xts.h"
#include "util/api.h"

#define GROUP_MAX (2 * XTS_BLOCK - 1)
#define CHUNK     4096u

/* A group of which a part was written, as the wire has it. */
struct open_group {
	uint64_t start;
	uint32_t written; /* a bit per byte */
	uint8_t bytes[GROUP_MAX];
	LIST_ENTRY(open_group) link;
};

/* Packets out of order leave one at either end. */
#define OPEN_MOST 1024u

struct crypt {
	struct transform base;
	struct hca_crypto_conf conf;
	struct hca_dek *dek;
	uint64_t length;
	bool right_tag;
	bool on_memory;               /* the space below gives back what was written */
	LIST_HEAD(, open_group) open; /* not with on_memory */
	unsigned int open_count;
};

static struct crypt *to_crypt(struct transform *t)
{
	return container_of(t, struct crypt, base);
}

/* ---- groups ---- */

struct group {
	uint64_t start, end;
};

/* The group that has this byte. False: the last data unit is shorter than a block. */
static bool find_group(const struct crypt *c, uint64_t off, struct group *out)
{
	uint64_t unit = off / c->conf.unit * c->conf.unit, left = c->length - unit;
	uint64_t len = left < c->conf.unit ? left : c->conf.unit;
	uint64_t stolen = len % XTS_BLOCK, whole = len - stolen, at = off - unit;

	if (len < XTS_BLOCK)
		return false;
	if (stolen && at >= whole - XTS_BLOCK) {
		*out = (struct group){ unit + whole - XTS_BLOCK, unit + len };
		return true;
	}
	at -= at % XTS_BLOCK;
	*out = (struct group){ unit + at, unit + at + XTS_BLOCK };
	return true;
}

/*
 * How many bytes from off on are whole groups; 0: off or its group's end is inside of one. `most`:
 * not many more.
 */
static uint64_t whole_groups(const struct crypt *c, uint64_t off, uint64_t len, uint64_t most)
{
	uint64_t end = off + (len < most ? len : most);
	struct group first, last;

	if (!find_group(c, off, &first) || first.start != off || first.end > off + len)
		return 0;
	if (end <= first.end)
		return first.end - off;
	if (end == c->length)
		return end - off;
	if (!find_group(c, end, &last))
		return first.end - off;
	return last.start - off;
}

/* [off, off + len) are whole groups. */
static bool crypt(const struct crypt *c, bool encrypt, uint64_t off, const void *in, void *out,
		  uint64_t len)
{
	struct xts_run run = {
		.encrypt = encrypt,
		.unit = c->conf.unit,
		.skip = (uint32_t)(off % c->conf.unit),
	};

	memcpy(run.tweak, c->conf.tweak, sizeof(run.tweak));
	xts_tweak_add(run.tweak, off / c->conf.unit);
	return xts_crypt(c->dek->xts, &run, in, out, len);
}

static bool is_usable(const struct crypt *c, uint64_t off, uint64_t len)
{
	return c->right_tag && !atomic_load_explicit(&c->dek->gone, memory_order_relaxed) &&
	       off <= c->length && len <= c->length - off;
}

/* ---- towards the wire ---- */

static bool read_groups(const struct crypt *c, const struct transform_space *below, uint64_t off,
			void *to, uint64_t len)
{
	bool encrypt = hca_crypto_is_wire(&c->conf);
	uint8_t bounce[CHUNK + GROUP_MAX];
	const void *in = transform_map(below, off, len, false);

	if (in)
		return crypt(c, encrypt, off, in, to, len);
	for (uint64_t n; len; off += n, to = (uint8_t *)to + n, len -= n) {
		n = whole_groups(c, off, len, CHUNK);
		in = transform_map(below, off, n, false);
		if (!in && !transform_get(below, off, bounce, n))
			return false;
		if (!crypt(c, encrypt, off, in ? in : bounce, to, n))
			return false;
	}
	return true;
}

static bool read_part(const struct crypt *c, const struct transform_space *below, uint64_t off,
		      void *to, uint64_t *len)
{
	uint8_t bytes[GROUP_MAX];
	struct group g;

	if (!find_group(c, off, &g))
		return false;
	if (*len > g.end - off)
		*len = g.end - off;
	if (!transform_get(below, g.start, bytes, g.end - g.start) ||
	    !crypt(c, hca_crypto_is_wire(&c->conf), g.start, bytes, bytes, g.end - g.start))
		return false;
	memcpy(to, bytes + (off - g.start), *len);
	return true;
}

static bool crypt_read(struct transform *t, const struct transform_space *below, uint64_t off,
		       void *to, uint64_t len)
{
	const struct crypt *c = to_crypt(t);

	if (!is_usable(c, off, len))
		return false;
	for (uint64_t n; len; off += n, to = (uint8_t *)to + n, len -= n) {
		n = whole_groups(c, off, len, len);
		if (n) {
			if (!read_groups(c, below, off, to, n))
				return false;
			continue;
		}
		n = len;
		if (!read_part(c, below, off, to, &n))
			return false;
	}
	return true;
}

/* ---- towards memory ---- */

static void drop_open(struct crypt *c, struct open_group *o)
{
	LIST_REMOVE(o, link);
	c->open_count--;
	free(o);
}

/* Groups that are written as a whole do not wait for the rest of earlier parts. */
static void forget_open(struct crypt *c, uint64_t off, uint64_t len)
{
	struct open_group *o, *next;

	for (o = LIST_FIRST(&c->open); o; o = next) {
		next = LIST_NEXT(o, link);
		if (o->start >= off && o->start < off + len)
			drop_open(c, o);
	}
}

static bool write_groups(struct crypt *c, const struct transform_space *below, uint64_t off,
			 const void *from, uint64_t len)
{
	bool encrypt = !hca_crypto_is_wire(&c->conf);
	uint8_t bounce[CHUNK + GROUP_MAX];
	void *out = transform_map(below, off, len, true);

	forget_open(c, off, len);
	if (out)
		return crypt(c, encrypt, off, from, out, len);
	for (uint64_t n; len; off += n, from = (const uint8_t *)from + n, len -= n) {
		n = whole_groups(c, off, len, CHUNK);
		out = transform_map(below, off, n, true);
		if (!crypt(c, encrypt, off, from, out ? out : bounce, n))
			return false;
		if (!out && !transform_put(below, off, bounce, n))
			return false;
	}
	return true;
}

static struct open_group *find_open(struct crypt *c, uint64_t start)
{
	struct open_group *o;

	LIST_FOREACH(o, &c->open, link)
		if (o->start == start)
			return o;
	if (c->open_count == OPEN_MOST)
		return NULL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->start = start;
	LIST_INSERT_HEAD(&c->open, o, link);
	c->open_count++;
	return o;
}

/* Keeps a part of a group until the group is whole. */
static bool write_open(struct crypt *c, const struct transform_space *below, const struct group *g,
		       uint64_t off, const void *from, uint64_t len)
{
	uint64_t n = g->end - g->start, at = off - g->start;
	struct open_group *o = find_open(c, g->start);
	bool done;

	if (!o)
		return false;
	o->written |= ((1u << len) - 1) << at;
	memcpy(o->bytes + at, from, len);
	if (o->written != (1u << n) - 1)
		return true;
	done = crypt(c, !hca_crypto_is_wire(&c->conf), g->start, o->bytes, o->bytes, n) &&
	       transform_put(below, g->start, o->bytes, n);
	drop_open(c, o);
	return done;
}

static bool write_part(struct crypt *c, const struct transform_space *below, uint64_t off,
		       const void *from, uint64_t *len)
{
	bool wire = hca_crypto_is_wire(&c->conf);
	uint8_t bytes[GROUP_MAX];
	struct group g;
	uint64_t n;

	if (!find_group(c, off, &g))
		return false;
	if (*len > g.end - off)
		*len = g.end - off;
	if (!c->on_memory)
		return write_open(c, below, &g, off, from, *len);
	n = g.end - g.start;
	if (!transform_get(below, g.start, bytes, n) || !crypt(c, wire, g.start, bytes, bytes, n))
		return false;
	memcpy(bytes + (off - g.start), from, *len);
	return crypt(c, !wire, g.start, bytes, bytes, n) && transform_put(below, g.start, bytes, n);
}

static bool crypt_write(struct transform *t, const struct transform_space *below, uint64_t off,
			const void *from, uint64_t len)
{
	struct crypt *c = to_crypt(t);

	if (!is_usable(c, off, len))
		return false;
	for (uint64_t n; len; off += n, from = (const uint8_t *)from + n, len -= n) {
		n = whole_groups(c, off, len, len);
		if (n) {
			if (!write_groups(c, below, off, from, n))
				return false;
			continue;
		}
		n = len;
		if (!write_part(c, below, off, from, &n))
			return false;
	}
	return true;
}

/* ---- the stage ---- */

static uint64_t crypt_length(const struct transform *t, uint64_t below)
{
	(void)t;
	return below;
}

static void crypt_free(struct transform *t)
{
	struct crypt *c = to_crypt(t);

	while (!LIST_EMPTY(&c->open))
		drop_open(c, LIST_FIRST(&c->open));
	if (c->dek)
		hca_dek_put(c->dek);
	free(c);
}

static const struct transform_ops crypt_ops = {
	.length = crypt_length,
	.read = crypt_read,
	.write = crypt_write,
	.free = crypt_free,
};

struct transform *crypt_create(const struct hca_crypto_conf *conf, struct hca_dek *dek,
			       uint64_t length, bool on_memory)
{
	struct crypt *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	hca_dek_get(dek);
	c->base.ops = &crypt_ops;
	c->conf = *conf;
	c->dek = dek;
	c->length = length;
	c->on_memory = on_memory;
	c->right_tag = !dek->has_keytag || !memcmp(dek->keytag, conf->keytag, HCA_KEYTAG_LEN);
	return &c->base;
}

struct transform *crypt_create_unset(void)
{
	struct crypt *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base.ops = &crypt_ops;
	return &c->base;
}
