/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts, which are network namespaces joined by a veth, and a view of the frames between them. */
#ifndef TESTS_ROCE_HOSTS_H
#define TESTS_ROCE_HOSTS_H

#include "cmocka_all.h"

#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <netinet/in.h>

#include "icrc_reference.h"
#include "net.h"
#include "pair.h"

#define A4 "10.8.0.1"
#define B4 "10.8.0.2"
#define A6 "fd08::1"
#define B6 "fd08::2"

static int ns_a, ns_b;

static inline void go(int ns)
{
	assert_int_equal(setns(ns, CLONE_NEWNET), 0);
}

static inline bool make_hosts(void)
{
	net_enter();
	ns_b = net_current();
	net_enter();
	ns_a = net_current();
	return !net_shell("ip link add va type veth peer name vb netns /proc/%d/fd/%d && "
			  "ip addr add " A4 "/24 dev va && ip addr add " A6 "/64 dev va nodad && "
			  "ip addr add fe80::a/64 dev va nodad && ip link set va up",
			  getpid(), ns_b) &&
	       !setns(ns_b, CLONE_NEWNET) &&
	       !net_shell("ip addr add " B4 "/24 dev vb && ip addr add " B6 "/64 dev vb nodad && "
			  "ip addr add fe80::b/64 dev vb nodad && ip link set vb up") &&
	       !setns(ns_a, CLONE_NEWNET);
}

/* An endpoint at the other host; the test goes on at a. */
static inline struct roce_endpoint *far_open(const char *text,
					     const struct roce_endpoint_opts *opts)
{
	struct roce_endpoint *ep;
	struct roce_addr at;

	go(ns_b);
	at = addr(text);
	assert_int_equal(roce_endpoint_open(&at, opts, &ep), 0);
	go(ns_a);
	return ep;
}

/* The pair's a is on one host, its b on the other. */
static inline void far_init(struct pair *p, const char *a, const char *b,
			    const struct roce_endpoint_opts *opts)
{
	struct roce_addr from;

	memset(p, 0, sizeof(*p));
	p->b = far_open(b, opts);
	from = addr(a);
	assert_int_equal(roce_endpoint_open(&from, opts, &p->a), 0);
	assert_int_equal(roce_tx_create(p->a, &p->tx), 0);
	assert_int_equal(roce_rx_create(&p->rx), 0);
	pair_path(p, 0, 0);
}

/* ---- seen from outside ---- */

/* A packet socket that receives all frames that arrive at b. */
static inline int sniff(void)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct timeval patience = { .tv_sec = 30 };
	int fd, big = 4 << 20, one = 1;

	go(ns_b);
	at.sll_ifindex = if_nametoindex("vb");
	fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	/* Sent frames must not fill the buffer (Linux 4.20 and later). */
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	go(ns_a);
	return fd;
}

struct sight {
	bool right; /* the ICRC, for the IPv4 id on the wire */
	bool ipv4;
	bool whole; /* "don't fragment" is set */
	uint16_t id;
	uint16_t sport;
	uint8_t to; /* last byte of the address */
	uint32_t dqpn, psn;
};

/* A RoCE packet that came in; false for anything else. */
static inline bool sight_read(struct sight *s, const uint8_t *ip, size_t len)
{
	bool ipv4 = ip[0] >> 4 == 4;
	size_t header = ipv4 ? 20 : 40;
	const uint8_t *udp = ip + header, *bth = udp + 8;
	uint32_t icrc;

	if (len < header + 8 + ROCE_BTH_BYTES + ROCE_ICRC_BYTES ||
	    ip[ipv4 ? 9 : 6] != IPPROTO_UDP || (udp[2] << 8 | udp[3]) != ROCE_UDP_PORT)
		return false;
	memcpy(&icrc, ip + len - 4, 4);
	*s = (struct sight){
		.right = len <= header + 8 + ROCE_MAX_PACKET &&
			 le32toh(icrc) == icrc_reference(ip, len - 4),
		.ipv4 = ipv4,
		.whole = !ipv4 || (ip[6] == 0x40 && !ip[7]),
		.id = ipv4 ? ip[4] << 8 | ip[5] : 0,
		.sport = udp[0] << 8 | udp[1],
		.to = udp[-1],
		.dqpn = bth[5] << 16 | bth[6] << 8 | bth[7],
		.psn = bth[9] << 16 | bth[10] << 8 | bth[11],
	};
	return true;
}

/* The next RoCE packet; waits for it without MSG_DONTWAIT. */
static inline bool sight_take(int fd, int flags, struct sight *s)
{
	struct sockaddr_ll from;
	uint8_t frame[65536];
	ssize_t n;

	do {
		socklen_t len = sizeof(from);

		n = recvfrom(fd, frame, sizeof(frame), flags, (struct sockaddr *)&from, &len);
		if (n < 0)
			return false;
	} while (from.sll_pkttype == PACKET_OUTGOING || !sight_read(s, frame, n));
	return true;
}

#endif
