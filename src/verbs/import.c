/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_import_device(): a second context on one that was opened before, here or in another process.
 */
#include <string.h>

#include "util/explain.h"
#include "verbs/open.h"
#include "verbs/result.h"
#include "verbs/root.h"

static struct ibv_device *find_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *found = NULL;

	if (!list)
		return NULL;
	for (struct ibv_device **at = list; *at && !found; at++)
		if (!strcmp((*at)->name, name))
			found = *at; /* stays valid: devices are never freed */
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
	struct vb_root_info info;
	int err = vb_root_read_info(cmd_fd, &info);

	if (err)
		return vb_null(err);
	root = vb_root_find(info.uid);
	device = root ? root->verbs.context.device : find_device(info.name);
	if (!device)
		return NULL;
	origin = (struct vb_origin){ root, cmd_fd, info.uid, info.creator };
	err = vb_context_open(device, &origin, &ctx);
	if (root)
		vb_context_put(root);
	return err ? vb_null(err) : &ctx->verbs.context;
}
