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

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hca/peers/ctx_share.h"
#include "util/explain.h"
#include "util/file_limit.h"
#include "verbs/state.h"

#define MARK        "verbena context"
#define INFO_MAX    (sizeof(MARK) + HCA_NAME_MAX + 32)
#define NAME_WIDTH  "63"
#define INFO_OFFSET 4096
#define NAME_PREFIX "/memfd:"

_Static_assert(HCA_NAME_MAX == 64, "a name fits its place");

/* Where the limit of file sizes allows no bytes in a file, its name has the line. */
static int make_empty_cmd_fd(int old, const char *text)
{
	int fd = memfd_create(text, MFD_CLOEXEC | MFD_ALLOW_SEALING), err = errno;

	close(old);
	return fd < 0 ? -err : fd;
}

static int make_cmd_fd(const struct vb_context *ctx)
{
	char text[INFO_MAX];
	int len = snprintf(text, sizeof(text), MARK " %s %016llx %08x\n", ctx->adapter->name,
			   (unsigned long long)ctx->hca.uid, (unsigned int)ctx->hca.creator);
	int fd = memfd_create("verbena-cmd", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = file_write_at(fd, text, (size_t)len, INFO_OFFSET);
	if (!err)
		err = file_resize(fd, 2l * INFO_OFFSET);
	if (err == -EFBIG)
		return make_empty_cmd_fd(fd, text);
	/* Sealed, so that pages of it can be exported as dmabufs (hca/memory/udmabuf.h). */
	if (err || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)) {
		close(fd);
		return -ENOSPC;
	}
	return fd;
}

/* The line in the name of a file that is empty, as make_empty_cmd_fd() has made it. */
static ssize_t read_name(int fd, char *text, size_t size)
{
	char link[64], name[NAME_MAX + 1];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name) - 1);
	if (len <= (ssize_t)strlen(NAME_PREFIX) ||
	    strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
		return -1;
	name[len] = 0;
	return snprintf(text, size, "%s", name + strlen(NAME_PREFIX));
}

int vb_root_read_info(int fd, struct vb_root_info *info)
{
	char text[INFO_MAX] = "";
	unsigned long long uid;
	unsigned int creator;
	ssize_t len = pread(fd, text, sizeof(text) - 1, INFO_OFFSET);
	struct stat st;

	if (!len)
		len = read_name(fd, text, sizeof(text));
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
