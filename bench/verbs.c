/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What no program from Debian measures: sleeping, many queue pairs, registration. Each prints plain
 * numbers, which bench/run turns into rows.
 *
 *	verbs idle SECONDS	processor seconds spent while a thread sleeps in ibv_get_cq_event()
 *	verbs many COUNT	half round trip in us of a SEND on one of COUNT connected RC queue
 *				pairs; bytes of memory per queue pair, and of these its rings
 *	verbs register MIB	seconds: a copy of that much, registration of touched, of untouched
 *				memory; and for writing it into a new memfd, which is what the kernel
 *				takes for the pages that touched memory moves to
 *	verbs again KIB		microseconds: a copy of that much; registering and deregistering the same
 *				touched memory again, with all that other threads of the process do for it
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "bench.h"

#define MUST(x)                                                                                    \
	__extension__({                                                                            \
		__auto_type must_ = (x);                                                           \
		if (!must_) {                                                                      \
			fprintf(stderr, "%s:%d: %s: %m\n", __FILE__, __LINE__, #x);                \
			exit(1);                                                                   \
		}                                                                                  \
		must_;                                                                             \
	})

static struct ibv_context *context(void)
{
	struct ibv_device **list = MUST(ibv_get_device_list(NULL));

	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "mlx5_0"))
			return MUST(ibv_open_device(list[i]));
	fprintf(stderr, "there is no mlx5_0\n");
	exit(1);
}

/* ---- idle ---- */

static void *sleeper(void *arg)
{
	struct ibv_comp_channel *channel = arg;
	struct ibv_cq *cq;
	void *cookie;

	ibv_get_cq_event(channel, &cq, &cookie);
	return NULL;
}

static double cpu(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static int idle(unsigned int seconds)
{
	struct ibv_context *ctx = context();
	struct ibv_comp_channel *channel = MUST(ibv_create_comp_channel(ctx));
	struct ibv_cq *cq = MUST(ibv_create_cq(ctx, 16, NULL, channel, 0));
	pthread_t thread;
	double before;

	MUST(!ibv_req_notify_cq(cq, 0));
	MUST(!pthread_create(&thread, NULL, sleeper, channel));
	/* The CPU time of starting the thread does not count. */
	sleep(1);
	before = cpu();
	sleep(seconds);
	printf("%.6f\n", cpu() - before);
	return 0;
}

/* ---- many queue pairs ---- */

struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *buf;
	union ibv_gid gid;
	struct ibv_qp **qp;
	unsigned int count;
	int socket;
};

static uint64_t resident(void)
{
	unsigned long size, pages;
	FILE *f = MUST(fopen("/proc/self/statm", "r"));

	MUST(fscanf(f, "%lu %lu", &size, &pages) == 2);
	fclose(f);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void side_open(struct side *s, unsigned int count, int sock)
{
	*s = (struct side){ .ctx = context(), .count = count, .socket = sock };
	s->pd = MUST(ibv_alloc_pd(s->ctx));
	s->cq = MUST(ibv_create_cq(s->ctx, 64, NULL, NULL, 0));
	s->buf = MUST(aligned_alloc(4096, 4096));
	s->mr = MUST(ibv_reg_mr(s->pd, s->buf, 4096, IBV_ACCESS_LOCAL_WRITE));
	for (int i = 0; i < 64; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(s->ctx, 1, (uint32_t)i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		s->gid = entry.gid;
		s->qp = MUST(calloc(count, sizeof(*s->qp)));
		return;
	}
	fprintf(stderr, "mlx5_0 has no GID for RoCE v2\n");
	exit(1);
}

static void side_create(struct side *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq, .recv_cq = s->cq, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }
	};

	for (unsigned int i = 0; i < s->count; i++)
		s->qp[i] = MUST(ibv_create_qp(s->pd, &attr));
}

static void connect_one(struct side *s, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	MUST(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				     .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer,
				     .min_rnr_timer = 12,
				     .max_dest_rd_atomic = 1,
				     .ah_attr = { .is_global = 1,
						  .port_num = 1,
						  .grh = { .dgid = s->gid, .hop_limit = 64 } } };
	for (int i = 0; i < 64; i++) {
		union ibv_gid gid;

		if (!ibv_query_gid(s->ctx, 1, i, &gid) && !memcmp(&gid, &s->gid, sizeof(gid)))
			attr.ah_attr.grh.sgid_index = (uint8_t)i;
	}
	MUST(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 18,
				     .retry_cnt = 7,
				     .rnr_retry = 7,
				     .max_rd_atomic = 1 };
	MUST(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void side_connect(struct side *s)
{
	for (unsigned int i = 0; i < s->count; i++) {
		uint32_t peer;

		MUST(write(s->socket, &s->qp[i]->qp_num, 4) == 4);
		MUST(read(s->socket, &peer, 4) == 4);
		connect_one(s, s->qp[i], peer);
	}
}

static void meet(struct side *s)
{
	char c = 0;

	MUST(write(s->socket, &c, 1) == 1);
	MUST(read(s->socket, &c, 1) == 1);
}

static void post_recv(struct side *s, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 64, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(!ibv_post_recv(qp, &wr, &bad));
}

static void post_send(struct side *s, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)s->buf + 64, 8, s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	MUST(!ibv_post_send(qp, &wr, &bad));
}

static void wait_for(struct side *s, unsigned int *sent, unsigned int *received)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(s->cq, 1, &wc))
		;
	MUST(wc.status == IBV_WC_SUCCESS);
	++*(wc.opcode == IBV_WC_RECV ? received : sent);
}

#define RUNS  101
#define TURNS 200

/* The median of many short runs: us, half round trip. */
static double ping_pong(struct side *s, bool first)
{
	struct ibv_qp *qp = s->qp[s->count / 2];
	unsigned int sent = 0, received = 0;
	double took[RUNS];

	post_recv(s, qp);
	meet(s);
	for (int run = 0; run < RUNS; run++) {
		double begin = now_s();

		for (int i = 0; i < TURNS; i++) {
			unsigned int turn = (unsigned int)(run * TURNS + i + 1);

			if (first)
				post_send(s, qp);
			while (received < turn)
				wait_for(s, &sent, &received);
			post_recv(s, qp);
			if (!first)
				post_send(s, qp);
			while (sent < turn)
				wait_for(s, &sent, &received);
		}
		took[run] = (now_s() - begin) / TURNS / 2 * 1e6;
	}
	return median(took, RUNS);
}

static uint64_t ring_bytes(struct ibv_qp *qp)
{
	struct mlx5dv_qp dv = { 0 };
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = &dv } };

	MUST(!mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP));
	return (uint64_t)dv.sq.wqe_cnt * dv.sq.stride + (uint64_t)dv.rq.wqe_cnt * dv.rq.stride;
}

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void many_side(unsigned int count, int sock, bool first)
{
	struct side s;
	uint64_t before;
	double us;

	pin(first ? 0 : 1);
	side_open(&s, count, sock);
	before = resident();
	side_create(&s);
	side_connect(&s);
	meet(&s);
	us = ping_pong(&s, first);
	before = resident() - before;
	if (first)
		printf("%.4f %.0f %llu\n", us, (double)before / count,
		       (unsigned long long)ring_bytes(s.qp[0]));
	meet(&s);
}

static int many(unsigned int count)
{
	int sock[2], status;
	pid_t child;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	child = fork();
	if (!child) {
		close(sock[0]);
		many_side(count, sock[1], false);
		exit(0);
	}
	close(sock[1]);
	many_side(count, sock[0], true);
	MUST(waitpid(child, &status, 0) == child);
	return status != 0;
}

/* ---- registration ---- */

static char *pages(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(p != MAP_FAILED);
	return p;
}

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* Processor time, here and below: neither other programs nor their turns count. */
static double time_reg(struct ibv_pd *pd, char *p, size_t n)
{
	double begin = process_cpu_s(), took;
	struct ibv_mr *mr = MUST(ibv_reg_mr(pd, p, n, ALL_ACCESS));

	took = process_cpu_s() - begin;
	MUST(!ibv_dereg_mr(mr));
	MUST(!munmap(p, n));
	return took;
}

static double time_memfd(const char *from, size_t n)
{
	int fd = memfd_create("bench", MFD_CLOEXEC);
	double begin = process_cpu_s();

	for (size_t at = 0; at < n;) {
		ssize_t done = pwrite(fd, from + at, n - at, (off_t)at);

		MUST(done > 0);
		at += (size_t)done;
	}
	begin = process_cpu_s() - begin;
	close(fd);
	return begin;
}

static int reg(size_t mib)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(context()));
	size_t n = mib << 20;
	char *from = pages(n), *to = pages(n);
	double begin, copy, touched, memfd;

	memset(from, 1, n);
	memset(to, 2, n);
	begin = process_cpu_s();
	memcpy(to, from, n);
	copy = process_cpu_s() - begin;
	memfd = time_memfd(from, n);
	MUST(!munmap(from, n));
	touched = time_reg(pd, to, n);
	printf("%.4f %.4f %.6f %.4f\n", copy, touched, time_reg(pd, pages(n), n), memfd);
	return 0;
}

#define AGAIN_WARM   4
#define AGAIN_TURNS  64
#define AGAIN_CYCLES 8

/* What the program does between two registrations: it writes to the memory, and copies it. */
static int again(size_t kib)
{
	struct ibv_pd *pd = MUST(ibv_alloc_pd(context()));
	double copy[AGAIN_TURNS], cycle[AGAIN_TURNS], begin;
	size_t n = kib << 10;
	char *from = pages(n), *to = pages(n);

	memset(to, 2, n);
	for (int i = -AGAIN_WARM; i < AGAIN_TURNS; i++) {
		memset(from, i, n);
		begin = process_cpu_s();
		memcpy(to, from, n);
		copy[i < 0 ? 0 : i] = process_cpu_s() - begin;
		begin = process_cpu_s();
		for (int k = 0; k < AGAIN_CYCLES; k++) {
			struct ibv_mr *mr = MUST(ibv_reg_mr(pd, from, n, ALL_ACCESS));

			MUST(!ibv_dereg_mr(mr));
		}
		cycle[i < 0 ? 0 : i] = (process_cpu_s() - begin) / AGAIN_CYCLES;
	}
	printf("%.3f %.3f\n", median(copy, AGAIN_TURNS) * 1e6, median(cycle, AGAIN_TURNS) * 1e6);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;

	if (n && !strcmp(argv[1], "idle"))
		return idle((unsigned int)n);
	if (n && !strcmp(argv[1], "many"))
		return many((unsigned int)n);
	if (n && !strcmp(argv[1], "register"))
		return reg(n);
	if (n && !strcmp(argv[1], "again"))
		return again(n);
	fprintf(stderr, "usage: verbs idle SECONDS | many COUNT | register MIB | again KIB\n");
	return 2;
}
