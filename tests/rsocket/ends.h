/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of a connection in one process, and processes for tests where one end dies. */
#ifndef TESTS_RSOCKET_ENDS_H
#define TESTS_RSOCKET_ENDS_H

#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cmocka_all.h"

/* Only a defect reaches this limit. */
#define LIMIT_MS 60000

/* -1 with this errno. */
#define assert_refused(call, error)                                                                \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal((call), -1);                                                      \
		assert_int_equal(errno, (error));                                                  \
	} while (0)

/* A listener on loopback, at a port of its own. */
int listener_open(struct sockaddr_in *at);

/* A connection within the process. */
struct ends {
	int client, server;
};

/* State of a test: opened by setup, closed by teardown. */
int ends_setup(void **state);
int ends_teardown(void **state);
/* Options of both sides before they connect; NULL: none. */
void ends_open(struct ends *ends, void (*options)(int socket));
void ends_close(struct ends *ends);

/* Waits for these events, and no longer than the limit. Returns those that came. */
short wait_for(int socket, short events);

/* All of it, or the test fails. */
void send_all(int socket, const void *buf, size_t len);
void recv_all(int socket, void *buf, size_t len);
/* Bytes of a stream from this position on, and a check of them. */
void fill(void *buf, size_t len, size_t position);
bool is_filled(const void *buf, size_t len, size_t position);

/*
 * Another process: this program, started again. Its main() calls child_main() first, which runs the
 * function of that name with the server's address and exits with its result.
 */
struct child_role {
	const char *name;
	int (*run)(const struct sockaddr_in *server);
};

void child_main(int argc, char **argv, const struct child_role *roles, size_t count);
pid_t child_run(const char *role, const struct sockaddr_in *server);
void child_expect(pid_t child, int status);

#endif
