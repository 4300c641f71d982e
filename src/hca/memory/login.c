/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca.h"
#include "hca/memory/key_wrap.h"
#include "util/explain.h"

struct bytes {
	uint8_t len;
	uint8_t at[HCA_CREDENTIAL_LEN];
};

static struct hca_secret *find_stored(const struct hca_adapter *a, enum hca_secret_kind kind,
				      uint32_t number)
{
	struct hca_secret *s;

	LIST_FOREACH(s, &hca.memory.crypto.secrets, link)
		if (s->adapter == a && s->kind == kind && s->number == number)
			return s;
	return NULL;
}

/* A copy of a secret, which the caller wipes; false when there is none of this number. The lock is held. */
static bool find_secret(const struct hca_adapter *a, enum hca_secret_kind kind, uint32_t number,
			struct bytes *out)
{
	bool is_kek = kind == HCA_SECRET_KEK;
	const struct hca_secret *s;

	if (!number) {
		out->len = is_kek ? a->crypto.kek_len : HCA_CREDENTIAL_LEN;
		memcpy(out->at, is_kek ? a->crypto.kek : a->crypto.credential, out->len);
		return true;
	}
	s = find_stored(a, kind, number);
	if (!s)
		return false;
	out->len = s->len;
	memcpy(out->at, s->bytes, s->len);
	return true;
}

static struct hca_login *find_login(const struct hca_ctx *ctx)
{
	struct hca_login *l;

	LIST_FOREACH(l, &hca.memory.crypto.logins, link)
		if (l->ctx == ctx)
			return l;
	return NULL;
}

/* ---- logins ---- */

/* Takes the same time wherever the first difference is. */
static bool is_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
	uint8_t difference = 0;

	for (size_t i = 0; i < len; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

static int check_credential(const struct hca_ctx *ctx, uint32_t kek, uint32_t credential,
			    const uint8_t *wrapped)
{
	uint8_t given[HCA_CREDENTIAL_LEN];
	struct bytes by, expected;
	bool found;
	int err;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	found = find_secret(ctx->adapter, HCA_SECRET_KEK, kek, &by) &&
		find_secret(ctx->adapter, HCA_SECRET_CREDENTIAL, credential, &expected);
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	if (!found) {
		explicit_bzero(&by, sizeof(by));
		return explain(EINVAL,
			       "a login with import KEK %u and credential %u; %s has none "
			       "of this number",
			       kek, credential, ctx->adapter->name);
	}
	err = key_unwrap(by.at, by.len, wrapped, sizeof(given) + KEY_WRAP_EXTRA, given);
	if (!err && !is_equal(given, expected.at, sizeof(given)))
		err = explain(EINVAL, "a login with another credential than number %u of %s",
			      credential, ctx->adapter->name);
	explicit_bzero(given, sizeof(given));
	explicit_bzero(&by, sizeof(by));
	explicit_bzero(&expected, sizeof(expected));
	return err;
}

int hca_login_create(const struct hca_ctx *ctx, uint32_t kek, uint32_t credential,
		     const uint8_t *wrapped, struct hca_login **out)
{
	struct hca_login *login;
	int err;

	if (!ctx->adapter->crypto.kek_len)
		return explain(EOPNOTSUPP,
			       "%s imports keys in plaintext and has no logins; crypto_kek and "
			       "crypto_credential in the configuration change that",
			       ctx->adapter->name);
	err = check_credential(ctx, kek, credential, wrapped);
	if (err)
		return err;
	login = calloc(1, sizeof(*login));
	if (!login)
		return -ENOMEM;
	*login = (struct hca_login){
		.ctx = ctx, .kek = kek, .credential = credential, .valid = true
	};
	pthread_mutex_lock(&hca.memory.crypto.lock);
	if (find_login(ctx))
		err = explain(EEXIST, "the context has a crypto login; it can have one");
	else
		LIST_INSERT_HEAD(&hca.memory.crypto.logins, login, link);
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	if (err)
		free(login);
	else
		*out = login;
	return err;
}

bool hca_login_is_valid(const struct hca_login *login)
{
	bool valid;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	valid = login->valid;
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	return valid;
}

void hca_login_destroy(struct hca_login *login)
{
	pthread_mutex_lock(&hca.memory.crypto.lock);
	LIST_REMOVE(login, link);
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	free(login);
}

void hca_login_forget(const struct hca_ctx *ctx)
{
	struct hca_login *l;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	l = find_login(ctx);
	if (l) {
		l->ctx = NULL;
		l->valid = false;
	}
	pthread_mutex_unlock(&hca.memory.crypto.lock);
}

/* The KEK of the context's login, for the caller to wipe. */
static int find_kek(const struct hca_ctx *ctx, struct bytes *out)
{
	const struct hca_login *l;
	int err = 0;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	l = find_login(ctx);
	if (!l)
		err = explain(EPERM, "the context has no crypto login, which wrapped keys need");
	else if (!l->valid || !find_secret(ctx->adapter, HCA_SECRET_KEK, l->kek, out))
		err = explain(EPERM, "the context's crypto login is invalid: its import KEK or "
				     "credential was deleted");
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	return err;
}

int hca_login_check(const struct hca_ctx *ctx)
{
	struct bytes kek;
	int err = find_kek(ctx, &kek);

	explicit_bzero(&kek, sizeof(kek));
	return err;
}

int hca_login_unwrap(const struct hca_ctx *ctx, const uint8_t *in, size_t len, uint8_t *out)
{
	struct bytes kek;
	int err = find_kek(ctx, &kek);

	if (!err)
		err = key_unwrap(kek.at, kek.len, in, len, out);
	explicit_bzero(&kek, sizeof(kek));
	return err;
}

/* ---- import KEKs and credentials ---- */

static bool is_used(const struct hca_login *l, const struct hca_secret *s)
{
	return l->ctx && l->ctx->adapter == s->adapter &&
	       (s->kind == HCA_SECRET_KEK ? l->kek : l->credential) == s->number;
}

/* A free number, 0 when all are taken. One that was given back is used again last. */
static uint32_t take_number(const struct hca_adapter *a, enum hca_secret_kind kind)
{
	uint32_t *last = &hca.memory.crypto.last_secret;

	for (uint32_t tried = 0; tried < 1u << HCA_LOG_SECRETS; tried++) {
		*last = (*last + 1) % (1u << HCA_LOG_SECRETS);
		if (*last && !find_stored(a, kind, *last))
			return *last;
	}
	return 0;
}

int hca_secret_create(const struct hca_ctx *ctx, enum hca_secret_kind kind, const uint8_t *wrapped,
		      size_t len, struct hca_secret **out)
{
	struct hca_secret *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	err = hca_login_unwrap(ctx, wrapped, len + KEY_WRAP_EXTRA, s->bytes);
	if (err)
		goto free_secret;
	s->kind = kind;
	s->adapter = ctx->adapter;
	s->len = len;
	pthread_mutex_lock(&hca.memory.crypto.lock);
	s->number = take_number(s->adapter, kind);
	if (s->number)
		LIST_INSERT_HEAD(&hca.memory.crypto.secrets, s, link);
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	if (s->number) {
		*out = s;
		return 0;
	}
	err = explain(ENOSPC, "%s holds no more than %u of these", ctx->adapter->name,
		      1u << HCA_LOG_SECRETS);
free_secret:
	explicit_bzero(s, sizeof(*s));
	free(s);
	return err;
}

void hca_secret_destroy(struct hca_secret *s)
{
	struct hca_login *l;

	pthread_mutex_lock(&hca.memory.crypto.lock);
	LIST_REMOVE(s, link);
	LIST_FOREACH(l, &hca.memory.crypto.logins, link)
		if (is_used(l, s))
			l->valid = false;
	pthread_mutex_unlock(&hca.memory.crypto.lock);
	explicit_bzero(s, sizeof(*s));
	free(s);
}
