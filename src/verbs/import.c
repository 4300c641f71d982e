/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Importing contexts. The command descriptor of a context is a memfd with a line about it: its
 * adapter, the process that opened it, and a number that no other context has. The line is on the
 * second page: the first one is a doorbell page for who maps it, as on a ConnectX-3. Whoever has the
 * descriptor shares the context, as with the kernel's. In the process that opened it, and in one that
 * has imported it before, the new context shares the old one's reference (its root).
 *
 * One lock, around the list of roots.
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

#define MARK       "verbena context"
#define CARD_MAX   (sizeof(MARK) + HCA_NAME_MAX + 32)
#define NAME_WIDTH "63"
#define CARD_AT    4096

_Static_assert(HCA_NAME_MAX == 64, "a name fits its place");

/* What stands in the descriptor. */
struct card {
	char name[HCA_NAME_MAX];
	uint64_t uid;
	fabric_id_t creator;
};

static pthread_mutex_t roots_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(roots_lock, FORKSAFE_CONTEXT);
static struct vb_context *roots;

static int make_cmd_fd(const struct vb_context *ctx)
{
	char text[CARD_MAX];
	int len = snprintf(text, sizeof(text), MARK " %s %016llx %08x\n", ctx->adapter->name,
			   (unsigned long long)ctx->hca.uid, (unsigned int)ctx->hca.creator);
	int fd = memfd_create("verbena-cmd", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, text, len, CARD_AT) != len || ftruncate(fd, 2l * CARD_AT)) {
		close(fd);
		return -ENOSPC;
	}
	return fd;
}

static int read_card(int fd, struct card *card)
{
	char text[CARD_MAX] = "";
	unsigned long long uid;
	unsigned int creator;
	ssize_t len = pread(fd, text, sizeof(text) - 1, CARD_AT);
	struct stat st;

	/* As the real library has it, where contexts are character devices. */
	if (!fstat(fd, &st) && S_ISCHR(st.st_mode))
		return explain(ENODEV, "ibv_import_device: descriptor %d is that of another device",
			       fd);
	if (len <= 0 ||
	    sscanf(text, MARK " %" NAME_WIDTH "s %16llx %8x", card->name, &uid, &creator) != 3)
		return explain(EINVAL, "ibv_import_device: descriptor %d is no cmd_fd of a context",
			       fd);
	card->uid = uid;
	card->creator = creator;
	return 0;
}

int vb_root_init(struct vb_context *ctx)
{
	int *fd = &ctx->verbs.context.cmd_fd;

	if (*fd < 0)
		*fd = make_cmd_fd(ctx);
	if (*fd < 0)
		return *fd;
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
	hca_ctx_unshare(&ctx->hca);
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

/* In a forked child, the parent's contexts are another process's. */
static struct vb_context *find_root(uint64_t uid)
{
	struct vb_context *ctx;

	pthread_mutex_lock(&roots_lock);
	for (ctx = roots; ctx; ctx = ctx->next)
		if (ctx->hca.uid == uid && hca_ctx_is_here(&ctx->hca) && get_unless_gone(ctx))
			break;
	pthread_mutex_unlock(&roots_lock);
	return ctx;
}

static struct ibv_device *find_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *found = NULL;

	if (!list)
		return NULL;
	for (struct ibv_device **at = list; *at && !found; at++)
		if (!strcmp((*at)->name, name))
			found = *at; /* stays valid: devices are for ever */
	ibv_free_device_list(list);
	if (!found)
		return explain_null(ENODEV, "ibv_import_device: there is no device %s here", name);
	return found;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct vb_context *root, *ctx;
	struct ibv_device *device;
	struct vb_origin origin;
	struct card card;
	int err = read_card(cmd_fd, &card);

	if (err)
		return vb_null(err);
	root = find_root(card.uid);
	device = root ? root->verbs.context.device : find_device(card.name);
	if (!device)
		return NULL;
	origin = (struct vb_origin){ root, cmd_fd, card.uid, card.creator };
	err = vb_context_open(device, &origin, &ctx);
	if (root)
		vb_context_put(root);
	return err ? vb_null(err) : &ctx->verbs.context;
}
