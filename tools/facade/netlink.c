/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Netlink sockets that list adapters: NETLINK_RDMA of `rdma`, and the family `devlink` of NETLINK_GENERIC. The
 * kernel knows nothing of the run's adapters, and may have neither.
 *
 * A socket of NETLINK_RDMA is one of NETLINK_USERSOCK in truth, where processes may write to each other. A
 * generic socket stays the kernel's until its program asks for the family `devlink`, then another one takes its
 * descriptor and port. What a program writes to such a socket is answered by answer.c.
 *
 * Descriptors of both kinds are marked, which keeps other sockets' sends as they are. A mark may outlive its
 * descriptor; sends check what the descriptor is.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "answer.h"
#include "map.h"
#include "next.h"

#define FD_MAX      4096
#define REQUEST_MAX 4096

static uint64_t marks[FD_MAX / 64];

static uint64_t bit_of(int fd)
{
	return (uint64_t)1 << (fd & 63);
}

static void mark(int fd, bool ours)
{
	if (fd < 0 || fd >= FD_MAX)
		return;
	if (ours)
		__atomic_or_fetch(&marks[fd / 64], bit_of(fd), __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(&marks[fd / 64], ~bit_of(fd), __ATOMIC_RELAXED);
}

static bool marked(int fd)
{
	return fd >= 0 && fd < FD_MAX &&
	       __atomic_load_n(&marks[fd / 64], __ATOMIC_RELAXED) & bit_of(fd);
}

static int option_of(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, name, &value, &len))
		return -1;
	return value;
}

/* The protocol of a marked netlink socket; -1: sends are the kernel's. */
static int protocol_of(int fd)
{
	int protocol, saved = errno;

	if (!marked(fd))
		return -1;
	protocol = option_of(fd, SO_DOMAIN) == AF_NETLINK ? option_of(fd, SO_PROTOCOL) : -1;
	errno = saved;
	return protocol == NETLINK_GENERIC || protocol == NETLINK_USERSOCK ? protocol : -1;
}

/* Puts a socket of NETLINK_USERSOCK with port and flags of the generic socket `fd` in its place. */
static int take_over(int fd)
{
	struct sockaddr_nl name = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(name);
	int flags = fcntl(fd, F_GETFL), on_exec = fcntl(fd, F_GETFD), err = 0;
	int ours;

	if (flags < 0 || on_exec < 0 || getsockname(fd, (struct sockaddr *)&name, &len))
		return -errno;
	ours = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_USERSOCK);
	if (ours < 0)
		return -errno;
	name.nl_groups = 0;
	if (name.nl_pid && bind(ours, (struct sockaddr *)&name, sizeof(name)))
		err = -errno;
	else if (fcntl(ours, F_SETFL, flags) ||
		 syscall(SYS_dup3, ours, fd, on_exec & FD_CLOEXEC ? O_CLOEXEC : 0) < 0)
		err = -errno;
	syscall(SYS_close, ours);
	return err;
}

static bool asks_for_devlink(const void *buf, size_t len)
{
	const struct nlmsghdr *head = buf;

	return len >= sizeof(*head) && head->nlmsg_type == GENL_ID_CTRL && answer_known(buf, len);
}

/* True if the request has been answered here, with the result of the send in *ret. */
static bool answered(int fd, const void *buf, size_t len, ssize_t *ret)
{
	int protocol = protocol_of(fd), err = 0, saved = errno;

	if (protocol < 0)
		return false;
	if (protocol == NETLINK_GENERIC) {
		if (!asks_for_devlink(buf, len))
			return false;
		err = take_over(fd);
	}
	if (!err)
		err = answer_requests(fd, buf, len);
	errno = err ? -err : saved;
	*ret = err ? -1 : (ssize_t)len;
	return true;
}

FACADE_API int socket(int domain, int type, int protocol)
{
	bool ours = domain == AF_NETLINK &&
		    (protocol == NETLINK_RDMA || protocol == NETLINK_GENERIC) && facade_active();
	int fd;

	if (ours && protocol == NETLINK_RDMA)
		protocol = NETLINK_USERSOCK;
	fd = NEXT(socket)(domain, type, protocol);
	mark(fd, ours);
	return fd;
}

FACADE_API ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	ssize_t ret;

	if (answered(fd, buf, len, &ret))
		return ret;
	return NEXT(send)(fd, buf, len, flags);
}

FACADE_API ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG addr,
			  socklen_t addr_len)
{
	ssize_t ret;

	if (answered(fd, buf, len, &ret))
		return ret;
	return NEXT(sendto)(fd, buf, len, flags, addr, addr_len);
}

static bool message_answered(int fd, const struct msghdr *msg, ssize_t *ret)
{
	char buf[REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	size_t i, len = 0;

	for (i = 0; i < msg->msg_iovlen; i++) {
		if (msg->msg_iov[i].iov_len > sizeof(buf) - len)
			return false;
		memcpy(buf + len, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		len += msg->msg_iov[i].iov_len;
	}
	return answered(fd, buf, len, ret);
}

FACADE_API ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t ret;

	if (protocol_of(fd) >= 0 && message_answered(fd, msg, &ret))
		return ret;
	return NEXT(sendmsg)(fd, msg, flags);
}
