/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_create_flow(): every kind of spec with a packet that it matches and one that it does not; the
 * types of rules and their order; counters; and what is refused.
 */
#include "raw_pair.h"

#include <endian.h>

#define MASK_MAC                                                                                   \
	{                                                                                          \
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff                                                 \
	}

/* A flow and its specs, one after the other. */
struct rule {
	union {
		struct ibv_flow_attr attr;
		uint8_t bytes[1024];
	};
};

static struct rule rule_of(enum ibv_flow_attr_type type, uint16_t priority)
{
	struct rule r = { .attr = { .type = type,
				    .size = sizeof(struct ibv_flow_attr),
				    .priority = priority,
				    .port = 1 } };

	return r;
}

static void add_spec(struct rule *r, const void *spec, size_t size)
{
	memcpy(r->bytes + r->attr.size, spec, size);
	r->attr.size += size;
	r->attr.num_of_specs++;
}

#define ADD(rule, kind, what, ...)                                                                 \
	do {                                                                                       \
		struct ibv_flow_spec_##kind spec_ = { .type = (what),                              \
						      .size = sizeof(spec_),                       \
						      __VA_ARGS__ };                               \
		add_spec(rule, &spec_, sizeof(spec_));                                             \
	} while (0)

#define UDP_TO(rule, port)                                                                         \
	ADD(rule, tcp_udp, IBV_FLOW_SPEC_UDP, .val = { .dst_port = htobe16(port) },                \
	    .mask = { .dst_port = 0xffff })

static struct ibv_flow *make(struct raw_end *e, struct rule *r)
{
	struct ibv_flow *flow = ibv_create_flow(e->qp, &r->attr);

	assert_non_null(flow);
	assert_ptr_equal(flow->context, e->context);
	return flow;
}

/* Only `yes` reaches receiver 0 by the rule. */
static void expect(struct raw_pair *p, struct rule *r, const struct pkt *yes, const struct pkt *no)
{
	struct ibv_flow *flow = make(&p->to[0], r);

	assert_int_equal(raw_who_gets(p, yes), 0);
	assert_int_equal(p->to[0].len, yes->len);
	assert_memory_equal(p->to[0].frame, yes->b, yes->len);
	assert_int_equal(raw_who_gets(p, no), RAW_REST);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(raw_who_gets(p, yes), RAW_REST);
}

static void ethernet_and_tags(void **state)
{
	struct pkt yes = pkt_plain(1, 2), no = { 0 }, tagged = { 0 }, other;
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	pkt_eth(&no, 3, 1, 0x0800);
	pkt_fill(&no, 50);
	ADD(&r, eth, IBV_FLOW_SPEC_ETH, .val = { .dst_mac = { 2, 0, 0, 0, 0, 2 } },
	    .mask = { .dst_mac = MASK_MAC });
	expect(&p, &r, &yes, &no);

	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	pkt_eth(&tagged, 2, 1, 0x8100);
	pkt_vlan(&tagged, 0x2005, 0x0800);
	pkt_fill(&tagged, 50);
	other = tagged;
	other.b[15] = 6;
	ADD(&r, eth, IBV_FLOW_SPEC_ETH,
	    .val = { .ether_type = htobe16(0x0800), .vlan_tag = htobe16(5) },
	    .mask = { .ether_type = 0xffff, .vlan_tag = htobe16(0xfff) });
	expect(&p, &r, &tagged, &other);
	expect(&p, &r, &tagged, &yes); /* no tag at all */
	raw_pair_fini(&p);
}

static void ipv4_and_its_longer_form(void **state)
{
	struct pkt yes = pkt_plain(1, 2), no = pkt_plain(1, 2);
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	no.b[29] = 9; /* source 1.1.1.9 */
	ADD(&r, ipv4, IBV_FLOW_SPEC_IPV4, .val = { .src_ip = htobe32(0x01010101) },
	    .mask = { .src_ip = 0xffffffff });
	expect(&p, &r, &yes, &no);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT,
	    .val = { .dst_ip = htobe32(0x02020202), .proto = 17, .tos = 0x2e, .ttl = 64 },
	    .mask = { .dst_ip = 0xffffffff, .proto = 0xff, .tos = 0xff, .ttl = 0xff });
	no = yes;
	no.b[15] = 0x2f;
	expect(&p, &r, &yes, &no);
	raw_pair_fini(&p);
}

static void ipv6_and_ports(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt yes = { 0 }, no;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	pkt_eth(&yes, 2, 1, 0x86dd);
	pkt_ip6(&yes, 1, 2, 6);
	pkt_tcp(&yes, 80, 8080);
	pkt_end(&yes);
	no = yes;
	no.b[14 + 39] = 3;
	ADD(&r, ipv6, IBV_FLOW_SPEC_IPV6,
	    .val = { .dst_ip = { 0x20, 1, 0xd, 0xb8, [15] = 2 },
		     .flow_label = htobe32(0x12345),
		     .next_hdr = 6,
		     .traffic_class = 0x2e,
		     .hop_limit = 64 },
	    .mask = { .dst_ip = { 0xff, 0xff, 0xff, 0xff, [15] = 0xff },
		      .flow_label = htobe32(0xfffff),
		      .next_hdr = 0xff,
		      .traffic_class = 0xff,
		      .hop_limit = 0xff });
	expect(&p, &r, &yes, &no);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, tcp_udp, IBV_FLOW_SPEC_TCP,
	    .val = { .dst_port = htobe16(8080), .src_port = htobe16(80) },
	    .mask = { .dst_port = 0xffff, .src_port = 0xffff });
	no = yes;
	no.b[14 + 41] = 81;
	expect(&p, &r, &yes, &no);
	no = pkt_plain(80, 8080); /* UDP with the same ports */
	expect(&p, &r, &yes, &no);
	raw_pair_fini(&p);
}

static void esp_by_its_index(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt yes = { 0 }, no;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	pkt_eth(&yes, 2, 1, 0x0800);
	pkt_ip4(&yes, 1, 2, 50);
	pkt_u32(&yes, 0xdeadbeef);
	pkt_fill(&yes, 40);
	pkt_end(&yes);
	no = yes;
	no.b[34] = 0;
	ADD(&r, esp, IBV_FLOW_SPEC_ESP, .val = { .spi = htobe32(0xdeadbeef) },
	    .mask = { .spi = 0xffffffff });
	expect(&p, &r, &yes, &no);
	raw_pair_fini(&p);
}

static void vxlan_and_its_inner_headers(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt yes = pkt_vxlan(7, 8), no = pkt_vxlan(7, 9);
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	ADD(&r, tunnel, IBV_FLOW_SPEC_VXLAN_TUNNEL, .val = { .tunnel_id = htobe32(0x123456) },
	    .mask = { .tunnel_id = htobe32(0xffffff) });
	ADD(&r, ipv4, IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_IPV4,
	    .val = { .src_ip = htobe32(0x01010101) }, .mask = { .src_ip = 0xffffffff });
	ADD(&r, tcp_udp, IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_UDP, .val = { .dst_port = htobe16(8) },
	    .mask = { .dst_port = 0xffff });
	expect(&p, &r, &yes, &no);
	no = yes;
	no.b[46] = 0; /* another VNI */
	expect(&p, &r, &yes, &no);
	raw_pair_fini(&p);
}

static void gre_and_labels(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt yes = { 0 }, no;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	pkt_eth(&yes, 2, 1, 0x0800);
	pkt_ip4(&yes, 1, 2, 47);
	pkt_u32(&yes, 0x20000800);
	pkt_u32(&yes, 0xcafebabe);
	pkt_ip4(&yes, 5, 6, 17);
	pkt_udp(&yes, 11, 12);
	pkt_end(&yes);
	no = yes;
	no.b[38] = 0;
	ADD(&r, gre, IBV_FLOW_SPEC_GRE,
	    .val = { .c_ks_res0_ver = htobe16(0x2000),
		     .protocol = htobe16(0x0800),
		     .key = htobe32(0xcafebabe) },
	    .mask = { .c_ks_res0_ver = htobe16(0xb000), .protocol = 0xffff, .key = 0xffffffff });
	expect(&p, &r, &yes, &no);

	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	memset(&yes, 0, sizeof(yes));
	pkt_eth(&yes, 2, 1, 0x0800);
	pkt_ip4(&yes, 1, 2, 17);
	pkt_udp(&yes, 7, 6635);
	pkt_u32(&yes, 0x00064140);
	pkt_ip4(&yes, 5, 6, 17);
	pkt_udp(&yes, 11, 12);
	pkt_end(&yes);
	no = yes;
	no.b[43] = 9;
	UDP_TO(&r, 6635);
	ADD(&r, mpls, IBV_FLOW_SPEC_MPLS, .val = { .label = htobe32(0x00064000) },
	    .mask = { .label = htobe32(0xfffff000) });
	expect(&p, &r, &yes, &no);
	raw_pair_fini(&p);
}

static void the_lower_priority_number_wins(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 3), s = rule_of(IBV_FLOW_ATTR_NORMAL, 2);
	struct pkt packet = pkt_plain(1, 2);
	struct ibv_flow *low, *high;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	UDP_TO(&r, 2);
	ADD(&s, ipv4, IBV_FLOW_SPEC_IPV4, .val = { .src_ip = htobe32(0x01010101) },
	    .mask = { .src_ip = 0xffffffff });
	low = make(&p.to[0], &r);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	high = make(&p.to[1], &s);
	assert_int_equal(raw_who_gets(&p, &packet), 1);
	assert_int_equal(ibv_destroy_flow(high), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(ibv_destroy_flow(low), 0);
	raw_pair_fini(&p);
}

static void two_queue_pairs_with_one_rule_both_get_it(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt packet = pkt_plain(1, 2);
	struct ibv_flow *a, *b;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	UDP_TO(&r, 2);
	a = make(&p.to[0], &r);
	b = make(&p.to[1], &r);
	raw_send(&p, &packet);
	assert_int_equal(raw_wait(&p) + raw_wait(&p), 1);
	assert_int_equal(ibv_destroy_flow(a), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 1);
	assert_int_equal(ibv_destroy_flow(b), 0);
	raw_pair_fini(&p);
}

static void a_packet_goes_on_after_a_rule_with_dont_trap(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt packet = pkt_plain(1, 2);
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	UDP_TO(&r, 2);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	flow = make(&p.to[0], &r);
	raw_send(&p, &packet);
	assert_int_equal(raw_wait(&p) + raw_wait(&p), 0 + RAW_REST);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	raw_pair_fini(&p);
}

static void default_rules_take_unmatched_packets_and_sniffers_get_copies(void **state)
{
	struct rule mc = rule_of(IBV_FLOW_ATTR_MC_DEFAULT, 0);
	struct rule all = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct pkt single = pkt_plain(1, 2), group = pkt_plain(1, 2);
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	assert_int_equal(ibv_destroy_flow(p.rest), 0);
	group.b[0] = 0x01;
	flow = make(&p.to[0], &mc);
	p.rest = raw_catch_all(&p.to[RAW_REST]);
	assert_int_equal(raw_who_gets(&p, &group), 0);
	assert_int_equal(raw_who_gets(&p, &single), RAW_REST);
	assert_int_equal(ibv_destroy_flow(flow), 0);

	flow = make(&p.to[1], &all);
	raw_send(&p, &single);
	assert_int_equal(raw_wait(&p) + raw_wait(&p), 1 + RAW_REST);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	raw_pair_fini(&p);
}

/* A sniffer gets frames of both directions, also those of its own context. */
static void a_sniffer_sees_outgoing_packets(void **state)
{
	struct rule all = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	struct pkt packet = pkt_plain(1, 2);
	struct ibv_sge sge = { .length = packet.len };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	time_t end = time(NULL) + 20;
	struct ibv_flow *flow;
	struct raw_end e;

	raw_end_init(&e, "mlx5_0");
	raw_post(&e, 0);
	flow = make(&e, &all);
	memcpy(e.memory + RAW_BUFFER, packet.b, packet.len);
	sge.addr = (uintptr_t)(e.memory + RAW_BUFFER);
	sge.lkey = e.mr->lkey;
	assert_int_equal(ibv_post_send(e.qp, &wr, &bad), 0);
	while (!raw_take(&e))
		assert_true(time(NULL) < end);
	assert_int_equal(e.len, packet.len);
	assert_memory_equal(e.frame, packet.b, packet.len);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	raw_end_fini(&e);
}

static void dropped_packets_are_counted(void **state)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr bytes = { .counter_desc = IBV_COUNTER_BYTES, .index = 0 };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS,
						   .index = 2 };
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt dropped = pkt_plain(1, 2), passes = pkt_plain(1, 3);
	uint64_t values[3] = { 7, 7, 7 };
	struct ibv_counters *counters;
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	counters = ibv_create_counters(p.to[0].context, &init);
	assert_non_null(counters);
	UDP_TO(&r, 2);
	ADD(&r, action_drop, IBV_FLOW_SPEC_ACTION_DROP);
	ADD(&r, counter_action, IBV_FLOW_SPEC_ACTION_COUNT, .counters = counters);
	/* Nothing is to be counted yet. */
	assert_null(ibv_create_flow(p.to[0].qp, &r.attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_read_counters(counters, values, 3, 0), EINVAL);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &bytes, NULL), 0);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &packets, NULL), 0);
	flow = make(&p.to[0], &r);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &bytes, NULL), EBUSY);
	assert_int_equal(ibv_destroy_counters(counters), EBUSY);
	raw_send(&p, &dropped);
	raw_send(&p, &dropped);
	assert_int_equal(raw_who_gets(&p, &passes), RAW_REST);
	assert_int_equal(ibv_read_counters(counters, values, 2, 0), EINVAL);
	assert_int_equal(ibv_read_counters(counters, values, 3, 1 << 5), EINVAL);
	assert_int_equal(values[0], 7);
	assert_int_equal(
		ibv_read_counters(counters, values, 3, IBV_READ_COUNTERS_ATTR_PREFER_CACHED), 0);
	assert_int_equal(values[0], 2 * dropped.len);
	assert_int_equal(values[1], 0);
	assert_int_equal(values[2], 2);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	raw_pair_fini(&p);
}

static void counters_with_one_index_add_up(void **state)
{
	struct ibv_counters_init_attr init = { 0 };
	struct ibv_counter_attach_attr bytes = { .counter_desc = IBV_COUNTER_BYTES };
	struct ibv_counter_attach_attr packets = { .counter_desc = IBV_COUNTER_PACKETS };
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt hit = pkt_plain(1, 2), passes = pkt_plain(1, 3);
	struct ibv_counters *counters;
	uint64_t values[2] = { 7, 7 };
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	counters = ibv_create_counters(p.to[0].context, &init);
	assert_non_null(counters);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &bytes, NULL), 0);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &packets, NULL), 0);
	assert_int_equal(ibv_attach_counters_point_flow(counters, &packets, NULL), 0);
	UDP_TO(&r, 2);
	ADD(&r, action_drop, IBV_FLOW_SPEC_ACTION_DROP);
	ADD(&r, counter_action, IBV_FLOW_SPEC_ACTION_COUNT, .counters = counters);
	flow = make(&p.to[0], &r);
	raw_send(&p, &hit);
	assert_int_equal(raw_who_gets(&p, &passes), RAW_REST);
	assert_int_equal(ibv_read_counters(counters, values, 2, 0), 0);
	assert_int_equal(values[0], hit.len + 2);
	assert_int_equal(values[1], 0);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_counters(counters), 0);
	raw_pair_fini(&p);
}

static void outgoing_packets_can_be_dropped(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt dropped = pkt_plain(1, 2), passes = pkt_plain(1, 3);
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_1", "mlx5_0");
	UDP_TO(&r, 2);
	ADD(&r, action_drop, IBV_FLOW_SPEC_ACTION_DROP);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	flow = make(&p.from, &r);
	raw_send(&p, &dropped);
	assert_int_equal(raw_who_gets(&p, &passes), RAW_REST);
	assert_memory_equal(p.to[RAW_REST].frame, passes.b, passes.len);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(raw_who_gets(&p, &dropped), RAW_REST);
	raw_pair_fini(&p);
}

static void an_egress_rule_needs_no_receive_queue(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RAW_PACKET,
					 .cap = { .max_send_wr = 4, .max_send_sge = 1 } };
	struct ibv_flow *flow;
	struct raw_end e;
	struct ibv_qp *qp;

	raw_end_init(&e, "mlx5_0");
	init.send_cq = init.recv_cq = e.cq;
	qp = ibv_create_qp(e.qp->pd, &init);
	assert_non_null(qp);
	UDP_TO(&r, 2);
	ADD(&r, action_drop, IBV_FLOW_SPEC_ACTION_DROP);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
	flow = ibv_create_flow(qp, &r.attr);
	assert_non_null(flow);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	raw_end_fini(&e);
}

static void a_queue_pair_with_rules_is_busy(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *flow;
	struct raw_end e;

	raw_end_init(&e, "mlx5_0");
	flow = make(&e, &r);
	assert_int_equal(ibv_destroy_qp(e.qp), EBUSY);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	raw_end_fini(&e);
}

static void connectx_3_takes_ethernet_ipv4_tcp_and_udp_specs(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0), bad = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct pkt yes = pkt_plain(1, 2), no = pkt_plain(1, 3);
	struct raw_pair p;

	raw_pair_init(&p, "mlx4_1", "mlx4_0");
	ADD(&r, eth, IBV_FLOW_SPEC_ETH, .val = { .dst_mac = { 2, 0, 0, 0, 0, 2 } },
	    .mask = { .dst_mac = MASK_MAC });
	UDP_TO(&r, 2);
	expect(&p, &r, &yes, &no);
	ADD(&bad, ipv6, IBV_FLOW_SPEC_IPV6);
	assert_null(ibv_create_flow(p.to[0].qp, &bad.attr));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_counters(p.to[0].context, &(struct ibv_counters_init_attr){ 0 }));
	assert_int_equal(errno, EOPNOTSUPP);
	bad = rule_of(IBV_FLOW_ATTR_NORMAL, 4096);
	assert_null(ibv_create_flow(p.to[0].qp, &bad.attr));
	assert_int_equal(errno, EINVAL);
	raw_pair_fini(&p);
}

/* DPDK's promiscuous mode is a default rule with an address that no bit of is looked at. */
static void specs_narrow_default_rules_of_connectx_3(void **state)
{
	struct rule all = rule_of(IBV_FLOW_ATTR_ALL_DEFAULT, 0), some = all;
	struct pkt two = pkt_plain(1, 2), three = pkt_plain(1, 3);
	struct ibv_flow *flow;
	struct raw_pair p;

	raw_pair_init(&p, "mlx4_1", "mlx4_0");
	assert_int_equal(ibv_destroy_flow(p.rest), 0);
	ADD(&some, eth, IBV_FLOW_SPEC_ETH);
	UDP_TO(&some, 2);
	flow = make(&p.to[0], &some);
	ADD(&all, eth, IBV_FLOW_SPEC_ETH, .val = { .dst_mac = { 0xff } });
	p.rest = make(&p.to[RAW_REST], &all);
	assert_int_equal(raw_who_gets(&p, &two), 0);
	assert_int_equal(raw_who_gets(&p, &three), RAW_REST);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	raw_pair_fini(&p);
}

/* ---- refusals ---- */

static void refused(struct raw_end *e, struct rule *r, int err)
{
	errno = 0;
	assert_null(ibv_create_flow(e->qp, &r->attr));
	assert_int_equal(errno, err);
}

static void invalid_attributes_are_refused(void **state)
{
	struct rule r;
	struct raw_end e;

	raw_end_init(&e, "mlx5_0");
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 16);
	refused(&e, &r, ENOSPC);
	r = rule_of(4, 0);
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	r.attr.port = 9;
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	r.attr.comp_mask = 1;
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	r.attr.flags = 1;
	refused(&e, &r, EINVAL);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_SNIFFER, 0);
	UDP_TO(&r, 1);
	refused(&e, &r, EINVAL);
	raw_end_fini(&e);
}

static void rules_with_one_value_differ_in_destinations_only(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 3), tagged = r, dropping = r;
	struct pkt packet = pkt_plain(1, 9);
	struct ibv_flow *first, *second;
	struct raw_pair p;

	raw_pair_init(&p, "mlx5_0", "mlx5_1");
	UDP_TO(&r, 9);
	UDP_TO(&tagged, 9);
	ADD(&tagged, action_tag, IBV_FLOW_SPEC_ACTION_TAG, .tag_id = 5);
	UDP_TO(&dropping, 9);
	ADD(&dropping, action_drop, IBV_FLOW_SPEC_ACTION_DROP);
	first = ibv_create_flow(p.to[0].qp, &r.attr);
	assert_non_null(first);
	refused(&p.to[1], &tagged, EEXIST);
	refused(&p.to[1], &dropping, EEXIST);
	/* An equal flow of the same QP gets no second copy, and outlives the first. */
	second = ibv_create_flow(p.to[0].qp, &r.attr);
	assert_non_null(second);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(ibv_destroy_flow(first), 0);
	assert_int_equal(raw_who_gets(&p, &packet), 0);
	assert_int_equal(ibv_destroy_flow(second), 0);
	assert_int_equal(raw_who_gets(&p, &packet), RAW_REST);
	raw_pair_fini(&p);
}

static void connectx_3_copies_all_frames_or_none(void **state)
{
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow *flow;
	struct raw_end e;

	raw_end_init(&e, "mlx4_0");
	r.attr.port = 0;
	refused(&e, &r, EINVAL);
	r.attr.port = 1;
	r.attr.flags = 1;
	refused(&e, &r, EOPNOTSUPP);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	flow = ibv_create_flow(e.qp, &r.attr);
	assert_non_null(flow);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	r.attr.priority = 1;
	refused(&e, &r, EOPNOTSUPP);
	r.attr.priority = 0;
	ADD(&r, eth, IBV_FLOW_SPEC_ETH, .val = { .dst_mac = { 1 } }, .mask = { .dst_mac = { 1 } });
	flow = ibv_create_flow(e.qp, &r.attr);
	assert_non_null(flow);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	UDP_TO(&r, 1);
	refused(&e, &r, EOPNOTSUPP);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	r.attr.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
	ADD(&r, eth, IBV_FLOW_SPEC_ETH, .val = { .dst_mac = { 2 } },
	    .mask = { .dst_mac = { 0xff, 0xff } });
	refused(&e, &r, EINVAL);
	raw_end_fini(&e);
}

static void invalid_specs_are_refused(void **state)
{
	struct rule r;
	struct raw_end e;

	raw_end_init(&e, "mlx5_0");
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, eth, 0x21);
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, tunnel, IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_VXLAN_TUNNEL);
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, eth, IBV_FLOW_SPEC_ETH);
	r.bytes[r.attr.size - sizeof(struct ibv_flow_spec_eth) + 4]--; /* one byte less */
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, tunnel, IBV_FLOW_SPEC_VXLAN_TUNNEL, .mask = { .tunnel_id = 0xffffffff });
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, esp, IBV_FLOW_SPEC_ESP, .mask = { .seq = 1 });
	refused(&e, &r, EOPNOTSUPP);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, ipv4_ext, IBV_FLOW_SPEC_IPV4_EXT, .mask = { .flags = 1 });
	refused(&e, &r, EOPNOTSUPP);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, action_tag, IBV_FLOW_SPEC_ACTION_TAG, .tag_id = 1 << 24);
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, eth, IBV_FLOW_SPEC_ETH, .val = { .ether_type = htobe16(0x86dd) },
	    .mask = { .ether_type = 0xffff });
	ADD(&r, ipv4, IBV_FLOW_SPEC_IPV4);
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	UDP_TO(&r, 1);
	ADD(&r, tcp_udp, IBV_FLOW_SPEC_TCP);
	refused(&e, &r, EINVAL);
	r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	ADD(&r, counter_action, IBV_FLOW_SPEC_ACTION_COUNT);
	refused(&e, &r, EINVAL);
	raw_end_fini(&e);
}

static void other_queue_pairs_and_esp_actions_are_refused(void **state)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct rule r = rule_of(IBV_FLOW_ATTR_NORMAL, 0);
	struct ibv_flow_action_esp_attr esp = { 0 };
	struct ibv_qp *qp;
	struct raw_end e;

	raw_end_init(&e, "mlx5_0");
	init.send_cq = init.recv_cq = e.cq;
	qp = ibv_create_qp(e.pd, &init);
	assert_non_null(qp);
	assert_null(ibv_create_flow(qp, &r.attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_null(ibv_create_flow_action_esp(e.context, &esp));
	assert_int_equal(errno, EOPNOTSUPP);
	raw_end_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ethernet_and_tags),
		cmocka_unit_test(ipv4_and_its_longer_form),
		cmocka_unit_test(ipv6_and_ports),
		cmocka_unit_test(esp_by_its_index),
		cmocka_unit_test(vxlan_and_its_inner_headers),
		cmocka_unit_test(gre_and_labels),
		cmocka_unit_test(the_lower_priority_number_wins),
		cmocka_unit_test(two_queue_pairs_with_one_rule_both_get_it),
		cmocka_unit_test(a_packet_goes_on_after_a_rule_with_dont_trap),
		cmocka_unit_test(default_rules_take_unmatched_packets_and_sniffers_get_copies),
		cmocka_unit_test(a_sniffer_sees_outgoing_packets),
		cmocka_unit_test(dropped_packets_are_counted),
		cmocka_unit_test(counters_with_one_index_add_up),
		cmocka_unit_test(outgoing_packets_can_be_dropped),
		cmocka_unit_test(an_egress_rule_needs_no_receive_queue),
		cmocka_unit_test(a_queue_pair_with_rules_is_busy),
		cmocka_unit_test(connectx_3_takes_ethernet_ipv4_tcp_and_udp_specs),
		cmocka_unit_test(specs_narrow_default_rules_of_connectx_3),
		cmocka_unit_test(rules_with_one_value_differ_in_destinations_only),
		cmocka_unit_test(connectx_3_copies_all_frames_or_none),
		cmocka_unit_test(invalid_attributes_are_refused),
		cmocka_unit_test(invalid_specs_are_refused),
		cmocka_unit_test(other_queue_pairs_and_esp_actions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
