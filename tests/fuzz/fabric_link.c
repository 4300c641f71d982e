/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile process of the same user on the host: its handshake, the records that it writes into the link's rings, its
 * segment with keys and grants, its ring indices, and requests that it posts to the mailbox. The adapter has queue pairs
 * of every type, some of which are connected to that process and send to it.
 *
 * The other process is a child that only connects when it is told to; rings, segment and mailbox are memory that both
 * have, and this process writes them.
 *
 * Input: steps of a byte that says what is done, and the bytes that it needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "fabric/fabric.h"
#include "fabric/handshake_msg.h"
#include "fabric/mailbox.h"
#include "fabric/memfd.h"
#include "fabric/numbers.h"
#include "fabric/poll.h"
#include "fabric/ring.h"
#include "fabric/segment.h"
#include "fuzz.h"
#include "hca/hca.h"
#include "hca/memory/copy_server.h"
#include "hca/peers/peer.h"
#include "hca/peers/rpc_types.h"
#include "hca/peers/segment.h"
#include "hca/transport/network.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/sq.h"
#include "hca/wire/forward.h"
#include "input.h"
#include "roce/opcode.h"
#include "transport/end.h"
#include "transport/net.h"

#define RING_BYTES   65536u
#define STEPS_MOST   60u
#define SHARED_BYTES 65536u
#define KEYS         8u

enum step {
	STEP_RECORD,
	STEP_RAW_RECORD,
	STEP_HEADER,
	STEP_INDEX,
	STEP_KEY,
	STEP_GRANT,
	STEP_POLL,
	STEP_POST,
	STEP_MAILBOX,
	STEP_HANDSHAKE,
	STEPS,
};

enum { FD_RINGS, FD_SEGMENT, FD_EVENT, FD_MAILBOX, FD_SHORT, FD_NULL, FDS };

/* What the child is told: a message, and which descriptors go with it. */
struct order {
	struct handshake_msg m;
	uint32_t len;
	uint8_t fds[6];
	uint8_t count;
};

static struct input in;
static int to_child, fds[FDS];
static struct fabric_ring_pair rings;
static struct fabric_tx tx; /* the child's side of the rings */
static struct fabric_rx rx;
static struct hca_segment *segment;
static uint8_t *shared; /* at the same address in both processes */
static fabric_id_t child_id;
static uint32_t child_qpn;
static struct end *ends[6];
static const enum hca_qp_type types[6] = { HCA_QP_RC,       HCA_QP_UC,  HCA_QP_UD,
					   HCA_QP_XRC_RECV, HCA_QP_DCT, HCA_QP_DCI };

static uint8_t u8(void)
{
	return input_u8(&in);
}

/* ---- the child ---- */

static int dial(fabric_id_t id)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 20 };
	struct fabric_process p;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), n;

	if (sock < 0 || fabric_process_find(id, &p))
		_exit(3);
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	n = sprintf(name.sun_path + 1, "verbena-");
	for (int i = 0; i < FABRIC_TOKEN_BYTES; i++)
		n += sprintf(name.sun_path + 1 + n, "%02x", p.token[i]);
	if (connect(sock, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)))
		_exit(4);
	return sock;
}

static void send_order(int sock, const struct order *o)
{
	union {
		char bytes[CMSG_SPACE(6 * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec data = { .iov_base = (void *)&o->m, .iov_len = o->len };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (o->count) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(o->count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(o->count * sizeof(int));
		for (unsigned int i = 0; i < o->count; i++)
			memcpy(CMSG_DATA(c) + i * sizeof(int), &fds[o->fds[i]], sizeof(int));
	}
	(void)!sendmsg(sock, &msg, MSG_NOSIGNAL);
}

/* Connects as it is told, and says what the answer is; 0: it hung up. */
static _Noreturn void child_main(int orders)
{
	const struct fabric_config config = { .segment_size = 1 << 16 };
	struct handshake_msg answer;
	uint32_t hello[2], count;
	struct order o;
	int sock = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fabric_init(&config) || fabric_qpn_block_get(&hello[1], &count))
		_exit(2);
	hello[0] = fabric_self();
	if (write(orders, hello, sizeof(hello)) != sizeof(hello))
		_exit(2);
	while (read(orders, &o, sizeof(o)) == sizeof(o)) {
		uint16_t kind = 0;

		if (sock >= 0)
			close(sock);
		sock = dial(o.m.to ? o.m.to : o.m.from);
		send_order(sock, &o);
		if (recv(sock, &answer, sizeof(answer), 0) == sizeof(answer))
			kind = answer.kind;
		if (write(orders, &kind, sizeof(kind)) != sizeof(kind))
			break;
	}
	_exit(0);
}

static void start_child(void)
{
	uint32_t hello[2];
	int pair[2];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	if (!fork())
		child_main(pair[1]);
	close(pair[1]);
	to_child = pair[0];
	CHECK(read(to_child, hello, sizeof(hello)) == sizeof(hello));
	child_id = hello[0];
	child_qpn = hello[1];
}

/* ---- the link ---- */

/* The service thread may free it at any time. */
static bool peer_is_up(void)
{
	const struct hca_peer *p;
	bool is_child;

	epoch_enter();
	p = hca_peer_at(fabric_id_slot(child_id));
	is_child = p && p->id == child_id;
	epoch_exit();
	return is_child;
}

/* Waits for the service thread. */
static bool await(bool up)
{
	for (int i = 0; i < 200000; i++) {
		if (peer_is_up() == up)
			return true;
		usleep(i < 100 ? 20 : 200);
	}
	return false;
}

static uint16_t ask_child(const struct order *o)
{
	uint16_t kind = 0;

	CHECK(write(to_child, o, sizeof(*o)) == sizeof(*o));
	CHECK(read(to_child, &kind, sizeof(kind)) == sizeof(kind));
	return kind;
}

static struct order good_order(void)
{
	return (struct order){
		.m = { .magic = 0x6c6e6b76,
		       .version = 2,
		       .kind = HELLO,
		       .from = child_id,
		       .to = fabric_self(),
		       .ring_size = RING_BYTES,
		       .flags = FLAG_MAILBOX,
		       .segment_size = sizeof(struct hca_segment) },
		.len = sizeof(struct handshake_msg),
		.fds = { FD_RINGS, FD_SEGMENT, FD_EVENT, FD_MAILBOX },
		.count = 4,
	};
}

static void reset_rings(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		memset(rings.ctl[i], 0, sizeof(*rings.ctl[i]));
		memset(rings.data[i], 0, RING_BYTES);
	}
	fabric_tx_init(&tx, &rings, 0);
	fabric_rx_init(&rx, &rings, 1);
	atomic_store(&rings.ctl[0]->is_up, 1);
}

static void connect_good(void)
{
	struct order o = good_order();

	if (peer_is_up()) { /* the child closes its socket first */
		struct order nothing = { .m = { .to = fabric_self() }, .len = 1 };

		ask_child(&nothing);
		CHECK(await(false));
	}
	reset_rings();
	for (int i = 0; i < 50; i++) {
		if (ask_child(&o) == WELCOME && await(true))
			return;
	}
	CHECK(false);
}

/* ---- steps ---- */

/* Publishes what was reserved, or begins again when the ring is full or broken. */
static uint8_t *reserve(uint32_t len)
{
	int err = 0;
	uint8_t *at = fabric_tx_reserve(&tx, len, &err);

	return at;
}

static uint64_t any_address(const struct end *e)
{
	switch (u8() % 4) {
	case 0:
		return input_u64(&in);
	case 1:
		return (uintptr_t)shared + input_u16(&in);
	default:
		return (uintptr_t)e->mem + input_u16(&in);
	}
}

static uint32_t any_key(const struct end *e)
{
	uint8_t how = u8();

	return how & 0x80 ? e->mr->key : how & 0x40 ? input_u32(&in) : (how % KEYS + 16) << 8;
}

static void record(void)
{
	static const uint8_t special[] = { ROCE_PKT_HELLO, ROCE_PKT_FORWARD,  ROCE_PKT_DC_BEGIN,
					   ROCE_PKT_ETHER, ROCE_PKT_RPC_CALL, ROCE_PKT_RPC_REPLY };
	struct end *e = ends[u8() % 6];
	uint8_t op = u8(), how = u8();
	struct roce_pkt p = { .op = op };
	uint8_t body[768] = { 0 }, *at;
	uint32_t len;

	if (how & 1)
		p.op = special[op % sizeof(special)];
	else if (roce_opcode_find(op))
		p = end_request(e, op, e->in->resp.epsn + (how & 2 ? u8() : 0));
	p.dqpn = e->qp->qpn;
	p.sqpn = child_qpn;
	len = input_bytes(&in, body, u8());
	if (how & 4)
		p.len = len;
	if (how & 8) {
		p.flags = u8();
		p.refs = u8() % 70;
	}
	if (how & 16) {
		p.rdma.va = any_address(e);
		p.rdma.rkey = any_key(e);
		p.rdma.dma_len = input_u16(&in);
	}
	if (how & 32) { /* a reference to the hostile segment */
		struct roce_ref ref = { .addr = any_address(e), .len = u8(), .key = any_key(e) };

		p.flags |= ROCE_PKT_BY_REF;
		p.refs = 1;
		p.len = ref.len;
		memcpy(body, &ref, sizeof(ref));
		len = sizeof(ref);
	}
	if (p.op == ROCE_PKT_FORWARD && how & 64) { /* a packet of the wire, for queue pair 1 */
		struct forward f = { .pkt = { .op = ROCE_TR_UD | ROCE_PKT_SEND_ONLY,
					      .dqpn = u8() & 1 ? 1 : e->qp->qpn,
					      .len = u8() & 1 ? 256 : len,
					      .flags = ROCE_PKT_GRH,
					      .ud = { .qkey = 0x80010000 } } };

		memmove(body + sizeof(f), body, sizeof(body) - sizeof(f));
		memcpy(body, &f, sizeof(f));
		len = sizeof(f) + 256 < sizeof(body) ? sizeof(f) + 256 : sizeof(body);
		p.len = len;
	}
	if ((p.op == ROCE_PKT_RPC_CALL || p.op == ROCE_PKT_RPC_REPLY) && how & 64) {
		const uint32_t head[4] = { u8() % 16, u8() % 4, u8(), u8() * 4u };

		memmove(body + sizeof(head), body, sizeof(body) - sizeof(head));
		memcpy(body, head, sizeof(head));
		len = p.len = sizeof(head) + HCA_RPC_BYTES;
	}
	if (len < p.len && !(how & 128))
		len = p.len < sizeof(body) ? p.len : sizeof(body);
	at = reserve(ROCE_PKT_RECORD + len);
	if (!at)
		return;
	memcpy(at, &p, ROCE_PKT_RECORD);
	memcpy(at + ROCE_PKT_RECORD, body, len);
	fabric_tx_publish(&tx);
}

static void raw_record(void)
{
	uint8_t body[256] = { 0 }, *at;
	uint32_t len = (uint32_t)input_bytes(&in, body, u8());

	at = reserve(len);
	if (!at)
		return;
	memcpy(at, body, len);
	fabric_tx_publish(&tx);
}

static void header(void)
{
	atomic_store(fabric_ring_word(rings.data[0], RING_BYTES - 1, tx.tail), input_u64(&in));
}

static void index_word(void)
{
	switch (u8() % 4) {
	case 0:
		atomic_store(&rings.ctl[1]->head, u8() & 1 ? tx.tail + u8() * 64u : input_u32(&in));
		break;
	case 1:
		atomic_store(&rings.ctl[0]->want, input_u32(&in));
		break;
	case 2:
		atomic_store(&rings.ctl[1]->kicked, u8());
		break;
	default:
		atomic_store(&rings.ctl[0]->is_up, u8() & 1);
		break;
	}
}

static void set_key(void)
{
	uint32_t number = u8() % KEYS + 16;
	struct hca_mr_entry *e = &segment->mr[number];
	uint8_t how = u8();

	atomic_store(&e->key, how & 1 ? number << 8 : input_u32(&in));
	e->pdn = u8() & 1 ? ends[0]->pd->pdn : u8();
	e->access = u8();
	e->flags = u8();
	e->iova = u8() & 1 ? (uintptr_t)shared : input_u64(&in);
	e->va = u8() & 1 ? e->iova : (uintptr_t)shared;
	e->length = u8() & 1 ? SHARED_BYTES : input_u64(&in);
	e->qpn = child_qpn + u8() % 4;
	e->generation = u8();
}

static void set_grant(void)
{
	struct hca_qp_grant *g = &segment->grant[child_qpn + u8() % 2];

	g->pdn = u8() & 1 ? ends[0]->pd->pdn : u8();
	g->access = input_u32(&in);
	g->peer_qpn = u8() & 1 ? ends[u8() % 6]->qp->qpn : u8();
	g->first_psn = 100;
	atomic_store(&g->word, u8() | 1);
}

/* The adapter receives; the child takes what was sent to it. */
static void poll_all(void)
{
	uint32_t len;
	int err = 0;

	for (unsigned int i = 0; i < 3; i++) {
		fabric_poll_enter();
		fabric_poll_links();
	}
	for (unsigned int i = 0; i < 64 && fabric_rx_peek(&rx, &len, &err); i++)
		fabric_rx_release(&rx);
	for (unsigned int i = 0; i < 6; i++)
		ends[i]->taken = ends[i]->completed;
}

static void post(void)
{
	static const uint8_t ops[] = { HCA_OP_SEND,        HCA_OP_WRITE,     HCA_OP_READ,
				       HCA_OP_CMP_SWAP,    HCA_OP_FETCH_ADD, HCA_OP_WRITE_IMM,
				       HCA_OP_ATOMIC_WRITE };
	struct end *e = ends[u8() % 2];
	uint8_t op = ops[u8() % sizeof(ops)], how = u8();
	bool eight = op == HCA_OP_CMP_SWAP || op == HCA_OP_FETCH_ADD || op == HCA_OP_ATOMIC_WRITE;
	struct hca_send *s;

	if (e->qp->state != HCA_QPS_RTS || e->posted - hca_sq_next(e->qp) >= END_SLOTS)
		return;
	s = end_post(e, op, u8() * 8, eight ? 8 : input_u16(&in));
	s->raddr = how & 1 ? any_address(e) : (uintptr_t)shared + (how & 0xf8);
	s->rkey = any_key(e);
	end_ring(e);
}

static void mailbox(void)
{
	struct copy_area *area = fabric_mailbox_self();
	struct copy_slot *slot = &area->slot[u8() % COPY_SERVER_SLOTS];
	struct end *e = ends[u8() % 6];
	uint32_t state;

	if (u8() & 1)
		atomic_store(&slot->client, child_id);
	slot->request = (struct copy_request){ .op = u8() % 6,
					       .key = any_key(e),
					       .pdn = u8() & 1 ? e->pd->pdn : u8(),
					       .len = u8() & 1 ? 8 : input_u32(&in),
					       .addr = any_address(e),
					       .swap = 1 };
	state = u8() & 1 ? COPY_POSTED : u8();
	atomic_store(&slot->state, state);
	atomic_fetch_add(&area->doorbell, 1);
	syscall(SYS_futex, &area->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	for (int i = 0; state == COPY_POSTED && atomic_load(&slot->state) != COPY_DONE; i++) {
		CHECK(i < 200000); /* more than 20 s */
		usleep(i < 100 ? 10 : 100);
	}
	atomic_store(&slot->state, COPY_IDLE);
	atomic_store(&slot->client, 0);
}

/* A handshake that is not right; the link that there was is gone afterwards. */
static void handshake(void)
{
	struct order o = good_order();
	uint8_t how = u8();

	if (how & 1)
		o.m.kind = u8();
	if (how & 2)
		o.m.ring_size = u8() & 1 ? 1u << u8() % 32 : input_u32(&in);
	if (how & 4)
		o.m.segment_size = u8() & 1 ? 1ull << u8() % 64 : input_u64(&in);
	if (how & 8)
		o.m.flags = u8();
	if (how & 16)
		o.len = u8() % (sizeof(o.m) + 1);
	if (how & 32)
		o.m.from = u8() & 1 ? fabric_self() : input_u32(&in);
	if (how & 64) {
		o.count = u8() % 7;
		for (unsigned int i = 0; i < o.count; i++)
			o.fds[i] = u8() % FDS;
	}
	if (!o.len)
		o.len = 1;
	if (!fabric_process_find(o.m.to, &(struct fabric_process){ 0 }))
		ask_child(&o);
	connect_good();
}

static void do_step(enum step step)
{
	switch (step) {
	case STEP_RECORD:
		record();
		break;
	case STEP_RAW_RECORD:
		raw_record();
		break;
	case STEP_HEADER:
		header();
		break;
	case STEP_INDEX:
		index_word();
		break;
	case STEP_KEY:
		set_key();
		break;
	case STEP_GRANT:
		set_grant();
		break;
	case STEP_POLL:
		poll_all();
		break;
	case STEP_POST:
		post();
		break;
	case STEP_MAILBOX:
		mailbox();
		break;
	default:
		if (u8() % 8 == 0) /* it costs more than the others */
			handshake();
		break;
	}
}

/* ---- begin and end ---- */

static bool not_forced(void)
{
	return false;
}

static void make_memory(void)
{
	void *at = NULL;

	CHECK(!fabric_ring_memfd(RING_BYTES, 2, &fds[FD_RINGS]));
	CHECK(!fabric_ring_map(fds[FD_RINGS], RING_BYTES, 2, &rings));
	CHECK(!fabric_memfd_create("segment", sizeof(struct hca_segment), &fds[FD_SEGMENT]));
	CHECK(!fabric_memfd_map(fds[FD_SEGMENT], 0, sizeof(struct hca_segment), &at));
	segment = at;
	CHECK(!fabric_memfd_create("mailbox", sizeof(struct copy_area), &fds[FD_MAILBOX]));
	CHECK(!fabric_memfd_create("short", 4096, &fds[FD_SHORT]));
	fds[FD_EVENT] = eventfd(0, EFD_CLOEXEC);
	fds[FD_NULL] = open("/dev/null", O_RDWR | O_CLOEXEC);
	shared =
		mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
}

static void set_up(void)
{
	static struct network mixed;

	make_memory();
	start_child();
	end_group_begin(NULL);
	mixed = *hca.network;
	mixed.is_forced = not_forced;
	hca.network = &mixed;
	memcpy(segment, fabric_segment_self(), sizeof(struct fabric_page));
	copy_server_open();
}

static void make_ends(void)
{
	for (unsigned int i = 0; i < 6; i++) {
		struct end_options o = END_DEFAULTS;

		o.type = types[i];
		o.srq = types[i] == HCA_QP_XRC_RECV || types[i] == HCA_QP_DCT;
		ends[i] = end_create(0, &o);
		for (unsigned int n = 0; n < 16; n++)
			end_post_recv(ends[i], 131072 + n * 4096, 4096);
		end_advance(ends[i], types[i] == HCA_QP_DCT ? HCA_QPS_RTR : HCA_QPS_RTS, child_qpn,
			    &o);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!rings.base)
		set_up();
	net_reset();
	make_ends();
	if (!peer_is_up())
		connect_good();
	in = (struct input){ data, size };
	for (unsigned int n = 0; n < STEPS_MOST && in.left; n++) {
		do_step(u8() % STEPS);
		if (!peer_is_up())
			connect_good();
	}
	poll_all();
	for (unsigned int i = 0; i < 6; i++)
		end_destroy(ends[i]);
	memset(&segment->mr[16], 0, KEYS * sizeof(segment->mr[0]));
	memset(&segment->grant[child_qpn], 0, 2 * sizeof(segment->grant[0]));
	return 0;
}
