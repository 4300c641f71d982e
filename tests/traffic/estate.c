/* SPDX-License-Identifier: BSD-2-Clause */
#include "estate.h"

struct estate estate_open(void)
{
	struct estate s = { .ctx = rig_context(), .buf = pages(ESTATE_BYTES) };

	s.pd = must(ibv_alloc_pd(s.ctx));
	s.mr = must(ibv_reg_mr(s.pd, s.buf, ESTATE_BYTES,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	return s;
}

void estate_offer(const struct estate *s, int fd)
{
	const struct offer o = {
		.pd = s->pd->handle,
		.mr = s->mr->handle,
		.key = s->mr->rkey,
		.va = (uintptr_t)s->buf,
	};

	tell_fd(fd, s->ctx->cmd_fd);
	tell(fd, &o, sizeof(o));
}

void estate_close(struct estate *s)
{
	check_ok(ibv_dereg_mr(s->mr));
	check_ok(ibv_dealloc_pd(s->pd));
}

void guest_import(struct guest *g, int fd)
{
	int cmd_fd = hear_fd(fd);

	hear(fd, &g->o, sizeof(g->o));
	g->ctx = must(ibv_import_device(cmd_fd));
	g->pd = must(ibv_import_pd(g->ctx, g->o.pd));
	check_equal(g->pd->handle, g->o.pd);
	g->mr = must(ibv_import_mr(g->pd, g->o.mr));
	check(g->mr->addr == NULL);
	check_equal(g->mr->length, ESTATE_BYTES);
	check_equal(g->mr->lkey, g->o.key);
	check_equal(g->mr->rkey, g->o.key);
}

void guest_connect(struct guest *g)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = ESTATE_BYTES;
	g->a = end_open_in(&o, g->ctx, g->pd);
	g->b = end_open_in(&o, g->ctx, g->pd);
	ends_connect(g->a, g->b);
}

void guest_leave(struct guest *g)
{
	if (g->a) {
		end_close(g->a);
		end_close(g->b);
	}
	if (g->mr)
		ibv_unimport_mr(g->mr);
	ibv_unimport_pd(g->pd);
	check_ok(ibv_close_device(g->ctx));
}

void guest_work(struct guest *g, enum ibv_wr_opcode op, uint32_t len, size_t at)
{
	post(g->a, &(struct work){ .id = op,
				   .op = op,
				   .flags = IBV_SEND_SIGNALED,
				   .len = len,
				   .raddr = g->o.va + at,
				   .rkey = g->o.key,
				   .compare = 5 });
	expect_ok(g->a->scq, op);
}

void guest_post_theirs(struct guest *g, enum ibv_wr_opcode op, uint32_t len, size_t at)
{
	struct ibv_sge sge = { g->o.va + at, len, g->o.key };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 77,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)g->b->buf, g->b->mr->rkey },
	};

	check_ok(ibv_post_send(g->a->qp, &wr, &bad));
}

void guest_post_recv_theirs(struct guest *g, uint32_t len, size_t at)
{
	struct ibv_sge sge = { g->o.va + at, len, g->o.key };
	struct ibv_recv_wr *bad, wr = { .wr_id = 78, .sg_list = &sge, .num_sge = 1 };

	check_ok(ibv_post_recv(g->b->qp, &wr, &bad));
}
