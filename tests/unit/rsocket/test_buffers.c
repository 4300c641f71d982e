/* SPDX-License-Identifier: BSD-2-Clause */
/* The send ring, the receive queue and positions in vectors of buffers. */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "rsocket/iov.h"
#include "rsocket/recv_queue.h"
#include "rsocket/send_ring.h"

static void a_reservation_past_the_end_of_the_ring_is_two_pieces(void **state)
{
	uint8_t buf[100];
	struct rs_send_ring ring;
	struct ibv_sge pieces[2];

	rs_send_ring_init(&ring, buf, sizeof(buf), 7);
	assert_int_equal(rs_send_ring_reserve(&ring, 70, pieces), 1);
	assert_ptr_equal(pieces[0].addr, buf);
	rs_send_ring_release(&ring, 70);
	assert_int_equal(rs_send_ring_reserve(&ring, 50, pieces), 2);
	assert_ptr_equal(pieces[0].addr, buf + 70);
	assert_int_equal(pieces[0].length, 30);
	assert_ptr_equal(pieces[1].addr, buf);
	assert_int_equal(pieces[1].length, 20);
	assert_int_equal(pieces[1].lkey, 7);
	assert_int_equal(ring.free, 50);
}

static void a_reservation_up_to_the_end_is_one_piece_and_the_next_begins_at_the_start(void **state)
{
	uint8_t buf[64];
	struct rs_send_ring ring;
	struct ibv_sge pieces[2];

	rs_send_ring_init(&ring, buf, sizeof(buf), 0);
	assert_int_equal(rs_send_ring_reserve(&ring, 64, pieces), 1);
	assert_int_equal(ring.free, 0);
	rs_send_ring_release(&ring, 64);
	assert_int_equal(rs_send_ring_reserve(&ring, 1, pieces), 1);
	assert_ptr_equal(pieces[0].addr, buf);
}

struct queue {
	uint8_t buf[64];
	struct rs_recv_queue q;
};

static int make_queue(void **state)
{
	static struct queue queue;

	for (size_t i = 0; i < sizeof(queue.buf); i++)
		queue.buf[i] = i;
	*state = &queue;
	return rs_recv_queue_init(&queue.q, queue.buf, sizeof(queue.buf), 4);
}

static int drop_queue(void **state)
{
	rs_recv_queue_fini(&((struct queue *)*state)->q);
	return 0;
}

/* Reads all that is unread, as the program would. */
static size_t read_all(struct rs_recv_queue *q, uint8_t *to)
{
	const void *piece;
	size_t total = 0;
	uint32_t len;

	while ((len = rs_recv_queue_piece(q, 0, 1000, &piece))) {
		memcpy(to + total, piece, len);
		total += len;
		rs_recv_queue_consume(q, len);
	}
	return total;
}

static void the_peer_cannot_claim_more_than_it_was_granted(void **state)
{
	struct rs_recv_queue *q = &((struct queue *)*state)->q;

	assert_int_equal(rs_recv_queue_push(q, 33), -EPROTO);
	assert_int_equal(rs_recv_queue_push(q, 32), 0);
	assert_int_equal(rs_recv_queue_push(q, 1), -EPROTO);
	assert_int_equal(q->unread, 32);
}

static void the_peer_cannot_send_more_messages_than_the_queue_has(void **state)
{
	struct rs_recv_queue *q = &((struct queue *)*state)->q;

	for (int i = 0; i < 4; i++)
		assert_int_equal(rs_recv_queue_push(q, 1), 0);
	assert_int_equal(rs_recv_queue_push(q, 1), -EPROTO);
}

static void the_second_half_can_be_granted_at_once_and_the_first_when_it_has_been_read(void **state)
{
	struct queue *queue = *state;
	struct rs_recv_queue *q = &queue->q;
	uint8_t to[64];

	assert_true(rs_recv_queue_can_grant(q));
	assert_ptr_equal(rs_recv_queue_grant(q), queue->buf + 32);
	assert_false(rs_recv_queue_can_grant(q));
	rs_recv_queue_push(q, 31);
	read_all(q, to);
	assert_false(rs_recv_queue_can_grant(q));
	rs_recv_queue_push(q, 1);
	read_all(q, to);
	assert_true(rs_recv_queue_can_grant(q));
	assert_ptr_equal(rs_recv_queue_grant(q), queue->buf);
}

static void messages_count_as_read_when_their_last_byte_has_been(void **state)
{
	struct rs_recv_queue *q = &((struct queue *)*state)->q;

	rs_recv_queue_push(q, 10);
	rs_recv_queue_push(q, 5);
	rs_recv_queue_consume(q, 9);
	assert_int_equal(q->seq, 0);
	rs_recv_queue_consume(q, 1);
	assert_int_equal(q->seq, 1);
	rs_recv_queue_consume(q, 2);
	assert_int_equal(q->seq, 1);
	rs_recv_queue_consume(q, 3);
	assert_int_equal(q->seq, 2);
	assert_int_equal(q->count, 0);
}

static void bytes_come_in_order_around_the_end_of_the_buffer(void **state)
{
	struct rs_recv_queue *q = &((struct queue *)*state)->q;
	uint8_t to[64];

	rs_recv_queue_grant(q);
	rs_recv_queue_push(q, 32);
	assert_int_equal(read_all(q, to), 32);
	rs_recv_queue_push(q, 20);
	assert_int_equal(read_all(q, to), 20);
	rs_recv_queue_grant(q);
	rs_recv_queue_push(q, 12);
	rs_recv_queue_push(q, 8);
	assert_int_equal(read_all(q, to), 20);
	assert_int_equal(to[0], 52);
	assert_int_equal(to[11], 63);
	assert_int_equal(to[12], 0);
	assert_int_equal(to[19], 7);
}

static void a_piece_may_lie_behind_bytes_that_were_only_looked_at(void **state)
{
	struct queue *queue = *state;
	const void *piece;

	rs_recv_queue_push(&queue->q, 20);
	assert_int_equal(rs_recv_queue_piece(&queue->q, 5, 100, &piece), 15);
	assert_ptr_equal(piece, queue->buf + 5);
	assert_int_equal(rs_recv_queue_piece(&queue->q, 20, 100, &piece), 0);
	assert_int_equal(queue->q.unread, 20);
}

static void a_vector_is_gathered_across_empty_buffers(void **state)
{
	char a[] = "abc", b[] = "defg", to[8] = "";
	const struct iovec vec[] = { { a, 3 }, { NULL, 0 }, { b, 4 } };
	struct rs_iov iov;

	assert_int_equal(rs_iov_init(&iov, vec, 3), 0);
	assert_int_equal(iov.left, 7);
	rs_iov_gather(&iov, to, 2);
	rs_iov_gather(&iov, to + 2, 5);
	assert_string_equal(to, "abcdefg");
	assert_int_equal(iov.left, 0);
}

static void data_is_scattered_over_a_vector(void **state)
{
	char a[4] = "", b[4] = "";
	const struct iovec vec[] = { { a, 2 }, { b, 3 } };
	struct rs_iov iov;

	rs_iov_init(&iov, vec, 2);
	rs_iov_scatter(&iov, "xyz", 3);
	assert_string_equal(a, "xy");
	assert_string_equal(b, "z");
	assert_int_equal(iov.left, 2);
}

static void a_vector_of_more_bytes_than_a_call_can_return_is_refused(void **state)
{
	const struct iovec vec[] = { { NULL, SIZE_MAX / 2 }, { NULL, 1 } };
	struct rs_iov iov;

	assert_int_equal(rs_iov_init(&iov, vec, 2), -EINVAL);
	assert_int_equal(rs_iov_init(&iov, vec, 1025), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reservation_past_the_end_of_the_ring_is_two_pieces),
		cmocka_unit_test(
			a_reservation_up_to_the_end_is_one_piece_and_the_next_begins_at_the_start),
		cmocka_unit_test_setup_teardown(the_peer_cannot_claim_more_than_it_was_granted,
						make_queue, drop_queue),
		cmocka_unit_test_setup_teardown(
			the_peer_cannot_send_more_messages_than_the_queue_has, make_queue,
			drop_queue),
		cmocka_unit_test_setup_teardown(
			the_second_half_can_be_granted_at_once_and_the_first_when_it_has_been_read,
			make_queue, drop_queue),
		cmocka_unit_test_setup_teardown(
			messages_count_as_read_when_their_last_byte_has_been, make_queue,
			drop_queue),
		cmocka_unit_test_setup_teardown(bytes_come_in_order_around_the_end_of_the_buffer,
						make_queue, drop_queue),
		cmocka_unit_test_setup_teardown(
			a_piece_may_lie_behind_bytes_that_were_only_looked_at, make_queue,
			drop_queue),
		cmocka_unit_test(a_vector_is_gathered_across_empty_buffers),
		cmocka_unit_test(data_is_scattered_over_a_vector),
		cmocka_unit_test(a_vector_of_more_bytes_than_a_call_can_return_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
