/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A batch is one buffer that fills up with packets, and a list of runs: neighbours that leave as
 * one UDP_SEGMENT send. All packets of a run have one length, except that the last may be shorter.
 * The kernel numbers the segments of a send, so a packet's place in its run decides its IPv4 id and with
 * that its ICRC. The first one has 0, or what is to come after all that is sent by the same lane before.
 */
#include "roce/tx.h"

#include <assert.h>
#include <errno.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce/hold.h"
#include "roce/udp_priv.h"
#include "util/api.h"
#include "util/copy.h"
#include "util/explain.h"

enum {
	TX_BYTES = 128 << 10,
	TX_RUNS = 64,
	/* What one send may hold: 64 segments are the kernel's limit, 65507 bytes that of UDP. */
	RUN_PACKETS = 64,
	RUN_BYTES = 65000,
	/* Sends in a row with another traffic class or TTL, after which these become the socket's. */
	TUNE_AFTER = 16,
	/* Segments that are short enough to be every send's: they fit wherever IP goes. */
	TUNE_SEGMENT = 256,
	/* A packet may bring a duplicate of itself and one that was held back for it. */
	ADD_PACKETS = 3,
	/* Where nobody listens, hosts say so to several packets in a row, at any time. */
	AGAIN_UNHEARD = 8,
};

struct run {
	_Alignas(64) struct roce_route route;
	uint32_t block;
	uint32_t offset;
	uint16_t segment; /* length of all packets but the last */
	uint16_t id;      /* IPv4 id of the first */
	/* These begin at 0. */
	uint32_t bytes;
	uint16_t count;
	uint16_t sent; /* by single sends */
	bool single;   /* it was refused as a whole */
	bool refused;  /* for being segments */
	uint8_t again; /* how often it was refused for what may have come back for others */
};

_Static_assert(sizeof(struct run) == 64, "a cache line");

struct roce_tx {
	struct roce_endpoint *ep;
	struct run *head; /* the first that has not left */
	struct run *end;
	uint32_t used;
	struct roce_hold hold;
	struct run run[TX_RUNS];
	uint8_t buf[TX_BYTES] __attribute__((aligned(64)));
};

/* What is kept of a packet that is held back, in front of its bytes. */
struct held_head {
	struct roce_path path;
	struct roce_pkt pkt;
};

/* ---- paths ---- */

static uint32_t dest_interface(const struct roce_endpoint *ep, const struct roce_dest *dest)
{
	return dest->addr.ifindex ? dest->addr.ifindex : ep->local.ifindex;
}

static uint16_t dest_port(const struct roce_endpoint *ep, const struct roce_dest *dest)
{
	return dest->port ? dest->port : ep->port;
}

socklen_t roce_dest_sockaddr(const struct roce_endpoint *ep, const struct roce_dest *dest,
			     union roce_sockaddr *out)
{
	struct roce_addr addr = dest->addr;

	addr.ifindex = dest_interface(ep, dest);
	return roce_addr_to_sockaddr(&addr, dest_port(ep, dest), out);
}

int roce_path_init(struct roce_path *path, const struct roce_endpoint *ep,
		   const struct roce_dest *dest)
{
	uint16_t socket;
	char from[ROCE_ADDR_TEXT], to[ROCE_ADDR_TEXT];

	if (roce_addr_is_ipv4(&dest->addr) != ep->ipv4)
		return explain(EINVAL, "no way from %s to %s: not one IP version",
			       roce_addr_format(&ep->local, from),
			       roce_addr_format(&dest->addr, to));
	memset(path, 0, sizeof(*path));
	path->dst = dest->addr;
	path->dst.ifindex = dest_interface(ep, dest);
	path->dport = dest_port(ep, dest);
	path->pkey = dest->pkey ? dest->pkey : ROCE_PKEY_DEFAULT;
	path->route.to_len = roce_dest_sockaddr(ep, dest, &path->route.to);
	socket = dest->sport ? roce_source_find(ep, dest->sport, &path->route.to) : 0;
	path->sport = ep->source[socket].port;
	path->route.socket = socket;
	path->route.tclass = dest->tclass;
	path->route.ttl = dest->ttl ? dest->ttl : ROCE_TTL;
	path->route.group = roce_addr_is_multicast(&dest->addr);
	roce_icrc_flow_init(&path->icrc, &ep->local, &dest->addr, path->sport, path->dport);
	return 0;
}

void roce_path_doubt(const struct roce_path *path, struct roce_endpoint *ep)
{
	struct roce_source *socket = &ep->source[path->route.socket];

	if (socket->lane)
		atomic_store_explicit(&socket->doubted, true, memory_order_relaxed);
}

/* ---- the batch ---- */

/* What is made ready next leaves next. */
static void rewind_lane(struct roce_source *socket)
{
	if (socket->step)
		socket->ahead = socket->id;
}

static inline void empty(struct roce_tx *tx)
{
	tx->head = tx->end = tx->run;
	tx->used = 0;
}

int roce_tx_create(struct roce_endpoint *ep, struct roce_tx **out)
{
	struct roce_tx *tx = aligned_alloc(64, (sizeof(*tx) + 63) & ~(size_t)63);
	const struct roce_tx *nobody = NULL;

	if (!tx)
		return -ENOMEM;
	memset(tx, 0, offsetof(struct roce_tx, buf));
	tx->ep = ep;
	empty(tx);
	atomic_compare_exchange_strong(&ep->tuner, &nobody, tx);
	*out = tx;
	return 0;
}

void roce_tx_destroy(struct roce_tx *tx)
{
	if (!tx)
		return;
	roce_hold_clear(&tx->hold);
	free(tx);
}

void roce_tx_reset(struct roce_tx *tx)
{
	for (const struct run *r = tx->head; r < tx->end; r++)
		rewind_lane(&tx->ep->source[r->route.socket]);
	empty(tx);
	roce_hold_clear(&tx->hold);
}

uint32_t roce_tx_pending(const struct roce_tx *tx)
{
	uint32_t n = 0;

	for (const struct run *r = tx->head; r < tx->end; r++)
		n += r->count - r->sent;
	return n;
}

uint64_t roce_tx_due(const struct roce_tx *tx)
{
	return roce_hold_due(&tx->hold);
}

static inline bool has_room(const struct roce_tx *tx)
{
	return tx->used <= TX_BYTES - ADD_PACKETS * ROCE_MAX_PACKET &&
	       tx->end <= &tx->run[TX_RUNS - ADD_PACKETS];
}

/* Nothing joins behind a packet that is shorter than the others. */
static inline bool joins(const struct roce_tx *tx, const struct run *r,
			 const struct roce_route *route, uint32_t block, size_t len)
{
	return len <= r->segment && r->bytes == (uint32_t)r->count * r->segment &&
	       r->count < RUN_PACKETS && r->bytes + len <= RUN_BYTES && r->block == block &&
	       !r->single && !memcmp(&r->route, route, sizeof(*route)) &&
	       atomic_load_explicit(&tx->ep->segment, memory_order_relaxed);
}

/* The run that a packet of `len` bytes belongs to; its place in it is the run's count. */
static inline struct run *run_for(struct roce_tx *tx, const struct roce_route *route, uint32_t dqpn,
				  size_t len)
{
	uint32_t block = dqpn >> ROCE_QPN_BLOCK_BITS;
	struct roce_source *socket = &tx->ep->source[route->socket];
	struct run *r = tx->end;

	if (r > tx->head && joins(tx, r - 1, route, block, len))
		return r - 1;
	tx->end = r + 1;
	r->route = *route;
	r->block = block;
	r->offset = tx->used;
	r->segment = len;
	r->id = socket->ahead;
	if (socket->step)
		socket->ahead += socket->step;
	r->bytes = 0;
	r->count = r->sent = 0;
	r->single = r->refused = false;
	r->again = 0;
	return r;
}

static inline void run_add(struct roce_tx *tx, struct run *r, size_t len)
{
	r->bytes += len;
	r->count++;
	tx->used += len;
}

__attribute__((cold, noinline)) static void
capture(const struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
	uint16_t id, const uint8_t *packet, size_t len, const char *note)
{
	const struct roce_taps *taps = tx->ep->taps;
	char text[256] = "";
	struct roce_frame frame = {
		.src = tx->ep->local,
		.dst = path->dst,
		.sport = path->sport,
		.dport = path->dport,
		.ip_id = id,
		.tclass = path->route.tclass,
		.ttl = path->route.ttl,
		.out = true,
	};

	if (taps->comment)
		taps->comment(taps->arg, pkt, true, text, sizeof(text));
	if (note) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s", at ? "; " : "", note);
	}
	roce_capture_frame(taps->capture, &frame, packet, len, text[0] ? text : NULL);
}

static inline bool is_captured(const struct roce_tx *tx)
{
	return roce_switch_any() && tx->ep->taps->capture && roce_capture_on(tx->ep->taps->capture);
}

static inline bool is_spoilt(const struct roce_tx *tx)
{
	return roce_switch_any() && tx->ep->taps->fault && roce_fault_on(tx->ep->taps->fault);
}

/* Headers, payload and pad at `out`; returns their length. */
static inline size_t write_packet(const struct roce_pkt *pkt, uint16_t pkey,
				  const struct iovec *pieces, size_t count, uint8_t *out)
{
	size_t at = roce_encode(pkt, pkey, out), end = at + pkt->len;

	for (const struct iovec *last = pieces + count; pieces < last; pieces++) {
		size_t len = pieces->iov_len;

		assert(len <= end - at);
		/* Nobody waits for the last byte of these. */
		if (len < 64)
			vb_copy_body(out + at, pieces->iov_base, len);
		else
			vb_copy_large(out + at, pieces->iov_base, len);
		at += len;
	}
	assert(at == end);
	(void)end;
	while (at & 3)
		out[at++] = 0;
	return at;
}

static inline void put_icrc(uint8_t *to, uint32_t icrc)
{
	icrc = htole32(icrc);
	memcpy(to, &icrc, sizeof(icrc));
}

static inline void add_plain(struct roce_tx *tx, const struct roce_path *path,
			     const struct roce_pkt *pkt, const struct iovec *pieces, size_t count)
{
	uint8_t *packet = tx->buf + tx->used;
	size_t len = write_packet(pkt, path->pkey, pieces, count, packet);
	struct run *r = run_for(tx, &path->route, pkt->dqpn, len + ROCE_ICRC_BYTES);

	put_icrc(packet + len, roce_icrc_compute(&path->icrc, packet, len, r->id + r->count));
	len += ROCE_ICRC_BYTES;
	if (is_captured(tx))
		capture(tx, path, pkt, r->id + r->count, packet, len, NULL);
	run_add(tx, r, len);
}

/* ---- faults ---- */

/* An ICRC made for one IPv4 id, changed for another; right or spoilt, it stays so. */
static void move_id(uint8_t *packet, size_t len, uint16_t from, uint16_t to)
{
	uint32_t icrc;

	len -= ROCE_ICRC_BYTES;
	memcpy(&icrc, packet + len, sizeof(icrc));
	icrc = le32toh(icrc) ^ roce_icrc_id_term(len, from) ^ roce_icrc_id_term(len, to);
	put_icrc(packet + len, icrc);
}

/* A packet that is complete, with an ICRC for id 0. */
static void add_bytes(struct roce_tx *tx, const struct held_head *head, const uint8_t *bytes,
		      size_t len, const char *note)
{
	struct run *r = run_for(tx, &head->path.route, head->pkt.dqpn, len);
	uint8_t *packet = tx->buf + tx->used;

	memcpy(packet, bytes, len);
	if (tx->ep->ipv4)
		move_id(packet, len, 0, r->id + r->count);
	if (is_captured(tx))
		capture(tx, &head->path, &head->pkt, r->id + r->count, packet, len, note);
	run_add(tx, r, len);
}

static void add_held(struct roce_tx *tx, struct roce_held *h)
{
	add_bytes(tx, (const void *)h->data, h->data + sizeof(struct held_head),
		  h->len - sizeof(struct held_head), h->swap ? "fault: reordered" : "fault: late");
	free(h);
}

static __attribute__((cold, noinline)) void add_spoilt(struct roce_tx *tx,
						       const struct roce_path *path,
						       const struct roce_pkt *pkt,
						       const struct iovec *pieces, size_t count)
{
	struct held_head head = { .path = *path, .pkt = *pkt };
	uint64_t now = roce_now_ns();
	struct roce_verdict v =
		roce_fault_judge(tx->ep->taps->fault, ROCE_DIR_OUT, pkt, &path->dst, now);
	struct roce_held *passed = roce_hold_take_swap(&tx->hold, tx->ep);
	uint8_t bytes[ROCE_MAX_PACKET];
	size_t len = write_packet(pkt, path->pkey, pieces, count, bytes);
	const char *note = NULL;

	put_icrc(bytes + len, roce_icrc_compute(&path->icrc, bytes, len, 0));
	len += ROCE_ICRC_BYTES;
	switch (v.action) {
	case ROCE_FAULT_DROP:
		goto release;
	case ROCE_FAULT_DELAY:
	case ROCE_FAULT_REORDER:
		if (roce_hold_add(&tx->hold, now + v.delay_ns, v.action == ROCE_FAULT_REORDER,
				  tx->ep, &head, sizeof(head), bytes, len))
			goto release;
		break;
	case ROCE_FAULT_CORRUPT:
		v.bit %= len * 8;
		bytes[v.bit / 8] ^= 1 << v.bit % 8;
		note = "fault: corrupted";
		break;
	case ROCE_FAULT_DUP:
		add_bytes(tx, &head, bytes, len, NULL);
		note = "fault: duplicate";
		break;
	default:
		break;
	}
	add_bytes(tx, &head, bytes, len, note);
release:
	if (passed)
		add_held(tx, passed);
}

static __attribute__((cold, noinline)) void release_due(struct roce_tx *tx, uint64_t now_ns)
{
	struct roce_held *h;

	while (has_room(tx) && (h = roce_hold_take(&tx->hold, now_ns, NULL)))
		add_held(tx, h);
}

/* ---- out ---- */

static inline bool is_tuner(const struct roce_tx *tx)
{
	return atomic_load_explicit(&tx->ep->tuner, memory_order_relaxed) == tx;
}

/*
 * What all packets of a socket have is better set there: control messages take their time, and from
 * the second on the kernel allocates memory for them.
 */
static void set_route(const struct roce_endpoint *ep, struct roce_source *socket,
		      const struct roce_route *route)
{
	int level = ep->ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	int tclass = route->tclass, ttl = route->ttl;

	if (route->group || ++socket->others < TUNE_AFTER)
		return;
	socket->others = 0;
	if (!setsockopt(socket->fd, level, level == IPPROTO_IP ? IP_TTL : IPV6_UNICAST_HOPS, &ttl,
			sizeof(ttl)))
		socket->ttl = ttl;
	if (!setsockopt(socket->fd, level, level == IPPROTO_IP ? IP_TOS : IPV6_TCLASS, &tclass,
			sizeof(tclass)))
		socket->tclass = tclass;
}

static bool set_segment(struct roce_source *socket, uint16_t segment)
{
	int value = segment;

	if (setsockopt(socket->fd, IPPROTO_UDP, UDP_SEGMENT, &value, sizeof(value)))
		return false;
	socket->segment = segment;
	return true;
}

/*
 * A ping-pong sends a request and an acknowledgement each time. With the length of the first set at
 * the socket it needs no control message, and so the cheaper sendto(). What is no longer than that
 * leaves as it is; what is longer has to say that it is no row of segments.
 */
static void wish_segment(struct roce_source *socket, uint16_t segment)
{
	if (segment != socket->wished) {
		socket->wished = segment;
		socket->alike = 0;
	}
	if (++socket->alike < TUNE_AFTER)
		return;
	socket->alike = 0;
	set_segment(socket, segment);
}

/* What a send has to say, because its socket does not have it set. */
enum {
	SAY_SEGMENT = 1 << 0,
	SAY_TCLASS = 1 << 1,
	SAY_TTL = 1 << 2,
};

/* `segment` is 0 for a packet alone. */
static inline unsigned int to_say(const struct roce_source *socket, const struct roce_route *route,
				  uint16_t segment, uint32_t bytes)
{
	unsigned int say = 0;

	if (segment ? segment != socket->segment : socket->segment && bytes > socket->segment)
		say |= SAY_SEGMENT;
	if (route->tclass != socket->tclass)
		say |= SAY_TCLASS;
	if (route->ttl != (unlikely(route->group) ? ROCE_TTL : socket->ttl))
		say |= SAY_TTL;
	return say;
}

/* Who does not tune does not know what is set. */
static unsigned int to_say_all(const struct roce_endpoint *ep, uint16_t segment)
{
	bool segments = segment || atomic_load_explicit(&ep->segment, memory_order_relaxed);

	return SAY_TCLASS | SAY_TTL | (segments ? SAY_SEGMENT : 0);
}

/* A send had something to say: perhaps the next ones need not. */
static __attribute__((cold, noinline)) void tune(const struct roce_endpoint *ep,
						 struct roce_source *socket, const struct run *r)
{
	if (socket->ttl == r->route.ttl && socket->tclass == r->route.tclass)
		socket->others = 0;
	else
		set_route(ep, socket, &r->route);
	if (r->count > 1 && r->segment != socket->segment && r->segment <= TUNE_SEGMENT)
		wish_segment(socket, r->segment);
}

struct outgoing {
	struct mmsghdr msg[TX_RUNS];
	struct iovec iov[TX_RUNS];
	union {
		char bytes[CMSG_SPACE(sizeof(uint16_t)) + 2 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control[TX_RUNS];
};

static char *add_control(char *at, int level, int type, const void *data, size_t len)
{
	struct cmsghdr *c = (struct cmsghdr *)at;

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), data, len);
	return at + CMSG_SPACE(len);
}

static void fill_message(const struct roce_tx *tx, const struct run *r, uint32_t offset,
			 uint32_t bytes, bool segments, struct outgoing *o, unsigned int i)
{
	const struct roce_source *socket = &tx->ep->source[r->route.socket];
	bool connected = socket->connected;
	uint16_t segment = segments ? r->segment : 0;
	unsigned int say = is_tuner(tx) ? to_say(socket, &r->route, segment, bytes)
					: to_say_all(tx->ep, segment);
	char *start = o->control[i].bytes, *at = start;
	bool ipv4 = tx->ep->ipv4;
	int value;

	o->iov[i] = (struct iovec){ (void *)(tx->buf + offset), bytes };
	if (say & SAY_SEGMENT)
		at = add_control(at, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	if (say & SAY_TCLASS) {
		value = r->route.tclass;
		at = add_control(at, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
				 &value, sizeof(value));
	}
	if (say & SAY_TTL) {
		value = r->route.ttl;
		at = add_control(at, ipv4 ? IPPROTO_IP : IPPROTO_IPV6,
				 ipv4 ? IP_TTL : IPV6_HOPLIMIT, &value, sizeof(value));
	}
	o->msg[i].msg_hdr = (struct msghdr){
		.msg_name = connected ? NULL : (void *)&r->route.to,
		.msg_namelen = connected ? 0 : r->route.to_len,
		.msg_iov = &o->iov[i],
		.msg_iovlen = 1,
		.msg_control = at == start ? NULL : start,
		.msg_controllen = at - start,
	};
}

static inline void sent(struct roce_tx *tx, uint32_t packets, uint32_t bytes)
{
	roce_count_packets(tx->ep->count.tx, is_tuner(tx), packets, bytes);
}

static bool is_full(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ENOMEM;
}

/* The packet at place i of a run. */
static uint8_t *packet_of(struct roce_tx *tx, const struct run *r, uint32_t i, uint32_t *len)
{
	uint32_t at = i * r->segment;

	*len = r->bytes - at < r->segment ? r->bytes - at : r->segment;
	return tx->buf + r->offset + at;
}

/* A send by a lane did not go as it was counted on; `behind` are those that leave after it. */
static __attribute__((cold, noinline)) void
renumber(struct roce_tx *tx, struct run *r, const struct run *behind, struct roce_source *socket)
{
	uint32_t len;

	for (uint32_t i = 0; i < r->count && tx->ep->ipv4; i++) {
		uint8_t *packet = packet_of(tx, r, i, &len);

		move_id(packet, len, r->id + i, socket->id + i);
	}
	r->id = socket->id;
	socket->ahead = socket->id + socket->step;
	for (; behind < tx->end; behind++)
		if (behind->route.socket == r->route.socket)
			socket->ahead += socket->step;
}

/* The ids of the socket that it leaves by are right, and the run's own as well; -EAGAIN: not yet. */
static inline int be_sure_of_ids(struct roce_tx *tx, struct run *r, const struct run *behind,
				 struct roce_source *socket)
{
	if (unlikely(atomic_load_explicit(&socket->doubted, memory_order_relaxed)) &&
	    roce_lane_check(tx->ep, socket)) {
		roce_count(&tx->ep->count.tx_full, 1);
		return -EAGAIN;
	}
	if (unlikely(r->id != socket->id))
		renumber(tx, r, behind, socket);
	return 0;
}

/*
 * What a send that failed means for its lane: whether ids were used up is known of some errors only.
 * True if it is to be tried again: a connected socket tells of what came back for earlier packets.
 */
static bool is_hearsay(struct roce_source *socket, struct run *r, int err)
{
	uint8_t most = err == ECONNREFUSED ? AGAIN_UNHEARD : 1;

	if (!socket->connected || err == EAGAIN || err == EINTR)
		return false;
	atomic_store_explicit(&socket->doubted, true, memory_order_relaxed);
	if (is_full(err) || r->again >= most)
		return false;
	r->again++;
	return true;
}

/* Of a run that cannot leave as a whole, one packet after the other: each as a run, for the time. */
static __attribute__((cold, noinline)) int send_singly(struct roce_tx *tx, struct run *r)
{
	struct roce_source *socket = &tx->ep->source[r->route.socket];

	while (r->sent < r->count) {
		uint32_t len;
		uint8_t *packet = packet_of(tx, r, r->sent, &len);
		struct run one = *r;
		struct outgoing o;
		int err;

		one.offset = packet - tx->buf;
		one.bytes = len;
		one.count = 1;
		one.id = 0;
		if (be_sure_of_ids(tx, &one, r + 1, socket))
			return -EAGAIN;
		fill_message(tx, &one, one.offset, len, false, &o, 0);
		roce_count_call(tx->ep->count.tx, is_tuner(tx));
		err = sendmsg(socket->fd, &o.msg[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL) < 0
			      ? errno
			      : 0;
		if (err && tx->ep->ipv4)
			move_id(packet, len, one.id, 0);
		if (!err) {
			sent(tx, 1, len);
			if (socket->step)
				socket->id += socket->step;
			/* So it was the segments that were refused, and will be again. */
			if (r->refused)
				atomic_store_explicit(&tx->ep->segment, false,
						      memory_order_relaxed);
		} else if (is_hearsay(socket, r, err) || err == EINTR) {
			continue;
		} else if (is_full(err)) {
			roce_count(&tx->ep->count.tx_full, 1);
			return -EAGAIN;
		} else {
			roce_count(&tx->ep->count.tx_lost, 1);
		}
		r->again = 0;
		r->sent++;
	}
	tx->head++;
	return 0;
}

/* Every packet has id 0 until it leaves. */
static void make_single(struct roce_tx *tx, struct run *r)
{
	r->single = true;
	r->again = 0;
	for (uint32_t i = 0; i < r->count && tx->ep->ipv4; i++) {
		uint32_t len;
		uint8_t *packet = packet_of(tx, r, i, &len);

		move_id(packet, len, r->id + i, 0);
	}
}

/* What a kernel or an interface says to a send of segments that it would take one by one. */
static bool is_refusal(int err)
{
	return err == EIO || err == EINVAL || err == EOPNOTSUPP || err == ENOPROTOOPT;
}

/* The first run of a system call did not leave. */
static __attribute__((cold, noinline)) int send_failed(struct roce_tx *tx, int err)
{
	struct run *r = tx->head;
	struct roce_source *socket = &tx->ep->source[r->route.socket];

	if (is_hearsay(socket, r, err))
		return 0;
	if (is_full(err)) {
		roce_count(&tx->ep->count.tx_full, 1);
		return -EAGAIN;
	}
	if (err == EINTR)
		return 0;
	/* The last packet of a run that is too long may be short enough. */
	if (is_refusal(err) && socket->segment && is_tuner(tx) && set_segment(socket, 0))
		return 0; /* it may not be the packets that are refused */
	if (r->count > 1 && (is_refusal(err) || err == EMSGSIZE)) {
		r->refused = err != EMSGSIZE;
		make_single(tx, r);
		return 0;
	}
	roce_count(&tx->ep->count.tx_lost, r->count);
	tx->head++;
	return 0;
}

enum { SEND_FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL };

/* `count` runs by one system call; returns how many left, or -1. */
static __attribute__((noinline)) int send_messages(const struct roce_tx *tx, int fd,
						   const struct run *r, unsigned int count)
{
	struct outgoing o;

	for (unsigned int i = 0; i < count; i++, r++)
		fill_message(tx, r, r->offset, r->bytes, r->count > 1, &o, i);
	if (count == 1)
		return roce_sendmsg(fd, &o.msg[0].msg_hdr, SEND_FLAGS) < 0 ? -1 : 1;
	return sendmmsg(fd, o.msg, count, SEND_FLAGS);
}

/* With nothing to say a single send needs no message around it. */
static inline int send_plain(const struct roce_tx *tx, const struct roce_source *socket,
			     const struct run *r)
{
	const struct sockaddr *to = socket->connected ? NULL : &r->route.to.any;
	socklen_t to_len = socket->connected ? 0 : r->route.to_len;
	ssize_t n = roce_sendto(socket->fd, tx->buf + r->offset, r->bytes, SEND_FLAGS, to, to_len);

	return n < 0 ? -1 : 1;
}

/*
 * One system call for all runs from the head on that leave by the same socket; but not where ids are
 * counted, since one of several sends that fails does not say why.
 */
static inline int send_some(struct roce_tx *tx)
{
	struct run *r = tx->head, *next = r + 1;
	struct roce_endpoint *ep = tx->ep;
	struct roce_source *socket = &ep->source[r->route.socket];
	bool sole = is_tuner(tx), plain = false;
	uint32_t packets = 0, bytes = 0;
	int done;

	if (unlikely(be_sure_of_ids(tx, r, next, socket)))
		return -EAGAIN;
	if (likely(sole)) {
		plain = !to_say(socket, &r->route, r->count > 1 ? r->segment : 0, r->bytes);
		if (plain)
			socket->others = 0;
		else
			tune(ep, socket, r);
	}
	while (unlikely(next < tx->end) && next->route.socket == r->route.socket && !next->single &&
	       !socket->step && next->id == socket->id)
		next++;
	if (likely(plain && next == r + 1))
		done = send_plain(tx, socket, r);
	else
		done = send_messages(tx, socket->fd, r, next - r);
	roce_count_call(ep->count.tx, sole);
	if (unlikely(done <= 0))
		return send_failed(tx, errno);
	tx->head += done;
	if (socket->step)
		socket->id += socket->step;
	do {
		packets += r->count;
		bytes += r->bytes;
	} while (unlikely(++r < tx->head));
	roce_count_packets(ep->count.tx, sole, packets, bytes);
	return 0;
}

int roce_tx_flush(struct roce_tx *tx)
{
	int err = 0;

	if (unlikely(tx->hold.first))
		release_due(tx, roce_now_ns());
	while (!err && tx->head < tx->end)
		err = unlikely(tx->head->single) ? send_singly(tx, tx->head) : send_some(tx);
	if (likely(!err))
		empty(tx);
	if (is_captured(tx))
		roce_capture_flush(tx->ep->taps->capture);
	return err;
}

void roce_tx_settle(struct roce_tx *tx)
{
	while (tx->hold.first) {
		release_due(tx, UINT64_MAX);
		if (roce_tx_flush(tx))
			break;
	}
}

int roce_tx_add(struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
		const struct iovec *pieces, size_t count)
{
	if (unlikely(!has_room(tx))) {
		roce_tx_flush(tx);
		if (!has_room(tx))
			return -EAGAIN;
	}
	if (is_spoilt(tx))
		add_spoilt(tx, path, pkt, pieces, count);
	else
		add_plain(tx, path, pkt, pieces, count);
	return 0;
}
