/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/grace.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "fabric/barrier.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "hca/hca.h"
#include "hca/peers/peer.h"

#define PATIENCE_NS 2000000000ull /* as for a deregistration */
#define FIRST_ROOM  8u

struct inside {
	fabric_id_t id;
	uint32_t cell;
	uint64_t section;
};

struct grace_period {
	uint64_t until_ns;
	uint32_t count, room;
	struct inside inside[];
};

static int add(struct grace_period **fence, const struct inside *who)
{
	struct grace_period *f = *fence;
	uint32_t room = f ? f->room : 0;

	if (!f || f->count == room) {
		room = room ? 2 * room : FIRST_ROOM;
		f = realloc(*fence, sizeof(*f) + room * sizeof(f->inside[0]));
		if (!f)
			return -ENOMEM;
		if (!*fence)
			f->count = 0;
		f->room = room;
		*fence = f;
	}
	f->inside[f->count++] = *who;
	return 0;
}

static int look(fabric_id_t id, struct epoch_area *area, struct grace_period **fence)
{
	uint32_t high = atomic_load(&area->high);
	int err = 0;

	for (uint32_t i = 0; i < high && i < EPOCH_CELLS && !err; i++) {
		struct epoch_cell *cell = &area->cell[i];
		/* [G1] */
		uint64_t section = atomic_load_explicit(&cell->section, memory_order_seq_cst);

		if ((section & 1) && cell != epoch_self.cell)
			err = add(fence, &(struct inside){ id, i, section });
	}
	return err;
}

int grace_begin(const struct hca_peer *only, struct grace_period **out)
{
	struct grace_period *fence = NULL;
	int err = 0;

	/* [G1] pairs with epoch_enter(): what is gone cannot be found by who is not inside */
	barrier_global();
	if (only) {
		err = look(only->id, &only->segment->epochs, &fence);
	} else {
		err = look(fabric_self(), &hca.peers.segment->epochs, &fence);
		for (unsigned int i = 0; i < FABRIC_SLOTS && !err; i++) {
			const struct hca_peer *peer = hca_peer_at(i);

			if (peer && !peer->is_self)
				err = look(peer->id, &peer->segment->epochs, &fence);
		}
	}
	if (err) {
		free(fence);
		return err;
	}
	if (fence)
		fence->until_ns = fabric_now_ns() + PATIENCE_NS;
	*out = fence;
	return 0;
}

bool grace_has_passed(const struct grace_period *fence)
{
	for (uint32_t i = 0; i < fence->count; i++) {
		const struct inside *who = &fence->inside[i];
		struct epoch_area *area = &hca.peers.segment->epochs;
		struct hca_peer *peer = NULL;

		if (who->id != fabric_self()) {
			peer = hca_peer_at(fabric_id_slot(who->id));
			if (!peer || peer->id != who->id)
				continue;
			area = &peer->segment->epochs;
		}
		/* [G2] */
		if (atomic_load_explicit(&area->cell[who->cell].section, memory_order_acquire) !=
		    who->section)
			continue;
		if (peer && fabric_now_ns() > fence->until_ns)
			hca_peer_kill(peer);
		return false;
	}
	return true;
}
