/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs of ports, paths and QP numbers. Those for features of hardware that the adapter
 * lacks refuse.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/qpn.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "mlx5/state.h"
#include "util/explain.h"
#include "verbs/object_check.h"

/* Without an embedded switch no flag is set. */
int _mlx5dv_query_port(struct ibv_context *context, uint32_t port, struct mlx5dv_port *info,
		       size_t length)
{
	const struct hca_adapter *a;

	if (!mlx5_dv_context(context, "mlx5dv_query_port"))
		return errno;
	a = to_context(context)->adapter;
	if (port < 1 || port > (uint32_t)a->port_count)
		return errno = -explain(EINVAL, "mlx5dv_query_port: port %u; %s has 1 to %d", port,
					a->name, a->port_count);
	memset(info, 0, length);
	return 0;
}

int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *buf, size_t length)
{
	if (!mlx5_dv_context(context, __func__))
		return errno;
	return errno = -explain(ENODEV, "mlx5dv_get_data_direct_sysfs_path: the adapter has no "
					"second function for direct access");
}

/* ---- paths ---- */

int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port)
{
	int err;

	if (!mlx5_dv_context(qp->context, __func__))
		return errno;
	err = vb_check_qp(qp, ENOENT, __func__);
	if (err)
		return errno = -err;
	if (!to_mqp(qp)->base.vb.hca)
		return errno = EOPNOTSUPP;
	return errno = -hca_qp_set_udp_sport(to_mqp(qp)->base.vb.hca, port);
}

/* A hint for congestion control, which has no use for it. */
int mlx5dv_map_ah_to_qp(struct ibv_ah *ah, uint32_t qpn)
{
	int err;

	if (!mlx5_dv_context(ah->context, __func__))
		return errno;
	err = vb_check_ah(ah, ENOENT, __func__);
	if (err)
		return errno = -err;
	if (!to_ah(ah)->av.has_grh)
		return errno = -explain(EOPNOTSUPP, "mlx5dv_map_ah_to_qp: the address has no GRH");
	if (qpn > MLX5_QPN_MASK)
		return errno = -explain(EINVAL,
					"mlx5dv_map_ah_to_qp: QP number 0x%x has more than "
					"24 bits",
					qpn);
	return 0;
}

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
				    uint64_t iova, int fd, int access, int mlx5_access)
{
	if (!mlx5_dv_context(pd->context, __func__))
		return NULL;
	if (mlx5_access & MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT)
		return explain_null(EOPNOTSUPP, "mlx5dv_reg_dmabuf_mr: the adapter has no second "
						"function for direct access");
	if (mlx5_access)
		return explain_null(EINVAL, "mlx5dv_reg_dmabuf_mr: mlx5_access 0x%x is unknown",
				    mlx5_access);
	return ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}

/* ---- numbers of queue pairs that a program makes up elsewhere ---- */

int mlx5dv_reserved_qpn_alloc(struct ibv_context *context, uint32_t *qpn)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5_reserved_qpn *r;
	int err;

	if (!ctx)
		return errno;
	r = malloc(sizeof(*r));
	if (!r)
		return errno = ENOMEM;
	err = hca_qpn_reserve(&r->qpn);
	if (err) {
		free(r);
		return errno = -err;
	}
	*qpn = r->qpn;
	pthread_mutex_lock(&mlx5_state.lock);
	LIST_INSERT_HEAD(&ctx->reserved, r, link);
	pthread_mutex_unlock(&mlx5_state.lock);
	return 0;
}

int mlx5dv_reserved_qpn_dealloc(struct ibv_context *context, uint32_t qpn)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5_reserved_qpn *r;

	if (!ctx)
		return errno;
	pthread_mutex_lock(&mlx5_state.lock);
	LIST_FOREACH(r, &ctx->reserved, link)
		if (r->qpn == qpn) {
			LIST_REMOVE(r, link);
			break;
		}
	pthread_mutex_unlock(&mlx5_state.lock);
	if (!r)
		return errno = -explain(EINVAL,
					"mlx5dv_reserved_qpn_dealloc: 0x%x was not reserved by "
					"this context",
					qpn);
	hca_qpn_release(qpn);
	free(r);
	return 0;
}
