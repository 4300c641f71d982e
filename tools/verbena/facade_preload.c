/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree as the preload library wants it. Its `map` lists the names that lead into the tree. In
 * directories that the tree shares with the machine, real entries are there as links, so that
 * relative links and ".." go on working from inside.
 */
#include "facade.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "overlay.h"
#include "util/file_limit.h"

static int add_rule(struct tree *t, char kind, const char *name)
{
	char line[PATH_MAX + 4];
	int fd, err, n = snprintf(line, sizeof(line), "%c/%s\n", kind, name);

	fd = openat(t->fd, "map", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = file_append(fd, line, (size_t)n);
	close(fd);
	return err;
}

static int own(struct tree *t, const char *name)
{
	return add_rule(t, '+', name);
}

/*
 * The list of PCI functions is one of links in any /sys, so the tree can replace it. Other shared
 * directories keep their real listing: links there would stop programs that walk down them.
 */
static int shared(struct tree *t, const char *name)
{
	return strcmp(name, "sys/bus/pci/devices") ? 0 : add_rule(t, '=', name);
}

static int real(struct tree *t, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	if (!strncmp(name, "dev/", 4))
		return 0;
	snprintf(path, sizeof(path), "/%s", name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n >= 0)
		target[n] = '\0';
	return symlinkat(n >= 0 ? target : path, t->fd, name) ? -errno : 0;
}

int facade_preload_prepare(struct tree *t)
{
	static const struct overlay_ops ops = { .own = own, .shared = shared, .real = real };
	int err = overlay_walk(t, "sys", &ops);

	return err ? err : overlay_walk(t, "dev", &ops);
}
