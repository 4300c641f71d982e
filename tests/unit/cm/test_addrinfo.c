/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <netdb.h>

#include "cm/fake_verbs.h"
#include "cm/support.h"

static const struct rdma_addrinfo *look_up(const char *node, const char *service,
					   struct rdma_addrinfo hints)
{
	static struct rdma_addrinfo *info;

	rdma_freeaddrinfo(info);
	info = NULL;
	if (node || service)
		assert_int_equal(rdma_getaddrinfo(node, service, &hints, &info), 0);
	return info;
}

static void a_numeric_node_becomes_the_destination(void **state)
{
	const struct rdma_addrinfo *info;
	const struct sockaddr_in *dst;

	info = look_up("192.0.2.9", "7471", (struct rdma_addrinfo){ .ai_port_space = RDMA_PS_TCP });
	assert_int_equal(info->ai_family, AF_INET);
	assert_int_equal(info->ai_qp_type, IBV_QPT_RC);
	assert_int_equal(info->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(info->ai_dst_len, sizeof(*dst));
	assert_null(info->ai_src_addr);
	assert_null(info->ai_next);
	dst = (const struct sockaddr_in *)info->ai_dst_addr;
	assert_int_equal(dst->sin_port, htons(7471));
	assert_int_equal(ntohl(dst->sin_addr.s_addr), 0xc0000209);

	info = look_up("2001:db8::9", "1", (struct rdma_addrinfo){ .ai_qp_type = IBV_QPT_UD });
	assert_int_equal(info->ai_family, AF_INET6);
	assert_int_equal(info->ai_qp_type, IBV_QPT_UD);
	assert_int_equal(info->ai_port_space, RDMA_PS_UDP);
	look_up(NULL, NULL, (struct rdma_addrinfo){ 0 });
}

static void a_passive_answer_is_a_source(void **state)
{
	const struct rdma_addrinfo *info;

	info = look_up(NULL, "7471",
		       (struct rdma_addrinfo){ .ai_flags = RAI_PASSIVE,
					       .ai_family = AF_INET,
					       .ai_port_space = RDMA_PS_TCP });
	assert_int_equal(info->ai_flags, RAI_PASSIVE);
	assert_null(info->ai_dst_addr);
	assert_int_equal(((struct sockaddr_in *)info->ai_src_addr)->sin_addr.s_addr, INADDR_ANY);
	look_up(NULL, NULL, (struct rdma_addrinfo){ 0 });
}

static void hints_alone_are_passed_through(void **state)
{
	struct address src, dst;
	struct rdma_addrinfo *info, hints = {
		.ai_flags = RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_UDP,
		.ai_src_addr = ip(&src, "127.0.0.1", 1),
		.ai_src_len = sizeof(src.in),
		.ai_dst_addr = ip(&dst, "127.0.0.1", 2),
		.ai_dst_len = sizeof(dst.in),
	};

	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &info), 0);
	assert_int_equal(info->ai_flags, RAI_NUMERICHOST);
	assert_memory_equal(info->ai_src_addr, &src, sizeof(src.in));
	assert_memory_equal(info->ai_dst_addr, &dst, sizeof(dst.in));
	assert_ptr_not_equal(info->ai_dst_addr, &dst);
	rdma_freeaddrinfo(info);
}

static void a_numeric_gid_becomes_a_native_address(void **state)
{
	const struct rdma_addrinfo *info;
	const struct sockaddr_ib *dst;

	info = look_up("fe80::2", "9",
		       (struct rdma_addrinfo){ .ai_flags = RAI_FAMILY | RAI_NUMERICHOST,
					       .ai_family = AF_IB,
					       .ai_port_space = RDMA_PS_TCP });
	assert_int_equal(info->ai_family, AF_IB);
	assert_int_equal(info->ai_dst_len, sizeof(*dst));
	dst = (const struct sockaddr_ib *)info->ai_dst_addr;
	assert_int_equal(dst->sib_family, AF_IB);
	assert_int_equal(dst->sib_addr.sib_raw[15], 2);
	assert_true(dst->sib_sid == htobe64(RDMA_IB_IP_PS_TCP | 9));
	assert_true(dst->sib_sid_mask == htobe64(UINT64_MAX));
	look_up(NULL, NULL, (struct rdma_addrinfo){ 0 });
}

static void name_service_failures_keep_their_code(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST }, *info = NULL;

	errno = 0;
	assert_int_equal(rdma_getaddrinfo("no.number", NULL, &hints, &info), EAI_NONAME);
	assert_int_equal(errno, ENOENT);
	hints.ai_family = AF_UNIX;
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", NULL, &hints, &info), EAI_FAMILY);
	hints = (struct rdma_addrinfo){ .ai_qp_type = IBV_QPT_UD, .ai_port_space = RDMA_PS_TCP };
	assert_int_equal(rdma_getaddrinfo("127.0.0.1", "1", &hints, &info), EAI_SOCKTYPE);
	assert_null(info);
}

static void bad_requests_are_refused(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA }, *info = NULL;

	assert_refused(rdma_getaddrinfo(NULL, NULL, NULL, &info), EINVAL);
	assert_refused(rdma_getaddrinfo("127.0.0.1", NULL, NULL, NULL), EINVAL);
	assert_refused(rdma_getaddrinfo(NULL, "svc", &hints, &info), EOPNOTSUPP);
	hints = (struct rdma_addrinfo){ .ai_dst_len = 16 };
	assert_refused(rdma_getaddrinfo(NULL, NULL, &hints, &info), EINVAL);
	assert_null(info);
	rdma_freeaddrinfo(NULL);
}

static void an_asynchronous_lookup_raises_an_event_and_its_result_is_fetched(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *info = NULL;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_refused(rdma_query_addrinfo(id, &info), ENOENT);
	assert_int_equal(rdma_resolve_addrinfo(id, "127.0.0.1", "1", NULL), 0);
	assert_refused(rdma_resolve_addrinfo(id, "127.0.0.1", "1", NULL), EBUSY);
	expect_event(channel, id, RDMA_CM_EVENT_ADDRINFO_RESOLVED, 0);
	assert_refused(rdma_query_addrinfo(id, NULL), EINVAL);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	assert_non_null(info->ai_dst_addr);
	rdma_freeaddrinfo(info);
	assert_refused(rdma_query_addrinfo(id, &info), ENOENT);
	/* a failed resolution does not block the next one; an unfetched result is freed with the id */
	assert_refused(rdma_resolve_addrinfo(id, NULL, NULL, NULL), EINVAL);
	assert_int_equal(rdma_resolve_addrinfo(id, "127.0.0.1", "1", NULL), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_refused(rdma_resolve_addrinfo(NULL, "127.0.0.1", NULL, NULL), EINVAL);
	rdma_destroy_event_channel(channel);
}

static void a_passive_endpoint_is_bound(void **state)
{
	struct address src;
	struct rdma_addrinfo res = {
		.ai_flags = RAI_PASSIVE,
		.ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC,
		.ai_src_addr = ip(&src, "127.0.0.1", 4000),
		.ai_src_len = sizeof(src.in),
	};
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_int_equal(rdma_get_src_port(id), htons(4000));
	assert_null(id->qp);
	assert_int_equal(rdma_listen(id, 0), 0);
	rdma_destroy_ep(id);
	assert_int_equal(fake_objects(), 0);
}

static void an_active_endpoint_has_its_route_and_qp(void **state)
{
	struct address dst;
	struct rdma_addrinfo res = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_qp_type = IBV_QPT_RC,
		.ai_dst_addr = ip(&dst, "127.0.0.1", 4000),
		.ai_dst_len = sizeof(dst.in),
	};
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1, .max_recv_wr = 1 } };
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), 0);
	assert_int_equal(id->route.num_paths, 1);
	assert_int_equal(id->qp->qp_type, IBV_QPT_RC);
	rdma_destroy_ep(id);
	assert_int_equal(fake_objects(), 0);
}

static void failed_endpoints_leak_nothing(void **state)
{
	struct address dst;
	struct rdma_addrinfo res = {
		.ai_port_space = RDMA_PS_TCP,
		.ai_dst_addr = ip(&dst, "127.0.0.1", 4000),
		.ai_dst_len = sizeof(dst.in),
	};
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1, .max_recv_wr = 1 } };
	struct rdma_cm_id *id = NULL;
	int before = open_files();

	fake.fail_qp = ENOSPC;
	errno = 0;
	assert_int_equal(rdma_create_ep(&id, &res, NULL, &attr), -1);
	assert_int_equal(errno, ENOSPC);
	fake.fail_qp = 0;
	assert_refused(rdma_create_ep(&id, NULL, NULL, NULL), EINVAL);
	assert_refused(rdma_create_ep(NULL, &res, NULL, NULL), EINVAL);
	res.ai_route_len = 8;
	assert_refused(rdma_create_ep(&id, &res, NULL, NULL), EINVAL);
	res.ai_route_len = 0;
	res.ai_dst_addr = NULL;
	assert_refused(rdma_create_ep(&id, &res, NULL, NULL), EINVAL);
	res.ai_flags = RAI_PASSIVE;
	assert_refused(rdma_create_ep(&id, &res, NULL, NULL), EINVAL);
	res.ai_port_space = 9;
	assert_refused(rdma_create_ep(&id, &res, NULL, NULL), EINVAL);
	assert_null(id);
	rdma_destroy_ep(NULL);
	assert_int_equal(open_files(), before);
	assert_int_equal(fake_objects(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_numeric_node_becomes_the_destination),
		cmocka_unit_test(a_passive_answer_is_a_source),
		cmocka_unit_test(hints_alone_are_passed_through),
		cmocka_unit_test(a_numeric_gid_becomes_a_native_address),
		cmocka_unit_test(name_service_failures_keep_their_code),
		cmocka_unit_test(bad_requests_are_refused),
		cmocka_unit_test(an_asynchronous_lookup_raises_an_event_and_its_result_is_fetched),
		cmocka_unit_test(a_passive_endpoint_is_bound),
		cmocka_unit_test(an_active_endpoint_has_its_route_and_qp),
		cmocka_unit_test(failed_endpoints_leak_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
