/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forged packets, from a socket of the test, to queue pairs in use. Whatever they do to these queue
 * pairs, memory that is not registered, or registered without the access right, does not change, and
 * other queue pairs go on working.
 */
#include "rig.h"

#include <arpa/inet.h>
#include <endian.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT   4791
#define STORM  20000
#define PAGE   4096u
#define LIVE   (4 * PAGE) /* registered; a page before and one behind it are not */
#define LONGER 64u        /* than any headers */

struct forger {
	int fd;
	struct sockaddr_in6 self, to;
	unsigned int seed;
};

static uint32_t any(struct forger *f)
{
	return (uint32_t)rand_r(&f->seed) << 16 ^ (uint32_t)rand_r(&f->seed);
}

static bool one_in(struct forger *f, unsigned int n)
{
	return any(f) % n == 0;
}

/* The CRC-32 of Ethernet, bit by bit. */
static uint32_t crc(uint32_t c, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		c ^= data[i];
		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
	}
	return c;
}

/* Over 8 bytes of ones, the IPv6 and UDP headers with what changes on the way set to ones, and the
 * packet. */
static uint32_t icrc(const struct forger *f, const uint8_t *packet, size_t len)
{
	uint8_t head[56];
	uint16_t udp_len = htons((uint16_t)(8 + len + 4));
	uint32_t c;

	memset(head, 0xff, sizeof(head));
	head[8] = 0x6f;
	memcpy(head + 12, &udp_len, 2);
	head[14] = IPPROTO_UDP;
	memcpy(head + 16, &f->self.sin6_addr, 16);
	memcpy(head + 32, &f->to.sin6_addr, 16);
	memcpy(head + 48, &f->self.sin6_port, 2);
	memcpy(head + 50, &f->to.sin6_port, 2);
	memcpy(head + 52, &udp_len, 2);
	c = crc(0xffffffff, head, sizeof(head));
	c = crc(c, packet, 4);
	c = crc(c, (const uint8_t[]){ 0xff }, 1);
	return ~crc(c, packet + 5, len - 5);
}

static void open_forger(struct forger *f)
{
	socklen_t len = sizeof(f->self);
	struct ibv_gid_entry entry;

	check_ok(ibv_query_gid_ex(rig_context(), 1, rig_gid_index(), &entry, 0));
	f->self = (struct sockaddr_in6){ .sin6_family = AF_INET6,
					 .sin6_scope_id = entry.ndev_ifindex };
	memcpy(&f->self.sin6_addr, entry.gid.raw, 16);
	f->to = f->self;
	f->to.sin6_port = htons(PORT);
	f->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(f->fd >= 0);
	check_ok(bind(f->fd, (struct sockaddr *)&f->self, sizeof(f->self)));
	check_ok(getsockname(f->fd, (struct sockaddr *)&f->self, &len));
}

static void send_forged(struct forger *f, uint8_t *packet, size_t len, bool sealed)
{
	uint32_t sum = htole32(sealed ? icrc(f, packet, len) : any(f));

	memcpy(packet + len, &sum, 4);
	/* The socket may be full; then it was not to be. */
	(void)!sendto(f->fd, packet, len + 4, 0, (struct sockaddr *)&f->to, sizeof(f->to));
}

static void put_be(uint8_t *to, uint64_t value, int bytes)
{
	while (bytes--) {
		to[bytes] = (uint8_t)value;
		value >>= 8;
	}
}

struct victim {
	struct end *end;
	struct ibv_mr *mr; /* of LIVE bytes in the middle of pages that are not registered */
	char *base;
};

/* Somewhere at, in, across or far from the region. */
static uint64_t some_address(struct forger *f, const struct victim *v)
{
	uint64_t va = (uintptr_t)v->mr->addr;

	switch (any(f) % 4) {
	case 0:
		return va + any(f) % LIVE;
	case 1:
		return va + LIVE - any(f) % 64;
	case 2:
		return va - any(f) % 64;
	default:
		return (uint64_t)any(f) << 32 | any(f);
	}
}

static void forge(struct forger *f, const struct victim *v)
{
	static const uint8_t transports[] = { 0x00, 0x00, 0x20, 0x60, 0xa0 };
	static const uint16_t lengths[] = { 0, 1, 4, 8, 64, 256, 1024, 1028, 4096 };
	uint8_t packet[LONGER + 4096 + 8];
	uint32_t payload = lengths[any(f) % array_size(lengths)];
	uint32_t headers = 12 + any(f) % 12 * 4, pad = -payload & 3;
	uint32_t psn = v->end->o.psn + any(f) % 40 - 4;

	for (size_t i = 0; i < sizeof(packet); i += 4) {
		uint32_t word = any(f);

		memcpy(packet + i, &word, 4);
	}
	/* Valid fields take the packet further than invalid ones. */
	packet[0] = (uint8_t)(transports[any(f) % array_size(transports)] + any(f) % 24);
	packet[1] = (uint8_t)(pad << 4 | (one_in(f, 16) ? any(f) & 0xf : 0));
	put_be(packet + 2, one_in(f, 16) ? any(f) : 0xffff, 2);
	put_be(packet + 4, one_in(f, 16) ? any(f) : v->end->qp->qp_num, 4);
	put_be(packet + 8, psn & 0xffffff, 4);
	packet[8] = (uint8_t)(any(f) & 0x80);
	put_be(packet + 12, some_address(f, v), 8);
	put_be(packet + 20, one_in(f, 4) ? any(f) : v->mr->rkey, 4);
	put_be(packet + 24, one_in(f, 2) ? payload : any(f) % (2 * LIVE), 4);
	send_forged(f, packet, one_in(f, 8) ? 12 + any(f) % 60 : headers + payload + pad,
		    !one_in(f, 10));
}

static struct victim open_victim(enum ibv_qp_type type)
{
	struct options o = options_of(type);
	struct victim v = { .end = end_open(&o), .base = pages(LIVE + 2 * PAGE) };
	struct address self = end_address(v.end);

	memset(v.base, 0x5a, LIVE + 2 * PAGE);
	v.mr = must(ibv_reg_mr(v.end->pd, v.base + PAGE, LIVE, o.mr_access));
	/* Its peer is at our own address, as is the forger: only so do packets get that far. */
	end_connect(v.end, &self);
	for (unsigned int i = 0; i < 32; i++)
		post_recv(v.end, i, i * 1024, 1024);
	return v;
}

static void close_victim(struct victim *v)
{
	check(is_all(v->base, PAGE, 0x5a));
	check(is_all(v->base + PAGE + LIVE, PAGE, 0x5a));
	check_ok(ibv_dereg_mr(v->mr));
	end_close(v->end);
	munmap(v->base, LIVE + 2 * PAGE);
}

static void ping(struct pair *p, uint64_t id)
{
	post_recv(p->b, id, 0, 64);
	post(p->a,
	     &(struct work){ .id = id, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(p->a->scq, id);
	expect_ok(p->b->rcq, id);
}

static void storm(enum ibv_qp_type type)
{
	struct forger f = { .seed = (unsigned int)now_ns() };
	struct pair p = pair_open(NULL);
	struct victim v;

	printf("seed %u\n", f.seed);
	ping(&p, 0); /* the socket is open */
	open_forger(&f);
	v = open_victim(type);
	for (unsigned int i = 1; i <= STORM; i++) {
		forge(&f, &v);
		if (i % 64)
			continue;
		ping(&p, i); /* which also takes in what was forged */
		if (end_state(v.end) == IBV_QPS_ERR) {
			close_victim(&v);
			v = open_victim(type);
		}
	}
	close_victim(&v);
	pair_close(&p);
	close(f.fd);
}

static void forged_requests_change_no_other_memory(void)
{
	storm(IBV_QPT_RC);
}

static void forged_requests_to_unreliable_connections_change_no_memory(void)
{
	storm(IBV_QPT_UC);
}

static void forged_datagrams_change_no_memory(void)
{
	storm(IBV_QPT_UD);
}

/* What follows the first four bytes of a write to all that the victim has. */
static void address_write(uint8_t *packet, const struct victim *v, uint32_t length)
{
	put_be(packet + 4, v->end->qp->qp_num, 4);
	put_be(packet + 8, v->end->o.psn, 4);
	put_be(packet + 12, (uintptr_t)v->mr->addr, 8);
	put_be(packet + 20, v->mr->rkey, 4);
	put_be(packet + 24, length, 4);
}

/* That the forger's packets are good when they are meant to be: this one is let in. */
static void a_correctly_forged_packet_is_accepted(void)
{
	struct forger f = { .seed = 1 };
	struct pair p = pair_open(NULL);
	uint8_t packet[LONGER + 16] = { 0x0a, 0, 0xff, 0xff };
	struct victim v;

	ping(&p, 0);
	open_forger(&f);
	v = open_victim(IBV_QPT_RC);
	address_write(packet, &v, 8);
	memset(packet + 28, 0x33, 8);
	send_forged(&f, packet, 36, true);
	for (unsigned int i = 1; i < 20; i++)
		ping(&p, i);
	check(is_all(v.mr->addr, 8, 0x33));
	close_victim(&v);
	pair_close(&p);
	close(f.fd);
}

/* ---- every kind of it is counted ---- */

/* A SEND, or whatever else has nothing but the first header and a payload of 8 bytes. */
static void send_small(struct forger *f, uint8_t op, uint32_t qpn, uint32_t psn)
{
	uint8_t packet[LONGER + 16] = { op, 0, 0xff, 0xff };

	put_be(packet + 4, qpn, 4);
	put_be(packet + 8, psn & 0xffffff, 4);
	send_forged(f, packet, 20, true);
}

/* From another address of the host, which no queue pair is connected to. */
static void open_stranger(struct forger *f, const struct forger *like)
{
	socklen_t len = sizeof(f->self);

	*f = *like;
	f->self = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	check_equal(inet_pton(AF_INET6, "2001:db8::1", &f->self.sin6_addr), 1);
	f->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(f->fd >= 0);
	check_ok(bind(f->fd, (struct sockaddr *)&f->self, sizeof(f->self)));
	check_ok(getsockname(f->fd, (struct sockaddr *)&f->self, &len));
}

static void forge_one_of_each(int fd)
{
	struct forger f = { .seed = 1 }, stranger;
	struct pair p = pair_open(NULL);
	struct victim rc, ud;
	uint8_t datagram[LONGER + 16] = { 0x64, 0, 0xff, 0xff };
	uint32_t psn;

	(void)fd;
	ping(&p, 0);
	open_forger(&f);
	open_stranger(&stranger, &f);
	rc = open_victim(IBV_QPT_RC);
	ud = open_victim(IBV_QPT_UD);
	psn = rc.end->o.psn;
	send_small(&f, 0x04, rc.end->qp->qp_num, psn);
	for (int i = 0; i < 3; i++) /* replayed */
		send_small(&f, 0x04, rc.end->qp->qp_num, psn);
	send_small(&stranger, 0x04, rc.end->qp->qp_num, psn + 1);
	send_small(&f, 0x24, rc.end->qp->qp_num, psn + 1); /* UC to RC */
	send_small(&f, 0x04, ud.end->qp->qp_num, psn + 1); /* RC to UD */
	send_small(&f, 0x04, 0xfffff0, psn + 1);           /* no such QP */
	put_be(datagram + 4, ud.end->qp->qp_num, 4);
	put_be(datagram + 12, ud.end->o.qkey + 1, 4);
	send_forged(&f, datagram, 28, true);
	/* an acknowledgement of what was never sent: no payload behind its header of 4 bytes */
	datagram[0] = 0x11;
	put_be(datagram + 4, rc.end->qp->qp_num, 4);
	put_be(datagram + 8, psn + 1000, 4);
	send_forged(&f, datagram, 16, true);
	for (unsigned int i = 1; i < 20; i++)
		ping(&p, i);
	/* what came in between has moved nothing: the next number is the next */
	send_small(&f, 0x04, rc.end->qp->qp_num, psn + 1);
	expect_ok(rc.end->rcq, 0);
	expect_ok(rc.end->rcq, 1);
	check_equal(end_state(rc.end), IBV_QPS_RTS);
	close_victim(&rc);
	close_victim(&ud);
	pair_close(&p);
	close(f.fd);
	close(stranger.fd);
}

static void every_dropped_packet_is_counted(void)
{
	static const char *const lines[] = {
		"dropped 1: not from the peer of the connection",
		"dropped 2: not of the queue pair's transport",
		"dropped 1: no such queue pair on this host",
		"dropped 1: another Q_Key",
		": an answer to nothing that is open",
		": requests that came before",
	};
	const char *report = peer_report(forge_one_of_each);

	for (size_t i = 0; i < array_size(lines); i++) {
		if (!strstr(report, lines[i]))
			printf("'%s' is missing in\n%s", lines[i], report);
		check(strstr(report, lines[i]) != NULL);
	}
}

/* A first packet that is shorter than the path's packets are: refused, and nothing is written. */
static void packets_of_another_path_mtu_are_refused(void)
{
	struct forger f = { .seed = 1 };
	struct pair p = pair_open(NULL);
	uint8_t packet[LONGER + 512] = { 0x06, 0, 0xff, 0xff };
	struct victim v;

	ping(&p, 0);
	open_forger(&f);
	v = open_victim(IBV_QPT_RC);
	address_write(packet, &v, 512);
	memset(packet + 28, 0x33, 256);
	send_forged(&f, packet, 28 + 256, true);
	for (unsigned int i = 1; i < 20; i++)
		ping(&p, i);
	check(is_all(v.mr->addr, 256, 0x5a));
	check_equal(end_state(v.end), IBV_QPS_ERR);
	close_victim(&v);
	pair_close(&p);
	close(f.fd);
}

/* ---- other users of the host ---- */

#define OTHER_USER 65534

/* What another user would have to guess. */
struct secret {
	struct sockaddr_in6 self, to;
	uint32_t qpn, psn, rkey;
	uint64_t va;
	unsigned int count;
};

static void bind_forger(struct forger *f)
{
	socklen_t len = sizeof(f->self);

	f->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(f->fd >= 0);
	f->self.sin6_port = 0;
	check_ok(bind(f->fd, (struct sockaddr *)&f->self, sizeof(f->self)));
	check_ok(getsockname(f->fd, (struct sockaddr *)&f->self, &len));
}

static void send_write(struct forger *f, const struct secret *s, uint32_t psn)
{
	uint8_t packet[LONGER + 16] = { 0x0a, 0, 0xff, 0xff };

	put_be(packet + 4, s->qpn, 4);
	put_be(packet + 8, (psn & 0xffffff) | 1u << 31, 4);
	put_be(packet + 12, s->va, 8);
	put_be(packet + 20, s->rkey, 4);
	put_be(packet + 24, 8, 4);
	memset(packet + 28, 0x33, 8);
	send_forged(f, packet, 36, true);
}

/* A user who knows everything writes into the region, with all numbers from s.psn on. */
static void other_user(int fd)
{
	struct forger f = { .seed = 1 };
	struct secret s;

	if (setresgid(OTHER_USER, OTHER_USER, OTHER_USER) ||
	    setresuid(OTHER_USER, OTHER_USER, OTHER_USER)) {
		tell_mark(fd, 's');
		return;
	}
	tell_mark(fd, 'u');
	hear(fd, &s, sizeof(s));
	f.self = s.self;
	f.to = s.to;
	bind_forger(&f);
	for (unsigned int i = 0; i < s.count; i++)
		send_write(&f, &s, s.psn + i);
	tell_mark(fd, 'd');
	close(f.fd);
}

static struct peer start_other_user(void)
{
	struct peer other = peer_start(other_user);
	char mark;

	hear(other.fd, &mark, 1);
	if (mark == 's')
		rig_skip("no process may become another user here");
	return other;
}

/* The target of p->a, whose next number is `psn`. */
static struct secret secret_of(const struct end *target, uint32_t psn, unsigned int count)
{
	struct address to = end_address(target);
	struct forger f = { .seed = 1 };
	struct secret s = {
		.qpn = to.qpn, .psn = psn, .rkey = to.rkey, .va = to.va, .count = count
	};

	open_forger(&f);
	close(f.fd);
	s.self = f.self;
	s.to = f.to;
	return s;
}

#define PINGS 4u

static void another_user_cannot_write_into_a_connection_in_use(void)
{
	struct peer other = start_other_user();
	struct pair p = pair_open(NULL);
	struct secret s;

	for (unsigned int i = 0; i < PINGS; i++)
		ping(&p, i);
	s = secret_of(p.b, p.a->o.psn, 1000);
	memset(p.b->buf, 0x5a, 64);
	tell(other.fd, &s, sizeof(s));
	hear_mark(other.fd, 'd');
	peer_join(&other);
	for (unsigned int i = 0; i < PINGS; i++) {
		/* Behind what was forged in the socket's queue, and with numbers that were. */
		post(p.a, &(struct work){ .id = i,
					  .op = IBV_WR_RDMA_READ,
					  .flags = IBV_SEND_SIGNALED,
					  .off = 4096,
					  .len = 64,
					  .raddr = p.a->to.va,
					  .rkey = p.a->to.rkey });
		expect_ok(p.a->scq, i);
		check(is_all(p.a->buf + 4096, 64, 0x5a));
	}
	check(is_all(p.b->buf, 64, 0x5a));
	pair_close(&p);
}

/* Nothing has come yet, and the other user knows everything. */
static void another_user_cannot_be_the_first_to_write(void)
{
	struct peer other = start_other_user();
	struct pair p = pair_open(NULL), q = pair_open(NULL);
	struct secret s = secret_of(p.b, p.a->o.psn, 1);

	ping(&q, 0); /* the socket is open */
	memset(p.b->buf, 0x5a, 64);
	tell(other.fd, &s, sizeof(s));
	hear_mark(other.fd, 'd');
	peer_join(&other);
	for (unsigned int i = 0; i < PINGS; i++)
		ping(&q, i);
	check(is_all(p.b->buf, 64, 0x5a));
	/* The peer itself is let in. */
	ping(&p, 0);
	pair_close(&p);
	pair_close(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_correctly_forged_packet_is_accepted),
		TEST(every_dropped_packet_is_counted),
		TEST(packets_of_another_path_mtu_are_refused),
		TEST(forged_requests_change_no_other_memory),
		TEST(forged_requests_to_unreliable_connections_change_no_memory),
		TEST(forged_datagrams_change_no_memory),
		TEST(another_user_cannot_write_into_a_connection_in_use),
		TEST(another_user_cannot_be_the_first_to_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
