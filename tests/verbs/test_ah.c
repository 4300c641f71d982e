/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles: what an address must be on either link layer, and the way back to a sender.
 */
#include "verbs_test.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <string.h>

struct fixture {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_ah_attr good;
	struct ibv_gid_entry entry;
};

/* The first RoCEv2 entry whose GID maps an IPv4 address, or not; mlx4 has InfiniBand ones. */
static bool find_gid(struct ibv_context *context, uint32_t type, bool ipv4,
		     struct ibv_gid_entry *out)
{
	static struct ibv_gid_entry all[512];
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	ssize_t n = ibv_query_gid_table(context, all, 512, 0);

	for (ssize_t i = 0; i < n; i++)
		if (all[i].gid_type == type && ipv4 == !memcmp(all[i].gid.raw, mapped, 12)) {
			*out = all[i];
			return true;
		}
	return false;
}

static int open_device(void **state, const char *name)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	f.context = test_open(name);
	f.pd = ibv_alloc_pd(f.context);
	f.good.port_num = 1;
	*state = &f;
	return f.pd ? 0 : -1;
}

static int open_ethernet(void **state)
{
	struct fixture *f;

	if (open_device(state, "mlx5_0"))
		return -1;
	f = *state;
	if (!find_gid(f->context, IBV_GID_TYPE_ROCE_V2, true, &f->entry) &&
	    !find_gid(f->context, IBV_GID_TYPE_ROCE_V2, false, &f->entry))
		return -1;
	f->good.is_global = 1;
	f->good.grh.dgid = f->entry.gid;
	f->good.grh.sgid_index = f->entry.gid_index;
	f->good.grh.hop_limit = 64;
	return 0;
}

static int open_infiniband(void **state)
{
	struct ibv_port_attr port;
	struct fixture *f;

	if (open_device(state, "mlx4_0"))
		return -1;
	f = *state;
	if (ibv_query_port(f->context, 1, &port))
		return -1;
	f->good.dlid = port.lid;
	return 0;
}

/* Every test gives its handles back, so the domain is free. */
static int close_it(void **state)
{
	struct fixture *f = *state;
	int err = ibv_dealloc_pd(f->pd);

	test_close(f->context);
	return err;
}

static void assert_refused_with(struct fixture *f, struct ibv_ah_attr attr, int reason)
{
	errno = 0;
	assert_null(ibv_create_ah(f->pd, &attr));
	assert_int_equal(errno, reason);
}

static void assert_refused(struct fixture *f, struct ibv_ah_attr attr)
{
	assert_refused_with(f, attr, EINVAL);
}

static void assert_works(struct fixture *f, struct ibv_ah_attr attr)
{
	struct ibv_ah *ah = ibv_create_ah(f->pd, &attr);

	assert_non_null(ah);
	assert_ptr_equal(ah->pd, f->pd);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void a_handle_keeps_its_domain_busy(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah *ah = ibv_create_ah(f->pd, &f->good);

	assert_non_null(ah);
	assert_int_equal(ibv_dealloc_pd(f->pd), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void a_handle_through_a_parent_keeps_the_parent_busy(void **state)
{
	struct fixture *f = *state;
	struct ibv_parent_domain_init_attr attr = { .pd = f->pd };
	struct ibv_pd *parent = ibv_alloc_parent_domain(f->context, &attr);
	struct ibv_ah *ah = ibv_create_ah(parent, &f->good);

	assert_non_null(ah);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
}

static void ports_that_do_not_exist_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah_attr attr = f->good;

	attr.port_num = 0;
	assert_refused(f, attr);
	attr.port_num = 9;
	assert_refused(f, attr);
}

static void rates_that_do_not_exist_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah_attr attr = f->good;

	attr.static_rate = 1;
	assert_refused(f, attr);
	attr.static_rate = 200;
	assert_refused(f, attr);
	attr.static_rate = IBV_RATE_10_GBPS;
	assert_works(f, attr);
}

static void ethernet_needs_a_grh(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah_attr attr = f->good;

	attr.is_global = 0;
	attr.dlid = 1;
	assert_refused(f, attr);
}

static void the_source_must_be_a_gid_of_the_port(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah_attr attr = f->good;

	attr.grh.sgid_index = 255;
	assert_refused(f, attr);
	attr.grh.sgid_index = 254; /* in the table, and empty */
	assert_refused_with(f, attr, ENODATA);
}

static void the_destination_must_not_be_zero(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah_attr attr = f->good;

	memset(&attr.grh.dgid, 0, sizeof(attr.grh.dgid));
	assert_refused(f, attr);
}

static void infiniband_goes_by_lid_or_by_grh(void **state)
{
	struct fixture *f = *state;
	struct ibv_ah_attr attr = f->good;

	assert_works(f, attr);
	attr.dlid = 0;
	assert_refused(f, attr);
	attr.is_global = 1;
	assert_int_equal(ibv_query_gid(f->context, 1, 0, &attr.grh.dgid), 0);
	assert_works(f, attr);
	memset(&attr.grh.dgid, 0, sizeof(attr.grh.dgid));
	assert_refused(f, attr);
}

static uint16_t ip_checksum(const void *header)
{
	const uint8_t *p = header;
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return htons(~((sum & 0xffff) + (sum >> 16)));
}

static void the_sender_over_ipv4_is_found_in_the_last_20_bytes(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct iphdr ip = {
		.version = 4, .ihl = 5, .ttl = 33, .tos = 0x68, .protocol = IPPROTO_UDP
	};
	struct ibv_gid_entry entry = { 0 };
	struct ibv_ah_attr attr;
	uint8_t area[40];
	struct ibv_ah *ah;

	if (!find_gid(f->context, IBV_GID_TYPE_ROCE_V2, true, &entry))
		skip();
	memcpy(&ip.daddr, entry.gid.raw + 12, 4);
	ip.saddr = htonl(0xc0000207); /* 192.0.2.7 */
	ip.check = ip_checksum(&ip);
	/* The bytes before the header are undefined: here they look like an IPv6 header. */
	memset(area, 0x60, sizeof(area));
	memcpy(area + 20, &ip, 20);
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, (struct ibv_grh *)area, &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.grh.sgid_index, entry.gid_index);
	assert_int_equal(attr.grh.hop_limit, 33);
	assert_int_equal(attr.grh.traffic_class, 0x68);
	assert_int_equal(attr.grh.dgid.raw[10], 0xff);
	assert_memory_equal(attr.grh.dgid.raw + 12, &ip.saddr, 4);
	ah = ibv_create_ah_from_wc(f->pd, &wc, (struct ibv_grh *)area, 1);
	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void a_datagram_to_a_foreign_gid_gives_no_reply_address(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct iphdr ip = {
		.version = 4, .ihl = 5, .saddr = htonl(0xc0000207), .daddr = htonl(0xc0000208)
	};
	struct ibv_ah_attr attr;
	uint8_t area[40] = { 0 };

	ip.check = ip_checksum(&ip);
	memcpy(area + 20, &ip, 20);
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, (struct ibv_grh *)area, &attr),
			 -1);
	assert_int_equal(errno, ENOENT);
	ip.daddr = htonl(0xe0000001); /* a group */
	memcpy(area + 20, &ip, 20);
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, (struct ibv_grh *)area, &attr),
			 -1);
	assert_int_equal(errno, EINVAL);
	memset(area, 0, sizeof(area));
	assert_null(ibv_create_ah_from_wc(f->pd, &wc, (struct ibv_grh *)area, 1));
	assert_int_equal(errno, EPROTONOSUPPORT);
}

static void fill_grh(struct ibv_grh *grh, const union ibv_gid *to, uint8_t next)
{
	memset(grh, 0, sizeof(*grh));
	grh->version_tclass_flow = htobe32(6u << 28 | 0x12 << 20 | 0xabcde);
	grh->next_hdr = next;
	grh->hop_limit = 9;
	grh->sgid.raw[0] = 0xfd;
	grh->sgid.raw[15] = 1;
	grh->dgid = *to;
}

static void the_kind_of_header_decides_the_kind_of_gid(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_gid_entry v1, v2;
	struct ibv_ah_attr attr;
	struct ibv_grh grh;

	if (!find_gid(f->context, IBV_GID_TYPE_ROCE_V1, false, &v1) ||
	    !find_gid(f->context, IBV_GID_TYPE_ROCE_V2, false, &v2))
		skip();
	fill_grh(&grh, &v1.gid, 0x1b);
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, v1.gid_index);
	assert_int_equal(attr.grh.flow_label, 0xabcde);
	assert_int_equal(attr.grh.traffic_class, 0x12);
	assert_int_equal(attr.grh.hop_limit, 9);
	assert_memory_equal(&attr.grh.dgid, &grh.sgid, 16);
	fill_grh(&grh, &v2.gid, IPPROTO_UDP);
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, v2.gid_index);
	fill_grh(&grh, &v2.gid, IPPROTO_TCP);
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, &grh, &attr), -1);
	assert_int_equal(errno, EPROTONOSUPPORT);
}

static void the_sender_on_infiniband_is_its_lid(void **state)
{
	struct fixture *f = *state;
	struct ibv_wc wc = { .slid = 0x77, .sl = 3, .dlid_path_bits = 2 };
	struct ibv_ah_attr attr;
	struct ibv_grh grh;
	union ibv_gid own;

	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, NULL, &attr), 0);
	assert_int_equal(attr.dlid, 0x77);
	assert_int_equal(attr.sl, 3);
	assert_int_equal(attr.src_path_bits, 2);
	assert_int_equal(attr.is_global, 0);
	assert_int_equal(ibv_query_gid(f->context, 1, 0, &own), 0);
	fill_grh(&grh, &own, 0x1b);
	wc.wc_flags = IBV_WC_GRH;
	assert_int_equal(ibv_init_ah_from_wc(f->context, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.dlid, 0x77);
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(attr.grh.sgid_index, 0);
	assert_memory_equal(&attr.grh.dgid, &grh.sgid, 16);
}

static void resolve(struct fixture *f, const char *ip6, const char *mac)
{
	struct ibv_ah_attr attr = f->good;
	uint8_t got[6];
	char text[18];
	uint16_t vid = 5;

	assert_int_equal(inet_pton(AF_INET6, ip6, attr.grh.dgid.raw), 1);
	assert_int_equal(ibv_resolve_eth_l2_from_gid(f->context, &attr, got, &vid), 0);
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", got[0], got[1], got[2],
		 got[3], got[4], got[5]);
	assert_string_equal(text, mac);
	assert_int_equal(vid, 0xffff);
}

static void groups_and_link_local_gids_hold_their_mac(void **state)
{
	struct fixture *f = *state;

	resolve(f, "ff12::1:2:abcd", "33:33:00:02:ab:cd");
	resolve(f, "ff0e::ffff:225.129.2.3", "01:00:5e:01:02:03");
	resolve(f, "fe80::22:33ff:fe44:5566", "02:22:33:44:55:66");
}

static void a_gid_of_this_host_has_the_mac_of_its_interface(void **state)
{
	struct fixture *f = *state;
	uint8_t mac[6];

	assert_int_equal(ibv_resolve_eth_l2_from_gid(f->context, &f->good, mac, NULL), 0);
}

#define ETH(name) cmocka_unit_test_setup_teardown(name, open_ethernet, close_it)
#define IB(name)  cmocka_unit_test_setup_teardown(name, open_infiniband, close_it)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ETH(a_handle_keeps_its_domain_busy),
		IB(a_handle_keeps_its_domain_busy),
		ETH(a_handle_through_a_parent_keeps_the_parent_busy),
		ETH(ports_that_do_not_exist_are_refused),
		IB(ports_that_do_not_exist_are_refused),
		ETH(rates_that_do_not_exist_are_refused),
		IB(rates_that_do_not_exist_are_refused),
		ETH(ethernet_needs_a_grh),
		ETH(the_source_must_be_a_gid_of_the_port),
		ETH(the_destination_must_not_be_zero),
		IB(infiniband_goes_by_lid_or_by_grh),
		ETH(the_sender_over_ipv4_is_found_in_the_last_20_bytes),
		ETH(a_datagram_to_a_foreign_gid_gives_no_reply_address),
		ETH(the_kind_of_header_decides_the_kind_of_gid),
		IB(the_sender_on_infiniband_is_its_lid),
		ETH(groups_and_link_local_gids_hold_their_mac),
		ETH(a_gid_of_this_host_has_the_mac_of_its_interface),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
