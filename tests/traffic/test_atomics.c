/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomics: exactly once, between queue pairs, threads and processes.
 */
#include "rig.h"

#include <stdatomic.h>

static uint64_t *word(struct end *e, size_t off)
{
	return (uint64_t *)(e->buf + off);
}

static void add(struct end *e, uint64_t id, size_t off, size_t there, uint64_t what)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_ATOMIC_FETCH_AND_ADD,
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = 8,
				.raddr = e->to.va + there,
				.rkey = e->to.rkey,
				.compare = what });
}

static void swap(struct end *e, uint64_t id, size_t off, size_t there, uint64_t from, uint64_t to)
{
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_ATOMIC_CMP_AND_SWP,
				.flags = IBV_SEND_SIGNALED,
				.off = off,
				.len = 8,
				.raddr = e->to.va + there,
				.rkey = e->to.rkey,
				.compare = from,
				.swap = to });
}

static void fetch_and_add_returns_the_old_value(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_wc wc;

	*word(p.b, 64) = 0xfffffffffffffff0;
	add(p.a, 1, 8, 64, 0x20);
	wc = expect_ok(p.a->scq, 1);
	check_equal(wc.opcode, IBV_WC_FETCH_ADD);
	check_equal(wc.byte_len, 8);
	check_equal(*word(p.a, 8), 0xfffffffffffffff0);
	check_equal(*word(p.b, 64), 0x10);
	pair_close(&p);
}

static void compare_and_swap_swaps_only_on_equality(void)
{
	struct pair p = pair_open(NULL);

	*word(p.b, 0) = 0x1122334455667788;
	swap(p.a, 1, 0, 0, 0x1122334455667789, 1);
	check_equal(expect_ok(p.a->scq, 1).opcode, IBV_WC_COMP_SWAP);
	check_equal(*word(p.a, 0), 0x1122334455667788);
	check_equal(*word(p.b, 0), 0x1122334455667788);
	swap(p.a, 2, 0, 0, 0x1122334455667788, 0x8877665544332211);
	expect_ok(p.a->scq, 2);
	check_equal(*word(p.a, 0), 0x1122334455667788);
	check_equal(*word(p.b, 0), 0x8877665544332211);
	pair_close(&p);
}

static void an_unaligned_atomic_is_an_invalid_request(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_wc wc;

	memset(p.b->buf, 0, 64);
	add(p.a, 1, 0, 4, 1);
	wc = wait_wc(p.a->scq);
	check_equal(wc.wr_id, 1);
	check_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
	check(wc.vendor_err != 0);
	check(is_all(p.b->buf, 64, 0));
	pair_close(&p);
}

/* The mlx5 driver says 8 whatever the program does; a ConnectX-3 believes what it is told. */
static void an_old_value_needs_eight_bytes(void)
{
	static const uint32_t lengths[] = { 4, 7, 9, 16 };

	for (size_t i = 0; i < array_size(lengths); i++) {
		struct pair p = pair_open(NULL);

		memset(p.a->buf, 0xee, 16);
		*word(p.b, 0) = 5;
		post(p.a, &(struct work){ .id = 1,
					  .op = IBV_WR_ATOMIC_FETCH_AND_ADD,
					  .flags = IBV_SEND_SIGNALED,
					  .len = lengths[i],
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey,
					  .compare = 1 });
		if (rig_is_mlx5()) {
			check_equal(expect_ok(p.a->scq, 1).byte_len, 8);
			check_equal(*word(p.a, 0), 5);
		} else {
			expect_wc(p.a->scq, 1, IBV_WC_LOC_LEN_ERR);
			check(is_all(p.a->buf, 16, 0xee));
			check_equal(*word(p.b, 0), 5);
		}
		pair_close(&p);
	}
}

static void an_old_value_of_no_bytes_is_a_local_length_error(void)
{
	struct pair p = pair_open(NULL);

	*word(p.b, 0) = 5;
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 0,
				  .raddr = p.a->to.va,
				  .rkey = p.a->to.rkey,
				  .compare = 1 });
	expect_wc(p.a->scq, 1, IBV_WC_LOC_LEN_ERR);
	check_equal(*word(p.b, 0), 5);
	pair_close(&p);
}

static void a_queue_of_atomics_is_executed_in_order(void)
{
	struct pair p = pair_open(NULL);

	*word(p.b, 0) = 5;
	for (unsigned int i = 0; i < 60; i++)
		add(p.a, i, 4096 + i * 8, 0, 3);
	for (unsigned int i = 0; i < 60; i++) {
		expect_ok(p.a->scq, i);
		check_equal(*word(p.a, 4096 + i * 8), 5 + 3 * i);
	}
	check_equal(*word(p.b, 0), 5 + 3 * 60);
	pair_close(&p);
}

/* ---- several processes on one word ---- */

#define PROCESSES 3
#define ADDS      2000u

/* Adds with a window of several, and checks that what it got only grows. */
static void adder(int fd)
{
	struct end *e = end_open(NULL);
	unsigned int sent = 0, done = 0;
	uint64_t before = 0;

	end_meet(e, fd);
	wait_for(({
		struct ibv_wc wc;

		for (; sent < ADDS && sent - done < 16; sent++)
			add(e, sent, (sent % 16) * 8, 128, 1);
		while (ibv_poll_cq(e->scq, 1, &wc) == 1) {
			uint64_t old = *word(e, (done % 16) * 8);

			check_equal(wc.status, IBV_WC_SUCCESS);
			check_equal(wc.wr_id, done);
			check(!done || old > before);
			before = old;
			done++;
		}
		done == ADDS;
	}));
	tell_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

static void adds_of_several_processes_are_never_lost_or_doubled(void)
{
	struct peer peer[PROCESSES];
	struct end *e[PROCESSES];

	for (int i = 0; i < PROCESSES; i++)
		peer[i] = peer_start(adder);
	for (int i = 0; i < PROCESSES; i++) {
		e[i] = i ? end_twin(e[0]) : end_open(NULL);
		end_meet(e[i], peer[i].fd);
	}
	for (int i = 0; i < PROCESSES; i++)
		hear_mark(peer[i].fd, 'E');
	check_equal(*(volatile uint64_t *)(e[0]->buf + 128), PROCESSES * ADDS);
	for (int i = 0; i < PROCESSES; i++)
		tell_mark(peer[i].fd, 'E');
	for (int i = 1; i < PROCESSES; i++)
		twin_close(e[i]);
	end_close(e[0]);
	for (int i = 0; i < PROCESSES; i++)
		peer_join(&peer[i]);
}

/* A lock by compare-and-swap around a plain counter that is read and written by RDMA. */
static void locker(int fd)
{
	struct end *e = end_open(NULL);

	end_meet(e, fd);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t count;

		wait_for(({
			swap(e, 1, 0, 256, 0, 1);
			expect_ok(e->scq, 1);
			*word(e, 0) == 0;
		}));
		post(e, &(struct work){ .id = 2,
					.op = IBV_WR_RDMA_READ,
					.flags = IBV_SEND_SIGNALED,
					.off = 8,
					.len = 8,
					.raddr = e->to.va + 264,
					.rkey = e->to.rkey });
		expect_ok(e->scq, 2);
		count = *word(e, 8) + 1;
		memcpy(e->buf + 16, &count, 8);
		post(e, &(struct work){ .op = IBV_WR_RDMA_WRITE,
					.off = 16,
					.len = 8,
					.raddr = e->to.va + 264,
					.rkey = e->to.rkey });
		swap(e, 3, 0, 256, 1, 0);
		expect_ok(e->scq, 3);
		check_equal(*word(e, 0), 1);
	}
	tell_mark(fd, 'E');
	hear_mark(fd, 'E');
	end_close(e);
}

static void a_lock_by_compare_and_swap_excludes(void)
{
	struct peer peer[2] = { peer_start(locker), peer_start(locker) };
	struct end *e = end_open(NULL), *twin = end_twin(e);

	end_meet(e, peer[0].fd);
	end_meet(twin, peer[1].fd);
	for (int i = 0; i < 2; i++)
		hear_mark(peer[i].fd, 'E');
	check_equal(*(volatile uint64_t *)(e->buf + 264), 400);
	check_equal(*(volatile uint64_t *)(e->buf + 256), 0);
	for (int i = 0; i < 2; i++)
		tell_mark(peer[i].fd, 'E');
	twin_close(twin);
	end_close(e);
	for (int i = 0; i < 2; i++)
		peer_join(&peer[i]);
}

/* The owner's own CPU atomics count, too, where the adapter says so. */
static void counter(int fd)
{
	struct end *e = end_open(NULL);

	end_meet(e, fd);
	for (unsigned int i = 0; i < 2000; i++)
		atomic_fetch_add((_Atomic uint64_t *)(e->buf + 64), 1);
	hear_mark(fd, 'E');
	check_equal(*word(e, 64), 2000 + 1000);
	tell_mark(fd, 'E');
	end_close(e);
}

static void adds_of_the_owner_and_of_a_peer_add_up(void)
{
	struct peer peer = peer_start(counter);
	struct end *e = end_open(NULL);

	if (rig_attr()->atomic_cap != IBV_ATOMIC_GLOB)
		printf("atomic_cap is %d: not promised, but so it is\n", rig_attr()->atomic_cap);
	end_meet(e, peer.fd);
	for (unsigned int i = 0; i < 1000; i++) {
		add(e, i, 0, 64, 1);
		expect_ok(e->scq, i);
	}
	tell_mark(peer.fd, 'E');
	hear_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fetch_and_add_returns_the_old_value),
		TEST(compare_and_swap_swaps_only_on_equality),
		TEST(an_unaligned_atomic_is_an_invalid_request),
		TEST(an_old_value_needs_eight_bytes),
		TEST(an_old_value_of_no_bytes_is_a_local_length_error),
		TEST(a_queue_of_atomics_is_executed_in_order),
		TEST(adds_of_several_processes_are_never_lost_or_doubled),
		TEST(a_lock_by_compare_and_swap_excludes),
		TEST(adds_of_the_owner_and_of_a_peer_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
