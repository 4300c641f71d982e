/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One of many processes, on one or several hosts, each of which has a connection with every other.
 * Every round they send each other messages, write, read back, count by atomics and send datagrams,
 * and look at every byte that came. Processes find each other by files in a common folder.
 *
 * With -A, once the rounds are over, each process waits until it has another address, and all of it
 * happens again from there: with new connections and the datagram queue pair that there was. Before
 * that, the old connections must have ended in the documented error. Asynchronous events are printed.
 *
 * Used by hosts.py. Exit status: 0 all was right; 3 a request ended in an error (its status and the
 * peer are printed); 1 anything else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

enum {
	MOST = 64,
	QKEY = 0x11111111,
	DATAGRAM = 512,
	GRH = 40,
	WAIT_S = 50,
	GREETING = 0xfff0, /* and the session, instead of a round */
};

/* What one process tells the others. */
struct card {
	union ibv_gid gid;
	uint32_t ud_qpn;
	uint32_t rkey;
	uint64_t base;
	uint32_t qpn[MOST]; /* by peer */
};

/* A peer's part of our buffer. */
struct area {
	size_t send, receive[2], window, back, old, datagram;
};

static struct {
	const char *folder, *address, *next, *device;
	unsigned int id, total, rounds, timeout;
	uint32_t bytes;
	enum ibv_mtu mtu;
	bool events;
} opt = { .rounds = 10, .bytes = 20000, .timeout = 18, .device = "mlx5_0", .mtu = IBV_MTU_1024 };

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq, *ud_cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp[MOST], *ud;
static struct ibv_ah *ah[MOST];
static struct card cards[MOST];
static char *buf;
static int gid_index;
static unsigned int round_now, session, heard[MOST];
static bool greeted[MOST];

static _Noreturn void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("mesh %u, round %u: ", opt.id, round_now);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	exit(1);
}

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			die("line %d: %s (%s)", __LINE__, #condition, strerror(errno));            \
	} while (0)

static time_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* ---- the buffer: a counter, then an area per peer, then datagrams received ---- */

static size_t area_bytes(void)
{
	return 5 * (size_t)opt.bytes + 64 + DATAGRAM;
}

static struct area area_of(unsigned int peer)
{
	size_t at = 64 + peer * area_bytes();

	return (struct area){
		.send = at,
		.receive = { at + opt.bytes, at + 2 * opt.bytes },
		.window = at + 3 * opt.bytes,
		.back = at + 4 * opt.bytes,
		.old = (at + 5 * opt.bytes + 7) & ~(size_t)7,
		.datagram = at + 5 * opt.bytes + 64,
	};
}

static size_t datagram_at(unsigned int n)
{
	return 64 + opt.total * area_bytes() + (size_t)n * (DATAGRAM + GRH);
}

static unsigned int datagrams(void)
{
	return opt.total * 8;
}

static void fill(size_t at, size_t len, unsigned int from, unsigned int to, unsigned int round)
{
	uint32_t x = from * 2654435761u + to * 40503u + round * 97u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		buf[at + i] = x >> 24;
	}
}

static void look(const char *what, size_t at, size_t len, unsigned int from, unsigned int to,
		 unsigned int round)
{
	uint32_t x = from * 2654435761u + to * 40503u + round * 97u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		if (buf[at + i] != (char)(x >> 24))
			die("%s of %u, round %u: byte %zu of %zu is wrong", what, from, round, i,
			    len);
	}
}

/* ---- meeting ---- */

static void path_of(char *path, size_t size, unsigned int id, const char *step)
{
	snprintf(path, size, "%s/%u.%s.%u", opt.folder, id, step, session);
}

static void leave(const char *step, const void *data, size_t len)
{
	char path[256], hidden[280];
	int fd;

	path_of(path, sizeof(path), opt.id, step);
	snprintf(hidden, sizeof(hidden), "%s.new", path);
	fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	check(fd >= 0);
	check(write(fd, data, len) == (ssize_t)len);
	close(fd);
	check(!rename(hidden, path));
}

static void find(unsigned int id, const char *step, void *data, size_t len)
{
	time_t end = now_s() + WAIT_S;
	char path[256];
	int fd;

	path_of(path, sizeof(path), id, step);
	while ((fd = open(path, O_RDONLY)) < 0) {
		if (now_s() > end)
			die("process %u has not come to '%s'", id, step);
		poll(NULL, 0, 5);
	}
	check(read(fd, data, len) == (ssize_t)len);
	close(fd);
}

static void meet(const char *step)
{
	char byte = 0;

	leave(step, &byte, 1);
	for (unsigned int i = 0; i < opt.total; i++)
		find(i, step, &byte, 1);
}

/* ---- objects ---- */

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list);
	for (int i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), opt.device))
			ctx = ibv_open_device(list[i]);
	check(ctx);
	ibv_free_device_list(list);
}

/* The index of an address as RoCEv2 GID, or -1. */
static int gid_of(const char *address, union ibv_gid *gid)
{
	struct ibv_gid_entry e[255];
	union ibv_gid want = { 0 };
	ssize_t n = ibv_query_gid_table(ctx, e, 255, 0);

	if (!inet_pton(AF_INET6, address, &want)) {
		want.raw[10] = want.raw[11] = 0xff;
		check(inet_pton(AF_INET, address, &want.raw[12]));
	}
	*gid = want;
	for (ssize_t i = 0; i < n; i++)
		if (e[i].gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(&e[i].gid, &want, 16))
			return e[i].gid_index;
	return -1;
}

static void find_gid(void)
{
	gid_index = gid_of(opt.address, &cards[opt.id].gid);
	if (gid_index < 0)
		die("%s is no RoCEv2 GID of %s", opt.address, opt.device);
}

/* Prints what has come; waits so long for the first. */
static void tell_events(int ms)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	for (; poll(&p, 1, ms) == 1; ms = 0) {
		check(!ibv_get_async_event(ctx, &event));
		printf("event: %s\n", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static struct ibv_qp *create_qp(enum ibv_qp_type type, struct ibv_cq *of)
{
	struct ibv_qp_init_attr init = {
		.send_cq = of,
		.recv_cq = of,
		.qp_type = type,
		.cap = { .max_send_wr = 2 * opt.total + 8,
			 .max_recv_wr = type == IBV_QPT_UD ? datagrams() : 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct ibv_qp *made = ibv_create_qp(pd, &init);

	check(made);
	check(!ibv_modify_qp(made, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
	return made;
}

static void post_recv(struct ibv_qp *to, uint64_t id, size_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf + at, len, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(!ibv_post_recv(to, &wr, &bad));
}

static void create_all(void)
{
	size_t size = datagram_at(datagrams());

	pd = ibv_alloc_pd(ctx);
	check(pd);
	check(!posix_memalign((void **)&buf, 4096, size));
	memset(buf, 0, size);
	mr = ibv_reg_mr(pd, buf, size,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_ATOMIC);
	check(mr);
	if (opt.events) {
		channel = ibv_create_comp_channel(ctx);
		check(channel);
	}
	cq = ibv_create_cq(ctx, 16 * opt.total + 16, NULL, channel, 0);
	ud_cq = ibv_create_cq(ctx, 16 * opt.total + 16, NULL, NULL, 0);
	check(cq && ud_cq);
	ud = create_qp(IBV_QPT_UD, ud_cq);
	for (unsigned int i = 0; i < datagrams(); i++)
		post_recv(ud, i, datagram_at(i), DATAGRAM + GRH);
}

static void create_connections(void)
{
	cards[opt.id].rkey = mr->rkey;
	cards[opt.id].base = (uintptr_t)buf;
	cards[opt.id].ud_qpn = ud->qp_num;
	for (unsigned int i = 0; i < opt.total; i++) {
		qp[i] = create_qp(IBV_QPT_RC, cq);
		cards[opt.id].qpn[i] = qp[i]->qp_num;
		for (unsigned int k = 0; k < 2; k++)
			post_recv(qp[i], i << 8, area_of(i).receive[k], opt.bytes);
	}
}

static struct ibv_ah_attr way_to(unsigned int peer)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = cards[peer].gid, .sgid_index = gid_index, .hop_limit = 64 },
	};
}

static void connect_peer(unsigned int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = opt.mtu,
		.dest_qp_num = cards[i].qpn[opt.id],
		.rq_psn = 0xfffff0 + opt.id, /* soon round the corner */
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = way_to(i),
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = opt.timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = 0xfffff0 + i,
		.max_rd_atomic = 4,
	};

	check(!ibv_modify_qp(qp[i], &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	check(!ibv_modify_qp(qp[i], &rts,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void address_datagrams(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	if (!session) {
		check(!ibv_modify_qp(ud, &attr, IBV_QP_STATE));
		attr.qp_state = IBV_QPS_RTS;
		check(!ibv_modify_qp(ud, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	}
	for (unsigned int i = 0; i < opt.total; i++) {
		struct ibv_ah_attr attr_of_peer = way_to(i);

		ah[i] = ibv_create_ah(pd, &attr_of_peer);
		check(ah[i]);
	}
}

static void connect_all(void)
{
	for (unsigned int i = 0; i < opt.total; i++)
		connect_peer(i);
}

/* ---- rounds ---- */

static void post(unsigned int peer, enum ibv_wr_opcode op, size_t at, uint32_t len, size_t there)
{
	struct ibv_sge sge = { (uintptr_t)buf + at, len, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = peer << 8 | 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = cards[peer].base + there;
		wr.wr.atomic.rkey = cards[peer].rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = cards[peer].base + there;
		wr.wr.rdma.rkey = cards[peer].rkey;
	}
	check(!ibv_post_send(qp[peer], &wr, &bad));
}

static void post_datagram(unsigned int peer, unsigned int round)
{
	size_t at = area_of(peer).datagram;
	struct ibv_sge sge = { (uintptr_t)buf + at, DATAGRAM, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1 << 30,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND_WITH_IMM,
				  .imm_data = htonl(opt.id << 16 | (round & 0xffff)),
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	fill(at, DATAGRAM, opt.id, peer, round & 0xffff);
	wr.wr.ud.ah = ah[peer];
	wr.wr.ud.remote_qpn = cards[peer].ud_qpn;
	wr.wr.ud.remote_qkey = QKEY;
	check(!ibv_post_send(ud, &wr, &bad));
}

static void take_datagrams(void);

static void begin_round(void)
{
	take_datagrams();
	for (unsigned int i = 0; i < opt.total; i++) {
		struct area a = area_of(i);
		size_t window = area_of(opt.id).window; /* ours in the peer's buffer */

		fill(a.send, opt.bytes, opt.id, i, round_now);
		post(i, IBV_WR_RDMA_WRITE, a.send, opt.bytes, window);
		post(i, IBV_WR_RDMA_READ, a.back, opt.bytes, window);
		post(i, IBV_WR_ATOMIC_FETCH_AND_ADD, a.old, 8, 0);
		post(i, IBV_WR_SEND, a.send, opt.bytes, 0);
		post_datagram(i, round_now);
	}
}

/* The address that the headers in front of a datagram name is the sender's. */
static void check_source(size_t at, unsigned int from)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const union ibv_gid *want = &cards[from].gid;
	bool same = memcmp(want->raw, mapped, sizeof(mapped))
			    ? !memcmp(buf + at + 8, want->raw, 16)
			    : !memcmp(buf + at + 32, want->raw + 12, 4);

	if (!same)
		die("a datagram of %u came from another address", from);
}

static void take_datagrams(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(ud_cq, 1, &wc) == 1) {
		unsigned int from, round;

		check(wc.status == IBV_WC_SUCCESS);
		if (wc.wr_id == 1 << 30)
			continue;
		from = ntohl(wc.imm_data) >> 16;
		round = ntohl(wc.imm_data) & 0xffff;
		check(from < opt.total && wc.byte_len == DATAGRAM + GRH);
		check(wc.src_qp == cards[from].ud_qpn);
		look("datagram", datagram_at(wc.wr_id) + GRH, DATAGRAM, from, opt.id, round);
		if (round >= GREETING) {
			greeted[from] |= round == GREETING + session;
			if (round == GREETING + session)
				check_source(datagram_at(wc.wr_id), from);
		}
		heard[from]++;
		post_recv(ud, wc.wr_id, datagram_at(wc.wr_id), DATAGRAM + GRH);
	}
}

/*
 * Datagrams alone, before there is a connection, to those with higher numbers only: who has nothing
 * to say at a new address hears what comes there all the same.
 */
static void greet(void)
{
	time_t end = now_s() + WAIT_S;
	unsigned int awaited = 0, content = 0;
	char path[256];

	for (unsigned int tries = 0; content < opt.total; tries++) {
		take_datagrams();
		while (awaited < opt.id && greeted[awaited])
			awaited++;
		path_of(path, sizeof(path), opt.id, "greeted");
		if (awaited == opt.id && access(path, F_OK))
			leave("greeted", "", 1);
		if (tries % 10 == 0)
			for (unsigned int i = opt.id + 1; i < opt.total; i++)
				post_datagram(i, GREETING + session);
		for (; content < opt.total; content++) {
			path_of(path, sizeof(path), content, "greeted");
			if (access(path, F_OK))
				break;
		}
		if (now_s() > end)
			die("%u were greeted, and %u greeted us", content, awaited);
		poll(NULL, 0, 10);
	}
}

static void sleep_for_event(void)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *which;
	void *context;

	if (poll(&p, 1, 100) == 1) {
		check(!ibv_get_cq_event(channel, &which, &context));
		ibv_ack_cq_events(which, 1);
	}
	check(!ibv_req_notify_cq(cq, 0));
}

static void take(const struct ibv_wc *wc)
{
	unsigned int peer = wc->wr_id >> 8;

	if (wc->status == IBV_WC_SUCCESS)
		return;
	printf("mesh %u, round %u: status %u (%s), peer %u\n", opt.id, round_now, wc->status,
	       ibv_wc_status_str(wc->status), peer);
	exit(3);
}

/* An end that sends nothing does not notice that the other is gone: ask peers that are late. */
static unsigned int ask(const unsigned int received[])
{
	unsigned int asked = 0;

	for (unsigned int i = 0; i < opt.total; i++)
		if (received[i] <= round_now) {
			post(i, IBV_WR_RDMA_READ, area_of(i).back, 8, area_of(opt.id).window);
			asked++;
		}
	return asked;
}

/* Four requests of ours and one message of theirs, per peer. Messages may be those of the next. */
static void finish_round(unsigned int received[])
{
	unsigned int left = 4 * opt.total, late = 0;
	time_t end = now_s() + WAIT_S, next = now_s() + 3;

	for (unsigned int i = 0; i < opt.total; i++)
		late += received[i] <= round_now;
	while (left || late) {
		struct ibv_wc wc;

		if (ibv_poll_cq(cq, 1, &wc) == 1) {
			take(&wc);
			if (wc.wr_id & 1) {
				left--;
			} else {
				unsigned int peer = wc.wr_id >> 8;

				check(wc.byte_len == opt.bytes);
				late -= received[peer]++ == round_now;
			}
			continue;
		}
		take_datagrams();
		tell_events(0);
		if (!left && now_s() > next) {
			left = ask(received);
			next = now_s() + 3;
		}
		if (now_s() > end)
			die("%u requests are not done, %u messages have not come", left, late);
		if (opt.events)
			sleep_for_event();
	}
}

static void inspect(void)
{
	for (unsigned int i = 0; i < opt.total; i++) {
		struct area a = area_of(i);
		size_t message = a.receive[round_now & 1];

		look("message", message, opt.bytes, i, opt.id, round_now);
		look("read", a.back, opt.bytes, opt.id, i, round_now);
		post_recv(qp[i], i << 8, message, opt.bytes);
	}
}

/* ---- another address ---- */

/* Ends that use the old address, or wait for an answer from it, get an error. */
static void expect_silence(unsigned int peer)
{
	time_t end = now_s() + WAIT_S;
	struct ibv_wc wc;

	post(peer, IBV_WR_RDMA_READ, area_of(peer).back, 8, area_of(opt.id).window);
	for (;;) {
		if (ibv_poll_cq(cq, 1, &wc) == 1) {
			if (!(wc.wr_id & 1))
				continue;
			if (wc.status != IBV_WC_RETRY_EXC_ERR || wc.wr_id >> 8 != peer)
				die("the old connection with %u ends with %s", peer,
				    ibv_wc_status_str(wc.status));
			return;
		}
		if (now_s() > end)
			die("the old connection with %u does not end", peer);
	}
}

static void move(void)
{
	time_t end = now_s() + WAIT_S;
	struct ibv_wc wc;
	union ibv_gid gid;

	printf("waiting for %s\n", opt.next);
	while (gid_of(opt.next, &gid) < 0 ||
	       (strcmp(opt.next, opt.address) && gid_of(opt.address, &gid) >= 0)) {
		if (now_s() > end)
			die("%s has not become %s", opt.address, opt.next);
		tell_events(100);
	}
	tell_events(0);
	session++;
	meet("moved");
	for (unsigned int i = 0; i < opt.total; i++)
		if (i != opt.id)
			expect_silence(i);
	for (unsigned int i = 0; i < opt.total; i++) {
		check(!ibv_destroy_ah(ah[i]));
		check(!ibv_destroy_qp(qp[i]));
	}
	while (ibv_poll_cq(cq, 1, &wc) == 1)
		;
	memset(buf, 0, 8);
	memset(heard, 0, sizeof(heard));
	memset(greeted, 0, sizeof(greeted));
	opt.address = opt.next;
}

static void usage(void)
{
	fprintf(stderr, "usage: mesh -f FOLDER -i ID -t TOTAL -a ADDRESS [-r ROUNDS] [-b BYTES] "
			"[-T TIMEOUT] [-m MTU] [-d DEVICE] [-A ADDRESS] [-e]\n");
	exit(2);
}

static void read_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "f:i:t:a:r:b:T:m:d:A:e")) != -1) {
		switch (c) {
		case 'f':
			opt.folder = optarg;
			break;
		case 'i':
			opt.id = atoi(optarg);
			break;
		case 't':
			opt.total = atoi(optarg);
			break;
		case 'a':
			opt.address = optarg;
			break;
		case 'r':
			opt.rounds = atoi(optarg);
			break;
		case 'b':
			opt.bytes = atoi(optarg);
			break;
		case 'T':
			opt.timeout = atoi(optarg);
			break;
		case 'm':
			opt.mtu = atoi(optarg) >= 4096 ? IBV_MTU_4096 : IBV_MTU_1024;
			break;
		case 'd':
			opt.device = optarg;
			break;
		case 'A':
			opt.next = optarg;
			break;
		case 'e':
			opt.events = true;
			break;
		default:
			usage();
		}
	}
	if (!opt.folder || !opt.address || !opt.total || opt.total > MOST || opt.id >= opt.total)
		usage();
}

static void play(void)
{
	unsigned int received[MOST] = { 0 };
	uint64_t counter;

	find_gid();
	create_connections();
	leave("card", &cards[opt.id], sizeof(struct card));
	for (unsigned int i = 0; i < opt.total; i++)
		find(i, "card", &cards[i], sizeof(struct card));
	address_datagrams();
	if (opt.next)
		greet();
	connect_all();
	meet("ready");
	for (round_now = 0; round_now < opt.rounds; round_now++) {
		begin_round();
		finish_round(received);
		inspect();
		printf("round %u\n", round_now);
	}
	meet("done");
	take_datagrams();
	memcpy(&counter, buf, sizeof(counter));
	if (counter != (uint64_t)opt.total * opt.rounds)
		die("%u processes counted %llu times, not %u times each", opt.total,
		    (unsigned long long)counter, opt.rounds);
	for (unsigned int i = 0; i < opt.total; i++)
		if (!heard[i])
			die("no datagram of process %u came", i);
	meet("gone");
}

int main(int argc, char **argv)
{
	read_options(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_device();
	create_all();
	play();
	if (opt.next) {
		move();
		play();
	}
	printf("all right\n");
	return 0;
}
