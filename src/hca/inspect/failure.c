/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A record is appended by one write(2), so that several processes may do so, under the QP's lock: that takes some
 * microseconds, of memory in a folder that is in memory. A file that is full becomes the old one, and the
 * old one goes. A write that finds no room leaves a part of a record, which the reader skips.
 */
#include "hca/inspect/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/folder.h"
#include "fabric/folder_scan.h"
#include "hca/hca.h"
#include "hca/inspect/story_take.h"
#include "hca/transport/failure.h"
#include "hca/transport/qp_types.h"
#include "util/file_limit.h"

#define FILE_MOST (128u << 10)
#define READ_MOST (2 * (off_t)FILE_MOST)
#define ROOM      32u /* bytes of a path for the name in the folder */

static int open_file(const char *path, int flags)
{
	struct stat st;
	int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EPERM;
}

/* Whether the path still names the file: another process may have made it the old one. */
static bool is_named(int fd, const char *path)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !lstat(path, &named) && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

static void append(const struct hca_story *story)
{
	char path[PATH_MAX + ROOM], old[PATH_MAX + 2 * ROOM];
	int fd, saved = errno;
	off_t end;

	snprintf(path, sizeof(path), "%s/" FOLDER_FAILURES, fabric_folder());
	fd = open_file(path, O_WRONLY | O_APPEND | O_CREAT);
	if (fd < 0)
		goto restore;
	if (!file_append(fd, story, sizeof(*story))) {
		end = lseek(fd, 0, SEEK_CUR);
		snprintf(old, sizeof(old), "%s" FOLDER_OLD, path);
		if (end >= (off_t)FILE_MOST && is_named(fd, path))
			rename(path, old); /* nothing is lost if it fails */
	}
	close(fd);
restore:
	errno = saved;
}

static bool is_kept(const struct qp *qp)
{
	return fabric_is_up() && !qp->guest && qp->pub.ctx;
}

static void request_failed(const struct qp *qp, const struct req_slot *slot, enum hca_status status,
			   uint16_t vendor)
{
	struct hca_story story;

	if (!is_kept(qp))
		return;
	story_take_qp(qp, &story);
	story.kind = STORY_REQUEST;
	story.status = (uint8_t)status;
	story.vendor = (uint8_t)vendor;
	story_take_request(qp, slot, &story.request);
	if (status == HCA_LOC_PROT_ERR)
		story_take_local(qp, slot, &story);
	append(&story);
}

static void request_refused(const struct qp *qp, const struct roce_pkt *pkt, unsigned int fault,
			    enum hca_status status)
{
	struct hca_story story;

	if (!is_kept(qp))
		return;
	story_take_qp(qp, &story);
	story.kind = STORY_REFUSED;
	story_take_refused(qp, pkt, (enum fault)fault, status, &story);
	append(&story);
}

const struct failure_ops failure_ops = { .request = request_failed, .refused = request_refused };

/* ---- reading ---- */

/* Appends the file's bytes, the newest of one that is larger than it should be. */
static int read_file(const char *path, char **bytes, size_t *size)
{
	int fd = open_file(path, O_RDONLY);
	off_t from = 0;
	struct stat st;
	ssize_t n = 0;
	char *more;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && st.st_size > READ_MOST)
		from = st.st_size - READ_MOST;
	more = realloc(*bytes, *size + READ_MOST);
	if (more) {
		*bytes = more;
		n = pread(fd, more + *size, READ_MOST, from);
	}
	close(fd);
	if (!more)
		return -ENOMEM;
	if (n > 0)
		*size += (size_t)n;
	return 0;
}

/* Strings of a file are those of any process of the user. */
static void take(const char *from, struct hca_story *to)
{
	memcpy(to, from, sizeof(*to));
	to->program[sizeof(to->program) - 1] = 0;
	to->adapter[sizeof(to->adapter) - 1] = 0;
	to->peer_program[sizeof(to->peer_program) - 1] = 0;
}

static size_t find_records(const char *bytes, size_t size, struct hca_story *out)
{
	const uint64_t magic = STORY_MAGIC;
	const char *at = bytes, *end = bytes + size;
	size_t count = 0;

	while ((size_t)(end - at) >= sizeof(*out) &&
	       (at = memmem(at, (size_t)(end - at), &magic, sizeof(magic)))) {
		if ((size_t)(end - at) < sizeof(*out))
			break;
		take(at, &out[count]);
		if (out[count].size == sizeof(*out) && out[count].end == STORY_MAGIC) {
			count++;
			at += sizeof(*out);
		} else {
			at += sizeof(magic);
		}
	}
	return count;
}

int hca_failures_read(struct hca_story **out, size_t *count)
{
	char folder[PATH_MAX], path[PATH_MAX + ROOM], *bytes = NULL;
	struct hca_story *stories;
	size_t size = 0;

	if (!folder_find(folder))
		return -ENOENT;
	snprintf(path, sizeof(path), "%s/" FOLDER_FAILURES FOLDER_OLD, folder);
	read_file(path, &bytes, &size);
	snprintf(path, sizeof(path), "%s/" FOLDER_FAILURES, folder);
	read_file(path, &bytes, &size);
	if (!size) {
		free(bytes);
		return -ENOENT;
	}
	stories = calloc(size / sizeof(*stories) + 1, sizeof(*stories));
	if (stories)
		*count = find_records(bytes, size, stories);
	free(bytes);
	if (!stories)
		return -ENOMEM;
	*out = stories;
	return 0;
}
