/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages far beyond any ring: up to the 2^31 bytes that a message may have at most. Slow, since
 * every byte is written, moved and looked at.
 */
#include "rig.h"

#include <sys/sysinfo.h>

#define MIB (1ull << 20)

static const uint64_t sizes[] = { 16 * MIB + 1, 2048 * MIB };

/* Words that say where they are, and in which round they were sent. */
static void stamp(char *buf, uint64_t len, uint64_t round)
{
	uint64_t *word = (uint64_t *)(void *)buf;

	for (uint64_t i = 0; i < len / 8; i++)
		word[i] = i * 0x9e3779b97f4a7c15ull + round;
	for (uint64_t i = len / 8 * 8; i < len; i++)
		buf[i] = (char)(i + round);
}

static bool is_stamped(const char *buf, uint64_t len, uint64_t round)
{
	const uint64_t *word = (const uint64_t *)(const void *)buf;

	for (uint64_t i = 0; i < len / 8; i++)
		if (word[i] != i * 0x9e3779b97f4a7c15ull + round)
			return false;
	for (uint64_t i = len / 8 * 8; i < len; i++)
		if (buf[i] != (char)(i + round))
			return false;
	return true;
}

static struct options huge(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = 2048 * MIB;
	return o;
}

/* Longer than elsewhere: a loaded machine takes its time for gigabytes. */
static void finish(struct ibv_cq *cq)
{
	uint64_t end = now_ns() + 80000000000ull;
	struct ibv_wc wc = { 0 };
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n && now_ns() < end);
	check_equal(n, 1);
	check_equal(wc.status, IBV_WC_SUCCESS);
}

static void need_memory(void)
{
	struct sysinfo info;

	check_ok(sysinfo(&info));
	if ((info.freeram + info.bufferram) / MIB * info.mem_unit < 7 * 1024)
		rig_skip("less than 7 GiB of memory are free");
}

static void move(struct end *e, enum ibv_wr_opcode op, uint64_t len)
{
	post(e, &(struct work){ .id = 5,
				.op = op,
				.flags = IBV_SEND_SIGNALED,
				.len = len,
				.raddr = e->to.va,
				.rkey = e->to.rkey });
	finish(e->scq);
}

static void receiver(int fd)
{
	struct options o = huge();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	for (unsigned int i = 0; i < array_size(sizes); i++) {
		post_recv(e, i, 0, sizes[i]);
		tell_mark(fd, 's');
		finish(e->rcq);
		check(is_stamped(e->buf, sizes[i], i));
	}
	tell_mark(fd, 'E');
	end_close(e);
}

static void sends_of_up_to_two_gigabytes_arrive_whole(void)
{
	struct options o = huge();
	struct peer peer;
	struct end *e;

	need_memory();
	peer = peer_start(receiver);
	e = end_open(&o);
	end_meet(e, peer.fd);
	for (unsigned int i = 0; i < array_size(sizes); i++) {
		stamp(e->buf, sizes[i], i);
		hear_mark(peer.fd, 's');
		move(e, IBV_WR_SEND, sizes[i]);
	}
	hear_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

static void target(int fd)
{
	struct options o = huge();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	stamp(e->buf, o.bytes, 99);
	tell_mark(fd, 'r');
	hear_mark(fd, 'w');
	check(is_stamped(e->buf, sizes[0], 1));
	tell_mark(fd, 'r');
	hear_mark(fd, 'w');
	check(is_stamped(e->buf, o.bytes, 2));
	tell_mark(fd, 'E');
	end_close(e);
}

static void reads_and_writes_of_up_to_two_gigabytes_arrive_whole(void)
{
	struct options o = huge();
	struct peer peer;
	struct end *e;

	need_memory();
	peer = peer_start(target);
	e = end_open(&o);
	end_meet(e, peer.fd);
	hear_mark(peer.fd, 'r');
	move(e, IBV_WR_RDMA_READ, o.bytes);
	check(is_stamped(e->buf, o.bytes, 99));
	stamp(e->buf, sizes[0], 1);
	move(e, IBV_WR_RDMA_WRITE, sizes[0]);
	tell_mark(peer.fd, 'w');
	hear_mark(peer.fd, 'r');
	stamp(e->buf, o.bytes, 2);
	move(e, IBV_WR_RDMA_WRITE, o.bytes);
	tell_mark(peer.fd, 'w');
	hear_mark(peer.fd, 'E');
	end_close(e);
	peer_join(&peer);
}

static void a_message_over_two_gigabytes_is_refused(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_sge sge[2] = {
		{ (uintptr_t)p.a->buf, 1u << 31, p.a->mr->lkey },
		{ (uintptr_t)p.a->buf, 1, p.a->mr->lkey },
	};
	struct ibv_send_wr *bad, wr = { .wr_id = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.sg_list = sge,
					.num_sge = 2,
					.wr.rdma = { p.a->to.va, p.a->to.rkey } };

	check_ok(ibv_post_send(p.a->qp, &wr, &bad));
	expect_wc(p.a->scq, 1, IBV_WC_LOC_LEN_ERR);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sends_of_up_to_two_gigabytes_arrive_whole),
		TEST(reads_and_writes_of_up_to_two_gigabytes_arrive_whole),
		TEST(a_message_over_two_gigabytes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
