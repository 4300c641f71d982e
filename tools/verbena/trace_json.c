/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a queue pair's track have a length, so that flows can end at them: until the next one, EVENT_NS at most.
 * Hence the newest event of each track is kept until the next one comes. Events of threads are calls, which
 * begin and end.
 */
#include "trace_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hca/device/work.h"
#include "hca/transport/hca_qp.h"
#include "roce/opcode.h"
#include "trace_flow.h"
#include "trace_read.h"
#include "util/api.h"

#define EVENT_NS 500u
#define QP_TRACK 100000000ull /* + number of the queue pair: beyond the ids of threads */
#define DEEP     8            /* calls within calls of a thread */

/* Calls that a thread is in. */
struct stack {
	struct hash_link link; /* by file and thread */
	struct {
		enum trace_kind kind;
		struct flow_at at;
		uint32_t qpn;
	} call[DEEP];
	unsigned int depth;
	bool doorbell; /* of the call; a list of requests is one doorbell */
};

struct timeline {
	FILE *to;
	const struct trace_reader *reader;
	const struct trace_cursor *thread; /* of the record */
	const struct trace_record *record;
	uint32_t pid;
	struct stack *stack;
	struct flows flows;
	struct hash stacks;
	uint64_t events;
};

/* ---- writing ---- */

static const char *separator(struct timeline *t)
{
	return t->events++ ? ",\n" : "\n";
}

static void put_time(FILE *to, uint64_t ns)
{
	fprintf(to, "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
}

/* `rest`: further members of the event, from a comma on. */
static void put_event(struct timeline *t, char phase, uint64_t ns, uint64_t track, const char *rest)
{
	fprintf(t->to, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%" PRIu64 ",\"ts\":", separator(t),
		phase, t->pid, track);
	put_time(t->to, ns);
	fprintf(t->to, "%s}", rest);
}

/* Phase: s begins a flow, t continues it, f ends it. */
static void put_flow(struct timeline *t, char phase, const char *kind, uint64_t flow,
		     struct flow_at at)
{
	char rest[128];

	if (!flow || !at.ns)
		return;
	snprintf(rest, sizeof(rest), ",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64 "%s", kind,
		 kind, flow, phase == 'f' ? ",\"bp\":\"e\"" : "");
	put_event(t, phase, at.ns, at.track, rest);
}

static void put_name(struct timeline *t, const char *what, uint64_t track, const char *name)
{
	char text[64], *out = text;

	for (size_t i = 0; i < 16 && name[i]; i++) {
		unsigned char c = (unsigned char)name[i];

		*out++ = c < 0x20 || c == '"' || c == '\\' || c > 0x7e ? '?' : (char)c;
	}
	*out = 0;
	fprintf(t->to,
		"%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%" PRIu64
		",\"name\":\"%s\",\"args\":{\"name\":\"%s\"}}",
		separator(t), t->pid, track, what, text);
}

/* ---- tracks of queue pairs ---- */

static void end_pending(struct timeline *t, struct flow_qp *q, uint64_t before_ns)
{
	uint64_t length = before_ns - q->pending_ns;
	const char *head = ",\n";

	if (!q->pending)
		return;
	if (length > EVENT_NS)
		length = EVENT_NS;
	if (!t->events++)
		head = "\n";
	fprintf(t->to, "%s%s,\"dur\":0.%03u}", head, q->pending, (unsigned int)length);
	free(q->pending);
	q->pending = NULL;
}

/* An event of the queue pair's track at the time of the record, or behind the last one. */
static struct flow_at put_qp(struct timeline *t, struct flow_qp *q, const char *name,
			     const char *args)
{
	struct flow_at at = { .ns = t->record->ns, .track = QP_TRACK + q->qpn };

	if (at.ns <= q->pending_ns)
		at.ns = q->pending_ns + 1;
	end_pending(t, q, at.ns);
	q->pending_ns = at.ns;
	if (asprintf(&q->pending,
		     "{\"ph\":\"X\",\"pid\":%u,\"tid\":%" PRIu64 ",\"ts\":%" PRIu64
		     ".%03u,\"name\":\"%s\",\"args\":{\"thread\":%u%s}",
		     t->pid, at.track, at.ns / 1000, (unsigned int)(at.ns % 1000), name,
		     t->thread->tid, args) < 0)
		q->pending = NULL;
	return at;
}

static const char *type_name(unsigned int type)
{
	static const char *const names[] = {
		[HCA_QP_RC] = "RC",   [HCA_QP_UC] = "UC",        [HCA_QP_UD] = "UD",
		[HCA_QP_RAW] = "RAW", [HCA_QP_XRC_SEND] = "XRC", [HCA_QP_XRC_RECV] = "XRC",
		[HCA_QP_DCI] = "DCI", [HCA_QP_DCT] = "DCT",
	};

	return type < array_size(names) && names[type] ? names[type] : "";
}

static void qp_created(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	char name[32];

	flow_qp_start(&t->flows, q, r->length, r->index);
	snprintf(name, sizeof(name), "QP 0x%06x %s", r->qpn, type_name(r->op));
	put_name(t, "thread_name", QP_TRACK + r->qpn, name);
	put_qp(t, q, "created", "");
}

static void state_changed(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	const char *state = r->op < array_size(names) ? names[r->op] : "?";
	char name[32], args[32];

	snprintf(name, sizeof(name), "%s %s", r->status ? "refused" : "to", state);
	snprintf(args, sizeof(args), ",\"errno\":%u", r->status);
	put_qp(t, q, name, r->status ? args : "");
	if (!r->status && r->op == HCA_QPS_RESET)
		flow_qp_reset(q);
}

static void doorbell(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	struct flow_origin origin = { 0 };
	char args[64];

	if (t->stack && t->stack->depth &&
	    t->stack->call[t->stack->depth - 1].kind == TRACE_SEND_BEGIN &&
	    t->stack->call[t->stack->depth - 1].qpn == r->qpn)
		origin.post = t->stack->call[t->stack->depth - 1].at;
	snprintf(args, sizeof(args), ",\"slot\":%u,\"slots\":%u", r->index, r->length);
	origin.doorbell = put_qp(t, q, "doorbell", args);
	for (uint32_t i = 0; q->origin && i < r->length && i <= q->send_mask; i++)
		q->origin[(r->index + i) & q->send_mask] = origin;
}

static const char *op_name(unsigned int op)
{
	static const char *const names[HCA_OP_COUNT] = {
		[HCA_OP_NOP] = "NOP",
		[HCA_OP_SEND] = "SEND",
		[HCA_OP_SEND_IMM] = "SEND with immediate",
		[HCA_OP_SEND_INV] = "SEND with invalidate",
		[HCA_OP_WRITE] = "RDMA WRITE",
		[HCA_OP_WRITE_IMM] = "RDMA WRITE with immediate",
		[HCA_OP_READ] = "RDMA READ",
		[HCA_OP_CMP_SWAP] = "COMPARE and SWAP",
		[HCA_OP_FETCH_ADD] = "FETCH and ADD",
		[HCA_OP_LOCAL_INV] = "LOCAL INVALIDATE",
		[HCA_OP_BIND_MW] = "BIND MW",
		[HCA_OP_FLUSH] = "FLUSH",
		[HCA_OP_ATOMIC_WRITE] = "ATOMIC WRITE",
		[HCA_OP_MASKED_CMP_SWAP] = "masked COMPARE and SWAP",
		[HCA_OP_MASKED_FETCH_ADD] = "masked FETCH and ADD",
	};

	return op < array_size(names) && names[op] ? names[op] : "request";
}

static void fetched(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	uint64_t flow = flow_new(&t->flows);
	struct flow_origin *origin;
	char name[64], args[128];
	struct flow_at at;

	snprintf(name, sizeof(name), "fetch %s", op_name(r->op));
	snprintf(args, sizeof(args), ",\"slot\":%u,\"bytes\":%u,\"wr_id\":%" PRIu64, r->index,
		 r->length, r->wr_id);
	at = put_qp(t, q, name, args);
	if (!q->origin)
		return;
	origin = &q->origin[r->index & q->send_mask];
	q->sends[r->count & q->send_mask] = flow;
	put_flow(t, 's', "request", flow, origin->post);
	put_flow(t, origin->post.ns ? 't' : 's', "request", flow, origin->doorbell);
	put_flow(t, origin->doorbell.ns ? 't' : 's', "request", flow, at);
	*origin = (struct flow_origin){ 0 };
}

static uint64_t send_flow(const struct flow_qp *q, uint32_t counter)
{
	return q->sends ? q->sends[counter & q->send_mask] : 0;
}

static void name_packet(const struct trace_record *r, char *name, size_t size)
{
	static const char *const naks[] = { "sequence", "invalid request", "remote access",
					    "remote operation" };
	const struct roce_opcode_info *info = roce_opcode_find(r->op);
	const char *way = r->flags & TRACE_OUT ? "out" : "in";
	bool ack = (r->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_ACK;

	if (ack && (r->status & ROCE_SYN_KIND) == ROCE_SYN_RNR)
		snprintf(name, size, "%s RNR NAK", way);
	else if (ack && r->status >= ROCE_SYN_NAK_SEQ && r->status <= ROCE_SYN_NAK_OP)
		snprintf(name, size, "%s NAK %s", way, naks[r->status - ROCE_SYN_NAK_SEQ]);
	else
		snprintf(name, size, "%s %s", way, info ? info->name : "packet");
}

static void packet(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	bool out = r->flags & TRACE_OUT;
	char name[64], args[128];
	struct flow_at at;

	name_packet(r, name, sizeof(name));
	snprintf(args, sizeof(args), ",\"peer\":\"0x%06x\",\"psn\":%u,\"bytes\":%u,\"way\":\"%s\"",
		 r->peer, r->psn, r->length, r->flags & TRACE_WIRE ? "wire" : "fabric");
	at = put_qp(t, q, name, args);
	if (r->flags & TRACE_COUNTER)
		put_flow(t, 't', "request", send_flow(q, r->index), at);
	if (out)
		put_flow(t, 's', "packet", flow_packet_out(&t->flows, r), at);
	else
		put_flow(t, 'f', "packet", flow_packet_in(&t->flows, r), at);
	if (!out)
		q->arrived = at;
}

static void direct(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	char name[64], args[64];

	snprintf(name, sizeof(name), "direct %s", op_name(r->op));
	snprintf(args, sizeof(args), ",\"bytes\":%u", r->length);
	put_flow(t, 't', "request", send_flow(q, r->index), put_qp(t, q, name, args));
}

static const char *status_name(unsigned int status)
{
	static const char *const names[] = {
		[HCA_SUCCESS] = "success",
		[HCA_LOC_LEN_ERR] = "local length error",
		[HCA_LOC_QP_OP_ERR] = "local QP operation error",
		[HCA_LOC_PROT_ERR] = "local protection error",
		[HCA_WR_FLUSH_ERR] = "flushed",
		[HCA_MW_BIND_ERR] = "memory window bind error",
		[HCA_BAD_RESP_ERR] = "bad response",
		[HCA_LOC_ACCESS_ERR] = "local access error",
		[HCA_REM_INV_REQ_ERR] = "remote invalid request",
		[HCA_REM_ACCESS_ERR] = "remote access error",
		[HCA_REM_OP_ERR] = "remote operation error",
		[HCA_RETRY_EXC_ERR] = "transport retry counter exceeded",
		[HCA_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
	};

	return status < array_size(names) && names[status] ? names[status] : "error";
}

static void completed(struct timeline *t, struct flow_qp *q, const struct trace_record *r)
{
	bool recv = r->flags & TRACE_RECV;
	struct flow_done done = { .srqn = r->psn };
	char name[96], args[96];

	if (!recv)
		done.flow = send_flow(q, r->index);
	else if (!r->psn && q->receives)
		done.flow = q->receives[r->index & q->receive_mask];
	if (r->status)
		snprintf(name, sizeof(name), "%s completion: %s", recv ? "receive" : "send",
			 status_name(r->status));
	else
		snprintf(name, sizeof(name), "%s completion", recv ? "receive" : "send");
	snprintf(args, sizeof(args), ",\"CQ\":%u,\"bytes\":%u,\"status\":%u", r->cqn, r->length,
		 r->status);
	done.at = put_qp(t, q, name, args);
	if (recv && done.flow) {
		put_flow(t, 't', "receive", done.flow, q->arrived);
		put_flow(t, 't', "receive", done.flow, done.at);
	} else if (!recv) {
		put_flow(t, 't', "request", done.flow, done.at);
	}
	flow_done_push(&t->flows, q, recv, done);
}

/* ---- tracks of threads ---- */

static struct flow_at here(const struct timeline *t)
{
	return (struct flow_at){ .ns = t->record->ns, .track = t->thread->tid };
}

static void begin(struct timeline *t, const char *name, const char *args)
{
	char rest[256];

	if (!t->stack || t->stack->depth == DEEP)
		return;
	t->stack->call[t->stack->depth].kind = t->record->kind;
	t->stack->call[t->stack->depth].at = here(t);
	t->stack->call[t->stack->depth].qpn = t->record->qpn;
	t->stack->depth++;
	snprintf(rest, sizeof(rest), ",\"name\":\"%s\",\"args\":{%s}", name, args);
	put_event(t, 'B', t->record->ns, t->thread->tid, rest);
}

/* A call whose begin the trace does not have has no end in the timeline. */
static void end(struct timeline *t, enum trace_kind kind)
{
	char rest[64] = "";

	if (!t->stack || !t->stack->depth || t->stack->call[t->stack->depth - 1].kind != kind)
		return;
	t->stack->depth--;
	if (t->record->status)
		snprintf(rest, sizeof(rest), ",\"args\":{\"errno\":%u}", t->record->status);
	put_event(t, 'E', t->record->ns, t->thread->tid, rest);
}

static void post_receive(struct timeline *t, const struct trace_record *r)
{
	struct flow_qp *q = flow_qp(&t->flows, t->thread->file, r->qpn);
	char args[128];

	snprintf(args, sizeof(args), "\"QP\":\"0x%06x\",\"requests\":%u,\"wr_id\":%" PRIu64, r->qpn,
		 r->count, r->wr_id);
	begin(t, "ibv_post_recv", args);
	for (uint32_t i = 0; q && q->receives && i < r->count; i++) {
		uint64_t flow = flow_new(&t->flows);

		q->receives[(r->index + i) & q->receive_mask] = flow;
		put_flow(t, 's', "receive", flow, here(t));
	}
}

static void polled(struct timeline *t, const struct trace_record *r)
{
	struct flow_qp *q = flow_qp(&t->flows, t->thread->file, r->qpn);
	bool recv = r->flags & TRACE_RECV;
	struct flow_done done;

	if (!q || !flow_done_pop(q, recv, &done))
		return;
	if (recv && done.srqn) {
		done.flow = flow_entry_take(&t->flows, t->thread->file, done.srqn, r->wr_id);
		put_flow(t, 't', "receive", done.flow, done.at);
	}
	put_flow(t, 'f', recv ? "receive" : "request", done.flow, here(t));
}

static void idle(struct timeline *t, const struct trace_record *r)
{
	char rest[160];

	snprintf(rest, sizeof(rest),
		 ",\"dur\":%" PRIu64 ".%03u,\"name\":\"ibv_poll_cq: nothing\",\"args\":{\"CQ\":%u,"
		 "\"polls\":%u}",
		 r->duration / 1000, (unsigned int)(r->duration % 1000), r->cqn, r->length);
	put_event(t, 'X', r->ns, t->thread->tid, rest);
}

static void call(struct timeline *t, const struct trace_record *r)
{
	char args[128] = "";

	/* A wait that was interrupted has no end of its own. */
	if (t->stack && t->stack->depth &&
	    t->stack->call[t->stack->depth - 1].kind == TRACE_WAIT_BEGIN &&
	    r->kind != TRACE_WAIT_END)
		end(t, TRACE_WAIT_BEGIN);
	switch (r->kind) {
	case TRACE_SEND_BEGIN:
		snprintf(args, sizeof(args), "\"QP\":\"0x%06x\",\"requests\":%u,\"wr_id\":%" PRIu64,
			 r->qpn, r->count, r->wr_id);
		/* Between ibv_wr_start() and ibv_wr_complete() requests are not counted. */
		begin(t, r->count ? "ibv_post_send" : "ibv_wr_start", args);
		break;
	case TRACE_SEND_END:
		end(t, TRACE_SEND_BEGIN);
		break;
	case TRACE_RECV_BEGIN:
		post_receive(t, r);
		break;
	case TRACE_RECV_END:
		end(t, TRACE_RECV_BEGIN);
		break;
	case TRACE_SRQ_BEGIN:
		snprintf(args, sizeof(args), "\"SRQ\":%u,\"requests\":%u", r->qpn, r->count);
		begin(t, "ibv_post_srq_recv", args);
		break;
	case TRACE_SRQ_END:
		end(t, TRACE_SRQ_BEGIN);
		break;
	case TRACE_POLL_BEGIN:
		snprintf(args, sizeof(args), "\"CQ\":%u", r->cqn);
		begin(t, "ibv_poll_cq", args);
		break;
	case TRACE_POLL_END:
		end(t, TRACE_POLL_BEGIN);
		break;
	case TRACE_WAIT_BEGIN:
		begin(t, "ibv_get_cq_event", args);
		break;
	case TRACE_WAIT_END:
		end(t, TRACE_WAIT_BEGIN);
		break;
	default:
		break;
	}
}

/* ---- all ---- */

static void on_queue(struct timeline *t, const struct trace_record *r)
{
	struct flow_qp *q = flow_qp(&t->flows, t->thread->file, r->qpn);

	if (!q)
		return;
	switch (r->kind) {
	case TRACE_QP:
		qp_created(t, q, r);
		break;
	case TRACE_STATE:
		state_changed(t, q, r);
		break;
	case TRACE_DOORBELL:
		doorbell(t, q, r);
		break;
	case TRACE_FETCH:
		fetched(t, q, r);
		break;
	case TRACE_PACKET:
		packet(t, q, r);
		break;
	case TRACE_DIRECT:
		direct(t, q, r);
		break;
	case TRACE_CQE:
		completed(t, q, r);
		break;
	default:
		put_qp(t, q, "destroyed", "");
		break;
	}
}

static void event(struct timeline *t, const struct trace_record *r)
{
	uint64_t flow;

	switch (r->kind) {
	case TRACE_POLLED:
		polled(t, r);
		break;
	case TRACE_IDLE:
		idle(t, r);
		break;
	case TRACE_SRQ_WR:
		flow = flow_new(&t->flows);
		flow_entry_add(&t->flows, t->thread->file, r->qpn, r->wr_id, flow);
		put_flow(t, 's', "receive", flow, here(t));
		break;
	default:
		if (r->kind < TRACE_QP)
			call(t, r);
		else if (r->kind <= TRACE_QP_GONE)
			on_queue(t, r);
		break;
	}
}

/* The calls of the thread, whose name is written with the first record. */
static struct stack *stack_of(struct timeline *t)
{
	uint64_t key = (uint64_t)t->thread->file << 32 | t->thread->tid;
	struct hash_link *link = hash_find(&t->stacks, key);
	struct stack *s = link ? container_of(link, struct stack, link) : calloc(1, sizeof(*s));

	if (!link && s) {
		hash_add(&t->stacks, &s->link, key);
		put_name(t, "thread_name", t->thread->tid, t->thread->name);
	}
	return s;
}

static void name_processes(struct timeline *t)
{
	for (size_t i = 0; i < t->reader->files.count; i++) {
		t->pid = t->reader->files.data[i].head->pid;
		put_name(t, "process_name", 0, t->reader->files.data[i].head->program);
	}
}

/* Frees everything, too. */
static void end_tracks(struct timeline *t)
{
	struct hash *h = &t->flows.qps;
	size_t chains = h->chains ? (size_t)1 << h->bits : 1;

	for (size_t i = 0; i < chains; i++)
		for (struct hash_link *l = h->chains ? h->chains[i] : h->only; l; l = l->next) {
			struct flow_qp *q = container_of(l, struct flow_qp, link);

			end_pending(t, q, UINT64_MAX);
		}
	for (size_t i = 0; i < t->reader->all.count; i++) {
		const struct trace_cursor *c = t->reader->all.data[i];
		struct hash_link *link = hash_find(&t->stacks, (uint64_t)c->file << 32 | c->tid);

		if (link) {
			hash_remove(&t->stacks, link);
			free(container_of(link, struct stack, link));
		}
	}
	hash_fini(&t->stacks);
	flow_fini(&t->flows);
}

uint64_t trace_json_write(struct trace_reader *r, FILE *to)
{
	struct timeline t = { .to = to, .reader = r };
	struct trace_cursor *thread;
	uint64_t records = 0;

	if (flow_init(&t.flows))
		return 0;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", to);
	name_processes(&t);
	while ((t.record = trace_read_next(r, &thread)) && !ferror(to)) {
		t.thread = thread;
		t.pid = r->files.data[thread->file].head->pid;
		t.stack = stack_of(&t);
		event(&t, t.record);
		records++;
	}
	end_tracks(&t);
	fputs("\n]}\n", to);
	return records;
}
