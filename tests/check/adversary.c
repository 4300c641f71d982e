/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that count on an order that the adversary does not keep, and one that counts on nothing but a flag in the last
 * byte. MODE is "first", "last" or "two". Prints how many messages were not whole.
 */
#include <stdio.h>

#include "rig.h"

#define LENGTH 4096
#define ROUNDS 30

static struct ibv_mr *mr;

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

static void await(const char *byte, char value)
{
	while (__atomic_load_n(byte, __ATOMIC_ACQUIRE) != value)
		;
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
	await(&r->inbox[flag], value);
	whole = is_whole(r->inbox, value);
	must(wait_for(r, 1) == IBV_WC_SUCCESS, "completion");
	return whole;
}

/* The flag is a message of its own, on another queue pair: b writes to a. */
static bool send_two(struct rig *r, char value)
{
	bool whole;

	memset(r->buffer, value, LENGTH + 1);
	write_to(r, r->a, r->buffer, r->inbox, LENGTH);
	write_to(r, r->b, r->buffer + LENGTH, r->inbox + LENGTH, 1);
	await(&r->inbox[LENGTH], value);
	whole = is_whole(r->inbox, value);
	must(wait_for(r, 2) == IBV_WC_SUCCESS, "completion");
	return whole;
}

void run(struct rig *r)
{
	struct rig_path path = rig_usual_path;
	const char *mode = getenv("MODE");
	int torn = 0;

	must(mode, "MODE");
	path.timeout = 10;
	rig_connect(r, &path);
	mr = ibv_reg_mr(r->pd, r->inbox, LENGTH + 1,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	must(mr, "ibv_reg_mr");
	for (char value = 1; value <= ROUNDS; value++)
		torn += !(*mode == 't' ? send_two(r, value)
				       : send_one(r, value, *mode == 'f' ? 0 : LENGTH - 1));
	ibv_dereg_mr(mr);
	printf("%s\n", torn ? "torn" : "whole");
}
