/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp.h"
#include "world.h"

static struct end *find(const struct words *w)
{
	int number = world_number(w, "qp");

	if (number < 0)
		return NULL;
	if (!world.end[number].qp) {
		trace("no qp%d", number);
		return NULL;
	}
	return &world.end[number];
}

static enum ibv_qp_type type_of(const char *text)
{
	return !text || strcmp(text, "RC") == 0 ? IBV_QPT_RC
	       : strcmp(text, "UC") == 0        ? IBV_QPT_UC
						: IBV_QPT_UD;
}

/* The object of a key that need not be there: its number, -1 without, -2 if it names none that exists. */
static int optional(const struct words *w, const char *key, void *const *table)
{
	long long n = words_number(w, key, -1);

	return n < 0 ? -1 : n < MOST_OBJECTS && table[n] ? (int)n : -2;
}

void qp_create(const struct words *w)
{
	struct ibv_qp_init_attr init = { 0 };
	int number = world_number(w, "qp"), pd = optional(w, "pd", (void *const *)world.pd),
	    send = optional(w, "scq", (void *const *)world.cq),
	    recv = optional(w, "rcq", (void *const *)world.cq),
	    srq = optional(w, "srq", (void *const *)world.srq);
	struct ibv_qp_cap asked;
	struct end *end;

	if (number < 0 || world.end[number].qp || pd < 0 || send < 0 || recv < 0 || srq == -2) {
		trace("create_qp without its objects");
		return;
	}
	end = &world.end[number];
	init.send_cq = world.cq[send];
	init.recv_cq = world.cq[recv];
	init.srq = srq < 0 ? NULL : world.srq[srq];
	init.qp_type = type_of(words_text(w, "type"));
	init.sq_sig_all = (int)words_number(w, "sig", 0);
	init.cap = asked = (struct ibv_qp_cap){
		.max_send_wr = (uint32_t)words_number(w, "sw", 8),
		.max_recv_wr = (uint32_t)words_number(w, "rw", 8),
		.max_send_sge = (uint32_t)words_number(w, "ss", 1),
		.max_recv_sge = (uint32_t)words_number(w, "rs", 1),
		.max_inline_data = (uint32_t)words_number(w, "inl", 0),
	};
	end->qp = ibv_create_qp(world.pd[pd], &init);
	trace_pointer("ibv_create_qp", end->qp);
	if (!end->qp)
		return;
	end->cap = init.cap;
	end->type = init.qp_type;
	end->signal_all = init.sq_sig_all;
	end->has_srq = srq >= 0;
	end->number = end->qp->qp_num;
	trace("cap %s%s%s%s%s", init.cap.max_send_wr >= asked.max_send_wr ? "" : "-sw",
	      end->has_srq || init.cap.max_recv_wr >= asked.max_recv_wr ? "" : "-rw",
	      !asked.max_send_wr || init.cap.max_send_sge >= asked.max_send_sge ? "" : "-ss",
	      end->has_srq || !asked.max_recv_wr || init.cap.max_recv_sge >= asked.max_recv_sge
		      ? ""
		      : "-rs",
	      init.cap.max_inline_data >= asked.max_inline_data ? "" : "-inl");
}

void qp_fill_ah(struct ibv_ah_attr *attr, const struct words *w)
{
	attr->is_global = !words_number(w, "nogrh", 0);
	attr->port_num = (uint8_t)words_number(w, "ahport", 1);
	attr->sl = (uint8_t)words_number(w, "sl", 0);
	attr->grh.dgid = world.gid;
	attr->grh.hop_limit = (uint8_t)words_number(w, "hops", 64);
	attr->grh.sgid_index = (uint8_t)words_number(w, "sgid", world.gid_index);
	attr->grh.traffic_class = (uint8_t)words_number(w, "class", 0);
	attr->grh.flow_label = (uint32_t)words_number(w, "flow", 0);
	if (words_text(w, "group")) {
		memset(&attr->grh.dgid, 0, sizeof attr->grh.dgid);
		attr->grh.dgid.raw[0] = 0xff;
		attr->grh.dgid.raw[1] = 0x0e;
		attr->grh.dgid.raw[15] = (uint8_t)words_number(w, "group", 1);
	}
}

/* A queue pair's number in the adapter: of "qp3", or a number that none has. */
static uint32_t number_of(const char *text)
{
	int n = text && strncmp(text, "qp", 2) == 0 ? atoi(text + 2) : -1;

	return n >= 0 && n < MOST_OBJECTS && world.end[n].qp ? world.end[n].number : 0xfffff0;
}

static const struct {
	const char *name;
	enum ibv_qp_state state;
} states[] = {
	{ "RESET", IBV_QPS_RESET }, { "INIT", IBV_QPS_INIT }, { "RTR", IBV_QPS_RTR },
	{ "RTS", IBV_QPS_RTS },     { "SQD", IBV_QPS_SQD },   { "SQE", IBV_QPS_SQE },
	{ "ERR", IBV_QPS_ERR },
};

static enum ibv_qp_state state_of(const char *text)
{
	size_t i;

	for (i = 0; text && i < sizeof states / sizeof *states; i++)
		if (strcmp(text, states[i].name) == 0)
			return states[i].state;
	return IBV_QPS_RESET;
}

static void forget_requests(int owner)
{
	int i;

	for (i = 0; i < MOST_IDS; i++)
		if (world.pending[i].state && !world.pending[i].of_srq &&
		    world.pending[i].owner == owner)
			memset(&world.pending[i], 0, sizeof world.pending[i]);
}

void qp_modify(const struct words *w)
{
	struct end *end = find(w);
	struct ibv_qp_attr attr = { 0 };
	int mask = (int)words_number(w, "mask", IBV_QP_STATE), result;

	if (!end)
		return;
	attr.qp_state = state_of(words_text(w, "to"));
	attr.cur_qp_state = state_of(words_text(w, "cur"));
	attr.en_sqd_async_notify = (uint8_t)words_number(w, "notify", 0);
	attr.qp_access_flags = (unsigned int)words_number(w, "access", 0);
	attr.pkey_index = (uint16_t)words_number(w, "pkey", 0);
	attr.port_num = (uint8_t)words_number(w, "port", 1);
	attr.qkey = (uint32_t)words_number(w, "qkey", 0);
	attr.path_mtu = (enum ibv_mtu)words_number(w, "mtu", IBV_MTU_1024);
	attr.timeout = (uint8_t)words_number(w, "timeout", 16);
	attr.retry_cnt = (uint8_t)words_number(w, "retry", 2);
	attr.rnr_retry = (uint8_t)words_number(w, "rnr_retry", 1);
	attr.rq_psn = (uint32_t)words_number(w, "rq_psn", 0);
	attr.sq_psn = (uint32_t)words_number(w, "sq_psn", 0);
	attr.max_rd_atomic = (uint8_t)words_number(w, "rd", 1);
	attr.max_dest_rd_atomic = (uint8_t)words_number(w, "dest_rd", 1);
	attr.min_rnr_timer = (uint8_t)words_number(w, "rnr_timer", 1);
	attr.dest_qp_num = number_of(words_text(w, "dest"));
	qp_fill_ah(&attr.ah_attr, w);
	result = ibv_modify_qp(end->qp, &attr, mask);
	trace_result("ibv_modify_qp", result);
	if (!result && mask & IBV_QP_STATE && attr.qp_state == IBV_QPS_RESET)
		forget_requests((int)(end - world.end));
}

static const char *state_name(enum ibv_qp_state state)
{
	size_t i;

	for (i = 0; i < sizeof states / sizeof *states; i++)
		if (states[i].state == state)
			return states[i].name;
	return "?";
}

static void trace_attributes(const struct end *end, const struct ibv_qp_attr *a)
{
	trace("state=%s cur=%s", state_name(a->qp_state), state_name(a->cur_qp_state));
	trace("attr type=%d draining=%d", end->type, a->sq_draining);
	if (a->qp_state == IBV_QPS_RESET)
		return;
	trace("attr port=%u pkey=%u", a->port_num, a->pkey_index);
	if (end->type == IBV_QPT_UD) {
		trace("attr qkey=0x%x", a->qkey);
		return;
	}
	trace("attr access=0x%x", a->qp_access_flags);
	if (a->qp_state == IBV_QPS_INIT)
		return;
	if (a->qp_state != IBV_QPS_ERR)
		trace("attr rq_psn=0x%x", a->rq_psn);
	trace("attr mtu=%d dest=qp%d", a->path_mtu, world_find_qp(a->dest_qp_num));
	trace("attr av global=%d port=%u sl=%u gid=%s hops=%u class=%u", a->ah_attr.is_global,
	      a->ah_attr.port_num, a->ah_attr.sl,
	      memcmp(&a->ah_attr.grh.dgid, &world.gid, sizeof world.gid) ? "other" : "own",
	      a->ah_attr.grh.hop_limit, a->ah_attr.grh.traffic_class);
	if (end->type == IBV_QPT_RC)
		trace("attr dest_rd=%u rnr_timer=%u", a->max_dest_rd_atomic, a->min_rnr_timer);
	if (a->qp_state == IBV_QPS_RTR)
		return;
	if (a->qp_state != IBV_QPS_ERR)
		trace("attr sq_psn=0x%x", a->sq_psn);
	if (end->type == IBV_QPT_RC)
		trace("attr timeout=%u retry=%u rnr_retry=%u rd=%u", a->timeout, a->retry_cnt,
		      a->rnr_retry, a->max_rd_atomic);
}

void qp_query(const struct words *w)
{
	struct ibv_qp_init_attr init = { 0 };
	struct ibv_qp_attr attr = { 0 };
	struct end *end = find(w);
	int result;

	if (!end)
		return;
	result = ibv_query_qp(end->qp, &attr, (int)words_number(w, "mask", 0x1fffff), &init);
	trace_result("ibv_query_qp", result);
	if (result)
		return;
	trace_attributes(end, &attr);
	trace("init type=%d sig=%d srq=%d cap %s", init.qp_type, init.sq_sig_all, init.srq != NULL,
	      init.cap.max_send_wr == end->cap.max_send_wr &&
			      init.cap.max_send_sge == end->cap.max_send_sge
		      ? "same"
		      : "other");
}

void qp_destroy(const struct words *w)
{
	struct end *end = find(w);
	int result;

	if (!end)
		return;
	result = ibv_destroy_qp(end->qp);
	trace_result("ibv_destroy_qp", result);
	if (!result) {
		forget_requests((int)(end - world.end));
		end->qp = NULL;
	}
}
