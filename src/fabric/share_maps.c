/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's view of this process. New kernels have an ioctl for one mapping and one for a stretch
 * of pages; for older ones /proc/self/maps is parsed and /proc/self/pagemap is read.
 */
#include "fabric/share_maps.h"

#include <dirent.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fabric/share_sys.h"

/* ---- mappings ---- */

/* ioctl on /proc/PID/maps, Linux 6.11; newer than the headers we build with. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, prot, page_size, offset, ino;
	uint32_t dev_major, dev_minor;
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};

#define QUERY_MAPS          _IOWR('f', 17, struct query)
#define QUERY_READ          0x01u
#define QUERY_WRITE         0x02u
#define QUERY_EXEC          0x04u
#define QUERY_SHARED        0x08u
#define QUERY_COVER_OR_NEXT 0x10u

static int open_maps(void)
{
	int fd = share_sys_open("/proc/self/maps", O_RDONLY);

	return fd < 0 ? -EOPNOTSUPP : fd;
}

/* Where the kernel answers questions about one mapping, the descriptor stays open: opening it takes longer. */
int share_walk_open(struct share_walk *walk, struct share_state *state)
{
	/* In the child of a bare fork system call it tells about the parent. */
	if (state->maps_fd >= 0 && state->maps_pid != getpid())
		share_walk_forget(state);
	*walk = (struct share_walk){ .state = state, .fd = state->maps_fd };
	if (walk->fd < 0)
		walk->fd = open_maps();
	return walk->fd < 0 ? walk->fd : 0;
}

void share_walk_close(struct share_walk *walk)
{
	if (walk->fd >= 0 && walk->fd != walk->state->maps_fd)
		share_sys_close(walk->fd);
}

void share_walk_forget(struct share_state *state)
{
	if (state->maps_fd >= 0)
		share_sys_close(state->maps_fd);
	state->maps_fd = -1;
}

/* Names of private anonymous mappings. Stacks and vdso have other names in brackets. */
static bool plain_name(const char *name)
{
	return !*name || !strcmp(name, "[heap]") || !strncmp(name, "[anon:", 6);
}

/*
 * One ioctl for range and name: between two, another thread may unmap part of the mapping, and the
 * second answer would be about another one.
 */
static int ask_next(struct share_walk *walk, uintptr_t addr, struct share_vma *out)
{
	char *name = walk->state->scratch;
	struct query q = { .size = sizeof(q),
			   .flags = QUERY_COVER_OR_NEXT,
			   .addr = addr,
			   .name = (uintptr_t)name,
			   .name_size = SHARE_SCRATCH };
	int err;

	name[0] = 0;
	err = share_sys_ioctl(walk->fd, QUERY_MAPS, &q);
	/* The program may have closed the descriptor, as one that it does not know. */
	if (walk->fd == walk->state->maps_fd &&
	    (err == -EBADF || err == -ENOTTY || err == -EINVAL)) {
		walk->state->maps_fd = -1;
		walk->fd = open_maps();
		err = walk->fd < 0 ? walk->fd : share_sys_ioctl(walk->fd, QUERY_MAPS, &q);
	}
	if ((!err || err == -ENOENT) && walk->state->maps_fd < 0) {
		walk->state->maps_fd = walk->fd;
		walk->state->maps_pid = getpid();
	}
	if (err)
		return err;
	*out = (struct share_vma){
		.start = q.start,
		.end = q.end,
		.offset = q.offset,
		.ino = q.ino,
		.dev = makedev(q.dev_major, q.dev_minor),
		.prot = (q.prot & QUERY_READ ? PROT_READ : 0) |
			(q.prot & QUERY_WRITE ? PROT_WRITE : 0) |
			(q.prot & QUERY_EXEC ? PROT_EXEC : 0),
		.shared = q.prot & QUERY_SHARED,
	};
	out->plain = !out->shared && !q.ino && plain_name(q.name_size ? name : "");
	return 0;
}

static int parse_line(char *line, struct share_vma *out)
{
	char prot[5], *name;
	unsigned int major_no, minor_no;
	unsigned long long ino, offset;
	unsigned long start, end;
	int used = 0;

	if (sscanf(line, "%lx-%lx %4s %llx %x:%x %llu%n", &start, &end, prot, &offset, &major_no,
		   &minor_no, &ino, &used) < 7)
		return -EOPNOTSUPP;
	name = line + used;
	name += strspn(name, " ");
	*out = (struct share_vma){
		.start = start,
		.end = end,
		.offset = offset,
		.ino = ino,
		.dev = makedev(major_no, minor_no),
		.prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
			(prot[2] == 'x' ? PROT_EXEC : 0),
		.shared = prot[3] == 's',
	};
	out->plain = !out->shared && !ino && plain_name(name);
	return 0;
}

/* The next line, in the scratch buffer; NULL at the end, or when a line does not fit. */
static char *read_line(struct share_walk *walk)
{
	char *buf = walk->state->scratch, *nl, *line;

	for (;;) {
		ssize_t n;

		nl = memchr(buf + walk->pos, '\n', walk->have - walk->pos);
		if (nl)
			break;
		memmove(buf, buf + walk->pos, walk->have - walk->pos);
		walk->have -= walk->pos;
		walk->pos = 0;
		n = read(walk->fd, buf + walk->have, SHARE_SCRATCH - walk->have);
		if (n <= 0)
			return NULL;
		walk->have += (size_t)n;
	}
	*nl = 0;
	line = buf + walk->pos;
	walk->pos = (size_t)(nl + 1 - buf);
	return line;
}

int share_walk_next(struct share_walk *walk, uintptr_t addr, struct share_vma *out)
{
	char *line;
	int err;

	if (!walk->text) {
		err = ask_next(walk, addr, out);
		if (err != -ENOTTY && err != -EINVAL && err != -EPERM && err != -ENOSYS)
			return err;
		walk->text = true;
	}
	/* Mappings may change meanwhile: start over rather than use a buffer that was read before. */
	lseek(walk->fd, 0, SEEK_SET);
	walk->have = walk->pos = 0;
	while ((line = read_line(walk))) {
		/* Most lines need not be parsed beyond their first two numbers. */
		char *dash = strchr(line, '-');

		if (dash && strtoul(dash + 1, NULL, 16) > addr)
			return parse_line(line, out);
	}
	return -ENOENT;
}

bool share_walk_is_fast(struct share_state *state)
{
	struct share_walk walk;
	struct share_vma vma;

	if (share_walk_open(&walk, state))
		return false;
	share_walk_next(&walk, 0, &vma);
	share_walk_close(&walk);
	return !walk.text;
}

int share_each_mapping(struct share_state *state, struct share_range r, share_mapping_fn fn,
		       void *arg)
{
	struct share_walk walk;
	struct share_vma vma;
	uintptr_t at = r.start;
	int err = share_walk_open(&walk, state);

	if (err)
		return err;
	while (!err && at < r.end) {
		struct share_range part = { at, r.end };

		err = share_walk_next(&walk, at, &vma);
		if (err && err != -ENOENT)
			break;
		if (err || vma.start >= r.end)
			vma = (struct share_vma){ .start = r.end, .end = r.end };
		if (vma.start > at) {
			part.end = vma.start;
			vma = (struct share_vma){ .start = part.end, .end = part.end };
		} else if (vma.end < r.end) {
			part.end = vma.end;
		}
		err = fn(state, &vma, part, arg);
		at = part.end;
	}
	share_walk_close(&walk);
	return err;
}

bool share_in_file(const struct share_state *state, const struct share_vma *vma)
{
	return vma->shared && vma->ino == state->ino && vma->dev == state->dev;
}

bool share_in_place(const struct share_state *state, const struct share_vma *vma)
{
	return share_in_file(state, vma) && vma->offset == vma->start;
}

/* ---- pages ---- */

/* ioctl on /proc/PID/pagemap, Linux 6.7. */
struct region {
	uint64_t start, end, categories;
};

struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, all_of, any_of, returned;
};

#define SCAN_PAGES     _IOWR('f', 16, struct scan_arg)
#define SCAN_PRESENT   (1u << 3)
#define SCAN_SWAPPED   (1u << 4)
#define SCAN_ZERO_PAGE (1u << 5)

#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)

int share_scan_open(struct share_scan *scan, struct share_state *state)
{
	*scan = (struct share_scan){ .state = state };
	scan->fd = share_sys_open("/proc/self/pagemap", O_RDONLY);
	return scan->fd < 0 ? -EOPNOTSUPP : 0;
}

void share_scan_close(struct share_scan *scan)
{
	share_sys_close(scan->fd);
}

void share_scan_begin(struct share_scan *scan, uintptr_t start, uintptr_t end)
{
	scan->at = start;
	scan->end = end;
	scan->have = scan->pos = 0;
}

static int scan_ask(struct share_scan *scan)
{
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = scan->at,
		.end = scan->end,
		.vec = (uintptr_t)scan->state->scratch,
		.vec_len = SHARE_SCRATCH / sizeof(struct region),
		.max_pages = scan->max,
		.inverted = SCAN_ZERO_PAGE,
		.all_of = SCAN_ZERO_PAGE,
		.any_of = SCAN_PRESENT | SCAN_SWAPPED,
		.returned = SCAN_PRESENT | SCAN_SWAPPED,
	};
	int n = share_sys_ioctl(scan->fd, SCAN_PAGES, &arg);

	if (n < 0)
		return n;
	scan->at = arg.walk_end;
	scan->have = (size_t)n;
	scan->pos = 0;
	return 0;
}

static int scan_slow(struct share_scan *scan, uintptr_t *start, uintptr_t *end)
{
	size_t page = scan->state->page, run = 0;
	uint64_t *entry = (uint64_t *)(void *)scan->state->scratch;

	assert(page);
	for (; scan->at < scan->end; scan->at += page) {
		if (scan->pos == scan->have) {
			size_t want = (scan->end - scan->at) / page;
			int64_t n;

			if (want > SHARE_SCRATCH / 8)
				want = SHARE_SCRATCH / 8;
			n = share_sys_pread(scan->fd, (uintptr_t)entry, want * 8,
					    scan->at / page * 8);
			if (n < 8)
				return n < 0 ? (int)n : -EIO;
			scan->pos = 0;
			scan->have = (size_t)n / 8;
		}
		if (entry[scan->pos++] & (ENTRY_PRESENT | ENTRY_SWAPPED)) {
			run += page;
			if (scan->max && run >= scan->max * page) {
				scan->at += page;
				break;
			}
		} else if (run) {
			scan->pos--;
			break;
		}
	}
	*start = scan->at - run;
	*end = scan->at;
	return run != 0;
}

int share_scan_next(struct share_scan *scan, uintptr_t *start, uintptr_t *end)
{
	while (!scan->slow) {
		struct region *r = (struct region *)(void *)scan->state->scratch;
		int err;

		if (scan->pos < scan->have) {
			*start = r[scan->pos].start;
			*end = r[scan->pos++].end;
			return 1;
		}
		if (scan->at >= scan->end)
			return 0;
		err = scan_ask(scan);
		if (err == -ENOTTY || err == -EINVAL || err == -ENOSYS || err == -EPERM) {
			scan->slow = true;
			scan->have = scan->pos = 0;
		} else if (err) {
			return err;
		}
	}
	return scan_slow(scan, start, end);
}

/* ---- threads ---- */

#define OWN_FRAMES 8192u  /* stack of share's functions above the current frame */
#define BELOW      65536u /* and of the functions that they call */

unsigned int share_threads_count(void)
{
	struct stat st;

	/* One link for each thread's directory, beside . and .. */
	if (stat("/proc/self/task", &st) || st.st_nlink < 3)
		return 0;
	return (unsigned int)st.st_nlink - 2;
}

/*
 * A thread's control block must not move: the kernel writes to it (rseq) and kills the thread if that
 * fails. It holds the list of robust mutexes, whose address the kernel tells, and thread-local
 * variables lie next to it. The block of the main thread lies in a mapping of ld.so, the block of any
 * other thread at the upper end of its stack.
 */
struct block {
	uintptr_t below, above; /* how far the block reaches from the head of the list */
};

static bool block_measure(struct block *out)
{
	uintptr_t head = 0, local = (uintptr_t)&errno;
	size_t size;

	if (syscall(SYS_get_robust_list, 0, &head, &size) || !head)
		return false;
	out->below = (local < head ? head - local : 0) + 1024;
	out->above = (local > head ? local - head : 0) + 2048;
	return true;
}

static bool lives_in(pid_t tid, const struct block *block, const struct share_vma *vma,
		     struct share_range r)
{
	uintptr_t head = 0, low, high;
	size_t size;

	if (syscall(SYS_get_robust_list, tid, &head, &size) || head < vma->start ||
	    head >= vma->end)
		return false;
	low = tid == getpid() ? head - block->below : vma->start;
	high = head + block->above;
	return r.start < high && r.end > low;
}

bool share_threads_live_in(struct share_state *state, const struct share_vma *vma,
			   struct share_range r)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct block block;
	bool found = false;
	long n;
	int fd;

	/* This function writes to its own stack, which may be on the heap (coroutines). */
	if (sp >= vma->start && sp < vma->end && r.start < sp + OWN_FRAMES && r.end > sp - BELOW)
		return true;
	if (!block_measure(&block))
		return true;
	fd = share_sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return true;
	while (!found && (n = getdents64(fd, state->scratch, SHARE_SCRATCH)) > 0)
		for (long at = 0; at < n && !found;) {
			struct dirent64 *d = (struct dirent64 *)(void *)(state->scratch + at);

			if (d->d_name[0] != '.')
				found = lives_in((pid_t)strtol(d->d_name, NULL, 10), &block, vma,
						 r);
			at += d->d_reclen;
		}
	share_sys_close(fd);
	return found;
}
