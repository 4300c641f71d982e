/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues. An entry is written by the format, its owner bit last, and the interrupt is an
 * eventfd, raised once per request. A full ring loses events, and says so in its status, but never
 * overwrites what the program has not read, unless it was made to.
 *
 * Queues may share a doorbell page, and then a register: what one is told may be written over by
 * what another is told before anybody looks, and is kept nowhere else. So whoever shares a page with
 * a queue that was told something counts as told to raise its interrupt, which does no harm when it
 * was not; and events that find its ring full wait for the index that comes after the interrupt.
 */
#include "hca/queue/eq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/queue/uar.h"
#include "util/explain.h"

int hca_eq_create(const struct hca_eq_init *init, struct hca_eq **out)
{
	struct hca_eq *eq = calloc(1, sizeof(*eq));
	int err;

	if (!eq)
		return -ENOMEM;
	eq->format = init->format;
	eq->buf = init->buf;
	eq->size = init->size;
	eq->eqn = init->eqn;
	eq->uar = init->uar;
	eq->rings = atomic_load(&init->uar->rings);
	eq->fd = init->fd;
	eq->ignore_overrun = init->ignore_overrun;
	err = uar_watch_eq(eq);
	if (err) {
		free(eq);
		return err;
	}
	atomic_fetch_add(&eq->uar->eqs, 1);
	*out = eq;
	return 0;
}

int hca_eq_destroy(struct hca_eq *eq)
{
	unsigned int users = atomic_load(&eq->users);

	if (users)
		return explain(EBUSY, "%u completion queues report to event queue %u", users,
			       eq->eqn);
	uar_forget_eq(eq);
	free(eq->kept);
	free(eq);
	return 0;
}

/* Lock held. */
static void raise_interrupt(struct hca_eq *eq)
{
	const uint64_t one = 1;

	/* In doubt the program may have read all of it, and this interrupt says nothing new. */
	eq->armed = eq->doubt;
	eq->raised_pi = eq->pi;
	while (write(eq->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/*
 * Lock held. Forward, and no farther than there are entries. Whoever tells first with and then
 * without arming may be heard in the other order; the older index then changes nothing.
 */
static void move_consumer(struct hca_eq *eq, uint32_t consumer)
{
	uint32_t ahead = (consumer - eq->ci) & HCA_EQ_INDEX_MASK;

	if (ahead <= ((eq->pi - eq->ci) & HCA_EQ_INDEX_MASK) || eq->ignore_overrun)
		eq->ci = consumer & HCA_EQ_INDEX_MASK;
}

static uint32_t unread(const struct hca_eq *eq)
{
	return (eq->pi - eq->ci) & HCA_EQ_INDEX_MASK;
}

static bool is_shared(const struct hca_eq *eq)
{
	return eq->uar && atomic_load_explicit(&eq->uar->eqs, memory_order_relaxed) > 1;
}

/* Lock held. */
static void post_kept(struct hca_eq *eq)
{
	uint32_t n = 0;

	while (n < eq->kept_count && unread(eq) < eq->size)
		eq->format->eqe_write(eq, eq->pi++, &eq->kept[n++]);
	eq->kept_count -= n;
	memmove(eq->kept, eq->kept + n, eq->kept_count * sizeof(*eq->kept));
}

/* Lock held. What one queue was told may have hidden what another was. */
static void note_rings(struct hca_eq *eq, bool found)
{
	uint32_t rings;

	if (found)
		atomic_fetch_add_explicit(&eq->uar->rings, 1, memory_order_relaxed);
	rings = atomic_load_explicit(&eq->uar->rings, memory_order_relaxed);
	if (!found && rings != eq->rings) {
		if (!eq->doubt)
			eq->raised_pi = eq->ci;
		eq->armed = eq->doubt = true;
	}
	eq->rings = rings;
}

/* Lock held. */
static bool take_from(struct hca_eq *eq, uint8_t *page)
{
	bool arm, found = false;
	uint32_t consumer;

	while (eq->format->uar_take_eq(page, eq->eqn, &consumer, &arm)) {
		found = true;
		eq->doubt = false;
		move_consumer(eq, consumer);
		eq->armed |= arm;
	}
	return found;
}

/* Lock held. */
static bool take_bells(struct hca_eq *eq)
{
	bool found = eq->uar && take_from(eq, eq->uar->page);
	uint8_t *shown = eq->uar ? uar_shown(eq->uar) : NULL;

	if (unlikely(shown))
		found |= take_from(eq, shown);
	if (is_shared(eq))
		note_rings(eq, found);
	if (unlikely(eq->kept_count))
		post_kept(eq);
	/* In doubt once for each entry, not once for each look. */
	if (eq->armed && unread(eq) && (!eq->doubt || eq->raised_pi != eq->pi))
		raise_interrupt(eq);
	return found;
}

bool hca_eq_look(struct hca_eq *eq)
{
	bool found;

	fabric_lock(&eq->lock);
	found = take_bells(eq);
	fabric_unlock(&eq->lock);
	return found;
}

void hca_eq_orphan(struct hca_eq *eq, const struct hca_uar *uar)
{
	fabric_lock(&eq->lock);
	if (eq->uar == uar)
		eq->uar = NULL;
	fabric_unlock(&eq->lock);
}

/* Lock held. False when it is lost. */
static bool keep(struct hca_eq *eq, const struct hca_eqe *eqe)
{
	if (!is_shared(eq) || eq->kept_count == eq->size)
		return false;
	if (!eq->kept)
		eq->kept = calloc(eq->size, sizeof(*eq->kept));
	if (!eq->kept)
		return false;
	eq->kept[eq->kept_count++] = *eqe;
	raise_interrupt(eq);
	return true;
}

/* What was rung before the event counts before it, whether somebody has looked meanwhile or not. */
void hca_eq_post(struct hca_eq *eq, const struct hca_eqe *eqe)
{
	fabric_lock(&eq->lock);
	take_bells(eq);
	if (!eq->ignore_overrun && (unread(eq) >= eq->size || eq->kept_count)) {
		if (keep(eq, eqe))
			goto unlock;
		if (!eq->overran)
			explain_note("event queue %u: all %u entries are in use, and events are "
				     "lost; read them and tell the consumer index",
				     eq->eqn, eq->size);
		eq->overran = true;
	} else {
		eq->format->eqe_write(eq, eq->pi++, eqe);
		if (eq->armed)
			raise_interrupt(eq);
	}
unlock:
	fabric_unlock(&eq->lock);
}
