/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels and their events. The public struct counts the CQs of a channel, under the
 * context's mutex, as in rdma-core.
 */
#include "verbs/channel.h"

#include <fcntl.h>
#include <stdlib.h>

#include "hca/queue/channel.h"
#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/observer.h"
#include "verbs/removal.h"
#include "verbs/result.h"

/* With the channel's lock held, so that the destruction of the CQ counts this event. */
static void taken(void *cq)
{
	atomic_fetch_add_explicit(&to_cq(cq)->comp_events, 1, memory_order_relaxed);
}

int vb_channel_check(struct ibv_comp_channel *channel, const char *call)
{
	if (channel->fd == to_channel(channel)->hca->fd || fcntl(channel->fd, F_GETFD) >= 0)
		return 0;
	return explain(EBADF, "%s: descriptor %d of the channel is not open; it was created as %d",
		       call, channel->fd, to_channel(channel)->hca->fd);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct vb_channel *ch;
	int err = vb_check_present(context);

	if (err)
		return vb_null(err);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return vb_null(-ENOMEM);
	err = hca_channel_create(&to_context(context)->async, &ch->hca);
	if (err) {
		free(ch);
		return vb_null(err);
	}
	ch->hca->taken = taken;
	ch->channel.context = context;
	ch->channel.fd = ch->hca->fd;
	vb_context_get(to_context(context));
	vb_observe(object_added, ch, VB_KIND_CHANNEL);
	return &ch->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct ibv_context *context = channel->context;
	struct vb_channel *ch = to_channel(channel);
	int err;

	pthread_mutex_lock(&context->mutex);
	if (channel->refcnt)
		err = explain(EBUSY,
			      "ibv_destroy_comp_channel: %d completion queues use the channel",
			      channel->refcnt);
	else
		err = hca_channel_destroy(ch->hca);
	pthread_mutex_unlock(&context->mutex);
	if (err) {
		vb_observe(object_busy, ch, -err);
		return vb_result(err);
	}
	vb_observe(object_removed, ch);
	vb_context_put(to_context(context));
	free(ch);
	return 0;
}

void vb_channel_count(struct ibv_comp_channel *channel, int change)
{
	if (!channel)
		return;
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt += change;
	pthread_mutex_unlock(&channel->context->mutex);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	const struct vb_driver *driver;
	void *user;
	int err = vb_channel_check(channel, "ibv_get_cq_event");

	if (!err)
		vb_observe(event_wanted, to_channel(channel));
	if (!err)
		err = hca_channel_get(to_channel(channel)->hca, &user);
	if (err) {
		errno = -err;
		return -1;
	}
	*cq = user;
	*cq_context = (*cq)->cq_context;
	driver = to_context((*cq)->context)->driver;
	if (driver->cq_event)
		driver->cq_event(to_cq(*cq));
	vb_observe(event_fetched, to_cq(*cq));
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}
