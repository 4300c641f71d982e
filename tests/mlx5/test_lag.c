/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bonded links, in a network namespace: mlx5_0 has the interfaces va and vb behind its port, one end each of
 * a veth pair.
 */
#include "devx_frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../verbs/netns.h"

static struct pair p;

static int make(void **state)
{
	netns_ip("link set va up");
	netns_ip("link set vb up");
	netns_ip("link set wa up");
	netns_ip("link set wb up");
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
	return 0;
}

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static uint8_t active_of(struct ibv_qp *qp, uint8_t affinity)
{
	uint8_t port = 0, active = 0;

	assert_int_equal(mlx5dv_query_qp_lag_port(qp, &port, &active), 0);
	assert_int_equal(port, affinity);
	return active;
}

/* The kernel tells of links in its own time. */
static void wait_for_active(struct ibv_qp *qp, uint8_t affinity, uint8_t active)
{
	time_t end = time(NULL) + 20;
	struct ibv_port_attr attr;

	while (active_of(qp, affinity) != active) {
		assert_true(time(NULL) < end);
		ibv_query_port(p.ctx, 1, &attr);
	}
}

static void the_device_tells_of_its_links(void **state)
{
	struct mlx5dv_context dv = { .comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS };
	RIG_IN(in, 0x10, QUERY_HCA_CAP);
	uint8_t out[IFC_LEN_query_hca_cap_out] = { 0 };
	uint8_t *cap = ifc_ptr(out, query_hca_cap_out, capability);

	assert_int_equal(mlx5dv_query_device(p.ctx, &dv), 0);
	assert_int_equal(dv.num_lag_ports, 2);
	ifc_set(in, cmd_in, op_mod, IFC_CAP_OP_MOD(IFC_CAP_GENERAL, true));
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, num_lag_ports), 2);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, lag_master), 1);
	assert_int_equal(ifc_get(cap, cmd_hca_cap, lag_tx_port_affinity), 1);
}

static void queue_pairs_take_turns_and_can_be_moved(void **state)
{
	uint8_t first = 0, second = 0, active;

	assert_int_equal(mlx5dv_query_qp_lag_port(p.qp[0], &first, &active), 0);
	assert_int_equal(mlx5dv_query_qp_lag_port(p.qp[1], &second, &active), 0);
	assert_int_equal(first + second, 3);
	for (uint8_t port = 1; port <= 2; port++) {
		assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], port), 0);
		wait_for_active(p.qp[0], port, port);
	}
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 0), EINVAL);
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 3), EINVAL);
	assert_int_equal(active_of(p.qp[0], 2), 2);
	pair_to_reset(p.qp[0]);
	assert_int_equal(mlx5dv_query_qp_lag_port(p.qp[0], &first, &active), EOPNOTSUPP);
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 1), EOPNOTSUPP);
}

/* In INIT, of a type; the QPs of XRC have a domain in place of queues. */
static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = type,
					    .send_cq = p.cq[0],
					    .recv_cq = p.cq[0],
					    .cap = { 16, 16, 1, 1, 0 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = p.pd };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = xrcd;
	}
	qp = ibv_create_qp_ex(p.ctx, &init);
	assert_non_null(qp);
	mask |= type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
	return qp;
}

static void affinities_are_for_senders_and_change_in_rts(void **state)
{
	struct ibv_xrcd_init_attr init = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };
	static const struct {
		enum ibv_qp_type type;
		int query;
	} rows[] = {
		{ IBV_QPT_RC, 0 },
		{ IBV_QPT_UC, 0 },
		{ IBV_QPT_UD, 0 },
		{ IBV_QPT_XRC_SEND, 0 },
		{ IBV_QPT_XRC_RECV, EOPNOTSUPP },
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(p.ctx, &init);

	assert_non_null(xrcd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_qp *qp = make_qp(rows[i].type, xrcd);
		uint8_t port, active;

		assert_int_equal(mlx5dv_query_qp_lag_port(qp, &port, &active), rows[i].query);
		assert_int_equal(mlx5dv_modify_qp_lag_port(qp, 1), EOPNOTSUPP);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static unsigned int query_lag(unsigned int *first, unsigned int *second)
{
	RIG_IN(in, 0x10, QUERY_LAG);
	uint8_t out[IFC_LEN_query_lag_out] = { 0 };
	uint8_t *lag = ifc_ptr(out, query_lag_out, lag_context);

	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out)), 0);
	*first = ifc_get(lag, lag_context, tx_remap_affinity_1);
	*second = ifc_get(lag, lag_context, tx_remap_affinity_2);
	return ifc_get(lag, lag_context, lag_state);
}

static void the_other_link_takes_over_while_one_is_down(void **state)
{
	unsigned int first, second;

	for (uint8_t port = 1; port <= 2; port++) {
		assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], port), 0);
		wait_for_active(p.qp[0], port, port);
		netns_ip("link set %s down", port == 1 ? "va" : "vb");
		wait_for_active(p.qp[0], port, 3 - port);
		assert_int_equal(query_lag(&first, &second), 1);
		assert_int_equal(first, 3 - port);
		assert_int_equal(second, 3 - port);
		netns_ip("link set %s up", port == 1 ? "va" : "vb");
		wait_for_active(p.qp[0], port, port);
	}
	/* Without any link it stays where it is. */
	netns_ip("link set vb down");
	wait_for_active(p.qp[0], 2, 1);
	netns_ip("link set va down");
	wait_for_active(p.qp[0], 2, 2);
}

static int modify_lag(uint32_t select, unsigned int first, unsigned int second)
{
	RIG_IN(in, ifc_len(modify_lag_in), MODIFY_LAG);
	uint8_t out[0x10], *lag = ifc_ptr(in, modify_lag_in, lag_context);

	ifc_set(in, modify_lag_in, field_select, select);
	ifc_set(lag, lag_context, tx_remap_affinity_1, first);
	ifc_set(lag, lag_context, tx_remap_affinity_2, second);
	return mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out));
}

static void commands_map_affinities_to_links(void **state)
{
	RIG_IN(create, ifc_len(create_lag_in), CREATE_LAG);
	RIG_IN(destroy, 0x10, DESTROY_LAG);
	unsigned int first, second;
	uint8_t out[0x10];

	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 1), 0);
	wait_for_active(p.qp[0], 1, 1);
	assert_int_equal(modify_lag(1, 2, 1), 0);
	assert_int_equal(query_lag(&first, &second), 1);
	assert_int_equal(first, 2);
	assert_int_equal(second, 1);
	assert_int_equal(active_of(p.qp[0], 1), 2);
	assert_int_equal(modify_lag(1, 3, 1), EREMOTEIO);
	assert_int_equal(modify_lag(1, 0, 1), EREMOTEIO);
	assert_int_equal(modify_lag(4, 1, 2), EREMOTEIO);
	assert_int_equal(active_of(p.qp[0], 1), 2);
	assert_int_equal(modify_lag(1, 1, 2), 0);
	assert_int_equal(active_of(p.qp[0], 1), 1);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, create, sizeof(create), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, destroy, sizeof(destroy), out, sizeof(out)),
			 EREMOTEIO);
}

/* A queue pair of commands names its link in its context. */
static void contexts_have_an_affinity(void **state)
{
	RIG_IN(in, ifc_len(query_qp_in), QUERY_QP);
	uint8_t out[IFC_LEN_query_qp_out] = { 0 };
	const uint8_t *qpc = ifc_cptr(out, query_qp_out, qpc);

	for (uint8_t port = 1; port <= 2; port++) {
		assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], port), 0);
		ifc_set(in, query_qp_in, qpn, p.qp[0]->qp_num);
		assert_int_equal(mlx5dv_devx_qp_query(p.qp[0], in, sizeof(in), out, sizeof(out)),
				 0);
		assert_int_equal(ifc_get(qpc, qpc, lag_tx_port_affinity), port);
	}
}

/* ---- raw frames ---- */

enum { FLOWS = 32 };

static int wire[2]; /* packet sockets at the far ends */

static void open_wires(void)
{
	for (int i = 0; i < 2; i++) {
		struct sockaddr_ll at = { .sll_family = AF_PACKET,
					  .sll_protocol = htons(ETH_P_ALL),
					  .sll_ifindex = (int)if_nametoindex(i ? "wb" : "wa") };

		wire[i] = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
		assert_true(wire[i] >= 0);
		assert_int_equal(bind(wire[i], (void *)&at, sizeof(at)), 0);
	}
}

static void close_wires(void)
{
	close(wire[0]);
	close(wire[1]);
}

/* The link, 1 or 2, at whose far end a frame from this source address arrives. */
static unsigned int arrives_by(const uint8_t mac[6])
{
	time_t end = time(NULL) + 20;
	uint8_t frame[2048];

	for (;;) {
		for (unsigned int i = 0; i < 2; i++)
			if (recv(wire[i], frame, sizeof(frame), 0) >= 60 &&
			    !memcmp(frame + 6, mac, 6))
				return i + 1;
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static void put_frame(uint8_t *frame, uint8_t number, uint16_t sport)
{
	static const uint8_t head[] = { 2,    0,    0,    0, 0, 9,  2, 0, 0, 0, 7,  0,
					0x08, 0x00, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17 };

	memset(frame, 0, 60);
	memcpy(frame, head, sizeof(head));
	frame[11] = number;
	frame[26] = frame[30] = 10;
	frame[34] = sport >> 8;
	frame[35] = sport & 0xff;
	frame[39] = 26;
}

static unsigned int send_raw(struct ibv_qp *qp, uint8_t number)
{
	struct ibv_sge sge = pair_sge(&p, 0, 60);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	put_frame(p.buf, number, 1);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_int_equal(pair_wait(p.cq[0]).status, IBV_WC_SUCCESS);
	return arrives_by(p.buf + 6);
}

static void raw_frames_leave_by_the_link_of_their_queue_pair(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .send_cq = p.cq[0],
					 .recv_cq = p.cq[0],
					 .cap = { 16, 16, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp;

	open_wires();
	qp = ibv_create_qp(p.pd, &init);
	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	for (attr.qp_state = IBV_QPS_RTR; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	for (uint8_t port = 1; port <= 2; port++) {
		assert_int_equal(mlx5dv_modify_qp_lag_port(qp, port), 0);
		wait_for_active(qp, port, port);
		assert_int_equal(send_raw(qp, port), port);
		netns_ip("link set %s down", port == 1 ? "va" : "vb");
		wait_for_active(qp, port, 3 - port);
		assert_int_equal(send_raw(qp, 10 + port), 3 - port);
		netns_ip("link set %s up", port == 1 ? "va" : "vb");
	}
	assert_int_equal(ibv_destroy_qp(qp), 0);
	close_wires();
}

/* A send queue of commands whose TIS has no affinity, and one whose TIS has. */
static void make_sq(struct rig *r, struct rig_cq *cq, struct rig_qp *q, uint8_t affinity,
		    struct mlx5dv_devx_obj *tis[2])
{
	RIG_IN(td, 0x10, ALLOC_TRANSPORT_DOMAIN);
	RIG_IN(make_tis, ifc_len(create_tis_in), CREATE_TIS);
	RIG_IN(in, ifc_len(create_sq_in), CREATE_SQ);
	RIG_IN(ready, ifc_len(modify_sq_in), MODIFY_SQ);
	uint8_t *ctx = ifc_ptr(in, create_sq_in, ctx), *wq = ifc_ptr(ctx, sqc, wq), out[0x10];
	uint8_t *tisc = ifc_ptr(make_tis, create_tis_in, ctx);
	uint32_t number;

	tis[1] = frames_create(r, td, sizeof(td), &number);
	ifc_set(tisc, tisc, transport_domain, number);
	ifc_set(tisc, tisc, lag_tx_port_affinity, affinity);
	tis[0] = frames_create(r, make_tis, sizeof(make_tis), &number);
	memset(q, 0, sizeof(*q));
	rig_cq(r, 7, r->eqn, cq);
	q->rig = r;
	q->umem = rig_umem(r, (64 << 6) + 64);
	q->sq = q->umem.addr;
	q->sq_size = 64;
	q->db = (void *)(q->umem.addr + (64 << 6));
	ifc_set(ctx, sqc, cqn, cq->cqn);
	ifc_set(ctx, sqc, tis_lst_sz, 1);
	ifc_set(ctx, sqc, tis_num_0, number);
	ifc_set(wq, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(wq, wq, pd, r->pdn);
	ifc_set(wq, wq, uar_page, r->uar->page_id);
	ifc_set(wq, wq, log_wq_stride, 6);
	ifc_set(wq, wq, log_wq_sz, 6);
	ifc_set(wq, wq, wq_umem_valid, 1);
	ifc_set(wq, wq, wq_umem_id, q->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_umem_valid, 1);
	ifc_set(wq, wq, dbr_umem_id, q->umem.umem->umem_id);
	ifc_set(wq, wq, dbr_addr, 64 << 6);
	q->obj = frames_create(r, in, sizeof(in), &q->qpn);
	ifc_set(ready, modify_sq_in, sqn, q->qpn);
	ifc_set(ready, modify_sq_in, sq_state, IFC_WQ_RST);
	ifc_set(ifc_ptr(ready, modify_sq_in, ctx), sqc, state, IFC_WQ_RDY);
	assert_int_equal(mlx5dv_devx_obj_modify(q->obj, ready, sizeof(ready), out, sizeof(out)), 0);
}

static unsigned int send_flow(struct rig *r, struct rig_cq *cq, struct rig_qp *q, uint8_t number,
			      uint16_t sport)
{
	uint8_t *at = q->sq + 64 * (size_t)(q->post & (q->sq_size - 1));

	put_frame(r->memory, number, sport);
	memset(at, 0, 64);
	mlx5dv_set_data_seg((void *)(at + 32), 60, r->mr->lkey, (uintptr_t)r->memory);
	mlx5dv_set_ctrl_seg((void *)at, q->post & 0xffff, MLX5_OPCODE_SEND, 0, q->qpn,
			    MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
	q->post++;
	rig_ring(q);
	assert_int_equal(mlx5dv_get_cqe_opcode((void *)rig_cq_wait(cq)), MLX5_CQE_REQ);
	rig_cq_take(cq);
	return arrives_by(r->memory + 6);
}

static void frames_without_affinity_spread_by_their_flow(void **state)
{
	struct mlx5dv_devx_obj *tis[2];
	struct rig_cq cq;
	struct rig_qp q;
	struct rig rig;

	open_wires();
	rig_open(&rig);
	for (uint8_t affinity = 0; affinity <= 2; affinity++) {
		unsigned int count[3] = { 0 };

		make_sq(&rig, &cq, &q, affinity, tis);
		for (uint16_t f = 0; f < FLOWS; f++) {
			unsigned int link = send_flow(&rig, &cq, &q, f, 1000 + f);

			assert_int_equal(send_flow(&rig, &cq, &q, 100 + f, 1000 + f), link);
			count[link]++;
		}
		if (affinity)
			assert_int_equal(count[affinity], FLOWS);
		else
			assert_true(count[1] > FLOWS / 8 && count[2] > FLOWS / 8);
		assert_int_equal(mlx5dv_devx_obj_destroy(q.obj), 0);
		rig_umem_drop(&q.umem);
		rig_cq_drop(&cq);
		assert_int_equal(mlx5dv_devx_obj_destroy(tis[0]), 0);
		assert_int_equal(mlx5dv_devx_obj_destroy(tis[1]), 0);
	}
	rig_close(&rig);
	close_wires();
}

#define T(test) cmocka_unit_test_setup_teardown(test, make, drop)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(the_device_tells_of_its_links),
		T(queue_pairs_take_turns_and_can_be_moved),
		T(affinities_are_for_senders_and_change_in_rts),
		T(the_other_link_takes_over_while_one_is_down),
		T(commands_map_affinities_to_links),
		T(contexts_have_an_affinity),
		T(raw_frames_leave_by_the_link_of_their_queue_pair),
		T(frames_without_affinity_spread_by_their_flow),
	};

	netns_enter(argv);
	netns_ip("link set lo up");
	netns_ip("link add va type veth peer name wa");
	netns_ip("link add vb type veth peer name wb");
	setenv("VERBENA_ADAPTERS", "mlx5_0,lag=va vb", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
