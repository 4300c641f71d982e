/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A DC initiator whose rings are written by hand, and targets in processes that die: each failure is
 * told, also to a program that never calls the library, and after a reset by command the initiator works.
 */
#include "devx_rig.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define KEY    0x1122334455667788ull
#define RIGHTS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
#define BYTES  4096u

struct target {
	pid_t pid;
	struct {
		uint32_t qpn, rkey;
		uint64_t addr;
	} at;
};

static struct {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct mlx5dv_qp sq;
	struct mlx5dv_cq ring;
	struct mlx5dv_ah av;
	uint16_t post;
	uint32_t ci;
} d;

static void open_all(void)
{
	d.ctx = pair_open("mlx5_0");
	d.pd = ibv_alloc_pd(d.ctx);
	d.cq = ibv_create_cq(d.ctx, 64, NULL, NULL, 0);
	d.buf = aligned_alloc(4096, BYTES);
	memset(d.buf, 0, BYTES);
	d.mr = ibv_reg_mr(d.pd, d.buf, BYTES, RIGHTS | IBV_ACCESS_LOCAL_WRITE);
	assert_true(d.pd && d.cq && d.mr);
}

static struct ibv_qp *make_qp(enum mlx5dv_dc_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER,
		.send_cq = d.cq,
		.recv_cq = d.cq,
		.srq = srq,
		.pd = d.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
		.dc_init_attr = { .dc_type = type },
	};

	if (type == MLX5DV_DCTYPE_DCT)
		extra.dc_init_attr.dct_access_key = KEY;
	else
		attr.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_send_sge = 1 };
	return mlx5dv_create_qp(d.ctx, &attr, &extra);
}

static void move(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = RIGHTS,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 1,
		.ah_attr = { .port_num = 1 },
		.timeout = 14,
		.retry_cnt = 2,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	assert_int_equal(ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE), 0);
}

/* ---- targets ---- */

/* Serves until it is killed, and polls nothing. */
static void serve(int fd, struct target *t)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp *dct;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_all();
	dct = make_qp(MLX5DV_DCTYPE_DCT, ibv_create_srq(d.pd, &attr));
	assert_non_null(dct);
	move(dct, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	move(dct, IBV_QPS_RTR, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER);
	t->at.qpn = dct->qp_num;
	t->at.rkey = d.mr->rkey;
	t->at.addr = (uintptr_t)d.buf;
	assert_int_equal(write(fd, &t->at, sizeof(t->at)), sizeof(t->at));
	for (;;)
		pause();
}

/* Before this process opens a device. */
static struct target target_start(void)
{
	struct target t = { 0 };
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	t.pid = fork();
	assert_true(t.pid >= 0);
	if (!t.pid)
		serve(fd[1], &t);
	close(fd[1]);
	assert_int_equal(read(fd[0], &t.at, sizeof(t.at)), sizeof(t.at));
	close(fd[0]);
	return t;
}

static void target_kill(struct target *t)
{
	assert_int_equal(kill(t->pid, SIGKILL), 0);
	assert_int_equal(waitpid(t->pid, NULL, 0), t->pid);
}

/* ---- the initiator ---- */

static void start(void)
{
	move(d.qp, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT);
	move(d.qp, IBV_QPS_RTR, IBV_QP_PATH_MTU);
	move(d.qp, IBV_QPS_RTS,
	     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		     IBV_QP_MAX_QP_RD_ATOMIC);
}

static void begin(void)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .hop_limit = 64, .sgid_index = 1 } };
	struct mlx5dv_obj obj = { .qp = { .out = &d.sq },
				  .cq = { .out = &d.ring },
				  .ah = { .out = &d.av } };

	open_all();
	assert_int_equal(ibv_query_gid(d.ctx, 1, 1, &attr.grh.dgid), 0);
	d.ah = ibv_create_ah(d.pd, &attr);
	d.qp = make_qp(MLX5DV_DCTYPE_DCI, NULL);
	assert_true(d.ah && d.qp);
	obj.qp.in = d.qp;
	obj.cq.in = d.cq;
	obj.ah.in = d.ah;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ | MLX5DV_OBJ_AH), 0);
	d.post = 0;
	d.ci = 0;
	start();
}

static void end(void)
{
	assert_int_equal(ibv_destroy_qp(d.qp), 0);
	assert_int_equal(ibv_destroy_cq(d.cq), 0);
	assert_int_equal(ibv_destroy_ah(d.ah), 0);
	assert_int_equal(ibv_dereg_mr(d.mr), 0);
	assert_int_equal(ibv_dealloc_pd(d.pd), 0);
	assert_int_equal(ibv_close_device(d.ctx), 0);
	free(d.buf);
}

static uint8_t *at_block(uint32_t block)
{
	return (uint8_t *)d.sq.sq.buf + (block & (d.sq.sq.wqe_cnt - 1)) * (size_t)d.sq.sq.stride;
}

/* Two blocks: control and address; remote address, but for a SEND, the operand of an atomic, and data. */
static void post(uint8_t opcode, const struct target *t)
{
	bool adds = opcode == MLX5_OPCODE_ATOMIC_FA, sends = opcode == MLX5_OPCODE_SEND;
	uint8_t *first = at_block(d.post), *second = at_block(d.post + 1);
	struct mlx5_wqe_raddr_seg raddr = { .raddr = htobe64(t->at.addr),
					    .rkey = htobe32(t->at.rkey) };
	struct mlx5_wqe_atomic_seg operand = { .swap_add = htobe64(1) };
	struct mlx5_wqe_av av = *d.av.av;

	av.key.dc_key = htobe64(KEY);
	av.dqp_dct = htobe32(t->at.qpn | MLX5_EXTENDED_UD_AV);
	mlx5dv_set_ctrl_seg((void *)first, d.post, opcode, 0, d.qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE,
			    adds ? 7 : 6 - sends, 0, 0);
	memcpy(first + 16, &av, sizeof(av));
	if (!sends)
		memcpy(second, &raddr, sizeof(raddr));
	if (adds)
		memcpy(second + 16, &operand, sizeof(operand));
	mlx5dv_set_data_seg((void *)(second + (adds    ? 32
					       : sends ? 0
						       : 16)),
			    8, d.mr->lkey, (uintptr_t)d.buf);
	d.post += 2;
	__atomic_store_n(&d.sq.dbrec[MLX5_SND_DBR], htobe32(d.post), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)d.sq.bf.reg, *(uint64_t *)first, __ATOMIC_RELEASE);
}

/* Reads the ring only. */
static const struct mlx5_err_cqe *next(void)
{
	uint8_t *at =
		(uint8_t *)d.ring.buf + (d.ci & (d.ring.cqe_cnt - 1)) * (size_t)d.ring.cqe_size;
	time_t until = time(NULL) + 60;

	for (;;) {
		/* The word with the owner, in one piece as the adapter stores it. */
		uint8_t own = be64toh(__atomic_load_n((uint64_t *)(at + 56), __ATOMIC_ACQUIRE));

		if (own >> 4 != MLX5_CQE_INVALID && (own & 1) == !!(d.ci & d.ring.cqe_cnt))
			break;
		assert_true(time(NULL) < until);
	}
	d.ci++;
	__atomic_store_n(d.ring.dbrec, htobe32(d.ci & 0xffffff), __ATOMIC_RELEASE);
	return (void *)at;
}

static void expect_done(uint16_t counter)
{
	const struct mlx5_err_cqe *e = next();

	assert_int_equal(e->op_own >> 4, MLX5_CQE_REQ);
	assert_int_equal(be16toh(e->wqe_counter), counter);
}

/*
 * Posts so many at once, again and again: memory of a process that was killed can be reached until its death
 * is noticed. One request fails then, and those behind it are flushed; all are told.
 */
static void post_until_failure(uint8_t opcode, const struct target *dead, int count)
{
	const struct mlx5_err_cqe *e;
	bool failed = false;

	while (!failed) {
		uint16_t counter = (uint16_t)d.post;

		for (int i = 0; i < count; i++)
			post(opcode, dead);
		for (int i = 0; i < count; i++, counter += 2) {
			e = next();
			assert_int_equal(be16toh(e->wqe_counter), counter);
			if (!failed && e->op_own >> 4 == MLX5_CQE_REQ)
				continue;
			assert_int_equal(e->op_own >> 4, MLX5_CQE_REQ_ERR);
			assert_int_equal(e->syndrome,
					 failed ? MLX5_CQE_SYNDROME_WR_FLUSH_ERR
						: MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
			failed = true;
		}
	}
}

/* By command, as UCX resets initiators: the doorbell record stays as it is. */
static void reset(void)
{
	uint8_t out[16];
	RIG_IN(in, 16, 2RST_QP);

	ifc_set(in, modify_qp_in, qpn, d.qp->qp_num);
	assert_int_equal(mlx5dv_devx_qp_modify(d.qp, in, sizeof(in), out, sizeof(out)), 0);
	d.post = 0;
	start();
}

static void failures(uint8_t opcode)
{
	struct target old = target_start(), young = target_start();

	begin();
	post(opcode, &old);
	expect_done(0);
	target_kill(&old);
	/* several at once, of which the first fails and takes the others along */
	post_until_failure(opcode, &old, 3);
	reset();
	post(opcode, &young);
	expect_done(0);
	/* one is under way when the target dies, or has arrived */
	target_kill(&young);
	post_until_failure(opcode, &young, 1);
	end();
}

static void a_write_to_a_process_that_died_fails(void **state)
{
	failures(MLX5_OPCODE_RDMA_WRITE);
}

static void a_read_from_a_process_that_died_fails(void **state)
{
	failures(MLX5_OPCODE_RDMA_READ);
}

static void an_atomic_at_a_process_that_died_fails(void **state)
{
	failures(MLX5_OPCODE_ATOMIC_FA);
}

/* The target has no receives, so that SENDs are repeated for ever. */
static void operations_that_are_cancelled_are_flushed(void **state)
{
	struct target t = target_start();
	const struct mlx5_err_cqe *e;

	begin();
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 5; i++)
			post(MLX5_OPCODE_SEND, &t);
		if (round & 1)
			usleep(1000 * round); /* some are under way */
		move(d.qp, IBV_QPS_ERR, 0);
		post(MLX5_OPCODE_SEND, &t); /* after the cancellation */
		for (uint16_t i = 0; i < 6; i++) {
			e = next();
			assert_int_equal(e->op_own >> 4, MLX5_CQE_REQ_ERR);
			assert_int_equal(e->syndrome, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
			assert_int_equal(be16toh(e->wqe_counter), 2 * i);
		}
		reset();
	}
	post(MLX5_OPCODE_RDMA_WRITE, &t);
	expect_done(0);
	target_kill(&t);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_write_to_a_process_that_died_fails),
		cmocka_unit_test(a_read_from_a_process_that_died_fails),
		cmocka_unit_test(an_atomic_at_a_process_that_died_fails),
		cmocka_unit_test(operations_that_are_cancelled_are_flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
