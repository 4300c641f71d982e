/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_psv.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/memory/psv.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

struct devx_psvs {
	uint32_t count;
	struct hca_psv *psv[HCA_PSV_MOST];
};

static void destroy(struct devx_psvs *psvs)
{
	while (psvs->count)
		hca_psv_destroy(psvs->psv[--psvs->count]);
	free(psvs);
}

void devx_psv_destroy(struct mlx5dv_devx_obj *obj)
{
	destroy(obj->psvs);
}

static int create(struct hca_pd *pd, uint32_t count, struct devx_psvs **out)
{
	struct devx_psvs *psvs = calloc(1, sizeof(*psvs));
	int err = 0;

	if (!psvs)
		return -ENOMEM;
	while (!err && psvs->count < count) {
		err = hca_psv_create(pd, &psvs->psv[psvs->count]);
		psvs->count += !err;
	}
	if (err) {
		destroy(psvs);
		return err;
	}
	*out = psvs;
	return 0;
}

int devx_create_psv(struct devx_cmd *c)
{
	uint32_t count = ifc_get(c->in, create_psv_in, num_psv);
	uint32_t pdn = ifc_get(c->in, create_psv_in, pd);
	const struct hca_psv *const *psv;
	struct hca_pd *pd;
	int err;

	if (!count || count > HCA_PSV_MOST)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%u signature contexts; 1 to %u", count, HCA_PSV_MOST);
	pd = devx_hold_pd(c, pdn);
	if (!pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	err = devx_refuse_errno(c, create(pd, count, &c->obj->psvs), DEVX_WHY_MEMORY);
	hca_pd_put(pd);
	if (err)
		return err;
	psv = (const struct hca_psv *const *)c->obj->psvs->psv;
	c->obj->number = psv[0]->index;
	ifc_set(c->out, create_psv_out, psv0_index, psv[0]->index);
	if (count > 1)
		ifc_set(c->out, create_psv_out, psv1_index, psv[1]->index);
	if (count > 2)
		ifc_set(c->out, create_psv_out, psv2_index, psv[2]->index);
	if (count > 3)
		ifc_set(c->out, create_psv_out, psv3_index, psv[3]->index);
	return 0;
}
