/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of transitions, walked: for every type of queue pair, from every state to every state,
 * with exactly the attributes that are needed, with all that are allowed, without each of the
 * needed ones, and with each one that is neither. What is refused changes nothing.
 */
#include "rig.h"

/* As the InfiniBand specification has it (volume 1, 11.2.5.2), written down a second time. */
#define PKEY  IBV_QP_PKEY_INDEX
#define PORT  IBV_QP_PORT
#define QKEY  IBV_QP_QKEY
#define ACC   IBV_QP_ACCESS_FLAGS
#define AV    IBV_QP_AV
#define MTU   IBV_QP_PATH_MTU
#define DEST  IBV_QP_DEST_QPN
#define RPSN  IBV_QP_RQ_PSN
#define SPSN  IBV_QP_SQ_PSN
#define RDIN  IBV_QP_MAX_DEST_RD_ATOMIC
#define RDOUT IBV_QP_MAX_QP_RD_ATOMIC
#define RNRT  IBV_QP_MIN_RNR_TIMER
#define RNRC  IBV_QP_RNR_RETRY
#define TIME  IBV_QP_TIMEOUT
#define RETRY IBV_QP_RETRY_CNT
#define ALT   IBV_QP_ALT_PATH
#define MIG   IBV_QP_PATH_MIG_STATE
#define CUR   IBV_QP_CUR_STATE
#define NOTE  IBV_QP_EN_SQD_ASYNC_NOTIFY

struct rule {
	enum ibv_qp_state from, to;
	int must, may;
};

static const struct rule rc_rules[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET, 0, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACC, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | ACC },
	{ IBV_QPS_INIT, IBV_QPS_RTR, AV | MTU | DEST | RPSN | RDIN | RNRT, ALT | ACC | PKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, TIME | RETRY | RNRC | SPSN | RDOUT,
	  CUR | ALT | ACC | RNRT | MIG },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | ACC | ALT | MIG | RNRT },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, NOTE },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | ALT | ACC | RNRT | MIG },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0,
	  PORT | AV | TIME | RETRY | RNRC | RDOUT | RDIN | ALT | ACC | PKEY | RNRT | MIG },
};

static const struct rule uc_rules[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET, 0, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | ACC, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | ACC },
	{ IBV_QPS_INIT, IBV_QPS_RTR, AV | MTU | DEST | RPSN, ALT | ACC | PKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, SPSN, CUR | ALT | ACC | MIG },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | ACC | ALT | MIG },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, NOTE },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | ALT | ACC | MIG },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0, AV | ALT | ACC | PKEY | MIG },
	{ IBV_QPS_SQE, IBV_QPS_RTS, 0, CUR | ACC },
};

static const struct rule ud_rules[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET, 0, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, PKEY | PORT | QKEY, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, PKEY | PORT | QKEY },
	{ IBV_QPS_INIT, IBV_QPS_RTR, 0, PKEY | QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, SPSN, CUR | QKEY },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, CUR | QKEY },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, NOTE },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, CUR | QKEY },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0, PKEY | QKEY },
	{ IBV_QPS_SQE, IBV_QPS_RTS, 0, CUR | QKEY },
};

static const struct rule *find_rule(const struct rule *rules, size_t n, enum ibv_qp_state from,
				    enum ibv_qp_state to)
{
	static const struct rule plain = { .must = 0, .may = 0 };

	for (size_t i = 0; i < n; i++)
		if (rules[i].from == from && rules[i].to == to)
			return &rules[i];
	/* from anywhere but RESET to ERR, from anywhere to RESET */
	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return &plain;
	return NULL;
}

static const int attributes[] = { CUR,  NOTE, ACC,   PKEY, PORT, QKEY, AV,   MTU, TIME, RETRY,
				  RNRC, RPSN, RDOUT, ALT,  RNRT, SPSN, RDIN, MIG, DEST };

static struct ibv_qp_attr good_values(const struct end *e, enum ibv_qp_state from,
				      enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.cur_qp_state = from,
		.qp_access_flags = e->o.qp_access,
		.port_num = 1,
		.qkey = e->o.qkey,
		.path_mtu = IBV_MTU_1024,
		.timeout = 14,
		.retry_cnt = 5,
		.rnr_retry = 4,
		.rq_psn = 100,
		.sq_psn = 200,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 3,
		.min_rnr_timer = 9,
		.path_mig_state = IBV_MIG_MIGRATED,
		.dest_qp_num = e->qp->qp_num,
		.alt_port_num = 1,
		.alt_timeout = 14,
		.en_sqd_async_notify = 0,
	};
	struct address me = end_address(e);

	address_to_ah_attr(&me, &attr.ah_attr);
	attr.alt_ah_attr = attr.ah_attr;
	return attr;
}

static int must_of(const struct rule *rules, size_t n, enum ibv_qp_state from, enum ibv_qp_state to)
{
	const struct rule *r = find_rule(rules, n, from, to);

	check(r != NULL);
	return r->must;
}

static void step(struct end *e, const struct rule *rules, size_t n, enum ibv_qp_state from,
		 enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = good_values(e, from, to);

	check_ok(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | must_of(rules, n, from, to)));
}

/* SQE cannot be asked for: a request that breaks leads there. */
static void break_send_queue(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, 8, e->mr->lkey ^ 0x100 };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct address me = end_address(e);
	struct ibv_ah_attr ah_attr;
	struct ibv_ah *ah = NULL;

	if (e->o.type == IBV_QPT_UD) {
		address_to_ah_attr(&me, &ah_attr);
		ah = must(ibv_create_ah(e->pd, &ah_attr));
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = e->qp->qp_num;
		wr.wr.ud.remote_qkey = e->o.qkey;
	}
	check_ok(ibv_post_send(e->qp, &wr, &bad));
	check_equal(wait_wc(e->scq).status, IBV_WC_LOC_PROT_ERR);
	if (ah)
		check_ok(ibv_destroy_ah(ah));
}

static void bring(struct end *e, const struct rule *rules, size_t n, enum ibv_qp_state to)
{
	end_reset(e);
	if (to == IBV_QPS_RESET)
		return;
	step(e, rules, n, IBV_QPS_RESET, IBV_QPS_INIT);
	if (to == IBV_QPS_INIT)
		return;
	if (to == IBV_QPS_ERR) {
		end_to_error(e);
		return;
	}
	step(e, rules, n, IBV_QPS_INIT, IBV_QPS_RTR);
	if (to == IBV_QPS_RTR)
		return;
	step(e, rules, n, IBV_QPS_RTR, IBV_QPS_RTS);
	if (to == IBV_QPS_SQD)
		step(e, rules, n, IBV_QPS_RTS, IBV_QPS_SQD);
	if (to == IBV_QPS_SQE)
		break_send_queue(e);
	check_equal(end_state(e), to);
}

static struct ibv_qp_attr look(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	check_ok(ibv_query_qp(e->qp, &attr, (1 << 21) - 1, &init));
	return attr;
}

static void expect_refusal(struct end *e, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = good_values(e, from, to), before = look(e), after;
	int err = ibv_modify_qp(e->qp, &attr, mask);

	if (err != EINVAL)
		rig_fail(__FILE__, __LINE__, "type %d, %d to %d with mask 0x%x: %d, not EINVAL",
			 e->o.type, from, to, mask, err);
	after = look(e);
	if (memcmp(&before, &after, sizeof(before)))
		rig_fail(__FILE__, __LINE__, "type %d, %d to %d with mask 0x%x changed something",
			 e->o.type, from, to, mask);
}

static void expect_success(struct end *e, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = good_values(e, from, to);
	int err = ibv_modify_qp(e->qp, &attr, mask);

	if (err)
		rig_fail(__FILE__, __LINE__, "type %d, %d to %d with mask 0x%x: %d, not 0",
			 e->o.type, from, to, mask, err);
	check_equal(end_state(e), to);
}

static void walk_edge(struct end *e, const struct rule *rules, size_t n, enum ibv_qp_state from,
		      enum ibv_qp_state to)
{
	const struct rule *r = find_rule(rules, n, from, to);

	bring(e, rules, n, from);
	if (!r) {
		expect_refusal(e, from, to, IBV_QP_STATE);
		/* not with all attributes of the world either */
		for (size_t i = 0; i < array_size(attributes); i++)
			expect_refusal(e, from, to, IBV_QP_STATE | attributes[i]);
		return;
	}
	for (size_t i = 0; i < array_size(attributes); i++) {
		int a = attributes[i];

		if (r->must & a)
			expect_refusal(e, from, to, IBV_QP_STATE | (r->must & ~a));
		else if (!(r->may & a))
			expect_refusal(e, from, to, IBV_QP_STATE | r->must | a);
	}
	expect_success(e, from, to, IBV_QP_STATE | r->must);
	for (size_t i = 0; i < array_size(attributes); i++) {
		if (!(r->may & attributes[i]))
			continue;
		bring(e, rules, n, from);
		expect_success(e, from, to, IBV_QP_STATE | r->must | attributes[i]);
	}
	bring(e, rules, n, from);
	expect_success(e, from, to, IBV_QP_STATE | r->must | r->may);
}

static void walk(enum ibv_qp_type type, const struct rule *rules, size_t n, bool has_sqe)
{
	struct options o = options_of(type);
	struct end *e = end_open(&o);

	for (int from = IBV_QPS_RESET; from <= IBV_QPS_ERR; from++)
		for (int to = IBV_QPS_RESET; to <= IBV_QPS_ERR; to++)
			if (from != IBV_QPS_SQE || has_sqe)
				walk_edge(e, rules, n, (enum ibv_qp_state)from,
					  (enum ibv_qp_state)to);
	end_close(e);
}

static void reliable_connections_follow_the_table(void)
{
	walk(IBV_QPT_RC, rc_rules, array_size(rc_rules), false);
}

static void unreliable_connections_follow_the_table(void)
{
	walk(IBV_QPT_UC, uc_rules, array_size(uc_rules), true);
}

static void datagrams_follow_the_table(void)
{
	walk(IBV_QPT_UD, ud_rules, array_size(ud_rules), true);
}

/* ---- values ---- */

static void expect_value_error(struct end *e, struct ibv_qp_attr attr, int mask, int reason)
{
	struct ibv_qp_attr before = look(e), after;

	check_equal(ibv_modify_qp(e->qp, &attr, mask), reason);
	after = look(e);
	check(!memcmp(&before, &after, sizeof(before)));
}

static void expect_bad_value(struct end *e, struct ibv_qp_attr attr, int mask)
{
	expect_value_error(e, attr, mask, EINVAL);
}

static void values_out_of_range_are_refused(void)
{
	const size_t n = array_size(rc_rules);
	struct end *e = end_open(NULL);
	struct ibv_qp_attr attr;
	int mask = IBV_QP_STATE | rc_rules[1].must;

	attr = good_values(e, IBV_QPS_RESET, IBV_QPS_INIT);
	attr.port_num = 0;
	expect_bad_value(e, attr, mask);
	attr.port_num = rig_attr()->phys_port_cnt + 1;
	expect_bad_value(e, attr, mask);
	attr = good_values(e, IBV_QPS_RESET, IBV_QPS_INIT);
	attr.pkey_index = 60000;
	expect_bad_value(e, attr, mask);

	bring(e, rc_rules, n, IBV_QPS_INIT);
	mask = IBV_QP_STATE | must_of(rc_rules, n, IBV_QPS_INIT, IBV_QPS_RTR);
	attr = good_values(e, IBV_QPS_INIT, IBV_QPS_RTR);
	attr.path_mtu = (enum ibv_mtu)0;
	expect_bad_value(e, attr, mask);
	attr.path_mtu = (enum ibv_mtu)6;
	expect_bad_value(e, attr, mask);
	attr = good_values(e, IBV_QPS_INIT, IBV_QPS_RTR);
	attr.max_dest_rd_atomic = rig_attr()->max_qp_rd_atom + 1;
	expect_bad_value(e, attr, mask);
	attr = good_values(e, IBV_QPS_INIT, IBV_QPS_RTR);
	attr.alt_pkey_index = 60000;
	expect_bad_value(e, attr, mask | IBV_QP_ALT_PATH);
	attr = good_values(e, IBV_QPS_INIT, IBV_QPS_RTR);
	attr.alt_timeout = 32;
	expect_bad_value(e, attr, mask | IBV_QP_ALT_PATH);
	if (rig_is_ethernet()) {
		attr = good_values(e, IBV_QPS_INIT, IBV_QPS_RTR);
		attr.ah_attr.is_global = 0;
		expect_bad_value(e, attr, mask);
		attr = good_values(e, IBV_QPS_INIT, IBV_QPS_RTR);
		attr.ah_attr.grh.sgid_index = 100; /* in the table, and empty */
		expect_value_error(e, attr, mask, ENODATA);
		memset(&attr.ah_attr.grh.dgid, 0, sizeof(attr.ah_attr.grh.dgid));
		attr.ah_attr.grh.sgid_index = rig_gid_index();
		expect_bad_value(e, attr, mask);
	}

	bring(e, rc_rules, n, IBV_QPS_RTR);
	mask = IBV_QP_STATE | must_of(rc_rules, n, IBV_QPS_RTR, IBV_QPS_RTS);
	attr = good_values(e, IBV_QPS_RTR, IBV_QPS_RTS);
	attr.retry_cnt = 8;
	expect_bad_value(e, attr, mask);
	attr = good_values(e, IBV_QPS_RTR, IBV_QPS_RTS);
	attr.rnr_retry = 8;
	expect_bad_value(e, attr, mask);
	attr = good_values(e, IBV_QPS_RTR, IBV_QPS_RTS);
	attr.timeout = 32;
	expect_bad_value(e, attr, mask);
	attr = good_values(e, IBV_QPS_RTR, IBV_QPS_RTS);
	attr.max_rd_atomic = rig_attr()->max_qp_init_rd_atom + 1;
	expect_bad_value(e, attr, mask);
	end_close(e);
}

static void a_wrong_current_state_is_refused(void)
{
	const size_t n = array_size(rc_rules);
	struct end *e = end_open(NULL);
	struct ibv_qp_attr attr;

	bring(e, rc_rules, n, IBV_QPS_RTS);
	attr = good_values(e, IBV_QPS_SQD, IBV_QPS_RTS);
	expect_bad_value(e, attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
	attr.cur_qp_state = IBV_QPS_RTS;
	check_ok(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
	end_close(e);
}

static void a_query_returns_the_attributes_that_were_set(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr want, got;

	bring(e, rc_rules, array_size(rc_rules), IBV_QPS_RTS);
	want = good_values(e, IBV_QPS_RTR, IBV_QPS_RTS);
	memset(&got, 0, sizeof(got));
	check_ok(ibv_query_qp(e->qp, &got, (1 << 21) - 1, &init));
	check_equal(got.qp_state, IBV_QPS_RTS);
	check_equal(got.cur_qp_state, IBV_QPS_RTS);
	check_equal(got.path_mtu, want.path_mtu);
	check_equal(got.rq_psn, want.rq_psn);
	check_equal(got.sq_psn, want.sq_psn);
	check_equal(got.dest_qp_num, want.dest_qp_num);
	check_equal(got.qp_access_flags, want.qp_access_flags);
	check_equal(got.port_num, 1);
	check_equal(got.timeout, want.timeout);
	check_equal(got.retry_cnt, want.retry_cnt);
	check_equal(got.rnr_retry, want.rnr_retry);
	check_equal(got.max_rd_atomic, want.max_rd_atomic);
	check_equal(got.max_dest_rd_atomic, want.max_dest_rd_atomic);
	check_equal(got.min_rnr_timer, want.min_rnr_timer);
	check_equal(got.ah_attr.is_global, want.ah_attr.is_global);
	check_equal(got.ah_attr.dlid, want.ah_attr.dlid);
	if (rig_is_ethernet())
		check(!memcmp(&got.ah_attr.grh.dgid, &want.ah_attr.grh.dgid, 16));
	check_equal(init.qp_type, IBV_QPT_RC);
	check(init.send_cq == e->scq);
	check(init.recv_cq == e->rcq);
	check(init.cap.max_send_wr >= o.send_wr);
	check(init.cap.max_recv_wr >= o.recv_wr);
	check_equal(e->qp->state, IBV_QPS_RTS);
	end_close(e);
}

/* What modify changes in RTS takes effect: the right to write is taken away and given back. */
static void access_rights_may_change_while_connected(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_qp_attr attr = { .qp_access_flags = 0 };

	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 8,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	expect_ok(p.a->scq, 1);
	check_ok(ibv_modify_qp(p.b->qp, &attr, IBV_QP_ACCESS_FLAGS));
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_WRITE,
				  .len = 8,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey });
	expect_wc(p.a->scq, 2, IBV_WC_REM_INV_REQ_ERR);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reliable_connections_follow_the_table),
		TEST(unreliable_connections_follow_the_table),
		TEST(datagrams_follow_the_table),
		TEST(values_out_of_range_are_refused),
		TEST(a_wrong_current_state_is_refused),
		TEST(a_query_returns_the_attributes_that_were_set),
		TEST(access_rights_may_change_while_connected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
