/* SPDX-License-Identifier: BSD-2-Clause */
/* Called by directory.c, and by port_counts.c for tools, which only read. */
#include "fabric/dir_memory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/dirfile.h"
#include "fabric/folder_scan.h"
#include "fabric/sysv.h"
#include "util/explain.h"
#include "util/file_limit.h"

static void link_path(const char *folder, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%.*s/" FOLDER_MEMORY "%llu", PATH_MAX - FOLDER_PATH_ROOM, folder,
		 folder_netns());
}

static int check_head(const struct dir_file *file)
{
	if (!atomic_load_explicit(&file->magic, memory_order_acquire))
		return -ENODATA;
	return file->magic == DIR_MAGIC && file->version == DIR_VERSION &&
			       file->size == sizeof(*file)
		       ? 0
		       : -EPROTO;
}

/* -ENODATA also when the memory is gone with the last process that had it. */
static int map_sysv(const char *folder, bool read_only, struct dir_file **out)
{
	char path[PATH_MAX], text[64];
	unsigned long long nonce;
	struct dir_file *file;
	void *base = NULL;
	ssize_t len;
	int id;

	link_path(folder, path);
	len = readlink(path, text, sizeof(text) - 1);
	if (len <= 0)
		return -ENODATA;
	text[len] = 0;
	if (sscanf(text, "sysv-%d-%llx", &id, &nonce) != 2 ||
	    !sysv_has_size(id, sizeof(struct dir_file)) || sysv_attach(id, read_only, &base))
		return -ENODATA;
	file = base;
	if (file->nonce == nonce && !check_head(file)) {
		*out = file;
		return 0;
	}
	munmap(base, sizeof(*file));
	return -ENODATA;
}

static int map_file(int fd, bool read_only, struct dir_file **out)
{
	void *base = mmap(NULL, sizeof(**out), read_only ? PROT_READ : PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	*out = base;
	return 0;
}

int dir_memory_map(int fd, const char *folder, bool read_only, struct dir_file **out)
{
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head = { 0 };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size)
		return map_sysv(folder, read_only, out);
	if (pread(fd, &head, sizeof(head), 0) < 0)
		return -errno;
	if (!head.magic)
		return -ENODATA;
	/* One that was cut short would end in SIGBUS. */
	if (head.magic != DIR_MAGIC || head.version != DIR_VERSION ||
	    head.size != sizeof(struct dir_file) || st.st_size != (off_t)head.size)
		return -EPROTO;
	return map_file(fd, read_only, out);
}

static int create_sysv(const char *folder, struct dir_file **out)
{
	char path[PATH_MAX], text[64];
	struct dir_file *file;
	void *base = NULL;
	uint64_t nonce;
	int id, err;

	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		return -EIO;
	err = sysv_create(sizeof(*file), &id);
	if (!err)
		err = sysv_attach(id, false, &base);
	if (err)
		return err;
	file = base;
	file->nonce = nonce;
	link_path(folder, path);
	snprintf(text, sizeof(text), "sysv-%d-%llx", id, (unsigned long long)nonce);
	unlink(path);
	if (symlink(text, path)) {
		err = -errno;
		munmap(base, sizeof(*file));
		return err;
	}
	*out = file;
	return 0;
}

int dir_memory_create(int fd, const char *folder, struct dir_file **out)
{
	char path[PATH_MAX];
	int err = file_resize(fd, 0);

	if (!err)
		err = file_resize(fd, sizeof(struct dir_file));
	if (!err)
		err = file_allocate(fd, 0, DIR_SPARSE);
	if (!err) {
		link_path(folder, path);
		unlink(path);
		return map_file(fd, false, out);
	}
	file_resize(fd, 0);
	if (err != -EFBIG)
		return explain(ENOSPC, "%s has no room for the host directory's %zu KiB", folder,
			       DIR_SPARSE >> 10);
	err = create_sysv(folder, out);
	if (err)
		return explain(EFBIG,
			       "the host directory needs a file of %zu KiB: the limit of file "
			       "sizes is lower "
			       "(ulimit -f), and there is no System V shared memory: %s",
			       sizeof(struct dir_file) >> 10, strerror(-err));
	return 0;
}

/* System V memory has its pages from the kernel when they are touched. */
int dir_memory_reserve(int fd, const struct dir_file *file, const void *element, size_t size)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size)
		return 0;
	return file_allocate(fd, (const char *)element - (const char *)file, (off_t)size);
}

void dir_memory_unmap(struct dir_file *file)
{
	munmap(file, sizeof(*file));
}
