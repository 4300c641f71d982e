/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Regions on dmabufs. The adapter uses the process's own mapping of the memory, so the exporter must
 * allow one, as udmabuf does.
 */
#include "verbs/dmabuf.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hca/memory/udmabuf.h"
#include "util/explain.h"
#include "verbs/mr.h"
#include "verbs/result.h"

static int check(uint64_t offset, size_t length, uint64_t iova, int fd)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);

	if (!length || length > UINT64_MAX - page || offset > UINT64_MAX - page - length)
		return explain(
			EINVAL,
			"ibv_reg_dmabuf_mr: offset 0x%llx and length 0x%zx are 0 or too large",
			(unsigned long long)offset, length);
	if ((offset ^ iova) & (page - 1))
		return explain(EINVAL,
			       "ibv_reg_dmabuf_mr: offset 0x%llx and iova 0x%llx have different "
			       "page offsets",
			       (unsigned long long)offset, (unsigned long long)iova);
	return hca_dmabuf_check(fd, offset, length, "ibv_reg_dmabuf_mr");
}

/* The library's mapping, for the life of the region. */
struct mapping {
	void *addr;
	size_t len;
};

static void unmap(void *arg)
{
	struct mapping *m = arg;

	munmap(m->addr, m->len);
	free(m);
}

int vb_mr_register_dmabuf(struct vb_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
			  unsigned int access, struct vb_mr **out)
{
	const uint64_t page = sysconf(_SC_PAGESIZE);
	size_t skip = offset & (page - 1), map_len = skip + length;
	struct vb_mr_range range = { .addr = (void *)(uintptr_t)offset,
				     .length = length,
				     .iova = iova };
	struct mapping *m;
	char *map;
	int err = vb_mr_check_access(to_context(pd->pd.context), access);

	if (!err)
		err = check(offset, length, iova, fd);
	if (err)
		return err;
	if (access & IBV_ACCESS_ON_DEMAND)
		return explain(EINVAL, "ibv_reg_dmabuf_mr: a dmabuf is never paged on demand");
	map = mmap(NULL, map_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - skip));
	if (map == MAP_FAILED)
		return explain(EOPNOTSUPP,
			       "ibv_reg_dmabuf_mr: %zu bytes at 0x%llx of the dmabuf cannot be "
			       "mapped, as the adapter needs",
			       length, (unsigned long long)offset);
	range.va = map + skip;
	m = malloc(sizeof(*m));
	err = m ? vb_mr_make(pd, &range, access, false, VB_MR_DMABUF, out) : -ENOMEM;
	if (err) {
		free(m);
		munmap(map, map_len);
		return err;
	}
	m->addr = map;
	m->len = map_len;
	(*out)->hca->on_gone_arg = m;
	(*out)->hca->on_gone = unmap;
	return 0;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	struct vb_mr *mr;
	int err = vb_mr_register_dmabuf(to_pd(pd), offset, length, iova, fd, access, &mr);

	return err ? vb_null(err) : &mr->mr;
}
