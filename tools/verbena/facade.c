/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills a run's tree.
 */
#include "facade.h"

#include <string.h>

#include "facts.h"
#include "netlink.h"
#include "say.h"
#include "sysfs.h"
#include "umad.h"

int facade_fill(struct tree *t, enum facade_kind kind)
{
	struct facts facts;
	int err;

	if (facts_take(&facts))
		return EXIT_RUN_FAILED;
	err = sysfs_write(t, &facts, kind == FACADE_PRELOAD);
	if (!err && kind == FACADE_PRELOAD)
		err = netlink_write(t, &facts);
	if (!err && kind == FACADE_PRELOAD)
		err = umad_write(t, &facts);
	if (!err && kind == FACADE_PRELOAD)
		err = facade_preload_prepare(t);
	facts_free(&facts);
	if (err)
		return say(EXIT_RUN_FAILED, "cannot write the facade below %s: %s", t->path,
			   strerror(-err));
	return 0;
}
