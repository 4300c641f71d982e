/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Netlink: answers of the kernel about routes and neighbours (hca/device/neigh.c), and requests of a program with the
 * records that the facade answers them from (tools/facade/answer.c). Both files are compiled in here, with sockets and
 * mappings of the target's own.
 *
 * Input: a byte that says which; two bytes of length of a first part, then both parts. Neighbours: the answers to the
 * first and the second question. Facade: the file of records, and the request.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#define FD 1000

struct part {
	const uint8_t *data;
	size_t len;
};

static struct part parts[2];
static bool second;    /* what is answered is the second question */
static size_t longest; /* datagram of the first answer */
static unsigned int failures;

static int fake_socket(int domain, int type, int protocol)
{
	return FD;
}

static ssize_t fake_send(int fd, const void *data, size_t len, int flags)
{
	for (size_t i = 0; i < len; i++)
		(void)*((const volatile uint8_t *)data + i);
	return (ssize_t)len;
}

/* An answer comes in datagrams of up to 512 bytes; then there is an error. */
static ssize_t fake_recv(int fd, void *data, size_t len, int flags)
{
	struct part *p = &parts[second];
	size_t n = p->len < 512 ? p->len : 512;

	if (!n) {
		errno = ++failures % 2 ? EINTR : ENOBUFS;
		return -1;
	}
	longest = n > longest ? n : longest;
	memset(data, 0xff, len);
	memcpy(data, p->data, n);
	p->data += n;
	p->len -= n;
	return (ssize_t)n;
}

static int fake_close(int fd)
{
	CHECK(fd == FD);
	return 0;
}

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
	return -1;
}

static ssize_t fake_sendto(int fd, const void *data, size_t len, int flags,
			   const struct sockaddr *to, socklen_t to_len)
{
	return (ssize_t)len;
}

static int fake_bind(int fd, const struct sockaddr *to, socklen_t len)
{
	return 0;
}

static int fake_getsockname(int fd, struct sockaddr *to, socklen_t *len)
{
	return 0;
}

static void *fake_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *copy = malloc(len);

	CHECK(copy && len == parts[0].len);
	memcpy(copy, parts[0].data, len);
	return copy;
}

static int fake_munmap(void *at, size_t len)
{
	free(at);
	return 0;
}

static long fake_syscall(long number, ...)
{
	const struct msghdr *msg;
	struct stat *st;
	va_list args;

	va_start(args, number);
	(void)va_arg(args, long);
	if (number == SYS_fstat) {
		st = va_arg(args, struct stat *);
		st->st_size = (off_t)parts[0].len;
	} else if (number == SYS_sendmsg) {
		msg = va_arg(args, const struct msghdr *);
		for (size_t i = 0; i < msg->msg_iovlen; i++)
			fake_send(FD, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len, 0);
	}
	va_end(args);
	return 0;
}

#define socket      fake_socket
#define send        fake_send
#define recv        fake_recv
#define close       fake_close
#define ioctl       fake_ioctl
#define sendto      fake_sendto
#define bind        fake_bind
#define getsockname fake_getsockname
#define mmap        fake_mmap
#define munmap      fake_munmap
#define syscall     fake_syscall
#include "../src/hca/device/neigh.c" /* NOLINT */
#define request facade_request
#include "../tools/facade/answer.c" /* NOLINT */

bool facade_file(const char *name, char *path, size_t size)
{
	path[0] = 0;
	return true;
}

static void neighbours(uint8_t how)
{
	uint8_t from[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 }, to[16] = { 0xfe, 0x80 };
	struct hca_next_hop hop = { 0 };
	uint8_t mac[6];

	int err;

	second = false;
	longest = 0;
	if (how & 4)
		memcpy(to, from, sizeof(to));
	err = hca_neigh_route(how & 8 ? 1 : 0, how & 16 ? from : NULL, to, &hop);
	CHECK(err || longest >= NLMSG_LENGTH(sizeof(struct rtmsg)));
	second = true;
	hop.ifindex = 1;
	memcpy(hop.addr, to, sizeof(to));
	hca_neigh_find(&hop, mac);
}

static void facade(void)
{
	/* As a program has it: aligned, and no byte longer. */
	void *request = aligned_alloc(8, (parts[1].len + 7) & ~(size_t)7);

	CHECK(request || !parts[1].len);
	if (parts[1].len)
		memcpy(request, parts[1].data, parts[1].len);
	answer_known(request, parts[1].len);
	answer_requests(FD, request, parts[1].len);
	free(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t first;

	if (size < 3)
		return 0;
	first = (size_t)(data[1] << 8 | data[2]);
	if (first > size - 3)
		first = size - 3;
	parts[0] = (struct part){ data + 3, first };
	parts[1] = (struct part){ data + 3 + first, size - 3 - first };
	if (data[0] & 1)
		neighbours(data[0]);
	else
		facade();
	return 0;
}
