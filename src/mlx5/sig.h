/* SPDX-License-Identifier: BSD-2-Clause */
/* Signatures of memory keys, as the driver keeps them: configuration, contexts, errors. */
#ifndef MLX5_SIG_H
#define MLX5_SIG_H

#include "mlx5/objects.h"

void mlx5_sig_caps(const struct hca_adapter *adapter, struct mlx5dv_sig_caps *out);

int mlx5_sig_create(struct mlx5_context *ctx, struct hca_pd *pd, uint32_t key,
		    struct mlx5_sig **out);
void mlx5_sig_destroy(struct mlx5_sig *sig);

/* A request that configures the key begins: without a new setting, the old one is kept or reset. */
void mlx5_sig_begin(struct mlx5_sig *sig, bool reset);
/* -EINVAL for what the adapter does not have, or a second setting in one request. */
int mlx5_sig_set(struct mlx5_mkey *mkey, const struct mlx5dv_sig_block_attr *attr);
/* The value that the context of a domain is set to. */
uint64_t mlx5_sig_start(const struct hca_sig_domain *d);

/*
 * The CQEs of wrong signatures at the consumer index are noted at their keys. True: a CQE for the
 * program follows. The CQ's lock is held.
 */
__attribute__((cold)) bool mlx5_sig_errors_consume(struct mlx5_cq *cq);

/* The key's error, if there is one, which is forgotten. */
void mlx5_sig_take_error(struct mlx5_sig *sig, struct mlx5dv_mkey_err *out);
/* Whether errors have come since the last call; *count: the number of errors. */
bool mlx5_sig_count_errors(struct mlx5_sig *sig, uint8_t *count);

#endif
