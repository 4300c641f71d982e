/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream of frames from one process to another, in rows that at times are longer than what the
 * link between them holds. The receiver polls, and at times sleeps until there is an event. Nothing
 * is lost, duplicated or reordered, and no wake-up is lost.
 */
#include "ends.h"
#include "own_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 16384, ROW = 32, TURN = 1024 /* frames between polling and sleeping */ };

static uint32_t length_of(uint32_t number)
{
	return number / TURN % 4 == 3 ? 9000 : 64;
}

static void make(uint32_t number, uint8_t *data)
{
	memset(data, (int)number, length_of(number));
	memcpy(data, ends_mac, sizeof(ends_mac));
	memset(data + 6, 2, 6);
	data[12] = 0x88; /* an EtherType for experiments */
	data[13] = 0xb5;
	memcpy(data + 14, &number, sizeof(number));
}

static void send_row(struct end *e, uint32_t first)
{
	struct ibv_send_wr wr[ROW], *bad;
	struct ibv_sge sge[ROW];

	for (uint32_t i = 0; i < ROW; i++) {
		uint8_t *from = e->memory + i * END_BUFFER;

		make(first + i, from);
		sge[i] = (struct ibv_sge){ (uintptr_t)from, length_of(first + i), e->mr->lkey };
		wr[i] = (struct ibv_send_wr){ .sg_list = &sge[i],
					      .num_sge = 1,
					      .opcode = IBV_WR_SEND,
					      .next = i + 1 < ROW ? &wr[i + 1] : NULL,
					      .send_flags = i + 1 < ROW ? 0 : IBV_SEND_SIGNALED };
	}
	assert_int_equal(ibv_post_send(e->qp, wr, &bad), 0);
	assert_int_equal(end_poll(e->cq).status, IBV_WC_SUCCESS);
}

static int send_all(const char *device)
{
	struct end from;
	char go;

	end_sender(&from, device, 0);
	for (uint32_t i = 0; i < FRAMES; i += ROW) {
		if (read(STDIN_FILENO, &go, 1) != 1)
			return 1;
		send_row(&from, i);
	}
	end_close(&from);
	return 0;
}

static const char *program;

static void sleep_for_event(struct ibv_comp_channel *channel, struct ibv_cq *cq)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *whose;
	void *context;

	assert_int_equal(poll(&pfd, 1, 30000), 1);
	assert_int_equal(ibv_get_cq_event(channel, &whose, &context), 0);
	assert_ptr_equal(whose, cq);
	ibv_ack_cq_events(whose, 1);
}

static void receive_all(struct end *to, struct ibv_comp_channel *channel, int go)
{
	time_t deadline = time(NULL) + 90;
	static uint8_t want[END_BUFFER];
	bool armed = false;

	for (uint32_t got = 0; got < FRAMES;) {
		struct ibv_wc wc[8];
		int n = ibv_poll_cq(to->cq, 8, wc);

		assert_true(n >= 0);
		assert_true(time(NULL) < deadline);
		if (!n && got / TURN % 2) {
			if (armed)
				sleep_for_event(channel, to->cq);
			else
				assert_int_equal(ibv_req_notify_cq(to->cq, 0), 0);
			armed = !armed; /* what came before it was armed is polled for first */
		}
		for (int k = 0; k < n; k++, got++) {
			assert_int_equal(wc[k].status, IBV_WC_SUCCESS);
			assert_int_equal(wc[k].byte_len, length_of(got));
			make(got, want);
			assert_memory_equal(to->memory + wc[k].wr_id * END_BUFFER, want,
					    wc[k].byte_len);
			end_post(to, wc[k].wr_id);
			if (got % ROW == ROW - 1)
				(void)!write(go, "g", 1); /* it may be through */
		}
	}
}

static void run(const char *from, const char *device)
{
	struct ibv_comp_channel *channel;
	struct end to;
	int go, status;
	pid_t sender;

	sender = own_process(program, from, STDIN_FILENO, &go);
	end_open(&to, device);
	assert_int_equal(ibv_destroy_cq(to.cq), 0);
	channel = ibv_create_comp_channel(to.context);
	assert_non_null(channel);
	to.cq = ibv_create_cq(to.context, 2 * END_DEPTH, NULL, channel, 0);
	assert_non_null(to.cq);
	end_create_qp(&to, 0, 0);
	end_post_all(&to);
	to.flow = end_rule(to.qp, ends_mac);
	assert_int_equal(write(go, "gg", 2), 2);
	receive_all(&to, channel, go);
	assert_int_equal(waitpid(sender, &status, 0), sender);
	assert_int_equal(status, 0);
	close(go);
	assert_int_equal(ibv_destroy_flow(to.flow), 0);
	assert_int_equal(ibv_destroy_qp(to.qp), 0);
	to.flow = NULL;
	to.qp = NULL;
	assert_int_equal(ibv_destroy_cq(to.cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(channel), 0);
	to.cq = ibv_create_cq(to.context, 1, NULL, NULL, 0); /* for end_close() */
	assert_non_null(to.cq);
	end_close(&to);
}

static void a_stream_arrives_whole_and_in_order(void **state)
{
	run("mlx5_1", "mlx5_0");
}

static void a_stream_arrives_whole_and_in_order_on_connectx_3(void **state)
{
	run("mlx4_0", "mlx4_0");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_arrives_whole_and_in_order),
		cmocka_unit_test(a_stream_arrives_whole_and_in_order_on_connectx_3),
	};

	if (argc > 1)
		return send_all(argv[1]);
	program = argv[0];
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
