/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a connection by address, beside that of a TCP connection, between two processes of one host.
 *
 *	connect rdma|tcp ADDRESS COUNT
 *
 * prints the median time from connecting to the established connection, and of the whole life of one:
 * id or socket, address, route, queue pair, connection and its end. Both in microseconds.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"

enum { MOST = 1 << 16 };

static double connecting[MOST], living[MOST];

static struct ibv_qp_init_attr qp_attr(void)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
}

/* ---- servers: tell their port, then accept until they are killed ---- */

static void tell(int fd, uint16_t port)
{
	if (write(fd, &port, sizeof(port)) != sizeof(port))
		die("write");
}

static void serve_event(struct rdma_cm_event *event)
{
	struct ibv_qp_init_attr attr = qp_attr();
	struct rdma_cm_id *id = event->id;
	enum rdma_cm_event_type type = event->event;

	rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (rdma_create_qp(id, NULL, &attr) || rdma_accept(id, NULL))
			die("rdma_accept");
	} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_disconnect(id);
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
}

static void serve_rdma(struct sockaddr_in *at, int fd)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = NULL;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)at) || rdma_listen(id, 0))
		die("rdma_listen");
	tell(fd, rdma_get_src_port(id));
	while (!rdma_get_cm_event(channel, &event))
		serve_event(event);
}

static void serve_tcp(struct sockaddr_in *at, int fd)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), accepted;
	socklen_t len = sizeof(*at);
	char byte;

	if (bind(listener, (struct sockaddr *)at, len) || listen(listener, 128) ||
	    getsockname(listener, (struct sockaddr *)at, &len))
		die("listen");
	tell(fd, at->sin_port);
	while ((accepted = accept(listener, NULL, NULL)) >= 0) {
		while (read(accepted, &byte, 1) > 0)
			;
		close(accepted);
	}
}

/* ---- clients ---- */

static void connect_rdma(struct sockaddr_in *to, int i)
{
	struct ibv_qp_init_attr attr = qp_attr();
	double begin = now_s(), start;
	struct rdma_cm_id *id = NULL;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 2000) ||
	    rdma_resolve_route(id, 2000) || rdma_create_qp(id, NULL, &attr))
		die("rdma_resolve_route");
	start = now_s();
	if (rdma_connect(id, NULL))
		die("rdma_connect");
	connecting[i] = now_s() - start;
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
	living[i] = now_s() - begin;
}

static void connect_tcp(struct sockaddr_in *to, int i)
{
	double begin = now_s(), start;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char byte;

	start = now_s();
	if (connect(fd, (struct sockaddr *)to, sizeof(*to)))
		die("connect");
	connecting[i] = now_s() - start;
	/* As with RDMA, the end is over when the peer has answered. */
	shutdown(fd, SHUT_WR);
	if (read(fd, &byte, 1))
		die("read");
	close(fd);
	living[i] = now_s() - begin;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int count = argc > 3 ? atoi(argv[3]) : 0, fd[2];
	bool rdma;
	pid_t server;

	if (count < 1 || count > MOST || inet_pton(AF_INET, argv[2], &at.sin_addr) != 1) {
		fprintf(stderr, "usage: connect rdma|tcp ADDRESS COUNT\n");
		return 2;
	}
	rdma = !strcmp(argv[1], "rdma");
	if (pipe(fd))
		die("pipe");
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(rdma ? serve_rdma : serve_tcp)(&at, fd[1]);
		return 0;
	}
	if (read(fd[0], &at.sin_port, sizeof(at.sin_port)) != sizeof(at.sin_port))
		die("the server");
	for (int i = 0; i < count; i++)
		(rdma ? connect_rdma : connect_tcp)(&at, i);
	printf("%.1f %.1f\n", median(connecting, count) * 1e6, median(living, count) * 1e6);
	kill(server, SIGKILL);
	return 0;
}
