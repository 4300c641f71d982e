/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A default rule takes what no other rule is there for. That holds across processes, as it does for
 * an adapter whose rules are in one place: frames to an address of another process are not received.
 */
#include "ends.h"
#include "own_process.h"

#include <sys/wait.h>
#include <unistd.h>

static const uint8_t nobodys_mac[6] = { 0x02, 0, 0, 0, 0, 0x77 };

static struct ibv_flow *take_what_is_left(struct end *e)
{
	struct ibv_flow_attr attr = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				      .size = sizeof(attr),
				      .port = 1 };
	struct ibv_flow *flow = ibv_create_flow(e->qp, &attr);

	assert_non_null(flow);
	return flow;
}

/* The other process: says when it is there, and then what the first frames that it sees are for. */
static int take_two(const char *device)
{
	static struct frame f;
	struct end to;

	end_open(&to, device);
	end_create_qp(&to, 0, 0);
	end_post_all(&to);
	to.flow = take_what_is_left(&to);
	if (write(STDOUT_FILENO, "r", 1) != 1)
		return 1;
	for (int i = 0; i < 2; i++) {
		end_receive(&to, &f);
		if (write(STDOUT_FILENO, &f.data[5], 1) != 1)
			return 1;
	}
	end_close(&to);
	return 0;
}

static const char *program;

static uint8_t hear(int fd)
{
	uint8_t byte = 0;

	assert_int_equal(read(fd, &byte, 1), 1);
	return byte;
}

static void run(const char *device, const char *other)
{
	static struct frame f, got;
	struct end to, from;
	int fd, status;
	pid_t taker;

	taker = own_process(program, device, STDOUT_FILENO, &fd);
	end_receiver(&to, device, 0);
	end_sender(&from, other, 0);
	assert_int_equal(hear(fd), 'r');
	/* To our address: the other process does not see it; then to an unclaimed one, which it does see. */
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 64);
	end_send(&from, &f);
	end_receive(&to, &got);
	assert_memory_equal(got.data, f.data, f.len);
	memcpy(f.data, nobodys_mac, sizeof(nobodys_mac));
	end_send(&from, &f);
	assert_int_equal(hear(fd), nobodys_mac[5]);
	/* Without the rule the address is unclaimed. */
	assert_int_equal(ibv_destroy_flow(to.flow), 0);
	to.flow = NULL;
	memcpy(f.data, ends_mac, sizeof(ends_mac));
	end_send(&from, &f);
	assert_int_equal(hear(fd), ends_mac[5]);
	assert_int_equal(waitpid(taker, &status, 0), taker);
	assert_int_equal(status, 0);
	close(fd);
	end_close(&from);
	end_close(&to);
}

static void a_default_rule_takes_no_frames_to_addresses_of_other_processes(void **state)
{
	run("mlx5_0", "mlx5_1");
}

static void neither_does_a_default_rule_of_connectx_3(void **state)
{
	run("mlx4_0", "mlx4_1");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_default_rule_takes_no_frames_to_addresses_of_other_processes),
		cmocka_unit_test(neither_does_a_default_rule_of_connectx_3),
	};

	if (argc > 1)
		return take_two(argv[1]);
	program = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
