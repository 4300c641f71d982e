/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whatever a program may write into its rings: entries of send, receive and shared receive queues,
 * in the formats of both drivers.
 *
 * Input: a byte that chooses format, queue pair type and link, two bytes of index, one byte of
 * geometry, then the ring. With SEAL the entry's head gets the index, number and owner that belong
 * there, without which little of it would be looked at.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "driver/recv_wqe.h"
#include "hca/transport/qp.h"
#include "mlx4/decode.h"
#include "mlx4/wqe.h"
#include "mlx5/decode.h"
#include "mlx5/wqe.h"

enum {
	MLX4 = 1 << 0,
	SEAL = 1 << 1,
	ETHERNET = 1 << 2,
	TYPE_SHIFT = 3,
	PREFIX = 4,
	QPN = 0x123456,
};

static const enum hca_qp_type types[] = {
	HCA_QP_RC,       HCA_QP_UC,  HCA_QP_UD,  HCA_QP_RAW,
	HCA_QP_XRC_SEND, HCA_QP_DCI, HCA_QP_DCT, HCA_QP_XRC_RECV
};

static bool is_within(const uint8_t *at, uint32_t len, const uint8_t *start, const uint8_t *end)
{
	return at >= start && at <= end && len <= (size_t)(end - at);
}

/* Data inside an entry lies inside the ring, or where the entry was put together; it can be read. */
static void check_send(const struct hca_send *s, const struct hca_sq_ring *sq)
{
	const uint8_t *ring = sq->buf, *end = ring + ((size_t)sq->size << sq->slot_shift);

	CHECK(s->blocks >= 1 && s->blocks <= sq->size);
	if (s->bad)
		return;
	CHECK(s->sge_count >= 0 && s->sge_count <= HCA_MAX_SGE);
	CHECK(s->op < HCA_OP_COUNT);
	if (s->op == HCA_OP_MASKED_CMP_SWAP || s->op == HCA_OP_MASKED_FETCH_ADD)
		CHECK(s->masked.size == 4 || s->masked.size == 8);
	for (int i = 0; i < s->sge_count; i++) {
		const uint8_t *at = (const uint8_t *)(uintptr_t)s->sge[i].addr;

		if (s->sge[i].key != HCA_KEY_INLINE)
			continue;
		CHECK(is_within(at, s->sge[i].len, ring, end) ||
		      is_within(at, s->sge[i].len, s->joined, s->joined + sizeof(s->joined)));
		for (uint32_t k = 0; k < s->sge[i].len; k++)
			(void)*(const volatile uint8_t *)&at[k];
	}
}

static void seal(bool mlx4, const struct hca_sq_ring *sq, uint32_t index)
{
	uint8_t *at = (uint8_t *)sq->buf + ((size_t)(index & (sq->size - 1)) << sq->slot_shift);
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	word = be32toh(word);
	if (mlx4)
		word = (word & ~(1u << 31)) | (index & sq->size ? 1u << 31 : 0);
	else
		word = (word & 0xff0000ff) | (index & 0xffff) << 8;
	word = htobe32(word);
	memcpy(at, &word, sizeof(word));
	if (mlx4)
		return;
	memcpy(&word, at + 4, sizeof(word));
	word = htobe32(QPN << 8 | (be32toh(word) & 0xff));
	memcpy(at + 4, &word, sizeof(word));
}

static void decode_recv(uint8_t *ring, size_t len, uint8_t geometry, uint32_t index)
{
	struct hca_rq_ring rq = { .buf = ring, .slot_shift = 4 + geometry % 4 };
	struct hca_recv recv;

	rq.max_sge = (1u << rq.slot_shift) / 16;
	rq.size = len >> rq.slot_shift;
	if (!rq.size)
		return;
	if (geometry & 0x40 && rq.max_sge > 1) {
		rq.signature = true;
		rq.max_sge--;
	}
	drv_rq_decode(&rq, index, &recv);
	CHECK(drv_srq_next(&rq, index) < rq.size);
	CHECK(recv.sge_count >= 0 && recv.sge_count <= rq.max_sge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct hca_model model = { .mmo = 0xff }; /* has all operations */
	static struct hca_adapter adapter = { .model = &model };
	struct hca_ctx ctx = { .adapter = &adapter };
	struct hca_qp qp = { .qpn = QPN, .ctx = &ctx };
	struct hca_send send;
	uint32_t index, len;
	uint8_t *ring;
	bool mlx4;

	if (size < PREFIX + 64)
		return 0;
	mlx4 = data[0] & MLX4;
	index = data[1] << 8 | data[2];
	adapter.ports[0].link = data[0] & ETHERNET ? HCA_LINK_ETHERNET : HCA_LINK_INFINIBAND;
	qp.type = types[data[0] >> TYPE_SHIFT & 7];
	qp.sq.slot_shift = mlx4 ? 6 + data[3] % 5 : 6;
	for (len = 64; 2 * len <= size - PREFIX && len < 65536; len *= 2)
		;
	if (len >> qp.sq.slot_shift == 0)
		return 0;
	/* exactly as long as it is, for the sanitizer's sake */
	ring = aligned_alloc(64, len);
	memcpy(ring, data + PREFIX, len);
	qp.sq.buf = ring;
	qp.sq.size = len >> qp.sq.slot_shift;
	if (data[0] & SEAL)
		seal(mlx4, &qp.sq, index);
	memset(&send, 0xee, sizeof(send));
	if (mlx4)
		mlx4_sq_decode(&qp, index, &send);
	else
		mlx5_sq_decode(&qp, index, &send);
	check_send(&send, &qp.sq);
	decode_recv(ring, len, data[3], index);
	free(ring);
	return 0;
}
