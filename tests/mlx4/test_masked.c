/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Masked atomics of 8 bytes, which no verb has: the entries are written into the ring by hand.
 */
#include "rig.h"

#include <endian.h>
#include <infiniband/mlx4dv.h>

#define TARGET    64 /* offset in the peer's buffer */
#define OWNER     (1u << 31)
#define NEIGHBOUR 0x5555555555555555

struct work4 {
	uint32_t opcode;
	uint64_t swap, compare, swap_mask, compare_mask;
};

struct ring {
	struct pair pair;
	struct mlx4dv_qp qp;
	uint32_t producer;
};

static struct ring ring_open(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct ring r = { 0 };
	struct mlx4dv_obj obj = { .qp = { .out = &r.qp } };

	o.send_wr = 4;
	o.send_sge = 8; /* slots of more than 64 bytes, as a compare and swap needs */
	r.pair = pair_open(&o);
	obj.qp.in = r.pair.a->qp;
	check_ok(mlx4dv_init_obj(&obj, MLX4DV_OBJ_QP));
	return r;
}

static void post_by_hand(struct ring *r, const struct work4 *w, uint32_t len)
{
	bool swaps = w->opcode == MLX4_OPCODE_MASKED_ATOMIC_CS;
	uint32_t slot = r->producer & (r->qp.sq.wqe_cnt - 1);
	struct mlx4_wqe_ctrl_seg *ctrl = (void *)((char *)r->qp.buf.buf + r->qp.sq.offset +
						  ((size_t)slot << r->qp.sq.wqe_shift));
	struct mlx4_wqe_raddr_seg *raddr = (void *)(ctrl + 1);
	struct mlx4_wqe_atomic_seg *seg = (void *)(raddr + 1);
	struct end *a = r->pair.a;

	raddr->raddr = htobe64(a->to.va + TARGET);
	raddr->rkey = htobe32(a->to.rkey);
	raddr->reserved = 0;
	seg->swap_add = htobe64(w->swap);
	seg->compare = htobe64(w->compare);
	seg++;
	if (swaps) {
		seg->swap_add = htobe64(w->swap_mask);
		seg->compare = htobe64(w->compare_mask);
		seg++;
	}
	mlx4dv_set_data_seg((void *)seg, len, a->mr->lkey, (uintptr_t)a->buf);
	ctrl->bf_qpn = htobe32(swaps ? 5 : 4);
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	ctrl->imm = 0;
	__atomic_store_n(&ctrl->owner_opcode,
			 htobe32(w->opcode | (r->producer & r->qp.sq.wqe_cnt ? OWNER : 0)),
			 __ATOMIC_RELEASE);
	r->producer++;
	__atomic_store_n(r->qp.sdb, r->qp.doorbell_qpn, __ATOMIC_RELEASE);
}

static struct ibv_wc wait_done(struct ring *r)
{
	struct ibv_wc wc;

	wait_for(ibv_poll_cq(r->pair.a->scq, 1, &wc) == 1);
	return wc;
}

/* What an operation makes of a value, bit by bit. */
static uint64_t model(const struct work4 *w, uint64_t old)
{
	unsigned int carry = 0;
	uint64_t sum = 0;

	if (w->opcode == MLX4_OPCODE_MASKED_ATOMIC_CS)
		return (old ^ w->compare) & w->compare_mask
			       ? old
			       : (old & ~w->swap_mask) | (w->swap & w->swap_mask);
	for (int i = 0; i < 64; i++) {
		unsigned int n = (old >> i & 1) + (w->swap >> i & 1) + carry;

		sum |= (uint64_t)(n & 1) << i;
		carry = w->compare >> i & 1 ? 0 : n >> 1;
	}
	return sum;
}

static void check_one(struct ring *r, const struct work4 *w, uint64_t old)
{
	bool swaps = w->opcode == MLX4_OPCODE_MASKED_ATOMIC_CS;
	uint64_t *target = (uint64_t *)(void *)(r->pair.b->buf + TARGET);
	struct ibv_wc wc;
	uint64_t result;

	target[-1] = target[1] = NEIGHBOUR;
	*target = old;
	post_by_hand(r, w, sizeof(uint64_t));
	wc = wait_done(r);
	check_equal(wc.status, IBV_WC_SUCCESS);
	check_equal(wc.opcode, swaps ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
	check_equal(wc.byte_len, 8);
	memcpy(&result, r->pair.a->buf, sizeof(result));
	check_equal(result, old);
	check_equal(*target, model(w, old));
	check_equal(target[-1], NEIGHBOUR);
	check_equal(target[1], NEIGHBOUR);
}

static void masked_atomics_are_those_of_the_model_over_many_laps(void)
{
	static const struct work4 all[] = {
		{ MLX4_OPCODE_MASKED_ATOMIC_CS, 0x1122334455667788, 0, UINT64_MAX, 0 }, /* swap */
		{ MLX4_OPCODE_MASKED_ATOMIC_CS, 0xff00, 7, 0xff00, 0xff },
		{ MLX4_OPCODE_MASKED_ATOMIC_CS, 0xff00, 8, 0xff00, 0xff },
		{ MLX4_OPCODE_MASKED_ATOMIC_FA, 1, 0, 0, 0 },
		{ MLX4_OPCODE_MASKED_ATOMIC_FA, 0x0001000100010001, 0x8000800080008000, 0, 0 },
		{ MLX4_OPCODE_MASKED_ATOMIC_FA, 0xf0f0f0f0f0f0f0f0, UINT64_MAX, 0, 0 }, /* xor */
	};
	static const uint64_t values[] = { 0, 7, UINT64_MAX, 0xffff0000ffff0007 };
	struct ring r = ring_open();

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			check_one(&r, &all[k], values[i]);
	pair_close(&r.pair);
}

static void an_answer_of_another_length_is_a_local_error(void)
{
	const struct work4 add = { .opcode = MLX4_OPCODE_MASKED_ATOMIC_FA, .swap = 1 };
	struct ring r = ring_open();

	post_by_hand(&r, &add, 4);
	check_equal(wait_done(&r).status, IBV_WC_LOC_LEN_ERR);
	pair_close(&r.pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(masked_atomics_are_those_of_the_model_over_many_laps),
		TEST(an_answer_of_another_length_is_a_local_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
