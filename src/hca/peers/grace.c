/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/grace.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "fabric/barrier.h"
#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/epoch.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "util/array.h"

/* A peer that is stopped inside a section delays a deregistration this long, then loses its link. */
#define PEER_TIMEOUT_NS 2000000000ull

/* A section that was open. Peers are named by id: they may be gone when it is looked at again. */
struct open_section {
	fabric_id_t id;
	uint32_t cell;
	uint64_t section;
};

struct grace_period {
	uint64_t deadline_ns;
	size_t count;
	struct open_section section[];
};

/* ---- waiting ---- */

static bool peer_alive(void *peer)
{
	return hca_peer_is_up(peer);
}

static void wait_peer(struct hca_peer *peer, void *arg)
{
	if (peer->is_self)
		return;
	if (!epoch_area_wait(fabric_segment_epochs(peer->segment), peer_alive, peer,
			     PEER_TIMEOUT_NS))
		hca_peer_kill(peer);
}

void epoch_wait_all(void)
{
	epoch_wait();
	/* [E1] in the peers */
	barrier_global();
	hca_peer_for_each(wait_peer, NULL);
}

/* ---- asking ---- */

typedef ARRAY_OF(struct open_section) open_sections;

static int note_sections(fabric_id_t id, const struct epoch_area *area, open_sections *out)
{
	uint32_t cells = epoch_area_cells(area);
	int err = 0;

	for (uint32_t i = 0; i < cells && !err; i++) {
		uint64_t section = epoch_section_open(&area->cell[i]);

		if (section)
			err = array_push(out, ((struct open_section){ id, i, section }));
	}
	return err;
}

static int note_all_sections(open_sections *out)
{
	int err = note_sections(fabric_self(), fabric_segment_epochs(hca.peers.segment), out);

	for (unsigned int i = 0; i < FABRIC_SLOTS && !err; i++) {
		const struct hca_peer *peer = hca_peer_at(i);

		if (peer && !peer->is_self)
			err = note_sections(peer->id, fabric_segment_epochs(peer->segment), out);
	}
	return err;
}

static struct grace_period *make_grace(const open_sections *open)
{
	struct grace_period *grace = malloc(sizeof(*grace) + open->count * sizeof(*open->data));

	if (!grace)
		return NULL;
	grace->deadline_ns = fabric_now_ns() + PEER_TIMEOUT_NS;
	grace->count = open->count;
	for (size_t i = 0; i < open->count; i++)
		grace->section[i] = open->data[i];
	return grace;
}

int grace_begin(const struct hca_peer *only, struct grace_period **out)
{
	struct grace_period *grace = NULL;
	open_sections open = { 0 };
	int err;

	/* [E1] Sections that begin later cannot find the memory. */
	barrier_global();
	err = only ? note_sections(only->id, fabric_segment_epochs(only->segment), &open)
		   : note_all_sections(&open);
	if (!err && open.count) {
		grace = make_grace(&open);
		if (!grace)
			err = -ENOMEM;
	}
	array_fini(&open);
	if (!err)
		*out = grace;
	return err;
}

bool grace_has_passed(const struct grace_period *grace)
{
	for (size_t i = 0; i < grace->count; i++) {
		const struct open_section *open = &grace->section[i];
		const void *segment = hca.peers.segment;
		struct hca_peer *peer = NULL;

		if (open->id != fabric_self()) {
			peer = hca_peer_at(fabric_id_slot(open->id));
			if (!peer || peer->id != open->id)
				continue;
			segment = peer->segment;
		}
		if (epoch_section_over(&fabric_segment_epochs(segment)->cell[open->cell],
				       open->section))
			continue;
		if (peer && fabric_now_ns() > grace->deadline_ns)
			hca_peer_kill(peer);
		return false;
	}
	return true;
}
