/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thread domains and parent domains. The adapter knows neither: a thread domain is a promise of the
 * program, and a parent domain adds allocators for rings and doorbell records to a protection domain.
 */
#include "verbs/parent.h"

#include <stdlib.h>

#include "util/explain.h"
#include "verbs/objects.h"
#include "verbs/result.h"

#define KNOWN                                                                                      \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |         \
	 IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC)

struct ibv_td *vb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct vb_td *td;

	if (attr->comp_mask)
		return explain_null(EINVAL, "ibv_alloc_td: comp_mask 0x%x; no bit is known",
				    attr->comp_mask);
	td = calloc(1, sizeof(*td));
	if (!td)
		return vb_null(-ENOMEM);
	td->td.context = context;
	td->ctx = to_context(context);
	vb_context_get(td->ctx);
	return &td->td;
}

int vb_dealloc_td(struct ibv_td *public)
{
	struct vb_td *td = container_of(public, struct vb_td, td);
	unsigned int users = atomic_load_explicit(&td->users, memory_order_acquire);

	if (users)
		return vb_result(explain(
			EBUSY, "ibv_dealloc_td: %u parent domains use the thread domain", users));
	vb_context_put(td->ctx);
	free(td);
	return 0;
}

static int check(struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	if (attr->comp_mask & ~KNOWN)
		return explain(EINVAL,
			       "ibv_alloc_parent_domain: comp_mask 0x%x has unknown bits 0x%x",
			       attr->comp_mask, attr->comp_mask & ~KNOWN);
	if (!attr->pd)
		return explain(EINVAL, "ibv_alloc_parent_domain: pd is NULL; a parent domain needs "
				       "a protection domain");
	if (attr->pd->context != context || (attr->td && attr->td->context != context))
		return explain(EINVAL, "ibv_alloc_parent_domain: the %s belongs to another context",
			       attr->pd->context != context ? "protection domain"
							    : "thread domain");
	if ((attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) &&
	    !attr->alloc != !attr->free)
		return explain(EINVAL, "ibv_alloc_parent_domain: %s is NULL; give both allocators",
			       attr->alloc ? "free" : "alloc");
	return 0;
}

struct ibv_pd *vb_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr)
{
	struct vb_pd *pd;
	int err = check(context, attr);

	if (err)
		return vb_null(err);
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return vb_null(-ENOMEM);
	pd->of = to_pd(attr->pd);
	pd->hca = pd->of->hca;
	pd->pd.context = context;
	pd->pd.handle = attr->pd->handle;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	if (attr->td) {
		pd->td = container_of(attr->td, struct vb_td, td);
		atomic_fetch_add_explicit(&pd->td->users, 1, memory_order_relaxed);
	}
	hca_pd_get(pd->hca);
	vb_parent_get(pd->of);
	/* The kernel is not asked: with a handle that names nothing, the use of the domain fails. */
	verbena_handle_add(&pd->own, to_context(context), VB_KIND_PD,
			   vb_handle_number(&pd->of->own));
	vb_context_get(to_context(context));
	return &pd->pd;
}

int vb_parent_dealloc(struct vb_pd *pd)
{
	unsigned int users = atomic_load_explicit(&pd->users, memory_order_acquire);

	if (users)
		return explain(EBUSY,
			       "ibv_dealloc_pd: %u objects were made through the parent domain",
			       users);
	if (pd->td)
		atomic_fetch_sub_explicit(&pd->td->users, 1, memory_order_release);
	vb_parent_put(pd->of);
	hca_pd_put(pd->hca);
	vb_handle_remove(&pd->own);
	vb_context_put(pd->own.ctx);
	free(pd);
	return 0;
}
