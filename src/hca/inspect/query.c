/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ask-ID-NUMBER is a question to the process with this id, answer-ID-NUMBER its answer. The number is that of the
 * process that asks. It removes both in the end, the question first: an answer is taken back when its question has
 * gone. What a process leaves that was killed is removed by the next one that asks, or with the folder
 * (fabric/litter.c).
 */
#include "hca/inspect/query.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/folder.h"
#include "fabric/folder_scan.h"
#include "hca/inspect/story_take.h"
#include "hca/transport/qp_table.h"
#include "util/array.h"
#include "util/file_limit.h"

#define ANSWER_MOST (64u << 20) /* bytes */
#define LITTER_AGE  60          /* seconds */
#define NAP_NS      2000000u

typedef ARRAY_OF(struct hca_story) story_array;

/* ---- answering ---- */

static void add_qp(struct qp *qp, void *arg)
{
	story_array *list = arg;
	struct hca_story story;

	fabric_lock(&qp->pub.lock);
	if (qp->dying || qp->guest || !qp->pub.ctx) {
		fabric_unlock(&qp->pub.lock);
		return;
	}
	story_take_qp(qp, &story);
	fabric_unlock(&qp->pub.lock);
	story.kind = STORY_LIVE;
	(void)array_push(list, story); /* fails without memory only */
}

struct hca_story *query_self(size_t *count)
{
	story_array list = { 0 };

	qp_for_each(add_qp, &list);
	*count = list.count;
	return list.data;
}

static void write_answer(int folder, const char *question, const char *name,
			 const struct hca_story *story, size_t count)
{
	char temporary[NAME_MAX + 1];
	int fd, err;

	if (snprintf(temporary, sizeof(temporary), "%s.new", name) >= (int)sizeof(temporary))
		return;
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	err = file_append(fd, story, count * sizeof(*story));
	close(fd);
	if (err || renameat(folder, temporary, folder, name))
		unlinkat(folder, temporary, 0);
	else if (faccessat(folder, question, F_OK, AT_SYMLINK_NOFOLLOW))
		unlinkat(folder, name, 0);
}

void query_answer(const char *folder)
{
	char own[32], name[NAME_MAX + 1];
	struct hca_story *story = NULL;
	DIR *dir = opendir(folder);
	bool known = false;
	size_t count = 0;

	if (!dir)
		return;
	snprintf(own, sizeof(own), FOLDER_ASK "%08x-", (unsigned int)fabric_self());
	for (struct dirent *d; (d = readdir(dir));) {
		if (strncmp(d->d_name, own, strlen(own)))
			continue;
		if (!known)
			story = query_self(&count);
		known = true;
		if (snprintf(name, sizeof(name), FOLDER_ANSWER "%s",
			     d->d_name + strlen(FOLDER_ASK)) < (int)sizeof(name))
			write_answer(dirfd(dir), d->d_name, name, story, count);
		unlinkat(dirfd(dir), d->d_name, 0);
	}
	free(story);
	closedir(dir);
}

/* ---- asking ---- */

struct asked {
	fabric_id_t id;
	uint32_t pid;
	bool answered;
};

struct question {
	char path[PATH_MAX];
	int folder;
	ARRAY_OF(struct asked) processes;
	story_array stories;
};

/* Asks the kernel: a process holds the lock on its byte. */
static bool is_alive(int fd, uint32_t slot)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = DIR_LOCK_SLOT(slot), .l_len = 1 };

	return fcntl(fd, F_OFD_GETLK, &lock) || lock.l_type != F_UNLCK;
}

static int list_slots(struct question *q, int fd, struct dir_file *dir)
{
	uint32_t slots = dir_slots(dir);

	for (uint32_t i = 0; i < slots; i++) {
		fabric_id_t id = atomic_load(&dir->slot[i].id);
		struct asked asked = { .id = id, .pid = (uint32_t)atomic_load(&dir->slot[i].pid) };

		if (id && is_alive(fd, i) && array_push(&q->processes, asked))
			return -ENOMEM;
	}
	return 0;
}

/* The directory is read where it lies, as by hw_counters of the command. */
static int list_processes(struct question *q)
{
	char path[PATH_MAX];
	struct dir_file *dir;
	struct stat st;
	int fd, err = 0;

	if (!folder_file_find(path))
		return 0;
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(*dir))
		goto close_file; /* one that is being made */
	dir = mmap(NULL, sizeof(*dir), PROT_READ, MAP_SHARED, fd, 0);
	if (dir == MAP_FAILED) {
		err = -errno;
		goto close_file;
	}
	if (dir->magic == DIR_MAGIC && dir->version == DIR_VERSION)
		err = list_slots(q, fd, dir);
	munmap(dir, sizeof(*dir));
close_file:
	close(fd);
	return err;
}

static void name_file(char *name, size_t size, const char *kind, fabric_id_t id)
{
	snprintf(name, size, "%s%08x-%d", kind, (unsigned int)id, (int)getpid());
}

static void ask(struct question *q)
{
	char name[64];

	for (size_t i = 0; i < q->processes.count; i++) {
		int fd;

		name_file(name, sizeof(name), FOLDER_ASK, q->processes.data[i].id);
		fd = openat(q->folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			close(fd);
	}
	folder_fifos_notify(q->path);
}

static void take_stories(struct question *q, int fd)
{
	struct hca_story story;

	while (q->stories.count < ANSWER_MOST / sizeof(story) &&
	       read(fd, &story, sizeof(story)) == sizeof(story)) {
		if (story.magic != STORY_MAGIC || story.size != sizeof(story))
			return;
		story.program[sizeof(story.program) - 1] = 0;
		story.adapter[sizeof(story.adapter) - 1] = 0;
		story.peer_program[sizeof(story.peer_program) - 1] = 0;
		if (array_push(&q->stories, story))
			return;
	}
}

/* Returns how many have not answered. */
static size_t take_answers(struct question *q)
{
	size_t missing = 0;
	char name[64];

	for (size_t i = 0; i < q->processes.count; i++) {
		struct asked *a = &q->processes.data[i];
		int fd;

		if (a->answered)
			continue;
		name_file(name, sizeof(name), FOLDER_ANSWER, a->id);
		fd = openat(q->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) {
			missing++;
			continue;
		}
		take_stories(q, fd);
		close(fd);
		unlinkat(q->folder, name, 0);
		a->answered = true;
	}
	return missing;
}

/* Files of this kind: those of this process, and what others have left. */
static void remove_files(struct question *q, const char *kind)
{
	int copy = openat(q->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	char own[32];
	size_t len;

	if (!dir && copy >= 0)
		close(copy);
	len = (size_t)snprintf(own, sizeof(own), "-%d", (int)getpid());
	for (struct dirent *d; dir && (d = readdir(dir));) {
		size_t at = strlen(d->d_name);
		struct stat st;

		if (strncmp(d->d_name, kind, strlen(kind)))
			continue;
		if ((at > len && !strcmp(d->d_name + at - len, own)) ||
		    (!fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		     time(NULL) - st.st_mtime > LITTER_AGE))
			unlinkat(dirfd(dir), d->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

static void wait_for_answers(struct question *q, unsigned int wait_ms)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (uint64_t waited = 0; take_answers(q) && waited < wait_ms * 1000000ull;
	     waited += NAP_NS)
		nanosleep(&nap, NULL);
}

int hca_query(struct hca_answers *out, unsigned int wait_ms)
{
	struct question q = { .folder = -1 };
	int err;

	*out = (struct hca_answers){ 0 };
	if (!folder_find(q.path))
		return 0;
	q.folder = open(q.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (q.folder < 0)
		return errno == ENOENT ? 0 : -errno;
	err = list_processes(&q);
	if (!err && q.processes.count) {
		ask(&q);
		wait_for_answers(&q, wait_ms);
		remove_files(&q, FOLDER_ASK);
		remove_files(&q, FOLDER_ANSWER);
	}
	close(q.folder);
	for (size_t i = 0; i < q.processes.count; i++) {
		if (q.processes.data[i].answered)
			out->processes++;
		else
			out->silent = q.processes.data[i].pid;
	}
	array_fini(&q.processes);
	out->story = q.stories.data;
	out->count = q.stories.count;
	return err;
}
