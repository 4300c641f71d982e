/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/queue/sq_register.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "hca/hca.h"
#include "util/explain.h"

/* watch_lock held. */
static void take(struct hca_sq_register *reg)
{
	const struct hca_format *format = reg->uar->format;
	uint8_t *shown = uar_shown(reg->uar);

	if (reg->uar->regs)
		format->uar_take_sq(reg->uar->regs, reg->qpn, &reg->record);
	if (unlikely(shown))
		format->uar_take_sq(shown, reg->qpn, &reg->record);
}

/* The queue pair's own look, which follows, tells whether that was a request. */
static bool look(struct uar_user *user)
{
	take(container_of(user, struct hca_sq_register, user));
	return false;
}

static void page_gone(struct uar_user *user)
{
	container_of(user, struct hca_sq_register, user)->uar = NULL;
}

int hca_sq_register_create(struct hca_uar *uar, struct hca_sq_register **out)
{
	struct hca_sq_register *reg = calloc(1, sizeof(*reg));
	int err = 0;

	if (!reg)
		return -ENOMEM;
	reg->uar = uar;
	reg->user = (struct uar_user){ .look = look, .page_gone = page_gone };
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (uar->has_sq) {
		err = -EBUSY;
	} else {
		uar->has_sq = true;
		uar_add_user(uar, &reg->user);
	}
	pthread_mutex_unlock(&hca.queue.watch_lock);
	if (err) {
		free(reg);
		return explain(
			EBUSY,
			"doorbell page %u has a send queue without a record; another one needs a "
			"page of its own",
			uar->id);
	}
	*out = reg;
	return 0;
}

void hca_sq_register_own(struct hca_sq_register *reg, uint32_t qpn)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	reg->qpn = qpn;
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

void hca_sq_register_reset(struct hca_sq_register *reg)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (reg->uar)
		take(reg);
	reg->record = 0;
	pthread_mutex_unlock(&hca.queue.watch_lock);
}

void hca_sq_register_destroy(struct hca_sq_register *reg)
{
	pthread_mutex_lock(&hca.queue.watch_lock);
	if (reg->uar) {
		take(reg); /* the page may serve another queue */
		reg->uar->has_sq = false;
		uar_remove_user(&reg->user);
	}
	pthread_mutex_unlock(&hca.queue.watch_lock);
	free(reg);
}
