/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A context has at most one login, made by mlx5dv_crypto_login() (mlx5_context.login, guarded by
 * mlx5_state.lock) or by mlx5dv_crypto_login_create(). Encryption itself is configured in memory keys
 * (wr_crypto.c).
 */
#include "mlx5/dv_crypto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/dek.h"
#include "hca/memory/login.h"
#include "mlx5/dv.h"
#include "mlx5/state.h"
#include "util/explain.h"

#define WRAPPED_CREDENTIAL 48u

struct mlx5dv_crypto_caps mlx5_crypto_caps(const struct hca_adapter *adapter)
{
	struct mlx5dv_crypto_caps caps = { 0 };

	if (!adapter->model->crypto)
		return caps;
	caps.crypto_engines = MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_SINGLE_BLOCK;
	if (adapter->model->crypto == HCA_CRYPTO_MULTI_BE)
		caps.crypto_engines |= MLX5DV_CRYPTO_ENGINES_CAP_AES_XTS_MULTI_BLOCK;
	caps.log_max_num_deks = HCA_LOG_DEKS;
	caps.flags = MLX5DV_CRYPTO_CAPS_CRYPTO;
	if (adapter->crypto.kek_len) {
		caps.wrapped_import_method = MLX5DV_CRYPTO_WRAPPED_IMPORT_METHOD_CAP_AES_XTS;
		caps.flags |= MLX5DV_CRYPTO_CAPS_WRAPPED_CRYPTO_OPERATIONAL;
	}
	return caps;
}

void mlx5_crypto_fini(struct mlx5_context *ctx)
{
	if (ctx->login)
		hca_login_destroy(ctx->login);
	hca_login_forget(&ctx->vb->hca);
}

/* ---- logins ---- */

static int login(struct mlx5_context *ctx, const struct mlx5dv_crypto_login_attr_ex *attr,
		 struct hca_login **out)
{
	if (attr->comp_mask)
		return explain(EINVAL, "a crypto login with comp_mask 0x%llx; 0 is known",
			       (unsigned long long)attr->comp_mask);
	if (attr->credential_len != WRAPPED_CREDENTIAL)
		return explain(EINVAL, "a wrapped credential of %zu bytes; it has %u",
			       attr->credential_len, WRAPPED_CREDENTIAL);
	return hca_login_create(&ctx->vb->hca, attr->import_kek_id, attr->credential_id,
				attr->credential, out);
}

int mlx5dv_crypto_login(struct ibv_context *context, struct mlx5dv_crypto_login_attr *attr)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5dv_crypto_login_attr_ex ex = {
		.credential_id = attr->credential_id,
		.import_kek_id = attr->import_kek_id,
		.credential = attr->credential,
		.credential_len = sizeof(attr->credential),
		.comp_mask = attr->comp_mask,
	};
	int err;

	if (!ctx)
		return errno;
	pthread_mutex_lock(&mlx5_state.lock);
	if (ctx->login)
		err = explain(EEXIST, "mlx5dv_crypto_login: the context is logged in");
	else
		err = login(ctx, &ex, &ctx->login);
	pthread_mutex_unlock(&mlx5_state.lock);
	return -err;
}

static enum mlx5dv_crypto_login_state state_of(const struct hca_login *l)
{
	if (!l)
		return MLX5DV_CRYPTO_LOGIN_STATE_NO_LOGIN;
	return hca_login_is_valid(l) ? MLX5DV_CRYPTO_LOGIN_STATE_VALID
				     : MLX5DV_CRYPTO_LOGIN_STATE_INVALID;
}

int mlx5dv_crypto_login_query_state(struct ibv_context *context,
				    enum mlx5dv_crypto_login_state *state)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);

	if (!ctx)
		return errno;
	pthread_mutex_lock(&mlx5_state.lock);
	*state = state_of(ctx->login);
	pthread_mutex_unlock(&mlx5_state.lock);
	return 0;
}

int mlx5dv_crypto_logout(struct ibv_context *context)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	int err = 0;

	if (!ctx)
		return errno;
	pthread_mutex_lock(&mlx5_state.lock);
	if (ctx->login)
		hca_login_destroy(ctx->login);
	else
		err = explain(ENOENT, "mlx5dv_crypto_logout: the context is not logged in");
	ctx->login = NULL;
	pthread_mutex_unlock(&mlx5_state.lock);
	return -err;
}

struct mlx5dv_crypto_login_obj *mlx5dv_crypto_login_create(struct ibv_context *context,
							   struct mlx5dv_crypto_login_attr_ex *attr)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5dv_crypto_login_obj *obj;
	int err;

	if (!ctx)
		return NULL;
	obj = calloc(1, sizeof(*obj));
	if (!obj)
		return NULL;
	err = login(ctx, attr, &obj->hca);
	if (!err)
		return obj;
	free(obj);
	/* The device refuses a second login as it refuses a wrong one. */
	errno = err == -EEXIST ? EINVAL : -err;
	return NULL;
}

int mlx5dv_crypto_login_query(struct mlx5dv_crypto_login_obj *obj,
			      struct mlx5dv_crypto_login_query_attr *attr)
{
	if (attr->comp_mask)
		return -explain(EINVAL, "mlx5dv_crypto_login_query: comp_mask 0x%llx; 0 is known",
				(unsigned long long)attr->comp_mask);
	attr->state = state_of(obj->hca);
	return 0;
}

int mlx5dv_crypto_login_destroy(struct mlx5dv_crypto_login_obj *obj)
{
	hca_login_destroy(obj->hca);
	free(obj);
	return 0;
}

/* ---- data encryption keys ---- */

static bool is_logged_in(struct mlx5_context *ctx)
{
	bool yes;

	pthread_mutex_lock(&mlx5_state.lock);
	yes = ctx->login;
	pthread_mutex_unlock(&mlx5_state.lock);
	return yes;
}

static int check_dek(struct mlx5_context *ctx, const struct mlx5dv_dek_init_attr *attr)
{
	bool wrapped = ctx->vb->adapter->crypto.kek_len, named, wants_wrapped;

	if (!ctx->vb->adapter->model->crypto)
		return explain(EOPNOTSUPP, "mlx5dv_dek_create: a %s does not encrypt",
			       ctx->vb->adapter->model->name);
	if (attr->key_purpose != MLX5DV_CRYPTO_KEY_PURPOSE_AES_XTS ||
	    (unsigned int)attr->key_size > MLX5DV_CRYPTO_KEY_SIZE_256 ||
	    attr->comp_mask & ~(uint64_t)MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN)
		return explain(EINVAL,
			       "mlx5dv_dek_create: key_purpose %d, key_size %d, comp_mask 0x%llx: "
			       "one of them is unknown",
			       attr->key_purpose, attr->key_size,
			       (unsigned long long)attr->comp_mask);
	named = attr->comp_mask & MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN;
	wants_wrapped = !named || attr->crypto_login;
	if (wants_wrapped != wrapped)
		return explain(EINVAL, "mlx5dv_dek_create: a %s key; %s imports them %s",
			       wants_wrapped ? "wrapped" : "plaintext", ctx->vb->adapter->name,
			       wrapped ? "wrapped" : "in plaintext");
	if (!named && !is_logged_in(ctx))
		return explain(EINVAL, "mlx5dv_dek_create: a wrapped key needs "
				       "mlx5dv_crypto_login(), or crypto_login");
	return 0;
}

struct mlx5dv_dek *mlx5dv_dek_create(struct ibv_context *context, struct mlx5dv_dek_init_attr *from)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct hca_dek_attr attr;
	struct mlx5dv_dek *dek;
	int err;

	if (!ctx)
		return NULL;
	err = check_dek(ctx, from);
	if (err) {
		errno = -err;
		return NULL;
	}
	dek = calloc(1, sizeof(*dek));
	if (!dek)
		return NULL;
	attr.is_256 = from->key_size == MLX5DV_CRYPTO_KEY_SIZE_256;
	attr.has_keytag = from->has_keytag;
	memcpy(attr.opaque, from->opaque, sizeof(attr.opaque));
	memcpy(attr.key, from->key, sizeof(attr.key));
	err = hca_dek_create(to_pd(from->pd)->hca, &attr, &dek->hca);
	explicit_bzero(&attr, sizeof(attr));
	if (!err)
		return dek;
	free(dek);
	errno = err == -EPERM ? EINVAL : -err;
	return NULL;
}

int mlx5dv_dek_query(struct mlx5dv_dek *dek, struct mlx5dv_dek_attr *attr)
{
	int err;

	if (attr->comp_mask)
		return -explain(EINVAL, "mlx5dv_dek_query: comp_mask 0x%llx; 0 is known",
				(unsigned long long)attr->comp_mask);
	err = hca_dek_check_query(dek->hca);
	if (err)
		return err == -EPERM ? EINVAL : -err;
	attr->state = MLX5DV_DEK_STATE_READY;
	memcpy(attr->opaque, dek->hca->opaque, sizeof(attr->opaque));
	return 0;
}

int mlx5dv_dek_destroy(struct mlx5dv_dek *dek)
{
	hca_dek_destroy(dek->hca);
	free(dek);
	return 0;
}
