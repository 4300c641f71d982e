/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects of verbs that hold memory, count, or are looked at. */
#include "scenario.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 256 };
	struct ibv_dm *dm = ibv_alloc_dm(a.ctx, &attr);
	struct ibv_mr *mr;
	int fd;

	if (!MAKE(dm))
		return;
	DO(ibv_memcpy_to_dm(dm, 0, a.buf, 64));
	DO(ibv_memcpy_from_dm(a.buf, dm, 0, 64));
	fd = ibv_dm_export_dmabuf_fd(dm); /* not every model can */
	if (fd >= 0)
		OWN(close(fd));
	mr = ibv_reg_dm_mr(a.pd, dm, 0, 256, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	if (MAKE(mr))
		END(ibv_dereg_mr(mr));
	END(ibv_free_dm(dm));
}

/* A memory file that cannot shrink is a dmabuf. */
static void dmabuf(void)
{
	int fd = OWN(memfd_create("sweep", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	struct ibv_mr *mr;

	if (OWN(ftruncate(fd, 4096)) || OWN(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK)))
		abort();
	mr = ibv_reg_dmabuf_mr(a.pd, 0, 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE);
	if (MAKE(mr))
		END(ibv_dereg_mr(mr));
	OWN(close(fd));
}

/* Memory of libibverbs' own. */
static void buffers(void)
{
	struct ibv_buf *buf = NULL;
	void *at = ibv_alloc_buf(a.pd, 8192, &buf);
	struct ibv_mr *mr;
	int fd;

	if (!MAKE(at))
		return;
	mr = ibv_reg_buf_mr(a.pd, buf, at, 8192, RIGHTS);
	fd = ibv_export_buf_dmabuf_fd(buf); /* only of some hosts */
	if (fd >= 0)
		OWN(close(fd));
	if (MAKE(mr))
		END(ibv_dereg_mr(mr));
	ibv_free_buf(buf);
}

static void regions(void)
{
	struct ibv_mr_init_attr attr = { .length = 4096,
					 .access = IBV_ACCESS_LOCAL_WRITE,
					 .comp_mask = IBV_REG_MR_MASK_ADDR,
					 .addr = a.buf };
	struct ibv_mr *mr[5] = { ibv_reg_mr_ex(a.pd, &attr),
				 ibv_reg_mr_iova(a.pd, a.buf, 4096, 0, IBV_ACCESS_LOCAL_WRITE),
				 ibv_reg_mr_iova2(a.pd, a.buf, 4096, 0, IBV_ACCESS_LOCAL_WRITE),
				 a.mlx5 ? ibv_alloc_null_mr(a.pd) : NULL,
				 a.mlx5 ? ibv_reg_mr(a.pd, a.buf, 4096,
						     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND)
					: NULL };
	struct ibv_sge sge = { .addr = (uintptr_t)a.buf, .length = 4096 };

	did(mr[0] && mr[1] && mr[2] && ((mr[3] && mr[4]) || !a.mlx5), "a region");
	if (mr[0] &&
	    !DO(ibv_rereg_mr(mr[0], IBV_REREG_MR_CHANGE_TRANSLATION, NULL, a.buf, 8192, 0)))
		/* The region may be gone; it has to be deregistered all the same. */
		errno = 0;
	if (mr[4]) {
		sge.lkey = mr[4]->lkey;
		DO(ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH,
				 &sge, 1));
	}
	for (int i = 0; i < 5; i++)
		if (mr[i])
			END(ibv_dereg_mr(mr[i]));
}

static void domains(void)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_td *td = ibv_alloc_td(a.ctx, &td_attr);
	struct ibv_parent_domain_init_attr attr = { .pd = a.pd, .td = td };
	struct ibv_pd *parent = td ? ibv_alloc_parent_domain(a.ctx, &attr) : NULL;
	struct ibv_dmah_init_attr dmah_attr = { .comp_mask = IBV_DMAH_INIT_ATTR_MASK_PH, .ph = 3 };
	struct ibv_dmah *dmah = a.mlx5 ? ibv_alloc_dmah(a.ctx, &dmah_attr) : NULL;

	did(td && parent && (dmah || !a.mlx5), "a domain");
	if (parent)
		END(ibv_dealloc_pd(parent));
	if (td)
		END(ibv_dealloc_td(td));
	if (dmah)
		END(ibv_dealloc_dmah(dmah));
}

void part_memory(void)
{
	regions();
	buffers();
	dmabuf();
	domains();
	if (a.mlx5)
		device_memory();
}

/* ---- counters of completions ---- */

void part_comp_cntr(void)
{
	struct ibv_comp_cntr_init_attr attr = { .type = IBV_COMP_CNTR_TYPE_WRS };
	struct ibv_qp_attach_comp_cntr_attr attach = { .op_mask = IBV_QP_ATTACH_COMP_CNTR_OP_SEND };
	struct ibv_comp_cntr_caps caps = { 0 };
	struct ibv_comp_cntr *cntr = ibv_create_comp_cntr(a.ctx, &attr);
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL);
	uint64_t value;

	DO(ibv_query_comp_cntr_caps(a.ctx, &caps));
	if (MAKE(cntr)) {
		if (qp)
			DO(ibv_qp_attach_comp_cntr(qp, cntr, &attach));
		DO(ibv_set_comp_cntr(cntr, 5));
		DO(ibv_inc_comp_cntr(cntr, 1));
		DO(ibv_read_comp_cntr(cntr, &value));
		DO(ibv_set_err_comp_cntr(cntr, 5));
		DO(ibv_inc_err_comp_cntr(cntr, 1));
		DO(ibv_read_err_comp_cntr(cntr, &value));
	}
	end_qps(qp, NULL);
	if (cntr)
		END(ibv_destroy_comp_cntr(cntr));
}

/* ---- queue pairs and shared receive queues: what is asked and changed ---- */

void part_qp(void)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &srq_init);
	struct ibv_srq_attr srq_attr = { .srq_limit = 1 };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, srq);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_ece ece;

	if (MAKE(srq)) {
		DO(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT));
		DO(ibv_query_srq(srq, &srq_attr));
	}
	if (qp) {
		DO(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
		ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0);
		if (a.mlx5 && DO(ibv_query_ece(qp, &ece)))
			DO(ibv_set_ece(qp, &ece));
	}
	end_qps(qp, NULL);
	if (srq)
		END(ibv_destroy_srq(srq));
}

/* An event that has come, or that has to come if nothing may fail. */
static void take_async_event(void)
{
	struct pollfd p = { .fd = a.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (did(OWN(poll(&p, 1, a.strict ? 20000 : 0)) > 0, "an event") &&
	    did(!ibv_get_async_event(a.ctx, &event), "ibv_get_async_event"))
		ibv_ack_async_event(&event);
}

/* The last receive of a shared queue that had a limit raises an event. */
void part_async_event(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	struct ibv_qp *one = make_qp(IBV_QPT_RC, NULL),
		      *two = srq ? make_qp(IBV_QPT_RC, srq) : NULL;

	if (MAKE(srq) && connect_both(one, two)) {
		post_recv(NULL, srq, 4096);
		post_recv(NULL, srq, 4096);
		if (DO(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT))) {
			post(one, &wr, 64);
			reap("a shared queue", false, true);
			take_async_event();
		}
	}
	end_qps(one, two);
	if (srq)
		END(ibv_destroy_srq(srq));
}

/* ---- windows ---- */

void part_windows(void)
{
	struct ibv_mr *mr = ibv_reg_mr(a.pd, a.buf, BUF_BYTES, RIGHTS | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	struct ibv_qp *one = make_qp(IBV_QPT_RC, NULL), *two = make_qp(IBV_QPT_RC, NULL);
	struct ibv_mw_bind bind = { .wr_id = 1,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = mr,
						   .addr = (uintptr_t)a.buf,
						   .length = 4096,
						   .mw_access_flags = IBV_ACCESS_REMOTE_READ } };

	if (MAKE(mr) & MAKE(mw) && connect_both(one, two)) {
		a.sends += DO(ibv_bind_mw(one, mw, &bind));
		reap("a window", false, true);
	}
	end_qps(one, two);
	if (mw)
		END(ibv_dealloc_mw(mw));
	if (mr)
		END(ibv_dereg_mr(mr));
}
