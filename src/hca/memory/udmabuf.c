/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/udmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/explain.h"

#define DRIVER "/dev/udmabuf"

#ifndef DMA_BUF_MAGIC
#define DMA_BUF_MAGIC 0x444d4142
#endif

int hca_udmabuf_create(int memfd, uint64_t offset, uint64_t size, const char *what)
{
	struct udmabuf_create request = {
		.memfd = (uint32_t)memfd,
		.flags = UDMABUF_FLAGS_CLOEXEC,
		.offset = offset,
		.size = size,
	};
	int driver = open(DRIVER, O_RDWR | O_CLOEXEC);
	int fd;

	if (driver < 0)
		return explain(EOPNOTSUPP,
			       "%s is memory of this process; a dmabuf needs " DRIVER ": %s", what,
			       strerror(errno));
	fd = ioctl(driver, UDMABUF_CREATE, &request);
	if (fd < 0)
		fd = explain(errno, "%s: the kernel makes no dmabuf of %llu bytes: %s", what,
			     (unsigned long long)size, strerror(errno));
	close(driver);
	return fd;
}

/* Seals that udmabuf wants of a memory file. */
static int check_seals(int fd, const char *what)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return explain(EOPNOTSUPP, "%s: descriptor %d is no dmabuf", what, fd);
	if (!(seals & F_SEAL_SHRINK) || seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return explain(EOPNOTSUPP,
			       "%s: descriptor %d is a memory file with seals 0x%x; F_SEAL_SHRINK "
			       "is needed, and no seal against writing",
			       what, fd, (unsigned int)seals);
	return 0;
}

int hca_dmabuf_check(int fd, uint64_t offset, uint64_t length, const char *what)
{
	struct statfs fs;
	struct stat st;
	off_t size;
	int err;

	if (fstatfs(fd, &fs))
		return explain(errno, "%s: descriptor %d is not open", what, fd);
	if (fs.f_type == DMA_BUF_MAGIC) {
		size = lseek(fd, 0, SEEK_END); /* a dmabuf has no position that this would move */
	} else {
		err = check_seals(fd, what);
		if (err)
			return err;
		size = fstat(fd, &st) ? -1 : st.st_size;
	}
	if (size >= 0 && (length > (uint64_t)size || offset > (uint64_t)size - length))
		return explain(EINVAL, "%s: 0x%llx + 0x%llx is beyond the dmabuf's end, 0x%llx",
			       what, (unsigned long long)offset, (unsigned long long)length,
			       (unsigned long long)size);
	return 0;
}
