/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sequences of calls of libibverbs with any arguments, on an adapter of each driver: objects from a pool, objects of
 * the other adapter, copies of objects that are destroyed, sizes at and beyond the limits.
 *
 * Calls may fail, with an error; what was created can be destroyed in the end, and then nothing is left. Posting and
 * polling take objects as they are, hence get living ones only.
 *
 * Input: steps of a byte that says which call, and the bytes of its arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "input.h"

#define PLACES     4u
#define STEPS_MOST 60u
#define BYTES      65536u

/* The order is that in which objects can be destroyed. */
enum kind {
	FLOW,
	QP,
	TABLE,
	WQ,
	SRQ,
	MW,
	AH,
	CQ,
	MR,
	DM,
	COUNTERS,
	CHANNEL,
	XRCD,
	PARENT,
	TD,
	PD,
	KINDS
};

union copy {
	struct ibv_pd pd;
	struct ibv_mr mr;
	struct ibv_cq cq;
	struct ibv_qp qp;
	struct ibv_srq srq;
	struct ibv_wq wq;
	struct ibv_ah ah;
	struct ibv_mw mw;
	struct ibv_rwq_ind_table table;
	struct ibv_xrcd *xrcd;
};

struct place {
	void *object; /* NULL: none */
	int device;
	bool has_stale;
	union copy stale; /* of the object that was here before */
};

static struct input in;
static struct ibv_context *devices[2];
static struct place pool[KINDS][PLACES];
static uint8_t memory[BYTES] __attribute__((aligned(4096)));

/* Multicast groups that queue pairs have joined. */
static struct group {
	struct ibv_qp *qp;
	union ibv_gid gid;
	uint16_t lid;
} groups[STEPS_MOST];
static unsigned int group_count;

static uint8_t u8(void)
{
	return input_u8(&in);
}

/* ---- the pool ---- */

static const size_t sizes[KINDS] = {
	[QP] = sizeof(struct ibv_qp), [TABLE] = sizeof(struct ibv_rwq_ind_table),
	[WQ] = sizeof(struct ibv_wq), [SRQ] = sizeof(struct ibv_srq),
	[MW] = sizeof(struct ibv_mw), [AH] = sizeof(struct ibv_ah),
	[CQ] = sizeof(struct ibv_cq), [MR] = sizeof(struct ibv_mr),
	[PD] = sizeof(struct ibv_pd),
};

static struct place *any_place(enum kind kind)
{
	return &pool[kind][u8() % PLACES];
}

/* A living object, mostly; or a copy of a dead one. NULL: the place is empty. */
static void *any(enum kind kind)
{
	struct place *p = any_place(kind);

	if (p->object || !p->has_stale)
		return p->object;
	return &p->stale;
}

static void *living(enum kind kind)
{
	return any_place(kind)->object;
}

/* Takes the object over; when there is no place for it the one there goes first. */
static void keep(enum kind kind, void *object);

static int destroy(enum kind kind, void *object)
{
	switch (kind) {
	case FLOW:
		return ibv_destroy_flow(object);
	case QP:
		return ibv_destroy_qp(object);
	case TABLE:
		return ibv_destroy_rwq_ind_table(object);
	case WQ:
		return ibv_destroy_wq(object);
	case SRQ:
		return ibv_destroy_srq(object);
	case MW:
		return ibv_dealloc_mw(object);
	case AH:
		return ibv_destroy_ah(object);
	case CQ:
		return ibv_destroy_cq(object);
	case MR:
		return ibv_dereg_mr(object);
	case DM:
		return ibv_free_dm(object);
	case COUNTERS:
		return ibv_destroy_counters(object);
	case CHANNEL:
		return ibv_destroy_comp_channel(object);
	case XRCD:
		return ibv_close_xrcd(object);
	case TD:
		return ibv_dealloc_td(object);
	default:
		return ibv_dealloc_pd(object);
	}
}

static bool remove_at(enum kind kind, struct place *p)
{
	union copy stale = { 0 };

	if (!p->object)
		return true;
	if (sizes[kind])
		memcpy(&stale, p->object, sizes[kind]);
	if (destroy(kind, p->object))
		return false;
	p->object = NULL;
	p->has_stale = sizes[kind];
	p->stale = stale;
	return true;
}

static void keep(enum kind kind, void *object)
{
	struct place *p = any_place(kind);

	if (!object)
		return;
	if (!remove_at(kind, p)) {
		CHECK(!destroy(kind, object));
		return;
	}
	p->object = object;
}

static struct ibv_context *device(void)
{
	return devices[u8() % 2];
}

/* ---- arguments ---- */

static uint32_t number(void)
{
	uint8_t how = u8();

	switch (how >> 6) {
	case 0:
		return how & 63;
	case 1:
		return 1u << (how & 31);
	case 2:
		return (1u << (how & 31)) - 1;
	default:
		return input_u32(&in);
	}
}

static void *address(void)
{
	return memory + input_u16(&in);
}

static uint32_t key(bool remote)
{
	struct ibv_mr *mr = living(MR);
	uint8_t how = u8();

	if (!mr || how > 200)
		return number();
	return remote ? mr->rkey : mr->lkey;
}

static struct ibv_ah_attr path(void)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	uint8_t how = u8();

	a.grh.sgid_index = u8() % 8;
	ibv_query_gid(devices[how & 1], 1, a.grh.sgid_index, &a.grh.dgid);
	if (how & 2)
		a.port_num = u8();
	if (how & 4)
		a.is_global = 0;
	if (how & 8)
		a.dlid = input_u16(&in);
	if (how & 16)
		input_bytes(&in, &a.grh.dgid, sizeof(a.grh.dgid));
	if (how & 32)
		a.grh.sgid_index = u8();
	if (how & 64) {
		a.sl = u8();
		a.static_rate = u8();
		a.src_path_bits = u8();
	}
	return a;
}

/* ---- calls ---- */

static void make_pd(void)
{
	keep(PD, ibv_alloc_pd(device()));
}

static void make_td(void)
{
	struct ibv_td_init_attr a = { .comp_mask = u8() & 1 };

	keep(TD, ibv_alloc_td(device(), &a));
}

static void make_parent(void)
{
	struct ibv_parent_domain_init_attr a = { .pd = living(PD),
						 .td = living(TD),
						 .comp_mask = u8() & 1 };

	if (a.pd)
		keep(PARENT, ibv_alloc_parent_domain(device(), &a));
}

static struct ibv_pd *domain(void)
{
	return u8() & 8 && living(PARENT) ? living(PARENT) : any(PD);
}

static void make_mr(void)
{
	struct ibv_pd *pd = domain();
	void *at = address();
	uint32_t len = number();
	uint8_t how = u8();
	uint32_t access = how & 0x80 ? input_u32(&in) : how & 0x7f;

	/* Memory beyond the buffer belongs to others. */
	if (len > BYTES)
		len = BYTES;
	access &= ~(uint32_t)IBV_ACCESS_HUGETLB;
	if (pd && how & 0x40 && u8() & 1)
		keep(MR, ibv_reg_mr_iova(pd, at, len, input_u64(&in), access));
	else if (pd)
		keep(MR, ibv_reg_mr(pd, at, len, access));
}

static void make_special_mr(void)
{
	struct ibv_pd *pd = any(PD);
	struct ibv_dm *dm = living(DM);

	if (pd && u8() & 1)
		keep(MR, ibv_alloc_null_mr(pd));
	else if (pd && dm)
		keep(MR, ibv_reg_dm_mr(pd, dm, number(), number(), u8() | IBV_ACCESS_ZERO_BASED));
}

static void change_mr(void)
{
	struct ibv_mr *mr = living(MR);
	void *at = address();
	uint32_t len = number();

	if (mr && len <= BYTES)
		ibv_rereg_mr(mr, u8(), any(PD), at, len, u8());
}

static void make_dm(void)
{
	struct ibv_alloc_dm_attr a = { .length = number(),
				       .log_align_req = u8(),
				       .comp_mask = u8() & 1 };

	if (a.length > 1 << 20)
		a.length = 1 << 20;
	keep(DM, ibv_alloc_dm(device(), &a));
}

static void copy_dm(void)
{
	static uint8_t bytes[4096];
	struct ibv_dm *dm = living(DM);
	uint64_t off = u8() & 1 ? input_u64(&in) : number();
	size_t len = input_u16(&in) % sizeof(bytes);

	if (dm && u8() & 1)
		ibv_memcpy_to_dm(dm, off, bytes, len);
	else if (dm)
		ibv_memcpy_from_dm(bytes, dm, off, len);
}

static void make_mw(void)
{
	struct ibv_pd *pd = any(PD);

	if (pd)
		keep(MW, ibv_alloc_mw(pd, u8() % 4));
}

static void make_channel(void)
{
	struct ibv_comp_channel *c = ibv_create_comp_channel(device());

	if (c)
		fcntl(c->fd, F_SETFL, O_NONBLOCK);
	keep(CHANNEL, c);
}

static void make_cq(void)
{
	uint32_t entries = number();
	struct ibv_cq_init_attr_ex a = { .cqe = entries,
					 .channel = living(CHANNEL),
					 .comp_vector = u8() % 4,
					 .wc_flags = u8(),
					 .comp_mask = u8() & 3,
					 .flags = u8() & 3 };

	/* Rings of gigabytes are refused or not by the machine's memory. */
	if (entries > 4096 && entries < 1u << 23)
		return;
	a.parent_domain = living(PARENT);
	if (u8() & 1)
		keep(CQ,
		     ibv_create_cq(device(), (int)entries, NULL, a.channel, (int)a.comp_vector));
	else
		keep(CQ, ibv_create_cq_ex(device(), &a));
}

static void change_cq(void)
{
	struct ibv_modify_cq_attr a = { .attr_mask = u8() & 3,
					.moderate = { input_u16(&in), input_u16(&in) } };
	struct ibv_cq *cq = any(CQ);
	uint32_t entries = number();

	if (!cq)
		return;
	if (u8() & 1)
		ibv_modify_cq(cq, &a);
	else if (entries <= 4096 || entries >= 1u << 23)
		ibv_resize_cq(cq, (int)entries);
}

static void poll_cq(void)
{
	struct ibv_cq *cq = living(CQ);
	struct ibv_comp_channel *channel = living(CHANNEL);
	struct ibv_wc wc[4];
	void *context;

	if (cq) {
		ibv_poll_cq(cq, u8() % 5, wc);
		ibv_req_notify_cq(cq, u8() & 1);
	}
	if (channel && !ibv_get_cq_event(channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static void make_srq(void)
{
	struct ibv_srq_init_attr_ex a = {
		.attr = { .max_wr = number(), .max_sge = u8(), .srq_limit = u8() & 1 },
		.comp_mask = u8(),
		.srq_type = u8() % 4,
		.pd = any(PD),
		.xrcd = living(XRCD),
		.cq = any(CQ),
	};
	struct ibv_srq_init_attr plain = { .attr = a.attr };

	a.tm_cap.max_num_tags = u8();
	a.tm_cap.max_ops = u8();
	if (!a.pd || (a.attr.max_wr > 4096 && a.attr.max_wr < 1u << 24))
		return;
	if (u8() & 1)
		keep(SRQ, ibv_create_srq(a.pd, &plain));
	else
		keep(SRQ, ibv_create_srq_ex(device(), &a));
}

static void change_srq(void)
{
	struct ibv_srq *srq = any(SRQ);
	struct ibv_srq_attr a = { .max_wr = number(), .srq_limit = number() };
	uint32_t n;

	if (!srq)
		return;
	if (a.max_wr <= 4096 || a.max_wr >= 1u << 24)
		ibv_modify_srq(srq, &a, u8());
	ibv_query_srq(srq, &a);
	ibv_get_srq_num(srq, &n);
}

static uint32_t some(void)
{
	uint32_t n = number();

	return n > 1024 && n < 1u << 20 ? 1024 : n;
}

static void make_qp(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC,       IBV_QPT_UC,
						  IBV_QPT_UD,       IBV_QPT_RAW_PACKET,
						  IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
						  IBV_QPT_DRIVER,   0 };
	struct ibv_qp_init_attr_ex a = {
		.send_cq = any(CQ),
		.recv_cq = any(CQ),
		.srq = u8() & 1 ? any(SRQ) : NULL,
		.cap = { some(), some(), u8() % 40, u8() % 40, number() },
		.qp_type = types[u8() % (sizeof(types) / sizeof(types[0]))],
		.sq_sig_all = u8(),
		.pd = domain(),
		.xrcd = living(XRCD),
	};
	struct ibv_qp_init_attr plain = { .send_cq = a.send_cq,
					  .recv_cq = a.recv_cq,
					  .srq = a.srq,
					  .cap = a.cap,
					  .qp_type = a.qp_type,
					  .sq_sig_all = a.sq_sig_all };
	uint8_t how = u8();

	if (how & 1) {
		if (a.pd)
			keep(QP, ibv_create_qp(a.pd, &plain));
		return;
	}
	a.comp_mask = how & 2 ? input_u32(&in)
			      : IBV_QP_INIT_ATTR_PD | (how & 4 ? IBV_QP_INIT_ATTR_XRCD : 0);
	a.create_flags = how & 8 ? input_u16(&in) : 0;
	a.send_ops_flags = how & 16 ? input_u32(&in) : 0;
	a.rwq_ind_tbl = living(TABLE);
	a.rx_hash_conf.rx_hash_function = u8() % 3;
	a.rx_hash_conf.rx_hash_key_len = u8() & 1 ? 40 : u8() % 41;
	a.rx_hash_conf.rx_hash_key = memory;
	a.rx_hash_conf.rx_hash_fields_mask = input_u16(&in);
	keep(QP, ibv_create_qp_ex(device(), &a));
}

static void make_good_qp(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_RAW_PACKET };
	struct ibv_qp_init_attr a = { .send_cq = living(CQ),
				      .cap = { 16, 16, 2, 2, 64 },
				      .qp_type = types[u8() % 4] };
	struct ibv_pd *pd = living(PD);

	a.recv_cq = a.send_cq;
	if (pd && a.send_cq)
		keep(QP, ibv_create_qp(pd, &a));
}

static struct ibv_qp_attr any_attr(void)
{
	struct ibv_qp_attr a = { .qp_state = u8() % 8,
				 .cur_qp_state = u8() % 8,
				 .path_mtu = u8() % 7,
				 .path_mig_state = u8() % 4,
				 .qkey = 0x11111111,
				 .rq_psn = number(),
				 .sq_psn = number(),
				 .dest_qp_num = number(),
				 .qp_access_flags = u8(),
				 .port_num = u8() % 3,
				 .max_rd_atomic = u8() % 20,
				 .max_dest_rd_atomic = u8() % 20,
				 .min_rnr_timer = u8() % 33,
				 .timeout = u8() % 33,
				 .retry_cnt = u8() % 9,
				 .rnr_retry = u8() % 9,
				 .rate_limit = number() };

	a.ah_attr = path();
	if (u8() & 1)
		a.alt_ah_attr = path();
	return a;
}

static void change_qp(void)
{
	struct ibv_qp *qp = any(QP);
	struct ibv_qp_attr a = any_attr();
	struct ibv_qp_init_attr init;

	if (!qp)
		return;
	ibv_modify_qp(qp, &a, (int)input_u32(&in));
	ibv_query_qp(qp, &a, (int)input_u32(&in), &init);
}

/* On the way to RTS, to a queue pair of the same type. */
static void connect_qp(void)
{
	struct ibv_qp *qp = living(QP), *peer = living(QP);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
				 .port_num = 1,
				 .qkey = 0x11111111,
				 .qp_access_flags = 0xf,
				 .path_mtu = IBV_MTU_1024,
				 .max_rd_atomic = 4,
				 .max_dest_rd_atomic = 4,
				 .min_rnr_timer = 1,
				 .timeout = 8,
				 .retry_cnt = 1,
				 .rnr_retry = 1 };
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT, rtr = IBV_QP_STATE,
	    rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (!qp || !peer)
		return;
	a.dest_qp_num = peer->qp_num;
	a.ah_attr = path();
	if (qp->qp_type == IBV_QPT_RAW_PACKET) {
		init = IBV_QP_STATE | IBV_QP_PORT;
		rts = IBV_QP_STATE;
	} else if (qp->qp_type == IBV_QPT_UD) {
		init |= IBV_QP_QKEY;
	} else {
		init |= IBV_QP_ACCESS_FLAGS;
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
		if (qp->qp_type != IBV_QPT_UC) {
			rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
			rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_MAX_QP_RD_ATOMIC;
		}
	}
	ibv_modify_qp(qp, &a, init);
	a.qp_state = IBV_QPS_RTR;
	ibv_modify_qp(qp, &a, rtr);
	a.qp_state = IBV_QPS_RTS;
	ibv_modify_qp(qp, &a, rts);
}

static int any_sges(struct ibv_sge *sge, int most)
{
	int n = u8() % (most + 1);

	for (int i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)address();
		sge[i].length = number() % BYTES;
		if (sge[i].addr + sge[i].length > (uintptr_t)memory + BYTES)
			sge[i].length = 8; /* inline data is read by the caller */
		sge[i].lkey = key(false);
	}
	return n;
}

static void post_send(void)
{
	struct ibv_qp *qp = living(QP);
	struct ibv_send_wr wr[2] = { { .next = &wr[1] } }, *bad;
	struct ibv_sge sge[2][4];

	if (!qp)
		return;
	for (int i = 0; i < 2; i++) {
		struct ibv_ah *ah = living(AH);

		wr[i].opcode = u8() % 20;
		wr[i].send_flags = u8() & 0x3f;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = any_sges(sge[i], 4);
		wr[i].imm_data = key(true);
		if (qp->qp_type == IBV_QPT_UD) {
			if (!ah) /* the address handle is the caller's to give */
				return;
			wr[i].wr.ud.ah = ah;
			wr[i].wr.ud.remote_qpn = number();
			wr[i].wr.ud.remote_qkey = 0x11111111;
		} else if (wr[i].opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
			   wr[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr[i].wr.atomic.remote_addr = (uintptr_t)address();
			wr[i].wr.atomic.rkey = key(true);
		} else if (wr[i].opcode == IBV_WR_BIND_MW) {
			wr[i].bind_mw.mw = living(MW);
			wr[i].bind_mw.rkey = number();
			wr[i].bind_mw.bind_info.mr = living(MR);
			wr[i].bind_mw.bind_info.addr = (uintptr_t)address();
			wr[i].bind_mw.bind_info.length = number();
			wr[i].bind_mw.bind_info.mw_access_flags = u8();
			if (!wr[i].bind_mw.mw)
				return;
		} else if (wr[i].opcode == IBV_WR_TSO) {
			wr[i].tso.hdr = memory;
			wr[i].tso.hdr_sz = u8();
			wr[i].tso.mss = input_u16(&in);
		} else {
			wr[i].wr.rdma.remote_addr = (uintptr_t)address();
			wr[i].wr.rdma.rkey = key(true);
		}
		if (u8() & 1) {
			wr[0].next = i ? wr[0].next : NULL;
			break;
		}
	}
	ibv_post_send(qp, wr, &bad);
}

static void post_recv(void)
{
	struct ibv_sge sge[4];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;
	struct ibv_qp *qp = living(QP);
	struct ibv_srq *srq = living(SRQ);
	struct ibv_wq *wq = living(WQ);
	uint8_t how = u8();

	wr.num_sge = any_sges(sge, 4);
	if (how & 1 && srq)
		ibv_post_srq_recv(srq, &wr, &bad);
	else if (how & 2 && wq)
		ibv_post_wq_recv(wq, &wr, &bad);
	else if (qp && qp->qp_type != IBV_QPT_XRC_RECV && qp->qp_type != IBV_QPT_XRC_SEND)
		ibv_post_recv(qp, &wr, &bad);
}

static void bind_window(void)
{
	struct ibv_qp *qp = living(QP);
	struct ibv_mw *mw = living(MW);
	struct ibv_mw_bind b = { .bind_info = { .mr = living(MR),
						.addr = (uintptr_t)address(),
						.length = number(),
						.mw_access_flags = u8() },
				 .send_flags = u8() & 0x1f };

	if (qp && mw)
		ibv_bind_mw(qp, mw, &b);
}

static void make_ah(void)
{
	struct ibv_ah_attr a = path();
	struct ibv_pd *pd = any(PD);

	if (pd)
		keep(AH, ibv_create_ah(pd, &a));
}

static void ah_from_wc(void)
{
	struct ibv_wc wc = { .wc_flags = u8(), .slid = u8(), .sl = u8(), .src_qp = number() };
	struct ibv_pd *pd = any(PD);
	struct ibv_ah_attr a;
	struct ibv_grh grh;

	input_bytes(&in, memory, sizeof(grh));
	memcpy(&grh, memory, sizeof(grh));
	ibv_init_ah_from_wc(device(), u8() % 3, &wc, &grh, &a);
	if (pd)
		keep(AH, ibv_create_ah_from_wc(pd, &wc, &grh, u8() % 3));
}

static void multicast(void)
{
	struct ibv_qp *qp = any(QP);
	union ibv_gid gid = { .raw = { 0xff, 0x0e, [15] = u8() } };
	uint16_t lid = (uint16_t)(0xc000 + u8());

	if (u8() & 1)
		gid.raw[0] = u8();
	if (!qp)
		return;
	if (u8() & 1) {
		if (group_count < sizeof(groups) / sizeof(groups[0]) &&
		    !ibv_attach_mcast(qp, &gid, lid))
			groups[group_count++] = (struct group){ qp, gid, lid };
	} else {
		ibv_detach_mcast(qp, &gid, lid);
	}
}

/* A queue pair in a group is in use. */
static void leave_groups(void)
{
	for (unsigned int i = 0; i < group_count; i++)
		for (unsigned int k = 0; k < PLACES; k++)
			if (pool[QP][k].object == groups[i].qp)
				ibv_detach_mcast(groups[i].qp, &groups[i].gid, groups[i].lid);
	group_count = 0;
}

static void make_xrcd(void)
{
	struct ibv_xrcd_init_attr a = { .comp_mask = u8() & 3, .fd = -1, .oflags = O_CREAT };

	keep(XRCD, ibv_open_xrcd(device(), &a));
}

static void make_wq(void)
{
	struct ibv_wq_init_attr a = { .wq_type = u8() & 1,
				      .max_wr = some(),
				      .max_sge = u8(),
				      .pd = any(PD),
				      .cq = any(CQ),
				      .comp_mask = u8() & 3,
				      .create_flags = u8() & 0x1f };

	if (a.pd && a.cq)
		keep(WQ, ibv_create_wq(device(), &a));
}

static void change_wq(void)
{
	struct ibv_wq_attr a = { .attr_mask = u8() & 7,
				 .wq_state = u8() % 4,
				 .curr_wq_state = u8() % 4,
				 .flags = u8(),
				 .flags_mask = u8() };
	struct ibv_wq *wq = any(WQ);

	if (wq)
		ibv_modify_wq(wq, &a);
}

static void make_table(void)
{
	struct ibv_wq *wqs[4] = { living(WQ), living(WQ), living(WQ), living(WQ) };
	struct ibv_rwq_ind_table_init_attr a = { .log_ind_tbl_size = u8() % 3,
						 .ind_tbl = wqs,
						 .comp_mask = u8() & 1 };

	for (int i = 0; i < 4; i++)
		if (!wqs[i])
			return;
	keep(TABLE, ibv_create_rwq_ind_table(device(), &a));
}

static void make_flow(void)
{
	struct {
		struct ibv_flow_attr attr;
		uint8_t specs[200];
	} __attribute__((packed, aligned(8))) f = { 0 };
	struct ibv_flow_spec_eth *eth = (void *)f.specs;
	struct ibv_qp *qp = any(QP);

	f.attr = (struct ibv_flow_attr){ .comp_mask = u8() & 1,
					 .type = u8() % 5,
					 .size = sizeof(f),
					 .priority = u8(),
					 .num_of_specs = u8() % 4,
					 .port = 1,
					 .flags = u8() & 7 };
	*eth = (struct ibv_flow_spec_eth){ .type = IBV_FLOW_SPEC_ETH, .size = sizeof(*eth) };
	input_bytes(&in, u8() & 1 ? f.specs : f.specs + sizeof(*eth), 100);
	if (qp)
		keep(FLOW, ibv_create_flow(qp, &f.attr));
}

static void counters(void)
{
	struct ibv_counters_init_attr a = { .comp_mask = u8() & 1 };
	struct ibv_counter_attach_attr attach = { .counter_desc = u8() % 3,
						  .index = u8(),
						  .comp_mask = u8() & 1 };
	struct ibv_counters *c = living(COUNTERS);
	uint64_t values[4];

	if (!c) {
		keep(COUNTERS, ibv_create_counters(device(), &a));
		return;
	}
	if (living(FLOW))
		ibv_attach_counters_point_flow(c, &attach, living(FLOW));
	ibv_read_counters(c, values, u8() % 5, u8() & 1);
}

static void query(void)
{
	struct ibv_context *d = device();
	struct ibv_query_device_ex_input input = { .comp_mask = u8() & 1 };
	struct ibv_device_attr_ex attr;
	struct ibv_port_attr port;
	struct ibv_gid_entry entries[4];
	struct ibv_values_ex values = { .comp_mask = u8() };
	union ibv_gid gid;
	__be16 pkey;

	ibv_query_device_ex(d, &input, &attr);
	ibv_query_port(d, u8(), &port);
	ibv_query_gid(d, u8() % 4, (int)number(), &gid);
	ibv_query_pkey(d, u8() % 4, (int)number(), &pkey);
	ibv_query_gid_ex(d, u8() % 4, number(), entries, u8());
	ibv_query_gid_table(d, entries, u8() % 5, u8() & 1);
	ibv_query_rt_values_ex(d, &values);
}

static void events(void)
{
	struct ibv_async_event e;
	struct ibv_context *d = device();

	for (int i = 0; i < 16 && !ibv_get_async_event(d, &e); i++)
		ibv_ack_async_event(&e);
}

static void advise(void)
{
	struct ibv_sge sge[4];
	struct ibv_pd *pd = any(PD);
	int n = any_sges(sge, 4);

	if (pd)
		ibv_advise_mr(pd, u8() % 4, u8(), sge, (uint32_t)n);
}

static void remove_one(void)
{
	enum kind kind = u8() % KINDS;
	struct place *p = any_place(kind);

	if (p->object)
		remove_at(kind, p);
	else if (p->has_stale &&
		 kind != PD) /* that of a parent domain cannot be told by its handle */
		CHECK(destroy(kind, &p->stale)); /* again */
}

static void misc(void)
{
	struct ibv_ece ece = { .vendor_id = number(), .options = number(), .comp_mask = u8() };
	struct ibv_qp *qp = living(QP);

	if (!qp)
		return;
	ibv_set_ece(qp, &ece);
	ibv_query_ece(qp, &ece);
	ibv_query_qp_data_in_order(qp, u8() % 20, u8());
	ibv_qp_to_qp_ex(qp);
}

static void (*const calls[])(void) = {
	make_pd,      make_mr,   make_cq,   make_qp,    change_qp, connect_qp,   post_send,
	post_recv,    poll_cq,   make_srq,  change_srq, make_ah,   make_mw,      bind_window,
	remove_one,   change_cq, change_mr, make_dm,    copy_dm,   make_channel, make_special_mr,
	make_good_qp, multicast, make_xrcd, make_wq,    change_wq, make_table,   make_flow,
	counters,     query,     events,    advise,     misc,      ah_from_wc,   make_td,
	make_parent,
};

/* ---- begin and end ---- */

static void open_devices(void)
{
	struct ibv_device **list;
	int count;

	setenv("VERBENA_ADAPTERS", "mlx5_0;mlx4_0", 1);
	list = ibv_get_device_list(&count);
	CHECK(list && count == 2);
	for (int i = 0; i < 2; i++) {
		devices[i] = ibv_open_device(list[i]);
		CHECK(devices[i]);
		fcntl(devices[i]->async_fd, F_SETFL, O_NONBLOCK);
	}
	ibv_free_device_list(list);
}

static void clean_up(void)
{
	struct ibv_async_event e;
	unsigned int left = 0;

	for (int i = 0; i < 2; i++)
		while (!ibv_get_async_event(devices[i], &e))
			ibv_ack_async_event(&e);
	leave_groups();
	for (int turn = 0; turn < 3; turn++)
		for (unsigned int kind = 0; kind < KINDS; kind++)
			for (unsigned int i = 0; i < PLACES; i++)
				remove_at(kind, &pool[kind][i]);
	for (unsigned int kind = 0; kind < KINDS; kind++)
		for (unsigned int i = 0; i < PLACES; i++)
			left += !!pool[kind][i].object;
	CHECK(!left);
	memset(pool, 0, sizeof(pool));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!devices[0])
		open_devices();
	in = (struct input){ data, size };
	for (unsigned int i = 0; i < STEPS_MOST && in.left; i++)
		calls[u8() % (sizeof(calls) / sizeof(calls[0]))]();
	clean_up();
	return 0;
}
