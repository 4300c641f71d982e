/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/sig.h"

#include <errno.h>
#include <stdlib.h>

#include "driver/poll.h"
#include "hca/memory/mkey.h"
#include "hca/memory/psv.h"
#include "mlx5/cqe.h"
#include "mlx5/cqe_owner.h"
#include "mlx5/state.h"
#include "util/explain.h"

void mlx5_sig_caps(const struct hca_adapter *adapter, struct mlx5dv_sig_caps *out)
{
	*out = (struct mlx5dv_sig_caps){
		.block_size = MLX5DV_BLOCK_SIZE_CAP_512 | MLX5DV_BLOCK_SIZE_CAP_520 |
			      MLX5DV_BLOCK_SIZE_CAP_4096 | MLX5DV_BLOCK_SIZE_CAP_4160,
		.block_prot = MLX5DV_SIG_PROT_CAP_T10DIF | MLX5DV_SIG_PROT_CAP_CRC,
		.t10dif_bg = MLX5DV_SIG_T10DIF_BG_CAP_CRC | MLX5DV_SIG_T10DIF_BG_CAP_CSUM,
		.crc_type = MLX5DV_SIG_CRC_TYPE_CAP_CRC32,
	};
	if (!hca_model_has(adapter->model, HCA_HAS_NEW_SIGNATURES))
		return;
	out->block_size |= MLX5DV_BLOCK_SIZE_CAP_4048;
	out->crc_type |= MLX5DV_SIG_CRC_TYPE_CAP_CRC32C | MLX5DV_SIG_CRC_TYPE_CAP_CRC64_XP10;
}

int mlx5_sig_create(struct mlx5_context *ctx, struct hca_pd *pd, uint32_t key,
		    struct mlx5_sig **out)
{
	struct mlx5_sig *sig = calloc(1, sizeof(*sig));
	int err;

	if (!sig)
		return -ENOMEM;
	err = hca_psv_create(pd, &sig->memory);
	if (err)
		goto free_sig;
	err = hca_psv_create(pd, &sig->wire);
	if (err)
		goto destroy_memory;
	sig->key = key;
	sig->errors = 1;
	sig->errors_changed = true;
	pthread_mutex_lock(&mlx5_state.lock);
	LIST_INSERT_HEAD(&ctx->signatures, sig, link);
	pthread_mutex_unlock(&mlx5_state.lock);
	*out = sig;
	return 0;
destroy_memory:
	hca_psv_destroy(sig->memory);
free_sig:
	free(sig);
	return err;
}

void mlx5_sig_destroy(struct mlx5_sig *sig)
{
	pthread_mutex_lock(&mlx5_state.lock);
	LIST_REMOVE(sig, link);
	pthread_mutex_unlock(&mlx5_state.lock);
	hca_psv_destroy(sig->wire);
	hca_psv_destroy(sig->memory);
	free(sig);
}

/* ---- configuration ---- */

static bool is_dif(const struct hca_sig_domain *d)
{
	return d->kind == HCA_SIG_DIF_CRC || d->kind == HCA_SIG_DIF_CSUM;
}

static int get_dif(const struct mlx5dv_sig_t10dif *from, struct hca_sig_domain *out)
{
	const uint16_t known = MLX5DV_SIG_T10DIF_FLAG_REF_REMAP |
			       MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE |
			       MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE;

	if (from->flags & ~known || (from->bg && from->bg != UINT16_MAX) ||
	    (from->bg_type != MLX5DV_SIG_T10DIF_CRC && from->bg_type != MLX5DV_SIG_T10DIF_CSUM))
		return explain(
			EINVAL,
			"T10-DIF: bg_type %d, bg 0x%x, flags 0x%x; bg_type is %d or %d, bg 0 "
			"or 0xffff, flags 0x%x are known",
			from->bg_type, from->bg, from->flags, MLX5DV_SIG_T10DIF_CRC,
			MLX5DV_SIG_T10DIF_CSUM, known);
	out->kind = from->bg_type == MLX5DV_SIG_T10DIF_CRC ? HCA_SIG_DIF_CRC : HCA_SIG_DIF_CSUM;
	out->ones = from->bg;
	out->app = from->app_tag;
	out->app_mask = UINT16_MAX;
	out->ref = from->ref_tag;
	out->counts = from->flags & MLX5DV_SIG_T10DIF_FLAG_REF_REMAP;
	if (from->flags & MLX5DV_SIG_T10DIF_FLAG_APP_REF_ESCAPE)
		out->escape = HCA_SIG_ESCAPE_APP_REF;
	else if (from->flags & MLX5DV_SIG_T10DIF_FLAG_APP_ESCAPE)
		out->escape = HCA_SIG_ESCAPE_APP;
	return 0;
}

static int get_crc(const struct mlx5dv_sig_crc *from, struct hca_sig_domain *out)
{
	static const uint8_t kinds[] = {
		[MLX5DV_SIG_CRC_TYPE_CRC32] = HCA_SIG_CRC32,
		[MLX5DV_SIG_CRC_TYPE_CRC32C] = HCA_SIG_CRC32C,
		[MLX5DV_SIG_CRC_TYPE_CRC64_XP10] = HCA_SIG_CRC64,
	};
	uint64_t ones = from->type == MLX5DV_SIG_CRC_TYPE_CRC64_XP10 ? UINT64_MAX : UINT32_MAX;

	if ((unsigned int)from->type >= array_size(kinds) || (from->seed && from->seed != ones))
		return explain(
			EINVAL,
			"CRC: type %d, seed 0x%llx; types are 0 to %zu, the seed is 0 or all "
			"ones",
			from->type, (unsigned long long)from->seed, array_size(kinds) - 1);
	out->kind = kinds[from->type];
	out->ones = from->seed;
	return 0;
}

static int get_domain(const struct mlx5dv_sig_block_domain *from, const struct hca_psv *psv,
		      struct hca_sig_domain *out)
{
	static const uint16_t blocks[] = {
		[MLX5DV_BLOCK_SIZE_512] = 512,   [MLX5DV_BLOCK_SIZE_520] = 520,
		[MLX5DV_BLOCK_SIZE_4048] = 4048, [MLX5DV_BLOCK_SIZE_4096] = 4096,
		[MLX5DV_BLOCK_SIZE_4160] = 4160,
	};

	*out = (struct hca_sig_domain){ .psv = psv->index };
	if (!from)
		return 0;
	if ((unsigned int)from->block_size >= array_size(blocks) || from->comp_mask ||
	    (from->sig_type != MLX5DV_SIG_TYPE_CRC && from->sig_type != MLX5DV_SIG_TYPE_T10DIF))
		return explain(EINVAL,
			       "a signature domain: sig_type %d, block_size %d, comp_mask 0x%llx; "
			       "sig_type is %d or %d, block_size 0 to %zu, comp_mask 0",
			       from->sig_type, from->block_size,
			       (unsigned long long)from->comp_mask, MLX5DV_SIG_TYPE_T10DIF,
			       MLX5DV_SIG_TYPE_CRC, array_size(blocks) - 1);
	out->block = blocks[from->block_size];
	return from->sig_type == MLX5DV_SIG_TYPE_CRC ? get_crc(from->sig.crc, out)
						     : get_dif(from->sig.dif, out);
}

static bool is_new(const struct hca_sig_domain *d)
{
	return d->kind == HCA_SIG_CRC32C || d->kind == HCA_SIG_CRC64 ||
	       (d->kind && d->block == 4048);
}

static bool same_structure(const struct hca_sig_domain *a, const struct hca_sig_domain *b)
{
	return a->kind && a->block == b->block && (a->kind == b->kind || (is_dif(a) && is_dif(b)));
}

/* Parts that are equal in both domains are copied. */
static uint8_t usual_copy(const struct hca_sig_domain *m, const struct hca_sig_domain *w)
{
	uint8_t copy = 0;

	if (!same_structure(m, w))
		return 0;
	if (!is_dif(m))
		return m->kind == HCA_SIG_CRC64 ? MLX5DV_SIG_MASK_CRC64_XP10
						: MLX5DV_SIG_MASK_CRC32;
	if (m->kind == w->kind && m->ones == w->ones)
		copy |= MLX5DV_SIG_MASK_T10DIF_GUARD;
	if (m->app == w->app)
		copy |= MLX5DV_SIG_MASK_T10DIF_APPTAG;
	if (m->ref == w->ref)
		copy |= MLX5DV_SIG_MASK_T10DIF_REFTAG;
	return copy;
}

/* A thread that polls reads it. */
static void set_conf(struct mlx5_sig *sig, const struct hca_sig_conf *conf)
{
	pthread_mutex_lock(&mlx5_state.lock);
	sig->conf = *conf;
	pthread_mutex_unlock(&mlx5_state.lock);
}

void mlx5_sig_begin(struct mlx5_sig *sig, bool reset)
{
	sig->is_set = false;
	if (reset)
		set_conf(sig, &(struct hca_sig_conf){ 0 });
}

int mlx5_sig_set(struct mlx5_mkey *mkey, const struct mlx5dv_sig_block_attr *attr)
{
	struct mlx5_sig *sig = mkey->sig;
	struct hca_sig_conf conf;
	int err;

	if (!sig || sig->is_set)
		return explain(EINVAL, "mlx5dv_wr_set_mkey_sig_block: key 0x%x %s", mkey->dv.lkey,
			       sig ? "has signatures twice in one request"
				   : "was created without "
				     "MLX5DV_MKEY_INIT_ATTR_FLAGS_BLOCK_SIGNATURE");
	if ((!attr->mem && !attr->wire) || attr->comp_mask ||
	    attr->flags & ~MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK)
		return explain(EINVAL,
			       "mlx5dv_wr_set_mkey_sig_block: %s, flags 0x%x, comp_mask 0x%llx; at "
			       "least one domain, flags 0x%x are known, comp_mask is 0",
			       attr->mem || attr->wire ? "a domain" : "no domain", attr->flags,
			       (unsigned long long)attr->comp_mask,
			       MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK);
	err = get_domain(attr->mem, sig->memory, &conf.memory);
	if (!err)
		err = get_domain(attr->wire, sig->wire, &conf.wire);
	if (err)
		return err;
	if ((is_new(&conf.memory) || is_new(&conf.wire)) &&
	    !hca_model_has(mkey->hca->pd->ctx->adapter->model, HCA_HAS_NEW_SIGNATURES))
		return explain(EOPNOTSUPP,
			       "mlx5dv_wr_set_mkey_sig_block: an adapter of this model has "
			       "neither CRC-32C nor CRC-64 nor blocks of 4048 bytes");
	conf.check = attr->check_mask;
	conf.copy = usual_copy(&conf.memory, &conf.wire);
	if (attr->flags & MLX5DV_SIG_BLOCK_ATTR_FLAG_COPY_MASK) {
		if (!same_structure(&conf.memory, &conf.wire))
			return explain(EINVAL,
				       "mlx5dv_wr_set_mkey_sig_block: a copy mask needs the "
				       "same signatures and blocks in both domains");
		conf.copy = attr->copy_mask;
	}
	set_conf(sig, &conf);
	sig->is_set = true;
	return 0;
}

uint64_t mlx5_sig_start(const struct hca_sig_domain *d)
{
	if (is_dif(d))
		return (uint64_t)(d->ones ? UINT16_MAX : 0) << 48 | (uint64_t)d->app << 32 | d->ref;
	if (!d->ones)
		return 0;
	return d->kind == HCA_SIG_CRC64 ? UINT64_MAX : (uint64_t)UINT32_MAX << 32;
}

/* ---- errors ---- */

/* The part of both signatures that is wrong. */
static void fill(const struct mlx5_sig_err_cqe *cqe, const struct hca_sig_domain *d,
		 struct mlx5dv_mkey_err *out)
{
	uint32_t found = be32toh(cqe->expected_guard_app), right = be32toh(cqe->actual_guard_app);
	uint32_t found_low = be32toh(cqe->expected_ref), right_low = be32toh(cqe->actual_ref);
	uint16_t syndrome = be16toh(cqe->syndrome);
	struct mlx5dv_sig_err *sig = &out->err.sig;

	sig->offset = be64toh(cqe->offset);
	if (syndrome & MLX5_SIG_ERR_REF) {
		out->err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_REFTAG;
		sig->expected_value = found_low;
		sig->actual_value = right_low;
	} else if (syndrome & MLX5_SIG_ERR_APP) {
		out->err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_APPTAG;
		sig->expected_value = found & UINT16_MAX;
		sig->actual_value = right & UINT16_MAX;
	} else {
		out->err_type = MLX5DV_MKEY_SIG_BLOCK_BAD_GUARD;
		sig->expected_value = found;
		sig->actual_value = right;
		if (is_dif(d)) {
			sig->expected_value >>= 16;
			sig->actual_value >>= 16;
		} else if (d->kind == HCA_SIG_CRC64) {
			sig->expected_value = (uint64_t)found << 32 | found_low;
			sig->actual_value = (uint64_t)right << 32 | right_low;
		}
	}
}

static void note(struct mlx5_context *ctx, const struct mlx5_sig_err_cqe *cqe)
{
	uint32_t key = be32toh(cqe->mkey);
	struct mlx5_sig *sig;

	pthread_mutex_lock(&mlx5_state.lock);
	LIST_FOREACH(sig, &ctx->signatures, link) {
		if (sig->key >> 8 != key >> 8)
			continue;
		fill(cqe, cqe->domain == MLX5_SIG_ERR_MEMORY ? &sig->conf.memory : &sig->conf.wire,
		     &sig->error);
		sig->has_error = true;
		sig->errors++;
		sig->errors_changed = true;
		break;
	}
	pthread_mutex_unlock(&mlx5_state.lock);
}

bool mlx5_sig_errors_consume(struct mlx5_cq *cq)
{
	while (mlx5_cqe_opcode(&cq->base, cq->base.ci) == MLX5_CQE_SIG_ERR)
		note(cq->ctx, drv_cqe_consume(&cq->base));
	drv_record_store(cq->base.db, cq->base.ci & DRV_CI_MASK);
	return mlx5_cqe_written(&cq->base, cq->base.ci);
}

void mlx5_sig_take_error(struct mlx5_sig *sig, struct mlx5dv_mkey_err *out)
{
	pthread_mutex_lock(&mlx5_state.lock);
	if (sig->has_error)
		*out = sig->error;
	else
		out->err_type = MLX5DV_MKEY_NO_ERR;
	sig->has_error = false;
	pthread_mutex_unlock(&mlx5_state.lock);
}

bool mlx5_sig_count_errors(struct mlx5_sig *sig, uint8_t *count)
{
	bool changed;

	pthread_mutex_lock(&mlx5_state.lock);
	changed = sig->errors_changed;
	sig->errors_changed = false;
	*count = sig->errors;
	pthread_mutex_unlock(&mlx5_state.lock);
	return changed;
}
