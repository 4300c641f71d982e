/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings of a ConnectX-4 and later. Both doorbell record and register are written. */
#include "raw.h"

#define ARM_REQUEST   0u
#define ARM_SOLICITED (1u << 24)

static void open_raw(struct raw *r)
{
	struct mlx5dv_obj qp = { .qp = { r->e->qp, &r->m5 }, .cq = { r->e->scq, &r->send.m5 } };
	struct mlx5dv_obj cq = { .cq = { r->e->rcq, &r->recv.m5 } };

	check_ok(mlx5dv_init_obj(&qp, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ));
	check_ok(mlx5dv_init_obj(&cq, MLX5DV_OBJ_CQ));
	check_equal(r->m5.sq.stride, 64);
	check(r->m5.bf.size == 0 || r->m5.bf.size == 256);
}

static char *block(const struct raw *r, uint32_t index)
{
	return (char *)r->m5.sq.buf + (size_t)(index & (r->m5.sq.wqe_cnt - 1)) * 64;
}

/* Segments of 16 bytes, around the end of the ring. */
static char *segment(const struct raw *r, uint32_t number)
{
	return block(r, r->post + number / 4) + number % 4 * 16;
}

static uint32_t put_inline(const struct raw *r, uint32_t number, const char *from, uint32_t len)
{
	uint32_t units = (4 + len + 15) / 16;
	char image[16 * 16] = { 0 };
	uint32_t count = htobe32(MLX5_INLINE_SEG | len);

	memcpy(image, &count, 4);
	memcpy(image + 4, from, len);
	for (uint32_t i = 0; i < units; i++)
		memcpy(segment(r, number + i), image + 16 * i, 16);
	return units;
}

static void post_raw(struct raw *r, const struct raw_work *w)
{
	static const uint8_t opcodes[] = {
		[RAW_SEND] = MLX5_OPCODE_SEND,      [RAW_WRITE] = MLX5_OPCODE_RDMA_WRITE,
		[RAW_READ] = MLX5_OPCODE_RDMA_READ, [RAW_ADD] = MLX5_OPCODE_ATOMIC_FA,
		[RAW_SWAP] = MLX5_OPCODE_ATOMIC_CS, [RAW_NONSENSE] = 0x3b
	};
	struct mlx5_wqe_ctrl_seg *ctrl = (void *)segment(r, 0);
	uint32_t ds = 1;

	if (w->op == RAW_WRITE || w->op == RAW_READ || raw_is_atomic(w->op)) {
		struct mlx5_wqe_raddr_seg *raddr = (void *)segment(r, ds++);

		raddr->raddr = htobe64(w->raddr);
		raddr->rkey = htobe32(w->rkey);
		raddr->reserved = 0;
	}
	if (raw_is_atomic(w->op)) {
		struct mlx5_wqe_atomic_seg *atomic = (void *)segment(r, ds++);

		atomic->swap_add = htobe64(w->swap_add);
		atomic->compare = htobe64(w->compare);
	}
	if (w->inlined)
		ds += put_inline(r, ds, r->e->buf + w->off, w->len);
	else
		mlx5dv_set_data_seg((void *)segment(r, ds++), w->len, r->e->mr->lkey,
				    (uintptr_t)r->e->buf + w->off);
	mlx5dv_set_ctrl_seg(ctrl, r->post & 0xffff, opcodes[w->op], 0, r->e->qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, ds, 0, 0);
	r->post += (ds + 3) / 4;
	__atomic_store_n(&r->m5.dbrec[MLX5_SND_DBR], htobe32(r->post & 0xffff), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)r->m5.bf.reg, *(uint64_t *)ctrl, __ATOMIC_RELEASE);
}

static void post_recv_raw(struct raw *r, size_t off, uint32_t len)
{
	struct mlx5_wqe_data_seg *seg =
		(void *)((char *)r->m5.rq.buf +
			 (size_t)(r->posted & (r->m5.rq.wqe_cnt - 1)) * r->m5.rq.stride);

	mlx5dv_set_data_seg(&seg[0], len, r->e->mr->lkey, (uintptr_t)r->e->buf + off);
	if (r->m5.rq.stride > 16)
		mlx5dv_set_data_seg(&seg[1], 0, 0x100, 0);
	r->posted++;
	__atomic_store_n(&r->m5.dbrec[MLX5_RCV_DBR], htobe32(r->posted & 0xffff), __ATOMIC_RELEASE);
}

static struct mlx5_cqe64 *next_cqe(const struct raw_cq *cq)
{
	return (void *)((char *)cq->m5.buf +
			(size_t)(cq->ci & (cq->m5.cqe_cnt - 1)) * cq->m5.cqe_size +
			cq->m5.cqe_size - 64);
}

static bool ready_raw(const struct raw_cq *cq)
{
	/* the entry's last word, whose last byte has the owner */
	uint64_t last = __atomic_load_n((uint64_t *)next_cqe(cq) + 7, __ATOMIC_ACQUIRE);
	uint8_t own = be64toh(last);

	return own >> 4 != MLX5_CQE_INVALID && (own & 1) == !!(cq->ci & cq->m5.cqe_cnt);
}

static struct raw_cqe take_raw(struct raw_cq *cq)
{
	struct mlx5_cqe64 *cqe = next_cqe(cq);
	const struct mlx5_err_cqe *err = (const void *)cqe;
	uint8_t opcode = mlx5dv_get_cqe_opcode(cqe);
	struct raw_cqe out = {
		.error = opcode == MLX5_CQE_REQ_ERR || opcode == MLX5_CQE_RESP_ERR,
		.counter = be16toh(cqe->wqe_counter),
		.qpn = be32toh(cqe->sop_drop_qpn) & 0xffffff,
	};

	if (out.error) {
		out.syndrome = err->syndrome;
		out.vendor = err->vendor_err_synd;
	} else {
		out.bytes = be32toh(cqe->byte_cnt);
	}
	cq->ci++;
	__atomic_store_n(&cq->m5.dbrec[0], htobe32(cq->ci & 0xffffff), __ATOMIC_RELEASE);
	return out;
}

static void arm_raw(struct raw_cq *cq, bool solicited)
{
	uint32_t word = (cq->arm_sn++ & 3) << 28 | (solicited ? ARM_SOLICITED : ARM_REQUEST) |
			(cq->ci & 0xffffff);

	__atomic_store_n(&cq->m5.dbrec[1], htobe32(word), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)((char *)cq->m5.cq_uar + 0x20),
			 htobe64((uint64_t)word << 32 | cq->m5.cqn), __ATOMIC_RELEASE);
}

const struct raw_ops raw_mlx5 = { open_raw, post_raw, post_recv_raw, ready_raw, take_raw, arm_raw };
