/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling elements are trees in which queues share a port. A limit acts on the send queues below
 * (hca/transport/shaper.h); shares (bw_share) are stored and have no effect.
 */
#include "mlx5/devx_sched.h"

#include <string.h>

#include "hca/transport/shaper.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"

#define NUMBERS (1u << 20)

static int check(struct devx_cmd *c, const void *sc, struct mlx5dv_devx_obj **parent)
{
	unsigned int type = ifc_get(sc, scheduling_context, element_type);
	uint32_t id = ifc_get(sc, scheduling_context, parent_element_id);

	*parent = id ? devx_find(c->devx, DEVX_SCHED, id) : NULL;
	if (type > IFC_SCHED_QUEUE_GROUP)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "element_type %u; 0 to %u exist", type, IFC_SCHED_QUEUE_GROUP);
	if (id && !*parent)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "parent_element_id 0x%x does not exist", id);
	if (*parent &&
	    ifc_get((*parent)->image, scheduling_context, element_type) != IFC_SCHED_TSAR)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "element 0x%x is a leaf, which has no children", id);
	if (!id && type != IFC_SCHED_TSAR)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "a leaf has a parent_element_id");
	return 0;
}

int devx_create_sched(struct devx_cmd *c)
{
	const void *sc = ifc_cptr(c->in, create_scheduling_element_in, scheduling_context);
	unsigned int hierarchy = ifc_get(c->in, create_scheduling_element_in, scheduling_hierarchy);
	struct mlx5dv_devx_obj *parent;
	int err;

	if (hierarchy != IFC_SCHED_NIC)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "scheduling_hierarchy %u; %u (NIC) is offered", hierarchy,
				   IFC_SCHED_NIC);
	err = check(c, sc, &parent);
	if (!err)
		err = devx_keep(c, sc, ifc_len(scheduling_context));
	if (!err)
		err = devx_refuse_errno(
			c,
			hca_shaper_create(parent ? parent->shaper : NULL,
					  ifc_get(sc, scheduling_context, max_average_bw),
					  &c->obj->shaper),
			DEVX_WHY_MEMORY);
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, 1, NUMBERS, 1), DEVX_WHY_OBJECT);
	if (err)
		return err;
	if (parent)
		devx_use(c->obj, parent);
	ifc_set(c->out, create_scheduling_element_out, scheduling_element_id, c->obj->number);
	return 0;
}

int devx_query_sched(struct devx_cmd *c)
{
	memcpy(ifc_ptr(c->out, query_scheduling_element_out, scheduling_context), c->obj->image,
	       c->obj->image_len);
	return 0;
}

int devx_modify_sched(struct devx_cmd *c)
{
	const void *sc = ifc_cptr(c->in, modify_scheduling_element_in, scheduling_context);
	uint32_t mask = ifc_get(c->in, modify_scheduling_element_in, modify_bitmask);

	if (mask & ~(uint32_t)(IFC_MODIFY_SCHED_SHARE | IFC_MODIFY_SCHED_MAX))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "modify_bitmask 0x%x; 0x%x is known", mask,
				   IFC_MODIFY_SCHED_SHARE | IFC_MODIFY_SCHED_MAX);
	if (mask & IFC_MODIFY_SCHED_SHARE)
		ifc_set(c->obj->image, scheduling_context, bw_share,
			ifc_get(sc, scheduling_context, bw_share));
	if (mask & IFC_MODIFY_SCHED_MAX) {
		ifc_set(c->obj->image, scheduling_context, max_average_bw,
			ifc_get(sc, scheduling_context, max_average_bw));
		hca_shaper_set(c->obj->shaper, ifc_get(sc, scheduling_context, max_average_bw));
	}
	return 0;
}
