/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel is asked for the owner of a port, which takes up to a millisecond: once for each port
 * in KNOWN_NS, and at most LOOKS_MAX times in that time, whatever other users send.
 */
#include "hca/wire/wire_source.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/transport/drops.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/window.h"
#include "roce/addr.h"
#include "roce/endpoint.h"
#include "roce/packet.h"
#include "roce/port_owner.h"
#include "util/api.h"
#include "util/mix.h"

#define KNOWN_NS  100000000u /* the owner of a port is taken to be the same for so long */
#define LOOKS_MAX 20u
#define PERIOD_NS 100000000u
#define WRONG_MAX 64u /* packets with wrong numbers in a period */
/* No socket has the port, or it cannot be found out. */
#define NO_USER UINT32_MAX

static bool has_one_peer(const struct qp *qp)
{
	return !qp->guest && (qp->pub.type == HCA_QP_RC || qp->pub.type == HCA_QP_UC ||
			      qp->pub.type == HCA_QP_XRC_SEND || qp->pub.type == HCA_QP_XRC_RECV);
}

static struct roce_addr address_of(const struct qp *qp)
{
	struct roce_addr addr = { .ifindex = 0 };

	memcpy(addr.gid, qp->attr.av.dgid.raw, sizeof(addr.gid));
	return addr;
}

/* Adapters need not have all addresses of the host. Only an address of the host can be bound to. */
static bool is_bindable(const struct roce_addr *addr)
{
	bool ipv4 = roce_addr_is_ipv4(addr), yes;
	union roce_sockaddr to;
	socklen_t len = roce_addr_to_sockaddr(addr, 0, &to);
	int fd = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	yes = !bind(fd, (struct sockaddr *)&to, len);
	close(fd);
	return yes;
}

static enum qp_place find_place(const struct qp *qp)
{
	struct roce_addr addr = address_of(qp);

	return hca_gid_is_local(&qp->attr.av.dgid) || is_bindable(&addr) ? QP_PLACE_HERE
									 : QP_PLACE_ELSEWHERE;
}

/* An entry: user in bits 63:32, port in 31:16, and the rest of what was asked for, in short. */
static uint64_t known_key(const struct roce_addr *addr, uint16_t port, uint64_t now_ns)
{
	uint64_t words[2];

	memcpy(words, addr->gid, sizeof(words));
	return (uint64_t)port << 16 |
	       (mix64(words[0] ^ mix64(words[1] ^ now_ns / KNOWN_NS)) & 0xffff);
}

/*
 * The count of look-ups in the current KNOWN_NS is in the lower 16 bits, the number of that time
 * above.
 */
static bool may_look(uint64_t now_ns)
{
	uint64_t old = atomic_load_explicit(&hca.wire.port_looks, memory_order_relaxed);
	uint64_t period = now_ns / KNOWN_NS << 16;

	if ((old & ~0xffffull) != period)
		old = period;
	if ((old & 0xffff) >= LOOKS_MAX)
		return false;
	/* Threads that do this at once may look a few times more. */
	atomic_store_explicit(&hca.wire.port_looks, old + 1, memory_order_relaxed);
	return true;
}

static uint32_t user_of(const struct qp *qp, uint16_t port, uint64_t now_ns)
{
	struct roce_addr addr = address_of(qp);
	_Atomic uint64_t *entry = &hca.wire.port_user[port % array_size(hca.wire.port_user)];
	uint64_t known = atomic_load_explicit(entry, memory_order_relaxed);
	uint64_t key = known_key(&addr, port, now_ns);
	uint32_t uid;
	int err;

	if ((known & UINT32_MAX) == key)
		return (uint32_t)(known >> 32);
	if (!may_look(now_ns))
		return NO_USER;
	err = roce_port_user(&addr, port, &uid);
	/* A look that nothing could be seen by, for want of memory or descriptors, does not count. */
	if (err && err != -ENOENT)
		atomic_fetch_sub_explicit(&hca.wire.port_looks, 1, memory_order_relaxed);
	if (err)
		return NO_USER;
	atomic_store_explicit(entry, (uint64_t)uid << 32 | key, memory_order_relaxed);
	return uid;
}

/* The user whose processes receive what is sent to the peer; NO_USER: none that is known. */
static uint32_t user_of_peer(struct qp *qp, uint64_t now_ns)
{
	struct qp_source *s = &qp->source;

	if (!s->has_uid) {
		s->uid = user_of(qp, ROCE_UDP_PORT, now_ns);
		s->has_uid = s->uid != NO_USER;
	}
	return s->uid;
}

static bool is_ack(const struct roce_pkt *pkt)
{
	return (pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_ACK;
}

/* The packet has the number of the next request, or of an answer that is awaited. */
static bool is_expected(const struct qp *qp, const struct roce_pkt *pkt)
{
	const struct req_slot *slot = window_head(&qp->window);
	uint8_t op = pkt->op & ROCE_PKT_OPCODE_MASK;

	if (op < ROCE_PKT_READ_RESP_FIRST || op > ROCE_PKT_ATOMIC_ACK)
		return pkt->psn == qp->resp.epsn;
	return slot && psn_diff(pkt->psn, slot->first_psn) >= 0 &&
	       psn_diff(pkt->psn, qp->req.high) < 0;
}

/*
 * A packet with a wrong number from an unknown port may be the peer's, and is handled as usual. But
 * somebody who tries all numbers would find the right one in seconds: after some wrong ones, all
 * packets from unknown ports are dropped until the end of the period. The peer sends again.
 */
static bool may_guess(struct qp_source *s, bool is_right, uint64_t now_ns)
{
	if (now_ns - s->wrong_since_ns > PERIOD_NS) {
		s->wrong_since_ns = now_ns;
		s->wrong = 0;
	}
	s->wrong += !is_right;
	if (s->wrong <= WRONG_MAX)
		return true;
	drop_count(DROP_GUESS);
	return false;
}

static void use_port(struct qp *qp, uint16_t port)
{
	qp->source.other_port = qp->peer_sport;
	qp->peer_sport = port;
}

bool wire_source_accept(struct qp *qp, uint16_t port, const struct roce_pkt *pkt)
{
	struct qp_source *s = &qp->source;
	uint64_t now;
	bool right;

	if (!has_one_peer(qp))
		return true;
	if (port == s->other_port) {
		use_port(qp, port);
		return true;
	}
	if (s->place == QP_PLACE_UNKNOWN)
		s->place = find_place(qp);
	now = hca_now_ns();
	if (s->place == QP_PLACE_HERE && user_of_peer(qp, now) != NO_USER) {
		uint32_t uid = user_of(qp, port, now);

		if (uid == s->uid) {
			use_port(qp, port);
			return true;
		}
		/*
		 * A process that acknowledges and exits has closed the socket before the packet is handled
		 * here, and would not send again. Other packets can write, so they need an owner; nor is
		 * the port learnt, which another user may open next.
		 */
		if (uid == NO_USER && is_ack(pkt))
			return may_guess(s, is_expected(qp, pkt), now);
		drop_count(DROP_STRANGER);
		return false;
	}
	/* Packets that come early are expected where a queue pair takes them out of order. */
	right = is_expected(qp, pkt) || qp->pub.out_of_order;
	if (!may_guess(s, right, now))
		return false;
	if (right)
		use_port(qp, port);
	return true;
}
