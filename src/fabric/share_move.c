/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves pages between private memory and the memfd, in place, losing no write of any thread.
 *
 *	in:  block writers; copy what is there into the memfd; move the private mapping aside
 *	     ("park" it); map the memfd in its place; wake the writers; empty the parked mapping
 *	out: block writers; copy the memfd's pages to the parked mapping; move that back; wake
 *
 * The private mapping is parked, not unmapped, so that the program gets back exactly what it had:
 * the kernel merges it with its neighbours again, and it keeps its attributes (madvise, mbind,
 * names). Where every access can be blocked, parking comes before copying: then the copy reads
 * memory that is not blocked, and cannot wait for itself when a page was reclaimed meanwhile.
 * Otherwise the kernel does the copy (pwrite), for which such a page is an error.
 *
 * Ranges are moved in chunks, so that no thread waits long and the copy stays in the caches.
 */
#include "fabric/share_move.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/share_maps.h"
#include "fabric/share_sys.h"
#include "fabric/share_threads.h"
#include "fabric/share_uffd.h"

#define CHUNK      (4u << 20)
#define CHUNK_USER (512u << 10)
#define WINDOW     1024u /* pages */
#define PARK_BIT   (1ull << 45)

/* Newer than the headers of some distributions. */
#define ADVICE_POPULATE_READ  22
#define ADVICE_POPULATE_WRITE 23
#define ADVICE_COLD           20
#define REMAP_MOVE            (MREMAP_MAYMOVE | MREMAP_FIXED)
#define REMAP_LEAVE_EMPTY     (REMAP_MOVE | 4)

int share_move_begin_in(struct share_state *state, enum share_method *method)
{
	unsigned int threads = share_threads_count();

	if (threads == 1)
		*method = SHARE_ALONE;
	else if (!share_uffd_ready(state))
		*method = state->uffd_kernel ? SHARE_BLOCK_ALL : SHARE_BLOCK_USER;
	else if (threads && share_threads_stop(&state->threads, threads))
		*method = SHARE_ALONE;
	else
		return -EOPNOTSUPP;
	return 0;
}

enum share_method share_move_begin_out(struct share_state *state)
{
	unsigned int threads = share_threads_count();

	if (threads == 1)
		return SHARE_ALONE;
	if (!share_uffd_ready(state) && state->uffd_shmem)
		return state->uffd_kernel ? SHARE_BLOCK_ALL : SHARE_BLOCK_USER;
	if (threads && share_threads_stop(&state->threads, threads))
		return SHARE_ALONE;
	return SHARE_UNBLOCKED;
}

void share_move_end(struct share_state *state, enum share_method method)
{
	if (method == SHARE_ALONE)
		share_threads_resume(&state->threads);
}

/* ---- stretches of the memfd that hold data ---- */

/*
 * SEEK_DATA finds the next page that holds data at once, but SEEK_HOLE walks all pages of a stretch,
 * however long. So the end of a stretch comes from mincore(), a window at a time; pages that are
 * swapped out, which mincore() does not report, are found one by one.
 */
struct data {
	struct share_state *state;
	uintptr_t start; /* where the file is mapped from `offset` on */
	uint64_t offset;
	uint64_t at, end;  /* still to be looked at */
	uint64_t from, to; /* the window in the scratch buffer */
	uint64_t most;     /* longest stretch to return */
};

static void data_begin(struct data *data, struct share_state *state, uintptr_t start, size_t len,
		       uint64_t offset)
{
	*data = (struct data){
		.state = state,
		.start = start,
		.offset = offset,
		.at = offset,
		.end = offset + len,
		.most = UINT64_MAX,
	};
}

static void data_look(struct data *data)
{
	size_t page = data->state->page;
	uintptr_t addr = data->start + (data->at - data->offset);

	data->from = data->at;
	data->to = data->at + (uint64_t)WINDOW * page;
	if (data->to > data->end)
		data->to = data->end;
	if (share_sys_mincore(addr, data->to - data->from, data->state->scratch))
		memset(data->state->scratch, 0, (data->to - data->from) / page);
}

/* The next stretch, in offsets of the file. */
static bool data_next(struct data *data, uint64_t *from, uint64_t *to)
{
	size_t page = data->state->page;
	const char *there = data->state->scratch;
	int64_t first;

	if (data->at >= data->end)
		return false;
	first = share_sys_lseek(data->state->fd, data->at, SEEK_DATA);
	if (first < 0 || (uint64_t)first >= data->end) {
		data->at = data->end;
		return false;
	}
	data->at = *from = (uint64_t)first;
	do {
		if (data->at < data->from || data->at >= data->to)
			data_look(data);
		/* The first page holds data in any case. */
		if (data->at != *from && !(there[(data->at - data->from) / page] & 1))
			break;
		data->at += page;
	} while (data->at < data->end && data->at - *from < data->most);
	*to = data->at;
	return true;
}

static void punch(const struct share_state *state, uint64_t offset, size_t len)
{
	if (!state->keep_file)
		share_sys_punch(state->fd, offset, len);
}

/*
 * Locked memory (mlock) stays locked. MADV_COLD, which the kernel refuses for such memory, tells
 * without a look at /proc. Memory is unlocked while it moves, because mremap() of a locked mapping
 * leaves the count of locked pages wrong.
 */
static bool is_locked(const struct share_state *state, uintptr_t start)
{
	return share_sys_madvise(start, state->page, ADVICE_COLD) == -EINVAL;
}

/* ---- in ---- */

static int copy_in(struct share_state *state, struct share_scan *scan, uintptr_t from, size_t len,
		   uint64_t offset)
{
	uintptr_t at, end;
	int more;

	scan->max = 0;
	share_scan_begin(scan, from, from + len);
	while ((more = share_scan_next(scan, &at, &end)) > 0)
		while (at < end) {
			int64_t n = share_sys_pwrite(state->fd, at, end - at, offset + (at - from));

			/* The page was reclaimed (MADV_FREE): it reads as zeros, as the hole does. */
			if (n == -EFAULT)
				n = (int64_t)state->page;
			else if (n <= 0)
				return n == -ENOSPC || !n ? -ENOMEM : (int)n;
			else
				state->stats.bytes_in += (uint64_t)n;
			at += (uintptr_t)n;
		}
	return more;
}

static int park(uintptr_t start, size_t len, uintptr_t to)
{
	uintptr_t r = share_sys_mremap(start, len, REMAP_LEAVE_EMPTY, to);

	/* Too many mappings, or too old a kernel. */
	return share_sys_failed(r) ? -EOPNOTSUPP : 0;
}

/* Maps the pages that were there before, to save a fault for each. */
static void populate(struct share_scan *scan, uintptr_t start, size_t len, uintptr_t parked)
{
	uintptr_t from, to;

	share_scan_begin(scan, parked, parked + len);
	while (share_scan_next(scan, &from, &to) > 0)
		share_sys_madvise(start + (from - parked), to - from, ADVICE_POPULATE_READ);
}

static int chunk_in(struct share_state *state, enum share_method method, struct share_scan *scan,
		    int prot, uintptr_t start, size_t len, uintptr_t parked)
{
	int64_t stray = share_sys_lseek(state->fd, start, SEEK_DATA);
	uintptr_t r;
	int err;

	/* A peer wrote to the file where nothing was shared. */
	if (stray >= 0 && (uint64_t)stray < start + len)
		punch(state, start, len);
	if (method != SHARE_ALONE &&
	    share_uffd_block(state, start, len, method == SHARE_BLOCK_USER))
		return -EOPNOTSUPP;
	if (method == SHARE_BLOCK_ALL) {
		err = park(start, len, parked);
		if (err)
			goto unblock;
		err = copy_in(state, scan, parked, len, start);
	} else {
		err = copy_in(state, scan, start, len, start);
		if (!err)
			err = park(start, len, parked);
		if (err)
			goto unblock;
	}
	if (err)
		goto unpark;
	r = share_sys_mmap(start, len, prot, MAP_SHARED | MAP_FIXED, state->fd, start);
	if (share_sys_failed(r)) {
		err = -EOPNOTSUPP;
		goto unpark;
	}
	if (method != SHARE_ALONE)
		share_uffd_wake(state, start, len);
	populate(scan, start, len, parked);
	/* The pages have been copied and are freed; the mapping stays. */
	share_sys_madvise(parked, len, MADV_DONTNEED);
	return 0;
unpark:
	share_sys_mremap(parked, len, REMAP_MOVE, start);
	if (method != SHARE_ALONE)
		share_uffd_wake(state, start, len);
	punch(state, start, len);
	return err;
unblock:
	if (method != SHARE_ALONE)
		share_uffd_unblock(state, start, len);
	punch(state, start, len);
	return err;
}

/* Address space to park in, at a fixed distance where possible, so that neighbours merge. */
static uintptr_t reserve_parking(uintptr_t start, size_t len)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	uintptr_t mirror = start ^ PARK_BIT, r;

	r = share_sys_mmap(mirror, len, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
	if (!share_sys_failed(r) && r != mirror) {
		share_sys_munmap(r, len);
		r = (uintptr_t)-EEXIST;
	}
	return share_sys_failed(r) ? share_sys_mmap(0, len, PROT_NONE, flags, -1, 0) : r;
}

/* As far as `limit` bytes of pages that hold data; other threads may touch more meanwhile. */
static uintptr_t chunk_end_in(struct share_scan *scan, uintptr_t start, uintptr_t end, size_t limit)
{
	uintptr_t from, to;
	size_t sum = 0;

	if (end - start <= limit)
		return end;
	scan->max = limit / scan->state->page;
	share_scan_begin(scan, start, end);
	while (share_scan_next(scan, &from, &to) > 0) {
		if (sum + (to - from) >= limit)
			return from + (limit - sum);
		sum += to - from;
	}
	return end;
}

int share_move_in(struct share_state *state, enum share_method method, const struct share_vma *vma,
		  uintptr_t start, uintptr_t end, uintptr_t *done, uintptr_t *parked)
{
	size_t limit = method == SHARE_BLOCK_USER ? CHUNK_USER : CHUNK;
	uintptr_t at = start, chunk;
	struct share_scan scan;
	bool locked;
	int err;

	*done = start;
	*parked = reserve_parking(start, end - start);
	if (share_sys_failed(*parked))
		return -EOPNOTSUPP;
	locked = is_locked(state, start);
	if (locked)
		share_sys_munlock(start, end - start);
	err = share_scan_open(&scan, state);
	while (!err && at < end) {
		chunk = chunk_end_in(&scan, at, end, limit);
		err = chunk_in(state, method, &scan, vma->prot, at, chunk - at,
			       *parked + (at - start));
		if (!err)
			at = chunk;
	}
	if (scan.fd >= 0)
		share_scan_close(&scan);
	if (locked)
		share_sys_mlock(start, end - start);
	if (err)
		share_sys_munmap(*parked + (at - start), end - at);
	*done = at;
	return err;
}

/* ---- out ---- */

static int copy_out(struct share_state *state, uintptr_t start, size_t len, uint64_t offset,
		    uintptr_t to)
{
	uint64_t from, end;
	struct data data;

	data_begin(&data, state, start, len, offset);
	while (data_next(&data, &from, &end)) {
		/* One fault per page would take twice as long. */
		if (end - from > state->page)
			share_sys_madvise(to + (from - offset), end - from, ADVICE_POPULATE_WRITE);
		while (from < end) {
			int64_t n =
				share_sys_pread(state->fd, to + (from - offset), end - from, from);

			if (n <= 0)
				return n ? (int)n : -EIO;
			state->stats.bytes_out += (uint64_t)n;
			from += (uint64_t)n;
		}
	}
	return 0;
}

/* Moves len bytes of one or several mappings; returns how many were moved. */
static size_t move_mappings(const struct share_state *state, uintptr_t from, size_t len,
			    uintptr_t to)
{
	uintptr_t r = share_sys_mremap(from, len, REMAP_MOVE, to);
	size_t half = len / 2 & ~(state->page - 1), n;

	if (!share_sys_failed(r))
		return len;
	/* -EFAULT: several mappings, of which mremap() moves only one at a time. */
	if (r != (uintptr_t)-EFAULT || !half)
		return 0;
	n = move_mappings(state, from, half, to);
	return n < half ? n : half + move_mappings(state, from + half, len - half, to + half);
}

/* Writes to every page without changing it, atomically with writes of other threads. */
__attribute__((no_sanitize("thread", "address"))) static void touch(uintptr_t start, uintptr_t end,
								    size_t page)
{
	for (uintptr_t at = start; at < end; at += page)
		__atomic_fetch_or((uint8_t *)at, 0, __ATOMIC_RELAXED);
}

/*
 * For when threads cannot be blocked: a private mapping of the memfd has the same contents, and the
 * kernel copies each page on the first write to it, which is ours. Then the memfd's pages are freed.
 */
static int switch_private(struct share_state *state, uintptr_t start, size_t len, uint64_t offset,
			  int prot, uintptr_t parked)
{
	uintptr_t r = share_sys_mmap(start, len, prot, MAP_PRIVATE | MAP_FIXED, state->fd, offset);
	uint64_t from, end;
	struct data data;

	if (share_sys_failed(r))
		return -ENOMEM;
	data_begin(&data, state, start, len, offset);
	while (data_next(&data, &from, &end)) {
		uintptr_t at = start + (from - offset);

		if (share_sys_madvise(at, end - from, ADVICE_POPULATE_WRITE))
			touch(at, at + (end - from), state->page);
		state->stats.bytes_out += end - from;
	}
	if (parked)
		share_sys_munmap(parked, len);
	punch(state, offset, len);
	return 0;
}

/* *moved: bytes that became private. All or none, unless the kernel is out of mappings. */
static int chunk_out(struct share_state *state, enum share_method method, uintptr_t start,
		     size_t len, uint64_t offset, int prot, uintptr_t parked, size_t *moved)
{
	const int rw = PROT_READ | PROT_WRITE;
	bool block = method != SHARE_ALONE && (prot & PROT_WRITE);
	uintptr_t room = parked;
	int err;

	if (block && (method == SHARE_UNBLOCKED || share_uffd_block(state, start, len, true))) {
		err = switch_private(state, start, len, offset, prot, parked);
		*moved = err ? 0 : len;
		return err;
	}
	*moved = 0;
	if (!room)
		room = share_sys_mmap(0, len, rw, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	err = share_sys_failed(room) ? -ENOMEM : share_sys_mprotect(room, len, rw);
	if (!err)
		err = copy_out(state, start, len, offset, room);
	if (!err && prot != rw)
		err = share_sys_mprotect(room, len, prot);
	if (!err) {
		*moved = move_mappings(state, room, len, start);
		err = *moved == len ? 0 : -ENOMEM;
	}
	if (block) {
		share_uffd_wake(state, start, *moved);
		if (*moved < len)
			share_uffd_unblock(state, start + *moved, len - *moved);
	}
	if (*moved)
		punch(state, offset, *moved);
	if (err && parked)
		share_sys_madvise(parked + *moved, len - *moved, MADV_DONTNEED);
	else if (err && !share_sys_failed(room))
		share_sys_munmap(room + *moved, len - *moved);
	return err;
}

/* Bytes to move at once, of which at most `limit` hold data. */
static size_t chunk_out_len(struct share_state *state, uintptr_t start, size_t len, uint64_t offset,
			    size_t limit)
{
	uint64_t from, to;
	struct data data;
	size_t sum = 0;

	if (len <= limit)
		return len;
	data_begin(&data, state, start, len, offset);
	data.most = limit;
	while (data_next(&data, &from, &to)) {
		if (sum + (to - from) >= limit)
			return from + (limit - sum) - offset;
		sum += to - from;
	}
	return len;
}

int share_move_out(struct share_state *state, enum share_method method, uintptr_t start,
		   uintptr_t end, uint64_t offset, int prot, uintptr_t parked, uintptr_t *done)
{
	size_t limit = method == SHARE_BLOCK_USER ? CHUNK_USER : CHUNK, moved;
	bool locked = is_locked(state, start);
	int err = 0;

	*done = start;
	while (!err && *done < end) {
		uint64_t at = offset + (*done - start);
		size_t len = chunk_out_len(state, *done, end - *done, at, limit);

		err = chunk_out(state, method, *done, len, at, prot,
				parked ? parked + (*done - start) : 0, &moved);
		*done += moved;
	}
	if (locked)
		share_sys_mlock(start, *done - start);
	return err;
}
