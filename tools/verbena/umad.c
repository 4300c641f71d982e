/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command waits for signals and looks at its sockets some times a second (child_wait()); a program would wait that long
 * for each answer, hence the process of its own. It has signals blocked as the command has: an interrupt from the
 * terminal is also for the program, which may leave a multicast group then.
 */
#include "umad.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "sa.h"
#include "umad_file.h"

#define LIST    "umad" /* a struct sa_port for each device */
#define DEVICES 64
#define FILES   256
#define BACKLOG 64

struct umad {
	struct sa_subnet subnet;
	struct sa_port ports[DEVICES];
	struct umad_device devices[DEVICES];
	struct pollfd poll[DEVICES + FILES]; /* listeners first; fd -1: none */
	struct umad_file *files[FILES];
	pid_t server; /* 0: not started, or failed */
};

/* ---- the writer's part ---- */

static uint8_t rate_of(const struct ibv_port_attr *attr)
{
	static const uint8_t lanes[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 };
	static const int mbps[] = { [1] = 2500,   [2] = 5000,   [4] = 10000,  [8] = 10000,
				    [16] = 14000, [32] = 25000, [64] = 50000, [128] = 100000 };
	uint8_t width = attr->active_width, speed = attr->active_speed;

	if (width >= sizeof(lanes) || speed >= sizeof(mbps) / sizeof(mbps[0]))
		return IBV_RATE_10_GBPS;
	return (uint8_t)mbps_to_ibv_rate(lanes[width] * mbps[speed]);
}

static void describe(const struct port_fact *fact, struct sa_port *p)
{
	if (fact->attr.link_layer != IBV_LINK_LAYER_INFINIBAND)
		return;
	p->lid = fact->attr.lid;
	p->sm_lid = fact->attr.sm_lid;
	p->mtu = (uint8_t)fact->attr.active_mtu;
	p->rate = rate_of(&fact->attr);
	for (int i = 0; i < fact->gid_count && p->gid_count < SA_GIDS; i++)
		memcpy(p->gid[p->gid_count++], fact->gids[i].gid.raw, 16);
}

int umad_write(struct tree *t, const struct facts *facts)
{
	struct sa_port ports[DEVICES] = { 0 };
	struct tree_dir d;
	size_t count = 0;

	for (int i = 0; i < facts->count; i++)
		for (int p = 0; p < facts->adapters[i].port_count && count < DEVICES; p++)
			describe(&facts->adapters[i].ports[p], &ports[count++]);
	tree_dir_init(&d, t, ".");
	tree_dir_bytes(&d, LIST, ports, count * sizeof(ports[0]));
	return t->err;
}

/* ---- the command's part ---- */

static int listen_at(const struct tree *t, size_t number)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, n = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dev/infiniband/umad%zu",
			     t->path, number);

	if (n < 0 || n >= (int)sizeof(addr.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || chmod(addr.sun_path, 0600) ||
	    listen(fd, BACKLOG)) {
		close(fd);
		return -1;
	}
	return fd;
}

struct umad *umad_open(const struct tree *t)
{
	int list = openat(t->fd, LIST, O_RDONLY | O_CLOEXEC);
	struct umad *u;
	ssize_t n;

	if (list < 0)
		return NULL;
	u = calloc(1, sizeof(*u));
	n = u ? read(list, u->ports, sizeof(u->ports)) : 0;
	close(list);
	if (n <= 0) {
		free(u);
		return NULL;
	}
	u->subnet.count = (size_t)n / sizeof(u->ports[0]);
	u->subnet.ports = u->ports;
	for (size_t i = 0; i < DEVICES + FILES; i++)
		u->poll[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	for (size_t i = 0; i < u->subnet.count; i++) {
		u->devices[i].port = u->ports[i];
		u->devices[i].subnet = &u->subnet;
		u->poll[i].fd = listen_at(t, i);
	}
	return u;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void accept_file(struct umad *u, size_t device)
{
	int fd = accept4(u->poll[device].fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (size_t i = 0; i < FILES; i++) {
		if (u->files[i])
			continue;
		u->files[i] = umad_file_create(fd, &u->devices[device]);
		if (!u->files[i])
			break;
		u->poll[DEVICES + i].fd = fd;
		return;
	}
	close(fd);
}

/* The next call has to come at that time. */
static uint64_t serve_file(struct umad *u, size_t i, uint64_t now)
{
	struct pollfd *p = &u->poll[DEVICES + i];
	short events = p->revents;

	p->revents = 0;
	if (events && !umad_file_receive(u->files[i], now)) {
		umad_file_destroy(u->files[i]);
		u->files[i] = NULL;
		p->fd = -1;
		return UINT64_MAX;
	}
	return umad_file_expire(u->files[i], now);
}

static void serve(struct umad *u) __attribute__((noreturn));
static void serve(struct umad *u)
{
	uint64_t now, next, at = UINT64_MAX;

	for (;;) {
		now = now_ms();
		if (poll(u->poll, DEVICES + FILES,
			 at == UINT64_MAX ? -1
			 : at <= now      ? 0
					  : (int)(at - now < 60000 ? at - now : 60000)) < 0 &&
		    errno != EINTR)
			_exit(1);
		now = now_ms();
		at = UINT64_MAX;
		for (size_t i = 0; i < u->subnet.count; i++)
			if (u->poll[i].revents)
				accept_file(u, i);
		for (size_t i = 0; i < FILES; i++) {
			if (!u->files[i])
				continue;
			next = serve_file(u, i, now);
			at = next < at ? next : at;
		}
	}
}

static void stop_listening(struct umad *u)
{
	for (size_t i = 0; i < u->subnet.count; i++) {
		if (u->poll[i].fd >= 0)
			close(u->poll[i].fd);
		u->poll[i].fd = -1;
	}
}

void umad_follow(struct umad *u)
{
	if (u->server || poll(u->poll, u->subnet.count, 0) <= 0)
		return;
	u->server = fork();
	if (!u->server) {
		child_follow_parent();
		serve(u);
	}
	/* Without a process, a program's open() fails from now on, and what it has open ends. */
	if (u->server < 0)
		u->server = 0;
	stop_listening(u);
}

void umad_close(struct umad *u)
{
	if (!u)
		return;
	stop_listening(u);
	if (u->server) {
		kill(u->server, SIGKILL);
		while (waitpid(u->server, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(u);
}
