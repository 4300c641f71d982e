/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send entries as the driver writes them, read back as the adapter reads them: every opcode, inline
 * data of every length, and what is refused.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/mr.h"
#include "mlx4/av.h"
#include "mlx4/encode.h"
#include "mlx4/format.h"
#include "util/explain.h"

#define SLOTS 4u

struct fixture {
	_Alignas(4096) uint8_t ring[SLOTS * 1024];
	struct hca_adapter adapter;
	struct hca_ctx ctx;
	struct hca_qp hca;
	struct mlx4_qp qp;
	struct hca_send send;
	uint8_t data[1024];
};

/* A QP of slots of 2^shift bytes, with the capacities that such slots have. */
static struct fixture *make(enum hca_qp_type type, uint8_t shift)
{
	struct fixture *f = aligned_alloc(4096, (sizeof(*f) + 4095) & ~4095ul);
	uint32_t room = 1u << shift;

	memset(f, 0, sizeof(*f));
	f->adapter.port_count = 1;
	f->ctx.adapter = &f->adapter;
	f->hca.ctx = &f->ctx;
	f->hca.type = type;
	f->hca.sq = (struct hca_sq_ring){ .buf = f->ring, .size = SLOTS, .slot_shift = shift };
	f->qp.base.type = type;
	f->qp.base.qpn = f->hca.qpn = 0x42;
	room = (room > 1008 ? 1008 : room) - 16 - (type == HCA_QP_UD ? 48 : 16);
	f->qp.sq = (struct mlx4_sq){ .buf = f->ring,
				     .mask = SLOTS - 1,
				     .shift = shift,
				     .max_post = SLOTS,
				     .max_sge = room / 16,
				     .max_inline = room - (room + 63) / 64 * 4 };
	mlx4_sq_stamp(&f->qp.sq);
	memset(&f->send, 0xa5, sizeof(f->send));
	for (size_t i = 0; i < sizeof(f->data); i++)
		f->data[i] = (uint8_t)(i * 7 + 1);
	return f;
}

/* Encodes, hands over and decodes, as posting does. */
static int roundtrip(struct fixture *f, const struct ibv_send_wr *wr)
{
	uint32_t head = f->qp.sq.head, first;
	struct mlx4_wqe_ctrl_seg *ctrl;
	int err;

	assert_false(mlx4_format.sq_ready(&f->hca.sq, head, 0));
	err = mlx4_sq_encode(&f->qp, wr, &first);
	assert_false(mlx4_format.sq_ready(&f->hca.sq, head, 0));
	if (err)
		return err;
	ctrl = (void *)(f->ring + ((head & f->qp.sq.mask) << f->qp.sq.shift));
	ctrl->owner_opcode = htobe32(first | (head & SLOTS ? MLX4_OWNER : 0));
	assert_true(mlx4_format.sq_ready(&f->hca.sq, head, 0));
	mlx4_format.sq_decode(&f->hca, head, &f->send);
	assert_int_equal(f->send.counter, head & 0xffff);
	f->qp.sq.head++;
	return 0;
}

static void every_opcode_of_a_connection_comes_back(void **state)
{
	static const struct {
		enum ibv_wr_opcode wr;
		enum hca_op op;
	} all[] = {
		{ IBV_WR_SEND, HCA_OP_SEND },
		{ IBV_WR_SEND_WITH_IMM, HCA_OP_SEND_IMM },
		{ IBV_WR_SEND_WITH_INV, HCA_OP_SEND_INV },
		{ IBV_WR_RDMA_WRITE, HCA_OP_WRITE },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, HCA_OP_WRITE_IMM },
		{ IBV_WR_RDMA_READ, HCA_OP_READ },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, HCA_OP_CMP_SWAP },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, HCA_OP_FETCH_ADD },
		{ IBV_WR_LOCAL_INV, HCA_OP_LOCAL_INV },
	};
	struct fixture *f = make(HCA_QP_RC, 7);
	struct ibv_sge sge[2] = { { 0x1000, 8, 5 }, { 0x2000, 9, 6 } };

	/* several laps of the ring */
	for (size_t n = 0; n < 5 * array_size(all); n++) {
		size_t i = n % array_size(all);
		struct ibv_send_wr wr = { .opcode = all[i].wr, .sg_list = sge, .num_sge = 2 };
		bool atomic = all[i].op == HCA_OP_CMP_SWAP || all[i].op == HCA_OP_FETCH_ADD;

		if (atomic) {
			wr.wr.atomic.remote_addr = 0x8877665544332211;
			wr.wr.atomic.rkey = 0x1234;
			wr.wr.atomic.compare_add = 0x1122334455667788;
			wr.wr.atomic.swap = 0x99;
		} else {
			wr.wr.rdma.remote_addr = 0x8877665544332211;
			wr.wr.rdma.rkey = 0x1234;
		}
		wr.imm_data = 0xaabbccdd; /* or the key to invalidate */
		assert_int_equal(roundtrip(f, &wr), 0);
		assert_false(f->send.bad);
		assert_int_equal(f->send.op, all[i].op);
		if (all[i].op == HCA_OP_LOCAL_INV || all[i].op == HCA_OP_SEND_INV ||
		    all[i].op == HCA_OP_SEND_IMM || all[i].op == HCA_OP_WRITE_IMM)
			assert_int_equal(f->send.imm, 0xaabbccdd);
		if (all[i].op == HCA_OP_LOCAL_INV)
			continue;
		assert_int_equal(f->send.sge_count, 2);
		assert_int_equal(f->send.length, 17);
		assert_int_equal(f->send.sge[1].addr, 0x2000);
		assert_int_equal(f->send.sge[1].key, 6);
		if (all[i].op == HCA_OP_SEND || all[i].op == HCA_OP_SEND_IMM ||
		    all[i].op == HCA_OP_SEND_INV)
			continue;
		assert_int_equal(f->send.raddr, 0x8877665544332211);
		assert_int_equal(f->send.rkey, 0x1234);
		if (atomic)
			assert_int_equal(f->send.compare, 0x1122334455667788);
		if (all[i].op == HCA_OP_CMP_SWAP)
			assert_int_equal(f->send.swap, 0x99);
	}
	free(f);
}

static void flags_come_back_one_by_one(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 6);

	for (unsigned int bits = 0; bits < 8; bits++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

		wr.send_flags = (bits & 1 ? IBV_SEND_SIGNALED : 0) |
				(bits & 2 ? IBV_SEND_SOLICITED : 0) |
				(bits & 4 ? IBV_SEND_FENCE : 0);
		assert_int_equal(roundtrip(f, &wr), 0);
		assert_int_equal(f->send.signaled, bits & 1);
		assert_int_equal(f->send.solicited, bits >> 1 & 1);
		assert_int_equal(f->send.fence, bits >> 2);
	}
	f->qp.sq.signal_bits = MLX4_WQE_CTRL_CQ_UPDATE;
	assert_int_equal(roundtrip(f, &(struct ibv_send_wr){ .opcode = IBV_WR_SEND }), 0);
	assert_true(f->send.signaled);
	free(f);
}

static void binds_come_back(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 6);
	struct ibv_mw mw = { .type = IBV_MW_TYPE_2 };
	struct ibv_mr mr = { .lkey = 0x77 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };

	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = 0x505;
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){ .mr = &mr,
					   .addr = 0x12000,
					   .length = 1ull << 33,
					   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
							      IBV_ACCESS_ZERO_BASED };
	assert_int_equal(roundtrip(f, &wr), 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.op, HCA_OP_BIND_MW);
	assert_int_equal(f->send.bind.new_key, 0x505);
	assert_int_equal(f->send.bind.mr_key, 0x77);
	assert_int_equal(f->send.bind.addr, 0x12000);
	assert_int_equal(f->send.bind.len, 1ull << 33);
	assert_true(f->send.bind.type2);
	assert_int_equal(f->send.bind.access, HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_ZERO_BASED);

	/* taking a window off needs no region */
	mw.type = IBV_MW_TYPE_1;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ 0 };
	assert_int_equal(roundtrip(f, &wr), 0);
	assert_int_equal(f->send.bind.len, 0);
	assert_false(f->send.bind.type2);
	free(f);
}

static void datagrams_take_their_path_from_the_handle(void **state)
{
	struct fixture *f = make(HCA_QP_UD, 7);
	const struct hca_av av = { .dlid = 0x1234, .sl = 3, .port = 1 };
	struct vb_ah ah = { 0 };
	struct ibv_sge sge = { 0x1000, 8, 5 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .sg_list = &sge, .num_sge = 1 };

	mlx4_av_encode(&av, 9, false, (void *)ah.driver);
	wr.imm_data = 0x01020304;
	wr.wr.ud.ah = &ah.ah;
	wr.wr.ud.remote_qpn = 0xabcdef;
	wr.wr.ud.remote_qkey = 0x11223344;
	assert_int_equal(roundtrip(f, &wr), 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.op, HCA_OP_SEND_IMM);
	assert_int_equal(f->send.imm, 0x01020304);
	assert_int_equal(f->send.av.dlid, 0x1234);
	assert_int_equal(f->send.av.sl, 3);
	assert_int_equal(f->send.dqpn, 0xabcdef);
	assert_int_equal(f->send.qkey, 0x11223344);
	assert_int_equal(f->send.length, 8);
	free(f);
}

static void xrc_sends_name_their_receive_queue(void **state)
{
	struct fixture *f = make(HCA_QP_XRC_SEND, 6);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };

	wr.qp_type.xrc.remote_srqn = 0xbeef;
	assert_int_equal(roundtrip(f, &wr), 0);
	assert_int_equal(f->send.xrc_srqn, 0xbeef);
	assert_true(f->send.signaled);
	free(f);
}

static void assert_inline(struct fixture *f, uint32_t len)
{
	uint32_t at = 0;

	assert_false(f->send.bad);
	assert_int_equal(f->send.length, len);
	for (int i = 0; i < f->send.sge_count; i++) {
		const struct hca_sge *sge = &f->send.sge[i];
		uintptr_t start = sge->addr - 4, end = sge->addr + sge->len;

		assert_int_equal(sge->key, HCA_KEY_INLINE);
		/* a chunk with its head stays between two multiples of 64 */
		assert_int_equal(start / 64, (end - 1) / 64);
		assert_memory_equal((void *)(uintptr_t)sge->addr, f->data + at, sge->len);
		at += sge->len;
	}
	assert_int_equal(at, len);
}

/* Every length that a QP of this type and slot has, in 1, 2 and 5 pieces of different lengths. */
static void try_inline(enum hca_qp_type type, uint8_t shift, enum ibv_wr_opcode opcode)
{
	struct fixture *f = make(type, shift);
	struct vb_ah ah = { 0 };

	for (uint32_t len = 0; len <= f->qp.sq.max_inline; len++) {
		for (uint32_t pieces = 1; pieces <= 5; pieces += pieces) {
			struct ibv_sge sge[5];
			struct ibv_send_wr wr = { .opcode = opcode,
						  .sg_list = sge,
						  .num_sge = pieces,
						  .send_flags = IBV_SEND_INLINE };

			if (pieces > f->qp.sq.max_sge)
				break;
			for (uint32_t i = 0, at = 0; i < pieces; i++) {
				uint32_t n = i + 1 == pieces ? len - at : (len - at) / (i + 2);

				sge[i] = (struct ibv_sge){ (uintptr_t)f->data + at, n, 0 };
				at += n;
			}
			if (type == HCA_QP_UD)
				wr.wr.ud.ah = &ah.ah;
			assert_int_equal(roundtrip(f, &wr), 0);
			assert_inline(f, len);
		}
	}
	free(f);
}

static void inline_data_of_every_length_stays_between_boundaries(void **state)
{
	for (uint8_t shift = 6; shift <= 10; shift++) {
		try_inline(HCA_QP_RC, shift, IBV_WR_SEND);
		try_inline(HCA_QP_UC, shift, IBV_WR_RDMA_WRITE);
		if (shift > 6)
			try_inline(HCA_QP_UD, shift, IBV_WR_SEND);
	}
}

static void elements_of_length_zero_are_nothing(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 7);
	struct ibv_sge sge[3] = { { 0x1000, 0, 1 }, { 0x2000, 5, 2 }, { 0x3000, 0, 3 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .sg_list = sge, .num_sge = 3 };

	assert_int_equal(roundtrip(f, &wr), 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.sge_count, 1);
	assert_int_equal(f->send.length, 5);
	free(f);
}

static void an_element_may_have_two_gibibytes(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 6);
	struct ibv_sge sge = { 0x1000, 1u << 31, 1 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	assert_int_equal(roundtrip(f, &wr), 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.length, 1ull << 31);
	free(f);
}

static void the_most_elements_fit(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 10);
	struct ibv_sge sge[61];
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = sge, .num_sge = 61 };

	for (int i = 0; i < 61; i++)
		sge[i] = (struct ibv_sge){ 0x1000 + i, i + 1, i };
	assert_int_equal(f->qp.sq.max_sge, 61);
	assert_int_equal(roundtrip(f, &wr), 0);
	assert_false(f->send.bad);
	assert_int_equal(f->send.sge_count, 61);
	assert_int_equal(f->send.sge[60].len, 61);
	free(f);
}

static void assert_refused(struct fixture *f, struct ibv_send_wr *wr, int err, const char *word)
{
	assert_int_equal(roundtrip(f, wr), -err);
	assert_non_null(strstr(explain_last(), word));
}

static void requests_that_cannot_be_written_are_refused(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 7), *ud = make(HCA_QP_UD, 7);
	struct ibv_sge sge[8] = { { (uintptr_t)f->data, 60, 0 }, { (uintptr_t)f->data, 60, 0 } };
	struct ibv_send_wr wr = { .sg_list = sge };
	struct vb_ah ah = { 0 };

	wr.opcode = IBV_WR_TSO;
	assert_refused(f, &wr, EINVAL, "opcode");
	wr.opcode = (enum ibv_wr_opcode) - 1;
	assert_refused(f, &wr, EINVAL, "opcode");
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = f->qp.sq.max_sge + 1;
	assert_refused(f, &wr, ENOMEM, "elements");
	wr.num_sge = -1;
	assert_refused(f, &wr, ENOMEM, "elements");
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_INLINE;
	assert_refused(f, &wr, ENOMEM, "inline");
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_IP_CSUM;
	wr.wr.ud.ah = &ah.ah;
	assert_refused(ud, &wr, EINVAL, "CSUM");
	wr.send_flags = 0;
	sge[0].length = (1u << 31) + 1;
	assert_refused(f, &wr, EINVAL, "longer");
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.num_sge = 6;
	assert_refused(f, &wr, ENOMEM, "atomic");
	free(f);
	free(ud);
}

/* libmlx4 writes an entry for them, and the adapter completes it with an error. */
static void requests_that_the_adapter_refuses_are_written(void **state)
{
	static const enum ibv_wr_opcode for_connections[] = {
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_SEND_WITH_INV,
		IBV_WR_LOCAL_INV,
		IBV_WR_BIND_MW,
	};
	static const enum ibv_wr_opcode answered[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						       IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct fixture *f = make(HCA_QP_RC, 7), *ud = make(HCA_QP_UD, 7);
	struct ibv_sge sge = { (uintptr_t)f->data, 60, 0 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 };
	struct vb_ah ah = { 0 };

	wr.wr.ud.ah = &ah.ah;
	for (size_t i = 0; i < array_size(for_connections); i++) {
		wr.opcode = for_connections[i];
		assert_int_equal(roundtrip(ud, &wr), 0);
		assert_true(ud->send.bad);
		assert_int_equal(ud->send.bad_status, HCA_LOC_QP_OP_ERR);
	}
	wr.send_flags = IBV_SEND_INLINE;
	for (size_t i = 0; i < array_size(answered); i++) {
		wr.opcode = answered[i];
		assert_int_equal(roundtrip(f, &wr), 0);
		assert_true(f->send.bad);
		assert_int_equal(f->send.bad_status, HCA_LOC_QP_OP_ERR);
	}
	free(f);
	free(ud);
}

/* Programs that write their own entries leave the destination out; then it stays on the wire. */
static void a_frame_may_come_back_when_its_destination_is_told(void **state)
{
	struct fixture *f = make(HCA_QP_RAW, 7);
	struct ibv_sge sge = { (uintptr_t)f->data, 64, 5 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)f->ring;

	assert_int_equal(roundtrip(f, &wr), 0);
	assert_int_equal(f->send.wire_only, false);
	assert_memory_equal(&ctrl->srcrb_flags, f->data, 2);
	assert_memory_equal(&ctrl->imm, f->data + 2, 4);
	ctrl->srcrb_flags16[0] = 0;
	ctrl->imm = 0;
	mlx4_format.sq_decode(&f->hca, 0, &f->send);
	assert_int_equal(f->send.wire_only, true);
	ctrl->srcrb_flags |= htobe32(MLX4_FORCE_LOOPBACK);
	mlx4_format.sq_decode(&f->hca, 0, &f->send);
	assert_int_equal(f->send.wire_only, false);
	free(f);
}

static void free_slots_are_stamped(void **state)
{
	struct fixture *f = make(HCA_QP_RC, 8);

	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct mlx4_wqe_ctrl_seg *ctrl = (void *)(f->ring + (i << 8));

		assert_int_equal(be32toh(ctrl->owner_opcode) & MLX4_OWNER, MLX4_OWNER);
		assert_int_equal(ctrl->fence_size, 16);
		for (int at = 64; at < 256; at += 64)
			assert_int_equal(*(uint32_t *)(f->ring + (i << 8) + at), 0xffffffff);
	}
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_opcode_of_a_connection_comes_back),
		cmocka_unit_test(flags_come_back_one_by_one),
		cmocka_unit_test(binds_come_back),
		cmocka_unit_test(datagrams_take_their_path_from_the_handle),
		cmocka_unit_test(xrc_sends_name_their_receive_queue),
		cmocka_unit_test(inline_data_of_every_length_stays_between_boundaries),
		cmocka_unit_test(elements_of_length_zero_are_nothing),
		cmocka_unit_test(an_element_may_have_two_gibibytes),
		cmocka_unit_test(the_most_elements_fit),
		cmocka_unit_test(requests_that_cannot_be_written_are_refused),
		cmocka_unit_test(requests_that_the_adapter_refuses_are_written),
		cmocka_unit_test(a_frame_may_come_back_when_its_destination_is_told),
		cmocka_unit_test(free_slots_are_stamped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
