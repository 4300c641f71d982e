/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues. An entry is written by the format, its owner bit last, and the interrupt is an
 * eventfd, raised once per request. A full ring loses events, and says so in its status, but never
 * overwrites what the program has not read, unless it was made to.
 */
#include "hca/eq.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "hca/uar.h"
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
	eq->page = init->uar->id;
	eq->bells = init->uar->page;
	eq->fd = init->fd;
	eq->ignore_overrun = init->ignore_overrun;
	err = uar_watch_eq(eq);
	if (err) {
		free(eq);
		return err;
	}
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
	free(eq);
	return 0;
}

/* Lock held. */
static void raise_interrupt(struct hca_eq *eq)
{
	const uint64_t one = 1;

	eq->armed = false;
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

/* Lock held. */
static bool take_bells(struct hca_eq *eq)
{
	bool arm, found = false;
	uint32_t consumer;

	while (eq->bells && eq->format->uar_take_eq(eq->bells, eq->eqn, &consumer, &arm)) {
		found = true;
		move_consumer(eq, consumer);
		eq->armed |= arm;
	}
	if (eq->armed && ((eq->pi - eq->ci) & HCA_EQ_INDEX_MASK))
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

void hca_eq_orphan(struct hca_eq *eq)
{
	fabric_lock(&eq->lock);
	eq->bells = NULL;
	fabric_unlock(&eq->lock);
}

/* What was rung before the event counts before it, whether somebody has looked meanwhile or not. */
void hca_eq_post(struct hca_eq *eq, const struct hca_eqe *eqe)
{
	fabric_lock(&eq->lock);
	take_bells(eq);
	if (!eq->ignore_overrun && ((eq->pi - eq->ci) & HCA_EQ_INDEX_MASK) >= eq->size) {
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
	fabric_unlock(&eq->lock);
}
