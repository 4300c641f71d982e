/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/inspect/fault_script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hca/hca.h"
#include "util/explain.h"

#define FILE_MAX (1u << 20)

static int read_file(const char *path, char **out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	size_t len = 0;
	char *text;

	if (fd < 0 || fstat(fd, &st)) {
		err = explain(errno, "the fault script %s: %s", path, strerror(errno));
		goto close_fd;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		err = explain(EINVAL, "the fault script %s is no file, or longer than 1 MiB", path);
		goto close_fd;
	}
	text = calloc(1, st.st_size + 1);
	if (!text) {
		err = -ENOMEM;
		goto close_fd;
	}
	while (len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, st.st_size - len);

		if (n <= 0)
			break;
		len += n;
	}
	*out = text;
close_fd:
	if (fd >= 0)
		close(fd);
	return err;
}

int fault_script_load(struct roce_fault *fault, const char *script, uint64_t seed)
{
	char *text = NULL;
	int err;

	if (*script != '/')
		return roce_fault_load(fault, script, seed, hca_now_ns());
	err = read_file(script, &text);
	if (!err)
		err = roce_fault_load(fault, text, seed, hca_now_ns());
	free(text);
	return err;
}

int hca_faults_check(const char *script)
{
	struct roce_fault *fault;
	int err = roce_fault_create(&fault);

	if (err)
		return err;
	err = fault_script_load(fault, script, 0);
	roce_fault_destroy(fault);
	return err;
}
