/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The redirection table and its matching. Reads its list with bare system calls: the library's own
 * open() must not come in here while the table is being made. No memory is allocated, because
 * malloc replacements open files too.
 */
#include "map.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RULES_MAX 256
#define LIST_MAX  16384

struct rule {
	const char *prefix;
	bool subtree;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char root[PATH_MAX / 2];
static size_t root_len;
static char list[LIST_MAX];
static struct rule rules[RULES_MAX];
static unsigned int rule_count;

static size_t read_list(void)
{
	char name[PATH_MAX];
	ssize_t got;
	size_t len = 0;
	int fd;

	snprintf(name, sizeof(name), "%s/map", root);
	fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	do {
		got = syscall(SYS_read, fd, list + len, sizeof(list) - 1 - len);
		if (got > 0)
			len += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	syscall(SYS_close, fd);
	list[len] = '\0';
	return len;
}

static void parse_list(void)
{
	char *save, *line;

	for (line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (rule_count == RULES_MAX || (*line != '+' && *line != '=') || line[1] != '/')
			continue;
		rules[rule_count++] = (struct rule){ .prefix = line + 1, .subtree = *line == '+' };
	}
}

static void fill_table(void)
{
	const char *dir = secure_getenv("VERBENA_FACADE");
	int saved = errno;

	if (dir && dir[0] == '/' && dir[1] && strlen(dir) < sizeof(root)) {
		root_len = strlen(dir);
		memcpy(root, dir, root_len + 1);
		if (read_list())
			parse_list();
	}
	errno = saved;
}

__attribute__((constructor)) static void facade_init(void)
{
	pthread_once(&once, fill_table);
}

bool facade_active(void)
{
	pthread_once(&once, fill_table);
	return rule_count != 0;
}

bool facade_file(const char *name, char *path, size_t size)
{
	return facade_active() && snprintf(path, size, "%s/%s", root, name) < (int)size;
}

/* Over slashes and "." components, which change nothing. */
static const char *skip_nothing(const char *p)
{
	while (*p == '/' || (p[0] == '.' && (p[1] == '/' || !p[1])))
		p++;
	return p;
}

/* The rest of `path` behind `prefix`, component by component; NULL when `path` is not below it. */
static const char *match(const char *prefix, const char *path)
{
	while (*prefix) {
		prefix++;
		path = skip_nothing(path);
		while (*prefix && *prefix != '/') {
			if (*path != *prefix)
				return NULL;
			path++;
			prefix++;
		}
		if (*path && *path != '/')
			return NULL;
	}
	return path;
}

static const char *redirect(const char *path, struct facade_buf *buf)
{
	const char *rest;
	unsigned int i;
	int n;

	for (i = 0; i < rule_count; i++) {
		rest = match(rules[i].prefix, path);
		if (!rest || (!rules[i].subtree && *skip_nothing(rest)))
			continue;
		n = snprintf(buf->path, sizeof(buf->path), "%s%s%s", root, rules[i].prefix, rest);
		return n < (int)sizeof(buf->path) ? buf->path : path;
	}
	return path;
}

/* A cheap test that excludes most names. */
static bool absolute_candidate(const char *path)
{
	path = skip_nothing(path);
	return !strncmp(path, "sys/", 4) || !strncmp(path, "dev/", 4);
}

/*
 * A relative name can only reach a redirected one from a directory above it, so its first
 * component is one of a few.
 */
static bool relative_candidate(const char *path)
{
	static const char *const starts[] = { "sys",     "dev",     "class",      "bus",
					      "devices", "misc",    "infiniband", "rdma_cm",
					      "pci",     "drivers", "ptp",        ".." };
	unsigned int i;

	path = skip_nothing(path);
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(path, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/* The name of the directory `dirfd`; false when it cannot lead to a redirected name. */
static bool base_of(int dirfd, char *base, size_t size)
{
	char link[64] = "/proc/self/cwd";
	ssize_t n;

	if (dirfd != AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	n = syscall(SYS_readlinkat, AT_FDCWD, link, base, size - 1);
	if (n <= 0 || base[0] != '/')
		return false;
	base[n] = '\0';
	return n == 1 || !strncmp(base, "/sys", 4) || !strncmp(base, "/dev", 4);
}

/* `base` has no links in it, so leading ".." may be taken off name by name. */
static const char *climb(char *base, const char *path)
{
	char *slash;

	for (path = skip_nothing(path); !strncmp(path, "..", 2) && (path[2] == '/' || !path[2]);
	     path = skip_nothing(path + 2)) {
		slash = strrchr(base, '/');
		if (slash)
			*slash = '\0';
	}
	return path;
}

static const char *redirect_relative(int dirfd, const char *path, struct facade_buf *buf)
{
	char base[PATH_MAX], joined[PATH_MAX];
	const char *rest, *found;
	int saved = errno;
	int n;

	if (!base_of(dirfd, base, sizeof(base))) {
		errno = saved;
		return path;
	}
	errno = saved;
	rest = climb(base, path);
	n = snprintf(joined, sizeof(joined), "%s/%s", base, rest);
	if (n >= (int)sizeof(joined))
		return path;
	found = redirect(joined, buf);
	return found == joined ? path : found;
}

const char *facade_path_at(int dirfd, const char *path, struct facade_buf *buf)
{
	if (!facade_active() || !path)
		return path;
	if (*path == '/')
		return absolute_candidate(path) ? redirect(path, buf) : path;
	return relative_candidate(path) ? redirect_relative(dirfd, path, buf) : path;
}

const char *facade_path(const char *path, struct facade_buf *buf)
{
	return facade_path_at(AT_FDCWD, path, buf);
}

size_t facade_hidden(const char *path, size_t len)
{
	if (!facade_active() || len <= root_len || memcmp(path, root, root_len) != 0 ||
	    path[root_len] != '/')
		return 0;
	/* Only redirected names; other files of the tree, such as `map`, keep theirs. */
	if (strncmp(path + root_len, "/sys", 4) != 0 && strncmp(path + root_len, "/dev", 4) != 0)
		return 0;
	return root_len;
}

char *facade_unmap(char *path)
{
	size_t len, hidden;

	if (!path)
		return NULL;
	len = strlen(path);
	hidden = facade_hidden(path, len);
	if (hidden)
		memmove(path, path + hidden, len - hidden + 1);
	return path;
}
