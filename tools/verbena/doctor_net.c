/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of what packets between hosts need. Between processes of one host nothing here matters, unless a capture or a
 * fault sends them over the wire.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"

#define ROCE_PORT     4791
#define BUFFER_WANTED (8 << 20)
#define WAIT_MS       2000

/* The user that has a socket at the port; -1: none has. */
static long port_user(const char *file)
{
	FILE *in = fopen(file, "re");
	unsigned int port, uid;
	char line[512];
	long user = -1;

	if (!in)
		return -1;
	while (fgets(line, sizeof(line), in))
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*s %*s %*s %*s %*s %u", &port, &uid) ==
			    2 &&
		    port == ROCE_PORT)
			user = uid;
	fclose(in);
	return user;
}

static long port_is_used_by(void)
{
	long user = port_user("/proc/self/net/udp");

	return user >= 0 ? user : port_user("/proc/self/net/udp6");
}

static int listen_everywhere(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), saved;

	if (fd < 0)
		return -1;
	if (!bind(fd, (struct sockaddr *)&any, sizeof(any)))
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

void doctor_port(struct finding *f)
{
	long user = port_is_used_by();
	int fd;

	if (user == (long)geteuid()) {
		finding_set(f, VERDICT_OK, "programs on Verbena share it", NULL,
			    "in use by a process of yours");
		return;
	}
	fd = user < 0 ? listen_everywhere() : -1;
	if (fd >= 0)
		finding_set(f, VERDICT_OK, "packets to and from other hosts can be received", NULL,
			    "free");
	else if (user >= 0)
		finding_set(
			f, VERDICT_MISSING,
			"nothing is received from other hosts at the addresses that it has taken",
			"end that process, or use a network namespace of your own",
			"taken by a process of user %ld", user);
	else
		finding_set(f, VERDICT_MISSING, "nothing is received from other hosts",
			    errno == EADDRINUSE ? "end the process that has it"
						: "a network namespace with an IPv4 stack",
			    "cannot be opened (%s)", strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* Whether a datagram to this address of the host arrives at the port. */
static bool arrives(int fd, const struct sockaddr_in *address)
{
	struct sockaddr_in to = *address;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[] = "verbena doctor", got[sizeof(text)];
	int from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool sent;

	to.sin_port = htons(ROCE_PORT);
	sent = from >= 0 &&
	       sendto(from, text, sizeof(text), 0, (struct sockaddr *)&to, sizeof(to)) > 0;
	if (from >= 0)
		close(from);
	return sent && poll(&p, 1, WAIT_MS) == 1 &&
	       recv(fd, got, sizeof(got), MSG_DONTWAIT) == (ssize_t)sizeof(got);
}

static bool any_interface_is_up(void)
{
	struct ifaddrs *list, *i;
	bool up = false;

	if (getifaddrs(&list))
		return false;
	for (i = list; i; i = i->ifa_next)
		up |= (i->ifa_flags & IFF_UP) != 0;
	freeifaddrs(list);
	return up;
}

/* The first address of an interface that is up at which nothing arrives; false: there is none. */
static bool find_deaf_address(int fd, char text[INET_ADDRSTRLEN], int *tried)
{
	struct ifaddrs *list, *i;
	bool found = false;

	*tried = 0;
	if (getifaddrs(&list))
		return false;
	for (i = list; i && !found; i = i->ifa_next) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)i->ifa_addr;

		if (!in || in->sin_family != AF_INET || !(i->ifa_flags & IFF_UP))
			continue;
		(*tried)++;
		found = !arrives(fd, in);
		if (found)
			inet_ntop(AF_INET, &in->sin_addr, text, INET_ADDRSTRLEN);
	}
	freeifaddrs(list);
	return found;
}

void doctor_firewall(struct finding *f)
{
	static const char remote[] = "whether packets of other hosts come in cannot be seen from "
				     "here: they go to UDP port 4791";
	char text[INET_ADDRSTRLEN];
	int tried, fd = port_is_used_by() < 0 ? listen_everywhere() : -1;

	if (fd < 0) {
		finding_set(f, VERDICT_OK, remote, NULL, "not tried, because the port is in use");
		return;
	}
	if (find_deaf_address(fd, text, &tried))
		finding_set(f, VERDICT_MISSING, "packets to that address are lost",
			    "a rule that accepts UDP packets to port 4791, for instance: nft "
			    "insert rule "
			    "inet filter input udp dport 4791 accept",
			    "a packet to UDP port 4791 of %s did not arrive", text);
	else if (tried)
		finding_set(f, VERDICT_OK, remote, NULL,
			    "packets to UDP port 4791 of this host arrive");
	else if (any_interface_is_up())
		finding_set(f, VERDICT_OK, remote, NULL,
			    "not tried: no interface that is up has an IPv4 address");
	else
		finding_set(f, VERDICT_MISSING,
			    "ports of Ethernet adapters are down, and their queue pairs cannot be "
			    "connected",
			    "ip link set lo up", "no network interface is up");
	close(fd);
}

void doctor_socket_buffers(struct finding *f)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), wish = BUFFER_WANTED, got = 0;
	socklen_t len = sizeof(got);

	if (fd >= 0) {
		if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &wish, sizeof(wish)))
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wish, sizeof(wish));
		getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len);
		close(fd);
	}
	/* The kernel doubles what was asked for. */
	got /= 2;
	if (got >= BUFFER_WANTED)
		finding_set(f, VERDICT_OK, "bursts of packets between hosts are kept", NULL,
			    "%d KiB", got >> 10);
	else
		finding_set(
			f, VERDICT_SLOWER,
			"bursts of packets between hosts overflow them: connections send again, "
			"datagrams are lost",
			"sysctl net.core.rmem_max=8388608 net.core.wmem_max=8388608",
			"%d KiB at most", got >> 10);
}
