/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_crypto.h"

#include <string.h>

#include "hca/memory/dek.h"
#include "hca/memory/login.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define LOGINS (1u << 20)

bool devx_has_crypto(const struct hca_adapter *adapter)
{
	return adapter->model->crypto;
}

bool devx_has_login(const struct hca_adapter *adapter)
{
	return adapter->crypto.kek_len;
}

static const uint8_t *body(const struct devx_cmd *c)
{
	return c->in + ifc_len(general_obj_in_cmd_hdr);
}

static const struct hca_ctx *ctx_of(const struct devx_cmd *c)
{
	return &c->devx->ctx->vb->hca;
}

int devx_modify_crypto(struct devx_cmd *c)
{
	return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
			   "objects of type 0x%x do not change", c->obj->type);
}

/* ---- data encryption keys ---- */

int devx_create_dek(struct devx_cmd *c)
{
	const uint8_t *in = body(c);
	unsigned int purpose = ifc_get(in, encryption_key_obj, key_purpose);
	unsigned int size = ifc_get(in, encryption_key_obj, key_size);
	uint32_t pdn = ifc_get(in, encryption_key_obj, pd);
	struct hca_dek_attr attr = {
		.is_256 = size == IFC_KEY_SIZE_256,
		.has_keytag = ifc_get(in, encryption_key_obj, has_keytag),
	};
	struct hca_pd *pd;
	int err;

	if (purpose != IFC_DEK_PURPOSE_AES_XTS || size > IFC_KEY_SIZE_256)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "a DEK of purpose %u and size %u; purpose %u (AES-XTS) with "
				   "size 0 or 1 is offered",
				   purpose, size, IFC_DEK_PURPOSE_AES_XTS);
	pd = devx_hold_pd(c, pdn);
	if (!pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	memcpy(attr.opaque, ifc_cptr(in, encryption_key_obj, opaque), sizeof(attr.opaque));
	memcpy(attr.key, ifc_cptr(in, encryption_key_obj, key), sizeof(attr.key));
	err = devx_refuse_errno(c, hca_dek_create(pd, &attr, &c->obj->dek), DEVX_WHY_OBJECT);
	hca_pd_put(pd);
	explicit_bzero(&attr, sizeof(attr));
	if (!err)
		c->obj->number = c->obj->dek->number;
	return err;
}

int devx_query_dek(struct devx_cmd *c)
{
	const struct hca_dek *dek = c->obj->dek;
	uint8_t *out = c->out + ifc_len(general_obj_out_cmd_hdr);
	int err = devx_refuse_errno(c, hca_dek_check_query(dek), DEVX_WHY_STATE);

	if (err)
		return err;
	ifc_set(out, encryption_key_obj, state, IFC_DEK_READY);
	ifc_set(out, encryption_key_obj, key_size,
		dek->is_256 ? IFC_KEY_SIZE_256 : IFC_KEY_SIZE_128);
	ifc_set(out, encryption_key_obj, has_keytag, dek->has_keytag);
	ifc_set(out, encryption_key_obj, key_purpose, IFC_DEK_PURPOSE_AES_XTS);
	ifc_set(out, encryption_key_obj, pd, dek->pdn);
	memcpy(ifc_ptr(out, encryption_key_obj, opaque), dek->opaque, sizeof(dek->opaque));
	return 0;
}

int devx_destroy_dek(struct mlx5dv_devx_obj *obj)
{
	hca_dek_destroy(obj->dek);
	return 0;
}

/* ---- logins ---- */

int devx_create_login(struct devx_cmd *c)
{
	const uint8_t *in = body(c);
	int err = devx_refuse_errno(
		c,
		hca_login_create(ctx_of(c), ifc_get(in, crypto_login_obj, session_import_kek_ptr),
				 ifc_get(in, crypto_login_obj, credential_pointer),
				 ifc_cptr(in, crypto_login_obj, credential), &c->obj->login),
		DEVX_WHY_OBJECT);

	return err ? err : devx_refuse_errno(c, devx_number(c->obj, 1, LOGINS, 1), DEVX_WHY_OBJECT);
}

int devx_query_login(struct devx_cmd *c)
{
	const struct hca_login *login = c->obj->login;
	uint8_t *out = c->out + ifc_len(general_obj_out_cmd_hdr);

	ifc_set(out, crypto_login_obj, state,
		hca_login_is_valid(login) ? IFC_LOGIN_VALID : IFC_LOGIN_INVALID);
	ifc_set(out, crypto_login_obj, credential_pointer, login->credential);
	ifc_set(out, crypto_login_obj, session_import_kek_ptr, login->kek);
	return 0;
}

int devx_destroy_login(struct mlx5dv_devx_obj *obj)
{
	hca_login_destroy(obj->login);
	return 0;
}

/* ---- import KEKs and credentials ---- */

static int create_secret(struct devx_cmd *c, enum hca_secret_kind kind, const uint8_t *wrapped,
			 size_t len)
{
	int err = devx_refuse_errno(
		c, hca_secret_create(ctx_of(c), kind, wrapped, len, &c->obj->secret),
		DEVX_WHY_OBJECT);

	if (!err)
		c->obj->number = c->obj->secret->number;
	return err;
}

int devx_create_import_kek(struct devx_cmd *c)
{
	unsigned int size = ifc_get(body(c), import_kek_obj, key_size);

	if (size > IFC_KEY_SIZE_256)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "an import KEK of size %u; 0 (128 bits) or 1 (256 bits)", size);
	return create_secret(c, HCA_SECRET_KEK, ifc_cptr(body(c), import_kek_obj, key),
			     size == IFC_KEY_SIZE_256 ? 32 : 16);
}

int devx_create_credential(struct devx_cmd *c)
{
	return create_secret(c, HCA_SECRET_CREDENTIAL,
			     ifc_cptr(body(c), credential_obj, credential), HCA_CREDENTIAL_LEN);
}

int devx_destroy_secret(struct mlx5dv_devx_obj *obj)
{
	hca_secret_destroy(obj->secret);
	return 0;
}
