/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events go to a program's event queues as EQEs, and to its event channels as
 * messages. A channel is a queue of messages (devx_queue.h): one per event, the cookie first; with
 * OMIT_EV_DATA, one per subscription with an event. A message for which there is no memory is lost,
 * and the next read reports it.
 */
#include "mlx5/devx_event.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/queue/eq.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_queue.h"
#include "mlx5/dv.h"
#include "mlx5/eqe.h"
#include "util/explain.h"

struct channel {
	struct mlx5dv_devx_event_channel pub;
	struct devx *devx;
	struct devx_queue queue;
	bool omit;     /* no data */
	bool overflow; /* event_lock */
	uint64_t last; /* number of its latest subscription; event_lock */
	LIST_HEAD(, devx_sub) subs;
};

struct devx_sub {
	struct channel *channel;
	struct mlx5dv_devx_obj *obj; /* NULL: an event of no object */
	uint16_t event;
	uint64_t cookie;
	uint64_t number;                 /* in the channel: 1, 2, ... */
	int fd;                          /* -1, or an eventfd that is signalled instead */
	LIST_ENTRY(devx_sub) link;       /* of the object, or of devx.unaffiliated */
	LIST_ENTRY(devx_sub) in_channel; /* channel.subs */
};

struct message {
	uint64_t cookie;
	uint32_t data[16];
};

/* ---- what an event is called, and what its entry holds ---- */

enum element_kind {
	ELEMENT_QP,
	ELEMENT_WQ,
	ELEMENT_CQ,
	ELEMENT_SRQ,
	ELEMENT_PORT,
	ELEMENT_NONE,
};

static const struct {
	uint8_t type, sub_type, kind;
} codes[] = {
	[HCA_EVENT_CQ_ERR] = { IFC_EVENT_CQ_ERROR, 0, ELEMENT_CQ },
	[HCA_EVENT_QP_FATAL] = { IFC_EVENT_WQ_CATAS, 0, ELEMENT_QP },
	[HCA_EVENT_QP_REQ_ERR] = { IFC_EVENT_WQ_INVALID_REQUEST, 0, ELEMENT_QP },
	[HCA_EVENT_QP_ACCESS_ERR] = { IFC_EVENT_WQ_ACCESS, 0, ELEMENT_QP },
	[HCA_EVENT_COMM_EST] = { IFC_EVENT_COMM_EST, 0, ELEMENT_QP },
	[HCA_EVENT_SQ_DRAINED] = { IFC_EVENT_SQ_DRAINED, 0, ELEMENT_QP },
	[HCA_EVENT_PATH_MIG] = { IFC_EVENT_PATH_MIG, 0, ELEMENT_QP },
	[HCA_EVENT_PATH_MIG_ERR] = { IFC_EVENT_PATH_MIG_FAILED, 0, ELEMENT_QP },
	[HCA_EVENT_DEVICE_FATAL] = { IFC_EVENT_INTERNAL_ERROR, 0, ELEMENT_NONE },
	[HCA_EVENT_PORT_ACTIVE] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_ACTIVE, ELEMENT_PORT },
	[HCA_EVENT_PORT_ERR] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_DOWN, ELEMENT_PORT },
	[HCA_EVENT_LID_CHANGE] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_LID, ELEMENT_PORT },
	[HCA_EVENT_PKEY_CHANGE] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_PKEY, ELEMENT_PORT },
	[HCA_EVENT_SM_CHANGE] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_INITIALIZED, ELEMENT_PORT },
	[HCA_EVENT_SRQ_ERR] = { IFC_EVENT_SRQ_CATAS, 0, ELEMENT_SRQ },
	[HCA_EVENT_SRQ_LIMIT_REACHED] = { IFC_EVENT_SRQ_LIMIT, 0, ELEMENT_SRQ },
	[HCA_EVENT_QP_LAST_WQE_REACHED] = { IFC_EVENT_SRQ_LAST_WQE, 0, ELEMENT_QP },
	[HCA_EVENT_CLIENT_REREGISTER] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_CLIENT_REREGISTER,
					  ELEMENT_PORT },
	[HCA_EVENT_GID_CHANGE] = { IFC_EVENT_PORT_STATE, IFC_PORT_EVENT_GUID, ELEMENT_PORT },
	[HCA_EVENT_WQ_FATAL] = { IFC_EVENT_WQ_CATAS, 0, ELEMENT_WQ },
};

/* The number of a verbs object of an event. */
static uint32_t verbs_number(uint8_t kind, void *element)
{
	switch (kind) {
	case ELEMENT_QP:
		return to_mqp(element)->base.qpn;
	case ELEMENT_WQ:
		return to_wq(element)->hca->wqn;
	case ELEMENT_CQ:
		return to_mcq(element)->base.vb.hca->cqn;
	case ELEMENT_SRQ:
		return to_msrq(element)->base.vb.hca->srqn;
	default:
		return 0;
	}
}

/* eqe_qp_srq.type: tells QP numbers from RQ and SQ numbers. */
static uint8_t queue_type(const struct mlx5dv_devx_obj *obj, uint8_t kind)
{
	if (obj && obj->kind == DEVX_SQ)
		return IFC_EVENT_QUEUE_SQ;
	return kind == ELEMENT_WQ ? IFC_EVENT_QUEUE_RQ : IFC_EVENT_QUEUE_QP;
}

static void fill_entry(const struct hca_event *event, struct hca_eqe *eqe)
{
	uint8_t kind = codes[event->type].kind, data[28] = { 0 };
	struct mlx5dv_devx_obj *obj = devx_of_user(event->element);
	uint32_t number = obj ? obj->number : 0;

	if (!obj && event->element)
		number = verbs_number(kind, event->element);
	*eqe = (struct hca_eqe){ codes[event->type].type, codes[event->type].sub_type, { 0 } };
	if (kind == ELEMENT_PORT) {
		ifc_set(data, eqe_port_state, port, event->port);
	} else if (kind == ELEMENT_CQ) {
		ifc_set(data, eqe_cq_err, cqn, number);
		ifc_set(data, eqe_cq_err, syndrome, IFC_CQ_ERROR_OVERRUN);
	} else if (kind != ELEMENT_NONE) {
		ifc_set(data, eqe_qp_srq, number, number);
		ifc_set(data, eqe_qp_srq, type, queue_type(obj, kind));
	}
	for (int i = 0; i < 7; i++)
		eqe->data[i] = ifc_load(data, (size_t)i * 32, 32);
}

/* ---- delivery; event_lock held ---- */

static void notify(struct devx_sub *sub, const struct hca_eqe *eqe)
{
	const uint64_t one = 1;
	struct message m = { .cookie = sub->cookie };
	size_t len = sub->channel->omit ? sizeof(m.cookie) : sizeof(m);

	if (sub->fd >= 0) {
		/* A full counter is still readable. */
		while (write(sub->fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
		return;
	}
	mlx5_eqe_image(eqe, 0, m.data);
	if (devx_queue_add(&sub->channel->queue, sub->channel->omit ? sub->number : 0, &m, len,
			   SIZE_MAX))
		sub->channel->overflow = true;
}

static void notify_all(const struct devx_subs *subs, const struct hca_eqe *eqe)
{
	struct devx_sub *s;

	LIST_FOREACH(s, subs, link)
		if (s->event == eqe->type)
			notify(s, eqe);
}

/* Called by the thread that found the event, under its locks: see hca/device/async.h. */
bool devx_event_async(void *arg, const struct hca_event *event)
{
	struct mlx5dv_devx_obj *obj = devx_of_user(event->element);
	struct devx *devx = arg;
	struct devx_user_eq *eq;
	struct hca_eqe eqe;

	fill_entry(event, &eqe);
	pthread_mutex_lock(&devx->event_lock);
	LIST_FOREACH(eq, &devx->eqs, link)
		if (eq->mask[eqe.type / 64] & 1ull << eqe.type % 64)
			hca_eq_post(eq->obj->eq, &eqe);
	if (obj)
		notify_all(&obj->subs, &eqe);
	else if (!event->element)
		notify_all(&devx->unaffiliated, &eqe);
	pthread_mutex_unlock(&devx->event_lock);
	return obj;
}

void devx_event_cq(void *user)
{
	struct mlx5dv_devx_obj *obj = devx_of_user(user);
	struct hca_eqe eqe = { .type = IFC_EVENT_COMP, .data = { [6] = obj->cq->cqn } };

	pthread_mutex_lock(&obj->devx->event_lock);
	notify_all(&obj->subs, &eqe);
	pthread_mutex_unlock(&obj->devx->event_lock);
}

/* ---- channels ---- */

struct mlx5dv_devx_event_channel *
mlx5dv_devx_create_event_channel(struct ibv_context *context,
				 enum mlx5dv_devx_create_event_channel_flags flags)
{
	const uint32_t known = MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA;
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct channel *ch;
	int err;

	if (!ctx)
		return NULL;
	if ((uint32_t)flags & ~known)
		return explain_null(EOPNOTSUPP,
				    "mlx5dv_devx_create_event_channel: flags 0x%x; 0x%x is known",
				    (unsigned int)flags, known);
	ch = calloc(1, sizeof(*ch));
	if (!ch) {
		errno = ENOMEM;
		return NULL;
	}
	err = devx_queue_init(&ch->queue);
	if (err) {
		free(ch);
		errno = -err;
		return NULL;
	}
	ch->devx = ctx->devx;
	ch->pub.fd = ch->queue.fd;
	ch->omit = flags & known;
	return &ch->pub;
}

/* event_lock held. */
static void drop_sub(struct devx_sub *sub)
{
	LIST_REMOVE(sub, link);
	LIST_REMOVE(sub, in_channel);
	if (sub->fd >= 0)
		close(sub->fd);
	free(sub);
}

void mlx5dv_devx_destroy_event_channel(struct mlx5dv_devx_event_channel *pub)
{
	struct channel *ch = container_of(pub, struct channel, pub);
	struct devx_sub *sub, *next;

	pthread_mutex_lock(&ch->devx->event_lock);
	for (sub = LIST_FIRST(&ch->subs); sub; sub = next) {
		next = LIST_NEXT(sub, in_channel);
		drop_sub(sub);
	}
	pthread_mutex_unlock(&ch->devx->event_lock);
	devx_queue_fini(&ch->queue);
	free(ch);
}

void devx_subs_drop(struct mlx5dv_devx_obj *obj)
{
	struct devx_sub *sub, *next;

	pthread_mutex_lock(&obj->devx->event_lock);
	for (sub = LIST_FIRST(&obj->subs); sub; sub = next) {
		next = LIST_NEXT(sub, link);
		drop_sub(sub);
	}
	pthread_mutex_unlock(&obj->devx->event_lock);
}

/* ---- subscriptions ---- */

static bool is_unaffiliated(uint16_t event)
{
	return event == IFC_EVENT_PORT_STATE || event == IFC_EVENT_INTERNAL_ERROR ||
	       event == IFC_EVENT_GENERAL || event == IFC_EVENT_PORT_MODULE ||
	       event == IFC_EVENT_NIC_VPORT_CHANGE;
}

static int check_event(const struct channel *ch, const struct mlx5dv_devx_obj *obj, uint16_t event)
{
	if (obj && obj->devx != ch->devx)
		return explain(EINVAL, "object 0x%x belongs to another context than the channel",
			       obj->number);
	if (event > 0xff ||
	    (event && !is_unaffiliated(event) && event > IFC_EVENT_DCT_KEY_VIOLATION))
		return explain(EINVAL, "event 0x%x is unknown", event);
	if (!obj != is_unaffiliated(event))
		return explain(EINVAL, "event 0x%x %s", event,
			       obj ? "concerns no object: pass NULL" : "is that of an object");
	if (event == IFC_EVENT_COMP && obj->kind != DEVX_CQ)
		return explain(EINVAL, "completion events need a completion queue");
	return 0;
}

static int subscribe(struct channel *ch, struct mlx5dv_devx_obj *obj, uint16_t event,
		     uint64_t cookie, int fd)
{
	struct devx_sub *sub = calloc(1, sizeof(*sub));

	if (!sub) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	*sub = (struct devx_sub){
		.channel = ch, .obj = obj, .event = event, .cookie = cookie, .fd = fd
	};
	pthread_mutex_lock(&ch->devx->event_lock);
	sub->number = ++ch->last;
	LIST_INSERT_HEAD(obj ? &obj->subs : &ch->devx->unaffiliated, sub, link);
	LIST_INSERT_HEAD(&ch->subs, sub, in_channel);
	pthread_mutex_unlock(&ch->devx->event_lock);
	return 0;
}

int mlx5dv_devx_subscribe_devx_event(struct mlx5dv_devx_event_channel *pub,
				     struct mlx5dv_devx_obj *obj, uint16_t events_sz,
				     uint16_t events_num[], uint64_t cookie)
{
	struct channel *ch = container_of(pub, struct channel, pub);
	int count = events_sz / (int)sizeof(events_num[0]), err = 0;

	if (!count || events_sz % sizeof(events_num[0]))
		return -explain(EINVAL,
				"mlx5dv_devx_subscribe_devx_event: %u bytes of event "
				"numbers; expected a multiple of 2",
				events_sz);
	for (int i = 0; i < count && !err; i++)
		err = check_event(ch, obj, events_num[i]);
	for (int i = 0; i < count && !err; i++)
		err = subscribe(ch, obj, events_num[i], cookie, -1);
	return -err;
}

/*
 * Only an eventfd will do: in another file the counter would be data. Without /proc this cannot be
 * checked.
 */
static bool is_eventfd(int fd)
{
	char path[32], target[32];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, target, sizeof(target));
	return len < 0 || (len == 20 && !memcmp(target, "anon_inode:[eventfd]", 20));
}

int mlx5dv_devx_subscribe_devx_event_fd(struct mlx5dv_devx_event_channel *pub, int fd,
					struct mlx5dv_devx_obj *obj, uint16_t event_num)
{
	struct channel *ch = container_of(pub, struct channel, pub);
	int err = check_event(ch, obj, event_num), own;

	if (err)
		return -err;
	/* The program may close its own descriptor at any time. */
	own = dup(fd);
	if (own < 0)
		return -explain(EBADF,
				"mlx5dv_devx_subscribe_devx_event_fd: descriptor %d is not open",
				fd);
	if (!is_eventfd(own)) {
		close(own);
		return -explain(EINVAL,
				"mlx5dv_devx_subscribe_devx_event_fd: descriptor %d is no eventfd",
				fd);
	}
	return -subscribe(ch, obj, event_num, 0, own);
}

ssize_t mlx5dv_devx_get_event(struct mlx5dv_devx_event_channel *pub,
			      struct mlx5dv_devx_async_event_hdr *event, size_t len)
{
	struct channel *ch = container_of(pub, struct channel, pub);
	size_t need = ch->omit ? sizeof(uint64_t) : sizeof(struct message);
	bool lost;
	long n;

	pthread_mutex_lock(&ch->devx->event_lock);
	lost = ch->overflow;
	ch->overflow = false;
	pthread_mutex_unlock(&ch->devx->event_lock);
	if (lost) {
		errno = -explain(EOVERFLOW, "mlx5dv_devx_get_event: events were lost; read faster");
		return -1;
	}
	n = devx_queue_take(&ch->queue, event, len, EINVAL);
	if (n >= 0)
		return n;
	errno = (int)-n;
	if (n == -EINVAL)
		explain(EINVAL, "mlx5dv_devx_get_event: room for %zu bytes; expected %zu", len,
			need);
	return -1;
}
