/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters errors|losses: makes things go wrong, and waits until the hw_counters of the port have counted
 * them. Under `verbena run`; losses on a wire that loses packets by the rules below.
 */
#include "rig.h"

#define PIECES (3 * 1024) /* packets of 1 KiB; CMakeLists.txt says which are lost */

static uint64_t counted(const char *name)
{
	char path[256], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 rig_context()->device->name, name);
	file = fopen(path, "r");
	if (!file)
		rig_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
	check(fgets(text, sizeof(text), file) != NULL);
	fclose(file);
	return strtoull(text, NULL, 10);
}

static struct options hasty(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.timeout = 10; /* 4 ms */
	o.retry_cnt = 1;
	o.rnr_retry = 1;
	o.min_rnr_timer = 1;
	return o;
}

static void send_signaled(struct end *e, uint32_t len)
{
	post(e,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = len });
}

/* ---- what goes wrong ---- */

static void no_receive(struct pair *p)
{
	send_signaled(p->a, 8);
	expect_wc(p->a->scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void bad_remote_key(struct pair *p)
{
	post(p->a, &(struct work){ .id = 1,
				   .op = IBV_WR_RDMA_WRITE,
				   .flags = IBV_SEND_SIGNALED,
				   .len = 8,
				   .raddr = p->a->to.va,
				   .rkey = p->a->to.rkey ^ 0x100 });
	expect_wc(p->a->scq, 1, IBV_WC_REM_ACCESS_ERR);
}

static void short_receive(struct pair *p)
{
	post_recv(p->b, 2, 0, 4);
	send_signaled(p->a, 8);
	expect_wc(p->a->scq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(p->b->rcq, 2, IBV_WC_LOC_LEN_ERR);
}

static void flush(struct pair *p)
{
	post_recv(p->a, 2, 0, 64);
	end_to_error(p->a);
	send_signaled(p->a, 8);
	expect_wc(p->a->scq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a->rcq, 2, IBV_WC_WR_FLUSH_ERR);
}

static void post_bad_key(struct end *e, enum ibv_wr_opcode op, uint32_t len, uint32_t lkey,
			 int flags)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, len, lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = flags
	};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = e->to.va;
		wr.wr.atomic.rkey = e->to.rkey;
	} else {
		wr.wr.rdma.remote_addr = e->to.va;
		wr.wr.rdma.rkey = e->to.rkey;
	}
	check_ok(ibv_post_send(e->qp, &wr, &bad));
}

static void bad_local_key(struct pair *p)
{
	post_bad_key(p->a, IBV_WR_SEND, 8, p->a->mr->lkey ^ 0x100, 0);
	expect_wc(p->a->scq, 1, IBV_WC_LOC_PROT_ERR);
}

static void inline_read(struct pair *p)
{
	post_bad_key(p->a, IBV_WR_RDMA_READ, 8, 0, IBV_SEND_INLINE);
	expect_wc(p->a->scq, 1, IBV_WC_LOC_QP_OP_ERR);
}

static void empty_atomic(struct pair *p)
{
	post_bad_key(p->a, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, p->a->mr->lkey, 0);
	expect_wc(p->a->scq, 1, IBV_WC_LOC_LEN_ERR);
}

static void bad_receive_key(struct pair *p)
{
	struct ibv_sge sge = { (uintptr_t)p->b->buf, 64, p->b->mr->lkey ^ 0x100 };
	struct ibv_recv_wr *bad, wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 };

	check_ok(ibv_post_recv(p->b->qp, &wr, &bad));
	send_signaled(p->a, 8);
	expect_wc(p->a->scq, 1, IBV_WC_REM_OP_ERR);
	expect_wc(p->b->rcq, 2, IBV_WC_LOC_PROT_ERR);
}

static void bad_bind(struct pair *p)
{
	struct ibv_mw *mw = must(ibv_alloc_mw(p->a->pd, IBV_MW_TYPE_2));
	struct ibv_send_wr *bad, wr = {
		.wr_id = 1,
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw,
			     .rkey = ibv_inc_rkey(mw->rkey),
			     /* the region does not permit it */
			     .bind_info = { p->a->mr, (uintptr_t)p->a->buf, 64,
					    IBV_ACCESS_REMOTE_READ } },
	};

	check_ok(ibv_post_send(p->a->qp, &wr, &bad));
	expect_wc(p->a->scq, 1, IBV_WC_MW_BIND_ERR);
	check_ok(ibv_dealloc_mw(mw));
}

static void dead_peer(struct pair *p)
{
	end_drop_qp(p->b);
	send_signaled(p->a, 8);
	expect_wc(p->a->scq, 1, IBV_WC_RETRY_EXC_ERR);
}

static void send_whole(struct pair *p, uint32_t len)
{
	post_recv(p->b, 2, 0, len);
	send_signaled(p->a, len);
	expect_ok(p->a->scq, 1);
	expect_ok(p->b->rcq, 2);
}

static void lossy_ack(struct pair *p)
{
	send_whole(p, 8);
}

static void lossy_send(struct pair *p)
{
	send_whole(p, PIECES);
}

static void lossy_read(struct pair *p)
{
	post(p->a, &(struct work){ .id = 1,
				   .op = IBV_WR_RDMA_READ,
				   .flags = IBV_SEND_SIGNALED,
				   .len = PIECES,
				   .raddr = p->a->to.va,
				   .rkey = p->a->to.rkey });
	expect_ok(p->a->scq, 1);
}

/* Each with what it is counted as, on either adapter. */
static const struct fault {
	bool loss;
	void (*happen)(struct pair *p);
	const char *mlx5[4], *mlx4[4];
} faults[] = {
	{ false,
	  no_receive,
	  { "out_of_buffer", "rnr_nak_retry_err", "req_cqe_error" },
	  { "rq_num_rnr", "sq_num_rnr", "sq_num_rree" } },
	{ false,
	  bad_remote_key,
	  { "req_remote_access_errors", "resp_remote_access_errors" },
	  { "sq_num_rae", "rq_num_rae" } },
	{ false,
	  short_receive,
	  { "resp_local_length_error", "req_remote_invalid_request", "resp_cqe_error" },
	  { "rq_num_lle", "sq_num_rire", "rq_num_rire" } },
	{ false,
	  flush,
	  { "req_cqe_flush_error", "resp_cqe_flush_error" },
	  { "sq_num_wrfe", "rq_num_wrfe" } },
	{ false, bad_local_key, { "req_cqe_error" }, { "sq_num_lpe" } },
	{ false, inline_read, { "req_cqe_error" }, { "sq_num_lqpoe" } },
	{ false, empty_atomic, { "req_cqe_error" }, { "sq_num_lle" } },
	{ false, bad_receive_key, { "resp_cqe_error" }, { "rq_num_lpe", "sq_num_roe" } },
	{ false, bad_bind, { "req_cqe_error" }, { "sq_num_mwbe" } },
	{ false, dead_peer, { "local_ack_timeout_err" }, { "sq_num_to", "sq_num_tree" } },
	{ true, lossy_ack, { "duplicate_request" }, { "rq_num_dup" } },
	{ true,
	  lossy_send,
	  { "out_of_sequence", "packet_seq_err" },
	  { "rq_num_oos", "sq_num_oos" } },
	{ true, lossy_read, { "implied_nak_seq_err" }, { NULL } },
};

static void meet(const struct fault *f)
{
	const char *const *names = rig_is_mlx5() ? f->mlx5 : f->mlx4;
	struct options o = f->loss ? options_of(IBV_QPT_RC) : hasty();
	uint64_t before[4] = { 0 };
	struct pair p;

	o.inline_bytes = 64;
	o.bytes = 2 * PIECES;
	o.mtu = IBV_MTU_1024;
	if (f->loss)
		o.timeout = 14; /* 67 ms: an acknowledgement that was lost is missed by it */
	if (f->happen == bad_bind)
		o.mr_access = IBV_ACCESS_LOCAL_WRITE;
	p = pair_open(&o);
	for (int i = 0; i < 4 && names[i]; i++)
		before[i] = counted(names[i]);
	f->happen(&p);
	/* The files follow the counters. */
	for (int i = 0; i < 4 && names[i]; i++)
		wait_for(counted(names[i]) > before[i]);
	pair_close(&p);
}

/* Ports that do not exist are refused, and leave the counters of those that do alone. First of all. */
static void name_missing_ports(void)
{
	struct ibv_context *context = rig_context();
	struct ibv_pd *pd = must(ibv_alloc_pd(context));
	struct ibv_cq *cq = must(ibv_create_cq(context, 1, NULL, NULL, 0));
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = must(ibv_create_qp(pd, &init));
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };

	for (int port = 2; port <= UINT8_MAX; port++) {
		attr.port_num = (uint8_t)port;
		check_equal(ibv_modify_qp(qp, &attr,
					  IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
						  IBV_QP_ACCESS_FLAGS),
			    EINVAL);
	}
	check_ok(ibv_destroy_qp(qp));
	check_ok(ibv_destroy_cq(cq));
	check_ok(ibv_dealloc_pd(pd));
}

int main(int argc, char **argv)
{
	bool losses = argc == 2 && !strcmp(argv[1], "losses");

	name_missing_ports();
	for (size_t i = 0; i < array_size(faults); i++)
		if (faults[i].loss == losses)
			meet(&faults[i]);
	return 0;
}
