/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion counters: what they count, and their attachment to queue pairs.
 */
#include "rig.h"

#define SEND         IBV_QP_ATTACH_COMP_CNTR_OP_SEND
#define RECV         IBV_QP_ATTACH_COMP_CNTR_OP_RECV
#define READ         IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ
#define WRITE        IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE
#define REMOTE_READ  IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ
#define REMOTE_WRITE IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE

static struct ibv_comp_cntr *counter(enum ibv_comp_cntr_type type)
{
	struct ibv_comp_cntr_init_attr attr = { .type = type };

	return must(ibv_create_comp_cntr(rig_context(), &attr));
}

static int attach(struct end *e, struct ibv_comp_cntr *cntr, uint32_t ops)
{
	struct ibv_qp_attach_comp_cntr_attr attr = { .op_mask = ops };

	return ibv_qp_attach_comp_cntr(e->qp, cntr, &attr);
}

static uint64_t done(struct ibv_comp_cntr *cntr)
{
	uint64_t value = 0;

	check_ok(ibv_read_comp_cntr(cntr, &value));
	return value;
}

static uint64_t failed(struct ibv_comp_cntr *cntr)
{
	uint64_t value = 0;

	check_ok(ibv_read_err_comp_cntr(cntr, &value));
	return value;
}

/* Two ends that are not connected yet. */
static struct pair fresh_pair(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p = { end_open(&o), end_open(&o) };

	return p;
}

static void join(struct pair *p)
{
	struct address a = end_address(p->a), b = end_address(p->b);

	end_connect(p->a, &b);
	end_connect(p->b, &a);
}

static void one_sided(struct end *e, enum ibv_wr_opcode op, uint32_t len)
{
	post(e, &(struct work){ .id = 9,
				.op = op,
				.flags = IBV_SEND_SIGNALED,
				.len = len,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
	expect_ok(e->scq, 9);
}

static void requests_count_whether_they_ask_for_a_completion_or_not(void)
{
	struct pair p = fresh_pair();
	struct ibv_comp_cntr *sent = counter(IBV_COMP_CNTR_TYPE_WRS);
	struct ibv_comp_cntr *got = counter(IBV_COMP_CNTR_TYPE_WRS);

	check_ok(attach(p.a, sent, SEND));
	check_ok(attach(p.b, got, RECV));
	join(&p);
	for (int i = 0; i < 10; i++) {
		post_recv(p.b, i, 0, 64);
		post(p.a, &(struct work){ .id = i,
					  .op = i % 2 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
					  .flags = i == 9 ? IBV_SEND_SIGNALED : 0,
					  .len = 8 });
	}
	expect_ok(p.a->scq, 9);
	check_equal(done(sent), 10);
	wait_for(done(got) == 10);
	one_sided(p.a, IBV_WR_RDMA_WRITE, 8);
	one_sided(p.a, IBV_WR_RDMA_READ, 8);
	check_equal(done(sent), 10);
	check_equal(done(got), 10);
	check_equal(failed(sent) + failed(got), 0);
	pair_close(&p);
	check_ok(ibv_destroy_comp_cntr(sent));
	check_ok(ibv_destroy_comp_cntr(got));
}

static void a_counter_of_bytes_adds_up_what_was_moved(void)
{
	struct pair p = fresh_pair();
	struct ibv_comp_cntr *moved = counter(IBV_COMP_CNTR_TYPE_BYTES);

	check_ok(attach(p.a, moved, SEND | WRITE | READ));
	check_ok(attach(p.b, moved, RECV));
	join(&p);
	one_sided(p.a, IBV_WR_RDMA_WRITE, 1000);
	check_equal(done(moved), 1000);
	one_sided(p.a, IBV_WR_RDMA_READ, 200);
	check_equal(done(moved), 1200);
	post_recv(p.b, 1, 0, 64);
	one_sided(p.a, IBV_WR_SEND, 30);
	expect_ok(p.b->rcq, 1);
	check_equal(done(moved), 1260); /* once at each end */
	pair_close(&p);
	check_ok(ibv_destroy_comp_cntr(moved));
}

static void target(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ibv_comp_cntr *writes = counter(IBV_COMP_CNTR_TYPE_WRS);
	struct ibv_comp_cntr *reads = counter(IBV_COMP_CNTR_TYPE_BYTES);
	struct end *e = end_open(&o);

	check_ok(attach(e, writes, REMOTE_WRITE));
	check_ok(attach(e, reads, REMOTE_READ));
	end_meet(e, fd);
	/* never polls */
	wait_for(done(writes) == 7);
	wait_for(done(reads) == 7 * 5000);
	check_filled(e->buf, 5000, 6);
	hear_mark(fd, 'b');
	wait_for(failed(writes) == 1);
	check_equal(done(writes), 7);
	hear_mark(fd, 'E');
	end_close(e);
	check_ok(ibv_destroy_comp_cntr(writes));
	check_ok(ibv_destroy_comp_cntr(reads));
}

static void a_target_counts_remote_operations(void)
{
	struct peer peer = peer_start(target);
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);

	end_meet(e, peer.fd);
	for (int i = 0; i < 7; i++) {
		fill(e->buf, 5000, i);
		one_sided(e, IBV_WR_RDMA_WRITE, 5000);
		one_sided(e, IBV_WR_RDMA_READ, 5000);
	}
	tell_mark(peer.fd, 'b');
	post(e, &(struct work){ .id = 3,
				.op = IBV_WR_RDMA_WRITE,
				.len = 8,
				.raddr = e->to.va,
				.rkey = e->to.rkey + 1 });
	expect_wc(e->scq, 3, IBV_WC_REM_ACCESS_ERR);
	tell_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

static void failed_and_flushed_requests_are_counted_as_errors(void)
{
	struct pair p = fresh_pair();
	struct ibv_comp_cntr *writes = counter(IBV_COMP_CNTR_TYPE_BYTES);
	struct ibv_comp_cntr *got = counter(IBV_COMP_CNTR_TYPE_WRS);

	check_ok(attach(p.a, writes, WRITE));
	check_ok(attach(p.b, got, RECV));
	join(&p);
	post_recv(p.b, 1, 0, 64);
	post_recv(p.b, 2, 0, 64);
	for (int i = 0; i < 3; i++)
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_WRITE,
					  .len = 8,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey + 1 });
	expect_wc(p.a->scq, 0, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p.a->scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p.a->scq, 2, IBV_WC_WR_FLUSH_ERR);
	check_equal(failed(writes), 3);
	check_equal(done(writes), 0);
	expect_wc(p.b->rcq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p.b->rcq, 2, IBV_WC_WR_FLUSH_ERR);
	check_equal(failed(got), 2);
	pair_close(&p);
	check_ok(ibv_destroy_comp_cntr(writes));
	check_ok(ibv_destroy_comp_cntr(got));
}

static void a_counter_is_set_and_increased_by_hand(void)
{
	struct ibv_comp_cntr *c = counter(IBV_COMP_CNTR_TYPE_WRS);

	check_equal(done(c) + failed(c), 0);
	check_ok(ibv_set_comp_cntr(c, 100));
	check_ok(ibv_inc_comp_cntr(c, 11));
	check_ok(ibv_set_err_comp_cntr(c, 5));
	check_ok(ibv_inc_err_comp_cntr(c, 2));
	check_equal(done(c), 111);
	check_equal(failed(c), 7);
	check_ok(ibv_set_comp_cntr(c, UINT64_MAX));
	check_ok(ibv_inc_comp_cntr(c, 1));
	check_equal(done(c), 0);
	check_ok(ibv_destroy_comp_cntr(c));
}

static void an_operation_has_one_counter_and_keeps_it(void)
{
	struct pair p = fresh_pair();
	struct ibv_comp_cntr *one = counter(IBV_COMP_CNTR_TYPE_WRS);
	struct ibv_comp_cntr *two = counter(IBV_COMP_CNTR_TYPE_WRS);

	check_ok(attach(p.a, one, SEND | READ));
	check_equal(attach(p.a, two, READ | WRITE), EBUSY);
	check_ok(attach(p.a, two, WRITE)); /* nothing of the refused request was kept */
	check_equal(attach(p.a, two, WRITE), EBUSY);
	check_equal(ibv_destroy_comp_cntr(one), EBUSY);
	end_to_init(p.b);
	check_ok(attach(p.b, two, SEND));
	end_drop_qp(p.a);
	check_ok(ibv_destroy_comp_cntr(one));
	check_equal(ibv_destroy_comp_cntr(two), EBUSY);
	pair_close(&p);
	check_ok(ibv_destroy_comp_cntr(two));
}

static void invalid_attributes_are_refused(void)
{
	struct ibv_comp_cntr_init_attr attr = { .comp_mask = 1 };
	struct ibv_comp_cntr *c = counter(IBV_COMP_CNTR_TYPE_WRS);
	struct ibv_qp_attach_comp_cntr_attr with_mask = { .comp_mask = 1, .op_mask = SEND };
	struct pair p = pair_open(NULL);
	struct ibv_context *other = rig_open();
	struct end *fresh;

	check_refused(ibv_create_comp_cntr(rig_context(), &attr), EINVAL);
	attr = (struct ibv_comp_cntr_init_attr){ .flags = 1 };
	check_refused(ibv_create_comp_cntr(rig_context(), &attr), EINVAL);
	attr = (struct ibv_comp_cntr_init_attr){ .type = 2 };
	check_refused(ibv_create_comp_cntr(rig_context(), &attr), EINVAL);
	check_equal(attach(p.a, c, SEND), EINVAL); /* in RTS */
	fresh = end_open(NULL);
	check_equal(attach(fresh, c, 0), EINVAL);
	check_equal(attach(fresh, c, 1 << 6), EOPNOTSUPP);
	check_equal(ibv_qp_attach_comp_cntr(fresh->qp, c, &with_mask), EINVAL);
	check_ok(ibv_destroy_comp_cntr(c));
	attr = (struct ibv_comp_cntr_init_attr){ 0 };
	c = must(ibv_create_comp_cntr(other, &attr));
	check_equal(attach(fresh, c, SEND), EINVAL); /* of another context */
	check_ok(ibv_destroy_comp_cntr(c));
	check_ok(ibv_close_device(other));
	end_close(fresh);
	pair_close(&p);
}

static void the_device_reports_its_counter_capabilities(void)
{
	struct ibv_comp_cntr_caps caps = { 0 };

	check_ok(ibv_query_comp_cntr_caps(rig_context(), &caps));
	check_equal(caps.max_value, UINT64_MAX);
	check(caps.max_counters > 0);
	check_equal(caps.supported_qp_attach_ops,
		    SEND | RECV | READ | WRITE | REMOTE_READ | REMOTE_WRITE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(requests_count_whether_they_ask_for_a_completion_or_not),
		TEST(a_counter_of_bytes_adds_up_what_was_moved),
		TEST(a_target_counts_remote_operations),
		TEST(failed_and_flushed_requests_are_counted_as_errors),
		TEST(a_counter_is_set_and_increased_by_hand),
		TEST(an_operation_has_one_counter_and_keeps_it),
		TEST(invalid_attributes_are_refused),
		TEST(the_device_reports_its_counter_capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
