/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration bonds links, as the driver of a ConnectX does when its interfaces are bonded: commands
 * see the bond and change which link an affinity stands for, in this process.
 */
#include "mlx5/devx_lag.h"

#include "hca/device/lag.h"
#include "mlx5/devx_cmd.h"

uint8_t devx_lag_of(const struct devx_cmd *c, uint64_t affinity, uint8_t none)
{
	return affinity && affinity <= c->adapter->lag_count ? affinity : none;
}

int devx_query_lag(struct devx_cmd *c)
{
	uint8_t *lag = ifc_ptr(c->out, query_lag_out, lag_context);

	/* An answer on an adapter without bonded links as well: lag_state 0. */
	if (!hca_lag_is_on(c->adapter))
		return 0;
	ifc_set(lag, lag_context, lag_state, IFC_LAG_ACTIVE);
	ifc_set(lag, lag_context, tx_remap_affinity_1, hca_lag_active(c->adapter, 1));
	ifc_set(lag, lag_context, tx_remap_affinity_2, hca_lag_active(c->adapter, 2));
	return 0;
}

static int need_bond(struct devx_cmd *c)
{
	return hca_lag_is_on(c->adapter)
		       ? 0
		       : devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				     "%s has no bonded links; the configuration's key is lag",
				     c->adapter->name);
}

int devx_create_lag(struct devx_cmd *c)
{
	int err = need_bond(c);

	if (err)
		return err;
	return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
			   "the links of %s are bonded already", c->adapter->name);
}

int devx_modify_lag(struct devx_cmd *c)
{
	const uint8_t *lag = ifc_cptr(c->in, modify_lag_in, lag_context);
	const uint8_t map[HCA_LAG_LINKS] = {
		ifc_get(lag, lag_context, tx_remap_affinity_1),
		ifc_get(lag, lag_context, tx_remap_affinity_2),
	};
	uint32_t select = ifc_get(c->in, modify_lag_in, field_select);
	int err = need_bond(c);

	if (err)
		return err;
	if (select & ~(uint32_t)IFC_MODIFY_LAG_REMAP)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "field_select 0x%x; 0x%x (the affinities) is offered", select,
				   IFC_MODIFY_LAG_REMAP);
	if (!select)
		return 0;
	return devx_refuse_errno(c, hca_lag_set_map(c->adapter, map), DEVX_WHY_FIELD);
}

int devx_destroy_lag(struct devx_cmd *c)
{
	int err = need_bond(c);

	if (err)
		return err;
	return devx_refuse(c, IFC_STATUS_RES_BUSY, DEVX_WHY_BUSY,
			   "the configuration bonds the links of %s", c->adapter->name);
}
