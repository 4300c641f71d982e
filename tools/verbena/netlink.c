/* SPDX-License-Identifier: BSD-2-Clause */
#include "netlink.h"

#include <errno.h>
#include <stdlib.h>

#include "../facade/netlink_record.h"
#include "netlink_devlink.h"
#include "netlink_out.h"
#include "netlink_rdma.h"

int netlink_write(struct tree *t, const struct facts *facts)
{
	struct netlink_out o = { 0 };
	struct tree_dir d;

	netlink_rdma(&o, facts);
	netlink_devlink(&o, facts);
	if (o.failed) {
		free(o.buf);
		return -ENOMEM;
	}
	tree_dir_init(&d, t, ".");
	tree_dir_bytes(&d, FACADE_NETLINK_FILE, o.buf, o.len);
	free(o.buf);
	return t->err;
}
