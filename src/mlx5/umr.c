/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A memory window is bound, unbound and invalidated by a WQE that rewrites its memory key. decode.c
 * reads these WQEs.
 */
#include "mlx5/umr.h"

#include "mlx5/sq.h"

#define MASK_ALWAYS (MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY)
#define MASK_BIND                                                                                  \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN | MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR |                \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |                                         \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)

/* One KLM entry; octowords come in multiples of four. */
#define KLM_OCTOWORDS 4

static void put_umr(struct mlx5_wqe_umr_ctrl_seg *umr, bool type2, bool bind)
{
	uint64_t mask = MASK_ALWAYS;

	memset(umr, 0, sizeof(*umr));
	umr->flags = MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET | MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	if (type2) {
		mask |= MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN;
		umr->flags |=
			bind ? MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE : MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN;
	}
	if (bind) {
		mask |= MASK_BIND;
		umr->klm_octowords = htobe16(KLM_OCTOWORDS);
	}
	umr->mkey_mask = htobe64(mask);
}

uint8_t mlx5_access_flags(unsigned int access)
{
	uint8_t flags = 0;

	if (access & IBV_ACCESS_LOCAL_WRITE)
		flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE;
	if (access & IBV_ACCESS_REMOTE_READ)
		flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ;
	if (access & IBV_ACCESS_REMOTE_WRITE)
		flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE;
	if (access & IBV_ACCESS_REMOTE_ATOMIC)
		flags |= MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC;
	return flags;
}

static void put_mkey(struct mlx5_wqe_mkey_context_seg *mkey, uint32_t qpn, uint32_t key,
		     const struct ibv_mw_bind_info *info)
{
	memset(mkey, 0, sizeof(*mkey));
	mkey->qpn_mkey = htobe32(qpn << 8 | (key & 0xff));
	if (!info->length) {
		mkey->free = MLX5_WQE_MKEY_CONTEXT_FREE;
		return;
	}
	mkey->access_flags = mlx5_access_flags(info->mw_access_flags);
	if (!(info->mw_access_flags & IBV_ACCESS_ZERO_BASED))
		mkey->start_addr = htobe64(info->addr);
	mkey->len = htobe64(info->length);
}

int mlx5_put_bind(struct mlx5_qp *qp, struct mlx5_wqe_ctrl_seg *ctrl, bool type2, uint32_t new_key,
		  const struct ibv_mw_bind_info *info, uint32_t *ds)
{
	uint8_t *seg = (uint8_t *)(ctrl + 1);
	struct mlx5_wqe_umr_klm_seg *klm;

	if (info->length > MLX5_DATA_SEG_MAX)
		return -explain(EOPNOTSUPP, "a window of %llu bytes; 2^31 is most",
				(unsigned long long)info->length);
	if (info->length && !info->mr)
		return -explain(EINVAL, "a window is to be bound to no memory region");
	put_umr((void *)seg, type2, info->length);
	seg = mlx5_sq_wrap(&qp->sq, seg + sizeof(struct mlx5_wqe_umr_ctrl_seg));
	put_mkey((void *)seg, type2 && info->length ? qp->base.qpn : MLX5_QPN_MASK, new_key, info);
	seg = mlx5_sq_wrap(&qp->sq, seg + sizeof(struct mlx5_wqe_mkey_context_seg));
	*ds = offsetof(struct mlx5_bind_wqe, klm) / MLX5_DS;
	if (!info->length)
		return 0;
	memset(seg, 0, sizeof(*klm) + sizeof(((struct mlx5_bind_wqe *)0)->pad));
	klm = (void *)seg;
	klm->byte_count = htobe32(info->length & ~MLX5_DATA_SEG_MAX);
	klm->mkey = htobe32(info->mr->lkey);
	klm->address = htobe64(info->addr);
	*ds = sizeof(struct mlx5_bind_wqe) / MLX5_DS;
	return 0;
}
