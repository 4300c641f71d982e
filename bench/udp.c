/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets through UDP sockets on loopback, one thread: bare sockets with the same system calls,
 * against ours with headers, ICRC on both sides, decoding and call-back. Rounds alternate, so that
 * a noisy neighbour hits all alike; the best of them counts.
 *
 *	udp [milliseconds per measurement]
 */
#include <linux/udp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"
#include "roce/endpoint.h"
#include "roce/rx.h"
#include "roce/tx.h"

enum {
	PORT = 14791,
	BATCH = 15, /* packets of 4 KiB in one UDP_SEGMENT send */
	ROUNDS = 5,
};

static double seconds = 0.15;
static uint8_t payload[ROCE_MAX_PAYLOAD];

/* Of this thread, in which everything happens: others on the machine do not count. */
/* ---- bare sockets ---- */

enum bare_kind { SINGLE, BATCHED, SEGMENTED };

struct bare {
	int from, to;
	struct sockaddr_in dst;
};

static int bare_socket(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), big = 8 << 20, one = 1;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &big, sizeof(big));
	setsockopt(fd, IPPROTO_UDP, UDP_GRO, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)at, sizeof(*at)))
		die("bind");
	return fd;
}

static void bare_init(struct bare *b)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_port = htons(PORT + 1) };

	src.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	b->dst = src;
	b->dst.sin_port = htons(PORT + 2);
	b->from = bare_socket(&src);
	b->to = bare_socket(&b->dst);
}

static unsigned int bare_receive(struct bare *b, size_t len)
{
	static uint8_t buf[16][65536];
	struct mmsghdr msg[16];
	struct iovec iov[16];
	unsigned int bytes = 0;
	int n;

	do {
		for (int i = 0; i < 16; i++) {
			iov[i] = (struct iovec){ buf[i], sizeof(buf[i]) };
			msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
		}
		n = recvmmsg(b->to, msg, 16, MSG_DONTWAIT, NULL);
		for (int i = 0; i < n; i++)
			bytes += msg[i].msg_len;
	} while (n == 16);
	return bytes / len;
}

static void bare_send(struct bare *b, enum bare_kind kind, size_t len)
{
	static uint8_t data[BATCH * (ROCE_MAX_PACKET + 64)];
	struct mmsghdr msg[BATCH];
	struct iovec iov[BATCH];
	union {
		char bytes[CMSG_SPACE(2)];
		struct cmsghdr align;
	} control;
	uint16_t segment = len;

	for (int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ data + i * len, len };
		msg[i].msg_hdr = (struct msghdr){
			.msg_name = &b->dst,
			.msg_namelen = sizeof(b->dst),
			.msg_iov = &iov[i],
			.msg_iovlen = 1,
		};
		if (kind == SINGLE)
			sendmsg(b->from, &msg[i].msg_hdr, MSG_DONTWAIT);
	}
	if (kind == BATCHED)
		sendmmsg(b->from, msg, BATCH, MSG_DONTWAIT);
	if (kind != SEGMENTED)
		return;
	iov[0].iov_len = len * BATCH;
	msg[0].msg_hdr.msg_control = control.bytes;
	msg[0].msg_hdr.msg_controllen = sizeof(control.bytes);
	control.align.cmsg_level = IPPROTO_UDP;
	control.align.cmsg_type = UDP_SEGMENT;
	control.align.cmsg_len = CMSG_LEN(2);
	memcpy(CMSG_DATA(&control.align), &segment, 2);
	if (sendmsg(b->from, &msg[0].msg_hdr, MSG_DONTWAIT) < 0)
		die("sendmsg with UDP_SEGMENT");
}

static double bare_rate(struct bare *b, enum bare_kind kind, size_t len)
{
	double start = cpu_s(), took;
	uint64_t got = 0;

	do {
		bare_send(b, kind, len);
		got += bare_receive(b, len);
		took = cpu_s() - start;
	} while (took < seconds);
	return got / took;
}

/* ---- ours ---- */

struct ours {
	struct roce_endpoint *a, *b;
	struct roce_tx *tx;
	struct roce_rx *rx;
	struct roce_path path;
	uint64_t got;
};

static void ours_init(struct ours *o, bool segment)
{
	struct roce_endpoint_opts opts = { .port = PORT, .no_segment = !segment };
	struct roce_dest dest = { .port = 0 };
	struct roce_addr a;

	roce_addr_parse(segment ? "127.0.0.1" : "127.0.0.3", &a);
	roce_addr_parse(segment ? "127.0.0.2" : "127.0.0.4", &dest.addr);
	if (roce_endpoint_open(&a, &opts, &o->a) || roce_endpoint_open(&dest.addr, &opts, &o->b) ||
	    roce_tx_create(o->a, &o->tx) || roce_rx_create(&o->rx) ||
	    roce_path_init(&o->path, o->a, &dest))
		die("endpoints");
	o->got = 0;
}

static void take(void *arg, struct roce_pkt *pkt, const struct roce_payload *data,
		 const struct roce_meta *meta)
{
	struct ours *o = arg;

	o->got++;
}

static double ours_rate(struct ours *o, size_t len)
{
	struct roce_pkt pkt = { .op = ROCE_PKT_SEND_ONLY, .dqpn = 0x1234, .len = len };
	struct iovec piece = { payload, len };
	double start = cpu_s(), took;
	uint64_t before = o->got;

	do {
		for (int i = 0; i < BATCH; i++) {
			pkt.psn = psn_add(pkt.psn, 1);
			roce_tx_add(o->tx, &o->path, &pkt, &piece, 1);
		}
		roce_tx_flush(o->tx);
		roce_rx_poll(o->rx, o->b, BATCH + 1, take, o);
		took = cpu_s() - start;
	} while (took < seconds);
	return (o->got - before) / took;
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 64, 1024, 4096 };
	struct ours plain, segmented;
	struct bare bare;

	if (argc > 1)
		seconds = atoi(argv[1]) / 1e3;
	bare_init(&bare);
	ours_init(&plain, false);
	ours_init(&segmented, true);
	printf("thousand packets per second of CPU time, send and receive\n");
	printf("%8s %10s %10s %10s %10s %10s %12s\n", "payload", "sendmsg", "sendmmsg", "segments",
	       "ours", "ours, seg", "GB/s payload");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double best[5] = { 0 };

		for (int round = 0; round < ROUNDS; round++) {
			size_t len = sizes[i] + ROCE_MIN_PACKET;
			double got[5] = {
				bare_rate(&bare, SINGLE, len),    bare_rate(&bare, BATCHED, len),
				bare_rate(&bare, SEGMENTED, len), ours_rate(&plain, sizes[i]),
				ours_rate(&segmented, sizes[i]),
			};

			for (int k = 0; k < 5; k++)
				best[k] = got[k] > best[k] ? got[k] : best[k];
		}
		printf("%8zu", sizes[i]);
		for (int k = 0; k < 5; k++)
			printf(" %10.0f", best[k] / 1e3);
		printf(" %12.2f\n", best[4] * sizes[i] / 1e9);
	}
	return 0;
}
