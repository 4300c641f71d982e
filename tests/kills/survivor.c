/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The survivor: one process for all rounds. In each it has a queue pair with the victim and holds what comes
 * against what must come:
 *
 * - its requests complete once and in order: successes, then one exceeded retry, then flushes;
 * - a read that succeeded has the right bytes, a write that succeeded is in the victim's memory, an atomic
 *   that succeeded was done once;
 * - messages that are received are whole, in order and complete; the rest of the receives is flushed;
 * - memory does not change once the queue pair is destroyed;
 * - connections by address end by an event (survivor_cm.c), and descriptors are closed.
 */
#include "kills.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Source ports of the wire's queue pairs, opened one by one and kept. */
#define SEND_SOCKETS 32u
/* Endpoints of the wire are opened by the first packet that needs them. */
#define ENDPOINTS 8u

struct survivor {
	struct plan plan;
	int fd; /* to the victim */
	struct end *e;
	struct cm_state *cm;
	bool connected, ready, gone;
	bool through; /* all requests have completed */
	uint32_t posted, completed, succeeded;
	uint32_t received;
	uint32_t receives_posted, receives_done;
	enum ibv_wc_status first_error;
};

static uint32_t descriptors(void)
{
	DIR *dir = must(opendir("/proc/self/fd"));
	uint32_t count = 0;

	for (struct dirent *d; (d = readdir(dir));)
		count += d->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* The kinds of descriptors, for people. */
static void list_descriptors(void)
{
	char command[64];

	fflush(stderr);
	snprintf(command, sizeof(command), "ls -l /proc/%d/fd >&2", (int)getpid());
	if (system(command))
		return;
}

/* A link that goes down closes its descriptors later. */
static void check_descriptors(uint32_t most)
{
	uint64_t end_ns = now_ns() + WAIT_MS * 1000000ull;

	while (descriptors() > most) {
		poll(NULL, 0, 1);
		if (now_ns() < end_ns)
			continue;
		list_descriptors();
		rig_fail(__FILE__, __LINE__, "%u descriptors, at most %u before", descriptors(),
			 most);
	}
}

static uint64_t sum_of(const char *buf, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t word;

		memcpy(&word, buf + i, 8);
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	return sum;
}

static void open_round(struct survivor *s)
{
	struct options o = kill_options(&s->plan);

	s->e = end_open(&o);
	for (uint32_t i = 0; i < REQUESTS; i++)
		if (kind_of(i) == KIND_READ && !s->plan.survivor_posts)
			fill(s->e->buf + i * (size_t)SLOT, length_of(i), SEED_READ(i));
}

static void repost(struct survivor *s, uint64_t id)
{
	post_recv(s->e, id, (REQUESTS + id) * (size_t)SLOT, SLOT);
	s->receives_posted++;
}

/* ---- notes of the victim ---- */

static void take_note(struct survivor *s, const struct note *note)
{
	struct note mine = { .type = NOTE_ADDRESS };

	switch (note->type) {
	case NOTE_ADDRESS:
		end_connect(s->e, &note->address);
		for (uint32_t i = 0; i < RECV_SLOTS; i++)
			repost(s, i);
		s->connected = true;
		mine.address = end_address(s->e);
		send(s->fd, &mine, sizeof(mine), MSG_NOSIGNAL);
		break;
	case NOTE_READY:
		s->ready = true;
		break;
	case NOTE_PORT:
		cm_connect(s->cm, (uint16_t)note->value);
		break;
	case NOTE_THROUGH:
		mine.type = NOTE_THROUGH;
		send(s->fd, &mine, sizeof(mine), MSG_NOSIGNAL);
		break;
	}
}

static void take_notes(struct survivor *s)
{
	struct note note;
	ssize_t n;

	while (!s->gone) {
		n = recv(s->fd, &note, sizeof(note), MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n == sizeof(note))
			take_note(s, &note);
		else
			s->gone = true;
	}
}

/* ---- completions ---- */

static void take_sent(struct survivor *s, const struct ibv_wc *wc)
{
	uint32_t request = (uint32_t)wc->wr_id;
	const char *slot = s->e->buf + request * (size_t)SLOT;

	check_equal(request, s->completed);
	s->completed++;
	if (wc->status) {
		if (!s->first_error) {
			s->first_error = wc->status;
			check_equal(wc->status, IBV_WC_RETRY_EXC_ERR);
			if (s->plan.action == ACT_NONE || s->plan.action == ACT_STOP)
				check(s->gone);
		} else {
			check_equal(wc->status, IBV_WC_WR_FLUSH_ERR);
		}
		return;
	}
	check(!s->first_error);
	s->succeeded++;
	if (request >= REQUESTS)
		return;
	if (kind_of(request) == KIND_READ)
		check_filled(slot, length_of(request), SEED_READ(request));
	if (kind_of(request) == KIND_ADD)
		check_equal(*(const uint64_t *)slot, request / KINDS);
}

static void take_received(struct survivor *s, const struct ibv_wc *wc)
{
	uint32_t request = s->received / 2 * KINDS + (s->received % 2 ? KIND_WRITE_IMM : KIND_SEND);
	size_t off = (REQUESTS + wc->wr_id) * (size_t)SLOT;

	check_equal(wc->wr_id, s->receives_done % RECV_SLOTS);
	s->receives_done++;
	if (wc->status) {
		check_equal(wc->status, IBV_WC_WR_FLUSH_ERR);
		return;
	}
	s->received++;
	if (wc->opcode == IBV_WC_RECV) {
		check_equal(wc->byte_len, length_of(request));
		check_filled(s->e->buf + off, length_of(request), SEED_SENT(request));
	} else {
		check_equal(ntohl(wc->imm_data), request);
		check_filled(s->e->buf + request * (size_t)SLOT, length_of(request),
			     SEED_SENT(request));
	}
	repost(s, wc->wr_id);
}

static void poll_end(struct survivor *s)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(s->e->scq, 1, &wc) == 1)
		take_sent(s, &wc);
	while (ibv_poll_cq(s->e->rcq, 1, &wc) == 1)
		take_received(s, &wc);
}

static void post_more(struct survivor *s)
{
	const struct note through = { .type = NOTE_THROUGH };

	if (!s->plan.survivor_posts || !s->ready || s->through)
		return;
	while (!s->first_error && s->posted < REQUESTS && s->posted - s->completed < DEPTH)
		request_post(s->e, s->posted++);
	if (s->completed < s->posted || (!s->first_error && s->posted < REQUESTS))
		return;
	s->through = true;
	send(s->fd, &through, sizeof(through), MSG_NOSIGNAL);
}

/* ---- after the end of the victim ---- */

/* A request to a process that is gone exceeds its retries; those behind it are flushed. */
static void ask_the_dead(struct survivor *s)
{
	uint64_t end_ns = now_ns() + 3 * WAIT_MS * 1000000ull;

	for (int i = 0; i < 3; i++) {
		uint32_t id = s->posted++;

		check_ok(try_post(s->e,
				  &(struct work){ .id = id,
						  .op = IBV_WR_SEND,
						  .flags = IBV_SEND_SIGNALED,
						  .off = (REQUESTS + RECV_SLOTS - 1) * (size_t)SLOT,
						  .len = 16 }));
	}
	while (poll_end(s), s->completed < s->posted) {
		poll(NULL, 0, 1);
		if (now_ns() > end_ns)
			rig_fail(__FILE__, __LINE__,
				 "%u requests do not complete after the victim's end",
				 s->posted - s->completed);
	}
	check_equal(s->first_error, IBV_WC_RETRY_EXC_ERR);
}

/* The memory of a victim that was killed: what succeeded is there. */
static void check_victims_memory(struct survivor *s)
{
	uint64_t counter;
	uint32_t added = 0, may_have = 0;

	if (!s->plan.shared || !s->plan.survivor_posts)
		return;
	for (uint32_t i = 0; i < REQUESTS && i < s->posted; i++) {
		if (kind_of(i) == KIND_ADD)
			may_have++;
		if (i >= s->succeeded)
			continue;
		if (kind_of(i) == KIND_ADD)
			added++;
		if (kind_of(i) == KIND_WRITE || kind_of(i) == KIND_WRITE_IMM)
			check_filled(board->memory + i * (size_t)SLOT, length_of(i), SEED_SENT(i));
	}
	memcpy(&counter, board->memory + COUNTER, sizeof(counter));
	check(counter >= added && counter <= may_have);
}

static void check_own_memory(struct survivor *s)
{
	uint64_t counter;

	memcpy(&counter, s->e->buf + COUNTER, sizeof(counter));
	check(counter <= (s->plan.survivor_posts ? 0 : REQUESTS / KINDS));
	if (!s->plan.survivor_posts)
		for (uint32_t i = 0; i < REQUESTS; i++)
			if (kind_of(i) == KIND_READ)
				check_filled(s->e->buf + i * (size_t)SLOT, length_of(i),
					     SEED_READ(i));
}

static bool is_killed(const struct plan *plan)
{
	return plan->action == ACT_KILL || plan->action == ACT_STOP_KILL;
}

static void end_qp(struct survivor *s)
{
	if (s->connected) {
		/* In the other rounds retries take seconds. */
		if (is_killed(&s->plan))
			ask_the_dead(s);
		end_to_error(s->e);
		wait_for((poll_end(s), s->receives_done == s->receives_posted));
		check_victims_memory(s);
	}
	check_own_memory(s);
	end_drop_qp(s->e);
}

static void wait_for_cm(struct survivor *s)
{
	uint64_t end_ns = now_ns() + 3 * WAIT_MS * 1000000ull;
	char text[128];

	for (cm_progress(s->cm); !cm_is_idle(s->cm); cm_progress(s->cm)) {
		poll(NULL, 0, 1);
		if (now_ns() < end_ns)
			continue;
		cm_describe(s->cm, text, sizeof(text));
		rig_fail(__FILE__, __LINE__, "a connection does not end: %s", text);
	}
}

static void wait_a_little(struct survivor *s)
{
	struct pollfd fd = { .fd = s->fd, .events = POLLIN };

	poll(&fd, 1, 1);
}

/* The buffer stays registered up to the end of the next round, in which it must not change. */
struct left_over {
	struct end *e;
	uint64_t sum;
};

static void close_left_over(struct left_over *l)
{
	if (!l->e)
		return;
	check_equal(sum_of(l->e->buf, BYTES), l->sum);
	end_close(l->e);
	l->e = NULL;
}

static struct verdict play_round(struct survivor *s, struct left_over *left)
{
	struct verdict v;

	open_round(s);
	while (!s->gone) {
		take_notes(s);
		post_more(s);
		poll_end(s);
		cm_progress(s->cm);
		wait_a_little(s);
	}
	end_qp(s);
	wait_for_cm(s);
	close_left_over(left);
	*left = (struct left_over){ s->e, sum_of(s->e->buf, BYTES) };
	v = (struct verdict){ .succeeded = s->succeeded + s->received,
			      .failed = s->first_error != IBV_WC_SUCCESS };
	if (!is_killed(&s->plan))
		check_equal(s->plan.survivor_posts ? s->succeeded : s->received,
			    s->plan.survivor_posts ? REQUESTS : REQUESTS / KINDS * 2);
	return v;
}

void survivor_run(int control)
{
	struct survivor s = { .cm = cm_open() };
	struct left_over left = { NULL, 0 };
	uint32_t round = 0, most = 0;

	tell_mark(control, 's');
	for (;; round++) {
		struct survivor fresh = { .cm = s.cm };
		struct verdict v;

		check(is_readable(control, 10 * WAIT_MS));
		hear(control, &fresh.plan, sizeof(fresh.plan));
		if (fresh.plan.call == UINT32_MAX)
			break;
		s = fresh;
		s.fd = hear_fd(control);
		v = play_round(&s, &left);
		close(s.fd);
		/* Rounds without a kill come first. */
		if (round < CLEAN_ROUNDS)
			most = descriptors() > most ? descriptors() : most;
		else
			check_descriptors(most + ENDPOINTS + (rig_on_wire() ? SEND_SOCKETS : 0));
		tell(control, &v, sizeof(v));
	}
	close_left_over(&left);
	cm_close(s.cm);
	check_ok(ibv_close_device(rig_context()));
}
