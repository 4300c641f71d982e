/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/shuffle.h"

#include <time.h>

#include "hca/device/access.h"
#include "hca/device/checker.h"
#include "hca/hca.h"
#include "hca/memory/mem.h"

#define LINE         64u
#define PAUSE_RARE   4u /* one message in so many has one */
#define PAUSE_MAX_NS 200000u

/* Other threads of the program see what is there so far. */
static void pause(uint64_t random)
{
	const struct timespec t = { .tv_nsec = (long)(random / PAUSE_RARE % PAUSE_MAX_NS) };

	if (random % PAUSE_RARE == 0)
		nanosleep(&t, NULL);
}

static bool place(const struct hca_list *to, const struct hca_list *from, uint64_t line,
		  uint64_t len)
{
	uint64_t at = line * LINE, n = len - at < LINE ? len - at : LINE;

	return hca_mem_copy(to, at, from, at, n);
}

/* Lines [0, count), from a random one on, up or down. */
static bool place_all(const struct hca_list *to, const struct hca_list *from, uint64_t count,
		      uint64_t len)
{
	uint64_t random = hca.checker->random(), first = random / 2 % count;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t step = random & 1 ? i : count - i;

		if (!place(to, from, (first + step) % count, len))
			return false;
		if (i == count / 2)
			pause(hca.checker->random());
	}
	return true;
}

bool shuffle_write(const struct hca_mr_entry *e, uint64_t addr, const struct hca_list *from,
		   uint64_t len)
{
	uint64_t lines = (len + LINE - 1) / LINE;
	struct hca_list to;

	hca_mem_piece(e, addr, len, &to);
	if (e->access & HCA_ACCESS_RELAXED)
		return place_all(&to, from, lines, len);
	if (lines > 1 && !place_all(&to, from, lines - 1, len))
		return false;
	return place(&to, from, lines - 1, len);
}
