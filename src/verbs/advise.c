/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Advice on regions: prefetches the pages of on-demand regions. The adapter has no page tables of its
 * own, so the call only faults the pages in, before it returns, with or without
 * IBV_ADVISE_MR_FLAG_FLUSH.
 */
#include "verbs/advise.h"

#include <sys/mman.h>
#include <unistd.h>

#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/result.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

static bool is_known(enum ibv_advise_mr_advice advice)
{
	return advice == IBV_ADVISE_MR_ADVICE_PREFETCH ||
	       advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ||
	       advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
}

static int find_region(struct vb_context *ctx, const struct vb_pd *pd, uint32_t lkey, bool write,
		       struct hca_mr **out)
{
	struct hca_mr *mr = hca_mr_of_key(&ctx->hca, lkey);

	if (!mr || !(mr->access & HCA_ACCESS_ON_DEMAND))
		return explain(ENOENT,
			       "ibv_advise_mr: lkey 0x%x names no on-demand region of the "
			       "context",
			       lkey);
	if (mr->pd != pd->hca)
		return explain(EPERM,
			       "ibv_advise_mr: the region of lkey 0x%x belongs to another "
			       "protection domain",
			       lkey);
	if (write && !(mr->access & HCA_ACCESS_LOCAL_WRITE))
		return explain(EPERM, "ibv_advise_mr: the region of lkey 0x%x may not be written",
			       lkey);
	*out = mr;
	return 0;
}

static int prefetch(const struct hca_mr *mr, const struct ibv_sge *sge, bool write, bool flush)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from, to;
	uint64_t offset = sge->addr - mr->iova;

	if (sge->addr < mr->iova || offset > mr->length || sge->length > mr->length - offset)
		return explain(EFAULT,
			       "ibv_advise_mr: 0x%llx + %u is not inside the region of lkey 0x%x",
			       (unsigned long long)sge->addr, sge->length, sge->lkey);
	from = ((uintptr_t)mr->addr + offset) & -page;
	to = ((uintptr_t)mr->addr + offset + sge->length + page - 1) & -page;
	if (from == to ||
	    !madvise((void *)from, to - from, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	/* EINVAL: the kernel has no MADV_POPULATE; advice may be ignored. */
	if (errno == EINVAL || !flush)
		return 0;
	return explain(EFAULT,
		       "ibv_advise_mr: 0x%llx + %u cannot be prefetched: a page is not accessible",
		       (unsigned long long)sge->addr, sge->length);
}

static int check(enum ibv_advise_mr_advice advice, uint32_t flags, uint32_t count)
{
	if (!is_known(advice))
		return explain(EOPNOTSUPP, "ibv_advise_mr: advice %d is not known", (int)advice);
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return explain(EINVAL,
			       "ibv_advise_mr: flags 0x%x; only IBV_ADVISE_MR_FLAG_FLUSH is "
			       "known",
			       flags);
	if (!count)
		return explain(EINVAL, "ibv_advise_mr: the list is empty");
	return 0;
}

int vb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		 struct ibv_sge *list, uint32_t count)
{
	struct vb_context *ctx = to_context(pd->context);
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct hca_mr *mr;
	int err;

	if (ctx->adapter->model->driver == HCA_DRIVER_MLX4)
		return vb_result(explain(EOPNOTSUPP, "ibv_advise_mr: %s has no on-demand paging",
					 ctx->adapter->name));
	err = check(advice, flags, count);
	if (!err)
		err = vb_check_pd(pd, ENOENT, "ibv_advise_mr");
	/* All keys are checked first: a list with a wrong one prefetches nothing. */
	for (uint32_t i = 0; i < count && !err; i++)
		err = find_region(ctx, to_pd(pd), list[i].lkey, write, &mr);
	if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return vb_result(err); /* present pages need nothing */
	for (uint32_t i = 0; i < count && !err; i++) {
		err = find_region(ctx, to_pd(pd), list[i].lkey, write, &mr);
		if (!err)
			err = prefetch(mr, &list[i], write, flags & IBV_ADVISE_MR_FLAG_FLUSH);
	}
	return vb_result(err);
}
