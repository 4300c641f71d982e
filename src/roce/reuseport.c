/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program is classic BPF, which sees the UDP payload: the word at offset 4 holds the destination QP. It
 * returns an index into the group.
 *
 * No call tells a process its index, so the program also delivers probes: a datagram that starts with
 * PROBE_MAGIC (an opcode that does not exist) goes to the socket whose index is its second word. A process
 * that receives a probe with its own cookie takes the index from it. An index past the last socket leads to
 * any socket, so the lowest index of a round counts.
 */
#include "roce/reuseport.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "roce/endpoint_types.h"
#include "util/explain.h"

#ifndef SO_DETACH_REUSEPORT_BPF
#define SO_DETACH_REUSEPORT_BPF 68
#endif

#define PROBE_MAGIC 0xfe564250u
#define PROBE_BYTES 16 /* magic, index, cookie */
#define NO_INDEX    UINT32_MAX

#define QPNS      0x1000000u
#define PROLOGUE  6
#define MAX_STEPS (2 * ROCE_REUSEPORT_RANGES + 1)

/* QPs from `first` up to the next step go to socket `index`. */
struct step {
	uint32_t first;
	uint32_t index;
};

struct program {
	struct sock_filter code[PROLOGUE + 3 * MAX_STEPS];
	uint16_t len;
};

_Static_assert(PROLOGUE + 3 * MAX_STEPS <= BPF_MAXINSNS, "the kernel limits the length");

static void emit(struct program *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	p->code[p->len++] = (struct sock_filter){ code, yes, no, k };
}

/*
 * Emits a decision tree over steps[0..count), the lower half first. A leaf takes one instruction, a comparison
 * one or two: conditional jumps reach 255 instructions, unconditional ones have no limit.
 */
static void emit_tree(struct program *p, const struct step *steps, size_t count)
{
	size_t half = count / 2, lower = 2 * half - 1;
	uint16_t jump;

	if (count == 1) {
		emit(p, BPF_RET | BPF_K, 0, 0, steps[0].index);
		return;
	}
	if (lower <= UINT8_MAX) {
		emit(p, BPF_JMP | BPF_JGE | BPF_K, lower, 0, steps[half].first);
		emit_tree(p, steps, half);
	} else {
		emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, steps[half].first);
		jump = p->len;
		emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
		emit_tree(p, steps, half);
		p->code[jump].k = p->len - jump - 1;
	}
	emit_tree(p, steps + half, count - half);
}

static void emit_program(struct program *p, const struct step *steps, size_t count)
{
	p->len = 0;
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 2, PROBE_MAGIC);
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, 4);
	emit(p, BPF_RET | BPF_A, 0, 0, 0);
	emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, 4);
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0, 0, QPNS - 1);
	assert(p->len == PROLOGUE);
	emit_tree(p, steps, count);
}

static int by_first(const void *a, const void *b)
{
	const struct roce_reuseport_range *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* Joins neighbours that lead to one socket. */
static void add_step(struct step *steps, size_t *count, uint32_t first, uint32_t index)
{
	if (*count && steps[*count - 1].index == index)
		return;
	steps[(*count)++] = (struct step){ first, index };
}

/*
 * Ranges are sorted. QPs between them go to socket `rest`; with `few`, for fewer steps, to that of the range
 * before.
 */
static int make_steps(const struct roce_reuseport_range *ranges, size_t n, uint32_t rest, bool few,
		      struct step *steps, size_t *count)
{
	uint32_t next = 0;

	*count = 0;
	for (size_t i = 0; i < n; i++) {
		if (ranges[i].first > ranges[i].last || ranges[i].last >= QPNS)
			return explain(EINVAL, "QP numbers 0x%x to 0x%x are no range below 2^24",
				       ranges[i].first, ranges[i].last);
		if (i && ranges[i].first < next)
			return explain(EINVAL,
				       "two ranges contain QP number 0x%x; a QP has one process",
				       ranges[i].first);
		if (ranges[i].first > next && (!few || !i))
			add_step(steps, count, next, rest);
		add_step(steps, count, ranges[i].first, ranges[i].index);
		next = ranges[i].last + 1;
	}
	if (next < QPNS && (!few || !n))
		add_step(steps, count, next, rest);
	return 0;
}

static int attach(int fd, struct program *p)
{
	struct sock_fprog prog;

	/* With its padding, which checkers see pass to the kernel. */
	memset(&prog, 0, sizeof(prog));
	prog.len = p->len;
	prog.filter = p->code;
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)) ? -errno
											 : 0;
}

int roce_reuseport_attach(struct roce_endpoint *ep, const struct roce_reuseport_range *ranges,
			  size_t count, uint32_t rest)
{
	struct {
		struct roce_reuseport_range ranges[ROCE_REUSEPORT_RANGES];
		struct step steps[MAX_STEPS];
		struct program program;
	} * work;
	bool few = false;
	size_t steps;
	int err;

	if (count > ROCE_REUSEPORT_RANGES)
		return explain(ENOSPC, "%zu QP ranges, at most %u", count, ROCE_REUSEPORT_RANGES);
	work = malloc(sizeof(*work));
	if (!work)
		return -ENOMEM;
	if (count)
		memcpy(work->ranges, ranges, count * sizeof(*ranges));
	qsort(work->ranges, count, sizeof(*ranges), by_first);
	do {
		err = make_steps(work->ranges, count, rest, few, work->steps, &steps);
		if (err)
			break;
		emit_program(&work->program, work->steps, steps);
		err = attach(ep->fd, &work->program);
		/* Up to Linux 6.6 net.core.optmem_max is 20480 bytes, too little for the longest program. */
		few = err == -ENOMEM && !few;
		if (err && !few)
			explain(-err, "the kernel refuses the reuseport program: %s",
				strerror(-err));
	} while (few);
	free(work);
	return err;
}

int roce_reuseport_detach(struct roce_endpoint *ep)
{
	int unused = 0; /* the kernel wants a value */

	if (setsockopt(ep->fd, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, &unused, sizeof(unused)))
		return errno == ENOENT ? 0 : -errno;
	return 0;
}

static void put32(uint8_t *to, uint32_t v)
{
	v = htobe32(v);
	memcpy(to, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t v;

	memcpy(&v, from, sizeof(v));
	return be32toh(v);
}

static int send_probes(struct roce_endpoint *ep, uint32_t first, uint32_t count)
{
	union roce_sockaddr self;
	socklen_t len = roce_addr_to_sockaddr(&ep->local, ep->port, &self);
	uint8_t probe[PROBE_BYTES];
	uint64_t cookie = atomic_fetch_add(&ep->cookie, 1) + 1;

	/* Probes of an earlier round that are still queued have another cookie. */
	atomic_store(&ep->index, -1);
	put32(probe, PROBE_MAGIC);
	memcpy(probe + 8, &cookie, 8);
	for (uint32_t i = 0; i < count; i++) {
		put32(probe + 4, first + i);
		if (sendto(ep->fd, probe, sizeof(probe), MSG_DONTWAIT, &self.any, len) < 0)
			return -errno;
	}
	return 0;
}

int roce_reuseport_probe(struct roce_endpoint *ep, uint32_t count)
{
	return send_probes(ep, 0, count);
}

bool roce_reuseport_take_probe(struct roce_endpoint *ep, const uint8_t *data, size_t len)
{
	int64_t index, now;
	uint64_t cookie;

	if (len != PROBE_BYTES || get32(data) != PROBE_MAGIC)
		return false;
	memcpy(&cookie, data + 8, 8);
	if (cookie != atomic_load(&ep->cookie))
		return true;
	index = get32(data + 4);
	now = atomic_load(&ep->index);
	while ((now < 0 || index < now) && !atomic_compare_exchange_weak(&ep->index, &now, index))
		;
	return true;
}

void roce_reuseport_read_probes(struct roce_endpoint *ep)
{
	int fd = ep->fd;
	uint8_t probe[PROBE_BYTES];
	ssize_t len;

	while ((len = recv(fd, probe, sizeof(probe), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT)) >= 0 &&
	       roce_reuseport_take_probe(ep, probe, (size_t)len) &&
	       recv(fd, probe, sizeof(probe), MSG_DONTWAIT) >= 0)
		;
}

static bool leads_here(struct roce_endpoint *ep, uint32_t index)
{
	uint32_t found;

	if (send_probes(ep, index, 1))
		return false;
	roce_reuseport_read_probes(ep);
	return !roce_reuseport_index(ep, &found);
}

int roce_reuseport_find(struct roce_endpoint *ep, uint32_t guess, uint32_t reach, uint32_t *index)
{
	for (uint32_t i = 0; i <= 2 * reach; i++) {
		uint32_t off = (i + 1) / 2, at = i % 2 ? guess + off : guess - off;

		if ((i % 2 == 0 && off > guess) || !leads_here(ep, at))
			continue;
		/* All indexes past the last socket lead to one socket, and so do all without a program. */
		if (leads_here(ep, NO_INDEX))
			return -ENOENT;
		*index = at;
		return 0;
	}
	return -ENOENT;
}

int roce_reuseport_index(const struct roce_endpoint *ep, uint32_t *index)
{
	int64_t now = atomic_load_explicit(&ep->index, memory_order_relaxed);

	if (now < 0)
		return -ENOENT;
	*index = now;
	return 0;
}
