/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings of a ConnectX-3. The owner bit hands an entry over; no register is written. */
#include "raw.h"

static void open_raw(struct raw *r)
{
	struct mlx4dv_obj qp = { .qp = { r->e->qp, &r->m4 }, .cq = { r->e->scq, &r->send.m4 } };
	struct mlx4dv_obj cq = { .cq = { r->e->rcq, &r->recv.m4 } };

	check_ok(mlx4dv_init_obj(&qp, MLX4DV_OBJ_QP | MLX4DV_OBJ_CQ));
	check_ok(mlx4dv_init_obj(&cq, MLX4DV_OBJ_CQ));
	r->send.arm_sn = r->send.m4.arm_sn;
	r->recv.arm_sn = r->recv.m4.arm_sn;
}

/* No chunk of inline data goes across a multiple of 64 bytes. */
static char *put_inline(const char *start, char *at, const char *from, uint32_t len)
{
	while (len) {
		uint32_t room = 60 - (at - start) % 64, count = len < room ? len : room;

		((struct mlx4_wqe_inline_seg *)at)->byte_count = htobe32(MLX4_INLINE_SEG | count);
		memcpy(at + 4, from, count);
		at += (4 + count + 15) & ~15u;
		from += count;
		len -= count;
	}
	return at;
}

static void post_raw(struct raw *r, const struct raw_work *w)
{
	static const uint8_t opcodes[] = {
		[RAW_SEND] = MLX4_OPCODE_SEND,      [RAW_WRITE] = MLX4_OPCODE_RDMA_WRITE,
		[RAW_READ] = MLX4_OPCODE_RDMA_READ, [RAW_ADD] = MLX4_OPCODE_ATOMIC_FA,
		[RAW_SWAP] = MLX4_OPCODE_ATOMIC_CS, [RAW_NONSENSE] = 0x1e
	};
	uint32_t count = r->m4.sq.wqe_cnt;
	struct mlx4_wqe_ctrl_seg *ctrl =
		(void *)((char *)r->m4.buf.buf + r->m4.sq.offset +
			 ((size_t)(r->post & (count - 1)) << r->m4.sq.wqe_shift));
	char *at = (char *)(ctrl + 1);

	if (w->op == RAW_WRITE || w->op == RAW_READ || raw_is_atomic(w->op)) {
		struct mlx4_wqe_raddr_seg *raddr = (void *)at;

		raddr->raddr = htobe64(w->raddr);
		raddr->rkey = htobe32(w->rkey);
		raddr->reserved = 0;
		at += sizeof(*raddr);
	}
	if (raw_is_atomic(w->op)) {
		struct mlx4_wqe_atomic_seg *atomic = (void *)at;

		atomic->swap_add = htobe64(w->swap_add);
		atomic->compare = htobe64(w->compare);
		at += sizeof(*atomic);
	}
	if (w->inlined) {
		at = put_inline((char *)ctrl, at, r->e->buf + w->off, w->len);
	} else {
		mlx4dv_set_data_seg((void *)at, w->len, r->e->mr->lkey,
				    (uintptr_t)r->e->buf + w->off);
		at += 16;
	}
	ctrl->imm = 0;
	ctrl->srcrb_flags = htobe32(MLX4_WQE_CTRL_CQ_UPDATE);
	ctrl->bf_qpn = htobe32((uint32_t)((at - (char *)ctrl) / 16));
	__atomic_store_n(&ctrl->owner_opcode,
			 htobe32(opcodes[w->op] | (r->post & count ? 1u << 31 : 0)),
			 __ATOMIC_RELEASE);
	r->post++;
}

static void post_recv_raw(struct raw *r, size_t off, uint32_t len)
{
	struct mlx4_wqe_data_seg *seg =
		(void *)((char *)r->m4.buf.buf + r->m4.rq.offset +
			 ((size_t)(r->posted & (r->m4.rq.wqe_cnt - 1)) << r->m4.rq.wqe_shift));

	mlx4dv_set_data_seg(&seg[0], len, r->e->mr->lkey, (uintptr_t)r->e->buf + off);
	mlx4dv_set_data_seg(&seg[1], 0, MLX4_INVALID_LKEY, 0);
	__atomic_store_n(r->m4.rdb, htobe32(++r->posted & 0xffff), __ATOMIC_RELEASE);
}

static struct mlx4_cqe *next_cqe(const struct raw_cq *cq)
{
	return (void *)((char *)cq->m4.buf.buf +
			(size_t)(cq->ci & (cq->m4.cqe_cnt - 1)) * cq->m4.cqe_size +
			cq->m4.cqe_size - 32);
}

static bool ready_raw(const struct raw_cq *cq)
{
	/* the entry's last word, whose last byte has the owner */
	uint64_t last = __atomic_load_n((uint64_t *)next_cqe(cq) + 3, __ATOMIC_ACQUIRE);
	uint8_t own = be64toh(last);

	return !!(own & MLX4_CQE_OWNER_MASK) == !!(cq->ci & cq->m4.cqe_cnt);
}

static struct raw_cqe take_raw(struct raw_cq *cq)
{
	const struct mlx4_cqe *cqe = next_cqe(cq);
	const struct mlx4_err_cqe *err = (const void *)cqe;
	struct raw_cqe out = {
		.error = (cqe->owner_sr_opcode & MLX4_CQE_OPCODE_MASK) == MLX4_CQE_OPCODE_ERROR,
		.counter = be16toh(cqe->wqe_index),
		.qpn = be32toh(cqe->vlan_my_qpn) & MLX4_CQE_QPN_MASK,
	};

	if (out.error) {
		out.syndrome = err->syndrome;
		out.vendor = err->vendor_err;
	} else {
		out.bytes = be32toh(cqe->byte_cnt);
	}
	cq->ci++;
	__atomic_store_n(cq->m4.set_ci_db, htobe32(cq->ci & 0xffffff), __ATOMIC_RELEASE);
	return out;
}

static void arm_raw(struct raw_cq *cq, bool solicited)
{
	uint32_t word = (cq->arm_sn++ & 3) << 28 |
			(solicited ? MLX4_CQ_DB_REQ_NOT_SOL : MLX4_CQ_DB_REQ_NOT) |
			(cq->ci & 0xffffff);

	__atomic_store_n(cq->m4.arm_db, htobe32(word), __ATOMIC_RELEASE);
}

const struct raw_ops raw_mlx4 = { open_raw, post_raw, post_recv_raw, ready_raw, take_raw, arm_raw };
