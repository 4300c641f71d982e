/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory files; see memfd.h. Used for segments and rings, and to look into peers' shared memory.
 */
#include "fabric/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/sysv.h"
#include "util/explain.h"
#include "util/file_limit.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Newer than the headers of some distributions. */
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x10
#endif

/*
 * The id of the System V memory that the descriptor stands for; -1: it is an ordinary memory file.
 */
static int sysv_id(int fd)
{
	struct stat st;
	off_t at;

	if (fstat(fd, &st) || st.st_size)
		return -1;
	at = lseek(fd, 0, SEEK_CUR);
	return at > 0 && at <= INT32_MAX ? (int)(at - 1) : -1;
}

static int stand_for_sysv(int fd, uint64_t size)
{
	int id, err = sysv_create(size, &id);

	if (err)
		return err;
	return lseek(fd, (off_t)id + 1, SEEK_SET) < 0 ? -errno : 0;
}

static int explain_limit(const char *name, uint64_t size, int err)
{
	return explain(
		EFBIG,
		"the memory file \"%s\" cannot have %llu bytes: the limit of file sizes is lower "
		"(ulimit -f), and there is no System V shared memory: %s",
		name, (unsigned long long)size, strerror(-err));
}

static int create(const char *name, uint64_t size, int seals, int *out)
{
	int fd, err;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return explain(errno, "no memory file \"%s\": %s", name, strerror(errno));
	err = file_resize(fd, (off_t)size);
	if (!err && fcntl(fd, F_ADD_SEALS, seals))
		err = -errno;
	if (err == -EFBIG) {
		err = stand_for_sysv(fd, size);
		if (err)
			err = explain_limit(name, size, err);
	} else if (err) {
		explain(-err, "the memory file \"%s\" cannot have %llu bytes: %s", name,
			(unsigned long long)size, strerror(-err));
	}
	if (err) {
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

int fabric_memfd_create(const char *name, uint64_t size, int *out)
{
	return create(name, size, SEALS, out);
}

/* Linux before 5.1 does not know the seal against writes: peers map the memory read-only all the same. */
static int seal_owned(int fd)
{
	if (sysv_id(fd) >= 0)
		return 0; /* System V memory has no seals */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) && errno != EINVAL)
		return -errno;
	return fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : 0;
}

int fabric_memfd_create_owned(const char *name, uint64_t size, int *out, void **base)
{
	void *map = NULL;
	int fd = -1, err;

	err = create(name, size, SEALS & ~F_SEAL_SEAL, &fd);
	if (err)
		return err;
	/* Few of these are made in the life of a process. */
	if (sysv_id(fd) >= 0)
		sysv_sweep();
	err = fabric_memfd_map(fd, 0, size, &map);
	if (err)
		goto close_fd;
	err = seal_owned(fd);
	if (err)
		goto unmap;
	*out = fd;
	*base = map;
	return 0;
unmap:
	munmap(map, size);
close_fd:
	close(fd);
	return err;
}

int fabric_memfd_check(int fd, uint64_t size)
{
	struct stat st;
	int seals, id = sysv_id(fd);

	if (id >= 0)
		return sysv_has_size(id, size) ? 0 : -EPROTO;
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || (uint64_t)st.st_size != size)
		return -EPROTO;
	return 0;
}

/*
 * A peer that has the descriptor, too, may change its position: the id is read once, and its size
 * checked.
 */
static int map_sysv(int id, uint64_t offset, uint64_t size, bool read_only, void **out)
{
	void *at;
	int err;

	if (!offset && sysv_has_size(id, size))
		return sysv_attach(id, read_only, out);
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	err = sysv_map_at(id, offset, size, at);
	if (err) {
		munmap(at, size);
		return err;
	}
	*out = at;
	return 0;
}

static int map_as(int fd, uint64_t offset, uint64_t size, int prot, void **out)
{
	int err, id = sysv_id(fd);
	void *base;

	if (id >= 0)
		return map_sysv(id, offset, size, !(prot & PROT_WRITE), out);
	/* Pages without access rights are not filled in when they are mapped locked. */
	base = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset);
	if (base == MAP_FAILED)
		return -errno;
	if (munlock(base, size) || mprotect(base, size, prot)) {
		err = -errno;
		munmap(base, size);
		return err;
	}
	*out = base;
	return 0;
}

int fabric_memfd_map(int fd, uint64_t offset, uint64_t size, void **out)
{
	return map_as(fd, offset, size, PROT_READ | PROT_WRITE, out);
}

int fabric_memfd_map_read(int fd, uint64_t size, void **out)
{
	return map_as(fd, 0, size, PROT_READ, out);
}

int fabric_memfd_map_at(int fd, uint64_t offset, uint64_t size, void *at)
{
	int id = sysv_id(fd);
	void *got;

	if (id >= 0)
		return sysv_map_at(id, offset, size, at);
	got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
	return got == MAP_FAILED ? -errno : 0;
}

#define PAGE_BYTES 4096u
#define PAGES      4096u /* looked at together */

/* Pages that were never touched stay so. */
static void copy_touched(char *to, const char *from, uint64_t size)
{
	unsigned char there[PAGES];

	for (uint64_t at = 0; at < size; at += (uint64_t)PAGES * PAGE_BYTES) {
		uint64_t left = (size - at) / PAGE_BYTES, pages = left < PAGES ? left : PAGES;

		if (mincore((void *)(from + at), pages * PAGE_BYTES, there))
			memset(there, 1, sizeof(there));
		for (uint64_t i = 0; i < pages; i++)
			if (there[i] & 1)
				memcpy(to + at + i * PAGE_BYTES, from + at + i * PAGE_BYTES,
				       PAGE_BYTES);
	}
}

void fabric_memfd_make_private(int fd, void *base, uint64_t size)
{
	void *copy;

	if (sysv_id(fd) < 0) {
		if (mmap(base, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
			munmap(base, size);
		return;
	}
	/* System V memory has no private mapping. */
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (copy == MAP_FAILED) {
		munmap(base, size);
		return;
	}
	copy_touched(copy, base, size);
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, base) == MAP_FAILED) {
		munmap(copy, size);
		munmap(base, size);
	}
}
