/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ConnectX-3's work queue by hand: receives are written into its ring, its doorbell record is
 * rung, and completions are read from the ring of its completion queue, with no call in between.
 */
#include "ends.h"

#include <endian.h>
#include <infiniband/mlx4dv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WANTED = 20, PIECES = 2, FIRST = 20, FRAMES = 200 };

struct receiver {
	struct end e; /* without a queue pair of its own */
	struct ibv_wq *wq;
	struct ibv_rwq_ind_table *table;
	struct ibv_qp *rss;
	struct ibv_flow *flow;
	struct mlx4dv_rwq ring;
	struct mlx4dv_cq cq;
	uint32_t head, ci;
};

static void open_receiver(struct receiver *r)
{
	static uint8_t key[40] = { 1 };
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ,
					 .max_wr = WANTED,
					 .max_sge = PIECES };
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table = { .ind_tbl = &r->wq };
	struct ibv_qp_init_attr_ex rss = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = sizeof(key),
				  .rx_hash_key = key,
				  .rx_hash_fields_mask =
					  IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 },
	};
	struct ibv_qp_attr up = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	memset(r, 0, sizeof(*r));
	end_open(&r->e, "mlx4_1");
	init.pd = rss.pd = r->e.pd;
	init.cq = r->e.cq;
	r->wq = ibv_create_wq(r->e.context, &init);
	assert_non_null(r->wq);
	r->table = ibv_create_rwq_ind_table(r->e.context, &table);
	assert_non_null(r->table);
	rss.rwq_ind_tbl = r->table;
	r->rss = ibv_create_qp_ex(r->e.context, &rss);
	assert_non_null(r->rss);
	assert_int_equal(ibv_modify_qp(r->rss, &up, IBV_QP_STATE | IBV_QP_PORT), 0);
	up.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(r->rss, &up, IBV_QP_STATE), 0);
	assert_int_equal(ibv_modify_wq(r->wq, &ready), 0);
	r->flow = end_rule(r->rss, ends_mac);
}

static void close_receiver(struct receiver *r)
{
	assert_int_equal(ibv_destroy_flow(r->flow), 0);
	assert_int_equal(ibv_destroy_qp(r->rss), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(r->table), 0);
	assert_int_equal(ibv_destroy_wq(r->wq), 0);
	end_close(&r->e);
}

/* Queue and completions in one call. */
static void init_rings(struct receiver *r)
{
	struct mlx4dv_obj obj = { .rwq = { r->wq, &r->ring }, .cq = { r->e.cq, &r->cq } };

	memset(&r->ring, 0xff, sizeof(r->ring));
	memset(&r->cq, 0, sizeof(r->cq));
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_RWQ | MLX4DV_OBJ_CQ), 0);
}

static void post_by_hand(struct receiver *r)
{
	uint32_t slot = r->head & (r->ring.rq.wqe_cnt - 1);
	struct mlx4_wqe_data_seg *seg = (void *)((char *)r->ring.buf.buf + r->ring.rq.offset +
						 ((size_t)slot << r->ring.rq.wqe_shift));
	uintptr_t to = (uintptr_t)r->e.memory + slot * (size_t)END_BUFFER;

	mlx4dv_set_data_seg(&seg[0], FIRST, r->e.mr->lkey, to);
	mlx4dv_set_data_seg(&seg[1], 4000, r->e.mr->lkey, to + 100);
	r->head++;
	__atomic_store_n(r->ring.rdb, htobe32(r->head & 0xffff), __ATOMIC_RELEASE);
}

static const struct mlx4_cqe *wait_by_hand(struct receiver *r)
{
	const struct mlx4_cqe *cqe =
		(void *)((char *)r->cq.buf.buf +
			 (size_t)(r->ci & (r->cq.cqe_cnt - 1)) * r->cq.cqe_size + r->cq.cqe_size -
			 32);
	time_t end = end_deadline();

	while (!!((uint8_t)be64toh(__atomic_load_n((uint64_t *)cqe + 3, __ATOMIC_ACQUIRE)) &
		  MLX4_CQE_OWNER_MASK) != !!(r->ci & r->cq.cqe_cnt))
		assert_true(time(NULL) < end);
	r->ci++;
	__atomic_store_n(r->cq.set_ci_db, htobe32(r->ci & 0xffffff), __ATOMIC_RELEASE);
	return cqe;
}

static void every_field_of_mlx4dv_rwq_is_right(void **state)
{
	struct receiver r;

	open_receiver(&r);
	init_rings(&r);
	assert_int_equal(r.ring.comp_mask, 0);
	assert_int_equal(r.ring.rq.wqe_cnt, 32);
	assert_int_equal(1u << r.ring.rq.wqe_shift, PIECES * sizeof(struct mlx4_wqe_data_seg));
	assert_true(r.ring.rq.offset >= 0);
	assert_true((size_t)r.ring.rq.offset + ((size_t)32 << r.ring.rq.wqe_shift) <=
		    r.ring.buf.length);
	assert_int_equal((uintptr_t)r.ring.buf.buf & 4095, 0);
	assert_int_equal(be32toh(*r.ring.rdb), 0);
	assert_int_equal(r.cq.cqe_cnt, 8192);
	assert_int_equal(r.cq.cqe_size, 64);
	close_receiver(&r);
}

static void frames_are_received_by_hand_over_many_laps(void **state)
{
	static struct frame f;
	struct receiver r;
	struct end from;

	open_receiver(&r);
	end_sender(&from, "mlx4_0", 0);
	init_rings(&r);
	for (uint32_t i = 0; i < 8; i++)
		post_by_hand(&r);
	for (uint32_t i = 0; i < FRAMES; i++) {
		const uint8_t *to = r.e.memory + (i & 31) * (size_t)END_BUFFER;
		const struct mlx4_cqe *cqe;

		frame_ip(&f, "10.0.0.1", "10.0.0.2", FRAME_UDP, 1, (uint16_t)i, 60 + i);
		end_send(&from, &f);
		cqe = wait_by_hand(&r);
		assert_int_equal(be32toh(cqe->byte_cnt), f.len);
		assert_int_equal(cqe->owner_sr_opcode & MLX4_CQE_IS_SEND_MASK, 0);
		assert_memory_equal(to, f.data, FIRST);
		assert_memory_equal(to + 100, f.data + FIRST, f.len - FIRST);
		post_by_hand(&r);
	}
	end_close(&from);
	close_receiver(&r);
}

static void unknown_objects_change_nothing(void **state)
{
	struct mlx4dv_rwq ring = { .comp_mask = 0x5a };
	struct mlx4dv_cq cq = { .cqn = 0x5a };
	struct mlx4dv_obj obj = { .rwq = { .out = &ring }, .cq = { .out = &cq } };
	struct receiver r;

	open_receiver(&r);
	obj.cq.in = r.e.cq;
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_RWQ | MLX4DV_OBJ_CQ), EINVAL);
	obj.rwq.in = r.wq;
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_RWQ | 1 << 5), EINVAL);
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_RWQ | MLX4DV_OBJ_QP), EINVAL);
	assert_int_equal(ring.comp_mask, 0x5a);
	assert_null(ring.buf.buf);
	assert_int_equal(cq.cqn, 0x5a);
	close_receiver(&r);
}

/* As DPDK's secondary processes do it. */
static void the_doorbell_page_can_be_mapped_where_it_is_said_to_be(void **state)
{
	struct mlx4dv_qp qp = { .comp_mask = MLX4DV_QP_MASK_UAR_MMAP_OFFSET };
	struct mlx4dv_obj obj = { .qp = { .out = &qp } };
	struct ibv_context *again;
	struct end from;
	volatile uint32_t *page;

	end_sender(&from, "mlx4_0", 0);
	obj.qp.in = from.qp;
	assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP), 0);
	page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, from.context->cmd_fd, qp.uar_mmap_offset);
	assert_ptr_not_equal(page, MAP_FAILED);
	page[MLX4_SEND_DOORBELL / 4] = qp.doorbell_qpn;
	munmap((void *)page, 4096);
	/* The descriptor still says what it is. */
	again = ibv_import_device(dup(from.context->cmd_fd));
	assert_non_null(again);
	assert_int_equal(ibv_close_device(again), 0);
	end_close(&from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_mlx4dv_rwq_is_right),
		cmocka_unit_test(frames_are_received_by_hand_over_many_laps),
		cmocka_unit_test(unknown_objects_change_nothing),
		cmocka_unit_test(the_doorbell_page_can_be_mapped_where_it_is_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
