/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The victim: a program's life in phases. It checks what it sees, too; a connection that exceeds its retries
 * while the process is stopped or slow ends its phase, and only that.
 */
#include "kills.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct victim {
	const struct plan *plan;
	int fd;
	struct end *e;
	struct ibv_mr *shared_mr; /* of the board's memory, or NULL */
	uint32_t posted, completed, received;
	bool broken; /* the connection has failed */
};

static void enter(enum phase phase)
{
	atomic_store(&board->phase, phase);
}

static void send_note(int fd, const struct note *note)
{
	check_equal(send(fd, note, sizeof(*note), MSG_NOSIGNAL), sizeof(*note));
}

static struct note get_note(int fd, enum note_type type)
{
	struct note note;

	check(is_readable(fd, 3 * WAIT_MS));
	check_equal(recv(fd, &note, sizeof(note), 0), sizeof(note));
	check_equal(note.type, type);
	return note;
}

/* In kill rounds the peer's retries end soon, so that the round does; otherwise a stop must not be noticed. */
struct options kill_options(const struct plan *plan)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BYTES;
	o.events = true;
	if (plan->action == ACT_KILL || plan->action == ACT_STOP_KILL) {
		o.timeout = 13; /* 34 ms */
		o.retry_cnt = 3;
	}
	return o;
}

void request_post(struct end *e, uint32_t request)
{
	static const enum ibv_wr_opcode opcode[KINDS] = {
		[KIND_SEND] = IBV_WR_SEND,
		[KIND_WRITE] = IBV_WR_RDMA_WRITE,
		[KIND_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[KIND_READ] = IBV_WR_RDMA_READ,
		[KIND_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	enum wr_kind kind = kind_of(request);
	size_t off = request * (size_t)SLOT;

	if (kind < KIND_READ)
		fill(e->buf + off, length_of(request), SEED_SENT(request));
	post(e, &(struct work){ .id = request,
				.op = opcode[kind],
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = length_of(request),
				.imm = request,
				.raddr = e->to.va + (kind == KIND_ADD ? COUNTER : off),
				.rkey = e->to.rkey,
				.compare = 1 });
}

static void register_memory(struct victim *v)
{
	struct options o = kill_options(v->plan);

	v->e = end_open(&o);
	if (v->plan->shared)
		v->shared_mr = must(ibv_reg_mr(v->e->pd, board->memory, BYTES, o.mr_access));
	/* Memory of malloc() is registered as programs do, and given back before the traffic. */
	for (size_t bytes = 100; bytes < 1000000; bytes *= 20) {
		void *p = must(malloc(bytes));
		struct ibv_mr *mr = must(ibv_reg_mr(v->e->pd, p, bytes, IBV_ACCESS_LOCAL_WRITE));

		memset(p, 1, bytes);
		check_ok(ibv_dereg_mr(mr));
		free(p);
	}
}

static void connect_end(struct victim *v)
{
	char *buf = v->shared_mr ? board->memory : v->e->buf;
	struct note note = { .type = NOTE_ADDRESS, .address = end_address(v->e) };

	for (uint32_t i = 0; i < REQUESTS; i++)
		if (kind_of(i) == KIND_READ)
			fill(buf + i * (size_t)SLOT, length_of(i), SEED_READ(i));
	if (v->shared_mr) {
		note.address.rkey = v->shared_mr->rkey;
		note.address.va = (uintptr_t)buf;
	}
	send_note(v->fd, &note);
	note = get_note(v->fd, NOTE_ADDRESS);
	end_connect(v->e, &note.address);
	for (uint32_t i = 0; i < RECV_SLOTS; i++)
		post_recv(v->e, i, (REQUESTS + i) * (size_t)SLOT, SLOT);
	send_note(v->fd, &(struct note){ .type = NOTE_READY });
}

/* A send or a receive that failed: nothing but the end of the connection may be its reason. */
static void broke(struct victim *v, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_WR_FLUSH_ERR && wc->status != IBV_WC_RETRY_EXC_ERR)
		rig_fail(__FILE__, __LINE__, "request %u of the victim failed with %s",
			 (unsigned int)wc->wr_id, ibv_wc_status_str(wc->status));
	check(v->plan->action != ACT_NONE && v->plan->action != ACT_STOP);
	v->broken = true;
}

static void take_sent(struct victim *v, const struct ibv_wc *wc)
{
	uint32_t request = (uint32_t)wc->wr_id;
	const char *slot = v->e->buf + request * (size_t)SLOT;

	check_equal(request, v->completed);
	v->completed++;
	if (wc->status) {
		broke(v, wc);
		return;
	}
	if (kind_of(request) == KIND_READ)
		check_filled(slot, length_of(request), SEED_READ(request));
	if (kind_of(request) == KIND_ADD)
		check_equal(*(const uint64_t *)slot, request / KINDS);
}

static void take_received(struct victim *v, const struct ibv_wc *wc)
{
	uint32_t request = v->received / 2 * KINDS + (v->received % 2 ? KIND_WRITE_IMM : KIND_SEND);
	size_t off = (REQUESTS + wc->wr_id) * (size_t)SLOT;

	if (wc->status) {
		broke(v, wc);
		return;
	}
	v->received++;
	if (wc->opcode == IBV_WC_RECV) {
		check_equal(wc->byte_len, length_of(request));
		check_filled(v->e->buf + off, length_of(request), SEED_SENT(request));
	} else {
		check_equal(ntohl(wc->imm_data), request);
		check_filled((v->shared_mr ? board->memory : v->e->buf) + request * (size_t)SLOT,
			     length_of(request), SEED_SENT(request));
	}
	post_recv(v->e, wc->wr_id, off, SLOT);
}

static bool poll_end(struct victim *v)
{
	struct ibv_wc wc;
	bool any = false;

	while (ibv_poll_cq(v->e->scq, 1, &wc) == 1) {
		take_sent(v, &wc);
		any = true;
	}
	while (ibv_poll_cq(v->e->rcq, 1, &wc) == 1) {
		take_received(v, &wc);
		any = true;
	}
	return any;
}

/* Sleeps until a completion comes, or a note. */
static void sleep_for_events(struct victim *v)
{
	struct pollfd fds[2] = { { .fd = v->e->channel->fd, .events = POLLIN },
				 { .fd = v->fd, .events = POLLIN } };
	struct ibv_cq *cq;
	void *arg;

	check_ok(ibv_req_notify_cq(v->e->scq, 0));
	check_ok(ibv_req_notify_cq(v->e->rcq, 0));
	if (poll_end(v))
		return;
	if (!poll(fds, 2, 3 * WAIT_MS))
		rig_fail(__FILE__, __LINE__, "nothing comes: %u posted, %u completed, %u received",
			 v->posted, v->completed, v->received);
	if (!(fds[0].revents & POLLIN))
		return;
	check_ok(ibv_get_cq_event(v->e->channel, &cq, &arg));
	ibv_ack_cq_events(cq, 1);
}

static void talk(struct victim *v)
{
	struct note note = { .type = NOTE_THROUGH };

	if (v->plan->survivor_posts) {
		while (recv(v->fd, &note, sizeof(note), MSG_DONTWAIT) != sizeof(note))
			if (!poll_end(v))
				sleep_for_events(v);
		check_equal(note.type, NOTE_THROUGH);
		poll_end(v);
		return;
	}
	while (v->completed < REQUESTS && !v->broken) {
		while (v->posted < REQUESTS && v->posted - v->completed < DEPTH)
			request_post(v->e, v->posted++);
		if (!poll_end(v))
			sleep_for_events(v);
	}
	send_note(v->fd, &note);
	get_note(v->fd, NOTE_THROUGH);
}

/* ---- connections by address ---- */

/* The next event; its type. A peer that was too slow, or has been stopped, may end the connection. */
static enum rdma_cm_event_type next_event(struct rdma_event_channel *channel,
					  struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	check(is_readable(channel->fd, 3 * WAIT_MS));
	check_ok(rdma_get_cm_event(channel, &event));
	type = event->event;
	*id = event->id;
	check_ok(rdma_ack_cm_event(event));
	return type;
}

static void exchange_and_migrate(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	struct rdma_event_channel *other = must(rdma_create_event_channel());
	struct rdma_cm_id *of_event;
	char word[16] = "from the victim";
	uint64_t end_ns;
	struct ibv_wc wc;

	check_ok(rdma_post_send(id, NULL, word, sizeof(word), NULL,
				IBV_SEND_INLINE | IBV_SEND_SIGNALED));
	end_ns = now_ns() + 3 * WAIT_MS * 1000000ull;
	while (ibv_poll_cq(id->send_cq, 1, &wc) != 1) {
		check(now_ns() < end_ns);
		poll(NULL, 0, 1);
	}
	enter(PHASE_MIGRATE);
	check_ok(rdma_migrate_id(id, other));
	/* The peer may have ended the connection by itself; then its event is there. */
	rdma_disconnect(id);
	check_equal(next_event(other, &of_event), RDMA_CM_EVENT_DISCONNECTED);
	check_ok(rdma_migrate_id(id, channel));
	rdma_destroy_event_channel(other);
}

static void make_cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = 32 },
	};

	check_ok(rdma_create_qp(id, NULL, &attr));
}

static void connect_by_address(struct victim *v)
{
	struct rdma_event_channel *channel = must(rdma_create_event_channel());
	struct rdma_cm_id *listener = NULL, *id, *of_event;

	if (v->plan->victim_listens) {
		listener = listen_at(channel, 4);
		send_note(v->fd, &(struct note){ .type = NOTE_PORT, .value = port_of(listener) });
		check_equal(next_event(channel, &id), RDMA_CM_EVENT_CONNECT_REQUEST);
		make_cm_qp(id);
		check_ok(rdma_accept(id, NULL));
	} else {
		id = route_to(channel, board->port);
		make_cm_qp(id);
		check_ok(rdma_connect(id, NULL));
	}
	check_equal(next_event(channel, &of_event), RDMA_CM_EVENT_ESTABLISHED);
	exchange_and_migrate(channel, id);
	destroy(id);
	if (listener)
		destroy(listener);
	rdma_destroy_event_channel(channel);
}

void victim_run(int fd, const struct plan *plan)
{
	struct victim v = { .plan = plan, .fd = fd };

	enter(PHASE_JOIN);
	rig_context();
	enter(PHASE_REGISTER);
	register_memory(&v);
	enter(PHASE_CONNECT);
	connect_end(&v);
	enter(PHASE_TRAFFIC);
	talk(&v);
	enter(PHASE_CM);
	connect_by_address(&v);
	enter(PHASE_LEAVE);
	end_drop_qp(v.e);
	if (v.shared_mr)
		check_ok(ibv_dereg_mr(v.shared_mr));
	end_close(v.e);
	check_ok(ibv_close_device(rig_context()));
}
