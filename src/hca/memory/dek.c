/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/dek.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca.h"
#include "hca/memory/login.h"
#include "hca/memory/xts.h"
#include "util/explain.h"

static bool is_wrapped(const struct hca_ctx *ctx)
{
	return ctx->adapter->crypto.kek_len;
}

/* The keys and the tag in plaintext. */
static int import(const struct hca_ctx *ctx, const struct hca_dek_attr *attr, size_t len,
		  uint8_t *out)
{
	size_t whole = len + (attr->has_keytag ? HCA_KEYTAG_LEN : 0);

	if (is_wrapped(ctx))
		return hca_login_unwrap(ctx, attr->key, whole + 8, out);
	memcpy(out, attr->key, whole);
	return 0;
}

static int make_key(struct hca_dek *dek, const struct hca_ctx *ctx, const struct hca_dek_attr *attr)
{
	size_t len = attr->is_256 ? 64 : 32;
	uint8_t plain[HCA_DEK_KEY_MAX];
	int err = import(ctx, attr, len, plain);

	if (!err)
		err = xts_key_create(plain, len, &dek->xts);
	if (!err && attr->has_keytag)
		memcpy(dek->keytag, plain + len, sizeof(dek->keytag));
	explicit_bzero(plain, sizeof(plain));
	return err;
}

/* The first reference is the creator's. */
static int publish(struct hca_dek *dek)
{
	int err;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	err = hca_number_get(&hca.memory.crypto.numbers, &dek->number);
	if (!err) {
		err = hca_table_set(&hca.memory.crypto.deks, dek->number, dek);
		if (err)
			hca_number_put(&hca.memory.crypto.numbers, dek->number);
	} else {
		explain(ENOSPC, "all %u DEKs are in use", (1u << HCA_LOG_DEKS) - 1);
	}
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	return err;
}

int hca_dek_create(struct hca_pd *pd, const struct hca_dek_attr *attr, struct hca_dek **out)
{
	struct hca_dek *dek = calloc(1, sizeof(*dek));
	int err;

	if (!dek)
		return -ENOMEM;
	dek->refs = 1;
	dek->pd = pd;
	dek->pdn = pd->pdn;
	dek->is_256 = attr->is_256;
	dek->has_keytag = attr->has_keytag;
	memcpy(dek->opaque, attr->opaque, sizeof(dek->opaque));
	err = make_key(dek, pd->ctx, attr);
	if (err)
		goto free_dek;
	err = publish(dek);
	if (err)
		goto destroy_key;
	hca_pd_get(pd);
	*out = dek;
	return 0;
destroy_key:
	xts_key_destroy(dek->xts);
free_dek:
	free(dek);
	return err;
}

static void put_locked(struct hca_dek *dek)
{
	if (--dek->refs)
		return;
	xts_key_destroy(dek->xts);
	explicit_bzero(dek, sizeof(*dek)); /* it has the key tag */
	free(dek);
}

void hca_dek_destroy(struct hca_dek *dek)
{
	struct hca_pd *pd = dek->pd;

	atomic_store(&dek->gone, true);
	pthread_mutex_lock(&hca.memory.crypto.lock);
	hca_table_set(&hca.memory.crypto.deks, dek->number, NULL);
	hca_number_put(&hca.memory.crypto.numbers, dek->number);
	put_locked(dek);
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	hca_pd_put(pd);
}

int hca_dek_check_query(const struct hca_dek *dek)
{
	return is_wrapped(dek->pd->ctx) ? hca_login_check(dek->pd->ctx) : 0;
}

struct hca_dek *hca_dek_hold(uint32_t number, uint32_t pdn)
{
	struct hca_dek *dek;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	dek = hca_table_find(&hca.memory.crypto.deks, number);
	if (dek && dek->pdn == pdn)
		dek->refs++;
	else
		dek = NULL;
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	return dek;
}

void hca_dek_get(struct hca_dek *dek)
{
	pthread_mutex_lock(&hca.memory.crypto.lock);
	dek->refs++;
	pthread_mutex_unlock(&hca.memory.crypto.lock);
}

void hca_dek_put(struct hca_dek *dek)
{
	pthread_mutex_lock(&hca.memory.crypto.lock);
	put_locked(dek);
	pthread_mutex_unlock(&hca.memory.crypto.lock);
}
