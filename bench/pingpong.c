/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bare UDP ping-pong, what latency over the wire is measured against: two processes that spin on
 * their sockets.
 *
 *	pingpong PORT				answers until nothing comes for a second
 *	pingpong PORT ADDRESS COUNT BYTES	median of half a round trip, in microseconds
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { MOST = 1 << 20, LONGEST = 9000 };

static double taken[MOST];
static char buf[LONGEST];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

/* Spins; false when nothing has come for that long. */
static ssize_t hear(int fd, struct sockaddr_in *from, double patience_us)
{
	double end = 0;

	for (unsigned int i = 0;; i++) {
		socklen_t len = sizeof(*from);
		ssize_t n = recvfrom(fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)from,
				     from ? &len : NULL);

		if (n >= 0)
			return n;
		if (errno != EAGAIN && errno != ECONNREFUSED)
			die("recvfrom");
		if (i % 256)
			continue;
		if (!end)
			end = now_us() + patience_us;
		else if (now_us() > end)
			return -1;
	}
}

static void answer(int fd, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) }, from;
	double patience = 20e6;
	ssize_t n;

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		die("bind");
	while ((n = hear(fd, &from, patience)) >= 0) {
		if (sendto(fd, buf, n, 0, (struct sockaddr *)&from, sizeof(from)) < 0)
			die("sendto");
		patience = 1e6;
	}
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
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
	} while (hear(fd, NULL, 100e3) < 0);
	for (unsigned int i = 0; i < count; i++) {
		double start = now_us();

		if (send(fd, buf, bytes, 0) < 0)
			die("send");
		if (hear(fd, NULL, 100e3) < 0)
			i--; /* lost */
		else
			taken[i] = (now_us() - start) / 2;
	}
	qsort(taken, count, sizeof(taken[0]), by_value);
	printf("%.3f\n", taken[count / 2]);
}

int main(int argc, char **argv)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		die("socket");
	if (argc == 2) {
		answer(fd, atoi(argv[1]));
	} else if (argc == 5 && atoi(argv[3]) > 0 && atoi(argv[3]) <= MOST &&
		   atoi(argv[4]) <= LONGEST) {
		ask(fd, atoi(argv[1]), argv[2], atoi(argv[3]), atoi(argv[4]));
	} else {
		fprintf(stderr, "usage: pingpong PORT [ADDRESS COUNT BYTES]\n");
		return 2;
	}
	return 0;
}
