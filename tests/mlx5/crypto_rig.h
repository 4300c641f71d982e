/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pair of which side 0 has a key that encrypts, and what libcrypto makes of the same data. A helper
 * that fails ends the test that called it.
 */
#ifndef TESTS_MLX5_CRYPTO_RIG_H
#define TESTS_MLX5_CRYPTO_RIG_H

#include "crypto_keys.h"
#include "pair.h"

#define RIG_RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* Places in the buffer: the key's memory, and plain memory of the peer. */
#define RIG_KEY   100u
#define RIG_PLAIN (PAIR_BUF / 2)

struct crypto_rig {
	struct pair pair;
	struct ibv_qp_ex *ex;
	struct mlx5dv_qp_ex *dv;
	struct mlx5dv_dek *dek; /* or NULL */
	struct mlx5dv_mkey *mkey;
};

/* mlx5_0 and mlx5_3 encrypt, many data units and one; mlx5_2 does not. Before the first call. */
void crypto_rig_adapters(void);
/* `flags` of the key beside MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT; the DEK is DEK_128. */
void crypto_rig_make(struct crypto_rig *r, uint32_t flags);
void crypto_rig_drop(struct crypto_rig *r);
struct mlx5dv_mkey *crypto_rig_mkey(struct crypto_rig *r, uint32_t flags);
struct mlx5dv_dek *crypto_rig_dek(struct crypto_rig *r, const char *key);

/* Bytes of a data unit, by enum mlx5dv_block_size; the first one's tweak. */
extern const uint32_t crypto_rig_units[5];
extern const uint8_t crypto_rig_tweak[16];

void crypto_rig_encrypt(const char *key, uint32_t unit, const uint8_t *in, uint8_t *out,
			size_t len);

/* The beginning of a request that configures the key, with rights and `len` bytes in three pieces. */
void crypto_rig_begin(struct crypto_rig *r, uint8_t setters, uint32_t len);
struct mlx5dv_crypto_attr crypto_rig_attr(const struct crypto_rig *r, bool encrypt_on_tx, int size);

/* Operations between the key and plain memory. */
enum crypto_way { SEND, RECV, LOCAL_WRITE, LOCAL_READ, REMOTE_WRITE, REMOTE_READ, WAYS };

bool crypto_rig_is_to_key(enum crypto_way way);
struct ibv_wc crypto_rig_run(struct crypto_rig *r, enum crypto_way way, uint64_t offset,
			     uint32_t len);

#endif
