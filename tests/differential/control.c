/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "control.h"
#include "qp.h"
#include "world.h"

/* The object of that kind in a line, or a return: a program that was cut down may lack it. */
#define NEED(table, kind)                                                                          \
	int kind = world_number(w, #kind);                                                         \
	if (kind < 0)                                                                              \
		return;                                                                            \
	if (!world.table[kind]) {                                                                  \
		trace("no " #kind "%d", kind);                                                     \
		return;                                                                            \
	}

/* A number for a new object, or a return. */
#define FREE(table, kind)                                                                          \
	int kind = world_number(w, #kind);                                                         \
	if (kind < 0)                                                                              \
		return;                                                                            \
	if (world.table[kind]) {                                                                   \
		trace(#kind "%d exists", kind);                                                    \
		return;                                                                            \
	}

/* Destroys table[kind], which stays if the call refuses. */
#define DESTROY(table, kind, call)                                                                 \
	do {                                                                                       \
		int result = call(world.table[kind]);                                              \
		trace_result(#call, result);                                                       \
		if (!result)                                                                       \
			world.table[kind] = NULL;                                                  \
	} while (0)

static void alloc_pd(const struct words *w)
{
	FREE(pd, pd);
	world.pd[pd] = ibv_alloc_pd(world.ctx);
	trace_pointer("ibv_alloc_pd", world.pd[pd]);
}

static void dealloc_pd(const struct words *w)
{
	NEED(pd, pd);
	DESTROY(pd, pd, ibv_dealloc_pd);
}

static void create_cq(const struct words *w)
{
	int cqe = (int)words_number(w, "cqe", 16);

	FREE(cq, cq);
	world.cq[cq] = ibv_create_cq(world.ctx, cqe, NULL,
				     words_number(w, "chan", 0) ? world.channel : NULL,
				     (int)words_number(w, "vector", 0));
	trace_pointer("ibv_create_cq", world.cq[cq]);
	if (world.cq[cq])
		trace("cqe %s", world.cq[cq]->cqe >= cqe ? "enough" : "too few");
}

static void resize_cq(const struct words *w)
{
	int cqe = (int)words_number(w, "cqe", 16), result;

	NEED(cq, cq);
	result = ibv_resize_cq(world.cq[cq], cqe);
	trace_result("ibv_resize_cq", result);
	if (!result)
		trace("cqe %s", world.cq[cq]->cqe >= cqe ? "enough" : "too few");
}

static void req_notify(const struct words *w)
{
	NEED(cq, cq);
	trace_result("ibv_req_notify_cq",
		     ibv_req_notify_cq(world.cq[cq], (int)words_number(w, "solicited", 0)));
}

static void destroy_cq(const struct words *w)
{
	NEED(cq, cq);
	DESTROY(cq, cq, ibv_destroy_cq);
}

static void create_srq(const struct words *w)
{
	struct ibv_srq_init_attr init = { 0 };
	uint32_t wr = (uint32_t)words_number(w, "wr", 8), sge = (uint32_t)words_number(w, "sge", 1);

	FREE(srq, srq);
	NEED(pd, pd);
	init.attr = (struct ibv_srq_attr){ .max_wr = wr,
					   .max_sge = sge,
					   .srq_limit = (uint32_t)words_number(w, "limit", 0) };
	world.srq[srq] = ibv_create_srq(world.pd[pd], &init);
	trace_pointer("ibv_create_srq", world.srq[srq]);
	if (world.srq[srq])
		trace("wr %s sge %s", init.attr.max_wr >= wr ? "enough" : "too few",
		      init.attr.max_sge >= sge ? "enough" : "too few");
}

static void modify_srq(const struct words *w)
{
	struct ibv_srq_attr attr = { 0 };
	int mask = (int)words_number(w, "mask", 0);

	NEED(srq, srq);
	attr.max_wr = (uint32_t)words_number(w, "wr", 0);
	attr.srq_limit = (uint32_t)words_number(w, "limit", 0);
	trace_result("ibv_modify_srq", ibv_modify_srq(world.srq[srq], &attr, mask));
}

static void query_srq(const struct words *w)
{
	struct ibv_srq_attr attr = { 0 };
	int result;

	NEED(srq, srq);
	result = ibv_query_srq(world.srq[srq], &attr);
	trace_result("ibv_query_srq", result);
	if (!result)
		trace("limit=%u", attr.srq_limit);
}

static void forget_receives(int owner)
{
	int i;

	for (i = 0; i < MOST_IDS; i++)
		if (world.pending[i].state && world.pending[i].of_srq &&
		    world.pending[i].owner == owner)
			memset(&world.pending[i], 0, sizeof world.pending[i]);
}

static void destroy_srq(const struct words *w)
{
	NEED(srq, srq);
	DESTROY(srq, srq, ibv_destroy_srq);
	if (!world.srq[srq])
		forget_receives(srq);
}

static void reg_mr(const struct words *w)
{
	size_t off = (size_t)words_number(w, "off", 0), len = (size_t)words_number(w, "len", 0);

	FREE(mr, mr);
	NEED(pd, pd);
	world.mr[mr] =
		ibv_reg_mr(world.pd[pd], world.arena + off, len, (int)words_number(w, "access", 0));
	trace_pointer("ibv_reg_mr", world.mr[mr]);
	if (world.mr[mr])
		trace("addr %s length %s pd %s",
		      world.mr[mr]->addr == world.arena + off ? "right" : "wrong",
		      world.mr[mr]->length == len ? "right" : "wrong",
		      world.mr[mr]->pd == world.pd[pd] ? "right" : "wrong");
}

static void rereg_mr(const struct words *w)
{
	const char *pd = words_text(w, "pd");
	int number = pd ? world_number(w, "pd") : -1;

	NEED(mr, mr);
	trace_result("ibv_rereg_mr", ibv_rereg_mr(world.mr[mr], (int)words_number(w, "flags", 0),
						  number < 0 ? NULL : world.pd[number],
						  world.arena + words_number(w, "off", 0),
						  (size_t)words_number(w, "len", 0),
						  (int)words_number(w, "access", 0)));
}

static void dereg_mr(const struct words *w)
{
	NEED(mr, mr);
	DESTROY(mr, mr, ibv_dereg_mr);
}

static void alloc_mw(const struct words *w)
{
	FREE(mw, mw);
	NEED(pd, pd);
	world.mw[mw] = ibv_alloc_mw(world.pd[pd], words_number(w, "type", 2) == 1 ? IBV_MW_TYPE_1
										  : IBV_MW_TYPE_2);
	trace_pointer("ibv_alloc_mw", world.mw[mw]);
	world.mw_key[mw] = world.mw[mw] ? world.mw[mw]->rkey : 0;
}

static void dealloc_mw(const struct words *w)
{
	NEED(mw, mw);
	DESTROY(mw, mw, ibv_dealloc_mw);
}

static void create_ah(const struct words *w)
{
	struct ibv_ah_attr attr = { 0 };

	FREE(ah, ah);
	NEED(pd, pd);
	qp_fill_ah(&attr, w);
	world.ah[ah] = ibv_create_ah(world.pd[pd], &attr);
	trace_pointer("ibv_create_ah", world.ah[ah]);
}

static void destroy_ah(const struct words *w)
{
	NEED(ah, ah);
	DESTROY(ah, ah, ibv_destroy_ah);
}

static void query_port(const struct words *w)
{
	struct ibv_port_attr attr = { 0 };
	int result = ibv_query_port(world.ctx, (uint8_t)words_number(w, "port", 1), &attr);

	trace_result("ibv_query_port", result);
	if (!result)
		trace("state=%d link=%d mtu=%d lid=%d", attr.state, attr.link_layer,
		      attr.active_mtu, attr.lid);
}

static void query_tables(const struct words *w)
{
	union ibv_gid gid = { 0 };
	__be16 pkey = 0;
	uint8_t port = (uint8_t)words_number(w, "port", 1);
	int index = (int)words_number(w, "index", 0);
	int result = ibv_query_pkey(world.ctx, port, index, &pkey);

	trace_result("ibv_query_pkey", result);
	if (!result)
		trace("pkey=0x%x", be16toh(pkey));
	trace_result("ibv_query_gid", ibv_query_gid(world.ctx, port, world.gid_index, &gid));
}

/* An attach or detach of a group: ff0e::NUMBER. */
static void join_or_leave(const struct words *w, bool join)
{
	union ibv_gid gid = { .raw = { 0xff, 0x0e } };
	int qp = world_number(w, "qp");

	if (qp < 0 || !world.end[qp].qp) {
		trace("no qp");
		return;
	}
	gid.raw[0] = (uint8_t)words_number(w, "first", 0xff);
	gid.raw[15] = (uint8_t)words_number(w, "group", 1);
	if (join)
		trace_result("ibv_attach_mcast", ibv_attach_mcast(world.end[qp].qp, &gid, 0));
	else
		trace_result("ibv_detach_mcast", ibv_detach_mcast(world.end[qp].qp, &gid, 0));
}

static void attach(const struct words *w)
{
	join_or_leave(w, true);
}

static void detach(const struct words *w)
{
	join_or_leave(w, false);
}

bool control_do(const char *verb, const struct words *w)
{
	static const struct {
		const char *verb;
		void (*call)(const struct words *w);
	} table[] = {
		{ "alloc_pd", alloc_pd },
		{ "dealloc_pd", dealloc_pd },
		{ "create_cq", create_cq },
		{ "resize_cq", resize_cq },
		{ "req_notify", req_notify },
		{ "destroy_cq", destroy_cq },
		{ "create_srq", create_srq },
		{ "modify_srq", modify_srq },
		{ "query_srq", query_srq },
		{ "destroy_srq", destroy_srq },
		{ "reg_mr", reg_mr },
		{ "rereg_mr", rereg_mr },
		{ "dereg_mr", dereg_mr },
		{ "alloc_mw", alloc_mw },
		{ "dealloc_mw", dealloc_mw },
		{ "create_ah", create_ah },
		{ "destroy_ah", destroy_ah },
		{ "query_port", query_port },
		{ "query_tables", query_tables },
		{ "create_qp", qp_create },
		{ "modify_qp", qp_modify },
		{ "query_qp", qp_query },
		{ "destroy_qp", qp_destroy },
		{ "attach", attach },
		{ "detach", detach },
	};
	size_t i;

	for (i = 0; i < sizeof table / sizeof *table; i++) {
		if (strcmp(verb, table[i].verb) != 0)
			continue;
		table[i].call(w);
		return true;
	}
	return false;
}
