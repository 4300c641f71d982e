/* SPDX-License-Identifier: BSD-2-Clause */
#include <ifaddrs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdbool.h>

#include "cm/fake_verbs.h"
#include "cm/support.h"

static struct rdma_cm_id *new_id(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(NULL, &id, NULL, ps), 0);
	return id;
}

static int bind_to(struct rdma_cm_id *id, const char *text, int port)
{
	struct address addr;

	return rdma_bind_addr(id, ip(&addr, text, port));
}

static void new_ids_have_the_arguments_of_their_creation(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int context;

	assert_int_equal(rdma_create_id(channel, &id, &context, RDMA_PS_UDP), 0);
	assert_ptr_equal(id->channel, channel);
	assert_ptr_equal(id->context, &context);
	assert_int_equal(id->ps, RDMA_PS_UDP);
	assert_int_equal(id->qp_type, IBV_QPT_UD);
	assert_null(id->verbs);
	assert_int_equal(rdma_get_src_port(id), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	id = new_id(RDMA_PS_TCP);
	assert_int_equal(id->qp_type, IBV_QPT_RC);
	assert_non_null(id->channel);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

static void bad_arguments_make_no_id(void **state)
{
	struct rdma_event_channel stranger = { .fd = 0 };
	struct rdma_cm_id *id = NULL;

	assert_refused(rdma_create_id(NULL, NULL, NULL, RDMA_PS_TCP), EINVAL);
	assert_refused(rdma_create_id(NULL, &id, NULL, 0), EINVAL);
	assert_refused(rdma_create_id(NULL, &id, NULL, 0x107), EINVAL);
	assert_refused(rdma_create_id(&stranger, &id, NULL, RDMA_PS_TCP), EINVAL);
	assert_null(id);
}

static void an_address_of_an_adapter_binds_the_id_to_its_port(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	const struct sockaddr_in *src = (struct sockaddr_in *)rdma_get_local_addr(id);

	assert_int_equal(bind_to(id, "192.0.2.7", 18515), 0);
	assert_string_equal(id->verbs->device->name, "roce");
	assert_int_equal(id->port_num, 1);
	assert_ptr_equal(id->pd->context, id->verbs);
	assert_int_equal(rdma_get_src_port(id), htons(18515));
	assert_int_equal(ntohl(src->sin_addr.s_addr), 0xc0000207);
	assert_int_equal(id->route.addr.addr.ibaddr.pkey, 0xffff);
	assert_memory_equal(&id->route.addr.addr.ibaddr.sgid.raw[10], "\xff\xff\xc0\0\x02\x07", 6);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(fake_objects(), 0);
}

static void all_ids_share_one_context_and_one_pd_per_adapter(void **state)
{
	struct rdma_cm_id *a = new_id(RDMA_PS_TCP), *b = new_id(RDMA_PS_UDP);

	assert_int_equal(bind_to(a, "192.0.2.7", 0), 0);
	assert_int_equal(bind_to(b, "2001:db8::7", 0), 0);
	assert_ptr_equal(a->verbs, b->verbs);
	assert_ptr_equal(a->pd, b->pd);
	assert_int_equal(fake.pds, 1);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(fake.pds, 1);
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(fake.pds, 0);
	assert_int_equal(fake.opens, 1);
}

static void a_wildcard_binds_to_a_port_only(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_int_equal(bind_to(id, "0.0.0.0", 7), 0);
	assert_null(id->verbs);
	assert_null(id->pd);
	assert_int_equal(rdma_get_src_port(id), htons(7));
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void port_zero_gets_a_free_port_each_time(void **state)
{
	struct rdma_cm_id *ids[20];
	int i, k;

	for (i = 0; i < 20; i++) {
		ids[i] = new_id(RDMA_PS_TCP);
		assert_int_equal(bind_to(ids[i], i & 1 ? "::" : "127.0.0.1", 0), 0);
		assert_int_not_equal(rdma_get_src_port(ids[i]), 0);
		for (k = 0; k < i; k++)
			assert_int_not_equal(rdma_get_src_port(ids[k]), rdma_get_src_port(ids[i]));
	}
	for (i = 0; i < 20; i++)
		assert_int_equal(rdma_destroy_id(ids[i]), 0);
}

static void link_local_addresses_need_their_interface(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	struct address addr;

	ip(&addr, "fe80::1", 0);
	assert_refused(rdma_bind_addr(id, &addr.any), EINVAL);
	addr.in6.sin6_scope_id = 8;
	assert_int_equal(rdma_bind_addr(id, &addr.any), -1);
	addr.in6.sin6_scope_id = 7;
	assert_int_equal(rdma_bind_addr(id, &addr.any), 0);
	assert_string_equal(id->verbs->device->name, "roce");
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void addresses_of_no_interface_are_not_available(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_refused(bind_to(id, "192.0.2.99", 0), EADDRNOTAVAIL);
	assert_refused(bind_to(id, "2001:db8::99", 0), EADDRNOTAVAIL);
	/* a GID of an InfiniBand port is no IP address */
	assert_int_equal(bind_to(id, "fe80::2", 0), -1);
	assert_null(id->verbs);
	assert_int_equal(rdma_get_src_port(id), 0);
	/* and the id is as good as new */
	assert_int_equal(bind_to(id, "192.0.2.7", 0), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

/* An address of an interface other than loopback, which the fake adapters do not have. */
static bool find_host_address(struct address *out)
{
	struct ifaddrs *list, *entry;
	bool found = false;

	assert_int_equal(getifaddrs(&list), 0);
	for (entry = list; entry && !found; entry = entry->ifa_next) {
		found = entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET &&
			!(entry->ifa_flags & IFF_LOOPBACK);
		if (found)
			out->in = *(struct sockaddr_in *)entry->ifa_addr;
	}
	freeifaddrs(list);
	return found;
}

static void host_addresses_without_an_adapter_are_enodev(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	struct address addr;

	if (find_host_address(&addr))
		assert_refused(rdma_bind_addr(id, &addr.any), ENODEV);
	assert_int_equal(bind_to(id, "192.0.2.7", 0), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void an_id_bound_to_loopback_has_no_adapter_yet(void **state)
{
	struct rdma_cm_id *a = new_id(RDMA_PS_TCP), *b = new_id(RDMA_PS_TCP);

	assert_int_equal(bind_to(a, "::1", 0), 0);
	assert_int_equal(bind_to(b, "127.0.0.1", 0), 0);
	assert_null(a->verbs);
	assert_null(b->verbs);
	assert_null(b->pd);
	assert_int_equal(b->port_num, 0);
	assert_int_not_equal(rdma_get_src_port(b), 0);
	assert_int_equal(rdma_listen(b, 1), 0);
	assert_null(b->verbs);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
}

static void unknown_families_null_and_foreign_ids_are_einval(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP), stranger = { 0 };
	struct sockaddr unix_addr = { .sa_family = AF_UNIX };
	struct address addr;

	assert_refused(rdma_bind_addr(id, NULL), EINVAL);
	assert_refused(rdma_bind_addr(id, &unix_addr), EINVAL);
	assert_refused(rdma_bind_addr(NULL, ip(&addr, "127.0.0.1", 0)), EINVAL);
	assert_refused(rdma_bind_addr(&stranger, &addr.any), EINVAL);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_refused(rdma_bind_addr(id, &addr.any), EINVAL);
	assert_refused(rdma_destroy_id(id), EINVAL);
	assert_refused(rdma_destroy_id(NULL), EINVAL);
	assert_refused(rdma_listen(NULL, 1), EINVAL);
	assert_int_equal(rdma_get_src_port(NULL), 0);
	assert_int_equal(rdma_get_dst_port(&stranger), 0);
}

static void an_id_is_bound_once(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

	assert_int_equal(bind_to(id, "127.0.0.1", 4000), 0);
	assert_refused(bind_to(id, "127.0.0.1", 4001), EINVAL);
	assert_int_equal(rdma_get_src_port(id), htons(4000));
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void a_port_conflict_names_its_kind(void **state)
{
	struct rdma_cm_id *a = new_id(RDMA_PS_TCP), *b = new_id(RDMA_PS_TCP);
	struct rdma_cm_id *udp = new_id(RDMA_PS_UDP);

	assert_int_equal(bind_to(a, "127.0.0.1", 4000), 0);
	assert_refused(bind_to(b, "127.0.0.1", 4000), EADDRINUSE);
	assert_refused(bind_to(b, "0.0.0.0", 4000), EADDRNOTAVAIL);
	/* another address, another port space: no conflict */
	assert_int_equal(bind_to(b, "192.0.2.7", 4000), 0);
	assert_int_equal(bind_to(udp, "0.0.0.0", 4000), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
	/* free again */
	a = new_id(RDMA_PS_TCP);
	assert_int_equal(bind_to(a, "0.0.0.0", 4000), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(rdma_destroy_id(udp), 0);
	assert_int_equal(fake_objects(), 0);
}

static void reuseaddr_shares_a_port_until_an_id_listens(void **state)
{
	struct rdma_cm_id *a = new_id(RDMA_PS_TCP), *b = new_id(RDMA_PS_TCP);
	int on = 1;

	assert_int_equal(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	assert_int_equal(bind_to(a, "127.0.0.1", 4000), 0);
	assert_int_equal(bind_to(b, "127.0.0.1", 4000), 0);
	assert_refused(rdma_listen(a, 1), EADDRINUSE);
	assert_int_equal(rdma_destroy_id(b), 0);
	assert_int_equal(rdma_listen(a, 1), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
}

static void afonly_ids_of_two_families_share_a_port(void **state)
{
	struct rdma_cm_id *a = new_id(RDMA_PS_TCP), *b = new_id(RDMA_PS_TCP);
	int on = 1;

	assert_int_equal(bind_to(a, "::", 4000), 0);
	assert_refused(bind_to(b, "0.0.0.0", 4000), EADDRNOTAVAIL);
	assert_int_equal(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), 0);
	assert_int_equal(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), 0);
	assert_int_equal(bind_to(b, "0.0.0.0", 4000), 0);
	assert_int_equal(rdma_destroy_id(a), 0);
	assert_int_equal(rdma_destroy_id(b), 0);
}

static void native_addresses_bind_by_gid_and_service(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
	struct address addr = { .ib.sib_family = AF_IB };
	struct sockaddr_ib *src = (struct sockaddr_ib *)rdma_get_local_addr(id);

	inet_pton(AF_INET6, "fe80::2", addr.ib.sib_addr.sib_raw);
	addr.ib.sib_sid = htobe64(RDMA_IB_IP_PS_UDP | 99);
	addr.ib.sib_sid_mask = htobe64(UINT64_MAX);
	assert_refused(rdma_bind_addr(id, &addr.any), EPROTONOSUPPORT);
	addr.ib.sib_sid = htobe64(RDMA_IB_IP_PS_TCP | 99);
	assert_int_equal(rdma_bind_addr(id, &addr.any), 0);
	assert_string_equal(id->verbs->device->name, "ib");
	assert_int_equal(rdma_get_src_port(id), htons(99));
	assert_true(src->sib_sid == htobe64(RDMA_IB_IP_PS_TCP | 99));
	assert_int_equal(rdma_destroy_id(id), 0);

	id = new_id(RDMA_PS_IB);
	inet_pton(AF_INET6, "fe80::3", addr.ib.sib_addr.sib_raw);
	assert_refused(rdma_bind_addr(id, &addr.any), ENODEV);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void a_failing_pd_leaves_the_id_unbound_and_the_port_free(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP), *other = new_id(RDMA_PS_TCP);

	fake.fail_pd = ENOMEM;
	errno = 0;
	assert_int_equal(bind_to(id, "192.0.2.7", 4000), -1);
	assert_int_equal(errno, ENOMEM);
	fake.fail_pd = 0;
	assert_null(id->verbs);
	assert_int_equal(bind_to(other, "192.0.2.7", 4000), 0);
	assert_int_equal(rdma_destroy_id(other), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void listening_needs_a_bound_id_or_binds_it(void **state)
{
	struct rdma_cm_id *id = new_id(RDMA_PS_TCP), *fresh = new_id(RDMA_PS_TCP);

	assert_int_equal(bind_to(id, "127.0.0.1", 0), 0);
	assert_int_equal(rdma_listen(id, 5), 0);
	assert_refused(rdma_listen(id, 5), EINVAL);
	assert_int_equal(rdma_listen(fresh, -1), 0);
	assert_int_not_equal(rdma_get_src_port(fresh), 0);
	assert_int_equal(rdma_get_local_addr(fresh)->sa_family, AF_INET);
	assert_int_equal(rdma_destroy_id(id), 0);
	assert_int_equal(rdma_destroy_id(fresh), 0);
}

static void devices_are_listed_opened_once(void **state)
{
	struct ibv_context **list, **again;
	int count = 0;

	list = rdma_get_devices(&count);
	assert_non_null(list);
	assert_int_equal(count, 2);
	assert_string_equal(list[0]->device->name, "roce");
	assert_string_equal(list[1]->device->name, "ib");
	assert_null(list[2]);
	again = rdma_get_devices(NULL);
	assert_ptr_equal(again[0], list[0]);
	rdma_free_devices(again);
	rdma_free_devices(list);
	rdma_free_devices(NULL);
	assert_int_equal(fake.opens, 2);
}

static void a_thousand_ids_leak_nothing(void **state)
{
	enum { OF_FABRIC = 16 }; /* descriptors that the fabric opens meanwhile, once */
	int before = open_files() + OF_FABRIC, i;

	for (i = 0; i < 1000; i++) {
		struct rdma_cm_id *id = new_id(RDMA_PS_TCP);

		assert_int_equal(bind_to(id, "127.0.0.1", 0), 0);
		assert_int_equal(rdma_destroy_id(id), 0);
	}
	/* the service thread opens files of its own meanwhile, but not a thousand */
	assert_true(open_files() < before + 100);
	assert_int_equal(fake_objects(), 0);
}

static void *churn(void *unused)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	intptr_t failures = 0;
	int i;

	for (i = 0; i < 200; i++) {
		struct rdma_cm_event *event;
		struct rdma_cm_id *id;
		struct address addr;

		if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) {
			failures++;
			continue;
		}
		failures += rdma_bind_addr(id, ip(&addr, "127.0.0.1", 0)) != 0;
		failures += rdma_resolve_addr(id, NULL, ip(&addr, "127.0.0.1", 9), 0) != 0;
		failures += rdma_get_cm_event(channel, &event) || event->id != id ||
			    rdma_ack_cm_event(event);
		failures += rdma_destroy_id(id) != 0;
	}
	rdma_destroy_event_channel(channel);
	return (void *)failures;
}

static void threads_work_on_ids_of_their_own_at_once(void **state)
{
	pthread_t threads[4];
	void *failures;
	size_t i;

	for (i = 0; i < array_size(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
	for (i = 0; i < array_size(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &failures), 0);
		assert_null(failures);
	}
	assert_int_equal(fake_objects(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_ids_have_the_arguments_of_their_creation),
		cmocka_unit_test(bad_arguments_make_no_id),
		cmocka_unit_test(an_address_of_an_adapter_binds_the_id_to_its_port),
		cmocka_unit_test(all_ids_share_one_context_and_one_pd_per_adapter),
		cmocka_unit_test(a_wildcard_binds_to_a_port_only),
		cmocka_unit_test(port_zero_gets_a_free_port_each_time),
		cmocka_unit_test(link_local_addresses_need_their_interface),
		cmocka_unit_test(addresses_of_no_interface_are_not_available),
		cmocka_unit_test(host_addresses_without_an_adapter_are_enodev),
		cmocka_unit_test(an_id_bound_to_loopback_has_no_adapter_yet),
		cmocka_unit_test(unknown_families_null_and_foreign_ids_are_einval),
		cmocka_unit_test(an_id_is_bound_once),
		cmocka_unit_test(a_port_conflict_names_its_kind),
		cmocka_unit_test(reuseaddr_shares_a_port_until_an_id_listens),
		cmocka_unit_test(afonly_ids_of_two_families_share_a_port),
		cmocka_unit_test(native_addresses_bind_by_gid_and_service),
		cmocka_unit_test(a_failing_pd_leaves_the_id_unbound_and_the_port_free),
		cmocka_unit_test(listening_needs_a_bound_id_or_binds_it),
		cmocka_unit_test(devices_are_listed_opened_once),
		cmocka_unit_test(a_thousand_ids_leak_nothing),
		cmocka_unit_test(threads_work_on_ids_of_their_own_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
