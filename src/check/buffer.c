/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/buffer.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>

#include "check/report.h"
#include "check/state.h"

#ifdef __x86_64__
#define IS_X86 true
#else
#define IS_X86 false
#endif

/* The end of the calling thread's stack. */
static _Thread_local struct {
	int thread;
	uintptr_t top;
} stack;

static void find_stack(void)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	stack.thread = (int)gettid();
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size))
		stack.top = (uintptr_t)low + size;
	pthread_attr_destroy(&attr);
}

int check_thread(void)
{
	if (unlikely(!stack.thread))
		find_stack();
	return stack.thread;
}

struct frame_search {
	uintptr_t addr;
	uintptr_t end; /* of the frame that has the address: above the return address */
};

/* Frames come from the innermost outwards, and the stack grows down. */
static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
	struct frame_search *search = arg;
	uintptr_t end = _Unwind_GetCFA(context);

	if (end <= search->addr)
		return _URC_NO_REASON;
	search->end = end;
	return _URC_END_OF_STACK;
}

/* Unwinding costs some microseconds: only for memory on the stack. */
static void note_stack(struct check_request *r, uintptr_t addr)
{
	struct frame_search search = { .addr = addr };

	if (r->frame || addr < (uintptr_t)__builtin_frame_address(0) || addr >= stack.top)
		return;
	_Unwind_Backtrace(visit, &search);
	/* On other processors the return address is not at the end of the frame. */
	if (!search.end || search.end >= stack.top || !IS_X86)
		return;
	r->frame = (const uintptr_t *)search.end - 1;
	r->returns_to = *r->frame;
}

/* A function that is called later has another return address there. */
static bool has_returned(const struct check_request *r)
{
	return r->frame && r->thread == stack.thread && *r->frame != r->returns_to;
}

void check_buffer_post(struct check_request *r, const struct ibv_sge *sge, int count,
		       const struct check_use *use, bool sum)
{
	bool all = count <= CHECK_PIECES;

	r->thread = check_thread();
	r->frame = NULL;
	r->summed = r->changed = false;
	r->count = 0;
	for (int i = 0; i < count && r->count < CHECK_PIECES; i++) {
		if (!sge[i].length)
			continue; /* 2 GiB: not worth a checksum */
		if (!check_piece_find(&sge[i], use, &r->pieces[r->count], r->place)) {
			all = false;
			continue;
		}
		note_stack(r, r->pieces[r->count].addr);
		r->count++;
	}
	if (!all || !r->count || !sum)
		return;
	/* The adapter reads the bytes next, or writes there. */
	r->summed = true;
	if (r->target)
		r->sum = check_head_sum(&r->pieces[0]);
	else
		check_bytes_sum(r->pieces, r->count, true, &r->sum);
}

enum check_verdict check_buffer_done(const struct check_request *r)
{
	uint64_t sum;
	int err;

	if (has_returned(r))
		return CHECK_RETURNED;
	if (!r->summed || r->target)
		return CHECK_CLEAN;
	err = check_bytes_sum(r->pieces, r->count, false, &sum);
	if (err == -EFAULT)
		return CHECK_UNMAPPED;
	return !err && sum != r->sum ? CHECK_CHANGED : CHECK_CLEAN;
}

void check_buffer_tell(enum check_verdict verdict, const struct check_request *r, uint32_t qpn,
		       const struct check_place *polled)
{
	static const struct {
		enum check_kind kind;
		const char *what;
	} kinds[] = {
		[CHECK_CHANGED] = { CHECK_SEND_BUFFER_CHANGED,
				    "was changed before its completion" },
		[CHECK_UNMAPPED] = { CHECK_SEND_BUFFER_UNMAPPED,
				     "was unmapped before its completion" },
		[CHECK_RETURNED] = { CHECK_STACK_BUFFER_RETURNED,
				     "is on the stack of a function that returned before its "
				     "completion" },
	};
	struct check_report report = { .stacks = { { "posted at", r->place },
						   { "completion polled at", polled } } };

	if (verdict == CHECK_CLEAN || (verdict == CHECK_CHANGED && check_queues_used(r, false)))
		return;
	report.kind = kinds[verdict].kind;
	snprintf(report.text, sizeof(report.text),
		 "The buffer of a %s %s: QP 0x%06x, wr_id 0x%llx, %u bytes at 0x%llx%s.", r->verb,
		 kinds[verdict].what, qpn, (unsigned long long)r->wr_id, r->pieces[0].length,
		 (unsigned long long)r->pieces[0].addr, r->count > 1 ? " and others" : "");
	check_report(&report);
}

/* ---- deregistration ---- */

struct in_use {
	uint32_t index;
	struct check_request request; /* that was found */
	uint32_t qpn;
};

static bool uses(const struct check_qp *q, const struct check_request *r, void *arg)
{
	struct in_use *in_use = arg;

	if (!q || !q->alive || q->lost)
		return false;
	for (unsigned int i = 0; i < r->count; i++) {
		if (r->pieces[i].lkey >> 8 != in_use->index)
			continue;
		in_use->request = *r;
		in_use->qpn = q->number;
		return true;
	}
	return false;
}

void check_mr_destroying(struct vb_mr *mr)
{
	struct in_use in_use = { .index = mr->hca->key >> 8 };
	struct check_report r = { .kind = CHECK_MR_IN_USE };

	check_mr_unmapped(mr);
	if (!check_queues_each(uses, &in_use))
		return;
	snprintf(
		r.text, sizeof(r.text),
		"A memory region (key 0x%x) is deregistered while a %s on QP 0x%06x uses it: wr_id "
		"0x%llx has not completed.",
		mr->hca->key, in_use.request.verb, in_use.qpn,
		(unsigned long long)in_use.request.wr_id);
	r.stacks[0].title = "deregistered at";
	r.stacks[0].place = check_place_here();
	r.stacks[1].title = "posted at";
	r.stacks[1].place = in_use.request.place;
	check_report(&r);
}
