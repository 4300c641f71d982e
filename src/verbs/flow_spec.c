/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the specs of a flow to a key of the flow engine. A spec sets fields of value and mask, and
 * matches its own protocol as well (a TCP spec: IP protocol 6).
 */
#include "verbs/flow_spec.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "util/explain.h"

#define IP_TCP 6u
#define IP_UDP 17u
#define IP_GRE 47u
#define IP_ESP 50u

#define TYPE_IPV4 0x0800u
#define TYPE_IPV6 0x86ddu

#define TAG_MAX 0xffffffu

struct reader {
	struct vb_flow_request *req;
	unsigned int inner; /* to be added to a field: 0, or FLOW_TO_INNER */
	uint32_t before;    /* type of the spec before, without IBV_FLOW_SPEC_INNER */
};

/* One field of either layer. -EINVAL when an earlier spec has set it to something else. */
static int put(struct reader *r, unsigned int field, uint64_t value, uint64_t mask)
{
	struct vb_flow_request *w = r->req;
	uint64_t old, both;

	field += r->inner;
	both = flow_key_get(&w->mask, field) & mask;
	old = flow_key_get(&w->value, field);
	if ((old ^ value) & both)
		return explain(EINVAL,
			       "ibv_create_flow: two specs match different values of one field: "
			       "0x%llx and 0x%llx",
			       (unsigned long long)(old & both),
			       (unsigned long long)(value & both));
	flow_key_set(&w->value, field, old | (value & mask));
	flow_key_set(&w->mask, field, flow_key_get(&w->mask, field) | mask);
	return 0;
}

/* A field that has different names in the outer and the inner headers. */
static int put_named(struct reader *r, unsigned int outer, unsigned int inner, uint64_t value,
		     uint64_t mask)
{
	struct reader flat = { .req = r->req };

	return put(&flat, r->inner ? inner : outer, value, mask);
}

static uint64_t mac(const uint8_t bytes[6])
{
	uint64_t value = 0;

	for (int i = 0; i < 6; i++)
		value = value << 8 | bytes[i];
	return value;
}

static uint64_t get64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static uint32_t get32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return be32toh(value);
}

static int read_eth(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_eth_filter *v = &spec->eth.val, *m = &spec->eth.mask;
	uint16_t tag = be16toh(v->vlan_tag), tag_mask = be16toh(m->vlan_tag);
	int err = put(r, FLOW_OUTER_dmac, mac(v->dst_mac), mac(m->dst_mac));

	if (!err)
		err = put(r, FLOW_OUTER_smac, mac(v->src_mac), mac(m->src_mac));
	if (!err)
		err = put(r, FLOW_OUTER_ethertype, be16toh(v->ether_type), be16toh(m->ether_type));
	if (err || !tag_mask)
		return err;
	err = put(r, FLOW_OUTER_cvlan_tag, 1, 1);
	if (!err)
		err = put(r, FLOW_OUTER_first_prio, tag >> 13, tag_mask >> 13);
	if (!err)
		err = put(r, FLOW_OUTER_first_cfi, tag >> 12 & 1, tag_mask >> 12 & 1);
	if (!err)
		err = put(r, FLOW_OUTER_first_vid, tag & 0xfff, tag_mask & 0xfff);
	return err;
}

/* An EtherType of an earlier spec has to agree in the bits of its mask. */
static int put_version(struct reader *r, unsigned int version)
{
	uint64_t mask = flow_key_get(&r->req->mask, FLOW_OUTER_ethertype + r->inner);
	uint64_t type = flow_key_get(&r->req->value, FLOW_OUTER_ethertype + r->inner);

	if ((type ^ (version == 4 ? TYPE_IPV4 : TYPE_IPV6)) & mask)
		return explain(EINVAL, "ibv_create_flow: an IPv%u spec after EtherType 0x%llx",
			       version, (unsigned long long)type);
	return put(r, FLOW_OUTER_ip_version, version, 0xf);
}

static int put_class(struct reader *r, uint8_t value, uint8_t mask)
{
	int err = put(r, FLOW_OUTER_ip_dscp, value >> 2, mask >> 2);

	return err ? err : put(r, FLOW_OUTER_ip_ecn, value & 3, mask & 3);
}

static int read_ipv4(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_ipv4_filter *v = &spec->ipv4.val, *m = &spec->ipv4.mask;
	int err = put_version(r, 4);

	if (!err)
		err = put(r, FLOW_OUTER_src_ip_l, be32toh(v->src_ip), be32toh(m->src_ip));
	if (!err)
		err = put(r, FLOW_OUTER_dst_ip_l, be32toh(v->dst_ip), be32toh(m->dst_ip));
	return err;
}

static int read_ipv4_ext(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_ipv4_ext_filter *v = &spec->ipv4_ext.val, *m = &spec->ipv4_ext.mask;
	int err = put_version(r, 4);

	if (!err && m->flags)
		err = explain(EOPNOTSUPP, "ibv_create_flow: the flags of IPv4 cannot be matched");
	if (!err)
		err = put(r, FLOW_OUTER_src_ip_l, be32toh(v->src_ip), be32toh(m->src_ip));
	if (!err)
		err = put(r, FLOW_OUTER_dst_ip_l, be32toh(v->dst_ip), be32toh(m->dst_ip));
	if (!err)
		err = put(r, FLOW_OUTER_ip_protocol, v->proto, m->proto);
	if (!err)
		err = put(r, FLOW_OUTER_ip_ttl, v->ttl, m->ttl);
	return err ? err : put_class(r, v->tos, m->tos);
}

static int put_ipv6(struct reader *r, bool source, const uint8_t *v, const uint8_t *m)
{
	int err = put(r, source ? FLOW_OUTER_src_ip_h : FLOW_OUTER_dst_ip_h, get64(v), get64(m));

	if (!err)
		err = put(r, source ? FLOW_OUTER_src_ip_m : FLOW_OUTER_dst_ip_m, get32(v + 8),
			  get32(m + 8));
	if (!err)
		err = put(r, source ? FLOW_OUTER_src_ip_l : FLOW_OUTER_dst_ip_l, get32(v + 12),
			  get32(m + 12));
	return err;
}

static int read_ipv6(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_ipv6_filter *v = &spec->ipv6.val, *m = &spec->ipv6.mask;
	int err = put_version(r, 6);

	if (!err)
		err = put_ipv6(r, true, v->src_ip, m->src_ip);
	if (!err)
		err = put_ipv6(r, false, v->dst_ip, m->dst_ip);
	if (!err && be32toh(m->flow_label) > 0xfffff)
		err = explain(EINVAL, "ibv_create_flow: mask 0x%x for a flow label; it has 20 bits",
			      be32toh(m->flow_label));
	if (!err)
		err = put_named(r, FLOW_outer_ipv6_flow_label, FLOW_inner_ipv6_flow_label,
				be32toh(v->flow_label), be32toh(m->flow_label));
	if (!err)
		err = put(r, FLOW_OUTER_ip_protocol, v->next_hdr, m->next_hdr);
	if (!err)
		err = put(r, FLOW_OUTER_ip_ttl, v->hop_limit, m->hop_limit);
	return err ? err : put_class(r, v->traffic_class, m->traffic_class);
}

static int read_ports(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_tcp_udp_filter *v = &spec->tcp_udp.val, *m = &spec->tcp_udp.mask;
	bool tcp = (spec->hdr.type & ~IBV_FLOW_SPEC_INNER) == IBV_FLOW_SPEC_TCP;
	int err = put(r, FLOW_OUTER_ip_protocol, tcp ? IP_TCP : IP_UDP, 0xff);

	if (!err)
		err = put(r, tcp ? FLOW_OUTER_tcp_sport : FLOW_OUTER_udp_sport,
			  be16toh(v->src_port), be16toh(m->src_port));
	if (!err)
		err = put(r, tcp ? FLOW_OUTER_tcp_dport : FLOW_OUTER_udp_dport,
			  be16toh(v->dst_port), be16toh(m->dst_port));
	return err;
}

static int read_esp(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_esp_filter *v = &spec->esp.val, *m = &spec->esp.mask;
	int err = put(r, FLOW_OUTER_ip_protocol, IP_ESP, 0xff);

	if (!err && m->seq)
		err = explain(EOPNOTSUPP,
			      "ibv_create_flow: the sequence number of ESP cannot be matched");
	return err ? err
		   : put_named(r, FLOW_outer_esp_spi, FLOW_inner_esp_spi, be32toh(v->spi),
			       be32toh(m->spi));
}

static int read_gre(struct reader *r, const struct ibv_flow_spec *spec)
{
	const struct ibv_flow_gre_filter *v = &spec->gre.val, *m = &spec->gre.mask;
	uint16_t flags = be16toh(v->c_ks_res0_ver), mask = be16toh(m->c_ks_res0_ver);
	int err = put(r, FLOW_OUTER_ip_protocol, IP_GRE, 0xff);

	if (!err && mask & ~0xb000)
		err = explain(EOPNOTSUPP,
			      "ibv_create_flow: mask 0x%x for the flags of GRE; 0x8000, 0x2000 and "
			      "0x1000 can be matched",
			      mask);
	if (!err)
		err = put(r, FLOW_gre_c_present, flags >> 15, mask >> 15);
	if (!err)
		err = put(r, FLOW_gre_k_present, flags >> 13 & 1, mask >> 13 & 1);
	if (!err)
		err = put(r, FLOW_gre_s_present, flags >> 12 & 1, mask >> 12 & 1);
	if (!err)
		err = put(r, FLOW_gre_protocol, be16toh(v->protocol), be16toh(m->protocol));
	return err ? err : put(r, FLOW_gre_key, be32toh(v->key), be32toh(m->key));
}

static int read_tunnel(struct reader *r, const struct ibv_flow_spec *spec)
{
	uint32_t id = be32toh(spec->tunnel.val.tunnel_id), m = be32toh(spec->tunnel.mask.tunnel_id);

	if ((id | m) > 0xffffff)
		return explain(EINVAL, "ibv_create_flow: VNI 0x%x under mask 0x%x; it has 24 bits",
			       id, m);
	return put(r, FLOW_vxlan_vni, id, m);
}

/* The spec before decides which of a packet's labels is meant. */
static int read_mpls(struct reader *r, const struct ibv_flow_spec *spec)
{
	uint32_t v = be32toh(spec->mpls.val.label), m = be32toh(spec->mpls.mask.label);

	if (r->inner)
		return put_named(r, FLOW_outer_mpls, FLOW_inner_mpls, v, m);
	if (r->before == IBV_FLOW_SPEC_UDP)
		return put(r, FLOW_mpls_over_udp, v, m);
	if (r->before == IBV_FLOW_SPEC_GRE)
		return put(r, FLOW_mpls_over_gre, v, m);
	return put(r, FLOW_outer_mpls, v, m);
}

static int read_tag(struct reader *r, const struct ibv_flow_spec *spec)
{
	if (spec->flow_tag.tag_id > TAG_MAX)
		return explain(EINVAL, "ibv_create_flow: tag 0x%x; it has 24 bits",
			       spec->flow_tag.tag_id);
	if (r->req->has_tag)
		return explain(EINVAL, "ibv_create_flow: two tag actions; a flow has at most one");
	r->req->has_tag = true;
	r->req->tag = spec->flow_tag.tag_id;
	return 0;
}

static int read_drop(struct reader *r, const struct ibv_flow_spec *spec)
{
	r->req->drop = true;
	return 0;
}

static int read_count(struct reader *r, const struct ibv_flow_spec *spec)
{
	if (!spec->flow_count.counters || r->req->counters)
		return explain(EINVAL, "ibv_create_flow: a count action needs a counters object, "
				       "and a flow has at most one such action");
	r->req->counters = to_counters(spec->flow_count.counters);
	return 0;
}

static int read_handle(struct reader *r, const struct ibv_flow_spec *spec)
{
	if (!spec->handle.action)
		return explain(EINVAL, "ibv_create_flow: an action spec without an action");
	if (r->req->handle_count == VB_FLOW_ACTIONS)
		return explain(EINVAL, "ibv_create_flow: more than %u actions", VB_FLOW_ACTIONS);
	r->req->handles[r->req->handle_count++] = to_flow_action(spec->handle.action);
	return 0;
}

static const struct kind {
	uint32_t type;
	uint16_t size;
	bool inner;  /* IBV_FLOW_SPEC_INNER is allowed */
	bool simple; /* a ConnectX-3 has it */
	int (*read)(struct reader *r, const struct ibv_flow_spec *spec);
} kinds[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth), true, true, read_eth },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4), true, true, read_ipv4 },
	{ IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext), true, false,
	  read_ipv4_ext },
	{ IBV_FLOW_SPEC_IPV6, sizeof(struct ibv_flow_spec_ipv6), true, false, read_ipv6 },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp), true, true, read_ports },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp), true, true, read_ports },
	{ IBV_FLOW_SPEC_ESP, sizeof(struct ibv_flow_spec_esp), true, false, read_esp },
	{ IBV_FLOW_SPEC_VXLAN_TUNNEL, sizeof(struct ibv_flow_spec_tunnel), false, false,
	  read_tunnel },
	{ IBV_FLOW_SPEC_GRE, sizeof(struct ibv_flow_spec_gre), false, false, read_gre },
	{ IBV_FLOW_SPEC_MPLS, sizeof(struct ibv_flow_spec_mpls), true, false, read_mpls },
	{ IBV_FLOW_SPEC_ACTION_TAG, sizeof(struct ibv_flow_spec_action_tag), false, false,
	  read_tag },
	{ IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop), false, false,
	  read_drop },
	{ IBV_FLOW_SPEC_ACTION_HANDLE, sizeof(struct ibv_flow_spec_action_handle), false, false,
	  read_handle },
	{ IBV_FLOW_SPEC_ACTION_COUNT, sizeof(struct ibv_flow_spec_counter_action), false, false,
	  read_count },
};

static int read_spec(struct reader *r, const struct ibv_flow_spec *spec, bool all)
{
	uint32_t type = spec->hdr.type & ~(uint32_t)IBV_FLOW_SPEC_INNER;
	bool inner = spec->hdr.type & IBV_FLOW_SPEC_INNER;

	for (size_t i = 0; i < array_size(kinds); i++) {
		const struct kind *k = &kinds[i];
		int err;

		if (k->type != type || (inner && !k->inner))
			continue;
		if (!all && (!k->simple || inner))
			return explain(EINVAL,
				       "ibv_create_flow: the adapter has no specs of type 0x%x, "
				       "only Ethernet, IPv4, TCP and UDP",
				       spec->hdr.type);
		if (spec->hdr.size != k->size)
			return explain(EINVAL,
				       "ibv_create_flow: a spec of type 0x%x has %u bytes, not "
				       "%u",
				       spec->hdr.type, k->size, spec->hdr.size);
		r->inner = inner ? FLOW_TO_INNER : 0;
		err = k->read(r, spec);
		r->before = type;
		return err;
	}
	return explain(EINVAL, "ibv_create_flow: specs of type 0x%x are not known", spec->hdr.type);
}

/*
 * Specs are not aligned, so each is copied first. Each has its own size; attr->size, that of all, is
 * not used, since many programs set it wrongly.
 */
int vb_flow_specs_read(const struct ibv_flow_attr *attr, bool all, struct vb_flow_request *out)
{
	struct reader r = { .req = out };
	const uint8_t *at = (const uint8_t *)(attr + 1);

	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < attr->num_of_specs; i++) {
		struct ibv_flow_spec spec = { 0 };
		int err;

		memcpy(&spec, at, sizeof(spec.hdr));
		if (spec.hdr.size < sizeof(spec.hdr) || spec.hdr.size > sizeof(spec))
			return explain(
				EINVAL,
				"ibv_create_flow: spec %u of %u has an invalid size, %u bytes",
				i + 1, attr->num_of_specs, spec.hdr.size);
		memcpy(&spec, at, spec.hdr.size);
		err = read_spec(&r, &spec, all);
		if (err)
			return err;
		at += spec.hdr.size;
	}
	return 0;
}
