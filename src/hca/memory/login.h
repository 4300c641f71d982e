/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Crypto logins. An adapter that imports keys wrapped holds import KEKs, which unwrap what comes to
 * it, and credentials, by which a context proves that it may import: number 0 of each from the
 * configuration, further ones by commands of a context that is logged in. A context has at most one
 * login. A login whose KEK or credential is deleted is invalid from then on.
 */
#ifndef HCA_LOGIN_H
#define HCA_LOGIN_H

#include <stdbool.h>
#include <sys/queue.h>

#include "hca/device/crypto.h"
#include "hca/device/ctx.h"

enum hca_secret_kind {
	HCA_SECRET_KEK,
	HCA_SECRET_CREDENTIAL,
};

/* An import KEK or a credential; hca.memory.crypto.lock guards the list. */
struct hca_secret {
	enum hca_secret_kind kind;
	const struct hca_adapter *adapter;
	uint32_t number;
	uint8_t len;
	uint8_t bytes[HCA_CREDENTIAL_LEN];
	LIST_ENTRY(hca_secret) link;
};

struct hca_login {
	const struct hca_ctx *ctx; /* NULL once the context is closed */
	uint32_t kek, credential;  /* numbers */
	bool valid;                /* guarded by hca.memory.crypto.lock */
	LIST_ENTRY(hca_login) link;
};

/*
 * `wrapped` is the credential, wrapped by the KEK: HCA_CREDENTIAL_LEN + 8 bytes. -EEXIST: the context
 * is logged in; -EINVAL: no such KEK or credential, or another one; -EOPNOTSUPP: the adapter imports
 * keys in plaintext.
 */
VB_API int hca_login_create(const struct hca_ctx *ctx, uint32_t kek, uint32_t credential,
			    const uint8_t *wrapped, struct hca_login **out);
VB_API bool hca_login_is_valid(const struct hca_login *login);
VB_API void hca_login_destroy(struct hca_login *login);
/* The context is being closed: its login, if the program still has it, is invalid. */
VB_API void hca_login_forget(const struct hca_ctx *ctx);

/* Whether the context has a valid login; -EPERM, explained. */
VB_API int hca_login_check(const struct hca_ctx *ctx);
/* Unwraps by the KEK of the context's login. -EPERM: no valid login; -EINVAL: wrapped otherwise. */
VB_API int hca_login_unwrap(const struct hca_ctx *ctx, const uint8_t *in, size_t len, uint8_t *out);

/* Stores a KEK of 16 or 32 bytes or a credential, which comes wrapped as above. */
VB_API int hca_secret_create(const struct hca_ctx *ctx, enum hca_secret_kind kind,
			     const uint8_t *wrapped, size_t len, struct hca_secret **out);
VB_API void hca_secret_destroy(struct hca_secret *secret);

#endif
