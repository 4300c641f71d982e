/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_eq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hca/queue/eq.h"
#include "hca/queue/uar.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_uar.h"
#include "mlx5/devx_vector.h"
#include "mlx5/dv.h"
#include "mlx5/format.h"

#define EQE_SIZE     64u
#define USER_EQN_END 0xffu
#define LOG_EQ_MAX   22u
#define STATUS_FULL  0xau
#define EQ_ARMED     0x9u
#define EQ_FIRED     0xau

/* A new ring: the owner bits are those of the lap before the first. */
static void *alloc_ring(size_t size)
{
	uint8_t *ring =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i + EQE_SIZE <= size; i += EQE_SIZE)
		ifc_set(ring + i, eqe, owner, 1);
	return ring;
}

static size_t ring_bytes(unsigned int log)
{
	size_t bytes = (size_t)EQE_SIZE << log;

	return bytes < MLX5_PAGE_SIZE ? MLX5_PAGE_SIZE : bytes;
}

/* Everything but the number; devx_eq_release() undoes it. */
static int prepare(struct devx_cmd *c, const void *eqc, struct devx_user_eq **out)
{
	unsigned int log = ifc_get(eqc, eqc, log_eq_size), intr = ifc_get(eqc, eqc, intr);
	struct devx_vector *vector = c->devx->vectors[intr];
	struct devx_user_eq *eq;

	if (log > LOG_EQ_MAX)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_eq_size %u; at most %u", log, LOG_EQ_MAX);
	if (!vector)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_INDEX,
				   "intr %u is no vector of mlx5dv_devx_alloc_msi_vector()", intr);
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -ENOMEM;
	eq->devx = c->devx;
	eq->obj = c->obj;
	eq->size = ring_bytes(log);
	eq->pub.vaddr = alloc_ring(eq->size);
	if (!eq->pub.vaddr) {
		free(eq);
		return -ENOMEM;
	}
	for (int i = 0; i < 4; i++)
		eq->mask[i] = ifc_get_at(c->in, create_eq_in, event_bitmask, i);
	eq->vector = vector;
	vector->users++;
	*out = eq;
	return 0;
}

int devx_create_eq(struct devx_cmd *c)
{
	const void *eqc = ifc_cptr(c->in, create_eq_in, eq_context_entry);
	struct devx_user_eq *eq = NULL;
	struct hca_eq_init init;
	struct hca_uar *uar = NULL;
	int err = devx_uar_use(c, ifc_get(eqc, eqc, uar_page), &uar);

	if (!err)
		err = prepare(c, eqc, &eq);
	if (err)
		return err;
	c->obj->user_eq = eq;
	err = devx_keep(c, eqc, ifc_len(eqc));
	if (!err)
		err = devx_refuse_errno(c, devx_number(c->obj, DEVX_USER_EQN, USER_EQN_END, 1),
					DEVX_WHY_OBJECT);
	if (err)
		return err;
	init = (struct hca_eq_init){
		.format = &mlx5_format,
		.buf = eq->pub.vaddr,
		.size = 1u << ifc_get(eqc, eqc, log_eq_size),
		.eqn = c->obj->number,
		.uar = uar,
		.fd = eq->vector->pub.fd,
		.ignore_overrun = ifc_get(eqc, eqc, oi),
	};
	err = devx_refuse_errno(c, hca_eq_create(&init, &c->obj->eq), DEVX_WHY_MEMORY);
	if (err)
		return err;
	ifc_set(c->obj->image, eqc, log_page_size, __builtin_ctzll(eq->size / MLX5_PAGE_SIZE));
	pthread_mutex_lock(&c->devx->event_lock);
	LIST_INSERT_HEAD(&c->devx->eqs, eq, link);
	eq->listed = true;
	pthread_mutex_unlock(&c->devx->event_lock);
	ifc_set(c->out, create_eq_out, eq_number, c->obj->number);
	return 0;
}

void devx_eq_release(struct devx_user_eq *eq)
{
	eq->vector->users--;
	munmap(eq->pub.vaddr, eq->size);
	free(eq);
}

void devx_eq_unlist(struct devx_user_eq *eq)
{
	pthread_mutex_lock(&eq->devx->event_lock);
	if (eq->listed)
		LIST_REMOVE(eq, link);
	eq->listed = false;
	pthread_mutex_unlock(&eq->devx->event_lock);
}

/* A program has no handle for QUERY_EQ: the number alone names the queue. */
int devx_query_eq(struct devx_cmd *c)
{
	void *eqc = ifc_ptr(c->out, query_eq_out, eq_context_entry);
	uint32_t eqn = ifc_get(c->in, query_eq_in, eq_number);
	struct mlx5dv_devx_obj *obj = devx_find(c->devx, DEVX_EQ, eqn);
	struct hca_eq *eq;

	if (!obj)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_EQ,
				   "event queue %u was not created by the program", eqn);
	eq = obj->eq;
	memcpy(eqc, obj->image, obj->image_len);
	fabric_lock(&eq->lock);
	ifc_set(eqc, eqc, status, eq->overran ? STATUS_FULL : 0);
	ifc_set(eqc, eqc, st, eq->armed ? EQ_ARMED : EQ_FIRED);
	ifc_set(eqc, eqc, consumer_counter, eq->ci);
	ifc_set(eqc, eqc, producer_counter, eq->pi & HCA_EQ_INDEX_MASK);
	fabric_unlock(&eq->lock);
	for (int i = 0; i < 4; i++)
		ifc_set_at(c->out, query_eq_out, event_bitmask, i, obj->user_eq->mask[i]);
	return 0;
}

int devx_eq_find(struct devx_cmd *c, uint32_t eqn, struct hca_eq **out)
{
	struct mlx5dv_devx_obj *obj = devx_find(c->devx, DEVX_EQ, eqn);

	*out = obj ? obj->eq : NULL;
	if (obj || (eqn >= DEVX_OWN_EQN && eqn - DEVX_OWN_EQN < devx_vector_count(c->devx)))
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_EQ, "event queue %u does not exist",
			   eqn);
}
