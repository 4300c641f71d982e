/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network namespaces of the test's own, inside one process: a thread may change its namespace, and
 * a socket stays in the one it was made in.
 */
#ifndef TESTS_ROCE_NET_H
#define TESTS_ROCE_NET_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static inline void net_write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

static inline void net_loopback_up(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (ioctl(fd, SIOCGIFFLAGS, &req) == 0) {
		req.ifr_flags |= IFF_UP;
		ioctl(fd, SIOCSIFFLAGS, &req);
	}
	close(fd);
}

/* A new IPv6 address can be used a little later. */
static inline void net_wait_for(const struct in6_addr *addr)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_addr = *addr };
	int done = -1;

	for (int i = 0; i < 5000 && done; i++) {
		int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		done = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
		close(fd);
		if (done)
			usleep(1000);
	}
}

/* An interface gets its multicast route when the kernel has noticed its carrier. */
static inline void net_wait_for_groups(const char *interface)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	int index = (int)if_nametoindex(interface), done = -1;

	inet_pton(AF_INET6, "ff0e::9", &sa.sin6_addr);
	for (int i = 0; i < 20000 && done; i++) {
		int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &index, sizeof(index));
		done = connect(fd, (struct sockaddr *)&sa, sizeof(sa));
		close(fd);
		if (done)
			usleep(1000);
	}
}

/* fd00::1 and fd00::2 on loopback, which has but one address of IPv6 otherwise. */
static inline void net_loopback_ipv6(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 1; i <= 2; i++) {
		struct net_in6_ifreq {
			struct in6_addr addr;
			uint32_t prefix;
			int ifindex;
		} req = { .prefix = 128, .ifindex = 1 };

		req.addr.s6_addr[0] = 0xfd;
		req.addr.s6_addr[15] = i;
		if (ioctl(fd, SIOCSIFADDR, &req))
			perror("fd00:: on loopback");
		net_wait_for(&req.addr);
	}
	close(fd);
}

/* Into a fresh namespace, with loopback up; ends the program (77: skipped) when that is forbidden.
 */
static inline void net_enter(void)
{
	char map[64];
	unsigned int uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWNET) == 0) {
		net_loopback_up();
		net_loopback_ipv6();
		return;
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
		printf("SKIPPED: no network namespace is allowed here: %s\n", strerror(errno));
		exit(77);
	}
	net_write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	net_write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	net_write_file("/proc/self/gid_map", map);
	net_loopback_up();
	net_loopback_ipv6();
}

static inline int net_current(void)
{
	return open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/* A sanitizer's preload is for the test, not for the tools it calls. */
static inline int net_shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline int net_shell(const char *fmt, ...)
{
	char command[1024];
	char *argv[] = { "env", "-u", "LD_PRELOAD", "sh", "-c", command, NULL };
	int status = -1;
	va_list ap;
	pid_t pid;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (posix_spawnp(&pid, "env", NULL, NULL, argv, environ))
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

#endif
