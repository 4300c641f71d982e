/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that list directories or move the working directory. Inside a redirected directory the
 * kernel resolves relative names by itself; only getcwd() has to hide where that is.
 */
#include "map.h"
#include "next.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *__getcwd_chk(char *out, size_t size, size_t out_size);
void __chk_fail(void) __attribute__((noreturn));

FACADE_API DIR *opendir(const char *path)
{
	struct facade_buf buf;

	return NEXT(opendir)(facade_path(path, &buf));
}

FACADE_API int scandir(const char *path, struct dirent ***list, int (*keep)(const struct dirent *),
		       int (*compare)(const struct dirent **, const struct dirent **))
{
	struct facade_buf buf;

	return NEXT(scandir)(facade_path(path, &buf), list, keep, compare);
}

FACADE_API int scandir64(const char *path, struct dirent64 ***list,
			 int (*keep)(const struct dirent64 *),
			 int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	struct facade_buf buf;

	return NEXT(scandir64)(facade_path(path, &buf), list, keep, compare);
}

FACADE_API int scandirat(int dirfd, const char *path, struct dirent ***list,
			 int (*keep)(const struct dirent *),
			 int (*compare)(const struct dirent **, const struct dirent **))
{
	struct facade_buf buf;

	return NEXT(scandirat)(dirfd, facade_path_at(dirfd, path, &buf), list, keep, compare);
}

FACADE_API int scandirat64(int dirfd, const char *path, struct dirent64 ***list,
			   int (*keep)(const struct dirent64 *),
			   int (*compare)(const struct dirent64 **, const struct dirent64 **))
{
	struct facade_buf buf;

	return NEXT(scandirat64)(dirfd, facade_path_at(dirfd, path, &buf), list, keep, compare);
}

FACADE_API int chdir(const char *path)
{
	struct facade_buf buf;

	return NEXT(chdir)(facade_path(path, &buf));
}

/* The shown name is shorter than the real one, so its size decides whether it fits. */
static char *shown_cwd(const char *shown, char *out, size_t size)
{
	size_t need = strlen(shown) + 1;

	if (!out) {
		if (size && size < need) {
			errno = ERANGE;
			return NULL;
		}
		out = malloc(size ? size : need);
		if (!out)
			return NULL;
	} else if (size < need) {
		errno = size ? ERANGE : EINVAL;
		return NULL;
	}
	return memcpy(out, shown, need);
}

FACADE_API char *getcwd(char *out, size_t size)
{
	struct facade_buf buf;
	int saved = errno;
	size_t hidden;

	if (facade_active() && NEXT(getcwd)(buf.path, sizeof(buf.path))) {
		hidden = facade_hidden(buf.path, strlen(buf.path));
		if (hidden)
			return shown_cwd(buf.path + hidden, out, size);
	}
	errno = saved;
	return NEXT(getcwd)(out, size);
}

FACADE_API char *__getcwd_chk(char *out, size_t size, size_t out_size)
{
	if (size > out_size)
		__chk_fail();
	return getcwd(out, size);
}

FACADE_API char *get_current_dir_name(void)
{
	return facade_unmap(NEXT(get_current_dir_name)());
}

static void *glob_opendir(const char *path)
{
	return opendir(path);
}

static struct dirent *glob_readdir(void *dir)
{
	return readdir(dir);
}

static void glob_closedir(void *dir)
{
	closedir(dir);
}

static int glob_stat(const char *restrict path, struct stat *restrict st)
{
	return stat(path, st);
}

static int glob_lstat(const char *restrict path, struct stat *restrict st)
{
	return lstat(path, st);
}

/* libc's glob() does not call opendir() by its public name, but takes this function. */
FACADE_API int glob(const char *restrict pattern, int flags, int (*on_error)(const char *, int),
		    glob_t *restrict out)
{
	if (facade_active() && !(flags & GLOB_ALTDIRFUNC)) {
		out->gl_opendir = glob_opendir;
		out->gl_readdir = glob_readdir;
		out->gl_closedir = glob_closedir;
		out->gl_stat = glob_stat;
		out->gl_lstat = glob_lstat;
		flags |= GLOB_ALTDIRFUNC;
	}
	return NEXT(glob)(pattern, flags, on_error, out);
}

/* The two structures are one on a 64-bit machine. */
FACADE_API int glob64(const char *restrict pattern, int flags, int (*on_error)(const char *, int),
		      glob64_t *restrict out)
{
	_Static_assert(sizeof(glob_t) == sizeof(glob64_t), "glob_t");
	return glob(pattern, flags, on_error, (glob_t *)out);
}
