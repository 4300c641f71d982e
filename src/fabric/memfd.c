/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory files; see memfd.h. Used for segments and rings, and to look into peers' shared memory.
 */
#include "fabric/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/explain.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int fabric_memfd_create(const char *name, uint64_t size, int *out)
{
	int fd, err;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return explain(errno, "no memory file \"%s\": %s", name, strerror(errno));
	if (ftruncate(fd, (off_t)size) || fcntl(fd, F_ADD_SEALS, SEALS)) {
		err = explain(errno, "the memory file \"%s\" cannot have %llu bytes: %s", name,
			      (unsigned long long)size, strerror(errno));
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

int fabric_memfd_check(int fd, uint64_t size)
{
	struct stat st;
	int seals;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || (uint64_t)st.st_size != size)
		return -EPROTO;
	return 0;
}

int fabric_memfd_map(int fd, uint64_t offset, uint64_t size, void **out)
{
	/* Pages without access rights are not filled in when they are mapped locked. */
	void *base = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset);
	int err;

	if (base == MAP_FAILED)
		return -errno;
	if (munlock(base, size) || mprotect(base, size, PROT_READ | PROT_WRITE)) {
		err = -errno;
		munmap(base, size);
		return err;
	}
	*out = base;
	return 0;
}
