/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

struct scenario a;

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void problem(const char *what, const char *why)
{
	a.problems++;
	OWN(fprintf(stderr, "problem: %s: %s\n", what, why));
}

bool did(bool good, const char *what)
{
	if (!good && a.strict)
		problem(what, strerror(errno));
	return good;
}

static bool find_gid(void)
{
	struct ibv_gid_entry e;
	struct ibv_port_attr port;

	if (!DO(ibv_query_port(a.ctx, 1, &port)))
		return false;
	a.lid = port.lid;
	a.ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	for (a.gid_index = 0; a.gid_index < port.gid_tbl_len; a.gid_index++)
		if (!ibv_query_gid_ex(a.ctx, 1, a.gid_index, &e, 0) &&
		    (!a.ethernet || (e.gid_type == IBV_GID_TYPE_ROCE_V2 && e.gid.raw[0] != 0xfe))) {
			a.gid = e.gid;
			return true;
		}
	return did(false, "a GID");
}

bool open_adapter(const char *name)
{
	struct ibv_device **list, **d;

	a = (struct scenario){ .strict = a.strict,
			       .faulty = a.faulty,
			       .lossy = a.lossy,
			       .problems = a.problems,
			       .buf = a.buf,
			       .name = name };
	if (!a.buf)
		a.buf = OWN(mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (a.buf == MAP_FAILED)
		abort();
	a.mlx5 = !strncmp(name, "mlx5", 4);
	list = ibv_get_device_list(NULL);
	if (!MAKE(list))
		return false;
	for (d = list; *d && strcmp(ibv_get_device_name(*d), name) != 0; d++)
		;
	if (MAKE(*d)) {
		a.ctx = ibv_open_device(*d);
		did(a.ctx, "ibv_open_device");
	}
	ibv_free_device_list(list);
	return a.ctx && find_gid();
}

bool open_queues(void)
{
	a.pd = ibv_alloc_pd(a.ctx);
	if (!MAKE(a.pd))
		return false;
	a.mr = ibv_reg_mr(a.pd, a.buf, BUF_BYTES, RIGHTS);
	a.channel = ibv_create_comp_channel(a.ctx);
	did(a.channel, "ibv_create_comp_channel");
	if (!MAKE(a.mr))
		return false;
	a.cq = ibv_create_cq(a.ctx, 500, NULL, a.channel, 0);
	return MAKE(a.cq);
}

void close_queues(void)
{
	if (a.cq)
		END(ibv_destroy_cq(a.cq));
	if (a.channel)
		END(ibv_destroy_comp_channel(a.channel));
	if (a.mr)
		END(ibv_dereg_mr(a.mr));
	if (a.pd)
		END(ibv_dealloc_pd(a.pd));
	if (a.ctx)
		END(ibv_close_device(a.ctx));
}

static bool some_open(bool receives)
{
	return a.sends || (receives && a.receives);
}

void reap(const char *what, bool receives, bool good)
{
	uint64_t end = now_ns() + WAIT_NS;
	struct ibv_wc wc;

	while (some_open(receives)) {
		int n = ibv_poll_cq(a.cq, 1, &wc);

		if (n < 0) {
			problem(what, "polling fails");
			return;
		}
		if (n && wc.status != IBV_WC_SUCCESS && good && a.strict)
			problem(what, ibv_wc_status_str(wc.status));
		if (n && wc.wr_id == OF_RECV)
			a.receives--;
		else if (n && wc.wr_id != OF_SRQ)
			a.sends--;
		if (!n && now_ns() > end) {
			problem(what, a.sends ? "a send that was accepted does not complete"
					      : "a receive that was accepted does not complete");
			a.sends = a.receives = 0;
		}
	}
}

bool receives_come(void)
{
	return a.strict && !a.lossy;
}

/* ---- queue pairs ---- */

/*
 * 4 ms where packets may be lost for want of memory, 67 ms where each one may be lost, and a second where others
 * may keep a process from running.
 */
uint8_t ack_timeout(void)
{
	return !a.strict ? 10 : a.faulty ? 14 : 18;
}

struct ibv_ah_attr address_of(const union ibv_gid *gid, uint16_t lid)
{
	struct ibv_ah_attr attr = { .port_num = 1, .dlid = lid };

	if (a.ethernet) {
		attr.is_global = 1;
		attr.grh.dgid = *gid;
		attr.grh.sgid_index = a.gid_index;
		attr.grh.hop_limit = 64;
	}
	return attr;
}

bool to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS, .qkey = QKEY
	};
	bool ud = qp->qp_type == IBV_QPT_UD;

	return DO(ibv_modify_qp(qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)));
}

bool connect_to(struct ibv_qp *qp, uint32_t qpn, const struct ibv_ah_attr *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = qpn,
				    .ah_attr = *to,
				    .max_dest_rd_atomic = 4,
				    .max_rd_atomic = 4,
				    .min_rnr_timer = 1,
				    .timeout = ack_timeout(),
				    .retry_cnt = 6,
				    .rnr_retry = 6 };
	int mask = IBV_QP_STATE, timeouts = 0;
	enum ibv_qp_type type = qp->qp_type;

	if (!to_init(qp))
		return false;
	if (type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (!DO(ibv_modify_qp(qp, &attr, mask)))
		return false;
	if (type == IBV_QPT_XRC_RECV)
		return true;
	attr.qp_state = IBV_QPS_RTS;
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		timeouts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_MAX_QP_RD_ATOMIC;
	return DO(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | timeouts));
}

bool connect_both(struct ibv_qp *one, struct ibv_qp *two)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);

	return one && two && connect_to(one, two->qp_num, &here) &&
	       connect_to(two, one->qp_num, &here);
}

struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.srq = srq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};
	struct ibv_qp *qp = ibv_create_qp(a.pd, &attr);

	did(qp, "ibv_create_qp");
	return qp;
}

void end_qps(struct ibv_qp *one, struct ibv_qp *two)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (one && one->state != IBV_QPS_RESET)
		END(ibv_modify_qp(one, &attr, IBV_QP_STATE));
	if (two && two->state != IBV_QPS_RESET)
		END(ibv_modify_qp(two, &attr, IBV_QP_STATE));
	reap("flush", true, false);
	if (one)
		END(ibv_destroy_qp(one));
	if (two)
		END(ibv_destroy_qp(two));
}

void post_recv(struct ibv_qp *qp, struct ibv_srq *srq, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf + HALF, len, a.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = srq ? OF_SRQ : OF_RECV, .sg_list = &sge, .num_sge = 1 },
			   *bad;

	if (srq)
		DO(ibv_post_srq_recv(srq, &wr, &bad));
	else
		a.receives += DO(ibv_post_recv(qp, &wr, &bad));
}

void post(struct ibv_qp *qp, struct ibv_send_wr *wr, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)a.buf, len, a.mr->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_SIGNALED;
	a.sends += DO(ibv_post_send(qp, wr, &bad));
}

void post_rdma(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t len, uint64_t addr, uint32_t rkey)
{
	struct ibv_send_wr wr = { .opcode = op };

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = addr;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = addr;
		wr.wr.rdma.rkey = rkey;
	}
	post(qp, &wr, len);
}
