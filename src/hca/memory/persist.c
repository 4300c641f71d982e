/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/persist.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hca/hca.h"
#include "hca/memory/seg.h"
#include "util/explain.h"

/* A file whose contents are in memory only. */
static bool is_volatile(const char *path)
{
	struct statfs fs;

	/* A deleted file cannot be found again after a restart. */
	if (path[0] != '/' || statfs(path, &fs))
		return true;
	return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC || fs.f_type == HUGETLBFS_MAGIC;
}

/* One line of /proc/self/maps: false when it is no persistent mapping. */
static bool is_persistent(char *line, int path_at)
{
	char *path = line + path_at;
	const char *flags = strchr(line, ' ');

	path[strcspn(path, "\n")] = '\0';
	return flags && flags[4] == 's' && !is_volatile(path);
}

int persist_check(const void *addr, uint64_t length)
{
	uint64_t at = (uintptr_t)addr, end = at + length, from, to;
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t room = 0;
	int path_at;

	while (maps && at < end && getline(&line, &room, maps) > 0) {
		path_at = 0;
		if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &to, &path_at) < 2 ||
		    to <= at)
			continue;
		if (from > at || !path_at || !is_persistent(line, path_at))
			break;
		at = to;
	}
	free(line);
	if (maps)
		fclose(maps);
	if (at < end)
		return explain(
			EINVAL,
			"IBV_ACCESS_FLUSH_PERSISTENT: %p + 0x%llx is not a shared mapping of a "
			"file on storage",
			addr, (unsigned long long)length);
	return 0;
}

bool persist_flush(const struct hca_mr_entry *e, uint64_t addr, uint64_t length)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), va = e->va + (addr - e->iova), from = va & -page;

	if (!length || hca_entry_flags(e) & HCA_MR_NULL)
		return true;
	/* Only the process that owns the mapping can write it back. */
	if (e < hca.peers.segment->mr || e >= hca.peers.segment->mr + HCA_MR_ENTRIES)
		return false;
	return !msync((void *)from, va + length - from, MS_SYNC);
}
