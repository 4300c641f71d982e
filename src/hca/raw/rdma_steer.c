/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * While there are rules, each packet that a queue pair sends or receives is matched by the headers that it
 * has on the wire: Ethernet without addresses, IP, UDP and BTH; on an InfiniBand port the BTH alone, since
 * match parameters have no fields of LRH and GRH. Processes of one host do without packets for one-sided
 * work; not while there are rules at either end.
 *
 * A packet between processes can be longer than the path MTU: rules count it once. A datagram that
 * leaves has no IP addresses yet.
 */
#include "hca/raw/rdma_steer.h"

#include <pthread.h>
#include <string.h>

#include "ether/port.h"
#include "ether/steer.h"
#include "fabric/lock.h"
#include "hca/device/port.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/qp_grant.h"
#include "hca/transport/qp_table.h"
#include "hca/transport/qp_types.h"
#include "roce/opcode.h"
#include "util/api.h"

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define IP_UDP    17
#define BTH       12u
#define HEAD      (14u + 40u + 8u + BTH)

static uint8_t *put16(uint8_t *at, uint32_t value)
{
	at[0] = value >> 8;
	at[1] = value;
	return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	return put16(put16(at, value >> 16), value);
}

static bool is_mapped(const struct hca_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

static void put_mapped(struct hca_gid *gid, const uint8_t *ipv4)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, ipv4, 4);
}

/* Source and destination; zero where the packet does not tell. */
static void find_addresses(const struct qp *qp, const struct roce_pkt *pkt, const uint8_t *grh,
			   bool out, struct hca_gid gid[2])
{
	const struct hca_av *av = &qp->attr.av;
	struct hca_gid_entry own;

	memset(gid, 0, 2 * sizeof(gid[0]));
	if (grh && pkt->ud.roce_kind == 2) {
		put_mapped(&gid[0], grh + 32);
		put_mapped(&gid[1], grh + 36);
	} else if (grh) {
		memcpy(gid[0].raw, grh + 8, 16);
		memcpy(gid[1].raw, grh + 24, 16);
	} else if (av->has_grh &&
		   hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &own)) {
		gid[!out] = own.gid;
		gid[out] = av->dgid;
	}
}

static uint8_t *put_ip(uint8_t *at, const struct hca_gid gid[2], uint32_t len,
		       const struct hca_av *av)
{
	uint8_t ttl = av->hop_limit ? av->hop_limit : 64;

	if (is_mapped(&gid[0]) && is_mapped(&gid[1])) {
		at = put16(at, TYPE_IPV4);
		at = put32(at, 0x45000000u | av->traffic_class << 16 | (20 + len));
		at = put32(at, 0x4000);
		at = put32(at, ttl << 24 | IP_UDP << 16);
		memcpy(at, gid[0].raw + 12, 4);
		memcpy(at + 4, gid[1].raw + 12, 4);
		return at + 8;
	}
	at = put16(at, TYPE_IPV6);
	at = put32(at, 6u << 28 | av->traffic_class << 20 | (av->flow_label & 0xfffff));
	at = put32(at, len << 16 | IP_UDP << 8 | ttl);
	memcpy(at, gid, 32);
	return at + 32;
}

static uint8_t *put_bth(uint8_t *at, const struct roce_pkt *pkt)
{
	at = put32(at, (uint32_t)pkt->op << 24 | 0xffff);
	at = put32(at, pkt->dqpn);
	return put32(at, (pkt->flags & ROCE_PKT_ACK_REQ ? 1u << 31 : 0) | pkt->psn);
}

static uint32_t put_headers(uint8_t *bytes, const struct qp *qp, const struct roce_pkt *pkt,
			    const uint8_t *grh, bool out)
{
	struct hca_gid gid[2];
	uint8_t *at = bytes + 12;

	find_addresses(qp, pkt, grh, out, gid);
	memset(bytes, 0, HEAD);
	at = put_ip(at, gid, 8 + BTH, &qp->attr.av);
	at = put16(at, 0xc000 | (pkt->sqpn & 0x3fff));
	at = put16(at, 4791);
	at = put32(at, (8 + BTH) << 16);
	return put_bth(at, pkt) - bytes;
}

static bool pass(const struct qp *qp, const struct roce_pkt *pkt, const uint8_t *grh, bool out)
{
	unsigned int number = qp->attr.port ? qp->attr.port : 1;
	uint8_t bytes[HEAD];
	struct ether_frame frame = { .data = bytes, .src_qpn = out ? qp->pub.qpn : 0 };
	const struct hca_adapter *a;
	struct ether_port *port;

	/* A guest has no context: its packets meet the rules of the process that has the queue pair. */
	if (qp->guest)
		return true;
	a = qp->pub.ctx->adapter;
	port = ether_port(a->index, number);
	/* Some packets exist on the fabric only. */
	if (!port || !roce_opcode_find(pkt->op))
		return true;
	frame.is_bth = a->ports[number - 1].link != HCA_LINK_ETHERNET;
	frame.len =
		frame.is_bth ? put_bth(bytes, pkt) - bytes : put_headers(bytes, qp, pkt, grh, out);
	return ether_steer_rdma(port, &frame, out);
}

static void update_grant(struct qp *qp, void *arg)
{
	(void)arg;
	fabric_lock(&qp->pub.lock);
	if (!qp->dying)
		qp_grant_update(qp);
	fabric_unlock(&qp->pub.lock);
}

/* Bit 0: rules for packets that arrive; bit 1: that leave. */
static const struct packet_filter filters[] = {
	[1] = { .pass = pass, .rx = true },
	[2] = { .pass = pass, .tx = true },
	[3] = { .pass = pass, .rx = true, .tx = true },
};

void rdma_steer_update(void)
{
	const struct packet_filter *old;
	unsigned int on;

	pthread_mutex_lock(&hca.raw.join_lock);
	on = ether_port_rdma_rules(false) ? 1 : 0;
	on |= ether_port_rdma_rules(true) ? 2 : 0;
	old = packet_filter_set_rules(on ? &filters[on] : NULL);
	if ((old && old->rx) != (on & 1))
		qp_for_each(update_grant, NULL);
	pthread_mutex_unlock(&hca.raw.join_lock);
}
