/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A member of a multicast group, or a sender to it. Used by hosts.py.
 *
 *	mcast GID-INDEX GROUP recv N	says "joined", and how many it has heard; ends well after N good datagrams
 *	mcast GID-INDEX GROUP send	sends numbered datagrams until it is killed
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/verbs.h>

enum { BYTES = 700, GRH = 40, QKEY = 0x1234, DEPTH = 64 };

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("line %d: %s\n", __LINE__, #condition);                             \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static char buf[DEPTH][BYTES + GRH];
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { DEPTH, DEPTH, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	check(list && list[0]);
	ctx = ibv_open_device(list[0]);
	check(ctx);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 2 * DEPTH, NULL, NULL, 0);
	check(pd && cq);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	check(mr);
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	check(qp);
	check(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void post_recv(unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)buf[i], sizeof(buf[i]), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(!ibv_post_recv(qp, &wr, &bad));
}

static void receive(const union ibv_gid *group, unsigned int count)
{
	unsigned int heard = 0;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < DEPTH; i++)
		post_recv(i);
	check(!ibv_attach_mcast(qp, group, 0));
	printf("joined\n");
	fflush(stdout);
	while (heard < count) {
		if (ibv_poll_cq(cq, 1, &wc) != 1)
			continue;
		check(wc.status == IBV_WC_SUCCESS && wc.byte_len == BYTES + GRH);
		for (unsigned int i = 1; i < BYTES; i++)
			check(buf[wc.wr_id][GRH + i] == (char)(buf[wc.wr_id][GRH] + i));
		post_recv(wc.wr_id);
		if (++heard % 10 == 0) {
			printf("heard %u\n", heard);
			fflush(stdout);
		}
	}
	check(!ibv_detach_mcast(qp, group, 0));
	check(!ibv_destroy_qp(qp));
}

static void send_on(const union ibv_gid *group, int index)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	const struct timespec pause = { .tv_nsec = 2000000 };
	struct ibv_wc wc;
	struct ibv_ah *ah;

	attr.grh.dgid = *group;
	attr.grh.sgid_index = index;
	attr.grh.hop_limit = 1;
	ah = ibv_create_ah(pd, &attr);
	check(ah);
	for (unsigned int n = 0;; n++) {
		struct ibv_sge sge = { (uintptr_t)buf[0], BYTES, mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED,
					  .wr.ud = { ah, 0xffffff, QKEY } },
				   *bad;

		for (unsigned int i = 0; i < BYTES; i++)
			buf[0][i] = n + i;
		check(!ibv_post_send(qp, &wr, &bad));
		while (ibv_poll_cq(cq, 1, &wc) != 1)
			;
		check(wc.status == IBV_WC_SUCCESS);
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	union ibv_gid group = { 0 };

	check(argc >= 4);
	if (!inet_pton(AF_INET6, argv[2], &group)) {
		group.raw[10] = group.raw[11] = 0xff;
		check(inet_pton(AF_INET, argv[2], &group.raw[12]));
	}
	open_all();
	if (!strcmp(argv[3], "send"))
		send_on(&group, atoi(argv[1]));
	receive(&group, argc > 4 ? atoi(argv[4]) : 1);
	return 0;
}
