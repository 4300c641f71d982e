/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/socket.h>

#include "share_common.h"

/* What the owner tells its peer, beside the memfd. */
struct hello {
	uint64_t va;
	uint64_t len;
};

static void send_hello(int sock, const struct hello *hello, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)hello, .iov_len = sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock, &msg, 0), sizeof(*hello));
}

static int receive_hello(int sock, struct hello *hello)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = hello, .iov_len = sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int fd;

	check(recvmsg(sock, &msg, 0) == sizeof(*hello));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* The peer answers in the owner's memory: each byte plus one, and waits for the owner's answer. */
static void peer(int sock)
{
	struct share_view view;
	struct hello hello;
	int fd = receive_hello(sock, &hello);
	uint8_t *p;
	char c = 0;

	check(!share_view_init(&view, fd));
	p = share_view_map(&view, hello.va, hello.len);
	check(p);
	check(((uintptr_t)p & (PAGE - 1)) == (hello.va & (PAGE - 1)));
	for (size_t i = 0; i < hello.len; i++) {
		check(p[i] == (uint8_t)i);
		p[i] = (uint8_t)(i + 1);
	}
	check(write(sock, &c, 1) == 1);
	check(read(sock, &c, 1) == 1);
	for (size_t i = 0; i < hello.len; i++)
		check(p[i] == (uint8_t)(i + 2));
	share_view_unmap(&view, p, hello.len);
	check(view.mapped == 0);
	share_view_fini(&view);
}

static void a_peer_and_the_owner_see_each_others_writes(void **state)
{
	struct hello hello;
	uint8_t *buf = map_anon(8 * PAGE) + 300;
	char c = 0;
	int pair[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (!pid) {
		alarm(120);
		peer(pair[1]);
		_exit(0);
	}
	hello = (struct hello){ .va = (uintptr_t)buf, .len = 6 * PAGE };
	for (size_t i = 0; i < hello.len; i++)
		buf[i] = (uint8_t)i;
	assert_int_equal(share_range_get(buf, hello.len), 0);
	send_hello(pair[0], &hello, share_fd());
	assert_int_equal(read(pair[0], &c, 1), 1);
	for (size_t i = 0; i < hello.len; i++) {
		assert_int_equal(buf[i], (uint8_t)(i + 1));
		buf[i] = (uint8_t)(i + 2);
	}
	assert_int_equal(write(pair[0], &c, 1), 1);
	assert_exits_well(pid);
	share_range_put(buf, hello.len);
	for (size_t i = 0; i < hello.len; i++)
		assert_int_equal(buf[i], (uint8_t)(i + 2));
	munmap(buf - 300, 8 * PAGE);
	close(pair[0]);
	close(pair[1]);
}

static void a_file_that_is_no_share_is_refused(void **state)
{
	struct share_view view;
	int fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(share_view_init(&view, fd), -EPROTO);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(share_view_init(&view, fd), -EPROTO);
	assert_int_equal(share_view_init(&view, -1), -EPROTO);
	close(fd);
}

static void addresses_no_process_can_have_are_refused(void **state)
{
	struct share_view view;

	assert_int_equal(share_view_init(&view, share_fd()), 0);
	errno = 0;
	assert_null(share_view_map(&view, UINT64_MAX - 100, 50));
	assert_int_equal(errno, EINVAL);
	assert_null(share_view_map(&view, 1ull << 47, 4096));
	assert_null(share_view_map(&view, (1ull << 47) - 4096, 4097));
	assert_null(share_view_map(&view, 4096, 0));
	assert_null(share_view_map(&view, 4096, SIZE_MAX));
	share_view_fini(&view);
}

static void a_view_of_our_own_memory_is_that_memory(void **state)
{
	struct share_view view;
	uint8_t *buf = map_anon(PAGE);

	assert_int_equal(share_range_get(buf, PAGE), 0);
	assert_int_equal(share_view_init(&view, share_fd()), 0);
	assert_ptr_equal(share_view_map(&view, (uintptr_t)buf, PAGE), buf);
	share_view_unmap(&view, buf, PAGE);
	buf[1] = 1;
	share_view_fini(&view);
	share_range_put(buf, PAGE);
	munmap(buf, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_and_the_owner_see_each_others_writes),
		cmocka_unit_test(a_file_that_is_no_share_is_refused),
		cmocka_unit_test(addresses_no_process_can_have_are_refused),
		cmocka_unit_test(a_view_of_our_own_memory_is_that_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
