/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queues. An entry is written by the format, its owner bit last, and the interrupt is an
 * eventfd, raised once per request. A full ring loses events, and says so in its status, but never
 * overwrites entries that the program has not read, unless it was created to.
 *
 * Queues may share a doorbell page, and then a register: the word that a program stores for one queue may
 * be overwritten by its word for another before a thread reads the register, and is lost. So when a word for
 * one queue of a page was taken, the others count as armed (`doubt`: a needless interrupt does no harm), and
 * events that find their ring full are kept until the program, after the interrupt, stores its consumer index.
 */
#include "hca/queue/eq.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/hca.h"
#include "util/explain.h"

/* Lock held. */
static void raise_interrupt(struct hca_eq *eq)
{
	const uint64_t one = 1;

	/* In doubt, the program may have read everything already: stay armed for the next entry. */
	eq->armed = eq->doubt;
	eq->raised_pi = eq->pi;
	while (write(eq->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/*
 * Lock held. Forward, and no farther than there are entries. Two words of a program, one that arms
 * and one that does not, may be taken in the other order; the older index then changes nothing.
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

/* Lock held. The word for another queue may have overwritten the word for this one. */
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

/* Lock held. Takes all words for the queue out of its page. True when there were any. */
static bool take_words(struct hca_eq *eq)
{
	bool found = eq->uar && eq->uar->regs && take_from(eq, eq->uar->regs);
	uint8_t *shown = eq->uar ? uar_shown(eq->uar) : NULL;

	if (unlikely(shown))
		found |= take_from(eq, shown);
	if (is_shared(eq))
		note_rings(eq, found);
	if (unlikely(eq->kept_count))
		post_kept(eq);
	/* In doubt, one interrupt for each new entry, not one for each look. */
	if (eq->armed && unread(eq) && (!eq->doubt || eq->raised_pi != eq->pi))
		raise_interrupt(eq);
	return found;
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

/* Words that were stored before the event count before it, also if no thread has looked since. */
void hca_eq_post(struct hca_eq *eq, const struct hca_eqe *eqe)
{
	fabric_lock(&eq->lock);
	take_words(eq);
	if (!eq->ignore_overrun && (unread(eq) >= eq->size || eq->kept_count)) {
		if (keep(eq, eqe))
			goto unlock;
		if (!eq->overran)
			explain_note("event queue %u: all %u entries are in use, and events are "
				     "lost; read them and store the consumer index",
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

/* ---- life ---- */

static bool look(struct uar_user *user)
{
	struct hca_eq *eq = container_of(user, struct hca_eq, user);
	bool found;

	fabric_lock(&eq->lock);
	found = take_words(eq);
	fabric_unlock(&eq->lock);
	return found;
}

static void page_gone(struct uar_user *user)
{
	struct hca_eq *eq = container_of(user, struct hca_eq, user);

	fabric_lock(&eq->lock);
	eq->uar = NULL;
	fabric_unlock(&eq->lock);
}

/* Takes the words for the queue: they are not for the next one of this number. */
static void leave_page(struct hca_eq *eq)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (eq->uar) {
		look(&eq->user);
		atomic_fetch_sub(&eq->uar->eqs, 1);
		uar_remove_user(&eq->user);
	}
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

int hca_eq_create(const struct hca_eq_init *init, struct hca_eq **out)
{
	struct hca_eq *eq = calloc(1, sizeof(*eq));

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
	eq->user = (struct uar_user){ .look = look, .page_gone = page_gone };
	atomic_fetch_add(&eq->uar->eqs, 1);
	pthread_mutex_lock(&hca.queue.watch_lock);
	uar_add_user(eq->uar, &eq->user);
	pthread_mutex_unlock(&hca.queue.watch_lock);
	*out = eq;
	return 0;
}

int hca_eq_destroy(struct hca_eq *eq)
{
	unsigned int users = atomic_load(&eq->users);

	if (users)
		return explain(EBUSY, "%u completion queues report to event queue %u", users,
			       eq->eqn);
	leave_page(eq);
	free(eq->kept);
	free(eq);
	return 0;
}
