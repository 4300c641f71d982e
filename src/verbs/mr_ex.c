/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registration by a struct of attributes: addresses, dmabufs and buffers of ibv_alloc_buf() behind
 * one call.
 */
#include <stdlib.h>

#include "util/explain.h"
#include "verbs/buf.h"
#include "verbs/dmah.h"
#include "verbs/dmabuf.h"
#include "verbs/mr.h"
#include "verbs/result.h"

#define KNOWN                                                                                      \
	(IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD |                        \
	 IBV_REG_MR_MASK_FD_OFFSET | IBV_REG_MR_MASK_DMAH | IBV_REG_MR_MASK_BUF)

static int check_mask(uint64_t mask)
{
	const char *wrong = NULL;

	if (mask & ~(uint64_t)KNOWN)
		return explain(EINVAL, "ibv_reg_mr_ex: comp_mask 0x%llx has unknown bits",
			       (unsigned long long)mask);
	if (mask & IBV_REG_MR_MASK_FD) {
		if (mask & IBV_REG_MR_MASK_BUF)
			wrong = "a buffer and a descriptor";
		else if (mask & IBV_REG_MR_MASK_ADDR)
			wrong = "an address and a descriptor";
		else if (!(mask & IBV_REG_MR_MASK_FD_OFFSET))
			wrong = "a descriptor without its offset";
		else if (!(mask & IBV_REG_MR_MASK_IOVA))
			wrong = "a descriptor without an iova";
	} else if (mask & IBV_REG_MR_MASK_FD_OFFSET) {
		wrong = "an offset without a descriptor";
	} else if (!(mask & IBV_REG_MR_MASK_ADDR)) {
		wrong = "neither an address nor a descriptor";
	}
	if (wrong)
		return explain(EINVAL, "ibv_reg_mr_ex: comp_mask 0x%llx gives %s",
			       (unsigned long long)mask, wrong);
	return 0;
}

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	uint64_t mask = attr->comp_mask;
	struct vb_dmah *dmah = NULL;
	struct vb_mr *mr;
	uint64_t iova;
	int err = check_mask(mask);

	if (!err && (mask & IBV_REG_MR_MASK_BUF))
		err = vb_buf_check(attr->buf, pd, attr->addr, attr->length);
	if (!err && (mask & IBV_REG_MR_MASK_DMAH))
		err = vb_dmah_get(attr->dmah, pd->context, attr->access, &dmah);
	if (err)
		return vb_null(err);
	iova = mask & IBV_REG_MR_MASK_IOVA ? attr->iova : (uintptr_t)attr->addr;
	if (mask & IBV_REG_MR_MASK_FD)
		err = vb_mr_register_dmabuf(to_pd(pd), attr->fd_offset, attr->length, iova,
					    attr->fd, attr->access, &mr);
	else
		err = vb_mr_register(to_pd(pd), attr->addr, attr->length, iova, attr->access,
				     mask & IBV_REG_MR_MASK_BUF, &mr);
	if (err) {
		vb_dmah_put(dmah);
		return vb_null(err);
	}
	mr->dmah = dmah;
	return &mr->mr;
}

struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length,
			      int access)
{
	struct ibv_mr_init_attr attr = {
		.length = length,
		.access = access,
		.comp_mask = IBV_REG_MR_MASK_BUF | IBV_REG_MR_MASK_ADDR,
		.addr = addr,
		.buf = buf,
	};

	return ibv_reg_mr_ex(pd, &attr);
}
