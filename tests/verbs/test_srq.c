/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues and XRC domains: refusals, limits, objects that keep others busy, domains that
 * processes share.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct ibv_srq *create(struct ibv_pd *pd, uint32_t max_wr)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = max_wr, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &attr);

	assert_non_null(srq);
	assert_true(attr.attr.max_wr >= max_wr);
	return srq;
}

static void sizes_beyond_the_device_are_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_srq_init_attr attr = { .attr = { .max_sge = 1 } };
		struct ibv_device_attr device;

		ibv_query_device(context, &device);
		attr.attr.max_wr = device.max_srq_wr + 1;
		assert_null(ibv_create_srq(pd, &attr));
		assert_int_equal(errno, EINVAL);
		attr.attr.max_wr = 4;
		attr.attr.max_sge = device.max_srq_sge + 1;
		assert_null(ibv_create_srq(pd, &attr));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void types_that_a_model_lacks_or_that_lack_something_are_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		bool mlx5 = !strncmp(ibv_get_device_name(context->device), "mlx5", 4);
		struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 },
						     .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
								  IBV_SRQ_INIT_ATTR_PD,
						     .srq_type = IBV_SRQT_TM };

		attr.pd = ibv_alloc_pd(context);
		assert_null(ibv_create_srq_ex(context, &attr)); /* tags, without their number */
		assert_int_equal(errno, mlx5 ? EINVAL : EOPNOTSUPP);
		attr.srq_type = 9;
		assert_null(ibv_create_srq_ex(context, &attr));
		assert_int_equal(errno, EINVAL);
		attr.srq_type = IBV_SRQT_XRC; /* without a domain */
		assert_null(ibv_create_srq_ex(context, &attr));
		assert_int_equal(errno, EINVAL);
		attr.comp_mask |= 1 << 12;
		assert_null(ibv_create_srq_ex(context, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	}
}

static void a_limit_is_within_the_queue_and_can_be_asked_for(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_srq *srq = create(pd, 10);
		struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
		struct ibv_srq_attr attr;

		/* As many as the limit must be posted, or it is reached at once. */
		for (int i = 0; i < 8; i++)
			assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		assert_int_equal(ibv_query_srq(srq, &attr), 0);
		assert_true(attr.max_wr >= 10);
		assert_int_equal(attr.srq_limit, 0);
		attr.srq_limit = 5;
		assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
		assert_int_equal(ibv_query_srq(srq, &attr), 0);
		assert_int_equal(attr.srq_limit, 5);
		attr.srq_limit = attr.max_wr + 1;
		assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
		assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
		assert_int_equal(ibv_modify_srq(srq, &attr, 1 << 7), EINVAL);
		assert_int_equal(ibv_query_srq(srq, &attr), 0);
		assert_int_equal(attr.srq_limit, 5);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

struct ack {
	struct ibv_async_event event;
	_Atomic int done;
};

static void *ack_later(void *arg)
{
	const struct timespec while_ = { .tv_nsec = 50000000 };
	struct ack *ack = arg;

	/* Long enough that a destruction that does not wait is over before. */
	nanosleep(&while_, NULL);
	ack->done = 1;
	ibv_ack_async_event(&ack->event);
	return NULL;
}

static void a_limit_above_what_is_posted_is_an_event_to_be_acknowledged(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_srq *srq = create(pd, 10);
		struct ibv_srq_attr attr = { .srq_limit = 3 };
		struct ack ack = { 0 };
		pthread_t thread;

		assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
		assert_true(test_readable(context->async_fd, TEST_WAIT_MS));
		assert_int_equal(ibv_get_async_event(context, &ack.event), 0);
		assert_int_equal(ack.event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
		assert_ptr_equal(ack.event.element.srq, srq);
		assert_int_equal(ibv_query_srq(srq, &attr), 0);
		assert_int_equal(attr.srq_limit, 0);
		assert_int_equal(pthread_create(&thread, NULL, ack_later, &ack), 0);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		assert_int_equal(ack.done, 1);
		pthread_join(thread, NULL);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void a_queue_with_a_queue_pair_is_busy(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
		struct ibv_srq *srq = create(pd, 10);
		struct ibv_qp_init_attr attr = {
			.send_cq = cq,
			.recv_cq = cq,
			.srq = srq,
			.cap = { .max_send_wr = 1, .max_recv_wr = 1u << 30, .max_send_sge = 1 },
			.qp_type = IBV_QPT_RC
		};
		struct ibv_qp *qp = ibv_create_qp(pd, &attr);

		/* Receive sizes do not count: there is no receive queue. */
		assert_non_null(qp);
		assert_int_equal(attr.cap.max_recv_wr, 0);
		assert_ptr_equal(qp->srq, srq);
		assert_int_equal(ibv_destroy_srq(srq), EBUSY);
		assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = fd,
					   .oflags = oflags };

	return ibv_open_xrcd(context, &attr);
}

static struct ibv_srq *create_xrc(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq,
				  struct ibv_xrcd *xrcd)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = 4, .max_sge = 1 },
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					     .srq_type = IBV_SRQT_XRC,
					     .pd = pd,
					     .xrcd = xrcd,
					     .cq = cq };

	return ibv_create_srq_ex(context, &attr);
}

static void a_domain_wants_a_file_or_none(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1 };
		struct ibv_xrcd *one, *two;

		assert_null(ibv_open_xrcd(context, &attr));
		assert_int_equal(errno, EINVAL);
		attr.comp_mask = 1 << 9;
		assert_null(ibv_open_xrcd(context, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
		assert_null(open_xrcd(context, 9999, O_CREAT));
		assert_int_equal(errno, EBADF);
		one = open_xrcd(context, -1, O_CREAT);
		two = open_xrcd(context, -1, O_CREAT);
		assert_non_null(one);
		assert_non_null(two);
		assert_int_equal(ibv_close_xrcd(one), 0);
		assert_int_equal(ibv_close_xrcd(two), 0);
	}
}

static int temp_file(void)
{
	char path[] = "/tmp/verbena-xrcd-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

static void a_domain_on_a_file_is_created_once(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_context *other = test_open(test_devices[i_]);
		struct ibv_xrcd *one, *two;
		int fd = temp_file();

		assert_null(open_xrcd(context, fd, 0));
		assert_int_equal(errno, EAGAIN);
		one = open_xrcd(context, fd, O_CREAT | O_EXCL);
		assert_non_null(one);
		assert_null(open_xrcd(other, fd, O_CREAT | O_EXCL));
		assert_int_equal(errno, EINVAL);
		two = open_xrcd(other, fd, 0);
		assert_non_null(two);
		assert_int_equal(ibv_close_xrcd(one), 0);
		/* The second keeps it. */
		one = open_xrcd(context, fd, 0);
		assert_non_null(one);
		assert_int_equal(ibv_close_xrcd(one), 0);
		assert_int_equal(ibv_close_xrcd(two), 0);
		assert_null(open_xrcd(context, fd, 0));
		assert_int_equal(errno, EAGAIN);
		close(fd);
		test_close(other);
	}
}

static int join_in_child(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_xrcd *xrcd = context ? open_xrcd(context, *(int *)arg, 0) : NULL;

	/* Left open: the domain ends with the process. */
	return !xrcd;
}

static void processes_share_a_domain_and_it_ends_with_them(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	int fd = temp_file();
	struct ibv_xrcd *xrcd = open_xrcd(context, fd, O_CREAT);

	assert_non_null(xrcd);
	assert_int_equal(test_in_child(join_in_child, &fd), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(test_in_child(join_in_child, &fd), 1);
	assert_null(open_xrcd(context, fd, 0));
	assert_int_equal(errno, EAGAIN);
	close(fd);
	test_close(context);
}

static void a_connectx_3_numbers_xrc_queues_only(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_srq *srq = ibv_create_srq(pd, &attr);
		uint32_t number = 77;

		assert_non_null(srq);
		assert_int_equal(ibv_get_srq_num(srq, &number), i_ ? EOPNOTSUPP : 0);
		assert_int_equal(number == 77, i_);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void a_domain_with_a_queue_is_busy(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
		struct ibv_xrcd *xrcd = open_xrcd(context, -1, O_CREAT);
		struct ibv_srq *srq = create_xrc(context, pd, cq, xrcd);
		struct ibv_qp_init_attr attr = {
			.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC
		};
		uint32_t number = 0;

		assert_non_null(srq);
		assert_int_equal(ibv_get_srq_num(srq, &number), 0);
		assert_int_not_equal(number, 0);
		assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
		assert_int_equal(ibv_destroy_cq(cq), EBUSY);
		/* Only XRC requests come through it. */
		assert_null(ibv_create_qp(pd, &attr));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(ibv_destroy_srq(srq), 0);
		assert_int_equal(ibv_close_xrcd(xrcd), 0);
		assert_int_equal(ibv_destroy_cq(cq), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void a_receive_side_lives_until_its_last_handle_is_gone(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_xrcd *xrcd = open_xrcd(context, -1, O_CREAT);
		struct ibv_xrcd *other = open_xrcd(context, -1, O_CREAT);
		struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV,
						    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
						    .xrcd = xrcd };
		struct ibv_qp_open_attr open_attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM |
								   IBV_QP_OPEN_ATTR_XRCD |
								   IBV_QP_OPEN_ATTR_TYPE,
						      .qp_type = IBV_QPT_XRC_RECV };
		struct ibv_qp_attr state_attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
		struct ibv_qp_init_attr init;
		struct ibv_qp *qp = ibv_create_qp_ex(context, &attr), *again;

		assert_non_null(qp);
		open_attr.qp_num = qp->qp_num;
		open_attr.xrcd = other;
		assert_null(ibv_open_qp(context, &open_attr));
		assert_int_equal(errno, EINVAL);
		open_attr.xrcd = xrcd;
		open_attr.qp_type = IBV_QPT_RC;
		assert_null(ibv_open_qp(context, &open_attr));
		assert_int_equal(errno, EINVAL);
		open_attr.qp_type = IBV_QPT_XRC_RECV;
		again = ibv_open_qp(context, &open_attr);
		assert_non_null(again);
		assert_int_equal(again->qp_num, qp->qp_num);
		assert_int_equal(ibv_modify_qp(again, &state_attr,
					       IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
						       IBV_QP_ACCESS_FLAGS),
				 0);
		assert_int_equal(ibv_query_qp(qp, &state_attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(state_attr.qp_state, IBV_QPS_INIT);

		assert_int_equal(ibv_destroy_qp(qp), 0);
		assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
		assert_int_equal(ibv_query_qp(again, &state_attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(state_attr.qp_state, IBV_QPS_INIT);
		assert_int_equal(ibv_destroy_qp(again), 0);
		assert_null(ibv_open_qp(context, &open_attr));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(ibv_close_xrcd(xrcd), 0);
		assert_int_equal(ibv_close_xrcd(other), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_beyond_the_device_are_refused),
		cmocka_unit_test(types_that_a_model_lacks_or_that_lack_something_are_refused),
		cmocka_unit_test(a_limit_is_within_the_queue_and_can_be_asked_for),
		cmocka_unit_test(a_limit_above_what_is_posted_is_an_event_to_be_acknowledged),
		cmocka_unit_test(a_queue_with_a_queue_pair_is_busy),
		cmocka_unit_test(a_domain_wants_a_file_or_none),
		cmocka_unit_test(a_domain_on_a_file_is_created_once),
		cmocka_unit_test(processes_share_a_domain_and_it_ends_with_them),
		cmocka_unit_test(a_connectx_3_numbers_xrc_queues_only),
		cmocka_unit_test(a_domain_with_a_queue_is_busy),
		cmocka_unit_test(a_receive_side_lives_until_its_last_handle_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
