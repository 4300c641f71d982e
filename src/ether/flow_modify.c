/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Header modification: set, add and copy of fields, which are numbered as on a ConnectX. Checksums
 * over a changed field are updated by the difference (RFC 1624), so a wrong one stays wrong.
 */
#include "ether/flow_modify.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "util/explain.h"

enum { SET = 1, ADD, COPY };

enum base {
	NOWHERE,
	L2,
	TYPE, /* the EtherType after the tags */
	VLAN,
	IPV4,
	IPV6,
	IP, /* either: the field begins 4 bits later in IPv6 */
	TCP,
	UDP,
	GTPU,
	KEY, /* a register, at this byte of the key */
	REG_B,
};

/* `size` bytes at `at`; the field is `width` bits of them, `shift` up from the last one's end. */
static const struct place {
	uint8_t base, at, size, shift, width;
} places[] = {
	[0x01] = { L2, 6, 4, 0, 32 },     [0x02] = { L2, 10, 2, 0, 16 },
	[0x03] = { TYPE, 0, 2, 0, 16 },   [0x04] = { L2, 0, 4, 0, 32 },
	[0x05] = { L2, 4, 2, 0, 16 },     [0x06] = { IP, 0, 2, 2, 6 },
	[0x07] = { TCP, 12, 2, 0, 9 },    [0x08] = { TCP, 0, 2, 0, 16 },
	[0x09] = { TCP, 2, 2, 0, 16 },    [0x0a] = { IPV4, 8, 1, 0, 8 },
	[0x0b] = { UDP, 0, 2, 0, 16 },    [0x0c] = { UDP, 2, 2, 0, 16 },
	[0x0d] = { IPV6, 8, 4, 0, 32 },   [0x0e] = { IPV6, 12, 4, 0, 32 },
	[0x0f] = { IPV6, 16, 4, 0, 32 },  [0x10] = { IPV6, 20, 4, 0, 32 },
	[0x11] = { IPV6, 24, 4, 0, 32 },  [0x12] = { IPV6, 28, 4, 0, 32 },
	[0x13] = { IPV6, 32, 4, 0, 32 },  [0x14] = { IPV6, 36, 4, 0, 32 },
	[0x15] = { IPV4, 12, 4, 0, 32 },  [0x16] = { IPV4, 16, 4, 0, 32 },
	[0x17] = { VLAN, 0, 2, 0, 12 },   [0x47] = { IPV6, 7, 1, 0, 8 },
	[0x49] = { KEY, 0xf0, 4, 0, 32 }, [0x50] = { REG_B, 0, 4, 0, 32 },
	[0x51] = { KEY, 0xec, 4, 0, 32 }, [0x52] = { KEY, 0xe8, 4, 0, 32 },
	[0x53] = { KEY, 0xe4, 4, 0, 32 }, [0x54] = { KEY, 0xe0, 4, 0, 32 },
	[0x55] = { KEY, 0xdc, 4, 0, 32 }, [0x56] = { KEY, 0xd8, 4, 0, 32 },
	[0x57] = { KEY, 0xd4, 4, 0, 32 }, [0x58] = { KEY, 0xd0, 4, 0, 32 },
	[0x59] = { TCP, 4, 4, 0, 32 },    [0x5b] = { TCP, 8, 4, 0, 32 },
	[0x6e] = { GTPU, 4, 4, 0, 32 },   [0x73] = { IP, 0, 2, 0, 2 },
};

/* ---- commands ---- */

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static int take_field(uint32_t id, uint8_t *out)
{
	if (id >= array_size(places) || !places[id].base)
		return explain(EINVAL, "field %#x of a modify-header command is not known", id);
	*out = id;
	return 0;
}

static int check_range(uint8_t field, unsigned int shift, unsigned int width)
{
	if (shift + width > places[field].width)
		return explain(EINVAL,
			       "a modify-header command changes %u bits from bit %u on; field %#x "
			       "has %u bits",
			       width, shift, field, places[field].width);
	return 0;
}

int flow_modify_parse(const uint8_t *command, struct flow_modify_step *out)
{
	uint32_t first = get32(command), second = get32(command + 4);
	struct flow_modify_step step = { .op = first >> 28 };
	int err;

	step.width = first & 0x1f ? first & 0x1f : 32;
	switch (step.op) {
	case SET:
		err = take_field(first >> 16 & 0xfff, &step.to);
		step.to_shift = first >> 8 & 0x1f;
		step.data = second;
		break;
	case ADD:
		err = take_field(first >> 16 & 0xfff, &step.to);
		step.data = second;
		if (!err)
			step.width = places[step.to].width;
		break;
	case COPY:
		err = take_field(first >> 16 & 0xfff, &step.from);
		if (!err)
			err = take_field(second >> 16 & 0xfff, &step.to);
		step.from_shift = first >> 8 & 0x1f;
		step.to_shift = second >> 8 & 0x1f;
		if (!err)
			err = check_range(step.from, step.from_shift, step.width);
		break;
	default:
		return explain(EINVAL,
			       "modify-header command %u is unknown; 1 is set, 2 add, 3 copy",
			       step.op);
	}
	if (!err)
		err = check_range(step.to, step.to_shift, step.width);
	if (!err)
		*out = step;
	return err;
}

/* ---- on a packet ---- */

/* The offset of a field in the frame; -1: the frame has no such header. */
static int32_t offset_of(const struct place *place, const struct ether_parsed *p)
{
	const struct ether_headers *h = &p->outer;

	switch (place->base) {
	case L2:
		return h->has_l2 ? h->l2_off + place->at : -1;
	case TYPE:
		return h->has_l2 ? h->vlan_off + h->vlans * 4 - 2 : -1;
	case VLAN:
		return h->vlans ? h->vlan_off : -1;
	case IPV4:
		return h->l3 == ETHER_L3_IPV4 ? h->l3_off + place->at : -1;
	case IPV6:
		return h->l3 == ETHER_L3_IPV6 ? h->l3_off + place->at : -1;
	case IP:
		return h->l3 ? h->l3_off : -1;
	case TCP:
		return h->l4 == ETHER_L4_TCP ? h->l4_off + place->at : -1;
	case UDP:
		return h->l4 == ETHER_L4_UDP ? h->l4_off + place->at : -1;
	case GTPU:
		return p->tunnel == ETHER_TUNNEL_GTPU ? p->tunnel_off + place->at : -1;
	default:
		return -1;
	}
}

static unsigned int shift_of(const struct place *place, const struct ether_parsed *p)
{
	if (place->base == IP && p->outer.l3 == ETHER_L3_IPV6)
		return place->shift + 4;
	return place->shift;
}

static uint32_t load(const uint8_t *at, unsigned int size)
{
	uint32_t value = 0;

	while (size--)
		value = value << 8 | *at++;
	return value;
}

static void store(uint8_t *at, unsigned int size, uint32_t value)
{
	for (; size--; value >>= 8)
		at[size] = value;
}

static uint32_t low_bits(unsigned int width)
{
	return width >= 32 ? UINT32_MAX : (1u << width) - 1;
}

static bool read_field(struct flow_run *run, uint8_t field, uint32_t *out)
{
	const struct place *place = &places[field];
	const struct ether_parsed *p;
	int32_t off;

	if (place->base == KEY) {
		*out = load(run->key.bytes + place->at, 4);
		return true;
	}
	if (place->base == REG_B) {
		*out = run->reg_b;
		return true;
	}
	p = ether_frame_parse(&run->frame);
	off = offset_of(place, p);
	if (off < 0)
		return false;
	*out = load(run->frame.data + off, place->size) >> shift_of(place, p) &
	       low_bits(place->width);
	return true;
}

/* Updates a checksum after `old` became `fresh` in the bytes it covers; both are 16-bit words. */
static void correct(uint8_t *sum, uint32_t old, uint32_t fresh)
{
	uint32_t s = (uint16_t)~load(sum, 2);

	s += (uint16_t) ~(old & 0xffff);
	s += (uint16_t) ~(old >> 16);
	s += (fresh & 0xffff) + (fresh >> 16);
	s = (s & 0xffff) + (s >> 16);
	s = (s & 0xffff) + (s >> 16);
	store(sum, 2, (uint16_t)~s);
}

static void correct_sums(uint8_t *data, const struct ether_headers *h, uint8_t base, uint32_t off,
			 uint32_t old, uint32_t fresh)
{
	bool ip = base == IPV4 || base == IPV6 || base == IP;
	bool address = ip && off >= h->l3_off + (h->l3 == ETHER_L3_IPV4 ? 12u : 8u);

	if (ip && h->l3 == ETHER_L3_IPV4)
		correct(data + h->l3_off + 10, old, fresh);
	if (!address && base != TCP && base != UDP)
		return;
	if (h->l4 == ETHER_L4_TCP) {
		correct(data + h->l4_off + 16, old, fresh);
	} else if (h->l4 == ETHER_L4_UDP && load(data + h->l4_off + 6, 2)) {
		correct(data + h->l4_off + 6, old, fresh);
		if (!load(data + h->l4_off + 6, 2))
			store(data + h->l4_off + 6, 2, 0xffff);
	}
}

static void write_packet(struct flow_run *run, const struct place *place, uint32_t value)
{
	const struct ether_parsed *p = ether_frame_parse(&run->frame);
	int32_t off = offset_of(place, p);
	uint32_t mask, even, size, old, fresh;
	uint8_t *data;

	if (off < 0 || !flow_run_own(run, 0))
		return;
	data = run->own + (run->frame.data - run->own);
	mask = low_bits(place->width) << shift_of(place, p);
	/* Headers begin on an even byte of the summed range: widen to whole words. */
	even = (off - p->outer.l3_off) & 1 ? off - 1 : off;
	size = place->size == 1 ? 2 : place->size;
	old = load(data + even, size);
	fresh = load(data + off, place->size);
	store(data + off, place->size, (fresh & ~mask) | (value << shift_of(place, p) & mask));
	fresh = load(data + even, size);
	if (place->base >= IPV4 && place->base <= UDP)
		correct_sums(data, &p->outer, place->base, off, old, fresh);
}

static void write_field(struct flow_run *run, uint8_t field, uint32_t value)
{
	const struct place *place = &places[field];

	if (place->base == KEY)
		store(run->key.bytes + place->at, 4, value);
	else if (place->base == REG_B)
		run->reg_b = value;
	else
		write_packet(run, place, value);
}

static void apply(const struct flow_modify_step *step, struct flow_run *run)
{
	uint32_t mask = low_bits(step->width) << step->to_shift, value = step->data, old;

	if (!read_field(run, step->to, &old))
		return;
	if (step->op == ADD) {
		write_field(run, step->to, (old + value) & low_bits(step->width));
		return;
	}
	if (step->op == COPY) {
		if (!read_field(run, step->from, &value))
			return;
		value >>= step->from_shift;
	}
	write_field(run, step->to, (old & ~mask) | (value << step->to_shift & mask));
}

void flow_modify_apply(const struct flow_modify_step *steps, unsigned int count,
		       struct flow_run *run)
{
	for (unsigned int i = 0; i < count; i++) {
		apply(&steps[i], run);
		/* With another EtherType the rest has to be parsed anew. */
		if (places[steps[i].to].base == TYPE)
			run->frame.parsed_valid = false;
	}
}
