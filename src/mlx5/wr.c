/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of the adapter's QP is held from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort().
 * The last operation's WQE stays open for setters until the next operation or the end closes it, so
 * that setters may come in any order, or not at all. Only the first error is kept; after it no WQE
 * is written, and ibv_wr_complete() takes the whole chain back.
 */
#include "mlx5/wr.h"

#include "mlx5/chain.h"
#include "mlx5/send.h"
#include "mlx5/umr.h"
#include "mlx5/wr_dv.h"

#define OPS_SEND   (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_SEND_WITH_INV)
#define OPS_WRITE  (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define OPS_KEY    (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define OPS_ATOMIC (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_PLACE  (IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE)
#define OPS_UC     (OPS_SEND | OPS_WRITE | OPS_KEY)
#define OPS_RC     (OPS_UC | IBV_QP_EX_WITH_RDMA_READ | OPS_ATOMIC | OPS_PLACE)
#define OPS_DCI    (OPS_RC & ~IBV_QP_EX_WITH_BIND_MW)
#define OPS_UD     (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

static void wr_start(struct ibv_qp_ex *ex)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	fabric_lock(&qp->base.vb.hca->lock);
	qp->chain.ctrl = NULL;
	qp->chain.count = 0;
	qp->chain.first = qp->sq.post;
	qp->chain.fence = qp->sq.fence_next;
	qp->chain.err = 0;
}

static void roll_back(struct mlx5_qp *qp)
{
	qp->sq.post = qp->chain.first;
	qp->sq.fence_next = qp->chain.fence;
	qp->chain.ctrl = NULL;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	struct hca_qp *hca = qp->base.vb.hca;
	int err;

	mlx5_chain_close(qp);
	err = qp->chain.err;
	if (unlikely(hca->state < HCA_QPS_RTS) && !err)
		err = -explain(EINVAL,
			       "QP 0x%06x is in state %d: sends may be posted from RTS (%d) on",
			       qp->base.qpn, hca->state, HCA_QPS_RTS);
	if (unlikely(err)) {
		roll_back(qp);
	} else if (likely(qp->chain.count)) {
		qp->sq.head += qp->chain.count;
		mlx5_sq_ring(qp);
	}
	fabric_unlock(&hca->lock);
	return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	roll_back(qp);
	fabric_unlock(&qp->base.vb.hca->lock);
}

static __attribute__((cold, noinline)) void refuse(struct mlx5_qp *qp, enum ibv_wr_opcode opcode)
{
	if (qp->chain.err)
		return;
	if (qp->sq.refused >> opcode & 1)
		mlx5_chain_fail(
			qp,
			-explain(EINVAL,
				 "QP 0x%06x: opcode %d is not among the operations that the QP was "
				 "created for",
				 qp->base.qpn, opcode));
	else
		mlx5_chain_fail(qp,
				-explain(ENOMEM,
					 "QP 0x%06x: the send queue is full with %u requests; poll "
					 "completions of signaled ones to make room",
					 qp->base.qpn, qp->sq.max_post));
}

/* Opens a WQE; returns the segment behind its control segment, or NULL after an error. */
static inline uint8_t *open_entry(struct mlx5_qp *qp, enum ibv_wr_opcode opcode, uint32_t imm,
				  uint8_t request)
{
	mlx5_chain_close(qp);
	if (unlikely(qp->chain.err) || unlikely(qp->sq.refused >> opcode & 1) ||
	    unlikely(mlx5_sq_full(&qp->sq, qp->chain.count))) {
		refuse(qp, opcode);
		return NULL;
	}
	return mlx5_chain_begin(qp, mlx5_wr_opcodes[opcode], imm, request);
}

/* An Ethernet segment; the first bytes of data go into it if the adapter needs them inline. */
static uint8_t *open_ethernet(struct mlx5_qp *qp, uint8_t *seg)
{
	uint8_t checks = qp->base.vb.ex.wr_flags & IBV_SEND_IP_CSUM ? MLX5_ETH_SUMS : 0;
	uint32_t ds = mlx5_ethernet_ds(qp->ctx->min_inline);

	mlx5_put_ethernet(seg, checks, 0, qp->ctx->min_inline);
	qp->chain.inline_missing = qp->ctx->min_inline;
	qp->chain.ds += ds;
	return mlx5_sq_skip(&qp->sq, seg, ds);
}

/* Moves the bytes that the Ethernet segment still needs from the data into it. */
static void fill_inline_header(struct mlx5_qp *qp, uint64_t *addr, size_t *length)
{
	uint8_t *to = (uint8_t *)(qp->chain.ctrl + 1) + MLX5_ETH_FIXED;
	size_t n = *length < qp->chain.inline_missing ? *length : qp->chain.inline_missing;

	memcpy(to + qp->ctx->min_inline - qp->chain.inline_missing, (const void *)(uintptr_t)*addr,
	       n);
	qp->chain.inline_missing -= n;
	*addr += n;
	*length -= n;
}

/* Leaves room for the segment of the address or XRC target, which a setter writes. */
static inline uint8_t *skip_transport(struct mlx5_qp *qp, uint8_t *seg)
{
	uint32_t size = 0;

	if (unlikely(qp->base.type == HCA_QP_RAW))
		return open_ethernet(qp, seg);
	if (qp->base.type == HCA_QP_UD || qp->base.type == HCA_QP_DCI)
		size = sizeof(struct mlx5_wqe_datagram_seg);
	else if (qp->base.type == HCA_QP_XRC_SEND)
		size = sizeof(struct mlx5_wqe_xrc_seg);
	qp->chain.ds += size / MLX5_DS;
	return mlx5_sq_wrap(&qp->sq, seg + size);
}

static inline void open_send(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t imm)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	uint8_t *seg = open_entry(qp, opcode, imm, 0);

	if (likely(seg))
		qp->chain.data = skip_transport(qp, seg);
}

static inline void open_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t imm,
			     uint32_t rkey, uint64_t addr)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	uint8_t *seg = open_entry(qp, opcode, imm, 0);

	if (unlikely(!seg))
		return;
	seg = mlx5_put_raddr(skip_transport(qp, seg), addr, rkey);
	qp->chain.data = mlx5_sq_wrap(&qp->sq, seg);
	qp->chain.ds++;
}

/* FLUSH and ATOMIC WRITE, for which ibv_post_send() has no fields: without an entry in mlx5_wr_opcodes. */
static uint8_t *open_place(struct mlx5_qp *qp, uint8_t opcode, uint32_t rkey, uint64_t addr)
{
	uint8_t *seg;

	mlx5_chain_close(qp);
	if (unlikely(qp->chain.err))
		return NULL;
	if (unlikely(mlx5_sq_full(&qp->sq, qp->chain.count))) {
		refuse(qp, IBV_WR_SEND);
		return NULL;
	}
	seg = skip_transport(qp, mlx5_chain_begin(qp, opcode, 0, 0));
	seg = mlx5_sq_wrap(&qp->sq, mlx5_put_raddr(seg, addr, rkey));
	qp->chain.data = mlx5_sq_wrap(&qp->sq, seg + MLX5_DS);
	qp->chain.ds += 2;
	return seg;
}

static inline void open_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			       uint64_t addr, uint64_t swap_add, uint64_t compare)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	open_rdma(ex, opcode, 0, rkey, addr);
	if (unlikely(!qp->chain.ctrl))
		return;
	qp->chain.data = mlx5_sq_wrap(&qp->sq, mlx5_put_atomic(qp->chain.data, swap_add, compare));
	qp->chain.ds++;
}

static void open_key_change(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t key,
			    uint32_t new_key, const struct ibv_mw_bind_info *info, uint8_t request)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	int err;

	if (!open_entry(qp, opcode, htobe32(key), request))
		return;
	err = mlx5_put_bind(qp, qp->chain.ctrl, true, new_key, info, &qp->chain.ds);
	if (err) {
		mlx5_chain_fail(qp, err);
		return;
	}
	qp->sq.fence_next = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	/* The request has no data, even if setters follow. */
	mlx5_chain_close(qp);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	open_send(ex, IBV_WR_SEND, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	open_send(ex, IBV_WR_SEND_WITH_IMM, imm);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	open_send(ex, IBV_WR_SEND_WITH_INV, htobe32(key));
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	open_rdma(ex, IBV_WR_RDMA_WRITE, 0, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, __be32 imm)
{
	open_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, imm, rkey, addr);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	open_rdma(ex, IBV_WR_RDMA_READ, 0, rkey, addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	open_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr, swap, compare);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	open_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len, uint8_t type,
		     uint8_t level)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	struct mlx5_wqe_flush_seg *seg;

	if (level == IBV_FLUSH_MR)
		len = 0; /* all of the region, whatever the program says */
	if (len > UINT32_MAX || type & ~(IBV_FLUSH_GLOBAL | IBV_FLUSH_PERSISTENT) || !type ||
	    level > IBV_FLUSH_MR) {
		mlx5_chain_fail(qp,
				-explain(EINVAL,
					 "QP 0x%06x: a flush of %zu bytes, type 0x%x, level %u; "
					 "the most is 2^32 - 1 bytes, types are "
					 "IBV_FLUSH_GLOBAL and _PERSISTENT, levels "
					 "IBV_FLUSH_RANGE and _MR",
					 qp->base.qpn, len, type, level));
		return;
	}
	seg = (void *)open_place(qp, MLX5_OPCODE_FLUSH, rkey, addr);
	if (unlikely(!seg))
		return;
	*seg = (struct mlx5_wqe_flush_seg){
		.feth = htobe32(type | (uint32_t)level << MLX5_FLUSH_LEVEL_SHIFT),
		.length = htobe32((uint32_t)len),
	};
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	uint8_t *seg = open_place(qp, MLX5_OPCODE_ATOMIC_WRITE, rkey, addr);
	struct mlx5_wqe_inl_data_seg *head = (void *)seg;

	if (unlikely(!seg))
		return;
	head->byte_count = htobe32(8 | MLX5_INLINE_SEG);
	memcpy(head + 1, value, 8);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t key)
{
	static const struct ibv_mw_bind_info none;

	open_key_change(ex, IBV_WR_LOCAL_INV, key, 0, &none, IBV_WC_LOCAL_INV);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	open_key_change(ex, IBV_WR_BIND_MW, mw->rkey, rkey, info, IBV_WC_BIND_MW);
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	uint8_t *seg = open_entry(qp, IBV_WR_TSO, 0, 0), *to;
	int err;

	if (unlikely(!seg))
		return;
	err = mlx5_check_tso(qp, hdr_sz);
	if (unlikely(err)) {
		mlx5_chain_fail(qp, err);
		return;
	}
	to = mlx5_put_ethernet(seg, ex->wr_flags & IBV_SEND_IP_CSUM ? MLX5_ETH_SUMS : 0, mss,
			       hdr_sz);
	mlx5_put_bytes(&qp->sq, to, hdr, hdr_sz);
	qp->chain.ds += mlx5_ethernet_ds(hdr_sz);
	qp->chain.data = mlx5_sq_skip(&qp->sq, seg, mlx5_ethernet_ds(hdr_sz));
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	if (likely(qp->chain.ctrl))
		mlx5_put_address((uint8_t *)(qp->chain.ctrl + 1), to_ah(ah), qpn, qkey);
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	if (likely(qp->chain.ctrl))
		mlx5_put_xrc((uint8_t *)(qp->chain.ctrl + 1), srqn);
}

static inline void add_data(struct mlx5_qp *qp, uint32_t lkey, uint64_t addr, size_t length)
{
	if (unlikely(qp->chain.inline_missing))
		fill_inline_header(qp, &addr, &length);
	if (unlikely(!length))
		return;
	if (unlikely(length > MLX5_DATA_SEG_MAX)) {
		mlx5_chain_fail(qp,
				-explain(EINVAL, "QP 0x%06x: an element of %zu bytes; 2^31 is most",
					 qp->base.qpn, length));
		return;
	}
	mlx5_put_data(qp->chain.data, addr, length, lkey);
	qp->chain.data = mlx5_sq_wrap(&qp->sq, qp->chain.data + MLX5_DS);
	qp->chain.ds++;
}

static __attribute__((cold, noinline)) void refuse_sges(struct mlx5_qp *qp, size_t count)
{
	mlx5_chain_fail(qp,
			-explain(ENOMEM,
				 "QP 0x%06x: %zu elements in a request; the QP was created for %d",
				 qp->base.qpn, count, qp->sq.max_sge));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	if (unlikely(!qp->chain.ctrl))
		return;
	if (unlikely(!qp->sq.max_sge))
		refuse_sges(qp, 1);
	else
		add_data(qp, lkey, addr, length);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);

	if (unlikely(!qp->chain.ctrl))
		return;
	if (unlikely(count > (size_t)qp->sq.max_sge)) {
		refuse_sges(qp, count);
		return;
	}
	for (size_t i = 0; i < count && likely(qp->chain.ctrl); i++)
		add_data(qp, list[i].lkey, list[i].addr, list[i].length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
				    const struct ibv_data_buf *list)
{
	struct mlx5_qp *qp = to_mqp_ex(ex);
	struct mlx5_wqe_inl_data_seg *head;
	uint8_t *to;
	size_t length = 0;

	if (unlikely(!qp->chain.ctrl))
		return;
	head = (void *)qp->chain.data;
	to = (uint8_t *)(head + 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t addr = (uintptr_t)list[i].addr;
		size_t n = list[i].length;

		if (unlikely(qp->chain.inline_missing))
			fill_inline_header(qp, &addr, &n);
		if (unlikely(n > qp->sq.max_inline || length + n > qp->sq.max_inline)) {
			mlx5_chain_fail(
				qp,
				-explain(ENOMEM,
					 "QP 0x%06x: %zu bytes of inline data; the QP was granted "
					 "%u",
					 qp->base.qpn, length + n, qp->sq.max_inline));
			return;
		}
		length += n;
		if (likely(n))
			to = mlx5_put_bytes(&qp->sq, to, (const void *)(uintptr_t)addr, n);
	}
	if (likely(length))
		head->byte_count = htobe32((uint32_t)length | MLX5_INLINE_SEG);
	qp->chain.ds += mlx5_inline_ds(length);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* Functions that the type does not have. */
static void missing_operation(struct mlx5_qp *qp)
{
	mlx5_chain_fail(qp, -explain(EOPNOTSUPP, "QP 0x%06x: its type does not have this operation",
				     qp->base.qpn));
}

static void missing_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	missing_operation(to_mqp_ex(ex));
}

static void missing_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len,
			  uint8_t type, uint8_t level)
{
	missing_operation(to_mqp_ex(ex));
}

static void missing_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t addr,
				 const void *value)
{
	missing_operation(to_mqp_ex(ex));
}

static void missing_address(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	missing_operation(to_mqp_ex(ex));
}

static void missing_srqn(struct ibv_qp_ex *ex, uint32_t srqn)
{
	missing_operation(to_mqp_ex(ex));
}

static uint64_t supported_ops(const struct mlx5_qp *qp)
{
	switch (qp->base.type) {
	case HCA_QP_RC:
	case HCA_QP_XRC_SEND:
		return OPS_RC;
	case HCA_QP_DCI:
		return OPS_DCI;
	case HCA_QP_UC:
		return OPS_UC;
	case HCA_QP_UD:
		return OPS_UD;
	case HCA_QP_RAW:
		return IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO;
	default:
		return 0;
	}
}

int mlx5_qp_fill_ex(struct mlx5_qp *qp, uint64_t send_ops, uint64_t extra_ops)
{
	struct ibv_qp_ex *ex = &qp->base.vb.ex;
	uint64_t supported = supported_ops(qp);

	if (send_ops & ~supported || !supported)
		return explain(EOPNOTSUPP, "send_ops_flags 0x%llx: a QP of type %d has 0x%llx",
			       (unsigned long long)send_ops, qp->base.type,
			       (unsigned long long)supported);
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	/*
	 * The adapter refuses operations that the transport lacks, open_entry() those for which the
	 * WQE has no room.
	 */
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = qp->base.type == HCA_QP_RAW ? wr_send_tso : missing_send_tso;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write =
		send_ops & IBV_QP_EX_WITH_ATOMIC_WRITE ? wr_atomic_write : missing_atomic_write;
	ex->wr_flush = send_ops & IBV_QP_EX_WITH_FLUSH ? wr_flush : missing_flush;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_set_ud_addr = qp->base.type == HCA_QP_UD ? wr_set_ud_addr : missing_address;
	ex->wr_set_xrc_srqn = qp->base.type == HCA_QP_XRC_SEND ? wr_set_xrc_srqn : missing_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	return mlx5_qp_fill_dv(qp, extra_ops);
}
