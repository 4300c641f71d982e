/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Roots: contexts that were opened, and that others import. The command descriptor of a context is a
 * memfd with a line about it: its adapter, the process that opened it, and a number that no other
 * context has. The line is on the second page: a ConnectX-3 program may map the first one as a
 * doorbell page. As with the kernel's, a process that has the descriptor shares the context. In the
 * process that opened it, and in one that has imported it before, the new context shares the root's
 * reference.
 *
 * verbs_state.root_lock guards the table of roots.
 */
#include "verbs/root.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hca/peers/ctx_share.h"
#include "util/explain.h"
#include "verbs/state.h"

#define MARK        "verbena context"
#define INFO_MAX    (sizeof(MARK) + HCA_NAME_MAX + 32)
#define NAME_WIDTH  "63"
#define INFO_OFFSET 4096

_Static_assert(HCA_NAME_MAX == 64, "a name fits its place");

static int make_cmd_fd(const struct vb_context *ctx)
{
	char text[INFO_MAX];
	int len = snprintf(text, sizeof(text), MARK " %s %016llx %08x\n", ctx->adapter->name,
			   (unsigned long long)ctx->hca.uid, (unsigned int)ctx->hca.creator);
	int fd = memfd_create("verbena-cmd", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	/* Sealed, so that pages of it can be exported as dmabufs (hca/memory/udmabuf.h). */
	if (pwrite(fd, text, len, INFO_OFFSET) != len || ftruncate(fd, 2l * INFO_OFFSET) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		close(fd);
		return -ENOSPC;
	}
	return fd;
}

int vb_root_read_info(int fd, struct vb_root_info *info)
{
	char text[INFO_MAX] = "";
	unsigned long long uid;
	unsigned int creator;
	ssize_t len = pread(fd, text, sizeof(text) - 1, INFO_OFFSET);
	struct stat st;

	/* As the real library has it, where contexts are character devices. */
	if (!fstat(fd, &st) && S_ISCHR(st.st_mode))
		return explain(ENODEV, "ibv_import_device: descriptor %d is that of another device",
			       fd);
	if (len <= 0 ||
	    sscanf(text, MARK " %" NAME_WIDTH "s %16llx %8x", info->name, &uid, &creator) != 3)
		return explain(EINVAL,
			       "ibv_import_device: descriptor %d is not the cmd_fd of a context",
			       fd);
	info->uid = uid;
	info->creator = creator;
	return 0;
}

int vb_root_init(struct vb_context *ctx)
{
	int *fd = &ctx->verbs.context.cmd_fd;

	if (*fd < 0)
		*fd = make_cmd_fd(ctx);
	if (*fd < 0)
		return *fd;
	pthread_mutex_lock(&verbs_state.root_lock);
	hash_add(&verbs_state.roots, &ctx->root_link, ctx->hca.uid);
	pthread_mutex_unlock(&verbs_state.root_lock);
	return 0;
}

void vb_root_fini(struct vb_context *ctx)
{
	pthread_mutex_lock(&verbs_state.root_lock);
	hash_remove(&verbs_state.roots, &ctx->root_link);
	pthread_mutex_unlock(&verbs_state.root_lock);
	hca_ctx_unshare(&ctx->hca);
}

/* Takes a reference unless the last one is gone and the context is being destroyed. */
static bool get_unless_gone(struct vb_context *ctx)
{
	unsigned int refs = atomic_load(&ctx->refs);

	while (refs)
		if (atomic_compare_exchange_weak(&ctx->refs, &refs, refs + 1))
			return true;
	return false;
}

struct vb_context *vb_root_find(uint64_t uid)
{
	struct vb_context *found = NULL;
	struct hash_link *link;

	pthread_mutex_lock(&verbs_state.root_lock);
	for (link = hash_find(&verbs_state.roots, uid); link && !found; link = hash_next(link)) {
		struct vb_context *ctx = container_of(link, struct vb_context, root_link);

		/* In a forked child, the parent's contexts are those of another process. */
		if (hca_ctx_is_here(&ctx->hca) && get_unless_gone(ctx))
			found = ctx;
	}
	pthread_mutex_unlock(&verbs_state.root_lock);
	return found;
}
