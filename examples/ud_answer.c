/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_create_ah() and ibv_create_ah_from_wc(): a question and an answer by datagrams.
 *
 * The asker knows where the other side is, and says so in an address handle of its own making. The answerer
 * knows nothing: the completion and the 40 bytes before the question tell where it came from.
 */
#include <stdio.h>
#include <string.h>

#include "setup.h"

#define QKEY   0x11111111
#define HEADER sizeof(struct ibv_grh) /* 40 bytes in front of every datagram that is received */
#define SIZE   256

struct side {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char memory[2 * SIZE]; /* a datagram that comes, then one that goes */
};

static struct setup s; /* for its device, protection domain and completion queue */

static void make_side(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.send_cq = s.cq,
		.recv_cq = s.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	side->mr = ibv_reg_mr(s.pd, side->memory, sizeof(side->memory), IBV_ACCESS_LOCAL_WRITE);
	setup_check(!side->mr, "ibv_reg_mr");
	side->qp = ibv_create_qp(s.pd, &init);
	setup_check(!side->qp, "ibv_create_qp");
	setup_check(ibv_modify_qp(side->qp, &attr,
				  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		    "INIT");
	attr.qp_state = IBV_QPS_RTR;
	setup_check(ibv_modify_qp(side->qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	setup_check(ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

static void receive(struct side *side)
{
	struct ibv_sge sge = { (uintptr_t)side->memory, SIZE, side->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	setup_check(ibv_post_recv(side->qp, &wr, &bad), "ibv_post_recv");
}

static void send_text(struct side *side, struct ibv_ah *ah, uint32_t qpn, const char *text)
{
	struct ibv_sge sge = { (uintptr_t)side->memory + SIZE, SIZE - HEADER, side->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = QKEY } },
			   *bad;

	snprintf(side->memory + SIZE, SIZE - HEADER, "%s", text);
	setup_check(ibv_post_send(side->qp, &wr, &bad), "ibv_post_send");
}

/* Completions of sends and receives come in any order; what has been sent needs no more than a look. */
static struct ibv_wc wait_for(enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;
	int n;

	do {
		n = ibv_poll_cq(s.cq, 1, &wc);
		setup_check(n < 0 || (n && wc.status), "ibv_poll_cq");
	} while (!n || wc.opcode != opcode);
	return wc;
}

/* Both sides are on this port: its own address is the other side's. */
static struct ibv_ah *known_address(void)
{
	struct ibv_ah_attr attr = setup_address(s.context);
	struct ibv_ah *ah = ibv_create_ah(s.pd, &attr);

	setup_check(!ah, "ibv_create_ah");
	return ah;
}

int main(int argc, char **argv)
{
	struct side asker, answerer;
	struct ibv_ah *there, *back;
	struct ibv_wc wc;

	setup_open(&s, argc > 1 ? argv[1] : "mlx5_0");
	make_side(&asker);
	make_side(&answerer);
	receive(&asker);
	receive(&answerer);

	there = known_address();
	send_text(&asker, there, answerer.qp->qp_num, "where am I?");
	wc = wait_for(IBV_WC_RECV);
	printf("question: %s\n", answerer.memory + HEADER);

	back = ibv_create_ah_from_wc(s.pd, &wc, (struct ibv_grh *)answerer.memory, 1);
	setup_check(!back, "ibv_create_ah_from_wc");
	send_text(&answerer, back, wc.src_qp, "at the address that your datagram came from");
	wait_for(IBV_WC_RECV);
	printf("answer: %s\n", asker.memory + HEADER);

	/* An address handle lives longer than the requests that name it. */
	setup_check(ibv_destroy_qp(asker.qp) || ibv_destroy_qp(answerer.qp), "ibv_destroy_qp");
	setup_check(ibv_destroy_ah(there) || ibv_destroy_ah(back), "ibv_destroy_ah");
	setup_check(ibv_dereg_mr(asker.mr) || ibv_dereg_mr(answerer.mr), "ibv_dereg_mr");
	setup_close(&s);
	return 0;
}
