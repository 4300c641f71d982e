/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Importing contexts, and objects by handle. The command descriptor of a context is a memfd, which
 * its inode tells from all others; inside stands the adapter's name, for a process that gets the
 * descriptor but not the context.
 *
 * Two locks: one around the list of roots, one in each root around its lists of objects.
 */
#include "verbs/import.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/explain.h"
#include "verbs/result.h"
#include "util/forksafe.h"

#define MARK "verbena adapter "

static pthread_mutex_t roots_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(roots_lock, FORKSAFE_CONTEXT);
static struct vb_context *roots;

static int make_cmd_fd(const struct vb_context *ctx)
{
	char text[sizeof(MARK) + HCA_NAME_MAX];
	int len = snprintf(text, sizeof(text), MARK "%s", ctx->adapter->name);
	int fd = memfd_create("verbena-cmd", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != len) {
		close(fd);
		return -ENOSPC;
	}
	return fd;
}

int vb_root_init(struct vb_context *ctx)
{
	int *fd = &ctx->verbs.context.cmd_fd;
	struct stat st;

	if (*fd < 0)
		*fd = make_cmd_fd(ctx);
	if (*fd < 0)
		return *fd;
	if (fstat(*fd, &st))
		return -errno; /* it is ours, or was looked at before: cannot happen */
	ctx->cmd_dev = st.st_dev;
	ctx->cmd_ino = st.st_ino;
	pthread_mutex_init(&ctx->lists.lock, NULL);
	pthread_mutex_lock(&roots_lock);
	ctx->next = roots;
	roots = ctx;
	pthread_mutex_unlock(&roots_lock);
	return 0;
}

void vb_root_fini(struct vb_context *ctx)
{
	struct vb_context **at;

	pthread_mutex_lock(&roots_lock);
	for (at = &roots; *at; at = &(*at)->next)
		if (*at == ctx) {
			*at = ctx->next;
			break;
		}
	pthread_mutex_unlock(&roots_lock);
	pthread_mutex_destroy(&ctx->lists.lock);
}

/* A reference, unless the last one is gone and the context is on its way out. */
static bool get_unless_gone(struct vb_context *ctx)
{
	unsigned int refs = atomic_load(&ctx->refs);

	while (refs)
		if (atomic_compare_exchange_weak(&ctx->refs, &refs, refs + 1))
			return true;
	return false;
}

static struct vb_context *find_root(const struct stat *st)
{
	struct vb_context *ctx;

	pthread_mutex_lock(&roots_lock);
	for (ctx = roots; ctx; ctx = ctx->next)
		if (ctx->cmd_dev == st->st_dev && ctx->cmd_ino == st->st_ino &&
		    get_unless_gone(ctx))
			break;
	pthread_mutex_unlock(&roots_lock);
	return ctx;
}

/* The device whose name stands in the descriptor, NULL when it is none of ours. */
static struct ibv_device *find_device(int fd)
{
	char text[sizeof(MARK) + HCA_NAME_MAX] = "";
	struct ibv_device **list, *found = NULL;
	size_t mark = sizeof(MARK) - 1;
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (len <= (ssize_t)mark || memcmp(text, MARK, mark))
		return explain_null(
			EINVAL, "ibv_import_device: descriptor %d is no cmd_fd of a context", fd);
	list = ibv_get_device_list(NULL);
	if (!list)
		return NULL;
	for (struct ibv_device **at = list; *at && !found; at++)
		if (!strcmp((*at)->name, text + mark))
			found = *at; /* stays valid: devices are for ever */
	ibv_free_device_list(list);
	if (!found)
		return explain_null(ENODEV, "ibv_import_device: there is no device %s here",
				    text + mark);
	return found;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct vb_context *root, *ctx;
	struct ibv_device *device;
	struct stat st;
	int err;

	if (fstat(cmd_fd, &st))
		return explain_null(EINVAL, "ibv_import_device: descriptor %d is not open", cmd_fd);
	root = find_root(&st);
	device = root ? root->verbs.context.device : find_device(cmd_fd);
	if (!device)
		return NULL;
	err = vb_context_open(device, root, cmd_fd, &ctx);
	if (root)
		vb_context_put(root);
	return err ? vb_null(err) : &ctx->verbs.context;
}

void vb_list_add(struct vb_context *ctx, struct vb_link **head, struct vb_link *link,
		 uint32_t handle)
{
	struct vb_lists *l = &ctx->root->lists;

	link->handle = handle;
	pthread_mutex_lock(&l->lock);
	link->next = *head;
	link->back = head;
	if (*head)
		(*head)->back = &link->next;
	*head = link;
	pthread_mutex_unlock(&l->lock);
}

static void take_out(struct vb_link *link)
{
	if (!link->back)
		return;
	*link->back = link->next;
	if (link->next)
		link->next->back = link->back;
	link->back = NULL;
}

static struct vb_link *find(struct vb_link *at, uint32_t handle)
{
	while (at && at->handle != handle)
		at = at->next;
	return at;
}

bool vb_list_del(struct vb_context *ctx, struct vb_link *link)
{
	struct vb_lists *l = &ctx->root->lists;
	bool listed;

	pthread_mutex_lock(&l->lock);
	listed = link->back;
	take_out(link);
	pthread_mutex_unlock(&l->lock);
	return listed;
}

struct vb_link *vb_list_find(struct vb_context *ctx, struct vb_link **head, uint32_t handle)
{
	struct vb_lists *l = &ctx->root->lists;
	struct vb_link *link;

	pthread_mutex_lock(&l->lock);
	link = find(*head, handle);
	pthread_mutex_unlock(&l->lock);
	return link;
}

void vb_list_forget(struct vb_context *ctx, struct vb_link **head, uint32_t handle)
{
	struct vb_lists *l = &ctx->root->lists;
	struct vb_link *link;

	pthread_mutex_lock(&l->lock);
	link = find(*head, handle);
	if (link)
		take_out(link);
	pthread_mutex_unlock(&l->lock);
}
