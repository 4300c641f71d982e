/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The far ends of a program that forwards frames: sends them out of one adapter and counts them on
 * another. Usage: frames FROM TO COUNT. Each frame is a UDP packet of its own flow; at most a small
 * window is on its way, so that nothing has to be lost. Prints "forwarded N".
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW 32u
#define SIZE   2048u
#define DEPTH  256u

static const uint8_t far_mac[6] = { 0x02, 0, 0, 0, 0, 0x77 };

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory;
};

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static struct ibv_context *find(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	check(!context, name);
	ibv_free_device_list(list);
	return context;
}

static void open_side(struct side *s, const char *name)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .cap = { WINDOW, DEPTH, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	s->context = find(name);
	s->pd = ibv_alloc_pd(s->context);
	s->cq = ibv_create_cq(s->context, 1024, NULL, NULL, 0);
	s->memory = calloc(DEPTH, SIZE);
	check(!s->pd || !s->cq || !s->memory, "objects");
	s->mr = ibv_reg_mr(s->pd, s->memory, DEPTH * SIZE, IBV_ACCESS_LOCAL_WRITE);
	check(!s->mr, "memory");
	init.send_cq = init.recv_cq = s->cq;
	s->qp = ibv_create_qp(s->pd, &init);
	check(!s->qp, "queue pair");
	check(ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(ibv_modify_qp(s->qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(ibv_modify_qp(s->qp, &attr, IBV_QP_STATE), "RTS");
}

static void post(struct side *s, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)(s->memory + slot * SIZE), SIZE, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(ibv_post_recv(s->qp, &wr, &bad), "receive");
}

static void listen_for(struct side *s)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = { .attr = { .size = sizeof(rule), .num_of_specs = 1, .port = 1 },
		   .eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) } };

	for (uint32_t i = 0; i < DEPTH; i++)
		post(s, i);
	memcpy(rule.eth.val.dst_mac, far_mac, 6);
	memset(rule.eth.mask.dst_mac, 0xff, 6);
	check(!ibv_create_flow(s->qp, &rule.attr), "rule");
}

static uint32_t make(uint8_t *f, uint32_t number)
{
	uint32_t r = number * 2654435761u;
	const uint32_t len = 14 + 20 + 8 + 22;

	memset(f, 0, len);
	memcpy(f, far_mac, 6);
	memcpy(f + 6, "\x02\x00\x00\x00\x00\x76\x08\x00\x45", 9);
	f[17] = len - 14;
	f[22] = 64;
	f[23] = 17;
	memcpy(f + 26, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
	memcpy(f + 27, &r, 3);
	memcpy(f + 34, &r, 4);
	f[39] = 30;
	memcpy(f + 42, "forward", 7);
	memcpy(f + 50, &number, 4);
	return len;
}

static void send_one(struct side *s, uint32_t number)
{
	uint8_t *f = s->memory + number % WINDOW * SIZE;
	struct ibv_sge sge = { (uintptr_t)f, make(f, number), s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	check(ibv_post_send(s->qp, &wr, &bad), "send");
	while (!ibv_poll_cq(s->cq, 1, &wc))
		;
	check(wc.status, ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	uint32_t count, sent = 0, got = 0;
	time_t last = time(NULL);
	struct side from, to;
	uint8_t *seen;

	if (argc != 4)
		return 2;
	count = strtoul(argv[3], NULL, 10);
	seen = calloc(count, 1);
	check(!seen, "memory");
	open_side(&from, argv[1]);
	open_side(&to, argv[2]);
	listen_for(&to);
	while (got < count && time(NULL) < last + 20) {
		struct ibv_wc wc[16];
		int n = ibv_poll_cq(to.cq, 16, wc);

		for (int i = 0; i < n; i++) {
			const uint8_t *f = to.memory + wc[i].wr_id * SIZE;
			uint32_t number;

			memcpy(&number, f + 50, 4);
			if (wc[i].status || memcmp(f + 42, "forward", 7) || number >= count ||
			    seen[number]++) {
				fprintf(stderr, "frame %u: status %d, or twice\n", number,
					wc[i].status);
				return 1;
			}
			post(&to, wc[i].wr_id);
			got++;
			last = time(NULL);
		}
		if (sent < count && sent - got < WINDOW)
			send_one(&from, sent++);
	}
	printf("forwarded %u\n", got);
	return got == count ? 0 : 1;
}
