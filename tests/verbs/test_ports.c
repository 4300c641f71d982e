/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adapters with two ports: a queue pair has one of them, and so have its paths.
 */
#include "verbs_test.h"

#include <errno.h>
#include <stdlib.h>

#define INIT (IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS)
#define RTR                                                                                        \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS                                                                                        \
	(IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)

struct fixture {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_attr rtr; /* to itself, through port 1 */
};

static struct ibv_ah_attr to_itself(struct fixture *f, uint8_t number)
{
	struct ibv_ah_attr attr = { .port_num = number, .is_global = 1 };
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(f->context, number, &port), 0);
	attr.dlid = port.lid;
	assert_int_equal(ibv_query_gid(f->context, number, 0, &attr.grh.dgid), 0);
	return attr;
}

static int open_device(void **state, const char *name)
{
	static struct fixture f;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1, .max_recv_wr = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	f.context = test_open(name);
	f.pd = ibv_alloc_pd(f.context);
	f.cq = ibv_create_cq(f.context, 1, NULL, NULL, 0);
	init.send_cq = init.recv_cq = f.cq;
	f.qp = ibv_create_qp(f.pd, &init);
	*state = &f;
	if (!f.qp || ibv_modify_qp(f.qp, &attr, INIT))
		return -1;
	f.rtr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
				      .path_mtu = IBV_MTU_1024,
				      .dest_qp_num = f.qp->qp_num,
				      .ah_attr = to_itself(&f, 1) };
	return 0;
}

static int open_mlx5(void **state)
{
	return open_device(state, "mlx5_0");
}

static int open_mlx4(void **state)
{
	return open_device(state, "mlx4_0");
}

static int close_it(void **state)
{
	struct fixture *f = *state;
	int err = ibv_destroy_qp(f->qp) || ibv_destroy_cq(f->cq) || ibv_dealloc_pd(f->pd);

	test_close(f->context);
	return err;
}

static void a_path_leaves_by_the_port_of_its_queue_pair(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp_attr attr = f->rtr;

	attr.ah_attr = to_itself(f, 2);
	assert_int_equal(ibv_modify_qp(f->qp, &attr, RTR), EINVAL);
	assert_int_equal(ibv_modify_qp(f->qp, &f->rtr, RTR), 0);
}

static void an_alternate_path_names_its_port_twice(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp_attr attr = f->rtr;

	attr.alt_ah_attr = to_itself(f, 2);
	attr.alt_port_num = 1;
	assert_int_equal(ibv_modify_qp(f->qp, &attr, RTR | IBV_QP_ALT_PATH), EINVAL);
	attr.alt_port_num = 2;
	assert_int_equal(ibv_modify_qp(f->qp, &attr, RTR | IBV_QP_ALT_PATH), 0);
}

static void a_new_path_of_a_drained_queue_brings_its_port(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_modify_qp(f->qp, &f->rtr, RTR), 0);
	assert_int_equal(ibv_modify_qp(f->qp, &attr, RTS), 0);
	attr.qp_state = IBV_QPS_SQD;
	assert_int_equal(ibv_modify_qp(f->qp, &attr, IBV_QP_STATE), 0);
	attr.ah_attr = to_itself(f, 2);
	attr.port_num = 1;
	assert_int_equal(ibv_modify_qp(f->qp, &attr, IBV_QP_AV | IBV_QP_PORT), EINVAL);
	assert_int_equal(ibv_modify_qp(f->qp, &attr, IBV_QP_AV), 0);
	assert_int_equal(ibv_query_qp(f->qp, &attr, IBV_QP_PORT, &init), 0);
	assert_int_equal(attr.port_num, 2);
	assert_int_equal(attr.ah_attr.port_num, 2);
}

#define BOTH(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, open_mlx5, close_it),                                \
		cmocka_unit_test_setup_teardown(name, open_mlx4, close_it)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(a_path_leaves_by_the_port_of_its_queue_pair),
		BOTH(an_alternate_path_names_its_port_twice),
		BOTH(a_new_path_of_a_drained_queue_brings_its_port),
	};

	setenv("VERBENA_ADAPTERS", "mlx5_0,ports=2;mlx4_0,ports=2", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
