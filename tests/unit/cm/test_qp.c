/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/rdma_verbs.h>

#include "cm/fake_verbs.h"
#include "cm/id_types.h"
#include "cm/support.h"

static struct rdma_cm_id *bound(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;
	struct address addr;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, ps), 0);
	assert_int_equal(rdma_bind_addr(id, ip(&addr, "192.0.2.7", 0)), 0);
	return id;
}

static struct ibv_qp_init_attr wanted(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_type = type,
		.cap = { .max_send_wr = 8, .max_recv_wr = 9, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

/* A stranger that knows the ids of a connection has to guess the first PSN as well. */
static void the_first_psn_is_not_foreseeable(void **state)
{
	unsigned int same = 0, next = 0;
	uint32_t psn[16];

	for (unsigned int i = 0; i < 16; i++) {
		struct rdma_cm_id *id = bound(RDMA_PS_TCP);

		psn[i] = container_of(id, struct cm_id, pub)->seq_num;
		assert_true(psn[i] <= 0xffffff);
		same += i && psn[i] == psn[i - 1];
		next += i && psn[i] == ((psn[i - 1] + 1) & 0xffffff);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	assert_true(same < 2 && next < 2);
}

static void a_connected_qp_gets_cqs_and_waits_in_init(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = wanted(IBV_QPT_RC);

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
	assert_int_equal(id->qp->state, IBV_QPS_INIT);
	assert_int_equal(id->send_cq->cqe, 8);
	assert_int_equal(id->recv_cq->cqe, 9);
	assert_ptr_equal(id->send_cq->cq_context, id);
	assert_ptr_equal(id->send_cq->channel, id->send_cq_channel);
	assert_ptr_equal(attr.send_cq, id->send_cq);
	assert_ptr_equal(fake.last_init.recv_cq, id->recv_cq);
	assert_int_equal(attr.cap.max_inline_data, 60);
	assert_int_equal(fake.last_mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(fake.last_attr.port_num, 1);
	rdma_destroy_qp(id);
	assert_null(id->qp);
	assert_null(id->send_cq);
	assert_null(id->recv_cq_channel);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_objects(), 0);
}

static void a_datagram_qp_is_ready_to_send(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);
	struct ibv_qp_init_attr attr = wanted(IBV_QPT_UD);

	fake.modifies = 0;
	assert_int_equal(rdma_create_qp(id, id->pd, &attr), 0);
	assert_int_equal(id->qp->state, IBV_QPS_RTS);
	assert_int_equal(fake.modifies, 3);
	assert_int_equal(fake.last_attr.qkey, RDMA_UDP_QKEY);
	assert_true(fake.last_mask & IBV_QP_QKEY);
	assert_false(fake.last_mask & IBV_QP_ACCESS_FLAGS);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_objects(), 0);
}

static void the_programs_own_cqs_stay_its_own(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_cq *cq = ibv_create_cq(id->verbs, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr_ex attr = { 0 };

	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_wr = 4;
	attr.send_cq = cq;
	attr.recv_cq = cq;
	assert_int_equal(rdma_create_qp_ex(id, &attr), 0);
	assert_ptr_equal(attr.pd, id->pd);
	assert_null(id->send_cq);
	assert_int_equal(fake.cqs, 1);
	rdma_destroy_qp(id);
	assert_int_equal(fake.cqs, 1);
	ibv_destroy_cq(cq);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_objects(), 0);
}

static void a_failure_at_any_step_leaks_nothing(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = wanted(IBV_QPT_RC);
	int before = fake_objects(), step;

	for (step = 0; step < 4; step++) {
		fake.fail_cq = step < 2 ? ENOMEM : 0;
		fake.cqs_until_failure = step;
		fake.fail_qp = step == 2 ? ENOSPC : 0;
		fake.fail_modify = step == 3 ? EIO : 0;
		errno = 0;
		assert_int_equal(rdma_create_qp(id, NULL, &attr), -1);
		assert_int_equal(errno, step < 2 ? ENOMEM : step == 2 ? ENOSPC : EIO);
		assert_null(id->qp);
		assert_null(id->send_cq);
		assert_null(id->recv_cq);
		assert_null(attr.send_cq);
		assert_int_equal(fake_objects(), before);
	}
	fake.fail_modify = 0;
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	rdma_destroy_qp(id);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void a_qp_needs_an_adapter_and_fitting_attributes(void **state)
{
	struct rdma_cm_id *id, *fresh, stranger = { 0 };
	struct ibv_qp_init_attr attr = wanted(IBV_QPT_RC);
	struct ibv_pd foreign = { 0 };

	assert_int_equal(rdma_create_id(NULL, &fresh, NULL, RDMA_PS_TCP), 0);
	assert_refused(rdma_create_qp(fresh, NULL, &attr), EINVAL);
	assert_refused(rdma_create_qp(NULL, NULL, &attr), EINVAL);
	assert_refused(rdma_create_qp(&stranger, NULL, &attr), EINVAL);
	assert_int_equal(rdma_destroy_id(fresh), 0);

	id = bound(RDMA_PS_TCP);
	assert_refused(rdma_create_qp(id, NULL, NULL), EINVAL);
	assert_refused(rdma_create_qp_ex(id, NULL), EINVAL);
	assert_refused(rdma_create_qp(id, &foreign, &attr), EINVAL);
	rdma_destroy_qp(id); /* none there: no harm */
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_refused(rdma_create_qp(id, NULL, &attr), EINVAL);
	rdma_destroy_qp(id);
	rdma_destroy_qp(NULL);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_objects(), 0);
}

static void attributes_for_a_hand_made_qp_follow_its_type(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_UDP);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask = 0;

	assert_int_equal(rdma_init_qp_attr(id, &attr, &mask), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_INIT);
	assert_int_equal(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	assert_refused(rdma_init_qp_attr(id, NULL, &mask), EINVAL);
	assert_refused(rdma_init_qp_attr(id, &attr, NULL), EINVAL);
	attr.qp_state = IBV_QPS_UNKNOWN;
	assert_refused(rdma_init_qp_attr(id, &attr, &mask), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void an_srq_serves_the_qp_created_after_it(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_srq_init_attr srq_attr = { .attr.max_wr = 4 };
	struct ibv_qp_init_attr attr = wanted(IBV_QPT_RC);

	assert_int_equal(rdma_create_srq(id, NULL, &srq_attr), 0);
	assert_non_null(id->srq);
	assert_ptr_equal(id->srq->pd, id->pd);
	assert_int_equal(srq_attr.attr.max_wr, 5);
	assert_refused(rdma_create_srq(id, NULL, &srq_attr), EINVAL);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(fake.last_init.srq, id->srq);
	rdma_destroy_ep(id);
	assert_int_equal(fake_objects(), 0);
}

static void bad_srq_requests_are_refused(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_srq_init_attr_ex attr = { .srq_type = IBV_SRQT_BASIC };

	assert_refused(rdma_create_srq_ex(id, &attr), EINVAL);
	assert_refused(rdma_create_srq_ex(id, NULL), EINVAL);
	assert_refused(rdma_create_srq(id, NULL, NULL), EINVAL);
	assert_refused(rdma_create_srq_ex(NULL, &attr), EINVAL);
	rdma_destroy_srq(id);
	rdma_destroy_srq(NULL);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	assert_int_equal(rdma_create_srq_ex(id, &attr), 0);
	rdma_destroy_srq(id);
	assert_null(id->srq);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_objects(), 0);
}

static void an_xrc_srq_without_xrc_in_the_adapter_is_eopnotsupp(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_srq_init_attr_ex attr = {
		.srq_type = IBV_SRQT_XRC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
		.attr.max_wr = 3,
	};
	int before = fake_objects();

	errno = 0;
	assert_int_equal(rdma_create_srq_ex(id, &attr), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(attr.comp_mask, IBV_SRQ_INIT_ATTR_TYPE);
	assert_int_equal(fake_objects(), before);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void ece_options_are_for_ids_without_a_qp(void **state)
{
	struct rdma_cm_id *id = bound(RDMA_PS_TCP);
	struct ibv_qp_init_attr attr = wanted(IBV_QPT_RC);
	struct ibv_ece ece = { .vendor_id = 0x15b3, .options = 1 };

	assert_int_equal(rdma_set_local_ece(id, &ece), 0);
	assert_int_equal(rdma_get_remote_ece(id, &ece), 0);
	assert_int_equal(ece.vendor_id, 0);
	assert_refused(rdma_set_local_ece(id, &ece), EINVAL);
	assert_refused(rdma_set_local_ece(id, NULL), EINVAL);
	assert_refused(rdma_get_remote_ece(NULL, &ece), EINVAL);
	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_refused(rdma_get_remote_ece(id, &ece), EINVAL);
	rdma_destroy_ep(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_psn_is_not_foreseeable),
		cmocka_unit_test(a_connected_qp_gets_cqs_and_waits_in_init),
		cmocka_unit_test(a_datagram_qp_is_ready_to_send),
		cmocka_unit_test(the_programs_own_cqs_stay_its_own),
		cmocka_unit_test(a_failure_at_any_step_leaks_nothing),
		cmocka_unit_test(a_qp_needs_an_adapter_and_fitting_attributes),
		cmocka_unit_test(attributes_for_a_hand_made_qp_follow_its_type),
		cmocka_unit_test(an_srq_serves_the_qp_created_after_it),
		cmocka_unit_test(bad_srq_requests_are_refused),
		cmocka_unit_test(an_xrc_srq_without_xrc_in_the_adapter_is_eopnotsupp),
		cmocka_unit_test(ece_options_are_for_ids_without_a_qp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
