/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A list has "+" between its requests. A piece of memory is NAME:OFFSET:LENGTH, where NAME is a region (mr0) or
 * anything else for a key that no region has, and OFFSET counts from the arena's first byte.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "post.h"
#include "world.h"

enum { NO_KEY = 0x7fffff00 };

struct send_list {
	struct ibv_send_wr wr[MOST_WRS];
	struct ibv_sge sge[MOST_WRS][MOST_SGES];
	int window[MOST_WRS]; /* number of the window that the request binds; -1 */
	int count;
};

static struct ibv_mr *region(const char *text)
{
	int n = strncmp(text, "mr", 2) == 0 ? atoi(text + 2) : -1;

	return n >= 0 && n < MOST_OBJECTS ? world.mr[n] : NULL;
}

static uint32_t remote_key(const char *text)
{
	struct ibv_mr *mr = region(text);
	int n = strncmp(text, "mw", 2) == 0 ? atoi(text + 2) : -1;

	if (n >= 0 && n < MOST_OBJECTS && world.mw[n])
		return world.mw_key[n];
	return mr ? mr->rkey : NO_KEY;
}

static uint64_t offset_of(const char *text)
{
	const char *colon = strchr(text, ':');

	return (uint64_t)(uintptr_t)world.arena + (colon ? strtoull(colon + 1, NULL, 0) : 0);
}

static int read_sges(const struct words *w, struct ibv_sge *sge)
{
	char text[1024], *rest, *word;
	const char *all = words_text(w, "sge"), *length;
	struct ibv_mr *mr;
	int n = 0;

	snprintf(text, sizeof text, "%s", all ? all : "");
	for (word = strtok_r(text, ",", &rest); word && n < MOST_SGES;
	     word = strtok_r(NULL, ",", &rest), n++) {
		mr = region(word);
		length = strrchr(word, ':');
		sge[n] = (struct ibv_sge){ .addr = offset_of(word),
					   .length = length ? (uint32_t)strtoul(length + 1, NULL, 0)
							    : 0,
					   .lkey = mr ? mr->lkey : NO_KEY };
	}
	return n;
}

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
} opcodes[] = {
	{ "SEND", IBV_WR_SEND },
	{ "SEND_IMM", IBV_WR_SEND_WITH_IMM },
	{ "SEND_INV", IBV_WR_SEND_WITH_INV },
	{ "WRITE", IBV_WR_RDMA_WRITE },
	{ "WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM },
	{ "READ", IBV_WR_RDMA_READ },
	{ "CMP_SWAP", IBV_WR_ATOMIC_CMP_AND_SWP },
	{ "FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ "BIND_MW", IBV_WR_BIND_MW },
	{ "LOCAL_INV", IBV_WR_LOCAL_INV },
};

static enum ibv_wr_opcode opcode_of(const char *text)
{
	size_t i;

	for (i = 0; text && i < sizeof opcodes / sizeof *opcodes; i++)
		if (strcmp(text, opcodes[i].name) == 0)
			return opcodes[i].opcode;
	return (enum ibv_wr_opcode)200; /* none that there is */
}

static bool fill_bind(const struct words *w, struct ibv_mw_bind_info *info, int *window)
{
	const char *mr = words_text(w, "mr");
	int mw = world_number(w, "mw");

	if (mw < 0 || !world.mw[mw] || !mr || !region(mr)) {
		trace("bind without its objects");
		return false;
	}
	info->mr = region(mr);
	info->addr = (uint64_t)(uintptr_t)world.arena + (uint64_t)words_number(w, "off", 0);
	info->length = (uint64_t)words_number(w, "len", 0);
	info->mw_access_flags = (unsigned int)words_number(w, "access", 0);
	*window = mw;
	return true;
}

static uint32_t datagram_target(const char *text)
{
	int n = text && strncmp(text, "qp", 2) == 0 ? atoi(text + 2) : -1;

	if (text && strcmp(text, "group") == 0)
		return 0xffffff;
	return n >= 0 && n < MOST_OBJECTS && world.end[n].qp ? world.end[n].number : 0xfffff0;
}

static bool fill_special(const struct words *w, struct ibv_send_wr *wr, struct send_list *list,
			 const struct end *end)
{
	const char *remote = words_text(w, "rem"), *inv = words_text(w, "inv");
	int ah;

	if (wr->opcode == IBV_WR_BIND_MW) {
		if (!fill_bind(w, &wr->bind_mw.bind_info, &list->window[list->count]))
			return false;
		wr->bind_mw.mw = world.mw[list->window[list->count]];
		wr->bind_mw.rkey = ibv_inc_rkey(world.mw_key[list->window[list->count]]);
		return true;
	}
	if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_SEND_WITH_INV)
		wr->invalidate_rkey = inv ? remote_key(inv) : NO_KEY;
	else
		wr->imm_data = htonl((uint32_t)words_number(w, "imm", 0));
	if (end->type == IBV_QPT_UD) {
		ah = world_number(w, "ah");
		if (ah < 0 || !world.ah[ah]) {
			trace("no ah");
			return false;
		}
		wr->wr.ud.ah = world.ah[ah];
		wr->wr.ud.remote_qpn = datagram_target(words_text(w, "dqp"));
		wr->wr.ud.remote_qkey = (uint32_t)words_number(w, "qkey", 0);
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote ? offset_of(remote) : 0;
		wr->wr.atomic.rkey = remote ? remote_key(remote) : NO_KEY;
		wr->wr.atomic.compare_add = (uint64_t)words_number(w, "add", 1);
		wr->wr.atomic.swap = (uint64_t)words_number(w, "swap", 2);
	} else {
		wr->wr.rdma.remote_addr = remote ? offset_of(remote) : 0;
		wr->wr.rdma.rkey = remote ? remote_key(remote) : NO_KEY;
	}
	return true;
}

static unsigned int flags_of(const char *text)
{
	unsigned int flags = 0;

	for (; text && *text; text++)
		flags |= *text == 's'   ? IBV_SEND_SIGNALED
			 : *text == 'f' ? IBV_SEND_FENCE
			 : *text == 'e' ? IBV_SEND_SOLICITED
			 : *text == 'i' ? IBV_SEND_INLINE
					: 0;
	return flags;
}

static bool add_send(const struct words *w, struct send_list *list, const struct end *end)
{
	struct ibv_send_wr *wr = &list->wr[list->count];

	list->window[list->count] = -1;
	wr->wr_id = (uint64_t)words_number(w, "id", 0);
	wr->opcode = opcode_of(words_text(w, "op"));
	wr->send_flags = flags_of(words_text(w, "flags"));
	wr->sg_list = list->sge[list->count];
	wr->num_sge = read_sges(w, wr->sg_list);
	if (!fill_special(w, wr, list, end))
		return false;
	if (list->count)
		list->wr[list->count - 1].next = wr;
	list->count++;
	return true;
}

static void remember(uint64_t id, const struct pending *p)
{
	if (id >= MOST_IDS)
		return;
	world.pending[id] = *p;
	if ((int)id >= world.next_id)
		world.next_id = (int)id + 1;
}

static struct end *end_of(const struct words *w, int *number)
{
	*number = world_number(w, "qp");
	if (*number < 0 || !world.end[*number].qp) {
		trace("no qp");
		return NULL;
	}
	return &world.end[*number];
}

/* `bad`: which request of the list was refused; negative if the call has not said so. */
static void trace_post(const char *call, int result, long bad)
{
	if (result && bad < 0)
		trace("%s: %s bad=none", call, error_name(result < 0 ? -result : result));
	else if (result)
		trace("%s: %s bad=%ld", call, error_name(result < 0 ? -result : result), bad);
	else
		trace("%s: 0", call);
}

static void post_send(struct words *w)
{
	static struct send_list list;
	struct ibv_send_wr *bad = NULL;
	struct words rest;
	struct end *end;
	int number, result, i;
	long accepted;

	memset(&list, 0, sizeof list);
	end = end_of(w, &number);
	if (!end)
		return;
	for (;; *w = rest) {
		words_cut(w, &rest);
		add_send(w, &list, end);
		if (!rest.count || list.count == MOST_WRS)
			break;
	}
	if (!list.count)
		return;
	result = ibv_post_send(end->qp, list.wr, &bad);
	accepted = !result ? list.count : bad ? bad - list.wr : -1;
	trace_post("ibv_post_send", result, accepted);
	for (i = 0; i < accepted; i++) {
		struct pending p = { .state = WR_SEND, .owner = number };

		p.will_complete = end->signal_all || list.wr[i].send_flags & IBV_SEND_SIGNALED;
		remember(list.wr[i].wr_id, &p);
		if (list.window[i] >= 0)
			world.mw_key[list.window[i]] = list.wr[i].bind_mw.rkey;
	}
}

/* Where a receive's first 40 bytes are, plus one; 0 if its elements divide them. */
static size_t grh_place(const struct ibv_recv_wr *wr)
{
	int i;

	for (i = 0; i < wr->num_sge; i++)
		if (wr->sg_list[i].length)
			break;
	if (i == wr->num_sge || wr->sg_list[i].length < GRH_BYTES)
		return 0;
	return (size_t)(wr->sg_list[i].addr - (uint64_t)(uintptr_t)world.arena) + 1;
}

static void post_receives(struct words *w, bool to_srq)
{
	static struct ibv_recv_wr wr[MOST_WRS];
	static struct ibv_sge sge[MOST_WRS][MOST_SGES];
	struct ibv_recv_wr *bad = NULL;
	int number, result, i, count = 0;
	struct words rest, first = *w;
	long accepted;

	if (to_srq)
		number = world_number(&first, "srq");
	else if (!end_of(&first, &number))
		return;
	if (to_srq && (number < 0 || !world.srq[number])) {
		trace("no srq");
		return;
	}
	memset(wr, 0, sizeof wr);
	for (;; *w = rest) {
		words_cut(w, &rest);
		wr[count].wr_id = (uint64_t)words_number(w, "id", 0);
		wr[count].sg_list = sge[count];
		wr[count].num_sge = read_sges(w, sge[count]);
		if (count)
			wr[count - 1].next = &wr[count];
		count++;
		if (!rest.count || count == MOST_WRS)
			break;
	}
	result = to_srq ? ibv_post_srq_recv(world.srq[number], wr, &bad)
			: ibv_post_recv(world.end[number].qp, wr, &bad);
	accepted = !result ? count : bad ? bad - wr : -1;
	trace_post(to_srq ? "ibv_post_srq_recv" : "ibv_post_recv", result, accepted);
	for (i = 0; i < accepted; i++) {
		struct pending p = { .state = WR_RECV, .owner = number, .of_srq = to_srq };

		p.grh = grh_place(&wr[i]);
		remember(wr[i].wr_id, &p);
	}
}

static void bind_mw(const struct words *w)
{
	struct ibv_mw_bind bind = { 0 };
	struct end *end;
	int number, mw, result;

	end = end_of(w, &number);
	if (!end || !fill_bind(w, &bind.bind_info, &mw))
		return;
	bind.wr_id = (uint64_t)words_number(w, "id", 0);
	bind.send_flags = flags_of(words_text(w, "flags"));
	result = ibv_bind_mw(end->qp, world.mw[mw], &bind);
	trace_result("ibv_bind_mw", result);
	if (!result) {
		struct pending p = { .state = WR_SEND, .owner = number };

		p.will_complete = end->signal_all || bind.send_flags & IBV_SEND_SIGNALED;
		remember(bind.wr_id, &p);
		world.mw_key[mw] = world.mw[mw]->rkey;
	}
}

bool post_do(const char *verb, struct words *w)
{
	if (strcmp(verb, "post_send") == 0)
		post_send(w);
	else if (strcmp(verb, "post_recv") == 0)
		post_receives(w, false);
	else if (strcmp(verb, "post_srq") == 0)
		post_receives(w, true);
	else if (strcmp(verb, "bind_mw") == 0)
		bind_mw(w);
	else
		return false;
	return true;
}
