/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/inspect/dump.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/service.h"
#include "hca/hca.h"
#include "hca/inspect/query.h"
#include "hca/inspect/story_text.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/window.h"
#include "util/explain.h"
#include "util/file_limit.h"
#include "util/mix.h"

/* ---- the text ---- */

static void write_dump(FILE *to, const char *reason)
{
	size_t count;
	struct hca_story *story = query_self(&count);

	fprintf(to, "verbena dump: %s (pid %d): %zu queue pair%s; %s\n",
		program_invocation_short_name, (int)getpid(), count, count == 1 ? "" : "s", reason);
	for (size_t i = 0; i < count; i++) {
		story_facts(to, &story[i]);
		if (!story_is_stuck(&story[i]))
			continue;
		fputs("  why: ", to);
		story_tell(to, &story[i]);
	}
	free(story);
}

#define PATIENCE_NS 200000000u

/* Whole lines of up to PIPE_BUF bytes, which a pipe that has room takes at once, and in one piece. */
static size_t piece_of(const char *text, size_t len)
{
	const char *end;

	if (len <= PIPE_BUF)
		return len;
	end = memrchr(text, '\n', PIPE_BUF);
	return end ? (size_t)(end - text) + 1 : PIPE_BUF;
}

/*
 * On the service thread, which must not wait for the reader of a pipe: what it does not take in time is lost. A file
 * has room for all, and dumps of several processes do not mix in it.
 */
static void write_out(const char *text, size_t len)
{
	struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
	uint64_t now_ns = hca_now_ns(), end_ns = now_ns + PATIENCE_NS;
	struct stat st;
	size_t n;

	if (!fstat(out.fd, &st) && S_ISREG(st.st_mode)) {
		file_append(out.fd, text, len);
		return;
	}
	for (; len && now_ns < end_ns; text += n, len -= n, now_ns = hca_now_ns()) {
		n = piece_of(text, len);
		if (poll(&out, 1, (int)((end_ns - now_ns + 999999) / 1000000)) != 1 ||
		    !(out.revents & POLLOUT) || file_append(out.fd, text, n))
			return;
	}
}

static void dump(const char *reason)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);

	if (!memory)
		return;
	write_dump(memory, reason);
	if (!fclose(memory))
		write_out(text, len);
	free(text);
}

/* ---- the signal ---- */

static void handle(int number)
{
	const uint64_t one = 1;
	int saved = errno, fd = atomic_load(&hca.inspect.dump.fd);

	/* A full counter is a dump that is to come. */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		errno = saved;
	errno = saved;
}

static void signal_came(void *arg, uint32_t events)
{
	uint64_t count;

	if (read(atomic_load(&hca.inspect.dump.fd), &count, sizeof(count)) > 0)
		dump("asked for by a signal");
}

/* A name without SIG, or a number; 0: neither. */
static int signal_of(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (!*end && number > 0 && number < NSIG)
		return (int)number;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name && !strcmp(name, text))
			return i;
	}
	return 0;
}

static void watch_signal(const char *name)
{
	struct sigaction old,
		action = { .sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK };
	int number = signal_of(name);

	if (!number || sigaction(number, NULL, &old)) {
		explain_note("VERBENA_DUMP_ON is the name of a signal, such as USR1, not '%s'",
			     name);
		return;
	}
	/* The program's own handler stays; and one that it sets later takes the place of this one. */
	if (old.sa_handler != SIG_DFL) {
		explain_note("no dump on %s: the program handles or ignores the signal", name);
		return;
	}
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static void listen_for_signal(struct dump_state *d)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return;
	if (fabric_service_add_fd(fd, EPOLLIN, signal_came, NULL)) {
		close(fd);
		return;
	}
	atomic_store(&d->fd, fd);
	if (!atomic_exchange(&d->installed, true))
		watch_signal(getenv("VERBENA_DUMP_ON"));
}

void dump_start(void)
{
	struct dump_state *d = &hca.inspect.dump;
	const char *on = getenv("VERBENA_DUMP_ON"), *after = getenv("VERBENA_DUMP_AFTER");

	if (on && *on)
		listen_for_signal(d);
	if (after && *after)
		d->limit_ns = strtoull(after, NULL, 10) * 1000000000u;
	if (d->limit_ns)
		fabric_service_set_deadline(hca_now_ns());
}

void dump_forked(void)
{
	int fd = atomic_exchange(&hca.inspect.dump.fd, -1);

	if (fd >= 0)
		close(fd);
}

/* ---- waits ---- */

struct look {
	uint64_t marks; /* changes with anything that moves */
	bool awaited;
};

static void look_at(struct qp *qp, void *arg)
{
	struct look *look = arg;
	const struct hca_cq *cqs[] = { qp->pub.send_cq, qp->pub.recv_cq };
	uint32_t receives = 0;
	uint64_t marks;

	fabric_lock(&qp->pub.lock);
	if (qp->dying || qp->guest || !qp->pub.ctx || qp->pub.state == HCA_QPS_ERR) {
		fabric_unlock(&qp->pub.lock);
		return;
	}
	if (qp->pub.rq.size)
		receives = (uint16_t)(qp->pub.format->rq_producer(&qp->pub.rq) - qp->resp.rq_taken);
	marks = mix64(qp->pub.qpn) ^ mix64((uint64_t)qp->req.next << 32 | qp->comp.una);
	marks = mix64(marks ^ ((uint64_t)qp->window.head << 32 | qp->resp.epsn));
	marks = mix64(marks ^ ((uint64_t)qp->resp.rq_taken << 32 | receives));
	look->awaited |= receives || !window_is_empty(&qp->window) ||
			 (qp->pub.sq.size && qp_send_is_posted(qp));
	for (size_t i = 0; i < array_size(cqs); i++)
		if (cqs[i])
			marks = mix64(marks ^ cqs[i]->format->cq_consumer(cqs[i]));
	fabric_unlock(&qp->pub.lock);
	look->marks += marks;
}

/* Four times within the limit. */
static void look_for_movement(struct dump_state *d, uint64_t now_ns)
{
	struct look look = { 0 };
	char reason[64];

	d->next_ns = now_ns + d->limit_ns / 4;
	qp_for_each(look_at, &look);
	if (look.marks != d->marks || !look.awaited) {
		d->marks = look.marks;
		d->since_ns = now_ns;
		d->told = false;
		return;
	}
	if (d->told || now_ns - d->since_ns < d->limit_ns)
		return;
	d->told = true;
	snprintf(reason, sizeof(reason), "nothing has moved for %llu s",
		 (unsigned long long)((now_ns - d->since_ns) / 1000000000));
	dump(reason);
}

uint64_t dump_run(uint64_t now_ns)
{
	struct dump_state *d = &hca.inspect.dump;

	if (likely(!d->limit_ns))
		return UINT64_MAX;
	if (now_ns >= d->next_ns)
		look_for_movement(d, now_ns);
	return d->next_ns;
}
