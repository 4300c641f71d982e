/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/grace.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

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
	if (!epoch_visits_wait(fabric_segment_epochs(peer->segment), peer_alive, peer,
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

/* How long a peer may take before it is worth a look whether it runs at all. */
#define HALTED_CHECK_NS 1000000ull

struct waiting {
	fabric_id_t only;
	struct hca_peer *peer;
	uint64_t check_ns; /* when to look next */
	bool halted;
	struct open_section *open;
	size_t count, most;
};

static bool peer_running(void *arg)
{
	struct waiting *w = arg;
	uint64_t now_ns = fabric_now_ns();

	if (!hca_peer_is_up(w->peer))
		return false;
	if (!w->check_ns)
		w->check_ns = now_ns + HALTED_CHECK_NS;
	if (now_ns < w->check_ns)
		return true;
	w->check_ns = now_ns + HALTED_CHECK_NS;
	w->halted = hca_peer_is_halted(w->peer);
	return !w->halted;
}

static void wait_running_peer(struct hca_peer *peer, void *arg)
{
	const struct epoch_area *area = fabric_segment_epochs(peer->segment);
	uint32_t cells = epoch_area_cells(area);
	struct waiting *w = arg;

	w->peer = peer;
	w->check_ns = 0;
	w->halted = false;
	if (peer->is_self || (w->only && peer->id != w->only) ||
	    epoch_visits_wait(area, peer_running, w, PEER_TIMEOUT_NS))
		return;
	if (!hca_peer_is_up(peer) && !fabric_process_alive(peer->id))
		return;
	if (!w->halted)
		hca_peer_kill(peer);
	for (uint32_t i = 0; i < cells; i++) {
		uint64_t section = epoch_visit_open(&area->cell[i]);

		if (!section)
			continue;
		if (w->count < w->most)
			w->open[w->count] = (struct open_section){
				.id = peer->id,
				.cell = i,
				.by_kernel = epoch_visit_is_by_kernel(&area->cell[i], section),
				.guarded = atomic_load(&hca_peer_segment(peer)->copies_guarded),
				.section = section,
			};
		w->count++;
	}
}

size_t grace_wait_peers(fabric_id_t only, struct open_section *open, size_t most)
{
	struct waiting w = { .only = only, .open = open, .most = most };

	/* [E1] in the peers, [E5] */
	barrier_global();
	hca_peer_for_each(wait_running_peer, &w);
	return w.count;
}

size_t epoch_wait_running(struct open_section *open, size_t most)
{
	epoch_wait();
	return grace_wait_peers(FABRIC_ID_NONE, open, most);
}

bool open_section_is_over(const struct open_section *open)
{
	const struct hca_peer *peer = hca_peer_at(fabric_id_slot(open->id));

	/* A process that has lost its link may still have the memory mapped. */
	if (!peer || peer->id != open->id)
		return !fabric_process_alive(open->id);
	return epoch_section_over(&fabric_segment_epochs(peer->segment)->cell[open->cell],
				  open->section);
}

/* What may have to be waited for is over, or the peer has lost its link. */
static bool copy_is_over(const struct open_section *open, uint64_t deadline_ns)
{
	struct hca_peer *peer;
	bool over;

	epoch_enter();
	peer = hca_peer_at(fabric_id_slot(open->id));
	over = open_section_is_over(open) || !peer || peer->id != open->id ||
	       !hca_peer_is_up(peer) || (open->guarded && hca_peer_threads_are_halted(peer));
	if (!over && fabric_now_ns() > deadline_ns) {
		hca_peer_kill(peer);
		over = true;
	}
	epoch_exit();
	return over;
}

void grace_wait_copies(const struct open_section *open, size_t count)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	uint64_t deadline_ns = fabric_now_ns() + PEER_TIMEOUT_NS;

	/* [E1] in the peers: a thread that looks from here on sees the change */
	barrier_global();
	for (size_t i = 0; i < count; i++)
		while (open[i].by_kernel && !copy_is_over(&open[i], deadline_ns))
			nanosleep(&nap, NULL);
}

/* ---- asking ---- */

typedef ARRAY_OF(struct open_section) open_sections;

/* All of this process, and those of a peer that may be in memory of this one. */
static int note_sections(fabric_id_t id, const void *segment, open_sections *out)
{
	const struct epoch_area *area = fabric_segment_epochs(segment);
	uint32_t cells = epoch_area_cells(area);
	bool all = id == fabric_self();
	int err = 0;

	for (uint32_t i = 0; i < cells && !err; i++) {
		const struct epoch_cell *cell = &area->cell[i];
		uint64_t section = all ? epoch_section_open(cell) : epoch_visit_open(cell);

		if (section)
			err = array_push(out, ((struct open_section){
						      .id = id, .cell = i, .section = section }));
	}
	return err;
}

static int note_all_sections(open_sections *out)
{
	int err = note_sections(fabric_self(), hca.peers.segment, out);

	for (uint32_t i = 0; i < hca_peer_end() && !err; i++) {
		const struct hca_peer *peer = hca_peer_at(i);

		if (peer && !peer->is_self)
			err = note_sections(peer->id, peer->segment, out);
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
	err = only ? note_sections(only->id, only->segment, &open) : note_all_sections(&open);
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
