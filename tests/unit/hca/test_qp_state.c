/* SPDX-License-Identifier: BSD-2-Clause */
/* Transitions of the rarer types of queue pairs, as the kernel's table has them. */
#include "cmocka_all.h"

#include <errno.h>

#include "hca/transport/qp_state.h"

#define CHECK(type, from, to, mask)                                                                \
	qp_state_check(HCA_QP_##type, HCA_QPS_##from, HCA_QPS_##to, HCA_QPM_STATE | (mask))

static void a_drained_xrc_receiver_comes_back(void **state)
{
	assert_int_equal(CHECK(XRC_RECV, RTS, SQD, 0), 0);
	assert_int_equal(CHECK(XRC_RECV, RTS, SQD, HCA_QPM_EN_SQD_NOTIFY), 0);
	assert_int_equal(CHECK(XRC_RECV, RTS, SQD, HCA_QPM_QKEY), -EINVAL);
	assert_int_equal(CHECK(XRC_RECV, SQD, SQD, HCA_QPM_MAX_DEST_RD_ATOMIC), 0);
	assert_int_equal(CHECK(XRC_RECV, SQD, SQD, HCA_QPM_RETRY_CNT), -EINVAL);
	assert_int_equal(CHECK(XRC_RECV, SQD, RTS, HCA_QPM_MIN_RNR_TIMER), 0);
}

static void a_raw_queue_pair_keeps_its_port(void **state)
{
	assert_int_equal(CHECK(RAW, RESET, INIT, 0), -EINVAL);
	assert_int_equal(CHECK(RAW, RESET, INIT, HCA_QPM_PORT), 0);
	assert_int_equal(CHECK(RAW, INIT, INIT, 0), 0);
	assert_int_equal(CHECK(RAW, INIT, INIT, HCA_QPM_PORT), -EINVAL);
}

static void a_raw_queue_pair_is_drained_without_more_ado(void **state)
{
	assert_int_equal(CHECK(RAW, RTS, SQD, 0), 0);
	assert_int_equal(CHECK(RAW, RTS, SQD, HCA_QPM_EN_SQD_NOTIFY), -EINVAL);
	assert_int_equal(CHECK(RAW, SQD, SQD, 0), 0);
	assert_int_equal(CHECK(RAW, SQD, SQD, HCA_QPM_PORT), -EINVAL);
	assert_int_equal(CHECK(RAW, SQD, RTS, 0), 0);
	assert_int_equal(CHECK(RAW, SQD, RTS, HCA_QPM_CUR_STATE), -EINVAL);
	assert_int_equal(CHECK(RAW, SQE, RTS, 0), 0);
}

static void an_initiator_of_dynamic_connections_is_not_drained(void **state)
{
	assert_int_equal(CHECK(DCI, RTS, SQD, 0), -EINVAL);
	assert_int_equal(CHECK(DCI, RTS, SQD, HCA_QPM_EN_SQD_NOTIFY), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drained_xrc_receiver_comes_back),
		cmocka_unit_test(a_raw_queue_pair_keeps_its_port),
		cmocka_unit_test(a_raw_queue_pair_is_drained_without_more_ado),
		cmocka_unit_test(an_initiator_of_dynamic_connections_is_not_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
