/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose queue pair fails, or waits, in the way that SCENARIO names. Prints the numbers of both queue pairs, and
 * ends; or with HOLD=1 when its standard input does.
 */
#include <stdio.h>
#include <unistd.h>

#include "check/rig.h"

static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
}

static void to_reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RESET");
}

static void write_there(struct rig *r, uint64_t at, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)r->buffer, MESSAGE, r->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 77,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = at, .rkey = rkey } },
			   *bad;

	must(!ibv_post_send(r->a, &wr, &bad), "ibv_post_send");
}

static void receive_little(struct rig *r)
{
	struct ibv_sge sge = { (uintptr_t)r->inbox, MESSAGE / 4, r->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_post_recv(r->b, &wr, &bad), "ibv_post_recv");
}

static void expect(struct rig *r, enum ibv_wc_status status)
{
	struct ibv_wc wc = { 0 };
	int got;

	/* The CQ is also that of the receives of b. */
	do {
		got = ibv_poll_cq(r->cq, 1, &wc);
		must(got >= 0, "ibv_poll_cq");
	} while (!got || wc.qp_num != r->a->qp_num);
	if (wc.status == status)
		return;
	fprintf(stderr, "%s, not %s\n", ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	exit(1);
}

static struct ibv_mr *register_inbox(struct rig *r, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, r->inbox, 4096, IBV_ACCESS_LOCAL_WRITE | access);

	must(mr, "ibv_reg_mr");
	return mr;
}

static void act(struct rig *r, const char *what)
{
	struct rig_path path = rig_usual_path;
	struct ibv_mr *mr = NULL;

	/* Of 1 ms, for what ends when all retries have; elsewhere an answer is to come first. */
	if (!strcmp(what, "peer-in-init"))
		path.timeout = 8;
	path.rnr_retry = strcmp(what, "waiting") ? 2 : 7;
	if (!strcmp(what, "init")) {
		to_init(r->a);
		return;
	}
	rig_connect(r, &path);
	if (!strcmp(what, "rnr")) {
		post_send(r, r->buffer, IBV_SEND_SIGNALED);
		expect(r, IBV_WC_RNR_RETRY_EXC_ERR);
	} else if (!strcmp(what, "waiting")) {
		post_send(r, r->buffer, IBV_SEND_SIGNALED);
	} else if (!strcmp(what, "peer-in-init")) {
		to_reset(r->b);
		to_init(r->b);
		post_send(r, r->buffer, IBV_SEND_SIGNALED);
		expect(r, IBV_WC_RETRY_EXC_ERR);
	} else if (!strcmp(what, "key")) {
		write_there(r, (uintptr_t)r->inbox, 0x12345678);
		expect(r, IBV_WC_REM_ACCESS_ERR);
	} else if (!strcmp(what, "right")) {
		mr = register_inbox(r, 0);
		write_there(r, (uintptr_t)r->inbox, mr->rkey);
		expect(r, IBV_WC_REM_ACCESS_ERR);
	} else if (!strcmp(what, "range")) {
		mr = register_inbox(r, IBV_ACCESS_REMOTE_WRITE);
		write_there(r, (uintptr_t)r->inbox + 4090, mr->rkey);
		expect(r, IBV_WC_REM_ACCESS_ERR);
	} else if (!strcmp(what, "long")) {
		receive_little(r);
		post_send(r, r->buffer, IBV_SEND_SIGNALED);
		expect(r, IBV_WC_REM_INV_REQ_ERR);
	} else if (!strcmp(what, "idle")) {
		post_receive(r, r->inbox);
	}
	if (mr)
		must(!ibv_dereg_mr(mr), "ibv_dereg_mr");
}

void run(struct rig *r)
{
	char c;

	act(r, getenv("SCENARIO"));
	printf("0x%06x 0x%06x\n", r->a->qp_num, r->b->qp_num);
	fflush(stdout);
	if (getenv("HOLD"))
		while (read(STDIN_FILENO, &c, 1) > 0)
			;
}
