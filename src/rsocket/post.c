/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/post.h"

#include <endian.h>

#define RECV_BATCH 64

/* Messages come as immediate data of writes, so a receive needs no memory. */
int rs_post_receives(struct rs_stream *s, unsigned int count)
{
	struct ibv_recv_wr wrs[RECV_BATCH], *bad;

	while (count) {
		const unsigned int batch = count < RECV_BATCH ? count : RECV_BATCH;
		int err;

		for (unsigned int i = 0; i < batch; i++)
			wrs[i] = (struct ibv_recv_wr){
				.wr_id = RS_WR_RECV,
				.next = i + 1 < batch ? &wrs[i + 1] : NULL,
			};
		err = ibv_post_recv(s->id->qp, wrs, &bad);
		if (err)
			return -err;
		count -= batch;
	}
	return 0;
}

static int post(struct rs_stream *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return -ibv_post_send(s->id->qp, wr, &bad);
}

int rs_post_msg(struct rs_stream *s, uint32_t msg)
{
	struct ibv_send_wr wr = {
		.wr_id = msg,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32(msg),
	};

	return post(s, &wr);
}

int rs_post_write_msg(struct rs_stream *s, struct ibv_sge *sges, int count, uint32_t msg,
		      const struct rs_target *to)
{
	struct ibv_send_wr wr = {
		.wr_id = msg | to->wr_flags,
		.sg_list = sges,
		.num_sge = count,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = to->send_flags,
		.imm_data = htobe32(msg),
		.wr.rdma = { .remote_addr = to->addr, .rkey = to->key },
	};

	return post(s, &wr);
}

int rs_post_write(struct rs_stream *s, struct ibv_sge *sges, int count, uint32_t msg,
		  const struct rs_target *to)
{
	struct ibv_send_wr wr = {
		.wr_id = msg | to->wr_flags,
		.sg_list = sges,
		.num_sge = count,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = to->send_flags,
		.wr.rdma = { .remote_addr = to->addr, .rkey = to->key },
	};

	return post(s, &wr);
}
