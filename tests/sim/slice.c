/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets of writes and reads; see work.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/end.h"
#include "sim/host.h"
#include "sim/slice.h"
#include "sim/work.h"

struct slice *slice_new(const struct span *at)
{
	struct slice *s = calloc(1, sizeof(*s));

	SIM_CHECK(s, "no memory");
	s->at = *at;
	if (sim.slices == sim.slice_room) {
		sim.slice_room = sim.slice_room ? 2 * sim.slice_room : 256;
		sim.slice = realloc(sim.slice, sim.slice_room * sizeof(*sim.slice));
		SIM_CHECK(sim.slice, "no memory");
	}
	sim.slice[sim.slices++] = s;
	return s;
}

void slice_free_all(void)
{
	for (unsigned int i = 0; i < sim.slices; i++)
		free(sim.slice[i]);
	for (unsigned int i = 0; i < sim.swaps; i++)
		free(sim.swap[i]);
	sim.slices = sim.swaps = 0;
}

void slice_add_writer(struct slice *s, struct work *w)
{
	w->target = s;
	w->writer = s->writers;
	s->writer[s->writers++] = w;
}

/*
 * Success of an unreliable request says nothing about the other end, unless nothing can get lost.
 */
static bool has_run(const struct work *w)
{
	if (w->state != WORK_DONE || w->status != HCA_SUCCESS || w->never_runs)
		return false;
	return end_is_reliable(w->end) || (sim.settled && work_is_certain(w));
}

unsigned int slice_first_writer(const struct slice *s, unsigned int from, bool *base)
{
	for (unsigned int i = s->writers; i-- > from;)
		if (has_run(s->writer[i])) {
			*base = false;
			return i;
		}
	return from;
}

void slice_match(const struct slice *s, const uint8_t *bytes, unsigned int first, bool base,
		 const char *what, const struct work *by)
{
	static uint8_t content[WRITERS_MOST][MESSAGE_MOST];
	const uint8_t *may[WRITERS_MOST + 1];
	unsigned int count = 0;
	uint32_t len = s->at.len;

	if (base)
		may[count++] = span_shadow(&s->at);
	for (unsigned int i = first; i < s->writers; i++)
		if (!s->writer[i]->never_runs)
			may[count++] = work_gather(s->writer[i], content[i]);
	for (unsigned int k = count; k-- > 0;)
		if (!memcmp(bytes, may[k], len))
			return;
	for (uint32_t i = 0; i < len; i++) {
		bool found = false;

		for (unsigned int k = 0; k < count && !found; k++)
			found = bytes[i] == may[k][i];
		SIM_CHECK(found,
			  "%s: byte %u of %u is 0x%02x, which none of %u requests has written "
			  "(host %u, offset %u)",
			  by ? work_name(by) : what, i, len, bytes[i], s->writers,
			  s->at.host->index, s->at.off);
	}
}

void slice_check(const struct slice *s)
{
	bool base = true;
	unsigned int first = slice_first_writer(s, 0, &base);

	slice_match(s, span_mem(&s->at), first, base, "a target",
		    s->writers ? s->writer[s->writers - 1] : NULL);
}

/* ---- words of CMP_SWAPs ---- */

struct swap_word *swap_word_new(const struct span *at)
{
	struct swap_word *word = calloc(1, sizeof(*word));

	SIM_CHECK(word, "no memory");
	word->at = *at;
	memcpy(&word->value[0], span_mem(at), 8);
	if (sim.swaps == sim.swap_room) {
		sim.swap_room = sim.swap_room ? 2 * sim.swap_room : 64;
		sim.swap = realloc(sim.swap, sim.swap_room * sizeof(*sim.swap));
		SIM_CHECK(sim.swap, "no memory");
	}
	sim.swap[sim.swaps++] = word;
	return word;
}

/* It is as one of them left it, from the last that has certainly been done on. */
void swap_word_check(const struct swap_word *word)
{
	uint64_t value;

	memcpy(&value, span_mem(&word->at), 8);
	for (unsigned int i = word->done; i <= word->count; i++)
		if (value == word->value[i]) {
			memcpy(span_shadow(&word->at), &value, 8);
			return;
		}
	sim_fail("host %u, offset %u: the word of CMP_SWAPs is 0x%llx, which none of them left",
		 word->at.host->index, word->at.off, (unsigned long long)value);
}
