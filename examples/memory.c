/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: an adapter touches registered memory only, in the ways that the registration allows. A write to the
 * other side goes through its region's rkey; one that leaves the region is refused by the other side's adapter.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "setup.h"

static struct setup s;
static char other[64]; /* a second region, without remote access */

/* An RDMA write, and how it ended. */
static enum ibv_wc_status write_to(uint64_t address, uint32_t rkey, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)s.memory, length, s.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = address, .rkey = rkey } },
			   *bad;
	struct ibv_wc wc;
	int n;

	setup_check(ibv_post_send(s.qp[0], &wr, &bad), "ibv_post_send");
	while (!(n = ibv_poll_cq(s.cq, 1, &wc)))
		;
	setup_check(n < 0, "ibv_poll_cq");
	return wc.status;
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "mlx5_0";
	uint64_t target = (uintptr_t)s.memory + 2048, end = (uintptr_t)s.memory + sizeof(s.memory);
	struct ibv_mr *mr;

	setup_open(&s, device);
	strcpy(s.memory, "written by the other side");
	printf("a write into the region: %s\n",
	       ibv_wc_status_str(write_to(target, s.mr->rkey, 32)));
	printf("arrived: %s\n", s.memory + 2048);
	printf("a write over its end: %s\n", ibv_wc_status_str(write_to(end - 16, s.mr->rkey, 32)));
	setup_close(&s); /* the two queue pairs are in the error state now */

	setup_open(&s, device);
	mr = ibv_reg_mr(s.pd, other, sizeof(other), IBV_ACCESS_LOCAL_WRITE);
	setup_check(!mr, "ibv_reg_mr");
	printf("a write into a region without remote write: %s\n",
	       ibv_wc_status_str(write_to((uintptr_t)other, mr->rkey, 32)));
	setup_check(ibv_dereg_mr(mr), "ibv_dereg_mr");

	/* What the other side may write, the local side must be allowed to write as well. */
	mr = ibv_reg_mr(s.pd, other, sizeof(other), IBV_ACCESS_REMOTE_WRITE);
	printf("a registration that makes no sense: %s\n", mr ? "accepted" : strerror(errno));
	setup_close(&s);
	return 0;
}
