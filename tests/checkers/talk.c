/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A correct program with most kinds of objects, to be built with sanitizers and run under checkers: two
 * processes that send, write, read and count in each other's memory, over RC with a shared receive queue and
 * over UD. In each, one thread posts and another one polls.
 *
 *	talk DEVICE [ROUNDS [BUG]]
 *
 * BUG: what the checker has to report. overflow: a byte behind a buffer; race: two threads and no completion;
 * leak; undefined: a shift by too much; uninitialised: a decision on a value that no peer wrote.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE 1000
#define LARGE   70000
#define QKEY    0x1234

struct contact {
	union ibv_gid gid;
	uint64_t address;
	uint32_t rkey, window_rkey, qpn, datagram_qpn;
	uint16_t lid;
};

struct side {
	int rank, socket, rounds;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *rc, *ud;
	struct ibv_mr *heap, *global, *large;
	struct ibv_mw *window;
	struct ibv_ah *ah;
	struct contact mine, peer;
	char *message; /* in `heap`: what is sent */
	char *inbox;   /* in `heap`: what is received */
	char *target;  /* `large`: what the peer reads and writes */
};

/* From the polling thread to the one that posts. */
static struct ibv_wc last;
static _Atomic int seen;

static char words[4096];

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	check(!list, "ibv_get_device_list");
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	check(!context, name);
	return context;
}

static void make_memory(struct side *s)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

	/* Neither begins nor ends with a page. */
	s->message = malloc(3 * MESSAGE);
	s->inbox = s->message + MESSAGE;
	s->target = calloc(1, LARGE);
	check(!s->message || !s->target, "memory");
	memset(s->message, 0, 3 * MESSAGE);
	s->heap = ibv_reg_mr(s->pd, s->message, 3 * MESSAGE, IBV_ACCESS_LOCAL_WRITE);
	s->global = ibv_reg_mr(s->pd, words, sizeof(words), IBV_ACCESS_LOCAL_WRITE);
	s->large = ibv_reg_mr(s->pd, s->target, LARGE, access);
	check(!s->heap || !s->global || !s->large, "ibv_reg_mr");
	s->window = ibv_alloc_mw(s->pd, IBV_MW_TYPE_1);
	check(!s->window, "ibv_alloc_mw");
}

static void make_queues(struct side *s)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 16,
						  .max_recv_wr = 4,
						  .max_send_sge = 2,
						  .max_recv_sge = 1,
						  .max_inline_data = 64 },
					 .sq_sig_all = 1 };

	s->channel = ibv_create_comp_channel(s->context);
	check(!s->channel, "ibv_create_comp_channel");
	s->cq = ibv_create_cq(s->context, 64, s, s->channel, 0);
	check(!s->cq, "ibv_create_cq");
	s->srq = ibv_create_srq(s->pd, &srq);
	check(!s->srq, "ibv_create_srq");
	attr.send_cq = attr.recv_cq = s->cq;
	attr.srq = s->srq;
	s->rc = ibv_create_qp(s->pd, &attr);
	check(!s->rc, "ibv_create_qp RC");
	attr.qp_type = IBV_QPT_UD;
	attr.cap.max_recv_wr = 4;
	attr.cap.max_recv_sge = 1;
	attr.srq = NULL;
	s->ud = ibv_create_qp(s->pd, &attr);
	check(!s->ud, "ibv_create_qp UD");
}

/* Also where the two processes wait for each other. */
static void exchange(struct side *s)
{
	struct ibv_port_attr port;

	check(ibv_query_port(s->context, 1, &port), "ibv_query_port");
	check(ibv_query_gid(s->context, 1, 0, &s->mine.gid), "ibv_query_gid");
	s->mine.lid = port.lid;
	s->mine.qpn = s->rc->qp_num;
	s->mine.datagram_qpn = s->ud->qp_num;
	s->mine.address = (uintptr_t)s->target;
	s->mine.rkey = s->large->rkey;
	check(send(s->socket, &s->mine, sizeof(s->mine), 0) != sizeof(s->mine), "send");
	check(recv(s->socket, &s->peer, sizeof(s->peer), MSG_WAITALL) != sizeof(s->peer), "recv");
}

static void meet(struct side *s)
{
	char byte = 0;

	check(write(s->socket, &byte, 1) != 1, "write");
	check(read(s->socket, &byte, 1) != 1, "read");
}

static struct ibv_ah_attr to_peer(const struct side *s)
{
	struct ibv_ah_attr ah = { .port_num = 1, .dlid = s->peer.lid };

	ah.is_global = !s->peer.lid;
	ah.grh.dgid = s->peer.gid;
	ah.grh.hop_limit = 64;
	return ah;
}

static void connect_rc(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = s->peer.qpn,
		.ah_attr = to_peer(s),
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 0, /* no limit: checkers are slow */
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	check(ibv_modify_qp(s->rc, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	      "RC to INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(ibv_modify_qp(s->rc, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	      "RC to RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(ibv_modify_qp(s->rc, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	      "RC to RTS");
}

static void connect_ud(struct side *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_ah_attr ah = to_peer(s);

	check(ibv_modify_qp(s->ud, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	      "UD to INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(ibv_modify_qp(s->ud, &attr, IBV_QP_STATE), "UD to RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(ibv_modify_qp(s->ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "UD to RTS");
	s->ah = ibv_create_ah(s->pd, &ah);
	check(!s->ah, "ibv_create_ah");
}

/* Sleeps until the completion queue has an entry. */
static void wait_event(struct side *s)
{
	struct ibv_cq *cq;
	void *context;

	check(ibv_get_cq_event(s->channel, &cq, &context), "ibv_get_cq_event");
	check(cq != s->cq || context != s, "the event of another queue");
	ibv_ack_cq_events(cq, 1);
}

static void *poll_one(void *arg)
{
	struct side *s = arg;

	check(ibv_req_notify_cq(s->cq, 0), "ibv_req_notify_cq");
	while (!ibv_poll_cq(s->cq, 1, &last))
		wait_event(s);
	if (last.status) {
		fprintf(stderr, "request %lu: %s\n", (unsigned long)last.wr_id,
			ibv_wc_status_str(last.status));
		exit(1);
	}
	atomic_store_explicit(&seen, 1, memory_order_release);
	return NULL;
}

static struct ibv_wc next_completion(struct side *s)
{
	pthread_t thread;

	atomic_store(&seen, 0);
	check(pthread_create(&thread, NULL, poll_one, s), "pthread_create");
	while (!atomic_load_explicit(&seen, memory_order_acquire))
		usleep(100);
	pthread_join(thread, NULL);
	return last;
}

static struct ibv_wc post(struct side *s, struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	check(ibv_post_send(qp, wr, &bad), "ibv_post_send");
	return next_completion(s);
}

static void post_receive(struct side *s, struct ibv_qp *ud)
{
	struct ibv_sge sge = { (uintptr_t)s->inbox, 2 * MESSAGE, s->heap->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ud)
		check(ibv_post_recv(ud, &wr, &bad), "ibv_post_recv");
	else
		check(ibv_post_srq_recv(s->srq, &wr, &bad), "ibv_post_srq_recv");
}

static void check_inbox(const struct side *s, size_t at, char value)
{
	for (size_t i = 0; i < MESSAGE; i++)
		if (s->inbox[at + i] != value) {
			fprintf(stderr, "byte %zu is %d, not %d\n", i, s->inbox[at + i], value);
			exit(1);
		}
}

static void send_message(struct side *s, struct ibv_qp *qp, char value)
{
	struct ibv_sge sge = { (uintptr_t)s->message, MESSAGE, s->heap->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND
	};

	memset(s->message, value, MESSAGE);
	if (qp == s->ud) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = s->peer.datagram_qpn;
		wr.wr.ud.remote_qkey = QKEY;
	}
	post(s, qp, &wr);
}

/* One message there, one back. */
static void ping_pong(struct side *s, struct ibv_qp *qp, char value)
{
	struct ibv_qp *ud = qp == s->ud ? qp : NULL;

	post_receive(s, ud);
	meet(s);
	if (!s->rank)
		send_message(s, qp, value);
	next_completion(s);
	check_inbox(s, ud ? 40 : 0, value);
	if (s->rank)
		send_message(s, qp, value);
	meet(s);
}

static void rdma(struct side *s, enum ibv_wr_opcode opcode, struct ibv_mr *mr, void *local,
		 uint32_t len, uint32_t rkey, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)local, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 3, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = flags
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = s->peer.address;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = s->peer.address + 64;
		wr.wr.rdma.rkey = rkey;
	}
	post(s, s->rc, &wr);
}

/* Writes to the peer's memory by way of its window, reads it back, and counts in its first word. */
static void remote_memory(struct side *s, char value)
{
	rdma(s, IBV_WR_RDMA_WRITE, s->large, memset(s->target + LARGE / 2, value, 30000), 30000,
	     s->peer.window_rkey, 0);
	rdma(s, IBV_WR_RDMA_WRITE, s->global, memset(words, value, 32), 32, s->peer.rkey,
	     IBV_SEND_INLINE);
	rdma(s, IBV_WR_RDMA_READ, s->heap, s->inbox, MESSAGE, s->peer.rkey, 0);
	check_inbox(s, 0, value);
	rdma(s, IBV_WR_ATOMIC_FETCH_AND_ADD, s->global, words + 64, 8, s->peer.rkey, 0);
}

static void bind_window(struct side *s)
{
	struct ibv_mw_bind bind = { .wr_id = 4,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = s->large,
						   .addr = (uintptr_t)s->target,
						   .length = LARGE / 2,
						   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } };

	check(ibv_bind_mw(s->rc, s->window, &bind), "ibv_bind_mw");
	next_completion(s);
	s->mine.window_rkey = s->window->rkey;
}

/* Regions come and go while the program uses the memory around them. */
static void register_again(struct side *s)
{
	char *memory = malloc(10000);
	struct ibv_mr *mr;

	check(!memory, "malloc");
	memset(memory, 7, 10000);
	mr = ibv_reg_mr(s->pd, memory + 100, 9000, IBV_ACCESS_LOCAL_WRITE);
	check(!mr, "ibv_reg_mr");
	memory[5000] = 8;
	check(ibv_dereg_mr(mr), "ibv_dereg_mr");
	check(memory[5000] != 8 || memory[9999] != 7, "memory changed");
	free(memory);
}

static void *write_word(void *arg)
{
	words[128] = 1;
	return arg;
}

static void misbehave(struct side *s, const char *bug)
{
	static volatile int amount = 40;
	char *bytes = malloc(10);
	pthread_t thread;

	if (!strcmp(bug, "overflow"))
		*(volatile char *)(s->message + 3 * MESSAGE) = 1;
	else if (!strcmp(bug, "undefined"))
		printf("%d\n", 1 << amount);
	else if (!strcmp(bug, "uninitialised") && bytes[*words & 7])
		printf("set\n");
	else if (!strcmp(bug, "race") && !pthread_create(&thread, NULL, write_word, NULL)) {
		words[128] = 2;
		pthread_join(thread, NULL);
	}
	if (strcmp(bug, "leak") != 0)
		free(bytes);
}

static void close_all(struct side *s)
{
	check(ibv_destroy_ah(s->ah), "ibv_destroy_ah");
	check(ibv_destroy_qp(s->ud), "ibv_destroy_qp UD");
	check(ibv_destroy_qp(s->rc), "ibv_destroy_qp RC");
	check(ibv_destroy_srq(s->srq), "ibv_destroy_srq");
	check(ibv_dealloc_mw(s->window), "ibv_dealloc_mw");
	check(ibv_destroy_cq(s->cq), "ibv_destroy_cq");
	check(ibv_destroy_comp_channel(s->channel), "ibv_destroy_comp_channel");
	check(ibv_dereg_mr(s->heap), "ibv_dereg_mr heap");
	check(ibv_dereg_mr(s->global), "ibv_dereg_mr global");
	check(ibv_dereg_mr(s->large), "ibv_dereg_mr large");
	check(ibv_dealloc_pd(s->pd), "ibv_dealloc_pd");
	check(ibv_close_device(s->context), "ibv_close_device");
	free(s->message);
	free(s->target);
}

static void talk(struct side *s, const char *device, const char *bug)
{
	s->context = open_device(device);
	s->pd = ibv_alloc_pd(s->context);
	check(!s->pd, "ibv_alloc_pd");
	make_memory(s);
	make_queues(s);
	exchange(s);
	connect_rc(s);
	bind_window(s);
	exchange(s);
	connect_ud(s);
	meet(s);
	for (int i = 0; i < s->rounds; i++) {
		ping_pong(s, s->rc, (char)(i + 1));
		ping_pong(s, s->ud, (char)(i + 2));
		remote_memory(s, (char)(i + 3));
		register_again(s);
	}
	meet(s);
	check(*(uint64_t *)s->target != (uint64_t)s->rounds, "atomics that were not counted");
	if (bug && s->rank)
		misbehave(s, bug);
	meet(s);
	close_all(s);
}

int main(int argc, char **argv)
{
	struct side s = { .rounds = argc > 2 ? atoi(argv[2]) : 3 };
	int sockets[2], status = 0;
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: talk DEVICE [ROUNDS [BUG]]\n");
		return 2;
	}
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	child = fork();
	check(child < 0, "fork");
	s.rank = !child;
	s.socket = sockets[s.rank];
	close(sockets[!s.rank]);
	talk(&s, argv[1], argc > 3 ? argv[3] : NULL);
	close(s.socket);
	if (s.rank)
		return 0;
	check(waitpid(child, &status, 0) != child, "waitpid");
	if (status) {
		fprintf(stderr, "the other process ended with status %#x\n", status);
		return 1;
	}
	printf("talked\n");
	return 0;
}
