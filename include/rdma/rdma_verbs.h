/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verbs on an rdma_cm_id: short forms that take the id and fill in its PD, QP and CQs.
 *
 * Everything here returns -1 with errno instead of the verbs' positive errno. Public ABI.
 */
#ifndef RDMA_VERBS_H
#define RDMA_VERBS_H

#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr);
int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr);
void rdma_destroy_srq(struct rdma_cm_id *id);

/* From "0 or an errno value" to "0 or -1 and errno". */
static inline int rdma_seterrno(int ret)
{
	if (!ret)
		return 0;
	errno = ret;
	return -1;
}

/* Memory, registered in the PD of the id for messages, as a read or as a write target. */

static inline struct ibv_mr *rdma_reg_msgs(struct rdma_cm_id *id, void *addr, size_t length)
{
	const int access = IBV_ACCESS_LOCAL_WRITE;

	return ibv_reg_mr(id->pd, addr, length, access);
}

static inline struct ibv_mr *rdma_reg_read(struct rdma_cm_id *id, void *addr, size_t length)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

	return ibv_reg_mr(id->pd, addr, length, access);
}

static inline struct ibv_mr *rdma_reg_write(struct rdma_cm_id *id, void *addr, size_t length)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	return ibv_reg_mr(id->pd, addr, length, access);
}

static inline int rdma_dereg_mr(struct ibv_mr *mr)
{
	int err = ibv_dereg_mr(mr);

	return rdma_seterrno(err);
}

/* The parts the calls below share; not for programs. */

static inline struct ibv_sge rdma_priv_sge(void *addr, size_t length, struct ibv_mr *mr)
{
	struct ibv_sge sge;

	sge.addr = (uint64_t)(uintptr_t)addr;
	sge.length = (uint32_t)length;
	sge.lkey = mr ? mr->lkey : 0; /* inline data needs no region */
	return sge;
}

static inline void rdma_priv_send_wr(struct ibv_send_wr *wr, enum ibv_wr_opcode opcode,
				     void *context, struct ibv_sge *sgl, int nsge, int flags)
{
	memset(wr, 0, sizeof(*wr));
	wr->opcode = opcode;
	wr->wr_id = (uintptr_t)context;
	wr->sg_list = sgl;
	wr->num_sge = nsge;
	wr->send_flags = flags;
}

static inline int rdma_priv_post_send(struct rdma_cm_id *id, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr;

	return rdma_seterrno(ibv_post_send(id->qp, wr, &bad_wr));
}

/*
 * One completion of cq, waiting on its channel if need be. Between arming and waiting the queue
 * is looked at once more: a completion that came before the arming raises no event.
 */
static inline int rdma_priv_get_comp(struct rdma_cm_id *id, struct ibv_cq *cq,
				     struct ibv_comp_channel *channel, struct ibv_wc *wc)
{
	for (;;) {
		struct ibv_cq *event_cq;
		void *event_context;
		int armed, n, err;

		for (armed = 0; armed < 2; armed++) {
			n = ibv_poll_cq(cq, 1, wc);
			if (n)
				return n < 0 ? rdma_seterrno(-n) : n;
			err = armed ? 0 : ibv_req_notify_cq(cq, 0);
			if (err)
				return rdma_seterrno(err);
		}

		err = ibv_get_cq_event(channel, &event_cq, &event_context);
		if (err)
			return err;
		assert(event_cq == cq && event_context == id);
		(void)id;
		ibv_ack_cq_events(cq, 1);
	}
}

/* Posting a scatter/gather list. */

static inline int rdma_post_recvv(struct rdma_cm_id *id, void *context, struct ibv_sge *sgl,
				  int nsge)
{
	struct ibv_recv_wr wr, *bad_wr;
	int err;

	memset(&wr, 0, sizeof(wr));
	wr.wr_id = (uintptr_t)context;
	wr.sg_list = sgl;
	wr.num_sge = nsge;

	err = id->srq ? ibv_post_srq_recv(id->srq, &wr, &bad_wr)
		      : ibv_post_recv(id->qp, &wr, &bad_wr);
	return rdma_seterrno(err);
}

static inline int rdma_post_sendv(struct rdma_cm_id *id, void *context, struct ibv_sge *sgl,
				  int nsge, int flags)
{
	struct ibv_send_wr wr;

	rdma_priv_send_wr(&wr, IBV_WR_SEND, context, sgl, nsge, flags);
	return rdma_priv_post_send(id, &wr);
}

static inline int rdma_post_readv(struct rdma_cm_id *id, void *context, struct ibv_sge *sgl,
				  int nsge, int flags, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_send_wr wr;

	rdma_priv_send_wr(&wr, IBV_WR_RDMA_READ, context, sgl, nsge, flags);
	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = remote_addr;
	return rdma_priv_post_send(id, &wr);
}

static inline int rdma_post_writev(struct rdma_cm_id *id, void *context, struct ibv_sge *sgl,
				   int nsge, int flags, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_send_wr wr;

	rdma_priv_send_wr(&wr, IBV_WR_RDMA_WRITE, context, sgl, nsge, flags);
	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = remote_addr;
	return rdma_priv_post_send(id, &wr);
}

/* Posting one buffer. Receives and reads need a region; sends and writes do unless inline. */

static inline int rdma_post_recv(struct rdma_cm_id *id, void *context, void *addr, size_t length,
				 struct ibv_mr *mr)
{
	struct ibv_sge sge = rdma_priv_sge(addr, length, mr);

	assert((uintptr_t)addr >= (uintptr_t)mr->addr &&
	       (uintptr_t)addr + length <= (uintptr_t)mr->addr + mr->length);
	return rdma_post_recvv(id, context, &sge, 1);
}

static inline int rdma_post_send(struct rdma_cm_id *id, void *context, void *addr, size_t length,
				 struct ibv_mr *mr, int flags)
{
	struct ibv_sge sge = rdma_priv_sge(addr, length, mr);

	return rdma_post_sendv(id, context, &sge, 1, flags);
}

static inline int rdma_post_read(struct rdma_cm_id *id, void *context, void *addr, size_t length,
				 struct ibv_mr *mr, int flags, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_sge sge = rdma_priv_sge(addr, length, mr);

	return rdma_post_readv(id, context, &sge, 1, flags, remote_addr, rkey);
}

static inline int rdma_post_write(struct rdma_cm_id *id, void *context, void *addr, size_t length,
				  struct ibv_mr *mr, int flags, uint64_t remote_addr, uint32_t rkey)
{
	struct ibv_sge sge = rdma_priv_sge(addr, length, mr);

	return rdma_post_writev(id, context, &sge, 1, flags, remote_addr, rkey);
}

static inline int rdma_post_ud_send(struct rdma_cm_id *id, void *context, void *addr, size_t length,
				    struct ibv_mr *mr, int flags, struct ibv_ah *ah,
				    uint32_t remote_qpn)
{
	struct ibv_sge sge = rdma_priv_sge(addr, length, mr);
	struct ibv_send_wr wr;

	rdma_priv_send_wr(&wr, IBV_WR_SEND, context, &sge, 1, flags);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = remote_qpn;
	wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
	return rdma_priv_post_send(id, &wr);
}

/* Waits for one completion: 1 and *wc, or -1 and errno. */

static inline int rdma_get_send_comp(struct rdma_cm_id *id, struct ibv_wc *wc)
{
	return rdma_priv_get_comp(id, id->send_cq, id->send_cq_channel, wc);
}

static inline int rdma_get_recv_comp(struct rdma_cm_id *id, struct ibv_wc *wc)
{
	return rdma_priv_get_comp(id, id->recv_cq, id->recv_cq_channel, wc);
}

#ifdef __cplusplus
}
#endif

#endif /* RDMA_VERBS_H */
