/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DMA handles. A handle says on which processor and in which kind of memory data is wanted (TLP processing
 * hints, PCI Express 6.0 6.17). Copies of a processor need no hint; what a kernel and mlx5 check is checked, and
 * nothing else follows.
 */
#include "verbs/dmah.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/explain.h"
#include "verbs/removal.h"
#include "verbs/result.h"

#define PH_MAX 3u /* two bits */
#define KNOWN                                                                                      \
	(IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_PH |                             \
	 IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE)
/* A steering tag is made of both. */
#define TAG (IBV_DMAH_INIT_ATTR_MASK_CPU_ID | IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE)

static int check_cpu(uint32_t cpu)
{
	const long count = sysconf(_SC_NPROCESSORS_CONF);
	cpu_set_t set;

	if (count > 0 && cpu >= (unsigned long)count)
		return explain(EINVAL, "ibv_alloc_dmah: processor %u; there are %ld", cpu, count);
	if (cpu < CPU_SETSIZE && !sched_getaffinity(0, sizeof(set), &set) && !CPU_ISSET(cpu, &set))
		return explain(EPERM, "ibv_alloc_dmah: the thread may not run on processor %u",
			       cpu);
	return 0;
}

static int check(const struct vb_context *ctx, const struct ibv_dmah_init_attr *attr)
{
	uint32_t mask = attr->comp_mask;

	if (ctx->adapter->model->driver == HCA_DRIVER_MLX4)
		return explain(EOPNOTSUPP, "ibv_alloc_dmah: %s has no DMA handles",
			       ctx->adapter->name);
	if (mask & ~(uint32_t)KNOWN)
		return explain(EINVAL, "ibv_alloc_dmah: comp_mask 0x%x has unknown bits", mask);
	if (!(mask & IBV_DMAH_INIT_ATTR_MASK_PH))
		return explain(EINVAL, "ibv_alloc_dmah: no processing hint (ph) is given");
	if (attr->ph > PH_MAX)
		return explain(EINVAL, "ibv_alloc_dmah: processing hint %u; at most %u", attr->ph,
			       PH_MAX);
	if (!(mask & TAG))
		return 0;
	if ((mask & TAG) != TAG)
		return explain(EINVAL, "ibv_alloc_dmah: processor and type of memory are given "
				       "both, or neither");
	if (attr->tph_mem_type > IBV_TPH_MEM_TYPE_PM)
		return explain(EINVAL, "ibv_alloc_dmah: memory of type %u is unknown",
			       attr->tph_mem_type);
	return check_cpu(attr->cpu_id);
}

struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context, struct ibv_dmah_init_attr *attr)
{
	struct vb_context *ctx = to_context(context);
	struct vb_dmah *dmah;
	int err = vb_check_present(context);

	if (!err)
		err = check(ctx, attr);
	if (err)
		return vb_null(err);
	dmah = calloc(1, sizeof(*dmah));
	if (!dmah)
		return vb_null(-ENOMEM);
	dmah->dmah.context = context;
	verbena_handle_add(&dmah->own, ctx, VB_KIND_DMAH, verbena_handle_number());
	vb_context_get(ctx);
	return &dmah->dmah;
}

static int check_handle(struct ibv_dmah *dmah, const char *call)
{
	const struct vb_handle *own = &to_dmah(dmah)->own;

	return verbena_handle_check(dmah->context, VB_KIND_DMAH, vb_handle_number(own), own, ENOENT,
				    call);
}

int ibv_dealloc_dmah(struct ibv_dmah *public)
{
	struct vb_dmah *dmah = to_dmah(public);
	struct vb_context *ctx;
	int err = vb_check_destroy(public->context);

	if (!err)
		err = check_handle(public, "ibv_dealloc_dmah");
	if (!err && atomic_load(&dmah->users))
		err = explain(EBUSY, "ibv_dealloc_dmah: %u regions have been registered with it",
			      atomic_load(&dmah->users));
	if (err)
		return vb_result(err);
	ctx = dmah->own.ctx;
	vb_handle_remove(&dmah->own);
	free(dmah);
	vb_context_put(ctx);
	return 0;
}

int vb_dmah_get(struct ibv_dmah *public, struct ibv_context *context, unsigned int access,
		struct vb_dmah **out)
{
	struct vb_dmah *dmah = to_dmah(public);
	int err = check_handle(public, "ibv_reg_mr_ex");

	if (err)
		return err;
	if (dmah->own.ctx != to_context(context))
		return explain(EINVAL, "ibv_reg_mr_ex: the DMA handle belongs to another context");
	if (access & IBV_ACCESS_ON_DEMAND)
		return explain(EINVAL, "ibv_reg_mr_ex: a region that is paged on demand has no DMA "
				       "handle");
	atomic_fetch_add(&dmah->users, 1);
	*out = dmah;
	return 0;
}

void vb_dmah_put(struct vb_dmah *dmah)
{
	if (dmah)
		atomic_fetch_sub(&dmah->users, 1);
}
