/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles: the kernel finds an object by the handle in its struct. A call on an object whose handle, or
 * context, was changed fails and changes nothing, whether the object is what the call is about or one
 * that another is made of.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define NOTHING 0x7ffffffeu /* no object has this handle */

static char page[4096];

/* One object of each kind that every adapter has. */
struct estate {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *ud;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah;
};

static struct ibv_ah_attr address_of(struct ibv_context *context)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };

	assert_int_equal(ibv_query_gid(context, 1, 0, &attr.grh.dgid), 0);
	return attr;
}

static struct ibv_ah *make_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = address_of(pd->context);

	return ibv_create_ah(pd, &attr);
}

static struct ibv_srq *make_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *srq,
			      enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static void open_estate(struct estate *e, struct ibv_context *context)
{
	e->context = context;
	assert_non_null(e->pd = ibv_alloc_pd(context));
	assert_non_null(e->cq = ibv_create_cq(context, 8, NULL, NULL, 0));
	assert_non_null(e->srq = make_srq(e->pd));
	assert_non_null(e->qp = make_qp(e->pd, e->cq, e->srq, IBV_QPT_RC));
	assert_non_null(e->ud = make_qp(e->pd, e->cq, NULL, IBV_QPT_UD));
	assert_non_null(e->mr = ibv_reg_mr(e->pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE));
	assert_non_null(e->mw = ibv_alloc_mw(e->pd, IBV_MW_TYPE_1));
	assert_non_null(e->ah = make_ah(e->pd));
}

/* Each destroy succeeds: nothing was freed, and no count is wrong. */
static void close_estate(struct estate *e)
{
	assert_int_equal(ibv_destroy_ah(e->ah), 0);
	assert_int_equal(ibv_dealloc_mw(e->mw), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_destroy_qp(e->ud), 0);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_destroy_srq(e->srq), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
}

/* `call` gives `want` while `field` is `value`. */
#define REFUSED_WITH(field, value, call, want)                                                     \
	do {                                                                                       \
		typeof(field) was_ = (field);                                                      \
		(field) = (value);                                                                 \
		assert_int_equal(call, want);                                                      \
		(field) = was_;                                                                    \
	} while (0)
#define REFUSED(handle, call, want) REFUSED_WITH(handle, NOTHING, call, want)
/* REFUSED() for a call that returns a pointer. */
#define NOT_MADE(handle, call, want)                                                               \
	do {                                                                                       \
		uint32_t was_ = (handle);                                                          \
		(handle) = NOTHING;                                                                \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, want);                                                     \
		(handle) = was_;                                                                   \
	} while (0)

static void an_object_whose_handle_names_nothing_is_not_destroyed(void **state)
{
	struct estate e;

	FOR_EACH_DEVICE(context)
	{
		open_estate(&e, context);
		REFUSED(e.pd->handle, ibv_dealloc_pd(e.pd), ENOENT);
		REFUSED(e.cq->handle, ibv_destroy_cq(e.cq), ENOENT);
		REFUSED(e.srq->handle, ibv_destroy_srq(e.srq), ENOENT);
		REFUSED(e.qp->handle, ibv_destroy_qp(e.qp), ENOENT);
		REFUSED(e.mr->handle, ibv_dereg_mr(e.mr), ENOENT);
		REFUSED(e.mw->handle, ibv_dealloc_mw(e.mw), ENOENT);
		REFUSED(e.ah->handle, ibv_destroy_ah(e.ah), ENOENT);
		close_estate(&e);
	}
}

static void an_object_whose_handle_is_that_of_another_kind_is_not_destroyed(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page), 0);

		assert_non_null(mr);
		/* Numbers of keys and domains come from one space, so this one is no key. */
		REFUSED_WITH(mr->handle, pd->handle, ibv_dereg_mr(mr), ENOENT);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void an_object_whose_handle_names_nothing_is_neither_queried_nor_modified(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR }, got = { .qp_state = 77 };
	struct ibv_srq_attr srq_attr = { .srq_limit = 1 };
	struct ibv_qp_init_attr init;
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };
	struct estate e;

	FOR_EACH_DEVICE(context)
	{
		open_estate(&e, context);
		REFUSED(e.qp->handle, ibv_modify_qp(e.qp, &attr, IBV_QP_STATE), EINVAL);
		REFUSED(e.qp->handle, ibv_query_qp(e.qp, &got, IBV_QP_STATE, &init), EINVAL);
		assert_int_equal(got.qp_state, 77);
		assert_int_equal(e.qp->state, IBV_QPS_RESET);
		REFUSED(e.srq->handle, ibv_modify_srq(e.srq, &srq_attr, IBV_SRQ_LIMIT), EINVAL);
		REFUSED(e.srq->handle, ibv_query_srq(e.srq, &srq_attr), EINVAL);
		assert_int_equal(ibv_query_srq(e.srq, &srq_attr), 0);
		assert_int_equal(srq_attr.srq_limit, 0);
		srq_attr.srq_limit = 1;
		REFUSED(e.cq->handle, ibv_resize_cq(e.cq, 100), EINVAL);
		REFUSED(e.ud->handle, ibv_attach_mcast(e.ud, &group, 0xc001), EINVAL);
		REFUSED(e.ud->handle, ibv_detach_mcast(e.ud, &group, 0xc001), EINVAL);
		REFUSED(e.mr->handle,
			ibv_rereg_mr(e.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			IBV_REREG_MR_ERR_CMD);
		REFUSED(e.pd->handle, ibv_rereg_mr(e.mr, IBV_REREG_MR_CHANGE_PD, e.pd, NULL, 0, 0),
			IBV_REREG_MR_ERR_CMD);
		close_estate(&e);
	}
}

static void moderation_of_a_queue_whose_handle_names_nothing_is_refused(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE };
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);

	REFUSED(cq->handle, ibv_modify_cq(cq, &attr), EINVAL);
	assert_int_equal(ibv_modify_cq(cq, &attr), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	test_close(context);
}

static void nothing_is_made_of_an_object_whose_handle_names_nothing(void **state)
{
	struct estate e;

	FOR_EACH_DEVICE(context)
	{
		open_estate(&e, context);
		NOT_MADE(e.pd->handle, ibv_reg_mr(e.pd, page, sizeof(page), 0), EINVAL);
		NOT_MADE(e.pd->handle, ibv_alloc_mw(e.pd, IBV_MW_TYPE_1), EINVAL);
		NOT_MADE(e.pd->handle, make_ah(e.pd), EINVAL);
		NOT_MADE(e.pd->handle, make_srq(e.pd), ENOENT);
		NOT_MADE(e.pd->handle, make_qp(e.pd, e.cq, NULL, IBV_QPT_RC), ENOENT);
		NOT_MADE(e.cq->handle, make_qp(e.pd, e.cq, NULL, IBV_QPT_UD), ENOENT);
		NOT_MADE(e.srq->handle, make_qp(e.pd, e.cq, e.srq, IBV_QPT_RC), ENOENT);
		close_estate(&e);
	}
}

static void each_queue_of_a_queue_pair_is_looked_up(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_cq *good = ibv_create_cq(context, 8, NULL, NULL, 0);
		struct ibv_cq *bad = ibv_create_cq(context, 8, NULL, NULL, 0);
		struct ibv_qp_init_attr attr = {
			.send_cq = bad,
			.recv_cq = good,
			.qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		};

		NOT_MADE(bad->handle, ibv_create_qp(pd, &attr), ENOENT);
		attr.send_cq = good;
		attr.recv_cq = bad;
		NOT_MADE(bad->handle, ibv_create_qp(pd, &attr), ENOENT);
		assert_int_equal(ibv_destroy_cq(bad), 0);
		assert_int_equal(ibv_destroy_cq(good), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void an_object_of_a_changed_context_is_left_alone(void **state)
{
	struct ibv_context *other;
	struct estate e;

	FOR_EACH_DEVICE(context)
	{
		other = test_open(test_devices[i_]);
		open_estate(&e, context);
		REFUSED_WITH(e.pd->context, other, ibv_dealloc_pd(e.pd), ENOENT);
		REFUSED_WITH(e.cq->context, other, ibv_destroy_cq(e.cq), ENOENT);
		REFUSED_WITH(e.srq->context, other, ibv_destroy_srq(e.srq), ENOENT);
		REFUSED_WITH(e.qp->context, other, ibv_destroy_qp(e.qp), ENOENT);
		REFUSED_WITH(e.mr->context, other, ibv_dereg_mr(e.mr), ENOENT);
		REFUSED_WITH(e.mw->context, other, ibv_dealloc_mw(e.mw), ENOENT);
		REFUSED_WITH(e.ah->context, other, ibv_destroy_ah(e.ah), ENOENT);
		e.pd->context = other;
		assert_null(ibv_reg_mr(e.pd, page, sizeof(page), 0));
		e.pd->context = context;
		close_estate(&e);
		/* Its count is right: this is the last reference. */
		assert_int_equal(ibv_close_device(other), 0);
	}
}

static void a_changed_domain_of_a_region_or_window_does_not_matter_when_it_goes(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_parent_domain_init_attr attr = { .pd = ibv_alloc_pd(context) };
		struct ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);
		struct ibv_mr *mr = ibv_reg_mr(parent, page, sizeof(page), 0);
		struct ibv_mw *mw = ibv_alloc_mw(parent, IBV_MW_TYPE_1);
		struct ibv_ah *ah = make_ah(parent);

		mr->pd = mw->pd = ah->pd = NULL;
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		assert_int_equal(ibv_destroy_ah(ah), 0);
		assert_int_equal(ibv_dealloc_pd(parent), 0);
		assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	}
}

/* A parent domain is the library's own: only what the kernel makes in it is refused. */
static void a_parent_domain_has_the_handle_of_its_domain(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_parent_domain_init_attr attr = { .pd = ibv_alloc_pd(context) };
		struct ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);

		assert_int_equal(parent->handle, attr.pd->handle);
		NOT_MADE(parent->handle, ibv_reg_mr(parent, page, sizeof(page), 0), EINVAL);
		NOT_MADE(parent->handle, make_srq(parent), ENOENT);
		parent->handle = NOTHING;
		assert_int_equal(ibv_dealloc_pd(parent), 0);
		assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	}
}

static void device_memory_is_looked_up(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr);

	assert_non_null(dm);
	REFUSED(dm->handle, ibv_free_dm(dm), ENOENT);
	NOT_MADE(dm->handle, ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED), ENOENT);
	NOT_MADE(pd->handle, ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED), ENOENT);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(context);
}

static void xrc_domains_and_their_queues_are_looked_up(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_context *other = test_open(test_devices[i_]);
		struct ibv_xrcd_init_attr domain = {
			.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
			.fd = -1,
			.oflags = O_CREAT,
		};
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
		struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &domain);
		struct ibv_srq_init_attr_ex attr = {
			.attr = { .max_wr = 1, .max_sge = 1 },
			.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
				     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
			.srq_type = IBV_SRQT_XRC,
			.pd = pd,
			.xrcd = xrcd,
			.cq = cq,
		};

		NOT_MADE(cq->handle, ibv_create_srq_ex(context, &attr), ENOENT);
		NOT_MADE(pd->handle, ibv_create_srq_ex(context, &attr), ENOENT);
		REFUSED_WITH(xrcd->context, other, ibv_close_xrcd(xrcd), ENOENT);
		assert_int_equal(ibv_close_xrcd(xrcd), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
		test_close(other);
	}
}

static void work_queues_and_their_tables_are_looked_up(void **state)
{
	struct ibv_context *context = test_open("mlx5_0"); /* Ethernet, which they need */
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = pd, .cq = cq
	};
	struct ibv_wq_attr to_ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table_attr = { 0 };
	struct ibv_rwq_ind_table *table;
	struct ibv_wq *wq;

	NOT_MADE(pd->handle, ibv_create_wq(context, &attr), ENOENT);
	NOT_MADE(cq->handle, ibv_create_wq(context, &attr), ENOENT);
	wq = ibv_create_wq(context, &attr);
	assert_non_null(wq);
	table_attr.ind_tbl = &wq;
	REFUSED(wq->handle, ibv_modify_wq(wq, &to_ready), EINVAL);
	assert_int_equal(wq->state, IBV_WQS_RESET);
	NOT_MADE(wq->handle, ibv_create_rwq_ind_table(context, &table_attr), EINVAL);
	table = ibv_create_rwq_ind_table(context, &table_attr);
	assert_non_null(table);
	REFUSED_WITH(table->ind_tbl_handle, (int)NOTHING, ibv_destroy_rwq_ind_table(table), ENOENT);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	REFUSED(wq->handle, ibv_destroy_wq(wq), ENOENT);
	assert_int_equal(ibv_destroy_wq(wq), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(context);
}

static void flows_and_counters_are_looked_up(void **state)
{
	struct ibv_context *context = test_open("mlx5_0"); /* Ethernet, which they need */
	struct ibv_context *other = test_open("mlx5_0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_qp *qp = make_qp(pd, cq, NULL, IBV_QPT_RAW_PACKET);
	struct ibv_flow_attr attr = { .type = IBV_FLOW_ATTR_ALL_DEFAULT, .port = 1 };
	struct ibv_counters *counters;
	struct ibv_counters_init_attr none = { 0 };
	struct ibv_flow *flow;

	assert_non_null(qp);
	NOT_MADE(qp->handle, ibv_create_flow(qp, &attr), EINVAL);
	flow = ibv_create_flow(qp, &attr);
	assert_non_null(flow);
	REFUSED(flow->handle, ibv_destroy_flow(flow), ENOENT);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_non_null(counters = ibv_create_counters(context, &none));
	REFUSED_WITH(counters->context, other, ibv_destroy_counters(counters), ENOENT);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(other);
	test_close(context);
}

static void a_channel_is_known_by_its_descriptor(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
		int fd = channel->fd;
		struct ibv_cq *cq;
		void *user;

		channel->fd = -1;
		errno = 0;
		assert_null(ibv_create_cq(context, 8, NULL, channel, 0));
		assert_int_equal(errno, EBADF);
		errno = 0;
		assert_int_equal(ibv_get_cq_event(channel, &cq, &user), -1);
		assert_int_equal(errno, EBADF);
		channel->fd = fd;
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	}
}

/* Imports share the handles of the context that they come from. */
static void an_imported_object_is_known_beside_the_first_one(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_context *twin = ibv_import_device(dup(context->cmd_fd));
		struct ibv_pd *pd = ibv_alloc_pd(context), *again;
		struct ibv_mr *mr;

		assert_non_null(twin);
		again = ibv_import_pd(twin, pd->handle);
		assert_non_null(again);
		mr = ibv_reg_mr(again, page, sizeof(page), 0);
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		ibv_unimport_pd(again);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
		assert_int_equal(ibv_close_device(twin), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_whose_handle_names_nothing_is_not_destroyed),
		cmocka_unit_test(an_object_whose_handle_is_that_of_another_kind_is_not_destroyed),
		cmocka_unit_test(
			an_object_whose_handle_names_nothing_is_neither_queried_nor_modified),
		cmocka_unit_test(moderation_of_a_queue_whose_handle_names_nothing_is_refused),
		cmocka_unit_test(nothing_is_made_of_an_object_whose_handle_names_nothing),
		cmocka_unit_test(each_queue_of_a_queue_pair_is_looked_up),
		cmocka_unit_test(an_object_of_a_changed_context_is_left_alone),
		cmocka_unit_test(
			a_changed_domain_of_a_region_or_window_does_not_matter_when_it_goes),
		cmocka_unit_test(a_parent_domain_has_the_handle_of_its_domain),
		cmocka_unit_test(device_memory_is_looked_up),
		cmocka_unit_test(xrc_domains_and_their_queues_are_looked_up),
		cmocka_unit_test(work_queues_and_their_tables_are_looked_up),
		cmocka_unit_test(flows_and_counters_are_looked_up),
		cmocka_unit_test(a_channel_is_known_by_its_descriptor),
		cmocka_unit_test(an_imported_object_is_known_beside_the_first_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
