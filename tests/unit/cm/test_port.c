/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports between processes. The other process is this program, started again: it binds an id as it is
 * told and says how that went.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm/fake_verbs.h"
#include "cm/support.h"

enum {
	REUSE = 1,
	AFONLY = 2,
	LISTEN = 4,
};

struct order {
	enum rdma_port_space ps;
	char addr[40];
	int port;
	int flags;
};

struct answer {
	int error;
	int port;
};

/* Binds a new id and keeps it. LISTEN alone, with port -1: the last one listens. */
static struct answer carry_out(const struct order *order)
{
	static struct rdma_cm_id *id;
	struct address addr;
	int on = 1;

	if (order->port >= 0) {
		if (rdma_create_id(NULL, &id, NULL, order->ps))
			return (struct answer){ .error = errno };
		if (order->flags & REUSE)
			rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4);
		if (order->flags & AFONLY)
			rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4);
		if (rdma_bind_addr(id, ip(&addr, order->addr, order->port)))
			return (struct answer){ .error = errno };
	}
	if ((order->flags & LISTEN) && rdma_listen(id, 1))
		return (struct answer){ .error = errno };
	return (struct answer){ .port = ntohs(rdma_get_src_port(id)) };
}

static int other_process(void)
{
	struct order order;

	while (read(0, &order, sizeof(order)) == sizeof(order)) {
		struct answer answer = carry_out(&order);

		if (write(1, &answer, sizeof(answer)) != sizeof(answer))
			return 1;
	}
	return 0;
}

static struct {
	pid_t pid;
	int to, from;
} other;

static int setup(void **state)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return -1;
	other.pid = fork();
	if (!other.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl("/proc/self/exe", "other", "process", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	other.to = to[1];
	other.from = from[0];
	return other.pid < 0;
}

static int end_other(int sig)
{
	int status;

	if (!other.pid)
		return 0;
	close(other.to);
	close(other.from);
	if (sig)
		kill(other.pid, sig);
	if (waitpid(other.pid, &status, 0) != other.pid)
		return -1;
	other.pid = 0;
	return sig ? 0 : status;
}

static int teardown(void **state)
{
	return end_other(0);
}

static struct answer ask_other(const struct order *order)
{
	struct answer answer = { .error = -1 };

	assert_int_equal(write(other.to, order, sizeof(*order)), sizeof(*order));
	assert_int_equal(read(other.from, &answer, sizeof(answer)), sizeof(answer));
	return answer;
}

static int other_binds(const char *addr, int port, int flags)
{
	struct order order = { .ps = RDMA_PS_TCP, .port = port, .flags = flags };

	strcpy(order.addr, addr);
	return ask_other(&order).error;
}

/* The result of binding a new id of this process, which is destroyed afterwards. */
static int own_bind(enum rdma_port_space ps, const char *text, int port, int flags)
{
	struct rdma_cm_id *id;
	struct address addr;
	int on = 1, error = 0;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, ps), 0);
	if (flags & REUSE)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4);
	if (flags & AFONLY)
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4);
	if (rdma_bind_addr(id, ip(&addr, text, port)) || ((flags & LISTEN) && rdma_listen(id, 1)))
		error = errno;
	assert_int_equal(rdma_destroy_id(id), 0);
	return error;
}

static int tcp(const char *text, int flags)
{
	return own_bind(RDMA_PS_TCP, text, 4000, flags);
}

static void an_address_that_another_process_has_is_in_use(void **state)
{
	assert_int_equal(other_binds("192.0.2.7", 4000, 0), 0);
	assert_int_equal(tcp("192.0.2.7", 0), EADDRINUSE);
	assert_int_equal(tcp("192.0.2.7", REUSE), EADDRINUSE);
	assert_int_equal(tcp("0.0.0.0", 0), EADDRNOTAVAIL);
	assert_int_equal(tcp("::", 0), EADDRNOTAVAIL);
	assert_int_equal(tcp("::", AFONLY), 0);
	assert_int_equal(tcp("127.0.0.1", LISTEN), 0);
	assert_int_equal(tcp("2001:db8::7", 0), 0);
	assert_int_equal(own_bind(RDMA_PS_TCP, "192.0.2.7", 4001, 0), 0);
	assert_int_equal(own_bind(RDMA_PS_UDP, "192.0.2.7", 4000, 0), 0);
}

static void a_wildcard_of_another_process_covers_its_families(void **state)
{
	assert_int_equal(other_binds("0.0.0.0", 4000, LISTEN), 0);
	assert_int_equal(tcp("192.0.2.7", 0), EADDRNOTAVAIL);
	assert_int_equal(tcp("0.0.0.0", REUSE), EADDRNOTAVAIL);
	assert_int_equal(tcp("::", 0), EADDRNOTAVAIL);
	assert_int_equal(tcp("2001:db8::7", 0), EADDRNOTAVAIL);
	/* both processes listen, each to one family */
	assert_int_equal(tcp("::", AFONLY | LISTEN), 0);
	assert_int_equal(tcp("2001:db8::7", AFONLY), 0);
}

static void reuseaddr_of_both_shares_a_port_until_one_listens(void **state)
{
	assert_int_equal(other_binds("192.0.2.7", 4000, REUSE), 0);
	assert_int_equal(tcp("192.0.2.7", 0), EADDRINUSE);
	assert_int_equal(tcp("192.0.2.7", REUSE), 0);
	assert_int_equal(tcp("0.0.0.0", REUSE), 0);
	assert_int_equal(tcp("192.0.2.7", REUSE | LISTEN), EADDRINUSE);
	assert_int_equal(tcp("0.0.0.0", REUSE | LISTEN), EADDRNOTAVAIL);
	assert_int_equal(other_binds("", -1, LISTEN), 0);
	assert_int_equal(tcp("192.0.2.7", REUSE), EADDRINUSE);
	assert_int_equal(tcp("0.0.0.0", REUSE), EADDRNOTAVAIL);
}

static void an_option_counts_at_once_in_other_processes(void **state)
{
	struct rdma_cm_id *id;
	struct address addr;
	int on = 1;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_bind_addr(id, ip(&addr, "192.0.2.7", 4000)), 0);
	assert_int_equal(other_binds("192.0.2.7", 4000, REUSE), EADDRINUSE);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(other_binds("192.0.2.7", 4000, REUSE), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void ports_of_a_process_that_is_killed_are_free(void **state)
{
	assert_int_equal(other_binds("192.0.2.7", 4000, LISTEN), 0);
	assert_int_equal(tcp("192.0.2.7", LISTEN), EADDRINUSE);
	end_other(SIGKILL);
	assert_int_equal(tcp("192.0.2.7", LISTEN), 0);
}

static void port_zero_never_gets_a_port_of_another_process(void **state)
{
	struct order order = { .ps = RDMA_PS_TCP, .addr = "192.0.2.7" };
	static char taken[65536];
	struct rdma_cm_id *ids[300];
	struct address addr;
	size_t i;

	for (i = 0; i < 300; i++) {
		struct answer answer = ask_other(&order);

		assert_int_equal(answer.error, 0);
		assert_false(taken[answer.port]);
		taken[answer.port] = 1;
		assert_int_equal(rdma_create_id(NULL, &ids[i], NULL, RDMA_PS_TCP), 0);
		assert_int_equal(rdma_bind_addr(ids[i], ip(&addr, "0.0.0.0", 0)), 0);
		assert_false(taken[ntohs(rdma_get_src_port(ids[i]))]);
		taken[ntohs(rdma_get_src_port(ids[i]))] = 1;
	}
	while (i--)
		assert_int_equal(rdma_destroy_id(ids[i]), 0);
}

static void a_privileged_port_needs_the_capability(void **state)
{
	uid_t user = geteuid();

	/* a user other than root, in this thread only, loses the effective capability */
	if (user == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(own_bind(RDMA_PS_TCP, "192.0.2.7", 80, 0), EACCES);
	assert_int_equal(own_bind(RDMA_PS_TCP, "192.0.2.7", 1024, 0), 0);
	if (user == 0)
		assert_int_equal(seteuid(0), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		test(an_address_that_another_process_has_is_in_use),
		test(a_wildcard_of_another_process_covers_its_families),
		test(reuseaddr_of_both_shares_a_port_until_one_listens),
		test(an_option_counts_at_once_in_other_processes),
		test(ports_of_a_process_that_is_killed_are_free),
		test(port_zero_never_gets_a_port_of_another_process),
		test(a_privileged_port_needs_the_capability),
	};

	if (argc > 1)
		return other_process();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
