/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffers of ibv_alloc_buf(): memory that peers can map from the start, so that registering it moves no
 * pages.
 */
#include "verbs/buf.h"

#include <stdlib.h>

#include "hca/memory/buf.h"
#include "util/explain.h"
#include "verbs/objects.h"
#include "verbs/result.h"

struct ibv_buf {
	struct vb_pd *pd;
	char *addr;
	size_t size;
};

void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **out)
{
	struct ibv_buf *buf;
	void *addr;
	int err;

	if (!size)
		return explain_null(EINVAL, "ibv_alloc_buf: 0 bytes");
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return vb_null(-ENOMEM);
	err = hca_buf_alloc(size, &addr);
	if (err) {
		free(buf);
		return vb_null(err);
	}
	buf->pd = to_pd(pd);
	buf->addr = addr;
	buf->size = size;
	hca_pd_get(buf->pd->hca);
	vb_parent_get(buf->pd);
	vb_context_get(to_context(pd->context));
	*out = buf;
	return addr;
}

void ibv_free_buf(struct ibv_buf *buf)
{
	struct vb_context *ctx = to_context(buf->pd->pd.context);

	hca_buf_free(buf->addr);
	vb_parent_put(buf->pd);
	hca_pd_put(buf->pd->hca);
	vb_context_put(ctx);
	free(buf);
}

int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	errno = -explain(ENODATA, "ibv_export_buf_dmabuf_fd: the buffer at %p is not a dmabuf",
			 (void *)buf->addr);
	return -1;
}

int vb_buf_check(const struct ibv_buf *buf, const struct ibv_pd *pd, const void *addr,
		 size_t length)
{
	size_t offset = (const char *)addr - buf->addr;

	if (&buf->pd->pd != pd)
		return explain(EINVAL, "ibv_reg_buf_mr: the buffer was allocated with another "
				       "protection domain");
	if ((const char *)addr < buf->addr || offset > buf->size || length > buf->size - offset)
		return explain(EINVAL,
			       "ibv_reg_buf_mr: %p + %zu is not inside the buffer, %p + %zu", addr,
			       length, (void *)buf->addr, buf->size);
	return 0;
}
