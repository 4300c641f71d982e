/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host directory's file, as another process of the user may write it: any word at any place. The process itself
 * looks up and registers there; every call returns, with a value within its bounds.
 *
 * Input: words to write (a byte that says where, two of index and offset, eight of value), each followed by calls.
 * Words are put back afterwards. Every 256th input starts with a directory of its own.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/claims.h"
#include "fabric/directory.h"
#include "fabric/dirfile.h"
#include "fabric/fabric.h"
#include "fabric/numbers.h"
#include "fabric/port_counts.h"
#include "fabric/registry.h"
#include "fabric/traffic.h"
#include "fuzz.h"
#include "input.h"

#define WRITES_MOST 16u

static struct input in;
static struct {
	uint8_t *at;
	uint64_t value;
} undo[WRITES_MOST];
static unsigned int undo_count;
static const uint8_t group[16] = { 0xff, 0x0e, [15] = 1 };
static uint32_t claim, first_qpn;

static uint8_t u8(void)
{
	return input_u8(&in);
}

static int never(const struct fabric_claim *other, void *arg)
{
	return other->flags & 1 ? -EADDRINUSE : 0;
}

static const struct fabric_claim_check check = { .refuse = never };

static void start(void)
{
	const struct fabric_config config = { .segment_size = 1 << 16 };
	struct fabric_claim c = { .number = 5 };
	uint32_t count;
	uint16_t lid;

	fabric_fini();
	CHECK(!fabric_init(&config));
	CHECK(!fabric_qpn_block_get(&first_qpn, &count));
	CHECK(!fabric_lid_get("mlx5_0/1", &lid));
	CHECK(!fabric_reg_add(FABRIC_REG_XRCD, "key", 3, 7, false));
	CHECK(!fabric_mcast_join(1, group, first_qpn));
	CHECK(!fabric_claim_add(&c, &check, &claim));
}

/* Parts of the file that are in use, and their neighbours. */
static uint8_t *any_word(void)
{
	struct dir_file *d = fabric_directory_file();
	uint8_t where = u8(), index = u8(), off = u8() & 0x38;

	switch (where % 8) {
	case 0: /* its head, but for the magic, by which it is found */
		return (uint8_t *)&d->next_block + (((size_t)index << 3) % 512);
	case 1:
		return (uint8_t *)&d->slot[index % 4] + off;
	case 2:
		return (uint8_t *)&d->lid[index % 8] + off;
	case 3:
		return (uint8_t *)&d->record[index % 16] + off;
	case 4:
		return (uint8_t *)&d->claim[index % 64];
	case 5:
		return (uint8_t *)((uintptr_t)&d->block[first_qpn / FABRIC_QPN_BLOCK + index % 8] &
				   ~(uintptr_t)7);
	case 6:
		return (uint8_t *)&d->key_block[2 * (index % 32)];
	default:
		return (uint8_t *)&d->port[index % 8] + off;
	}
}

static void write_word(void)
{
	uint8_t *at = any_word();
	uint64_t value = input_u64(&in);

	undo[undo_count].at = at;
	memcpy(&undo[undo_count].value, at, sizeof(value));
	undo_count++;
	memcpy(at, &value, sizeof(value));
}

static void look_up(void)
{
	struct fabric_reg_entry entries[4];
	struct fabric_process p;

	for (uint32_t slot = 0; slot < 4; slot++) {
		fabric_process_last(slot);
		if (!fabric_process_in_slot(slot, &p))
			CHECK(fabric_id_slot(p.id) == slot && memchr(p.name, 0, sizeof(p.name)));
		fabric_counter_read(slot, FABRIC_COUNT_KICKS);
	}
	fabric_reg_find(FABRIC_REG_XRCD, "key", 3, entries, 4);
	fabric_mcast_members(1, group, entries, 4);
	fabric_qpn_owner(first_qpn + u8());
	fabric_key_owner(u8() * 1024u);
	fabric_lid_is_taken(u8());
	fabric_process_alive(fabric_self());
}

static void change(void)
{
	struct fabric_claim c = { .number = u8() };
	struct fabric_qpn_range ranges[8];
	uint32_t handle, block, count;
	uint16_t lid;
	char key[2] = { (char)('a' + u8() % 4), 0 };

	switch (u8() % 6) {
	case 0:
		if (!fabric_qpn_block_get(&block, &count)) {
			CHECK(block >= FABRIC_QPN_FIRST && count <= FABRIC_QPN_BLOCK &&
			      block + count - 1 <= FABRIC_QPN_LAST);
			fabric_qpn_block_put(block);
		}
		break;
	case 1:
		if (!fabric_key_block_get(&block, &count))
			CHECK(block >= FABRIC_KEY_FIRST && block + count - 1 <= FABRIC_KEY_LAST);
		break;
	case 2:
		fabric_lid_get(key, &lid);
		break;
	case 3:
		if (!fabric_reg_add(FABRIC_REG_MCAST, key, 1, u8(), u8() & 1))
			fabric_reg_del(FABRIC_REG_MCAST, key, 1, u8());
		fabric_reg_change(FABRIC_REG_XRCD, "key", 3, 7, 7);
		break;
	case 4:
		if (!fabric_claim_add(&c, &check, &handle)) {
			fabric_claim_set_flags(handle, u8(), &check);
			fabric_claim_remove(handle);
		}
		fabric_claim_remove(1 + u8());
		break;
	default:
		CHECK(fabric_qpn_ranges(ranges, 8) <= 65536);
		fabric_directory_reap();
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int runs;

	if (!(runs++ % 256))
		start();
	in = (struct input){ data, size };
	undo_count = 0;
	while (in.left && undo_count < WRITES_MOST) {
		write_word();
		look_up();
		change();
	}
	while (undo_count--)
		memcpy(undo[undo_count].at, &undo[undo_count].value, sizeof(undo[0].value));
	return 0;
}
