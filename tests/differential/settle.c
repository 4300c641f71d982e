/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that was accepted and has a completion is waited for, unless its queue pair does not work on it (RTR, SQD).
 * What has no completion of its own (a datagram on its way to the receiver, the other end's flush) is behind a few
 * messages on a connection of ours: adapters serve queue pairs in turn, so that it is done when these are.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "settle.h"
#include "world.h"

enum {
	LIMIT_MS = 15000,
	STUCK_MS = 200,
	PINGS = 2,
	NAP_US = 1000,
	LONGEST_NAP_US = 10000,
	BLOCK = 1024,
	MOST_LINES = 512,
	LINE = 160
};

/* The connection of the waits. */
static struct {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
} own;

/* Completions and events of one wait, to be sorted. */
static char lines[MOST_LINES][LINE];
static int line_count;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void give_up(const char *what)
{
	trace("broken: %s", what);
	fflush(stdout);
	_exit(3);
}

static void connect_own(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS))
		give_up("INIT");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = world.gid, .hop_limit = 64 } },
	};
	attr.ah_attr.grh.sgid_index = (uint8_t)world.gid_index;
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		give_up("RTR");
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 6, .rnr_retry = 7
	};
	if (ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		give_up("RTS");
}

void settle_open(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	int i;

	own.pd = ibv_alloc_pd(world.ctx);
	own.cq = ibv_create_cq(world.ctx, 32, NULL, NULL, 0);
	if (!own.pd || !own.cq)
		give_up("objects of the waits");
	init.send_cq = init.recv_cq = own.cq;
	for (i = 0; i < 2; i++) {
		own.qp[i] = ibv_create_qp(own.pd, &init);
		if (!own.qp[i])
			give_up("queue pairs of the waits");
	}
	for (i = 0; i < 2; i++)
		connect_own(own.qp[i], own.qp[!i]->qp_num);
}

/* One message from `from` to the other end, and both completions. */
static void ping(int from)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	struct ibv_wc wc;
	int n, got = 0;
	long end = now_ms() + 60000;

	if (ibv_post_recv(own.qp[!from], &recv, &bad_recv) ||
	    ibv_post_send(own.qp[from], &send, &bad))
		give_up("a message of the waits");
	while (got < 2) {
		n = ibv_poll_cq(own.cq, 1, &wc);
		if (n < 0 || (n == 1 && wc.status) || now_ms() > end)
			give_up("completions of the waits");
		got += n;
	}
}

static void pass_time(void)
{
	int i;

	for (i = 0; i < PINGS; i++)
		ping(i & 1);
	usleep(NAP_US);
	for (i = 0; i < PINGS; i++)
		ping(i & 1);
}

/* Events and completions: kept as lines, so that they can be sorted. */

static char *new_line(void)
{
	if (line_count == MOST_LINES)
		give_up("too many completions");
	return lines[line_count++];
}

static const char *const opcodes[] = {
	[IBV_WC_SEND] = "SEND",           [IBV_WC_RDMA_WRITE] = "RDMA_WRITE",
	[IBV_WC_RDMA_READ] = "RDMA_READ", [IBV_WC_COMP_SWAP] = "COMP_SWAP",
	[IBV_WC_FETCH_ADD] = "FETCH_ADD", [IBV_WC_BIND_MW] = "BIND_MW",
	[IBV_WC_LOCAL_INV] = "LOCAL_INV",
};

static const char *opcode_name(unsigned int opcode)
{
	if (opcode == IBV_WC_RECV)
		return "RECV";
	if (opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return "RECV_RDMA_WITH_IMM";
	return opcode < sizeof opcodes / sizeof *opcodes && opcodes[opcode] ? opcodes[opcode] : "?";
}

static const char *status_name(int status)
{
	static const char *const names[] = {
		"SUCCESS",    "LOC_LEN", "LOC_QP_OP", "LOC_EEC_OP",    "LOC_PROT",
		"WR_FLUSH",   "MW_BIND", "BAD_RESP",  "LOC_ACCESS",    "REM_INV_REQ",
		"REM_ACCESS", "REM_OP",  "RETRY_EXC", "RNR_RETRY_EXC",
	};

	return status >= 0 && status < (int)(sizeof names / sizeof *names) ? names[status] : "?";
}

static const char *key_name(uint32_t key)
{
	static char name[16];
	int i;

	for (i = 0; i < MOST_OBJECTS; i++)
		if (world.mw[i] && (world.mw_key[i] == key || world.mw[i]->rkey == key)) {
			snprintf(name, sizeof name, "mw%d", i);
			return name;
		}
	for (i = 0; i < MOST_OBJECTS; i++)
		if (world.mr[i] && world.mr[i]->rkey == key) {
			snprintf(name, sizeof name, "mr%d", i);
			return name;
		}
	return "other";
}

static void note_success(char *line, int used, const struct ibv_wc *wc, const struct end *end)
{
	bool recv = wc->opcode & IBV_WC_RECV;

#define PUT(...) (used += snprintf(line + used, (size_t)(LINE - used), __VA_ARGS__))
	PUT(" %s", opcode_name(wc->opcode));
	if (recv || wc->opcode == IBV_WC_RDMA_READ || wc->opcode == IBV_WC_COMP_SWAP ||
	    wc->opcode == IBV_WC_FETCH_ADD)
		PUT(" len=%u", wc->byte_len);
	if (!recv)
		return;
	PUT(" flags=0x%x", wc->wc_flags);
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		PUT(" imm=0x%x", ntohl(wc->imm_data));
	if (wc->wc_flags & IBV_WC_WITH_INV)
		PUT(" inv=%s", key_name(wc->invalidated_rkey));
	if (end && end->type == IBV_QPT_UD)
		PUT(" src=qp%d pkey=%u", world_find_qp(wc->src_qp), wc->pkey_index);
#undef PUT
}

static void note_completion(int cq, const struct ibv_wc *wc)
{
	int number = world_find_qp(wc->qp_num), used;
	struct end *end = number < 0 ? NULL : &world.end[number];
	struct pending *p = wc->wr_id < MOST_IDS ? &world.pending[wc->wr_id] : NULL;
	char *line = new_line();

	used = snprintf(line, LINE, "cq%d qp%d %s wr=%llu %s", cq, number,
			p && p->state == WR_RECV   ? "recv"
			: p && p->state == WR_SEND ? "send"
						   : "none",
			(unsigned long long)wc->wr_id, status_name(wc->status));
	if (wc->status == IBV_WC_SUCCESS) {
		note_success(line, used, wc, end);
		if (p && p->grh && end && end->type == IBV_QPT_UD && wc->opcode & IBV_WC_RECV)
			memset(world.arena + p->grh - 1, 0xee, GRH_BYTES);
	}
	if (p)
		memset(p, 0, sizeof *p);
}

/* By queue, queue pair and direction, and in the order of arrival within these. */
static int order(const char *a, const char *b)
{
	const char *enda = strstr(a, " wr="), *endb = strstr(b, " wr=");

	if (!enda || !endb)
		return enda ? 1 : endb ? -1 : strcmp(a, b);
	if (enda - a != endb - b)
		return enda - a < endb - b ? -1 : 1;
	return strncmp(a, b, (size_t)(enda - a));
}

static void flush_lines(void)
{
	char keep[LINE];
	int i, j;

	for (i = 1; i < line_count; i++) {
		memcpy(keep, lines[i], LINE);
		for (j = i; j > 0 && order(keep, lines[j - 1]) < 0; j--)
			memcpy(lines[j], lines[j - 1], LINE);
		memcpy(lines[j], keep, LINE);
	}
	for (i = 0; i < line_count; i++)
		trace("%s", lines[i]);
	line_count = 0;
}

static bool poll_queues(void)
{
	struct ibv_wc wc;
	bool any = false;
	int i, n;

	for (i = 0; i < MOST_OBJECTS; i++) {
		if (!world.cq[i])
			continue;
		while ((n = ibv_poll_cq(world.cq[i], 1, &wc)) == 1) {
			note_completion(i, &wc);
			any = true;
		}
		if (n < 0)
			snprintf(new_line(), LINE, "cq%d poll: %d", i, n);
	}
	return any;
}

static int find(void *const *table, const void *object)
{
	int i;

	for (i = 0; i < MOST_OBJECTS; i++)
		if (table[i] && table[i] == object)
			return i;
	return -1;
}

static bool read_channel(void)
{
	struct ibv_cq *cq;
	void *context;
	bool any = false;

	while (ibv_get_cq_event(world.channel, &cq, &context) == 0) {
		ibv_ack_cq_events(cq, 1);
		snprintf(new_line(), LINE, "event cq%d", find((void *const *)world.cq, cq));
		any = true;
	}
	return any;
}

static void note_async(const struct ibv_async_event *e)
{
	char *line = new_line();
	int i;

	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR:
		snprintf(line, LINE, "async CQ_ERR cq%d",
			 find((void *const *)world.cq, e->element.cq));
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		snprintf(line, LINE, "async %s srq%d",
			 e->event_type == IBV_EVENT_SRQ_ERR ? "SRQ_ERR" : "SRQ_LIMIT_REACHED",
			 find((void *const *)world.srq, e->element.srq));
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		for (i = 0; i < MOST_OBJECTS && world.end[i].qp != e->element.qp; i++)
			;
		snprintf(line, LINE, "async %s qp%d", ibv_event_type_str(e->event_type), i);
		break;
	default: /* of the port or the device: not of the program */
		line_count--;
	}
}

static bool read_async(void)
{
	struct ibv_async_event event;
	bool any = false;

	while (ibv_get_async_event(world.ctx, &event) == 0) {
		note_async(&event);
		ibv_ack_async_event(&event);
		any = true;
	}
	return any;
}

static bool look(void)
{
	bool any = poll_queues();

	any |= read_channel();
	return read_async() || any;
}

/* States of the queue pairs, asked for once per round. */
static enum ibv_qp_state states[MOST_OBJECTS];

static void ask_states(void)
{
	bool asked[MOST_OBJECTS] = { false };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int i, n;

	for (i = 0; i < world.next_id; i++) {
		n = world.pending[i].owner;
		if (!world.pending[i].state || world.pending[i].of_srq || asked[n])
			continue;
		attr.qp_state = IBV_QPS_RESET;
		if (world.end[n].qp)
			ibv_query_qp(world.end[n].qp, &attr, IBV_QP_STATE, &init);
		states[n] = attr.qp_state;
		asked[n] = true;
	}
}

/* Whether the request will complete without another call: its queue pair works, or flushes. */
static bool is_due(const struct pending *p, long waited_ms)
{
	enum ibv_qp_state state = states[p->owner];

	if (p->given_up || p->of_srq)
		return false;
	if (p->state == WR_SEND)
		return p->will_complete &&
		       waited_ms < (world.end[p->owner].stuck ? STUCK_MS : LIMIT_MS) &&
		       (state == IBV_QPS_RTS || state == IBV_QPS_SQE || state == IBV_QPS_ERR);
	return p->state == WR_RECV && waited_ms < world.recv_limit_ms && state == IBV_QPS_ERR;
}

/* The id of a request that must complete; -1 if there is none. Receives are not waited for as long. */
static int unfinished(long waited_ms)
{
	int i;

	ask_states();
	for (i = 0; i < world.next_id; i++)
		if (is_due(&world.pending[i], waited_ms))
			return i;
	return -1;
}

/* Reports requests that should have completed, once. */
static void note_stuck(void)
{
	int id;

	while ((id = unfinished(0)) >= 0) {
		trace("stuck wr=%d of qp%d", id, world.pending[id].owner);
		world.pending[id].given_up = true;
		world.end[world.pending[id].owner].stuck |= world.pending[id].state == WR_SEND;
	}
}

/* Reports each range of bytes that changed; a gap of less than 8 bytes does not end one. */
static void note_bytes(void)
{
	size_t i, first, last, k;
	uint32_t sum;

	for (i = 0; i < ARENA; i = last + 1) {
		last = i;
		if (i % BLOCK == 0 && memcmp(world.arena + i, world.before + i, BLOCK) == 0) {
			last = i + BLOCK - 1;
			continue;
		}
		if (world.arena[i] == world.before[i])
			continue;
		first = i;
		for (k = i; k < ARENA && k <= last + 8; k++)
			if (world.arena[k] != world.before[k])
				last = k;
		for (sum = 2166136261U, k = first; k <= last; k++)
			sum = (sum ^ world.arena[k]) * 16777619U;
		trace("bytes %zu+%zu %08x", first, last + 1 - first, sum);
		memcpy(world.before + first, world.arena + first, last + 1 - first);
	}
}

void settle_quick(void)
{
	look();
	flush_lines();
	note_bytes();
}

void settle(void)
{
	unsigned int nap_us = 200;
	long began = now_ms();

	do {
		while (unfinished(now_ms() - began) >= 0) {
			if (look()) {
				nap_us = 200;
				continue;
			}
			usleep(nap_us);
			nap_us = nap_us < LONGEST_NAP_US ? 2 * nap_us : nap_us;
		}
		pass_time();
	} while (look() && now_ms() - began < LIMIT_MS);
	flush_lines();
	note_bytes();
	note_stuck();
}
