/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work as a program may write it into its rings by hand, executed by the adapter: entries of send, receive and shared
 * receive queues and doorbell records, in the formats of both drivers, on two queue pairs that are connected to each
 * other.
 *
 * Nothing crashes or hangs, and memory that no key opens for writing stays as it is.
 *
 * Input: a byte of adapter and type of queue pair, then steps. An entry of a ring is bytes of the input, whose head gets
 * the index, number and owner that belong there, with up to four places that get a key, an address or a number.
 */
#include <endian.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "hca/engine/poll.h"
#include "hca/transport/rq.h"
#include "hca/transport/sq.h"
#include "input.h"
#include "verbs/objects.h"

#define STEPS_MOST 40u
#define OPEN_BYTES 16384u
#define QUEUE      16
#define QKEY       0x11111111u

enum { RC, UC, UD, RAW, SHARED, DC, TYPES };
enum step {
	STEP_SEND,
	STEP_RECV,
	STEP_POLL,
	STEP_CQ_DB,
	STEP_SQ_DB,
	STEP_RQ_DB,
	STEP_ARM,
	STEP_STATE,
	STEPS
};

static struct input in;
static struct ibv_context *devices[2];
static bool is_mlx4;
/* Of the adapter in use. */
static struct ibv_pd *pds[2], *pd;
static struct ibv_mr *opens[2], *guards[2], *open_mr, *guard_mr;
static struct ibv_cq *cq;
static struct ibv_srq *srq;
static struct ibv_qp *qps[2];
static uint32_t posted[2];
static uint16_t received[2];
static uint8_t guard[3 * 4096] __attribute__((aligned(4096)));
static uint8_t memory[OPEN_BYTES] __attribute__((aligned(4096)));

static uint8_t u8(void)
{
	return input_u8(&in);
}

static struct hca_qp *inside(unsigned int i)
{
	return to_qp(qps[i])->hca;
}

/* ---- entries ---- */

static void put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static void patch(uint8_t *entry, size_t len)
{
	for (unsigned int n = u8() % 5; n; n--) {
		uint8_t what = u8();
		size_t at = (size_t)(what >> 3) * 4;

		if (at + 8 > len)
			continue;
		switch (what & 7) {
		case 0:
			put32(entry + at, open_mr->lkey);
			break;
		case 1:
			put64(entry + at, (uintptr_t)memory + u8() * 64);
			break;
		case 2:
			put32(entry + at, guard_mr->lkey);
			break;
		case 3:
			put64(entry + at, (uintptr_t)guard + u8() * 32);
			break;
		case 4:
			put32(entry + at, qps[0]->qp_num);
			break;
		case 5: /* a data segment */
			put32(entry + at, u8() * 16u);
			if (at + 16 > len)
				break;
			put32(entry + at + 4, open_mr->lkey);
			put64(entry + at + 8, (uintptr_t)memory + u8() * 32);
			break;
		case 6: /* a remote address */
			put64(entry + at, (uintptr_t)memory + u8() * 32);
			if (at + 16 <= len)
				put32(entry + at + 8, open_mr->rkey);
			break;
		default:
			put32(entry + at, 0xfffffffeu);
			break;
		}
	}
}

static void seal(const struct hca_qp *qp, uint8_t *slot, uint32_t index)
{
	uint32_t word;

	memcpy(&word, slot, sizeof(word));
	word = be32toh(word);
	if (is_mlx4) {
		put32(slot, (word & ~(1u << 31)) | (index & qp->sq.size ? 1u << 31 : 0));
		return;
	}
	put32(slot, (word & 0xff0000ff) | (index & 0xffff) << 8);
	memcpy(&word, slot + 4, sizeof(word));
	put32(slot + 4, qp->qpn << 8 | (be32toh(word) & 0x3f));
}

static void ring(unsigned int i)
{
	struct hca_qp *qp = inside(i);

	fabric_lock(&qp->lock);
	if (qp->sq.db)
		*qp->sq.db = htobe32(posted[i] & 0xffff);
	hca_sq_doorbell(qp, posted[i]);
	fabric_unlock(&qp->lock);
}

static void send_one(unsigned int i)
{
	struct hca_qp *qp = inside(i);
	uint8_t entry[512] = { 0 }, how = u8();
	size_t slot = (size_t)1 << qp->sq.slot_shift, len, bytes = (size_t)qp->sq.size * slot;
	uint32_t blocks;

	if (!qp->sq.size)
		return;
	len = input_bytes(&in, entry, 16 + (how & 0x7f) * 4u > 512 ? 512 : 16 + (how & 0x7f) * 4u);
	patch(entry, sizeof(entry));
	if (len < 64)
		len = 64;
	if (how & 0x80)
		seal(qp, entry, posted[i]);
	for (size_t at = 0; at < len && at < bytes; at++)
		((uint8_t *)qp->sq
			 .buf)[((size_t)(posted[i] & (qp->sq.size - 1)) * slot + at) % bytes] =
			entry[at];
	blocks = is_mlx4 ? 1 : ((entry[7] & 0x3f) + 3u) / 4;
	posted[i] += blocks ? blocks : 1;
	ring(i);
}

static void recv_one(unsigned int i)
{
	struct hca_qp *qp = inside(i);
	struct hca_rq_ring *rq = srq ? &to_srq(srq)->hca->ring : &qp->rq;
	uint8_t entry[128] = { 0 };
	size_t slot = (size_t)1 << rq->slot_shift;

	if (!rq->size)
		return;
	input_bytes(&in, entry, u8() % sizeof(entry));
	patch(entry, sizeof(entry));
	if (slot > sizeof(entry))
		slot = sizeof(entry);
	memcpy((uint8_t *)rq->buf + ((size_t)(received[i] & (rq->size - 1)) << rq->slot_shift),
	       entry, slot);
	received[i]++;
	*rq->db = htobe32(received[i]);
	if (!srq)
		hca_rq_doorbell(qp);
}

static void change_state(unsigned int i)
{
	struct ibv_qp_attr a = { .qp_state = u8() & 1 ? IBV_QPS_ERR : IBV_QPS_SQD };

	ibv_modify_qp(qps[i], &a, IBV_QP_STATE);
}

static void do_step(enum step step, unsigned int i)
{
	struct hca_cq *hca_cq = to_cq(cq)->hca;
	struct hca_qp *qp = inside(i);

	switch (step) {
	case STEP_SEND:
		send_one(i);
		break;
	case STEP_RECV:
		recv_one(i);
		break;
	case STEP_POLL:
		for (unsigned int n = u8() % 8; n; n--)
			hca_poll();
		/* As a program that takes all of them. */
		hca_cq->db[0] = htobe32(hca_cq->pi & 0xffffff);
		break;
	case STEP_CQ_DB:
		hca_cq->db[0] = input_u32(&in);
		break;
	case STEP_SQ_DB:
		if (qp->sq.size)
			posted[i] += u8() & 1 ? u8() : input_u16(&in);
		if (qp->sq.size)
			ring(i);
		break;
	case STEP_RQ_DB:
		if (qp->rq.size)
			*qp->rq.db = input_u32(&in);
		else if (srq)
			*to_srq(srq)->hca->ring.db = input_u32(&in);
		if (!srq)
			hca_rq_doorbell(qp);
		break;
	case STEP_ARM:
		hca_cq->db[1] = input_u32(&in);
		ibv_req_notify_cq(cq, u8() & 1);
		break;
	default:
		change_state(i);
		break;
	}
}

/* ---- begin and end ---- */

static void open_devices(void)
{
	struct ibv_device **list;
	int count;

	setenv("VERBENA_ADAPTERS", "mlx5_0;mlx4_0,link=ethernet", 1);
	list = ibv_get_device_list(&count);
	CHECK(list && count == 2);
	for (int i = 0; i < 2; i++) {
		devices[i] = ibv_open_device(list[i]);
		CHECK(devices[i]);
		fcntl(devices[i]->async_fd, F_SETFL, O_NONBLOCK);
		pds[i] = ibv_alloc_pd(devices[i]);
		CHECK(pds[i]);
		opens[i] = ibv_reg_mr(pds[i], memory, sizeof(memory), 0xf);
		guards[i] = ibv_reg_mr(pds[i], guard + 4096, 4096, IBV_ACCESS_REMOTE_READ);
		CHECK(opens[i] && guards[i]);
	}
	ibv_free_device_list(list);
}

static struct ibv_ah_attr path_to(struct ibv_context *d)
{
	struct ibv_ah_attr a = { .is_global = 1,
				 .port_num = 1,
				 .grh = { .hop_limit = 64, .sgid_index = 1 } };

	CHECK(!ibv_query_gid(d, 1, 1, &a.grh.dgid));
	return a;
}

static void connect_to(struct ibv_qp *qp, uint32_t peer, unsigned int type, struct ibv_context *d)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT,
				 .port_num = 1,
				 .qkey = QKEY,
				 .qp_access_flags = 0xf,
				 .path_mtu = IBV_MTU_1024,
				 .dest_qp_num = peer,
				 .ah_attr = path_to(d),
				 .max_rd_atomic = 4,
				 .max_dest_rd_atomic = 4,
				 .min_rnr_timer = 1,
				 .timeout = 8,
				 .retry_cnt = 1,
				 .rnr_retry = 0 };
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (type == UD) {
		init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
		rtr = IBV_QP_STATE;
	} else if (type == RAW) {
		init = IBV_QP_STATE | IBV_QP_PORT;
		rtr = rts = IBV_QP_STATE;
	} else if (type == DC) {
		init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
		rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU;
	} else if (type != UC) {
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	if (type == RC || type == SHARED || type == DC)
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	CHECK(!ibv_modify_qp(qp, &a, init));
	a.qp_state = IBV_QPS_RTR;
	CHECK(!ibv_modify_qp(qp, &a, rtr));
	a.qp_state = IBV_QPS_RTS;
	CHECK(!ibv_modify_qp(qp, &a, rts));
}

static struct ibv_qp *create_dci(struct ibv_context *d)
{
	struct ibv_qp_init_attr_ex a = { .qp_type = IBV_QPT_DRIVER,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .pd = pd,
					 .cap = { .max_send_wr = QUEUE, .max_send_sge = 2 },
					 .comp_mask = IBV_QP_INIT_ATTR_PD };
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
					  .dc_init_attr = { .dc_type = MLX5DV_DCTYPE_DCI } };

	return mlx5dv_create_qp(d, &a, &dv);
}

static void begin(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC,         IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_RAW_PACKET, IBV_QPT_RC, IBV_QPT_DRIVER };
	uint8_t how = u8();
	unsigned int type = (how >> 1) % TYPES;
	struct ibv_context *d = devices[how & 1];
	struct ibv_srq_init_attr s = { .attr = { .max_wr = QUEUE, .max_sge = 2 } };
	struct ibv_qp_init_attr a = { .cap = { QUEUE, QUEUE, 2, 2, 64 }, .sq_sig_all = how >> 7 };

	is_mlx4 = how & 1;
	if (is_mlx4 && type == DC)
		type = RC;
	pd = pds[how & 1];
	open_mr = opens[how & 1];
	guard_mr = guards[how & 1];
	memset(guard, 0xa5, sizeof(guard));
	cq = ibv_create_cq(d, 64, NULL, NULL, 0);
	CHECK(cq);
	if (type == SHARED) {
		srq = ibv_create_srq(pd, &s);
		CHECK(srq);
	}
	a.send_cq = a.recv_cq = cq;
	a.srq = srq;
	a.qp_type = types[type];
	for (unsigned int i = 0; i < 2; i++) {
		qps[i] = type == DC ? create_dci(d) : ibv_create_qp(pd, &a);
		CHECK(qps[i]);
		posted[i] = received[i] = 0;
	}
	for (unsigned int i = 0; i < 2; i++)
		connect_to(qps[i], qps[1 - i]->qp_num, type, d);
}

static void clean_up(void)
{
	static uint8_t before[sizeof(guard)];
	struct ibv_async_event e;

	for (unsigned int i = 0; i < 2; i++)
		while (!ibv_get_async_event(devices[i], &e))
			ibv_ack_async_event(&e);
	for (unsigned int i = 0; i < 2; i++)
		CHECK(!ibv_destroy_qp(qps[i]));
	if (srq)
		CHECK(!ibv_destroy_srq(srq));
	srq = NULL;
	CHECK(!ibv_destroy_cq(cq));
	memset(before, 0xa5, sizeof(before));
	CHECK(!memcmp(guard, before, sizeof(guard)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!devices[0])
		open_devices();
	in = (struct input){ data, size };
	begin();
	for (unsigned int n = 0; n < STEPS_MOST && in.left; n++) {
		uint8_t byte = u8();

		do_step((byte & 0x7f) % STEPS, byte >> 7);
	}
	clean_up();
	return 0;
}
