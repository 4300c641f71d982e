/* SPDX-License-Identifier: BSD-2-Clause */
/* What this machine does at all, for scale: memcpy and a UDP loopback ping-pong. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void copy(size_t size, int count)
{
	char *a = aligned_alloc(4096, size + 4096), *b = aligned_alloc(4096, size + 4096);
	memset(a, 1, size + 4096);
	memset(b, 2, size + 4096);
	double t = now();
	for (int i = 0; i < count; i++) {
		memcpy(b + 2048, a, size);
		__asm__ volatile("" ::: "memory");
	}
	t = now() - t;
	printf("memcpy %zu B: %.0f MiB/s\n", size, size * (double)count / t / 1048576);
	free(a);
	free(b);
}

static int sock(struct sockaddr_in *at)
{
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	struct timeval tv = { .tv_sec = 5 };
	socklen_t len = sizeof *at;
	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (s < 0 || bind(s, (struct sockaddr *)at, len) ||
	    getsockname(s, (struct sockaddr *)at, &len) ||
	    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv)) {
		perror("socket");
		exit(1);
	}
	return s;
}

static void get(int s, char *buf, size_t size, int flags)
{
	while (recv(s, buf, size, flags) < 0)
		if (!(flags & MSG_DONTWAIT) || errno != EAGAIN) {
			perror("recv");
			exit(1);
		}
}

static void pingpong(size_t size, int count, int flags)
{
	struct sockaddr_in at[2];
	char buf[65536] = { 0 };
	int s[2] = { sock(&at[0]), sock(&at[1]) };
	int child = fork() == 0;
	connect(s[child], (struct sockaddr *)&at[!child], sizeof at[0]);
	double t = now();
	for (int i = 0; i < count; i++) {
		if (child)
			get(s[1], buf, sizeof buf, flags);
		send(s[child], buf, size, 0);
		if (!child)
			get(s[0], buf, sizeof buf, flags);
	}
	if (child)
		_exit(0);
	t = now() - t;
	wait(NULL);
	printf("UDP loopback ping-pong %zu B, %s: %.1f us one way\n", size,
	       flags ? "spinning" : "blocking", t / count / 2 * 1e6);
	close(s[0]);
	close(s[1]);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	copy(4096, 200000);
	copy(65536, 20000);
	copy(16 << 20, 40);
	pingpong(8, 3000, 0);
	pingpong(8, 3000, MSG_DONTWAIT);
	return 0;
}
