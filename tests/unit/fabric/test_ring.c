/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "fabric/link.h"

struct both {
	struct fabric_ring_pair pair;
	struct fabric_tx tx;
	struct fabric_rx rx;
};

static void both_init(struct both *b, uint32_t size)
{
	int fd;

	memset(b, 0, sizeof(*b));
	assert_int_equal(fabric_ring_memfd(size, 2, &fd), 0);
	assert_int_equal(fabric_ring_map(fd, size, 2, &b->pair), 0);
	close(fd);
	fabric_tx_init(&b->tx, &b->pair, 0);
	fabric_rx_init(&b->rx, &b->pair, 0);
}

static void both_fini(struct both *b)
{
	fabric_ring_unmap(&b->pair);
}

static uint8_t *reserve(struct both *b, uint32_t len)
{
	int err = 0;
	uint8_t *p = fabric_tx_reserve(&b->tx, len, &err);

	assert_int_equal(err, 0);
	return p;
}

static const uint8_t *peek(struct both *b, uint32_t *len)
{
	int err = 0;
	const uint8_t *p = fabric_rx_peek(&b->rx, len, &err);

	assert_int_equal(err, 0);
	return p;
}

static void put(struct both *b, uint32_t len, uint8_t seed)
{
	uint8_t *p = reserve(b, len);

	assert_non_null(p);
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)(seed + i);
	fabric_tx_publish(&b->tx);
}

static void take(struct both *b, uint32_t len, uint8_t seed)
{
	const uint8_t *p;
	uint32_t got;

	p = peek(b, &got);
	assert_non_null(p);
	assert_int_equal(got, len);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(p[i], (uint8_t)(seed + i));
	fabric_rx_release(&b->rx);
}

static void a_new_ring_is_empty(void **state)
{
	struct both b;
	uint32_t len;

	both_init(&b, 4096);
	assert_false(fabric_rx_ready(&b.rx));
	assert_null(peek(&b, &len));
	both_fini(&b);
}

static void a_record_is_invisible_until_published(void **state)
{
	struct both b;
	uint32_t len;

	both_init(&b, 4096);
	memset(reserve(&b, 200), 0xff, 200);
	assert_null(peek(&b, &len));
	fabric_tx_publish(&b.tx);
	assert_non_null(peek(&b, &len));
	assert_int_equal(len, 200);
	both_fini(&b);
}

static void every_length_survives_many_laps(void **state)
{
	struct both b;
	uint32_t max;

	both_init(&b, 4096);
	max = b.tx.max;
	assert_int_equal(max, 2040);
	for (uint32_t lap = 0; lap < 3; lap++)
		for (uint32_t len = 0; len <= max; len++) {
			put(&b, len, (uint8_t)(len ^ lap));
			take(&b, len, (uint8_t)(len ^ lap));
		}
	/* Records one byte short of a line boundary, on it and past it, several in flight. */
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t len = 54 + i % 6;

		put(&b, len, (uint8_t)i);
		put(&b, len + 64, (uint8_t)(i + 1));
		take(&b, len, (uint8_t)i);
		take(&b, len + 64, (uint8_t)(i + 1));
	}
	both_fini(&b);
}

static void indices_wrap_around_32_bits(void **state)
{
	struct both b;
	const uint32_t start = 0u - 4096;

	both_init(&b, 4096);
	b.tx.tail = b.rx.head = start;
	b.tx.limit = start + 4096;
	atomic_store(&b.pair.ctl[0]->head, start);
	for (uint32_t i = 0; i < 1000; i++) {
		put(&b, i % 300, (uint8_t)i);
		take(&b, i % 300, (uint8_t)i);
	}
	both_fini(&b);
}

static void a_record_longer_than_the_ring_allows_is_refused(void **state)
{
	struct both b;

	both_init(&b, 4096);
	assert_null(reserve(&b, b.tx.max + 1));
	assert_null(reserve(&b, UINT32_MAX));
	assert_non_null(reserve(&b, b.tx.max));
	both_fini(&b);
}

static void a_full_ring_takes_nothing_until_one_is_released(void **state)
{
	struct both b;
	uint32_t count = 0;

	both_init(&b, 4096);
	for (; count < 4096 / 64; count++)
		put(&b, 56, (uint8_t)count);
	assert_null(reserve(&b, 0));
	take(&b, 56, 0);
	assert_non_null(reserve(&b, 56));
	fabric_tx_cancel(&b.tx);
	assert_null(reserve(&b, 57));
	both_fini(&b);
}

static void several_records_are_published_at_once_and_in_order(void **state)
{
	struct both b;
	uint32_t len;

	both_init(&b, 65536);
	for (uint32_t i = 0; i < FABRIC_PENDING_MAX; i++)
		memset(reserve(&b, i), (int)i, i);
	/* The list is full, the ring is not. */
	assert_null(reserve(&b, 1));
	assert_null(peek(&b, &len));
	fabric_tx_publish(&b.tx);
	for (uint32_t i = 0; i < FABRIC_PENDING_MAX; i++) {
		assert_non_null(peek(&b, &len));
		assert_int_equal(len, i);
		fabric_rx_release(&b.rx);
	}
	assert_non_null(reserve(&b, 1));
	both_fini(&b);
}

static void looking_ahead_sees_what_is_published_and_each_record_once(void **state)
{
	const uint32_t half = 2048 - FABRIC_HEADER;
	struct both b;
	uint32_t len = 0;

	both_init(&b, 4096);
	put(&b, 8, 1);
	assert_null(fabric_rx_look(&b.rx, fabric_record_bytes(8), &len));
	assert_non_null(reserve(&b, 100));
	assert_null(fabric_rx_look(&b.rx, fabric_record_bytes(8), &len));
	fabric_tx_publish(&b.tx);
	assert_non_null(fabric_rx_look(&b.rx, fabric_record_bytes(8), &len));
	assert_int_equal(len, 100);
	take(&b, 8, 1);
	assert_non_null(peek(&b, &len));
	fabric_rx_release(&b.rx);

	/* Two fill the ring, across its end; behind them comes the first again, which is no third. */
	put(&b, half, 2);
	put(&b, half, 3);
	assert_non_null(peek(&b, &len));
	assert_non_null(fabric_rx_look(&b.rx, 2048, &len));
	assert_int_equal(len, half);
	assert_int_equal(((const uint8_t *)fabric_rx_look(&b.rx, 2048, &len))[0], 3);
	assert_null(fabric_rx_look(&b.rx, 4096, &len));
	take(&b, half, 2);
	take(&b, half, 3);
	both_fini(&b);
}

static void a_cancelled_record_leaves_no_trace(void **state)
{
	struct both b;
	uint32_t len;

	both_init(&b, 4096);
	put(&b, 100, 1);
	memset(reserve(&b, 1000), 0xff, 1000);
	memset(reserve(&b, 500), 0xff, 500);
	fabric_tx_cancel(&b.tx);
	take(&b, 100, 1);
	assert_null(peek(&b, &len));
	/* The line that held 0xff in its first word is now a header that reads 0. */
	for (uint32_t i = 0; i < 100; i++) {
		put(&b, 8, (uint8_t)i);
		take(&b, 8, (uint8_t)i);
		assert_null(peek(&b, &len));
	}
	both_fini(&b);
}

static void stale_bytes_never_look_like_a_record(void **state)
{
	struct both b;
	uint32_t len;

	both_init(&b, 4096);
	for (uint32_t i = 0; i < 50; i++) {
		uint8_t *p = reserve(&b, 1500);

		/* Every word of the payload is a valid header. */
		for (uint32_t at = 0; at + 8 <= 1500; at += 8)
			memcpy(p + at, &(uint64_t){ FABRIC_PRESENT + 8 }, 8);
		fabric_tx_publish(&b.tx);
		assert_non_null(peek(&b, &len));
		assert_int_equal(len, 1500);
		fabric_rx_release(&b.rx);
		assert_null(peek(&b, &len));
	}
	both_fini(&b);
}

static void impossible_headers_are_an_error_not_an_access(void **state)
{
	struct both b;
	const uint64_t lies[] = { 1,
				  FABRIC_PRESENT - 1,
				  FABRIC_PRESENT + 2041,
				  FABRIC_PRESENT + UINT32_MAX,
				  2 * FABRIC_PRESENT,
				  UINT64_MAX,
				  1ull << 63 };

	both_init(&b, 4096);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint32_t len = 12345;
		int err = 0;

		atomic_store((_Atomic uint64_t *)(void *)b.pair.data[0], lies[i]);
		assert_null(fabric_rx_peek(&b.rx, &len, &err));
		assert_int_not_equal(err, 0);
		assert_int_equal(len, 12345);
	}
	both_fini(&b);
}

static void impossible_credit_is_an_error(void **state)
{
	const uint32_t lies[] = { 64 * 65, 1, 63, 0u - 64, 1u << 31, UINT32_MAX };

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct both b;
		int err = 0;

		both_init(&b, 4096);
		while (reserve(&b, 56))
			fabric_tx_publish(&b.tx);
		atomic_store(&b.pair.ctl[0]->head, lies[i]);
		assert_null(fabric_tx_reserve(&b.tx, 56, &err));
		assert_int_equal(err, -EPROTO);
		both_fini(&b);
	}
}

static void credit_that_goes_backwards_is_an_error(void **state)
{
	struct both b;
	int err = 0;

	both_init(&b, 4096);
	for (int i = 0; i < 64; i++)
		put(&b, 56, 0);
	for (int i = 0; i < 10; i++)
		take(&b, 56, 0);
	for (int i = 0; i < 10; i++)
		put(&b, 56, 0);
	assert_null(reserve(&b, 1));
	atomic_store(&b.pair.ctl[0]->head, 9 * 64);
	assert_null(fabric_tx_reserve(&b.tx, 1, &err));
	assert_int_equal(err, -EPROTO);
	both_fini(&b);
}

static void without_a_ring_nothing_is_ready_and_nothing_fits(void **state)
{
	struct fabric_tx tx = { 0 };
	struct fabric_rx rx;
	struct both b;
	uint32_t len;
	int err = 0;

	fabric_rx_none(&rx);
	assert_false(fabric_rx_ready(&rx));
	assert_null(fabric_rx_peek(&rx, &len, &err));
	assert_null(fabric_tx_reserve(&tx, 0, &err));
	both_init(&b, 4096);
	put(&b, 8, 1);
	fabric_tx_none(&b.tx);
	fabric_rx_none(&b.rx);
	assert_null(reserve(&b, 0));
	assert_null(peek(&b, &len));
	assert_int_equal(err, 0);
	both_fini(&b);
}

static void release_says_when_the_producer_wants_room(void **state)
{
	struct both b;
	uint32_t len;
	int told = 0;

	both_init(&b, 4096);
	while (reserve(&b, 56))
		fabric_tx_publish(&b.tx);
	atomic_store(&b.pair.ctl[0]->want, 1 + b.tx.tail - 2048);
	for (int i = 1; i <= 64; i++) {
		peek(&b, &len);
		if (fabric_rx_release(&b.rx) && !told)
			told = i;
	}
	assert_int_equal(told, 32);
	both_fini(&b);
}

static void a_file_that_is_not_such_a_ring_is_not_mapped(void **state)
{
	struct fabric_ring_pair pair = { 0 };
	int fd;

	assert_int_equal(fabric_ring_memfd(4000, 2, &fd), -EINVAL);
	assert_int_equal(fabric_ring_memfd(2048, 2, &fd), -EINVAL);
	assert_int_equal(fabric_ring_memfd(FABRIC_RING_MAX * 2, 2, &fd), -EINVAL);
	assert_int_equal(fabric_ring_memfd(4096, 2, &fd), 0);
	assert_int_equal(fabric_ring_map(fd, 8192, 2, &pair), -EPROTO);
	assert_int_equal(fabric_ring_map(fd, 4096, 1, &pair), -EPROTO);
	assert_int_equal(fabric_ring_map(fd, 0, 2, &pair), -EPROTO);
	assert_int_equal(ftruncate(fd, 0), -1); /* sealed */
	assert_null(pair.base);
	close(fd);
}

/* ---- two threads ---- */

#define STREAM 200000u

static uint32_t stream_len(uint32_t i)
{
	uint32_t mixed = i * 2654435761u;

	return (mixed >> 8) % (mixed & 0x80 ? 1000 : 60);
}

static void *produce(void *arg)
{
	struct both *b = arg;

	for (uint32_t i = 0; i < STREAM; i++) {
		uint32_t len = stream_len(i);
		uint8_t *p;
		int err = 0;

		while (!(p = fabric_tx_reserve(&b->tx, len, &err))) {
			if (err)
				return "credit";
			fabric_tx_publish(&b->tx);
			sched_yield();
		}
		memset(p, (uint8_t)i, len);
		if (i % 3 == 0)
			fabric_tx_publish(&b->tx);
	}
	fabric_tx_publish(&b->tx);
	return NULL;
}

static void a_stream_between_two_threads_arrives_whole(void **state)
{
	struct both b;
	pthread_t thread;
	void *failed;

	/* Room for 100 records: on a busy machine each full ring costs a turn of the scheduler. */
	both_init(&b, 32768);
	assert_int_equal(pthread_create(&thread, NULL, produce, &b), 0);
	for (uint32_t i = 0; i < STREAM; i++) {
		const uint8_t *p;
		uint32_t len;

		while (!(p = peek(&b, &len)))
			sched_yield();
		assert_int_equal(len, stream_len(i));
		for (uint32_t at = 0; at < len; at++)
			if (p[at] != (uint8_t)i)
				fail_msg("record %u differs at %u", i, at);
		fabric_rx_release(&b.rx);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	both_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_ring_is_empty),
		cmocka_unit_test(a_record_is_invisible_until_published),
		cmocka_unit_test(every_length_survives_many_laps),
		cmocka_unit_test(indices_wrap_around_32_bits),
		cmocka_unit_test(a_record_longer_than_the_ring_allows_is_refused),
		cmocka_unit_test(a_full_ring_takes_nothing_until_one_is_released),
		cmocka_unit_test(several_records_are_published_at_once_and_in_order),
		cmocka_unit_test(looking_ahead_sees_what_is_published_and_each_record_once),
		cmocka_unit_test(a_cancelled_record_leaves_no_trace),
		cmocka_unit_test(stale_bytes_never_look_like_a_record),
		cmocka_unit_test(impossible_headers_are_an_error_not_an_access),
		cmocka_unit_test(impossible_credit_is_an_error),
		cmocka_unit_test(credit_that_goes_backwards_is_an_error),
		cmocka_unit_test(without_a_ring_nothing_is_ready_and_nothing_fits),
		cmocka_unit_test(release_says_when_the_producer_wants_room),
		cmocka_unit_test(a_file_that_is_not_such_a_ring_is_not_mapped),
		cmocka_unit_test(a_stream_between_two_threads_arrives_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
