/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: what creation, attributes and destruction refuse, and what the structs say after.
 * Traffic is tested elsewhere.
 */
#include "verbs_test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "loop.h"

struct parts {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

static struct parts take(struct ibv_context *context)
{
	struct parts p = { .context = context };

	p.pd = ibv_alloc_pd(context);
	p.cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	assert_non_null(p.pd);
	assert_non_null(p.cq);
	return p;
}

/* Nothing may be left on them. */
static void give_back(struct parts p)
{
	assert_int_equal(ibv_destroy_cq(p.cq), 0);
	assert_int_equal(ibv_dealloc_pd(p.pd), 0);
}

static struct ibv_qp_init_attr_ex attributes(const struct parts *p, enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 16 },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.pd = p->pd,
	};
}

static void assert_refused(const struct parts *p, struct ibv_qp_init_attr_ex attr, int err)
{
	struct ibv_qp_cap before = attr.cap;

	errno = 0;
	assert_null(ibv_create_qp_ex(p->context, &attr));
	assert_int_equal(errno, err);
	assert_memory_equal(&attr.cap, &before, sizeof(before));
}

static struct ibv_qp *create(const struct parts *p, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex attr = attributes(p, type);
	struct ibv_qp *qp = ibv_create_qp_ex(p->context, &attr);

	assert_non_null(qp);
	return qp;
}

static void a_new_queue_pair_says_what_it_is(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);

		for (size_t i = 0; i < 3; i++) {
			struct ibv_qp_init_attr attr = { .qp_context = &p,
							 .send_cq = p.cq,
							 .recv_cq = p.cq,
							 .cap = { .max_send_wr = 5,
								  .max_recv_wr = 6,
								  .max_send_sge = 1,
								  .max_recv_sge = 1 },
							 .qp_type = types[i] };
			struct ibv_qp *qp = ibv_create_qp(p.pd, &attr);

			assert_non_null(qp);
			assert_ptr_equal(qp->context, context);
			assert_ptr_equal(qp->qp_context, &p);
			assert_ptr_equal(qp->pd, p.pd);
			assert_ptr_equal(qp->send_cq, p.cq);
			assert_ptr_equal(qp->recv_cq, p.cq);
			assert_null(qp->srq);
			assert_int_equal(qp->qp_type, types[i]);
			assert_int_equal(qp->state, IBV_QPS_RESET);
			assert_true(qp->qp_num > 1 && qp->qp_num < 0xffffff);
			assert_true(attr.cap.max_send_wr >= 5);
			assert_true(attr.cap.max_recv_wr >= 6);
			assert_int_equal(ibv_destroy_cq(p.cq), EBUSY);
			assert_int_equal(ibv_dealloc_pd(p.pd), EBUSY);
			assert_int_equal(ibv_destroy_qp(qp), 0);
		}
		give_back(p);
	}
}

static void each_type_needs_its_domain_and_queues(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		const struct ibv_qp_init_attr_ex good = attributes(&p, IBV_QPT_RC);
		struct ibv_qp_init_attr_ex attr = good;

		attr.send_cq = NULL;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.recv_cq = NULL;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.pd = NULL;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS;
		assert_refused(&p, attr, EINVAL);
		attr = attributes(&p, IBV_QPT_XRC_RECV);
		assert_refused(&p, attr, EINVAL);
		give_back(p);
	}
}

static void unknown_types_masks_and_flags_are_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		struct ibv_qp_init_attr_ex attr = attributes(&p, 7);

		assert_refused(&p, attr, EINVAL);
		assert_refused(&p, attributes(&p, IBV_QPT_DRIVER), EINVAL);
		attr = attributes(&p, IBV_QPT_RC);
		attr.comp_mask |= 1 << 20;
		assert_refused(&p, attr, i_ ? EOPNOTSUPP : EINVAL); /* by the model */
		attr = attributes(&p, IBV_QPT_RC);
		attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
		assert_refused(&p, attr, EINVAL);
		attr = attributes(&p, IBV_QPT_UD);
		attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
		assert_refused(&p, attr, EINVAL);
		give_back(p);
	}
}

static void flags_without_effect_are_taken_where_the_model_has_them(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);

		for (size_t i = 0; i < 3; i++) {
			struct ibv_qp_init_attr_ex attr = attributes(&p, types[i]);
			struct ibv_qp *qp;

			attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
			if (!i_)
				attr.create_flags |= IBV_QP_CREATE_PCI_WRITE_END_PADDING;
			qp = ibv_create_qp_ex(context, &attr);
			assert_non_null(qp);
			assert_int_equal(ibv_destroy_qp(qp), 0);
		}
		give_back(p);
	}
}

static void queues_without_elements_grant_no_inline_data(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		struct ibv_qp_init_attr_ex attr = attributes(&p, IBV_QPT_RC);
		struct ibv_qp *qp;

		attr.cap.max_send_sge = attr.cap.max_inline_data = 0;
		qp = ibv_create_qp_ex(context, &attr);
		assert_non_null(qp);
		assert_true(attr.cap.max_inline_data < 1024);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		give_back(p);
	}
}

static void domains_and_queues_of_another_context_are_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_context *other = test_open(test_devices[i_]);
		struct parts p = take(context), q = take(other);
		struct ibv_qp_init_attr_ex attr = attributes(&p, IBV_QPT_RC);

		attr.recv_cq = q.cq;
		assert_refused(&p, attr, EINVAL);
		attr = attributes(&p, IBV_QPT_RC);
		attr.send_cq = q.cq;
		assert_refused(&p, attr, EINVAL);
		attr = attributes(&p, IBV_QPT_RC);
		attr.pd = q.pd;
		assert_refused(&p, attr, EINVAL);
		give_back(p);
		give_back(q);
		test_close(other);
	}
}

static void sizes_beyond_the_device_are_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		const struct ibv_qp_init_attr_ex good = attributes(&p, IBV_QPT_RC);
		struct ibv_qp_init_attr_ex attr = good;
		struct ibv_device_attr device;

		assert_int_equal(ibv_query_device(context, &device), 0);
		attr.cap.max_send_wr = device.max_qp_wr + 1;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.cap.max_recv_wr = device.max_qp_wr + 1;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.cap.max_send_sge = device.max_sge + 1;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.cap.max_recv_sge = device.max_sge + 1;
		assert_refused(&p, attr, EINVAL);
		attr = good;
		attr.cap.max_inline_data = 1 << 20;
		assert_refused(&p, attr, EINVAL);
		give_back(p);
	}
}

/* Programs hand the same attributes, with what was granted, to one queue pair after another. */
static void the_granted_sizes_can_be_requested(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct parts p = take(context);
	struct ibv_qp_init_attr_ex attr = attributes(&p, IBV_QPT_RC);
	struct ibv_device_attr device;

	assert_int_equal(ibv_query_device(context, &device), 0);
	attr.cap.max_send_sge = attr.cap.max_recv_sge = device.max_sge;
	attr.cap.max_recv_wr = device.max_qp_wr;
	for (int i = 0; i < 2; i++) {
		struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);

		assert_non_null(qp);
		assert_int_equal(attr.cap.max_recv_sge, device.max_sge);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	give_back(p);
	test_close(context);
}

static void qp_types_0_and_1_are_refused(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct parts p = take(context);

	for (int type = 0; type <= 1; type++) {
		struct ibv_qp_init_attr_ex attr = attributes(&p, (enum ibv_qp_type)type);

		assert_null(ibv_create_qp_ex(context, &attr));
		assert_int_equal(errno, EINVAL);
	}
	give_back(p);
	test_close(context);
}

static void operations_that_a_type_does_not_have_are_refused(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct parts p = take(context);
	struct ibv_qp_init_attr_ex attr = attributes(&p, IBV_QPT_UD);
	struct ibv_qp *qp;

	attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	assert_refused(&p, attr, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_UC;
	attr.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE;
	assert_refused(&p, attr, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RC;
	attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ;
	qp = ibv_create_qp_ex(context, &attr);
	assert_non_null(qp);
	assert_ptr_equal(ibv_qp_to_qp_ex(qp), qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	qp = create(&p, IBV_QPT_RC);
	assert_null(ibv_qp_to_qp_ex(qp));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	give_back(p);
	test_close(context);
}

static void a_query_gives_back_what_was_set(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
					    .port_num = 1,
					    .qp_access_flags = IBV_ACCESS_REMOTE_READ |
							       IBV_ACCESS_LOCAL_WRITE };
		struct ibv_qp_init_attr init;
		struct ibv_qp *qp = create(&p, IBV_QPT_RC);

		assert_int_equal(ibv_modify_qp(qp, &attr,
					       IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
						       IBV_QP_ACCESS_FLAGS),
				 0);
		assert_int_equal(qp->state, IBV_QPS_INIT);
		memset(&attr, 0xee, sizeof(attr));
		assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, IBV_QPS_INIT);
		assert_int_equal(attr.cur_qp_state, IBV_QPS_INIT);
		assert_int_equal(attr.port_num, 1);
		assert_int_equal(attr.qp_access_flags & IBV_ACCESS_REMOTE_READ,
				 IBV_ACCESS_REMOTE_READ);
		assert_ptr_equal(init.send_cq, p.cq);
		assert_ptr_equal(init.recv_cq, p.cq);
		assert_int_equal(init.qp_type, IBV_QPT_RC);
		assert_true(init.cap.max_send_wr >= 8);
		assert_memory_equal(&init.cap, &attr.cap, sizeof(attr.cap));
		assert_int_equal(ibv_destroy_qp(qp), 0);
		give_back(p);
	}
}

static void a_refused_change_changes_nothing(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		struct ibv_qp *qp = create(&p, IBV_QPT_RC);
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 9 };
		struct ibv_qp_init_attr init;
		const int all =
			IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;

		assert_int_equal(ibv_modify_qp(qp, &attr, all), EINVAL);
		attr.port_num = 1;
		assert_int_equal(ibv_modify_qp(qp, &attr, all & ~IBV_QP_PKEY_INDEX), EINVAL);
		assert_int_equal(ibv_modify_qp(qp, &attr, all | IBV_QP_DEST_QPN), EINVAL);
		attr.qp_state = IBV_QPS_RTS;
		assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL);
		attr.qp_state = 77;
		assert_int_equal(ibv_modify_qp(qp, &attr, all), EINVAL);
		assert_int_equal(ibv_modify_qp(qp, &attr, 1 << 30), EOPNOTSUPP);
		assert_int_equal(qp->state, IBV_QPS_RESET);
		assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, IBV_QPS_RESET);
		assert_int_equal(attr.port_num, 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
		give_back(p);
	}
}

static void the_address_of_a_connection_is_checked(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct parts p = take(context);
	struct ibv_qp *qp = create(&p, IBV_QPT_RC);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr init;
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
		0);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	attr.ah_attr.port_num = 1;
	assert_int_equal(ibv_modify_qp(qp, &attr, rtr), EINVAL); /* no GRH */
	attr.ah_attr.is_global = 1;
	assert_int_equal(ibv_modify_qp(qp, &attr, rtr), EINVAL); /* no GID */
	assert_int_equal(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid), 0);
	attr.ah_attr.grh.sgid_index = 254;
	assert_int_equal(ibv_modify_qp(qp, &attr, rtr), ENODATA); /* an empty entry */
	attr.ah_attr.grh.sgid_index = 0;
	attr.path_mtu = 0x101; /* must not be taken for 1 */
	assert_int_equal(ibv_modify_qp(qp, &attr, rtr), EINVAL);
	attr.path_mtu = IBV_MTU_1024;
	attr.ah_attr.grh.flow_label = 0x12345;
	assert_int_equal(ibv_modify_qp(qp, &attr, rtr), 0);
	assert_int_equal(ibv_query_qp(qp, &attr, 0, &init), 0);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.grh.flow_label, 0x12345);
	assert_int_equal(attr.path_mtu, IBV_MTU_1024);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	give_back(p);
	test_close(context);
}

static void reset_forgets_completions_and_starts_anew(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
		struct loop loop;
		struct ibv_wc wc;

		loop_open(&loop, context);
		loop_send(&loop);
		assert_int_equal(ibv_modify_qp(loop.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(loop.qp->state, IBV_QPS_RESET);
		assert_int_equal(ibv_poll_cq(loop.cq, 1, &wc), 0);
		loop_close(&loop);
	}
}

static void an_error_state_flushes_what_is_posted(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
		struct ibv_recv_wr wr = { .wr_id = 99 }, *bad;
		struct loop loop;
		struct ibv_wc wc;

		loop_open(&loop, context);
		assert_int_equal(ibv_post_recv(loop.qp, &wr, &bad), 0);
		assert_int_equal(ibv_modify_qp(loop.qp, &attr, IBV_QP_STATE), 0);
		assert_int_equal(ibv_poll_cq(loop.cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id, 99);
		loop_close(&loop);
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

/* Draining a send queue on request ends in an event about the queue pair. */
static void destruction_waits_for_the_acknowledgement_of_events(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
		struct ack ack = { 0 };
		struct loop loop;
		pthread_t thread;

		loop_open(&loop, context);
		assert_int_equal(
			ibv_modify_qp(loop.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
			0);
		assert_true(test_readable(context->async_fd, TEST_WAIT_MS));
		assert_int_equal(ibv_get_async_event(context, &ack.event), 0);
		assert_int_equal(ack.event.event_type, IBV_EVENT_SQ_DRAINED);
		assert_ptr_equal(ack.event.element.qp, loop.qp);
		assert_int_equal(pthread_create(&thread, NULL, ack_later, &ack), 0);
		loop_close(&loop);
		assert_int_equal(ack.done, 1);
		pthread_join(thread, NULL);
	}
}

static void an_unfetched_event_is_dropped_with_its_queue_pair(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
		struct loop loop;

		loop_open(&loop, context);
		assert_int_equal(
			ibv_modify_qp(loop.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
			0);
		assert_true(test_readable(context->async_fd, TEST_WAIT_MS));
		loop_close(&loop);
		assert_false(test_readable(context->async_fd, 0));
	}
}

static void ece_options_need_the_vendor_id_of_the_adapter(void **state)
{
	struct ibv_context *context = test_open("mlx5_0"), *mlx4 = test_open("mlx4_0");
	struct parts p = take(context), q = take(mlx4);
	struct ibv_qp *qp = create(&p, IBV_QPT_RC), *old = create(&q, IBV_QPT_RC);
	struct ibv_ece ece = { .options = 7 };

	assert_int_equal(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	ece.vendor_id = 0x1234;
	assert_int_equal(ibv_set_ece(qp, &ece), EINVAL);
	ece.vendor_id = 0x15b3;
	ece.comp_mask = 1;
	assert_int_equal(ibv_set_ece(qp, &ece), EINVAL);
	ece.comp_mask = 0;
	assert_int_equal(ibv_set_ece(qp, &ece), 0);
	assert_int_equal(ibv_query_ece(qp, &ece), 0);
	assert_int_equal(ece.vendor_id, 0x15b3);
	assert_int_equal(ibv_query_ece(old, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_qp(old), 0);
	give_back(p);
	give_back(q);
	test_close(context);
	test_close(mlx4);
}

static void impossible_rate_limits_are_refused(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct parts p = take(context);
	struct ibv_qp *qp = create(&p, IBV_QPT_RC);
	struct ibv_qp_rate_limit_attr attr = { .comp_mask = 1 };

	assert_int_equal(ibv_modify_qp_rate_limit(qp, &attr), EINVAL);
	attr = (struct ibv_qp_rate_limit_attr){ .max_burst_sz = 100 };
	assert_int_equal(ibv_modify_qp_rate_limit(qp, &attr), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	give_back(p);
	test_close(context);
}

static void a_multicast_group_takes_ud_queue_pairs_and_keeps_them_busy(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct parts p = take(context);
		struct ibv_qp *rc = create(&p, IBV_QPT_RC);
		union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 9 } },
			      single = { .raw = { 0xfe } };
		struct loop loop;

		loop_open(&loop, context);
		assert_int_equal(ibv_attach_mcast(rc, &group, 0xc001), EINVAL);
		assert_int_equal(ibv_attach_mcast(loop.qp, &single, 0xc001), EINVAL);
		assert_int_equal(ibv_detach_mcast(loop.qp, &group, 0xc001), EINVAL);
		if (i_) /* InfiniBand: the group has a LID, too */
			assert_int_equal(ibv_attach_mcast(loop.qp, &group, 1), EINVAL);
		assert_int_equal(ibv_attach_mcast(loop.qp, &group, 0xc001), 0);
		/* Twice is once. */
		assert_int_equal(ibv_attach_mcast(loop.qp, &group, 0xc001), 0);
		assert_int_equal(ibv_destroy_qp(loop.qp), EBUSY);
		assert_int_equal(ibv_detach_mcast(loop.qp, &group, 0xc001), 0);
		assert_int_equal(ibv_detach_mcast(loop.qp, &group, 0xc001), EINVAL);
		loop_close(&loop);
		assert_int_equal(ibv_destroy_qp(rc), 0);
		give_back(p);
	}
}

/* The lower bits of the number: those in its block. */
static int first_number(void *arg)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct parts p = take(context);
	struct ibv_qp_init_attr_ex attr = attributes(&p, IBV_QPT_RC);
	struct ibv_qp *qp = ibv_create_qp_ex(context, &attr);

	return qp ? (int)(qp->qp_num & 0x7f) : 0xff;
}

static void processes_begin_at_different_numbers(void **state)
{
	int first = test_in_child(first_number, NULL), equal = 0;

	for (int i = 0; i < 8; i++)
		equal += test_in_child(first_number, NULL) == first;
	assert_true(equal < 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_queue_pair_says_what_it_is),
		cmocka_unit_test(processes_begin_at_different_numbers),
		cmocka_unit_test(each_type_needs_its_domain_and_queues),
		cmocka_unit_test(unknown_types_masks_and_flags_are_refused),
		cmocka_unit_test(flags_without_effect_are_taken_where_the_model_has_them),
		cmocka_unit_test(queues_without_elements_grant_no_inline_data),
		cmocka_unit_test(domains_and_queues_of_another_context_are_refused),
		cmocka_unit_test(sizes_beyond_the_device_are_refused),
		cmocka_unit_test(the_granted_sizes_can_be_requested),
		cmocka_unit_test(qp_types_0_and_1_are_refused),
		cmocka_unit_test(operations_that_a_type_does_not_have_are_refused),
		cmocka_unit_test(a_query_gives_back_what_was_set),
		cmocka_unit_test(a_refused_change_changes_nothing),
		cmocka_unit_test(the_address_of_a_connection_is_checked),
		cmocka_unit_test(reset_forgets_completions_and_starts_anew),
		cmocka_unit_test(an_error_state_flushes_what_is_posted),
		cmocka_unit_test(destruction_waits_for_the_acknowledgement_of_events),
		cmocka_unit_test(an_unfetched_event_is_dropped_with_its_queue_pair),
		cmocka_unit_test(ece_options_need_the_vendor_id_of_the_adapter),
		cmocka_unit_test(impossible_rate_limits_are_refused),
		cmocka_unit_test(a_multicast_group_takes_ud_queue_pairs_and_keeps_them_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
