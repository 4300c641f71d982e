/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirect keys. A layout, the list of pieces of a key and its transforms, never changes: a request
 * that rebuilds a key replaces its layout, and the old one is freed after every epoch section that
 * may read it. One lock guards all changes; readers take none.
 */
#include "hca/memory/mkey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/service.h"
#include "hca/hca.h"
#include "hca/memory/crypt.h"
#include "hca/memory/dek.h"
#include "hca/memory/key.h"
#include "hca/memory/mr_stopped.h"
#include "hca/memory/signature.h"
#include "hca/memory/transform.h"
#include "fabric/epoch.h"
#include "util/explain.h"

struct piece {
	uint64_t addr;
	uint64_t start; /* offset in the key's range, or in one round of an interleaved layout */
	uint32_t len;
	uint32_t stride; /* from one round to the next */
	uint32_t key;
};

struct hca_layout {
	struct epoch_node epoch;
	uint32_t count;
	uint32_t rounds; /* 1 for a list */
	uint64_t round;  /* bytes of one */
	uint64_t length;
	struct transform_chain *chain; /* or NULL: the bytes of the pieces as they are */
	uint64_t reach;                /* with a chain: bytes of memory that the key has */
	struct piece piece[];
};

static void free_layout(struct hca_layout *l)
{
	if (l)
		transform_chain_free(l->chain);
	free(l);
}

int hca_mkey_create(struct hca_pd *pd, uint16_t max_entries, bool remote_invalidate,
		    struct hca_mkey **out)
{
	struct hca_mkey *m;
	int err = hca_ctx_take(pd->ctx, HCA_KIND_MR);

	if (err)
		return err;
	m = calloc(1, sizeof(*m));
	if (!m) {
		err = -ENOMEM;
		goto drop;
	}
	err = hca_key_get(&m->index, &m->key);
	if (err)
		goto free_mkey;
	m->pd = pd;
	m->max_entries = max_entries;
	m->remote_invalidate = remote_invalidate;
	err = hca_table_set(&hca.memory.mkey.table, m->index, m);
	if (err)
		goto put_number;
	hca_pd_get(pd);
	*out = m;
	return 0;
put_number:
	hca_key_put(m->index);
free_mkey:
	free(m);
drop:
	hca_ctx_drop(pd->ctx, HCA_KIND_MR);
	return err;
}

void hca_mkey_destroy(struct hca_mkey *m)
{
	pthread_mutex_lock(&hca.memory.mkey.lock);
	hca_table_set(&hca.memory.mkey.table, m->index, NULL);
	pthread_mutex_unlock(&hca.memory.mkey.lock);
	hca_key_invalidate(m->index);
	mr_stopped_wait();
	free_layout(atomic_load(&m->layout));
	if (m->dek)
		hca_dek_put(m->dek);
	hca_key_put(m->index);
	hca_ctx_drop(m->pd->ctx, HCA_KIND_MR);
	hca_pd_put(m->pd);
	free(m);
}

/* ---- building ---- */

/* rounds 0: a list. Else interleaved, and the upper half of an element's length is its stride. */
static struct hca_layout *make_layout(const struct hca_sge *sge, uint32_t count, uint32_t rounds)
{
	bool interleaved = rounds;
	struct hca_layout *l = malloc(sizeof(*l) + count * sizeof(l->piece[0]));

	if (!l)
		return NULL;
	l->count = 0;
	l->chain = NULL;
	l->reach = 0;
	l->rounds = interleaved ? rounds : 1;
	l->round = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct piece p = {
			.addr = sge[i].addr,
			.start = l->round,
			.len = interleaved ? sge[i].len & 0xffff : sge[i].len,
			.stride = interleaved ? sge[i].len >> 16 : 0,
			.key = sge[i].key,
		};

		if (!p.len)
			continue;
		l->piece[l->count++] = p;
		l->round += p.len;
	}
	l->length = l->round * l->rounds;
	return l;
}

static void free_retired(struct epoch_node *node)
{
	free_layout(container_of(node, struct hca_layout, epoch));
}

static void set_layout(struct hca_mkey *m, struct hca_layout *l)
{
	/* [Y1] pairs with layout_of(): the layout before its pointer */
	struct hca_layout *old = atomic_exchange_explicit(&m->layout, l, memory_order_acq_rel);

	if (old)
		epoch_retire(&old->epoch, free_retired);
}

static void publish(struct hca_mkey *m)
{
	const struct hca_layout *l = atomic_load(&m->layout);
	const struct hca_mr_entry entry = {
		.context = m->pd->ctx->uid,
		.pdn = m->pd->pdn,
		.access = m->access,
		.flags = HCA_MR_INDIRECT,
		.iova = m->iova,
		.length = l && l->chain ? transform_chain_length(l->chain, m->length) : m->length,
	};

	hca_key_publish(m->index, &entry, m->key);
}

static bool is_signed(const struct hca_mkey *m)
{
	return m->transforms && m->has_sig && (m->sig.memory.kind || m->sig.wire.kind);
}

static bool is_encrypted_first(const struct hca_mkey *m)
{
	return m->crypto.order == HCA_CRYPTO_RAW_WIRE ||
	       m->crypto.order == HCA_CRYPTO_MEMORY_SIGNATURE;
}

/* On top of the stages before it. */
static struct transform *make_crypt(const struct hca_mkey *m, const struct transform_chain *chain)
{
	if (!m->transforms || !m->dek)
		return crypt_create_unset();
	return crypt_create(&m->crypto, m->dek, transform_chain_length(chain, m->length),
			    !chain->count);
}

/* Lock held. The stages that the key is configured with, from memory to the wire; NULL: none. */
static int make_chain(const struct hca_mkey *m, struct transform_chain **out)
{
	struct transform_chain *chain;

	*out = NULL;
	if (!is_signed(m) && !m->encrypts)
		return 0;
	chain = transform_chain_create();
	if (!chain)
		return -ENOMEM;
	for (int i = 0; i < TRANSFORM_STAGES; i++) {
		bool crypto = !i == is_encrypted_first(m);
		struct transform *stage;

		if (crypto ? !m->encrypts : !is_signed(m))
			continue;
		stage = crypto ? make_crypt(m, chain)
			       : signature_create(&m->sig, m->key, m->pd->pdn);
		if (!stage) {
			transform_chain_free(chain);
			return -ENOMEM;
		}
		transform_chain_add(chain, stage);
	}
	*out = chain;
	return 0;
}

/* False: the domain has no such DEK, or the key was not made for encryption. */
static bool configure_crypto(struct hca_mkey *m, const struct hca_crypto_conf *conf)
{
	struct hca_dek *dek = m->encrypts ? hca_dek_hold(conf->dek, m->pd->pdn) : NULL;

	if (m->dek)
		hca_dek_put(m->dek);
	m->dek = dek;
	m->crypto = *conf;
	return dek;
}

static bool configure(struct hca_mkey *m, const struct hca_umr *u)
{
	if (u->mask & HCA_UMR_TAG)
		m->key = m->index << 8 | (u->tag & 0xff);
	if (u->mask & HCA_UMR_ACCESS)
		m->access = u->access;
	if (u->mask & HCA_UMR_LENGTH)
		m->length = u->length;
	if (u->mask & HCA_UMR_START)
		m->iova = u->start;
	if (u->mask & HCA_UMR_TRANSFORMS)
		m->transforms = u->transforms;
	if (u->mask & HCA_UMR_CRYPTO && !configure_crypto(m, &u->crypto))
		return false;
	if (!(u->mask & HCA_UMR_SIGNATURE))
		return true;
	m->has_sig = true;
	m->sig = u->sig;
	return m->may_transform && signature_valid(&m->sig);
}

static struct hca_layout *clone_layout(const struct hca_layout *from)
{
	size_t bytes = sizeof(*from) + (from ? from->count : 0) * sizeof(from->piece[0]);
	struct hca_layout *l = from ? malloc(bytes) : calloc(1, sizeof(*l));

	if (l && from)
		memcpy(l, from, bytes);
	return l;
}

/*
 * Lock held. Gives the key its layout, if there is a new one, and transforms in their first state:
 * a key with transforms gets a new layout in any case.
 */
static int renew(struct hca_mkey *m, struct hca_layout **new)
{
	const struct hca_layout *old = atomic_load(&m->layout);
	struct transform_chain *chain;
	int err = make_chain(m, &chain);

	if (err)
		return err;
	if (!*new && (chain || (old && old->chain))) {
		*new = clone_layout(old);
		if (!*new) {
			transform_chain_free(chain);
			return -ENOMEM;
		}
	}
	if (*new) {
		(*new)->chain = chain;
		(*new)->reach = m->length < (*new)->length ? m->length : (*new)->length;
		set_layout(m, *new);
		*new = NULL;
	}
	return 0;
}

int hca_mkey_build(struct hca_mkey *m, const struct hca_umr *what, const struct hca_sge *list,
		   uint32_t count)
{
	struct hca_layout *l;
	int err;

	if (count > m->max_entries)
		return explain(EINVAL, "%u elements; the key has room for %u", count,
			       m->max_entries);
	l = make_layout(list, count, 0);
	if (!l)
		return -ENOMEM;
	pthread_mutex_lock(&hca.memory.mkey.lock);
	m->key = m->index << 8 | what->tag;
	m->access = what->access;
	m->iova = what->start;
	m->length = what->length;
	err = renew(m, &l);
	if (!err && !what->free)
		publish(m);
	pthread_mutex_unlock(&hca.memory.mkey.lock);
	free_layout(l);
	return err;
}

int hca_mkey_update(const struct hca_send *s, uint32_t pdn)
{
	const struct hca_umr *u = &s->umr;
	struct hca_layout *l = NULL;
	struct hca_mkey *m;
	int err = -EINVAL;

	if (u->mask & HCA_UMR_LAYOUT) {
		l = make_layout(s->sge, s->sge_count, u->rounds);
		if (!l)
			return -ENOMEM;
	}
	pthread_mutex_lock(&hca.memory.mkey.lock);
	m = hca_table_find(&hca.memory.mkey.table, u->key >> 8);
	if (!m || m->pd->pdn != pdn || (l && s->sge_count > m->max_entries))
		goto unlock;
	hca_key_invalidate(m->index);
	if (!configure(m, u)) {
		m->has_sig = false;
		goto unlock;
	}
	err = renew(m, &l);
	if (!err && !u->free)
		publish(m);
unlock:
	pthread_mutex_unlock(&hca.memory.mkey.lock);
	free_layout(l);
	return err;
}

int hca_mkey_invalidate(uint32_t key, uint32_t pdn, bool remote)
{
	struct hca_mkey *m;
	int err = -EINVAL;

	pthread_mutex_lock(&hca.memory.mkey.lock);
	m = hca_table_find(&hca.memory.mkey.table, key >> 8);
	if (m && m->key == key && m->pd->pdn == pdn && (m->remote_invalidate || !remote)) {
		hca_key_invalidate(m->index);
		err = 0;
	}
	pthread_mutex_unlock(&hca.memory.mkey.lock);
	return err;
}

/* ---- looking through ---- */

static const struct hca_layout *layout_of(const struct hca_mkey *m)
{
	/* [Y1] */
	return m ? atomic_load_explicit(&m->layout, memory_order_acquire) : NULL;
}

static struct hca_mkey *mkey_of(const struct hca_mr_entry *e)
{
	return hca_table_find(&hca.memory.mkey.table, e - hca.peers.segment->mr);
}

/*
 * Whether [addr, addr + len) of a piece's key is memory of the domain. The piece itself may reach beyond
 * its region: an adapter translates the bytes that it touches, and no others. Indirect keys do not nest.
 */
static bool check_bytes(uint32_t key, uint64_t addr, uint64_t len, uint32_t pdn, uint32_t access)
{
	const struct hca_mr_entry *e = &hca.peers.segment->mr[key >> 8];

	if (!key || atomic_load_explicit(&e->key, memory_order_acquire) != key || e->pdn != pdn ||
	    (e->access & access) != access ||
	    hca_entry_flags(e) & (HCA_MR_INDIRECT | HCA_MR_WINDOW1 | HCA_MR_WINDOW2))
		return false;
	return len <= e->length && addr >= e->iova && addr - e->iova <= e->length - len;
}

static const struct piece *find_piece(const struct hca_layout *l, uint64_t at)
{
	uint32_t low = 0, high = l->count;

	while (high - low > 1) {
		uint32_t mid = (low + high) / 2;

		if (l->piece[mid].start <= at)
			low = mid;
		else
			high = mid;
	}
	return &l->piece[low];
}

/* The bytes of a piece in one round that lie in [offset, end) of the key. */
static bool check_part(const struct hca_layout *l, const struct piece *p, uint64_t round,
		       uint64_t offset, uint64_t end, uint32_t pdn, uint32_t access)
{
	uint64_t start = round * l->round + p->start, from = offset > start ? offset - start : 0;
	uint64_t to = end < start + p->len ? end - start : p->len;

	if (end <= start || from >= to)
		return true;
	return check_bytes(p->key, p->addr + round * p->stride + from, to - from, pdn, access);
}

/*
 * Interleaved: addresses of a piece rise from round to round, so between the first two rounds that are
 * touched and the last two no round needs a check of its own.
 */
static bool check_rounds(const struct hca_layout *l, uint64_t offset, uint64_t end, uint32_t pdn,
			 uint32_t access)
{
	uint64_t first = offset / l->round, last = (end - 1) / l->round;

	for (uint64_t round = first; round <= last; round++) {
		for (uint32_t i = 0; i < l->count; i++)
			if (!check_part(l, &l->piece[i], round, offset, end, pdn, access))
				return false;
		if (round == first + 1 && last - first > 4)
			round = last - 2;
	}
	return true;
}

bool hca_mkey_check(const struct hca_mr_entry *e, uint64_t offset, uint64_t len, uint32_t access)
{
	const struct hca_layout *l = layout_of(mkey_of(e));
	const struct piece *p;
	uint64_t end;
	bool write = access &
		     (HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_ATOMIC);

	access = write ? HCA_ACCESS_LOCAL_WRITE : 0;
	if (!l)
		return false;
	/* Which bytes of memory a range on the wire touches is the transforms' to know: all are checked. */
	if (l->chain) {
		offset = 0;
		len = l->reach;
	}
	if (len > l->length || offset > l->length - len)
		return false;
	if (!len)
		return true;
	end = offset + len;
	if (l->rounds != 1)
		return check_rounds(l, offset, end, e->pdn, access);
	for (p = find_piece(l, offset); p < l->piece + l->count && p->start < end; p++)
		if (!check_part(l, p, 0, offset, end, e->pdn, access))
			return false;
	return true;
}

void hca_mkey_seg(const struct hca_mr_entry *e, uint64_t offset, uint64_t len, struct hca_seg *out)
{
	struct hca_mkey *m = mkey_of(e);
	const struct hca_layout *l = layout_of(m);

	out->ptr = (char *)m;
	out->base = offset;
	out->len = len;
	out->kind = l && l->chain ? HCA_SEG_TRANSFORM : HCA_SEG_INDIRECT;
}

struct transform_chain *hca_mkey_chain(const struct hca_seg *seg)
{
	const struct hca_layout *l = layout_of((const struct hca_mkey *)seg->ptr);

	return l ? l->chain : NULL;
}

bool hca_mkey_at(const struct hca_seg *seg, uint64_t offset, struct hca_seg *out)
{
	const struct hca_layout *l = layout_of((const struct hca_mkey *)seg->ptr);
	const struct hca_mr_entry *e;
	const struct piece *p;
	uint64_t at = seg->base + offset, round, within, addr, len;

	/* The key may have been rebuilt since it was checked. */
	if (!l || at >= l->length)
		return false;
	round = at / l->round;
	p = find_piece(l, at % l->round);
	within = at % l->round - p->start;
	addr = p->addr + round * p->stride + within;
	len = p->len - within;
	len = len < seg->len - offset ? len : seg->len - offset;
	e = &hca.peers.segment->mr[p->key >> 8];
	if (!check_bytes(p->key, addr, len, e->pdn, 0))
		return false;
	hca_seg_local(e, addr, len, out);
	return true;
}
