/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/udmabuf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/explain.h"

#define DRIVER "/dev/udmabuf"

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
