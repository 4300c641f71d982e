/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of packets: VLAN tags and tunnel headers. A packet is copied before its first change, with
 * room in front for further headers.
 */
#include "ether/flow_edit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ether/flow_modify.h"
#include "util/explain.h"

#define MACS      12u
#define VLAN      4u
#define MODIFY    0xff /* not an enum flow_reformat: the edit has steps */
#define STEPS_MAX 32u

struct flow_edit {
	atomic_uint refs;
	uint8_t kind; /* enum flow_reformat, or MODIFY */
	uint16_t len; /* bytes of data, or number of steps */
	union {
		uint8_t data[FLOW_DATA_MAX];
		struct flow_modify_step steps[STEPS_MAX];
	};
};

static struct flow_edit *new_edit(uint8_t kind)
{
	struct flow_edit *edit = calloc(1, sizeof(*edit));

	if (!edit)
		return NULL;
	edit->kind = kind;
	atomic_init(&edit->refs, 1);
	return edit;
}

static int check_data(enum flow_reformat kind, const void *data, size_t len)
{
	bool fits = len <= FLOW_DATA_MAX && (data || !len);

	switch (kind) {
	case FLOW_ENCAP_L2:
	case FLOW_ENCAP_L3:
		fits = fits && len >= ETHER_HEADER;
		break;
	case FLOW_DECAP_L3:
		fits = fits && (len == ETHER_HEADER || len == ETHER_HEADER + VLAN);
		break;
	case FLOW_PUSH_VLAN:
		fits = fits && len == VLAN;
		break;
	case FLOW_DECAP_L2:
	case FLOW_POP_VLAN:
		fits = !len;
		break;
	}
	return fits ? 0
		    : explain(EINVAL,
			      "%zu bytes of header; this reformat needs 0 (decapsulation to L2, "
			      "pop), 4 (push), 14 or 18 (decapsulation to L3), or 14 to %u "
			      "(encapsulation)",
			      len, FLOW_DATA_MAX);
}

int flow_edit_reformat(enum flow_reformat kind, const void *data, size_t len,
		       struct flow_edit **out)
{
	struct flow_edit *edit;
	int err = check_data(kind, data, len);

	if (err)
		return err;
	edit = new_edit(kind);
	if (!edit)
		return explain(ENOMEM, "no memory for a reformat action");
	edit->len = len;
	if (len)
		memcpy(edit->data, data, len);
	*out = edit;
	return 0;
}

int flow_edit_modify(const uint8_t *commands, unsigned int count, struct flow_edit **out)
{
	struct flow_edit *edit;

	if (!count || count > STEPS_MAX)
		return explain(EINVAL, "%u modify-header commands; 1 to %u are allowed", count,
			       STEPS_MAX);
	edit = new_edit(MODIFY);
	if (!edit)
		return explain(ENOMEM, "no memory for a modify-header action");
	edit->len = count;
	for (unsigned int i = 0; i < count; i++) {
		int err = flow_modify_parse(commands + i * 8, &edit->steps[i]);

		if (err) {
			free(edit);
			return err;
		}
	}
	*out = edit;
	return 0;
}

struct flow_edit *flow_edit_get(struct flow_edit *edit)
{
	atomic_fetch_add(&edit->refs, 1);
	return edit;
}

void flow_edit_put(struct flow_edit *edit)
{
	if (atomic_fetch_sub(&edit->refs, 1) == 1)
		free(edit);
}

size_t flow_edit_data(const struct flow_edit *edit)
{
	return edit->kind == MODIFY ? 0 : edit->len;
}

/* ---- on a packet ---- */

static uint8_t *bytes(struct flow_run *run)
{
	return run->own + (run->frame.data - run->own);
}

/* Replaces the first `drop` bytes by `len` others. */
static bool replace_front(struct flow_run *run, uint32_t drop, const void *data, uint32_t len)
{
	uint32_t front = len > drop ? len - drop : 0;

	if (run->frame.len - drop + len > ETHER_FRAME_MAX || !flow_run_own(run, front))
		return false;
	run->frame.data = run->frame.data + drop - len;
	run->frame.len = run->frame.len - drop + len;
	if (len)
		memcpy(bytes(run), data, len);
	return true;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void sum_ipv4(uint8_t *ip, unsigned int len)
{
	uint32_t sum = 0;

	put16(ip + 10, 0);
	for (unsigned int i = 0; i < len; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	put16(ip + 10, ~sum);
}

/*
 * Fills in the lengths of an added header, and the IPv4 checksum. The checksum of UDP stays as given;
 * tunnels have 0 there.
 */
static void fit_lengths(struct flow_run *run, uint32_t header)
{
	uint8_t *data = bytes(run);
	struct ether_parsed parsed;
	uint32_t l3, l4, protocol;

	/* Only for the EtherType: the lengths of IP are not set yet. */
	ether_parse(data, header, &parsed);
	l3 = parsed.outer.l3_off;
	if (parsed.outer.type == 0x0800 && header >= l3 + 20) {
		l4 = l3 + (data[l3] & 0xf) * 4;
		if (header < l4 || l4 < l3 + 20)
			return;
		protocol = data[l3 + 9];
		put16(data + l3 + 2, run->frame.len - l3);
		sum_ipv4(data + l3, l4 - l3);
	} else if (parsed.outer.type == 0x86dd && header >= l3 + 40) {
		l4 = l3 + 40;
		protocol = data[l3 + 6];
		put16(data + l3 + 4, run->frame.len - l4);
	} else {
		return;
	}
	if (protocol == 17 && header >= l4 + 8)
		put16(data + l4 + 4, run->frame.len - l4);
}

static bool encap(const struct flow_edit *edit, struct flow_run *run)
{
	const struct ether_parsed *p = ether_frame_parse(&run->frame);
	uint32_t drop = edit->kind == FLOW_ENCAP_L3 ? p->outer.l3_off : 0;

	if (!p->outer.has_l2 || !replace_front(run, drop, edit->data, edit->len))
		return false;
	fit_lengths(run, edit->len);
	return true;
}

static bool decap(const struct flow_edit *edit, struct flow_run *run)
{
	const struct ether_parsed *p = ether_frame_parse(&run->frame);

	if (edit->kind == FLOW_DECAP_L2)
		return p->inner.has_l2 && replace_front(run, p->inner.l2_off, NULL, 0);
	if (!p->inner.l3)
		return false;
	if (!replace_front(run, p->inner.l3_off, edit->data, edit->len))
		return false;
	/* The EtherType is that of the inner packet, whatever the given header says. */
	put16(bytes(run) + edit->len - 2, p->inner.l3 == ETHER_L3_IPV4 ? 0x0800 : 0x86dd);
	return true;
}

static bool push_vlan(const struct flow_edit *edit, struct flow_run *run)
{
	uint8_t head[MACS + VLAN];

	if (run->frame.len < ETHER_HEADER)
		return false;
	memcpy(head, run->frame.data, MACS);
	memcpy(head + MACS, edit->data, VLAN);
	return replace_front(run, MACS, head, sizeof(head));
}

static bool pop_vlan(struct flow_run *run)
{
	uint8_t macs[MACS];

	if (!ether_frame_parse(&run->frame)->outer.vlans)
		return true;
	memcpy(macs, run->frame.data, MACS);
	return replace_front(run, MACS + VLAN, macs, MACS);
}

bool flow_edit_apply(const struct flow_edit *edit, struct flow_run *run)
{
	bool done = true;

	switch (edit->kind) {
	case FLOW_ENCAP_L2:
	case FLOW_ENCAP_L3:
		done = encap(edit, run);
		break;
	case FLOW_DECAP_L2:
	case FLOW_DECAP_L3:
		done = decap(edit, run);
		break;
	case FLOW_PUSH_VLAN:
		done = push_vlan(edit, run);
		break;
	case FLOW_POP_VLAN:
		done = pop_vlan(run);
		break;
	default:
		/* Steps on registers need no copy of the packet; others make one. */
		flow_modify_apply(edit->steps, edit->len, run);
		break;
	}
	run->frame.parsed_valid = false;
	run->frame.check = 0;
	run->filled = 0;
	run->hashed = NULL;
	return done;
}
