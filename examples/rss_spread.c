/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How packets spread over four receive queues, live.
 *
 * One raw packet QP sends UDP packets of random flows; another one hashes what arrives (addresses
 * and ports, Toeplitz) over an indirection table of eight entries that name four work queues. Every
 * tenth of a second a line shows what each queue has got so far.
 *
 *	verbena run -- rss_spread [DEVICE [SECONDS]]
 *
 * From top to bottom: the queues, the table, the hash, the rule, the sender, the loop.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUEUES  4
#define ENTRIES 8
#define DEPTH   256
#define SIZE    128

static const uint8_t mac[6] = { 0x02, 0, 0, 0, 0, 0x55 };

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
};

/* Sender and receiver have contexts of their own: an adapter does not echo to the sender's. */
static void open_side(struct side *s, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			s->context = ibv_open_device(list[i]);
	check(!s->context, name);
	ibv_free_device_list(list);
	s->pd = ibv_alloc_pd(s->context);
	s->cq = ibv_create_cq(s->context, 2 * QUEUES * DEPTH, NULL, NULL, 0);
	s->memory = calloc(QUEUES * DEPTH, SIZE);
	check(!s->pd || !s->cq || !s->memory, "objects");
	s->mr = ibv_reg_mr(s->pd, s->memory, QUEUES * DEPTH * SIZE, IBV_ACCESS_LOCAL_WRITE);
	check(!s->mr, "memory region");
}

static void close_side(struct side *s)
{
	check(ibv_dereg_mr(s->mr), "ibv_dereg_mr");
	check(ibv_destroy_cq(s->cq), "ibv_destroy_cq");
	check(ibv_dealloc_pd(s->pd), "ibv_dealloc_pd");
	check(ibv_close_device(s->context), "ibv_close_device");
	free(s->memory);
}

/* What frames come to, in the order of creation. */
struct receiver {
	struct ibv_wq *wq[QUEUES];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *hash;
	struct ibv_flow *rule;
};

static void post(struct side *s, struct ibv_wq *wq, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)(s->memory + id * SIZE), SIZE, s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(ibv_post_wq_recv(wq, &wr, &bad), "ibv_post_wq_recv");
}

static void make_queues(struct side *s, struct ibv_wq **wq)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };

	for (int i = 0; i < QUEUES; i++) {
		struct ibv_wq_init_attr attr = { .wq_type = IBV_WQT_RQ,
						 .max_wr = DEPTH,
						 .max_sge = 1,
						 .pd = s->pd,
						 .cq = s->cq };

		wq[i] = ibv_create_wq(s->context, &attr);
		check(!wq[i], "ibv_create_wq");
		check(ibv_modify_wq(wq[i], &ready), "ibv_modify_wq");
		for (int k = 0; k < DEPTH; k++)
			post(s, wq[i], i * DEPTH + k);
	}
}

static void make_hash(struct side *s, struct receiver *r)
{
	static uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
				   0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
				   0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
				   0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa };
	struct ibv_wq *entries[ENTRIES];
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 3, .ind_tbl = entries };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = s->pd,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask =
					  IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
					  IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP },
	};

	for (int i = 0; i < ENTRIES; i++)
		entries[i] = r->wq[i % QUEUES];
	attr.rwq_ind_tbl = r->table = ibv_create_rwq_ind_table(s->context, &table);
	check(!r->table, "ibv_create_rwq_ind_table");
	r->hash = ibv_create_qp_ex(s->context, &attr);
	check(!r->hash, "ibv_create_qp_ex");
}

static void make_rule(struct receiver *r)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
	} rule = { .attr = { .size = sizeof(rule), .num_of_specs = 1, .port = 1 },
		   .eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) } };

	memcpy(rule.eth.val.dst_mac, mac, sizeof(mac));
	memset(rule.eth.mask.dst_mac, 0xff, sizeof(mac));
	r->rule = ibv_create_flow(r->hash, &rule.attr);
	check(!r->rule, "ibv_create_flow");
}

static void destroy_receiver(struct receiver *r)
{
	check(ibv_destroy_flow(r->rule), "ibv_destroy_flow");
	check(ibv_destroy_qp(r->hash), "ibv_destroy_qp");
	check(ibv_destroy_rwq_ind_table(r->table), "ibv_destroy_rwq_ind_table");
	for (int i = 0; i < QUEUES; i++)
		check(ibv_destroy_wq(r->wq[i]), "ibv_destroy_wq");
}

static struct ibv_qp *make_sender(struct side *s)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = s->cq,
					 .recv_cq = s->cq,
					 .cap = { .max_send_wr = 64, .max_send_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(s->pd, &init);

	check(!qp, "ibv_create_qp");
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTS");
	return qp;
}

/* A UDP packet of a random flow; the adapter fills in the check sums. */
static void send_packet(struct side *s, struct ibv_qp *qp)
{
	uint8_t *f = s->memory;
	struct ibv_sge sge = { (uintptr_t)f, 60, s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_IP_CSUM },
			   *bad;
	struct ibv_wc wc;

	memset(f, 0, 60);
	memcpy(f, mac, 6);
	memcpy(f + 6, "\x02\x00\x00\x00\x00\x54\x08\x00\x45\x00\x00\x2e", 12);
	f[22] = 64;
	f[23] = 17;
	for (int i = 26; i < 38; i++)
		f[i] = rand();
	f[39] = 26;
	check(ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	while (!ibv_poll_cq(s->cq, 1, &wc))
		;
	check(wc.status, ibv_wc_status_str(wc.status));
}

static void show(const unsigned long *count)
{
	unsigned long all = 0;

	for (int i = 0; i < QUEUES; i++)
		all += count[i];
	printf("%s%8lu packets", isatty(STDOUT_FILENO) ? "\r" : "\n", all);
	for (int i = 0; i < QUEUES; i++)
		printf("   queue %d: %4.1f%% %.*s", i, all ? 100.0 * count[i] / all : 0.0,
		       all ? (int)(20 * count[i] / all) : 0, "####################");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *device = argc > 1 ? argv[1] : "mlx5_0";
	double end = argc > 2 ? atof(argv[2]) : 3, next = 0;
	unsigned long count[QUEUES] = { 0 };
	struct side from = { 0 }, to = { 0 };
	struct receiver receiver;
	struct timespec start, now;
	struct ibv_qp *sender;
	double elapsed = 0;

	open_side(&to, device);
	make_queues(&to, receiver.wq);
	make_hash(&to, &receiver);
	make_rule(&receiver);
	open_side(&from, device);
	sender = make_sender(&from);
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (elapsed < end) {
		struct ibv_wc wc[16];
		int n;

		for (int i = 0; i < 16; i++)
			send_packet(&from, sender);
		while ((n = ibv_poll_cq(to.cq, 16, wc)) > 0)
			for (int i = 0; i < n; i++) {
				int queue = wc[i].wr_id / DEPTH;

				check(wc[i].status, ibv_wc_status_str(wc[i].status));
				count[queue]++;
				post(&to, receiver.wq[queue], wc[i].wr_id);
			}
		clock_gettime(CLOCK_MONOTONIC, &now);
		elapsed = now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9;
		if (elapsed >= next) {
			show(count);
			next += 0.1;
		}
	}
	show(count);
	printf("\n");
	check(ibv_destroy_qp(sender), "ibv_destroy_qp");
	close_side(&from);
	destroy_receiver(&receiver);
	close_side(&to);
	return 0;
}
