/* SPDX-License-Identifier: BSD-2-Clause */
/* Source ports of connections, as a capture of the wire shows them; and ports that are not bonded. */
#include "pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

#define HALF (PAIR_BUF / 2)

static struct pair p;
static char capture[] = "/tmp/verbena-sport-XXXXXX";

static int drop(void **state)
{
	pair_drop(&p);
	return 0;
}

static void make(enum ibv_qp_type type)
{
	pair_sgid_index = pair_find_roce_v2();
	pair_make(&p, &(struct pair_wish){ .type = type });
}

/* Packets in the capture that went from this UDP port to RoCE's. */
static unsigned int packets_from(uint16_t port)
{
	const uint8_t want[4] = { port >> 8, port & 0xff, 4791 >> 8, 4791 & 0xff };
	int fd = open(capture, O_RDONLY | O_CLOEXEC);
	unsigned int n = 0;
	const uint8_t *at;
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	at = mmap(NULL, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	for (off_t i = 0; i + 4 <= st.st_size; i++)
		n += !memcmp(at + i, want, 4);
	munmap((void *)at, st.st_size);
	close(fd);
	return n;
}

static void transfer(void)
{
	struct ibv_sge sge = pair_sge(&p, 0, 64);
	struct ibv_send_wr wr = { .wr_id = 5,
				  .opcode = IBV_WR_SEND,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED };

	pair_pattern(p.buf, 64, 3);
	pair_post_recv(&p, 1, 9, HALF, 64);
	pair_post(&p, &wr);
	pair_expect(p.cq[1], IBV_WC_RECV, 9);
	pair_expect(p.cq[0], IBV_WC_SEND, 5);
	assert_true(pair_is_pattern(p.buf + HALF, 64, 3));
	memset(p.buf + HALF, 0, 64);
}

static void rc_packets_leave_from_the_port_that_was_set(void **state)
{
	make(IBV_QPT_RC);
	transfer();
	assert_int_equal(packets_from(50123), 0);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50123), 0);
	transfer();
	assert_true(packets_from(50123) >= 1);
	/* answers are packets of the other queue pair */
	assert_int_equal(packets_from(50124), 0);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[1], 50124), 0);
	transfer();
	assert_true(packets_from(50124) >= 1);
	/* and again another one */
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50125), 0);
	transfer();
	assert_true(packets_from(50125) >= 1);
}

static void uc_packets_leave_from_the_port_that_was_set(void **state)
{
	make(IBV_QPT_UC);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50130), 0);
	transfer();
	assert_true(packets_from(50130) >= 1);
}

static void two_queue_pairs_may_have_one_port(void **state)
{
	unsigned int n;

	make(IBV_QPT_RC);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50140), 0);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[1], 50140), 0);
	n = packets_from(50140);
	transfer();
	assert_true(packets_from(50140) >= n + 2);
}

static void only_connections_that_are_ready_to_send_have_a_port(void **state)
{
	make(IBV_QPT_UD);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50150), EOPNOTSUPP);
	pair_drop(&p);
	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC, .unconnected = true });
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50150), EOPNOTSUPP);
	pair_connect(&p);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 0), EINVAL);
	pair_to_error(p.qp[0]);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], 50150), EOPNOTSUPP);
}

/* A foreign socket on a port of the address that the queue pair uses. */
static int occupy(uint16_t *port)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6 };
	socklen_t len = sizeof(sa);
	union ibv_gid gid;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(ibv_query_gid(p.ctx, 1, pair_sgid_index, &gid), 0);
	memcpy(&sa.sin6_addr, gid.raw, 16);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*port = ntohs(sa.sin6_port);
	return fd;
}

static void a_port_that_another_program_has_is_refused(void **state)
{
	uint16_t port;
	int fd;

	make(IBV_QPT_RC);
	fd = occupy(&port);
	assert_int_equal(mlx5dv_modify_qp_udp_sport(p.qp[0], port), EADDRINUSE);
	transfer();
	assert_int_equal(packets_from(port), 0);
	close(fd);
}

static void a_command_sets_the_port_and_a_query_shows_it(void **state)
{
	uint8_t in[IFC_LEN_modify_qp_in] = { 0 }, out[0x10] = { 0 };
	uint8_t qin[0x10] = { 0 }, qout[IFC_LEN_query_qp_out] = { 0 };
	void *qpc = ifc_ptr(in, modify_qp_in, qpc), *ads = ifc_ptr(qpc, qpc, primary_address_path);

	make(IBV_QPT_RC);
	ifc_set(in, cmd_in, opcode, IFC_OP_RTS2RTS_QP);
	ifc_set(in, modify_qp_in, qpn, p.qp[0]->qp_num);
	ifc_set(in, modify_qp_in, opt_param_mask_95_32, IFC_QP_OPT2_UDP_SPORT);
	ifc_set(ads, ads, udp_sport, 50160);
	assert_int_equal(mlx5dv_devx_qp_modify(p.qp[0], in, sizeof(in), out, sizeof(out)), 0);
	transfer();
	assert_true(packets_from(50160) >= 1);
	ifc_set(qin, cmd_in, opcode, IFC_OP_QUERY_QP);
	ifc_set(qin, query_qp_in, qpn, p.qp[0]->qp_num);
	assert_int_equal(mlx5dv_devx_qp_query(p.qp[0], qin, sizeof(qin), qout, sizeof(qout)), 0);
	qpc = ifc_ptr(qout, query_qp_out, qpc);
	assert_int_equal(ifc_get(ifc_ptr(qpc, qpc, primary_address_path), ads, udp_sport), 50160);
	/* without its bit in the mask, the field counts for nothing */
	ifc_set(in, modify_qp_in, opt_param_mask_95_32, 0);
	ifc_set(ads, ads, udp_sport, 50161);
	assert_int_equal(mlx5dv_devx_qp_modify(p.qp[0], in, sizeof(in), out, sizeof(out)), 0);
	transfer();
	assert_int_equal(packets_from(50161), 0);
	/* and nothing is no port */
	ifc_set(in, modify_qp_in, opt_param_mask_95_32, IFC_QP_OPT2_UDP_SPORT);
	ifc_set(ads, ads, udp_sport, 0);
	assert_int_equal(mlx5dv_devx_qp_modify(p.qp[0], in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(ifc_get(out, cmd_out, status), IFC_STATUS_BAD_PARAM);
}

static void counters_of_the_port_tell_what_the_wire_did(void **state)
{
	uint8_t in[IFC_LEN_query_vport_counter_in] = { 0 }, out[IFC_LEN_query_vport_counter_out];
	uint8_t reg[0x10 + IFC_LEN_ppcnt_reg] = { 0 }, answer[0x10 + IFC_LEN_ppcnt_reg];
	const void *tx = ifc_ptr(out, query_vport_counter_out, transmitted_ib_unicast);
	uint64_t before;

	make(IBV_QPT_RC);
	ifc_set(in, cmd_in, opcode, IFC_OP_QUERY_VPORT_COUNTER);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out)), 0);
	before = ifc_get(tx, traffic_counter, packets);
	transfer();
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out)), 0);
	assert_true(ifc_get(tx, traffic_counter, packets) >= before + 2);
	assert_true(ifc_get(tx, traffic_counter, octets) > 64);
	/* the same, from the register of the port */
	ifc_set(reg, cmd_in, opcode, IFC_OP_ACCESS_REG);
	ifc_set(reg, cmd_in, op_mod, IFC_REG_READ);
	ifc_set(reg, access_register_in, register_id, IFC_REG_PPCNT);
	ifc_set(reg + 0x10, ppcnt_reg, local_port, 1);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, reg, sizeof(reg), answer, sizeof(answer)),
			 0);
	assert_true(ifc_get(answer + 0x10, ppcnt_reg, a_frames_transmitted_ok) >= before + 2);
	/* a port that does not exist, another function's, and too little room */
	ifc_set(reg + 0x10, ppcnt_reg, local_port, 9);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, reg, sizeof(reg), answer, sizeof(answer)),
			 EREMOTEIO);
	ifc_set(reg + 0x10, ppcnt_reg, local_port, 1);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, reg, sizeof(reg), answer, 0x20), EREMOTEIO);
	assert_int_equal(ifc_get(answer, cmd_out, status), IFC_STATUS_BAD_OUTPUT_LEN);
	ifc_set(in, query_vport_counter_in, other_vport, 1);
	ifc_set(in, query_vport_counter_in, vport_number, 3);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, in, sizeof(in), out, 0x10), EINVAL);
}

static void a_register_tells_the_speed_of_the_link(void **state)
{
	uint8_t reg[0x10 + IFC_LEN_ptys_reg] = { 0 }, out[0x10 + IFC_LEN_ptys_reg];

	make(IBV_QPT_RC);
	ifc_set(reg, cmd_in, opcode, IFC_OP_ACCESS_REG);
	ifc_set(reg, cmd_in, op_mod, IFC_REG_READ);
	ifc_set(reg, access_register_in, register_id, IFC_REG_PTYS);
	ifc_set(reg + 0x10, ptys_reg, local_port, 1);
	ifc_set(reg + 0x10, ptys_reg, proto_mask, IFC_PTYS_ETH);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, reg, sizeof(reg), out, sizeof(out)), 0);
	assert_int_not_equal(ifc_get(out + 0x10, ptys_reg, eth_proto_oper), 0);
	assert_int_equal(ifc_get(out + 0x10, ptys_reg, eth_proto_oper),
			 ifc_get(out + 0x10, ptys_reg, eth_proto_capability));
	ifc_set(reg + 0x10, ptys_reg, proto_mask, 0);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, reg, sizeof(reg), out, sizeof(out)),
			 EREMOTEIO);
	ifc_set(reg + 0x10, ptys_reg, proto_mask, IFC_PTYS_ETH);
	ifc_set(reg, cmd_in, op_mod, IFC_REG_WRITE);
	assert_int_equal(mlx5dv_devx_general_cmd(p.ctx, reg, sizeof(reg), out, sizeof(out)),
			 EREMOTEIO);
}

static void ports_that_are_not_bonded_have_no_affinity(void **state)
{
	struct mlx5dv_context dv = { .comp_mask = MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS };
	uint8_t port = 77, active = 78;

	make(IBV_QPT_RC);
	assert_int_equal(mlx5dv_query_device(p.ctx, &dv), 0);
	assert_true(dv.num_lag_ports <= 1);
	assert_int_equal(mlx5dv_query_qp_lag_port(p.qp[0], &port, &active), EOPNOTSUPP);
	assert_int_equal(port, 77);
	assert_int_equal(active, 78);
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 1), EOPNOTSUPP);
	assert_int_equal(mlx5dv_modify_qp_lag_port(p.qp[0], 2), EOPNOTSUPP);
	transfer();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rc_packets_leave_from_the_port_that_was_set, drop),
		cmocka_unit_test_teardown(uc_packets_leave_from_the_port_that_was_set, drop),
		cmocka_unit_test_teardown(two_queue_pairs_may_have_one_port, drop),
		cmocka_unit_test_teardown(only_connections_that_are_ready_to_send_have_a_port,
					  drop),
		cmocka_unit_test_teardown(a_port_that_another_program_has_is_refused, drop),
		cmocka_unit_test_teardown(a_command_sets_the_port_and_a_query_shows_it, drop),
		cmocka_unit_test_teardown(counters_of_the_port_tell_what_the_wire_did, drop),
		cmocka_unit_test_teardown(a_register_tells_the_speed_of_the_link, drop),
		cmocka_unit_test_teardown(ports_that_are_not_bonded_have_no_affinity, drop),
	};
	int fd = mkstemp(capture), failed;

	/* A capture has everything go over the wire. */
	if (fd < 0 || close(fd) || unlink(capture))
		return 1;
	setenv("VERBENA_CAPTURE", capture, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(capture);
	return failed;
}
