/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bare UDP ping-pong, what latency over the wire is measured against: two processes that spin on
 * their sockets.
 *
 *	pingpong PORT [SEGMENT]				answers until nothing comes for a second
 *	pingpong PORT ADDRESS COUNT BYTES [SEGMENT]	median of half a round trip, in microseconds
 *
 * With SEGMENT, what is sent is cut there, and received as RoCE has to: with the sender, the traffic
 * class and the length of the segments. So the exchange of a request and an acknowledgement each way
 * costs what the system calls of ib_send_lat do, and nothing else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bench.h"

enum { MOST = 1 << 20, LONGEST = 9000 };

static double taken[MOST];
static char buf[LONGEST];
static int segment;

static ssize_t take(int fd, struct sockaddr_in *from)
{
	char control[192];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = {
		.msg_name = from,
		.msg_namelen = from ? sizeof(*from) : 0,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	socklen_t len = sizeof(*from);

	if (segment)
		return recvmsg(fd, &msg, MSG_DONTWAIT);
	return recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)from,
			from ? &len : NULL);
}

static void set(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("setsockopt");
}

static void cut(int fd, const char *bytes)
{
	segment = atoi(bytes);
	set(fd, IPPROTO_UDP, UDP_SEGMENT, segment);
	set(fd, IPPROTO_UDP, UDP_GRO, 1);
	set(fd, IPPROTO_IP, IP_RECVTOS, 1);
}

/* Spins; false when nothing has come for that long. */
static ssize_t hear(int fd, struct sockaddr_in *from, double patience_s)
{
	double end = 0;

	for (unsigned int i = 0;; i++) {
		ssize_t n = take(fd, from);

		if (n >= 0)
			return n;
		if (errno != EAGAIN && errno != ECONNREFUSED)
			die("recvfrom");
		if (i % 256)
			continue;
		if (!end)
			end = now_s() + patience_s;
		else if (now_s() > end)
			return -1;
	}
}

static void answer(int fd, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) }, from;
	double patience_s = 20;
	ssize_t n;

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		die("bind");
	while ((n = hear(fd, &from, patience_s)) >= 0) {
		if (sendto(fd, buf, n, 0, (struct sockaddr *)&from, sizeof(from)) < 0)
			die("sendto");
		patience_s = 1;
	}
}

static void ask(int fd, uint16_t port, const char *address, unsigned int count, size_t bytes)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (!inet_pton(AF_INET, address, &to.sin_addr) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die(address);
	/* Until the other end is there. */
	do {
		send(fd, buf, bytes, 0);
	} while (hear(fd, NULL, 0.1) < 0);
	for (unsigned int i = 0; i < count; i++) {
		double start = now_s();

		if (send(fd, buf, bytes, 0) < 0)
			die("send");
		if (hear(fd, NULL, 0.1) < 0)
			i--; /* lost */
		else
			taken[i] = (now_s() - start) / 2 * 1e6;
	}
	printf("%.3f\n", median(taken, count));
}

int main(int argc, char **argv)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		die("socket");
	if (argc == 3 || argc == 6)
		cut(fd, argv[argc - 1]);
	if (argc == 2 || argc == 3) {
		answer(fd, atoi(argv[1]));
	} else if ((argc == 5 || argc == 6) && atoi(argv[3]) > 0 && atoi(argv[3]) <= MOST &&
		   atoi(argv[4]) <= LONGEST) {
		ask(fd, atoi(argv[1]), argv[2], atoi(argv[3]), atoi(argv[4]));
	} else {
		fprintf(stderr, "usage: pingpong PORT [ADDRESS COUNT BYTES] [SEGMENT]\n");
		return 2;
	}
	return 0;
}
