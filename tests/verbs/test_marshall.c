/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's form of addresses, attributes and path records, and the API's.
 */
#include "verbs_test.h"

#include <infiniband/marshall.h>
#include <string.h>

/* Every byte of it other than its neighbours. */
static void number_bytes(void *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)at)[i] = i + 1;
}

static void check_address(const struct ibv_ah_attr *to, const struct ib_uverbs_ah_attr *from)
{
	assert_memory_equal(&to->grh.dgid, from->grh.dgid, 16);
	assert_int_equal(to->grh.flow_label, from->grh.flow_label);
	assert_int_equal(to->grh.sgid_index, from->grh.sgid_index);
	assert_int_equal(to->grh.hop_limit, from->grh.hop_limit);
	assert_int_equal(to->grh.traffic_class, from->grh.traffic_class);
	assert_int_equal(to->dlid, from->dlid);
	assert_int_equal(to->sl, from->sl);
	assert_int_equal(to->src_path_bits, from->src_path_bits);
	assert_int_equal(to->static_rate, from->static_rate);
	assert_int_equal(to->is_global, from->is_global);
	assert_int_equal(to->port_num, from->port_num);
}

static void an_address_of_the_kernel_is_the_same_address(void **state)
{
	struct ib_uverbs_ah_attr from;
	struct ibv_ah_attr to;

	number_bytes(&from, sizeof(from));
	memset(&to, 0xee, sizeof(to));
	ibv_copy_ah_attr_from_kern(&to, &from);
	check_address(&to, &from);
}

static void attributes_of_the_kernel_are_the_same_attributes(void **state)
{
	struct ib_uverbs_qp_attr from;
	struct ibv_qp_attr to;

	number_bytes(&from, sizeof(from));
	from.qp_state = IBV_QPS_RTS;
	from.cur_qp_state = IBV_QPS_SQD;
	from.path_mtu = IBV_MTU_2048;
	from.path_mig_state = IBV_MIG_ARMED;
	memset(&to, 0xee, sizeof(to));
	ibv_copy_qp_attr_from_kern(&to, &from);
	assert_int_equal(to.qp_state, IBV_QPS_RTS);
	assert_int_equal(to.cur_qp_state, IBV_QPS_SQD);
	assert_int_equal(to.path_mtu, IBV_MTU_2048);
	assert_int_equal(to.path_mig_state, IBV_MIG_ARMED);
	assert_int_equal(to.qkey, from.qkey);
	assert_int_equal(to.rq_psn, from.rq_psn);
	assert_int_equal(to.sq_psn, from.sq_psn);
	assert_int_equal(to.dest_qp_num, from.dest_qp_num);
	assert_int_equal(to.qp_access_flags, from.qp_access_flags);
	check_address(&to.ah_attr, &from.ah_attr);
	check_address(&to.alt_ah_attr, &from.alt_ah_attr);
	assert_int_equal(to.cap.max_send_wr, from.max_send_wr);
	assert_int_equal(to.cap.max_recv_wr, from.max_recv_wr);
	assert_int_equal(to.cap.max_send_sge, from.max_send_sge);
	assert_int_equal(to.cap.max_recv_sge, from.max_recv_sge);
	assert_int_equal(to.cap.max_inline_data, from.max_inline_data);
	assert_int_equal(to.pkey_index, from.pkey_index);
	assert_int_equal(to.alt_pkey_index, from.alt_pkey_index);
	assert_int_equal(to.en_sqd_async_notify, from.en_sqd_async_notify);
	assert_int_equal(to.sq_draining, from.sq_draining);
	assert_int_equal(to.max_rd_atomic, from.max_rd_atomic);
	assert_int_equal(to.max_dest_rd_atomic, from.max_dest_rd_atomic);
	assert_int_equal(to.min_rnr_timer, from.min_rnr_timer);
	assert_int_equal(to.port_num, from.port_num);
	assert_int_equal(to.timeout, from.timeout);
	assert_int_equal(to.retry_cnt, from.retry_cnt);
	assert_int_equal(to.rnr_retry, from.rnr_retry);
	assert_int_equal(to.alt_port_num, from.alt_port_num);
	assert_int_equal(to.alt_timeout, from.alt_timeout);
}

static void a_path_record_comes_back_as_it_went(void **state)
{
	struct ib_user_path_rec from, back;
	struct ibv_sa_path_rec there;

	number_bytes(&from, sizeof(from));
	from.mtu = 4; /* a byte in the API's form */
	memset(&there, 0xee, sizeof(there));
	memset(&back, 0, sizeof(back));
	ibv_copy_path_rec_from_kern(&there, &from);
	assert_memory_equal(&there.dgid, from.dgid, 16);
	assert_int_equal(there.dlid, from.dlid);
	assert_int_equal(there.preference, from.preference);
	assert_int_equal(there.packet_life_time, from.packet_life_time);
	ibv_copy_path_rec_to_kern(&back, &there);
	assert_memory_equal(&back, &from, sizeof(from));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_of_the_kernel_is_the_same_address),
		cmocka_unit_test(attributes_of_the_kernel_are_the_same_attributes),
		cmocka_unit_test(a_path_record_comes_back_as_it_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
