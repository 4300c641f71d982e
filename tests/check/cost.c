/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What checking costs: messages to and fro between two queue pairs of one thread, in processor time, so that other
 * processes do not matter. Prints nanoseconds for each round trip, the best of several measurements.
 */
#include <stdio.h>
#include <time.h>

#include "rig.h"

#define ROUNDS 2000
#define TIMES  10

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void one_way(struct rig *r, struct ibv_qp *from, struct ibv_qp *to, uint32_t size)
{
	struct ibv_sge out = { (uintptr_t)r->buffer, size, r->mr->lkey };
	struct ibv_sge in = { (uintptr_t)r->inbox, size, r->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &out,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	must(!ibv_post_recv(to, &recv, &bad_recv), "ibv_post_recv");
	must(!ibv_post_send(from, &send, &bad_send), "ibv_post_send");
	wait_for(r, 2);
}

static double measure(struct rig *r, uint32_t size)
{
	double best = 0;

	for (int i = 0; i < TIMES; i++) {
		double start = now_ns(), took;

		for (int round = 0; round < ROUNDS; round++) {
			one_way(r, r->a, r->b, size);
			one_way(r, r->b, r->a, size);
		}
		took = (now_ns() - start) / ROUNDS;
		if (!i || took < best)
			best = took;
	}
	return best;
}

void run(struct rig *r)
{
	rig_connect(r, &rig_usual_path);
	for (uint32_t size = 64; size <= 16384; size *= 16)
		printf("%u %.0f\n", size, measure(r, size));
}
