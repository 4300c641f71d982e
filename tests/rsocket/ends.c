/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int listener_open(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(rbind(fd, (struct sockaddr *)at, sizeof(*at)), 0);
	assert_int_equal(rlisten(fd, 16), 0);
	assert_int_equal(rgetsockname(fd, (struct sockaddr *)at, &len), 0);
	assert_int_not_equal(at->sin_port, 0);
	return fd;
}

void ends_open(struct ends *ends, void (*options)(int socket))
{
	struct sockaddr_in at;
	int listener = listener_open(&at);

	ends->client = rsocket(AF_INET, SOCK_STREAM, 0);
	if (options) {
		options(listener);
		options(ends->client);
	}
	assert_int_equal(rconnect(ends->client, (struct sockaddr *)&at, sizeof(at)), 0);
	ends->server = raccept(listener, NULL, NULL);
	assert_true(ends->server >= 0);
	assert_int_equal(rclose(listener), 0);
}

void ends_close(struct ends *ends)
{
	assert_int_equal(rclose(ends->client), 0);
	assert_int_equal(rclose(ends->server), 0);
}

int ends_setup(void **state)
{
	static struct ends ends;

	ends_open(&ends, NULL);
	*state = &ends;
	return 0;
}

int ends_teardown(void **state)
{
	ends_close(*state);
	return 0;
}

short wait_for(int socket, short events)
{
	struct pollfd fd = { .fd = socket, .events = events };

	assert_int_equal(rpoll(&fd, 1, LIMIT_MS), 1);
	return fd.revents;
}

void send_all(int socket, const void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t sent = rsend(socket, (const char *)buf + done, len - done, 0);

		assert_true(sent > 0);
		done += sent;
	}
}

void recv_all(int socket, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t got = rrecv(socket, (char *)buf + done, len - done, 0);

		assert_true(got > 0);
		done += got;
	}
}

static uint8_t byte_at(size_t position)
{
	return position * 0x9e3779b97f4a7c15ull >> 56;
}

void fill(void *buf, size_t len, size_t position)
{
	uint8_t *to = buf;

	for (size_t i = 0; i < len; i++)
		to[i] = byte_at(position + i);
}

bool is_filled(const void *buf, size_t len, size_t position)
{
	const uint8_t *from = buf;

	for (size_t i = 0; i < len; i++)
		if (from[i] != byte_at(position + i))
			return false;
	return true;
}

void child_main(int argc, char **argv, const struct child_role *roles, size_t count)
{
	struct sockaddr_in server = { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	if (argc < 3)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	server.sin_port = htons(atoi(argv[2]));
	for (size_t i = 0; i < count; i++)
		if (!strcmp(argv[1], roles[i].name))
			exit(roles[i].run(&server));
	exit(100);
}

pid_t child_run(const char *role, const struct sockaddr_in *server)
{
	char port[8];
	char *argv[] = { "child", (char *)role, port, NULL };
	pid_t child;

	snprintf(port, sizeof(port), "%d", ntohs(server->sin_port));
	assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ), 0);
	return child;
}

void child_expect(pid_t child, int status)
{
	int ended;

	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_int_equal(ended, status);
}
