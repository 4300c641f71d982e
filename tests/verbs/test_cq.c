/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues and channels: what is refused, the order of destruction, events that wait to be
 * acknowledged. Completions come from a UD queue pair that sends to a missing one.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

static void sizes_and_vectors_out_of_range_are_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_device_attr attr;
		const struct {
			int cqe, vector;
		} wrong[] = { { 0, 0 }, { -1, 0 }, { 1, context->num_comp_vectors }, { 1, -1 } };

		assert_int_equal(ibv_query_device(context, &attr), 0);
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			errno = 0;
			assert_null(
				ibv_create_cq(context, wrong[i].cqe, NULL, NULL, wrong[i].vector));
			assert_int_equal(errno, EINVAL);
		}
		assert_null(ibv_create_cq(context, attr.max_cqe + 1, NULL, NULL, 0));
		assert_int_equal(errno, EINVAL);
	}
}

static void the_public_struct_says_what_was_asked_for(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
		int mark;
		struct ibv_cq *cq =
			ibv_create_cq(context, 100, &mark, channel, context->num_comp_vectors - 1);

		assert_non_null(cq);
		assert_ptr_equal(cq->context, context);
		assert_ptr_equal(cq->cq_context, &mark);
		assert_ptr_equal(cq->channel, channel);
		assert_true(cq->cqe >= 100);
		assert_int_equal(channel->refcnt, 1);
		assert_int_equal(ibv_destroy_cq(cq), 0);
		assert_int_equal(channel->refcnt, 0);
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	}
}

static void extended_attributes_are_checked(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		const struct ibv_cq_init_attr_ex good = { .cqe = 4,
							  .wc_flags = IBV_WC_STANDARD_FLAGS };
		struct ibv_cq_init_attr_ex attr = good;
		struct ibv_cq_ex *cq;

		attr.comp_mask = 1 << 9;
		assert_null(ibv_create_cq_ex(context, &attr));
		assert_int_equal(errno, EINVAL);
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
		attr.flags = 1 << 9;
		assert_null(ibv_create_cq_ex(context, &attr));
		assert_int_equal(errno, i_ ? EOPNOTSUPP : EINVAL);
		attr = good;
		attr.wc_flags |= 1ull << 40;
		assert_null(ibv_create_cq_ex(context, &attr));
		assert_int_equal(errno, EOPNOTSUPP);
		attr = good;
		attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
		attr.parent_domain = pd; /* a plain one */
		assert_null(ibv_create_cq_ex(context, &attr));
		assert_int_equal(errno, EINVAL);
		/* A field whose bit is not set does not count. */
		attr = good;
		attr.flags = -1;
		attr.parent_domain = (void *)8;
		cq = ibv_create_cq_ex(context, &attr);
		assert_non_null(cq);
		assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void a_queue_keeps_its_parent_domain_busy(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_parent_domain_init_attr parent_attr = { .pd = ibv_alloc_pd(context) };
	struct ibv_cq_init_attr_ex attr = { .cqe = 4,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_cq_ex *cq;

	attr.parent_domain = ibv_alloc_parent_domain(context, &parent_attr);
	cq = ibv_create_cq_ex(context, &attr);
	assert_non_null(cq);
	assert_int_equal(ibv_dealloc_pd(attr.parent_domain), EBUSY);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(ibv_dealloc_pd(attr.parent_domain), 0);
	assert_int_equal(ibv_dealloc_pd(parent_attr.pd), 0);
	test_close(context);
}

struct allocator {
	bool has_memory;
	size_t asked, given, freed;
};

static void *give(struct ibv_pd *pd, void *arg, size_t size, size_t align, uint64_t type)
{
	struct allocator *a = arg;

	a->asked++;
	if (!a->has_memory)
		return IBV_ALLOCATOR_USE_DEFAULT;
	a->given++;
	return aligned_alloc(align, (size + align - 1) / align * align);
}

static void take_back(struct ibv_pd *pd, void *arg, void *ptr, uint64_t type)
{
	((struct allocator *)arg)->freed++;
	free(ptr);
}

static void a_resized_queue_gets_memory_of_its_parent_domain(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct allocator allocator = { 0 };
	struct ibv_parent_domain_init_attr parent_attr = {
		.pd = ibv_alloc_pd(context),
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = give,
		.free = take_back,
		.pd_context = &allocator,
	};
	struct ibv_cq_init_attr_ex attr = { .cqe = 4,
					    .wc_flags = IBV_WC_STANDARD_FLAGS,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_cq *cq;

	attr.parent_domain = ibv_alloc_parent_domain(context, &parent_attr);
	assert_non_null(attr.parent_domain);
	cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(context, &attr));
	assert_int_equal(allocator.asked, 2); /* the ring and its record */
	allocator.has_memory = true;
	assert_int_equal(ibv_resize_cq(cq, 100), 0);
	assert_int_equal(allocator.given, 1);
	assert_int_equal(ibv_resize_cq(cq, 1000), 0);
	assert_int_equal(allocator.freed, 1);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(allocator.given, 2);
	assert_int_equal(allocator.freed, 2);
	assert_int_equal(ibv_dealloc_pd(attr.parent_domain), 0);
	assert_int_equal(ibv_dealloc_pd(parent_attr.pd), 0);
	test_close(context);
}

static void a_channel_of_another_context_is_refused(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_context *other = test_open(test_devices[i_]);
		struct ibv_comp_channel *channel = ibv_create_comp_channel(other);

		assert_null(ibv_create_cq(context, 4, NULL, channel, 0));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(channel->refcnt, 0);
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
		test_close(other);
	}
}

static void a_channel_with_a_queue_is_busy(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
		struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, channel, 0);

		assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
		assert_int_equal(fcntl(channel->fd, F_GETFD), FD_CLOEXEC);
		assert_int_equal(ibv_destroy_cq(cq), 0);
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	}
}

static void a_queue_with_a_queue_pair_is_busy_and_works_on(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct loop loop;

		loop_open(&loop, context);
		assert_int_equal(ibv_destroy_cq(loop.cq), EBUSY);
		loop_send(&loop);
		loop_poll(&loop);
		loop_close(&loop);
	}
}

static void an_empty_channel_that_does_not_block_gives_eagain(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
		struct ibv_cq *cq = (void *)8;
		void *user = (void *)16;

		fcntl(channel->fd, F_SETFL, O_NONBLOCK);
		assert_int_equal(ibv_get_cq_event(channel, &cq, &user), -1);
		assert_int_equal(errno, EAGAIN);
		assert_ptr_equal(cq, (void *)8);
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	}
}

static void an_event_names_its_queue(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct loop loop;
		struct ibv_cq *cq;
		void *user;

		loop_open(&loop, context);
		assert_int_equal(ibv_req_notify_cq(loop.cq, 0), 0);
		assert_false(test_readable(loop.channel->fd, 0));
		loop_send(&loop);
		assert_true(test_readable(loop.channel->fd, TEST_WAIT_MS));
		assert_int_equal(ibv_get_cq_event(loop.channel, &cq, &user), 0);
		assert_ptr_equal(cq, loop.cq);
		assert_ptr_equal(user, &loop);
		ibv_ack_cq_events(cq, 1);
		loop_poll(&loop);
		loop_close(&loop);
	}
}

static void an_unfetched_event_is_dropped_with_its_queue(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_comp_channel *channel;
		struct loop loop;

		loop_open(&loop, context);
		assert_int_equal(ibv_req_notify_cq(loop.cq, 0), 0);
		loop_send(&loop);
		assert_true(test_readable(loop.channel->fd, TEST_WAIT_MS));
		channel = loop.channel;
		loop.channel = NULL; /* stays open */
		loop_close(&loop);
		assert_false(test_readable(channel->fd, 0));
		assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	}
}

struct ack {
	struct ibv_cq *cq;
	_Atomic int done;
};

static void *ack_later(void *arg)
{
	const struct timespec while_ = { .tv_nsec = 50000000 };
	struct ack *ack = arg;

	/* Long enough that a destruction that does not wait is over before. */
	nanosleep(&while_, NULL);
	ack->done = 1;
	ibv_ack_cq_events(ack->cq, 1);
	return NULL;
}

static void destruction_waits_for_the_acknowledgement(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct loop loop;
		struct ack ack = { 0 };
		struct ibv_cq *cq;
		pthread_t thread;
		void *user;

		loop_open(&loop, context);
		assert_int_equal(ibv_req_notify_cq(loop.cq, 0), 0);
		loop_send(&loop);
		assert_int_equal(ibv_get_cq_event(loop.channel, &cq, &user), 0);
		ack.cq = cq;
		assert_int_equal(pthread_create(&thread, NULL, ack_later, &ack), 0);
		loop_close(&loop);
		assert_int_equal(ack.done, 1);
		pthread_join(thread, NULL);
	}
}

static void resizing_keeps_the_completions_in_the_queue(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_device_attr attr;
		struct loop loop;
		int cqe;

		loop_open(&loop, context);
		ibv_query_device(context, &attr);
		cqe = loop.cq->cqe;
		assert_int_equal(ibv_resize_cq(loop.cq, 0), EINVAL);
		assert_int_equal(ibv_resize_cq(loop.cq, -5), EINVAL);
		assert_int_equal(ibv_resize_cq(loop.cq, attr.max_cqe + 1), EINVAL);
		assert_int_equal(loop.cq->cqe, cqe);
		for (int i = 0; i < 3; i++)
			loop_send(&loop);
		assert_int_equal(ibv_resize_cq(loop.cq, 1), EINVAL);
		assert_int_equal(loop.cq->cqe, cqe);
		assert_int_equal(ibv_resize_cq(loop.cq, 4 * cqe), 0);
		assert_true(loop.cq->cqe >= 4 * cqe);
		for (int i = 0; i < 3; i++)
			loop_poll(&loop);
		assert_int_equal(ibv_resize_cq(loop.cq, 1), 0);
		loop_send(&loop);
		loop_poll(&loop);
		loop_close(&loop);
	}
}

static void moderation_has_limits(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { .cq_count = 10, .cq_period = 100 } };

	assert_int_equal(ibv_modify_cq(cq, &attr), 0);
	attr.moderate.cq_period = 5000;
	assert_int_equal(ibv_modify_cq(cq, &attr), EINVAL);
	attr.attr_mask = 0;
	assert_int_equal(ibv_modify_cq(cq, &attr), EINVAL);
	attr.attr_mask = 1 << 5;
	assert_int_equal(ibv_modify_cq(cq, &attr), EOPNOTSUPP);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	test_close(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_vectors_out_of_range_are_refused),
		cmocka_unit_test(the_public_struct_says_what_was_asked_for),
		cmocka_unit_test(extended_attributes_are_checked),
		cmocka_unit_test(a_queue_keeps_its_parent_domain_busy),
		cmocka_unit_test(a_resized_queue_gets_memory_of_its_parent_domain),
		cmocka_unit_test(a_channel_of_another_context_is_refused),
		cmocka_unit_test(a_channel_with_a_queue_is_busy),
		cmocka_unit_test(a_queue_with_a_queue_pair_is_busy_and_works_on),
		cmocka_unit_test(an_empty_channel_that_does_not_block_gives_eagain),
		cmocka_unit_test(an_event_names_its_queue),
		cmocka_unit_test(an_unfetched_event_is_dropped_with_its_queue),
		cmocka_unit_test(destruction_waits_for_the_acknowledgement),
		cmocka_unit_test(resizing_keeps_the_completions_in_the_queue),
		cmocka_unit_test(moderation_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
