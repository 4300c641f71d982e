/* SPDX-License-Identifier: BSD-2-Clause */
#include "umad.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "map.h"
#include "umad_record.h"

#define PREFIX "/dev/infiniband/umad"

static bool is_umad(const char *path)
{
	size_t hidden = facade_hidden(path, strlen(path));

	return hidden && !strncmp(path + hidden, PREFIX, sizeof(PREFIX) - 1);
}

/* Inside open(): neither it nor socket() of this library is called. */
static int connect_to(const char *path, int flags)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(addr.sun_path, path);
	fd = (int)syscall(SYS_socket, AF_UNIX,
			  SOCK_SEQPACKET | (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0), 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    (flags & O_NONBLOCK && fcntl(fd, F_SETFL, O_NONBLOCK))) {
		err = errno;
		close(fd);
		errno = err == ECONNREFUSED ? ENODEV : err;
		return -1;
	}
	return fd;
}

int umad_opened(int fd, const char *path, int flags)
{
	if (fd >= 0 || errno != ENXIO || !path)
		return fd;
	/* facade_hidden() leaves errno alone. */
	return is_umad(path) ? connect_to(path, flags) : fd;
}

bool umad_is(int fd)
{
	struct sockaddr_un addr;
	socklen_t len = sizeof(addr);
	int saved = errno;
	bool is;

	is = facade_active() && !getpeername(fd, (struct sockaddr *)&addr, &len) &&
	     addr.sun_family == AF_UNIX && len > offsetof(struct sockaddr_un, sun_path) &&
	     memchr(addr.sun_path, '\0', sizeof(addr.sun_path)) && is_umad(addr.sun_path);
	errno = saved;
	return is;
}

static int send_request(int fd, const struct umad_request *request, int answer_to)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)request, sizeof(*request) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &answer_to, sizeof(int));
	while (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -ENODEV;
		poll(&room, 1, -1);
	}
	return 0;
}

static int ask(int fd, const struct umad_request *request, struct umad_answer *answer)
{
	int pair[2], err;
	ssize_t n;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = send_request(fd, request, pair[1]);
	close(pair[1]);
	if (!err) {
		do {
			n = recv(pair[0], answer, sizeof(*answer), 0);
		} while (n < 0 && errno == EINTR);
		err = n == sizeof(*answer) ? answer->err : -ENODEV;
	}
	close(pair[0]);
	return err;
}

int umad_ioctl(int fd, unsigned long request, void *arg)
{
	struct umad_request question = { .request = (uint32_t)request };
	size_t size = _IOC_SIZE(request);
	struct umad_answer answer;
	int err;

	if (size > sizeof(question.argument))
		return -ENOTTY;
	if (size && !arg)
		return -EFAULT;
	memcpy(question.argument, arg, size);
	err = ask(fd, &question, &answer);
	/* A refusal may say what would be accepted. */
	if (_IOC_DIR(request) & _IOC_READ && (!err || err == -EINVAL))
		memcpy(arg, answer.argument, size);
	return err;
}
