/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that count on an order that the adversary does not keep, and one that counts on nothing but a flag in the last
 * byte. MODE is "first", "last" or "two". Prints whether all messages were whole.
 */
#include <stdio.h>

#include "rig.h"

#define LENGTH 4096
#define ROUNDS 30
/* A torn message is looked for this often: the order is one thing, that this thread sees it another. */
#define MOST_ROUNDS 10000
#define POLL_EVERY  (1u << 20) /* looks at memory */

static struct ibv_mr *mr;
static int polled; /* completions of this round, by await() */

static void write_to(struct rig *r, struct ibv_qp *qp, const char *from, char *to, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)from, length, r->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)to, mr->rkey } },
			   *bad;

	must(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

/* Polls rarely, for the requests that fail: a poll may do some of the work that is to be seen half-way. */
static void await(struct rig *r, const char *byte, char value)
{
	struct ibv_wc wc;

	for (unsigned int i = 1; __atomic_load_n(byte, __ATOMIC_ACQUIRE) != value; i++) {
		int got = i % POLL_EVERY ? 0 : ibv_poll_cq(r->cq, 1, &wc);

		must(got >= 0, "ibv_poll_cq");
		polled += got;
		if (got && wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "RDMA WRITE: %s\n", ibv_wc_status_str(wc.status));
			exit(1);
		}
	}
}

static void finish(struct rig *r, int requests)
{
	must(wait_for(r, requests - polled) == IBV_WC_SUCCESS, "completion");
	polled = 0;
}

static bool is_whole(const char *data, char value)
{
	for (int i = 0; i < LENGTH; i++)
		if (__atomic_load_n(&data[i], __ATOMIC_RELAXED) != value)
			return false;
	return true;
}

/* The flag is a byte of the message. */
static bool send_one(struct rig *r, char value, size_t flag)
{
	bool whole;

	memset(r->buffer, value, LENGTH);
	write_to(r, r->a, r->buffer, r->inbox, LENGTH);
	await(r, &r->inbox[flag], value);
	whole = is_whole(r->inbox, value);
	finish(r, 1);
	return whole;
}

/* The flag is a message of its own, on another queue pair: b writes to a. */
static bool send_two(struct rig *r, char value)
{
	bool whole;

	memset(r->buffer, value, LENGTH + 1);
	write_to(r, r->a, r->buffer, r->inbox, LENGTH);
	write_to(r, r->b, r->buffer + LENGTH, r->inbox + LENGTH, 1);
	await(r, &r->inbox[LENGTH], value);
	whole = is_whole(r->inbox, value);
	finish(r, 2);
	return whole;
}

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;
	const char *mode = getenv("MODE");
	bool whole = true;
	int rounds;

	must(mode, "MODE");
	path.timeout = 10;
	rig_connect(r, &path);
	mr = ibv_reg_mr(r->pd, r->inbox, LENGTH + 1,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(mr, "ibv_reg_mr");
	rounds = *mode == 'l' ? ROUNDS : MOST_ROUNDS;
	for (int i = 0; i < rounds && whole; i++) {
		char value = (char)(1 + i % 100);

		whole = *mode == 't' ? send_two(r, value)
				     : send_one(r, value, *mode == 'f' ? 0 : LENGTH - 1);
	}
	ibv_dereg_mr(mr);
	printf("%s\n", whole ? "whole" : "torn");
}
