/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "cm/fake_verbs.h"
#include "cm/support.h"

static void without_an_adapter_there_is_no_channel_and_no_id(void **state)
{
	struct rdma_cm_id *id = NULL;

	fake.no_devices = 1;
	errno = 0;
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, ENODEV);
	assert_refused(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), ENODEV);
	assert_null(id);
	fake.no_devices = 0;
}

static void a_channel_is_readable_while_an_event_waits(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_false(readable(channel->fd));
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 1), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, -5, UINT64_MAX), 0);
	assert_true(readable(channel->fd));

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->param.arg, 1);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_true(readable(channel->fd));
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_true(event->param.arg == UINT64_MAX);
	assert_int_equal(event->status, -5);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_false(readable(channel->fd));

	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void a_non_blocking_channel_without_events_answers_eagain(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;

	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	errno = 0;
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EAGAIN);
	rdma_destroy_event_channel(channel);
}

static void *get_one(void *channel)
{
	struct rdma_cm_event *event = NULL;

	rdma_get_cm_event(channel, &event);
	return event;
}

static void a_blocked_reader_wakes_up_for_an_event(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	pthread_t thread;
	void *event;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(pthread_create(&thread, NULL, get_one, channel), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 9), 0);
	assert_int_equal(pthread_join(thread, &event), 0);
	assert_non_null(event);
	assert_int_equal(((struct rdma_cm_event *)event)->param.arg, 9);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void *destroy(void *id)
{
	return (void *)(intptr_t)rdma_destroy_id(id);
}

static void destroying_an_id_waits_for_its_events_to_be_acknowledged(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	pthread_t thread;
	void *result;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(pthread_create(&thread, NULL, destroy, id), 0);
	/* Once the call has begun the id is unknown; it may not end before the event does. */
	while (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0) == 0)
		sched_yield();
	assert_int_equal(pthread_tryjoin_np(thread, &result), EBUSY);
	assert_ptr_equal(event->id, id);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	assert_false(readable(channel->fd));
	rdma_destroy_event_channel(channel);
}

static void destroying_an_id_drops_its_queued_events(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id, *other;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_create_id(channel, &other, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_write_cm_event(other, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	expect_event(channel, other, RDMA_CM_EVENT_USER, 0);
	assert_false(readable(channel->fd));
	assert_int_equal(rdma_destroy_id(other), 0);
	rdma_destroy_event_channel(channel);
}

enum { WRITERS = 2, WRITES = 2000 };

static void *write_events(void *id)
{
	for (int i = 0; i < WRITES; i++)
		if (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0))
			return id;
	return NULL;
}

static void a_channel_is_readable_while_threads_write_and_not_when_all_is_read(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	pthread_t thread[WRITERS];
	struct rdma_cm_id *id;
	void *result;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_events, id), 0);
	for (int i = 0; i < WRITERS * WRITES; i++) {
		struct rdma_cm_event *event;

		assert_int_equal(rdma_get_cm_event(channel, &event), 0);
		assert_int_equal(rdma_ack_cm_event(event), 0);
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(pthread_join(thread[i], &result), 0);
		assert_null(result);
	}
	assert_false(readable(channel->fd));
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void an_event_is_acknowledged_once(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event, stranger = { 0 };
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_refused(rdma_ack_cm_event(event), EINVAL);
	assert_refused(rdma_ack_cm_event(&stranger), EINVAL);
	assert_refused(rdma_ack_cm_event(NULL), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void foreign_channels_are_refused(void **state)
{
	struct rdma_event_channel stranger = { .fd = 0 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event = NULL;

	assert_refused(rdma_get_cm_event(&stranger, &event), EINVAL);
	assert_refused(rdma_get_cm_event(NULL, &event), EINVAL);
	assert_refused(rdma_get_cm_event(channel, NULL), EINVAL);
	assert_null(event);
	rdma_destroy_event_channel(&stranger);
	rdma_destroy_event_channel(NULL);
	rdma_destroy_event_channel(channel);
	assert_refused(rdma_get_cm_event(channel, &event), EINVAL);
	rdma_destroy_event_channel(channel);
}

static void an_id_outlives_its_channel_without_harm(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	rdma_destroy_event_channel(channel);
	assert_null(id->channel);
	assert_int_equal(rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0), 0);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void only_user_events_can_be_written(void **state)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	assert_refused(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0), EINVAL);
	assert_refused(rdma_write_cm_event(id, RDMA_CM_EVENT_INTERNAL, 0, 0), EINVAL);
	assert_refused(rdma_write_cm_event(NULL, RDMA_CM_EVENT_USER, 0, 0), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void every_event_has_its_name(void **state)
{
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_ADDR_RESOLVED),
			    "RDMA_CM_EVENT_ADDR_RESOLVED");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_TIMEWAIT_EXIT),
			    "RDMA_CM_EVENT_TIMEWAIT_EXIT");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_INTERNAL), "RDMA_CM_EVENT_INTERNAL");
	assert_string_equal(rdma_event_str(RDMA_CM_EVENT_INTERNAL + 1), "UNKNOWN EVENT");
	assert_string_equal(rdma_event_str(-1), "UNKNOWN EVENT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_adapter_there_is_no_channel_and_no_id),
		cmocka_unit_test(a_channel_is_readable_while_an_event_waits),
		cmocka_unit_test(a_non_blocking_channel_without_events_answers_eagain),
		cmocka_unit_test(a_blocked_reader_wakes_up_for_an_event),
		cmocka_unit_test(destroying_an_id_waits_for_its_events_to_be_acknowledged),
		cmocka_unit_test(destroying_an_id_drops_its_queued_events),
		cmocka_unit_test(
			a_channel_is_readable_while_threads_write_and_not_when_all_is_read),
		cmocka_unit_test(an_event_is_acknowledged_once),
		cmocka_unit_test(foreign_channels_are_refused),
		cmocka_unit_test(an_id_outlives_its_channel_without_harm),
		cmocka_unit_test(only_user_events_can_be_written),
		cmocka_unit_test(every_event_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
