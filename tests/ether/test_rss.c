/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ten thousand random frames from another process: each lands once, on the queue that the hash
 * says, through a table that names queues more than once.
 */
#include "ends.h"
#include "own_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUEUES  4u
#define ENTRIES 8u
#define FRAMES  10000u
#define DEPTH   256u
#define SIZE    256u
#define CREDIT  128u

static uint8_t key[40];
static const uint8_t spread[ENTRIES] = { 0, 1, 2, 3, 0, 0, 2, 1 };

static uint32_t toeplitz(const uint8_t *input, size_t len)
{
	uint32_t hash = 0, window = (uint32_t)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];

	for (size_t bit = 0; bit < 8 * len; bit++) {
		size_t next = bit + 32;

		if (input[bit / 8] & 0x80 >> bit % 8)
			hash ^= window;
		window = window << 1 | (key[next / 8] >> (7 - next % 8) & 1);
	}
	return hash;
}

/* Frame number i, the same in both processes. Its number is its payload. */
static uint32_t make(uint32_t i, struct frame *f)
{
	char src[32], dst[32];
	uint32_t r = i * 2654435761u;

	snprintf(src, sizeof(src), "10.%u.%u.%u", r >> 24, r >> 16 & 0xff, r >> 8 & 0xff);
	snprintf(dst, sizeof(dst), "11.%u.%u.%u", r & 0xff, i & 0xff, i >> 8 & 0xff);
	frame_ip(f, src, dst, i % 7 ? FRAME_UDP : FRAME_TCP, (uint16_t)(r >> 3),
		 (uint16_t)(r >> 11), 4 + i % 64);
	memcpy(f->data + f->len - 4, &i, 4);
	return i;
}

/* As the program that receives would predict it: addresses, and ports where they are UDP's. */
static unsigned int predict(const struct frame *f, bool tcp_ports)
{
	uint8_t input[12];
	bool udp = f->data[14 + 9] == FRAME_UDP;

	memcpy(input, f->data + 14 + 12, 8);
	memcpy(input + 8, f->data + 14 + 20, 4);
	return spread[toeplitz(input, udp || tcp_ports ? 12 : 8) % ENTRIES];
}

static int send_all(const char *device)
{
	static struct frame f;
	struct end from;
	char go;

	end_sender(&from, device, 0);
	for (uint32_t i = 0; i < FRAMES; i++) {
		/* As many as the receiver has room for, should all of them meet on one queue. */
		if (i % CREDIT == 0 && read(STDIN_FILENO, &go, 1) != 1)
			return 1;
		make(i, &f);
		end_send(&from, &f);
	}
	end_close(&from);
	return 0;
}

struct queues {
	struct ibv_wq *wq[QUEUES];
	struct ibv_rwq_ind_table *table;
	uint8_t *memory;
	struct ibv_mr *mr;
};

static void post(struct queues *q, unsigned int queue, uint32_t slot)
{
	uint64_t id = queue * DEPTH + slot;
	struct ibv_sge sge = { (uintptr_t)(q->memory + id * SIZE), SIZE, q->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_wq_recv(q->wq[queue], &wr, &bad), 0);
}

static void make_queues(struct end *to, struct queues *q)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 3 };
	struct ibv_wq *entries[ENTRIES];

	q->memory = calloc(QUEUES * DEPTH, SIZE);
	q->mr = ibv_reg_mr(to->pd, q->memory, QUEUES * DEPTH * SIZE, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(q->mr);
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct ibv_wq_init_attr attr = {
			.max_wr = DEPTH, .max_sge = 1, .pd = to->pd, .cq = to->cq
		};

		q->wq[i] = ibv_create_wq(to->context, &attr);
		assert_non_null(q->wq[i]);
		assert_int_equal(ibv_modify_wq(q->wq[i], &ready), 0);
		for (uint32_t slot = 0; slot < DEPTH; slot++)
			post(q, i, slot);
	}
	for (unsigned int i = 0; i < ENTRIES; i++)
		entries[i] = q->wq[spread[i]];
	table.ind_tbl = entries;
	q->table = ibv_create_rwq_ind_table(to->context, &table);
	assert_non_null(q->table);
}

static void free_queues(struct queues *q)
{
	assert_int_equal(ibv_destroy_rwq_ind_table(q->table), 0);
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_int_equal(ibv_destroy_wq(q->wq[i]), 0);
	assert_int_equal(ibv_dereg_mr(q->mr), 0);
	free(q->memory);
}

static void receive_all(struct end *to, struct queues *q, bool tcp_ports, int go)
{
	static uint8_t seen[FRAMES];
	unsigned int count[QUEUES] = { 0 };
	time_t deadline = time(NULL) + 60;
	static struct frame f;

	memset(seen, 0, sizeof(seen));
	for (uint32_t got = 0; got < FRAMES;) {
		struct ibv_wc wc[16];
		int n = ibv_poll_cq(to->cq, 16, wc);

		assert_true(n >= 0);
		assert_true(time(NULL) < deadline);
		for (int k = 0; k < n; k++, got++) {
			const uint8_t *data = q->memory + wc[k].wr_id * SIZE;
			unsigned int queue = wc[k].wr_id / DEPTH;
			uint32_t number;

			assert_int_equal(wc[k].status, IBV_WC_SUCCESS);
			memcpy(&number, data + wc[k].byte_len - 4, 4);
			assert_true(number < FRAMES);
			assert_int_equal(seen[number]++, 0);
			make(number, &f);
			assert_int_equal(wc[k].byte_len, f.len);
			assert_memory_equal(data, f.data, f.len);
			assert_int_equal(queue, predict(&f, tcp_ports));
			count[queue]++;
			post(q, queue, wc[k].wr_id % DEPTH);
			if (got % CREDIT == CREDIT - 1)
				(void)!write(go, "g", 1); /* it may be through */
		}
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_true(count[i] > FRAMES / 16);
}

static const char *program;

static void run(const char *from, const char *device, uint64_t fields, bool tcp_ports)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key, fields }
	};
	struct queues q;
	struct end to;
	int go, status;
	pid_t sender;

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(37 * i + 11);
	sender = own_process(program, from, STDIN_FILENO, &go);
	end_open(&to, device);
	make_queues(&to, &q);
	attr.pd = to.pd;
	attr.rwq_ind_tbl = q.table;
	to.qp = ibv_create_qp_ex(to.context, &attr);
	assert_non_null(to.qp);
	to.flow = end_rule(to.qp, ends_mac);
	assert_int_equal(write(go, "gg", 2), 2);
	receive_all(&to, &q, tcp_ports, go);
	assert_int_equal(waitpid(sender, &status, 0), sender);
	assert_int_equal(status, 0);
	close(go);
	assert_int_equal(ibv_destroy_flow(to.flow), 0);
	assert_int_equal(ibv_destroy_qp(to.qp), 0);
	to.flow = NULL;
	to.qp = NULL;
	free_queues(&q);
	end_close(&to);
}

#define IPV4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define UDPS (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)
#define TCPS (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)

static void each_random_frame_lands_once_on_the_predicted_queue(void **state)
{
	run("mlx5_1", "mlx5_0", IPV4 | UDPS, false);
}

static void frames_between_processes_on_one_port_land_on_the_predicted_queue(void **state)
{
	run("mlx5_0", "mlx5_0", IPV4 | UDPS, false);
}

static void connectx_3_hashes_ports_of_tcp_and_udp(void **state)
{
	run("mlx5_0", "mlx4_0", IPV4 | UDPS | TCPS, true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_random_frame_lands_once_on_the_predicted_queue),
		cmocka_unit_test(frames_between_processes_on_one_port_land_on_the_predicted_queue),
		cmocka_unit_test(connectx_3_hashes_ports_of_tcp_and_udp),
	};

	if (argc > 1)
		return send_all(argv[1]);
	program = argv[0];
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
