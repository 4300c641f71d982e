/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ConnectX-6's send ring, written by hand: tags that the adapter puts in, which verbs do not offer
 * but drivers of programs' own use.
 */
#include "ends.h"

#include <endian.h>
#include <infiniband/mlx5dv.h>
#include <sys/wait.h>

#include "own_process.h"

#define INSERT_VLAN 0x8000u
#define EMPW        0x29u /* enhanced multi-packet send */

struct ring {
	struct mlx5dv_qp qp;
	uint16_t next; /* free running, in blocks */
};

static void ring_open(struct ring *r, struct end *e)
{
	struct mlx5dv_obj obj = { .qp = { e->qp, &r->qp } };

	memset(r, 0, sizeof(*r));
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
}

/* A frame of the end's memory. `insert` is the word that says what stands in the segment's end. */
static void ring_post(struct ring *r, struct end *e, const void *at, uint32_t len, uint16_t insert,
		      uint16_t tag)
{
	uint8_t *block = (uint8_t *)r->qp.sq.buf + (r->next & (r->qp.sq.wqe_cnt - 1)) * 64;
	struct mlx5_wqe_eth_seg *eth = (void *)(block + 16);

	mlx5dv_set_ctrl_seg((void *)block, r->next, MLX5_OPCODE_SEND, 0, e->qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	memset(eth, 0, 16);
	eth->cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
	eth->inline_hdr_sz = htobe16(insert);
	eth->inline_hdr_start[0] = tag >> 8;
	eth->inline_hdr_start[1] = tag & 0xff;
	mlx5dv_set_data_seg((void *)(block + 32), len, e->mr->lkey, (uintptr_t)at);
	r->next++;
	__atomic_store_n(&r->qp.dbrec[MLX5_SND_DBR], htobe32(r->next), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)r->qp.bf.reg, *(uint64_t *)block, __ATOMIC_RELEASE);
}

/* Four frames in one entry, by address and inline in turn; sizes tell them apart. */
static void ring_post_four(struct ring *r, struct end *e, const uint8_t *at, uint32_t len)
{
	uint32_t mask = r->qp.sq.wqe_cnt - 1, bytes = 32, first = r->next & mask;
	uint8_t wqe[1024] = { 0 }, *ring = r->qp.sq.buf;
	struct mlx5_wqe_eth_seg *eth = (void *)(wqe + 16);

	eth->cs_flags = MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t header = htobe32((len - i) | MLX5_INLINE_SEG);

		if (i % 2 == 0) {
			mlx5dv_set_data_seg((void *)(wqe + bytes), len - i, e->mr->lkey,
					    (uintptr_t)at);
			bytes += 16;
			continue;
		}
		memcpy(wqe + bytes, &header, 4);
		memcpy(wqe + bytes + 4, at, len - i);
		bytes += (4 + len - i + 15) & ~15u;
	}
	mlx5dv_set_ctrl_seg((void *)wqe, r->next, EMPW, 0, e->qp->qp_num, MLX5_WQE_CTRL_CQ_UPDATE,
			    bytes / 16, 0, 0);
	for (uint32_t i = 0; i < bytes; i += 64)
		memcpy(ring + 64 * (size_t)((first + i / 64) & mask), wqe + i, 64);
	r->next += (bytes + 63) / 64;
	__atomic_store_n(&r->qp.dbrec[MLX5_SND_DBR], htobe32(r->next), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)r->qp.bf.reg, *(uint64_t *)wqe, __ATOMIC_RELEASE);
}

static void an_entry_may_hold_several_frames(void **state)
{
	struct mlx5dv_context out = { 0 };
	static struct frame f, got;
	struct end from, to;
	struct ring r;
	uint8_t *data;

	end_receiver(&to, "mlx5_1", 0);
	end_sender(&from, "mlx5_0", 0);
	assert_int_equal(mlx5dv_query_device(from.context, &out), 0);
	assert_true(out.flags & MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW);
	ring_open(&r, &from);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 150);
	memcpy(data, f.data, f.len);
	/* around the end of the ring, also in the middle of a frame */
	for (uint32_t i = 0; i < 3 * r.qp.sq.wqe_cnt; i++) {
		ring_post_four(&r, &from, data, f.len);
		assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
		for (uint32_t k = 0; k < 4; k++) {
			end_receive(&to, &got);
			assert_int_equal(got.len, f.len - k);
			assert_memory_equal(got.data + 42, f.data + 42, f.len - k - 42);
		}
	}
	end_close(&from);
	end_close(&to);
}

static void a_connectx_4_has_one_frame_in_an_entry(void **state)
{
	struct mlx5dv_context out = { 0 };
	struct end from;
	struct ring r;

	end_sender(&from, "mlx5_3", 0);
	assert_int_equal(mlx5dv_query_device(from.context, &out), 0);
	assert_false(out.flags & MLX5DV_CONTEXT_FLAGS_ENHANCED_MPW);
	ring_open(&r, &from);
	ring_post_four(&r, &from, from.memory, 150);
	assert_int_equal(end_poll(from.cq).status, IBV_WC_LOC_QP_OP_ERR);
	end_close(&from);
}

/* The op_own of an entry that has come, which nobody has polled yet. */
static uint8_t wait_for_entry(const struct mlx5dv_cq *cq, uint32_t index)
{
	const uint8_t *entry = (uint8_t *)cq->buf + (index & (cq->cqe_cnt - 1)) * cq->cqe_size;
	const uint8_t *at = entry + cq->cqe_size - 1;
	time_t deadline = end_deadline();
	uint8_t op_own;

	for (;;) {
		op_own = __atomic_load_n(at, __ATOMIC_ACQUIRE);
		if (op_own >> 4 != MLX5_CQE_INVALID && (op_own & 1) == !!(index & cq->cqe_cnt))
			return op_own;
		assert_true(time(NULL) < deadline);
	}
}

/* Another process, whose frames arrive together: sends four for each byte of its input. */
static _Noreturn void be_sender(const char *device)
{
	static struct frame f;
	struct end from;
	struct ring r;
	uint8_t *data;
	char byte;

	end_sender(&from, device, 0);
	ring_open(&r, &from);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 150);
	memcpy(data, f.data, f.len);
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		ring_post_four(&r, &from, data, f.len);
		end_poll(from.cq);
	}
	end_close(&from);
	exit(0);
}

/* Frames that come together share an entry in the ring, and are told one by one by ibv_poll_cq(). */
static void completions_of_frames_are_compressed_if_the_cq_permits(uint8_t cqe_size)
{
	struct mlx5dv_cq_init_attr extra = {
		.comp_mask =
			MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE | MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE,
		.cqe_comp_res_format = MLX5DV_CQE_RES_FORMAT_HASH,
		.cqe_size = cqe_size,
	};
	struct ibv_cq_init_attr_ex attr = { .cqe = 15 };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_obj obj = { .cq = { .out = &cq } };
	int sender, status, first_len = 0;
	static struct frame got;
	uint32_t titles = 0;
	struct end to;
	pid_t pid;

	end_open(&to, "mlx5_1");
	assert_int_equal(ibv_destroy_cq(to.cq), 0);
	to.cq = ibv_cq_ex_to_cq(mlx5dv_create_cq(to.context, &attr, &extra));
	assert_non_null(to.cq);
	obj.cq.in = to.cq;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	end_create_qp(&to, 0, 0);
	end_post_all(&to);
	to.flow = end_rule(to.qp, ends_mac);
	pid = own_process("/proc/self/exe", "mlx5_0", STDIN_FILENO, &sender);
	for (uint32_t i = 0; i < 4 * 100; i += 4) {
		assert_int_equal(write(sender, "", 1), 1);
		titles += (wait_for_entry(&cq, i) >> 2 & 3) == 3;
		for (int k = 0; k < 4; k++) {
			end_receive(&to, &got);
			if (!first_len)
				first_len = (int)got.len;
			assert_int_equal(got.len, first_len - k);
		}
	}
	assert_true(titles);
	close(sender);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end_close(&to);
}

static void completions_of_frames_share_an_entry_of_64_bytes(void **state)
{
	completions_of_frames_are_compressed_if_the_cq_permits(64);
}

static void completions_of_frames_share_an_entry_of_128_bytes(void **state)
{
	completions_of_frames_are_compressed_if_the_cq_permits(128);
}

static void a_vlan_tag_is_inserted_behind_the_addresses(void **state)
{
	static struct frame f, got;
	struct end from, to;
	struct ring r;
	uint8_t *data;

	end_receiver(&to, "mlx5_1", 0);
	end_sender(&from, "mlx5_0", 0);
	ring_open(&r, &from);
	data = from.memory + END_DEPTH * END_BUFFER;
	frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, 2, 100);
	memcpy(data, f.data, f.len);
	for (uint32_t i = 0; i < 3 * r.qp.sq.wqe_cnt; i++) {
		uint16_t tag = i % 4096 | (i % 8) << 13;
		bool tagged = i & 1;
		uint32_t more = tagged ? 4 : 0;
		struct ibv_wc wc;

		ring_post(&r, &from, data, f.len, tagged ? INSERT_VLAN : 0, tag);
		assert_int_equal(end_poll(from.cq).status, IBV_WC_SUCCESS);
		wc = end_receive(&to, &got);
		assert_int_equal(got.len, f.len + more);
		assert_true(wc.wc_flags & IBV_WC_IP_CSUM_OK);
		assert_memory_equal(got.data, f.data, 12);
		if (tagged) {
			assert_int_equal(got.data[12] << 8 | got.data[13], 0x8100);
			assert_int_equal(got.data[14] << 8 | got.data[15], tag);
		}
		assert_memory_equal(got.data + 12 + more, f.data + 12, 2);
		/* Addresses and ports; sums were computed on the way. */
		assert_memory_equal(got.data + 26 + more, f.data + 26, 12);
		assert_memory_equal(got.data + 42 + more, f.data + 42, f.len - 42);
	}
	end_close(&from);
	end_close(&to);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vlan_tag_is_inserted_behind_the_addresses),
		cmocka_unit_test(an_entry_may_hold_several_frames),
		cmocka_unit_test(a_connectx_4_has_one_frame_in_an_entry),
		cmocka_unit_test(completions_of_frames_share_an_entry_of_64_bytes),
		cmocka_unit_test(completions_of_frames_share_an_entry_of_128_bytes),
	};

	if (argc > 1)
		be_sender(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
