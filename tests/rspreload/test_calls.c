/* SPDX-License-Identifier: BSD-2-Clause */
/* Every call on a number goes to its rsocket; what RDMA cannot do goes to the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "fake_rsocket.h"
#include "rspreload/lookup.h"
#include "rspreload/state.h"
#include "support.h"

static void a_socket_is_an_rsocket_and_looks_like_a_socket(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct stat st;

	assert_true(rsp_lookup(fd) >= 0);
	assert_int_not_equal(rsp_lookup(fd), fd);
	assert_return_code(fstat(fd, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	close(fd);
}

static void a_socket_that_rsocket_refuses_is_the_kernels(void **state)
{
	int unix_socket = socket(AF_UNIX, SOCK_DGRAM, 0), tcp;

	fake.socket_error = ENODEV;
	tcp = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(unix_socket >= 0 && tcp >= 0);
	assert_int_equal(rsp_lookup(unix_socket), -1);
	assert_int_equal(rsp_lookup(tcp), -1);
	close(unix_socket);
	close(tcp);
}

static void a_socket_that_the_configuration_leaves_out_is_the_kernels(void **state)
{
	static const char text[] = "some-other-program * * *\n";
	FILE *file = fmemopen((void *)text, sizeof(text) - 1, "r");
	int fd;

	rsp_config_read(&rsp.config, file);
	fclose(file);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(rsp_lookup(fd), -1);
	assert_int_equal(fake.calls, 0);
	close(fd);
}

/* Sends by the first function, receives by the second; both are calls of the rsocket. */
static void transfer(ssize_t (*put)(int, char *), ssize_t (*get)(int, char *))
{
	struct ends ends = connected();
	char out[8] = "letters", in[8] = "";
	int before = fake.calls;

	assert_int_equal(put(ends.client, out), 8);
	assert_int_equal(get(ends.server, in), 8);
	assert_string_equal(in, "letters");
	assert_int_equal(fake.calls - before >= 2, 1);
	close_ends(&ends);
}

static ssize_t by_write(int fd, char *text)
{
	return write(fd, text, 8);
}

static ssize_t by_read(int fd, char *text)
{
	return read(fd, text, 8);
}

static ssize_t by_send(int fd, char *text)
{
	return send(fd, text, 8, MSG_NOSIGNAL);
}

static ssize_t by_recv(int fd, char *text)
{
	return recv(fd, text, 8, MSG_WAITALL);
}

static ssize_t by_sendto(int fd, char *text)
{
	struct sockaddr_in any = loopback(1);

	return sendto(fd, text, 8, 0, (struct sockaddr *)&any, sizeof(any));
}

static ssize_t by_recvfrom(int fd, char *text)
{
	struct sockaddr_in from = { 0 };
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, text, 8, 0, (struct sockaddr *)&from, &len);

	assert_int_equal(ntohs(from.sin_port), 1);
	return n;
}

static ssize_t by_writev(int fd, char *text)
{
	struct iovec iov[2] = { { text, 3 }, { text + 3, 5 } };

	return writev(fd, iov, 2);
}

static ssize_t by_readv(int fd, char *text)
{
	struct iovec iov[2] = { { text, 5 }, { text + 5, 3 } };

	return readv(fd, iov, 2);
}

static ssize_t by_sendmsg(int fd, char *text)
{
	struct iovec iov = { text, 8 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return sendmsg(fd, &msg, 0);
}

static ssize_t by_recvmsg(int fd, char *text)
{
	struct iovec iov = { text, 8 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(fd, &msg, 0);
}

static ssize_t by_sendmmsg(int fd, char *text)
{
	struct iovec iov[2] = { { text, 3 }, { text + 3, 5 } };
	struct mmsghdr msgs[2] = { { .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
				   { .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1 } } };

	assert_int_equal(sendmmsg(fd, msgs, 2, 0), 2);
	return msgs[0].msg_len + msgs[1].msg_len;
}

static ssize_t by_recvmmsg(int fd, char *text)
{
	struct iovec iov = { text, 8 };
	struct mmsghdr msg = { .msg_hdr = { .msg_iov = &iov, .msg_iovlen = 1 } };

	assert_int_equal(recvmmsg(fd, &msg, 1, MSG_WAITALL, NULL), 1);
	return msg.msg_len;
}

ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);

static ssize_t by_read_chk(int fd, char *text)
{
	return __read_chk(fd, text, 8, 8);
}

static ssize_t by_recv_chk(int fd, char *text)
{
	return __recv_chk(fd, text, 8, 8, 0);
}

static void every_way_to_send_and_to_receive_goes_through_the_rsocket(void **state)
{
	transfer(by_write, by_read);
	transfer(by_send, by_recv);
	transfer(by_sendto, by_recvfrom);
	transfer(by_writev, by_readv);
	transfer(by_sendmsg, by_recvmsg);
	transfer(by_sendmmsg, by_recvmmsg);
	transfer(by_write, by_read_chk);
	transfer(by_write, by_recv_chk);
}

static int file_with(const char *text)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void sendfile_with_an_offset_moves_the_offset_only(void **state)
{
	struct ends ends = connected();
	int file = file_with("0123456789");
	char in[11] = "";
	off_t at = 2;

	assert_int_equal(sendfile(ends.client, file, &at, 5), 5);
	assert_int_equal(at, 7);
	assert_int_equal(lseek(file, 0, SEEK_CUR), 0);
	assert_int_equal(read(ends.server, in, 10), 5);
	assert_string_equal(in, "23456");
	close(file);
	close_ends(&ends);
}

static void sendfile_without_an_offset_moves_the_file(void **state)
{
	struct ends ends = connected();
	int file = file_with("0123456789");
	char in[11] = "";

	assert_int_equal(sendfile64(ends.client, file, NULL, 4), 4);
	assert_int_equal(sendfile(ends.client, file, NULL, 100), 6);
	assert_int_equal(sendfile(ends.client, file, NULL, 100), 0);
	assert_int_equal(recv(ends.server, in, 10, MSG_WAITALL), 10);
	assert_string_equal(in, "0123456789");
	close(file);
	close_ends(&ends);
}

static void names_are_the_rsockets(void **state)
{
	struct ends ends = connected();
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof(peer);

	assert_return_code(getpeername(ends.client, (struct sockaddr *)&peer, &len), 0);
	assert_memory_equal(&peer, &ends.addr, sizeof(peer));
	close_ends(&ends);
}

static void a_peer_that_rdma_does_not_reach_is_reached_by_tcp(void **state)
{
	int listener, client, server, on = 0;
	struct sockaddr_in addr = loopback(0);
	socklen_t len = sizeof(addr), optlen = sizeof(on);
	char in[3] = "";

	fake.socket_error = ENODEV;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&addr, len);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&addr, &len);
	client = socket(AF_INET, SOCK_STREAM, 0);
	on = 1;
	assert_return_code(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	fake.connect_error = ECONNREFUSED;
	assert_return_code(connect(client, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(rsp_lookup(client), -1);
	assert_int_equal(fake.open, 0);
	server = accept(listener, NULL, NULL);
	assert_int_equal(write(client, "ab", 2), 2);
	assert_int_equal(read(server, in, 2), 2);
	assert_string_equal(in, "ab");
	on = 0;
	assert_return_code(getsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, &optlen), 0);
	assert_true(on);
	close(client);
	close(server);
	close(listener);
}

static void a_connect_in_progress_stays_with_rdma(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in addr = loopback(9);

	fake.connect_error = EINPROGRESS;
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), -1);
	assert_int_equal(errno, EINPROGRESS);
	assert_true(rsp_lookup(fd) >= 0);
	close(fd);
}

static void an_address_without_an_adapter_is_bound_by_the_kernel(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = loopback(0), own = { 0 };
	socklen_t len = sizeof(own);

	fake.bind_error = ENODEV;
	assert_return_code(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(rsp_lookup(fd), -1);
	assert_return_code(getsockname(fd, (struct sockaddr *)&own, &len), 0);
	assert_int_not_equal(own.sin_port, 0);
	close(fd);
}

static void a_port_in_use_is_no_reason_to_leave_rdma(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in addr = loopback(0);

	fake.bind_error = EADDRINUSE;
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), -1);
	assert_int_equal(errno, EADDRINUSE);
	assert_true(rsp_lookup(fd) >= 0);
	close(fd);
}

static bool would_block(int fd)
{
	char byte;

	return read(fd, &byte, 1) < 0 && errno == EAGAIN;
}

static void nonblocking_mode_reaches_the_rsocket_by_every_way(void **state)
{
	struct ends ends = connected();
	int on = 1, flags, accepted;

	assert_return_code(ioctl(ends.server, FIONBIO, &on), 0);
	assert_true(would_block(ends.server));
	assert_true(fcntl(ends.server, F_GETFL) & O_NONBLOCK);
	on = 0;
	assert_return_code(ioctl(ends.server, FIONBIO, &on), 0);
	assert_false(fcntl64(ends.server, F_GETFL) & O_NONBLOCK);
	assert_return_code(fcntl(ends.client, F_SETFL, O_NONBLOCK), 0);
	assert_true(would_block(ends.client));
	close(ends.client);

	ends.client = socket(AF_INET, SOCK_STREAM, 0);
	assert_return_code(connect(ends.client, (struct sockaddr *)&ends.addr, sizeof(ends.addr)),
			   0);
	accepted = accept4(ends.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(would_block(accepted));
	flags = fcntl(accepted, F_GETFD);
	assert_true(flags & FD_CLOEXEC);
	assert_int_equal(accept4(ends.listener, NULL, NULL, 1), -1);
	assert_int_equal(errno, EINVAL);
	close(accepted);
	close_ends(&ends);
}

static void options_that_rsockets_lack_are_the_placeholders(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), ttl = 7, got = 0;
	socklen_t len = sizeof(got);

	assert_return_code(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)), 0);
	assert_return_code(getsockopt(fd, IPPROTO_IP, IP_TTL, &got, &len), 0);
	assert_int_equal(got, 7);
	assert_return_code(getsockopt(fd, SOL_SOCKET, SO_TYPE, &got, &len), 0);
	assert_int_equal(got, SOCK_STREAM);
	close(fd);
}

static void a_timeout_that_rsockets_would_not_keep_is_refused(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct timeval second = { .tv_sec = 1 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second)), -1);
	assert_int_equal(errno, ENOTSUP);
	close(fd);
}

static void copies_share_the_rsocket_until_the_last_is_closed(void **state)
{
	struct ends ends = connected();
	int open = fake.open, rs = rsp_lookup(ends.client);
	int a = dup(ends.client), b = fcntl(ends.client, F_DUPFD_CLOEXEC, 100);

	assert_int_equal(rsp_lookup(a), rs);
	assert_int_equal(rsp_lookup(b), rs);
	assert_true(b >= 100);
	assert_true(fcntl(b, F_GETFD) & FD_CLOEXEC);
	close(ends.client);
	close(a);
	assert_int_equal(fake.open, open);
	assert_int_equal(write(b, "x", 1), 1);
	close(b);
	assert_int_equal(fake.open, open - 1);
	assert_int_equal(close(b), -1);
	assert_int_equal(errno, EBADF);
	close(ends.server);
	close(ends.listener);
}

static void dup2_closes_what_the_number_stood_for(void **state)
{
	struct ends ends = connected();
	int open = fake.open, file = file_with("text");
	char in[5] = "";

	assert_int_equal(dup2(file, ends.client), ends.client);
	assert_int_equal(fake.open, open - 1);
	assert_int_equal(read(ends.client, in, 4), 4);
	assert_string_equal(in, "text");
	assert_int_equal(dup2(ends.server, file), file);
	assert_int_equal(rsp_lookup(file), rsp_lookup(ends.server));
	assert_int_equal(dup2(file, file), file);
	close(file);
	close_ends(&ends);
}

static void dup2_of_a_bad_number_closes_nothing(void **state)
{
	struct ends ends = connected();
	int open = fake.open;

	assert_int_equal(dup2(4000, ends.client), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(fake.open, open);
	close_ends(&ends);
}

static void close_range_closes_rsockets(void **state)
{
	struct ends ends = connected();
	int open = fake.open;

	assert_return_code(close_range((unsigned int)ends.client, (unsigned int)ends.client, 0), 0);
	assert_int_equal(fake.open, open - 1);
	assert_int_equal(rsp_lookup(ends.client), -1);
	close(ends.server);
	close(ends.listener);
}

static void a_forked_child_leaves_its_parents_connection_alone(void **state)
{
	struct ends ends = connected();
	int status, calls = fake.calls;
	pid_t pid = fork();
	char byte;

	if (!pid) {
		int dead = read(ends.client, &byte, 1) < 0 && errno == ENOTCONN;

		close(ends.client);
		_exit(dead && fake.calls == calls ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(write(ends.client, "x", 1), 1);
	assert_int_equal(read(ends.server, &byte, 1), 1);
	close_ends(&ends);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, all_closed)
	const struct CMUnitTest tests[] = {
		TEST(a_socket_is_an_rsocket_and_looks_like_a_socket),
		TEST(a_socket_that_rsocket_refuses_is_the_kernels),
		TEST(a_socket_that_the_configuration_leaves_out_is_the_kernels),
		TEST(every_way_to_send_and_to_receive_goes_through_the_rsocket),
		TEST(sendfile_with_an_offset_moves_the_offset_only),
		TEST(sendfile_without_an_offset_moves_the_file),
		TEST(names_are_the_rsockets),
		TEST(a_peer_that_rdma_does_not_reach_is_reached_by_tcp),
		TEST(a_connect_in_progress_stays_with_rdma),
		TEST(an_address_without_an_adapter_is_bound_by_the_kernel),
		TEST(a_port_in_use_is_no_reason_to_leave_rdma),
		TEST(nonblocking_mode_reaches_the_rsocket_by_every_way),
		TEST(options_that_rsockets_lack_are_the_placeholders),
		TEST(a_timeout_that_rsockets_would_not_keep_is_refused),
		TEST(copies_share_the_rsocket_until_the_last_is_closed),
		TEST(dup2_closes_what_the_number_stood_for),
		TEST(dup2_of_a_bad_number_closes_nothing),
		TEST(close_range_closes_rsockets),
		TEST(a_forked_child_leaves_its_parents_connection_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
