/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exports, imports, and commands for imported objects. The service thread of the owner executes the commands of
 * other processes. That thread must not wait for a lock whose holder may wait for it: where a lock is taken, the
 * caller gets -EAGAIN and calls again.
 */
#include "mlx5/devx_share.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca.h"
#include "hca/peers/peer_memory.h"
#include "hca/peers/rpc.h"
#include "mlx5/devx_destroy.h"
#include "mlx5/devx_exec.h"
#include "mlx5/devx_export.h"
#include "mlx5/devx_mem.h"
#include "mlx5/dv.h"
#include "mlx5/state.h"
#include "util/explain.h"

#define BUSY_NS                                                                                    \
	20000000000ull /* the owner's lock is taken: it waits for another process, or a processor */
#define MAILBOX_MAX (1u << 20)

/* The exported form of objects and umems. */
struct exported {
	uint64_t uid; /* of the context */
	uint32_t owner;
	uint32_t id;
	uint32_t is_umem;
	uint32_t zero;
};

_Static_assert(sizeof(struct exported) == DEVX_OBJ_EXPORT_BYTES &&
		       sizeof(struct exported) == DEVX_UMEM_EXPORT_BYTES,
	       "what programs are told to allocate");

enum op { OP_FIND, OP_QUERY, OP_MODIFY, OP_DESTROY, OP_UMEM_FIND, OP_UMEM_DEREG };

/* A call to the owner; the mailboxes are memory of the caller, input first. */
struct call {
	uint64_t uid, va;
	uint32_t id, op;
	uint32_t inlen, outlen;
};

/* Where a umem is in the owner. */
struct umem_place {
	uint64_t va; /* 0: in memory that no other process can map */
	uint64_t size;
	uint64_t devx; /* address of its context's struct devx */
	uint32_t number;
};

/* ---- at the owner ---- */

static int is_gone(uint32_t id)
{
	return explain(ENOENT, "export %u does not exist any more", id);
}

/* export_lock and devx.lock are held. Keeps the creator's handle. */
static int destroy_here(struct mlx5dv_devx_obj *obj)
{
	int err;

	obj->shared.keep_handle = true;
	err = devx_obj_destroy(obj);
	if (err)
		obj->shared.keep_handle = false;
	return err;
}

static int umem_here(struct devx_umem *umem, enum op op, struct umem_place *place)
{
	if (op == OP_UMEM_DEREG)
		return devx_umem_drop(umem);
	*place = (struct umem_place){ .va = (uintptr_t)umem->pinned,
				      .size = umem->size,
				      .devx = (uintptr_t)umem->devx,
				      .number = umem->pub.umem_id };
	return 0;
}

/* Locks held as above. */
static int obj_here(struct mlx5dv_devx_obj *obj, const struct call *c, const void *in, void *out)
{
	switch (c->op) {
	case OP_FIND:
		return 0;
	case OP_QUERY:
		return devx_exec_locked(obj->devx, DEVX_QUERY, obj, in, c->inlen, out, c->outlen);
	case OP_MODIFY:
		return devx_exec_locked(obj->devx, DEVX_MODIFY, obj, in, c->inlen, out, c->outlen);
	case OP_DESTROY:
		return destroy_here(obj);
	default:
		return -EINVAL;
	}
}

static int lock(pthread_mutex_t *mutex, bool may_wait)
{
	return may_wait ? -pthread_mutex_lock(mutex) : -pthread_mutex_trylock(mutex);
}

/* Carries out a call in the process that owns the object. -EAGAIN: a lock is taken. */
static int run_here(const struct call *c, bool may_wait, const void *in, void *out,
		    struct umem_place *place)
{
	bool wants_umem = c->op == OP_UMEM_FIND || c->op == OP_UMEM_DEREG;
	struct devx_export *e;
	struct devx *devx;
	int err;

	if (lock(&mlx5_state.export_lock, may_wait))
		return -EAGAIN;
	e = devx_export_find(c->id, c->uid);
	if (!e || !e->umem == wants_umem) {
		err = is_gone(c->id);
		goto unlock;
	}
	devx = e->obj ? e->obj->devx : e->umem->devx;
	err = lock(&devx->lock, may_wait) ? -EAGAIN : 0;
	if (err)
		goto unlock;
	err = wants_umem ? umem_here(e->umem, c->op, place) : obj_here(e->obj, c, in, out);
	pthread_mutex_unlock(&devx->lock);
unlock:
	pthread_mutex_unlock(&mlx5_state.export_lock);
	return err;
}

static int serve(fabric_id_t from, const void *in, void *out)
{
	struct umem_place place = { 0 };
	struct call c;
	char *box = NULL;
	int err;

	memcpy(&c, in, sizeof(c));
	if (c.inlen > MAILBOX_MAX || c.outlen > MAILBOX_MAX)
		return -EINVAL;
	if (c.inlen + c.outlen) {
		err = hca_peer_memory_map(from, c.va, c.inlen + c.outlen, (void **)&box);
		if (err)
			return err;
	}
	err = run_here(&c, false, box, box + c.inlen, &place);
	if (box)
		hca_peer_memory_unmap(box, c.inlen + c.outlen);
	memcpy(out, &place, sizeof(place));
	return err;
}

__attribute__((constructor)) static void begin_serving(void)
{
	hca_rpc_serve(HCA_RPC_DEVX, serve);
}

/* ---- at the importer ---- */

static int call_owner(fabric_id_t owner, const struct call *c, struct umem_place *place)
{
	uint64_t until_ns = hca_now_ns() + BUSY_NS;
	int err;

	while ((err = hca_rpc_call(owner, HCA_RPC_DEVX, c, sizeof(*c), place, sizeof(*place))) ==
		       -EAGAIN &&
	       hca_now_ns() < until_ns)
		sched_yield();
	if (err == -ECONNRESET)
		return explain(EIO, "the process that made the object has ended");
	if (err == -ENOENT)
		return is_gone(c->id);
	return err;
}

/* The mailboxes go through memory that the owner maps. */
static int call_with_mailboxes(fabric_id_t owner, struct call *c, const void *in, void *out)
{
	struct umem_place unused;
	char *box;
	int err;

	if (c->inlen > MAILBOX_MAX || c->outlen > MAILBOX_MAX)
		return explain(EINVAL, "mailboxes of %u and %u bytes; at most %u", c->inlen,
			       c->outlen, MAILBOX_MAX);
	err = hca_peer_memory_alloc(c->inlen + c->outlen, (void **)&box);
	if (err)
		return explain(-err, "no memory for mailboxes that the object's process can map");
	if (in)
		memcpy(box, in, c->inlen);
	c->va = (uintptr_t)box;
	err = call_owner(owner, c, &unused);
	/* A refusal has its status in the output. */
	if (out && (!err || err == -EREMOTEIO))
		memcpy(out, box + c->inlen, c->outlen);
	/* An owner that was stopped carries the call out when it goes on: the memory stays its own. */
	if (err != -ETIMEDOUT)
		hca_peer_memory_free(box);
	return err;
}

static int send_call(const struct devx_shared *s, struct call *c, const void *in, void *out,
		     struct umem_place *place)
{
	if (s->owner == hca_rpc_self())
		return run_here(c, true, in, out, place);
	if (c->inlen + c->outlen)
		return call_with_mailboxes(s->owner, c, in, out);
	return call_owner(s->owner, c, place);
}

static struct call make_call(const struct devx *devx, const struct devx_shared *s, enum op op)
{
	return (struct call){ .uid = devx->ctx->vb->hca.uid, .id = s->id, .op = op };
}

int devx_share_exec(struct mlx5dv_devx_obj *obj, enum devx_verb verb, const void *in, size_t inlen,
		    void *out, size_t outlen)
{
	struct call c =
		make_call(obj->devx, &obj->shared, verb == DEVX_QUERY ? OP_QUERY : OP_MODIFY);

	if (obj->shared.gone)
		return explain(ENOENT, "the object was destroyed through another handle");
	if (!obj->shared.owner)
		return devx_exec(obj->devx, verb, obj, in, inlen, out, outlen);
	if (!in || !out || inlen > UINT32_MAX || outlen > UINT32_MAX)
		return explain(EINVAL, "mailboxes of %zu and %zu bytes", inlen, outlen);
	c.inlen = (uint32_t)inlen;
	c.outlen = (uint32_t)outlen;
	return send_call(&obj->shared, &c, in, out, NULL);
}

static int destroy_own(struct mlx5dv_devx_obj *obj)
{
	struct devx *devx = obj->devx;
	int err;

	pthread_mutex_lock(&mlx5_state.export_lock);
	pthread_mutex_lock(&devx->lock);
	err = devx_obj_destroy(obj);
	pthread_mutex_unlock(&devx->lock);
	pthread_mutex_unlock(&mlx5_state.export_lock);
	return err;
}

int devx_share_destroy(struct mlx5dv_devx_obj *obj)
{
	struct umem_place unused;
	struct call c;
	int err;

	if (obj->shared.gone)
		return explain(ENOENT, "the object was destroyed through another handle; "
				       "mlx5dv_devx_obj_unimport() frees this one");
	if (!obj->shared.owner)
		return destroy_own(obj);
	c = make_call(obj->devx, &obj->shared, OP_DESTROY);
	err = send_call(&obj->shared, &c, NULL, NULL, &unused);
	if (!err)
		free(obj);
	return err;
}

/* ---- the public calls ---- */

/* An imported handle is exported as what it was imported from. */
static int export(const struct devx *devx, const struct devx_shared *s, struct devx_export *e,
		  void *data)
{
	struct exported x = {
		.uid = devx->ctx->vb->hca.uid,
		.owner = s->owner ? s->owner : hca_rpc_self(),
		.id = s->owner ? s->id
		      : e      ? e->id
			       : 0,
	};

	if (!x.id)
		return ENOMEM;
	x.is_umem = e ? !!e->umem : s->is_umem;
	memcpy(data, &x, sizeof(x));
	return 0;
}

int mlx5dv_devx_obj_export(struct mlx5dv_devx_obj *obj, void *data)
{
	struct devx_export *e = NULL;
	int err;

	if (obj->shared.gone)
		return -explain(ENOENT, "mlx5dv_devx_obj_export: the object was destroyed");
	pthread_mutex_lock(&mlx5_state.export_lock);
	if (!obj->shared.owner)
		e = devx_export_obj(obj);
	err = export(obj->devx, &obj->shared, e, data);
	pthread_mutex_unlock(&mlx5_state.export_lock);
	return err;
}

int mlx5dv_devx_umem_export(struct mlx5dv_devx_umem *pub, void *data)
{
	struct devx_umem *umem = container_of(pub, struct devx_umem, pub);
	struct devx_export *e = NULL;
	int err;

	if (umem->shared.gone)
		return -explain(ENOENT, "mlx5dv_devx_umem_export: the umem was deregistered");
	pthread_mutex_lock(&mlx5_state.export_lock);
	if (!umem->shared.owner)
		e = devx_export_umem(umem);
	err = export(umem->devx, &umem->shared, e, data);
	pthread_mutex_unlock(&mlx5_state.export_lock);
	return err;
}

/* The process to call, from the exported form; checks what can be checked here. */
static int read_exported(const struct mlx5_context *ctx, const void *data, bool is_umem,
			 struct devx_shared *out)
{
	struct exported x;

	memcpy(&x, data, sizeof(x));
	if (x.uid != ctx->vb->hca.uid)
		return explain(EINVAL, "import: the export is not of this context, nor of one that "
				       "shares it (ibv_import_device)");
	if (!x.owner || !x.id || x.is_umem != is_umem || x.zero)
		return explain(EINVAL, "import: the bytes are no export of %s",
			       is_umem ? "a umem" : "an object");
	*out = (struct devx_shared){ .owner = x.owner, .id = x.id, .is_umem = is_umem };
	return 0;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_import(struct ibv_context *context, void *data)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5dv_devx_obj *obj;
	struct umem_place unused;
	struct call c;
	int err;

	if (!ctx)
		return NULL;
	obj = calloc(1, sizeof(*obj));
	if (!obj)
		return NULL;
	/* Of no kind: calls that need the object itself refuse the handle. */
	obj->devx = ctx->devx;
	err = read_exported(ctx, data, false, &obj->shared);
	if (!err) {
		c = make_call(ctx->devx, &obj->shared, OP_FIND);
		err = send_call(&obj->shared, &c, NULL, NULL, &unused);
	}
	if (!err)
		return obj;
	free(obj);
	errno = -err;
	return NULL;
}

void mlx5dv_devx_obj_unimport(struct mlx5dv_devx_obj *obj)
{
	/* The creator's object lives on until its context is closed, and so does what it is kept in. */
	if (obj && (obj->shared.owner || obj->shared.gone))
		free(obj);
}

static int import_umem(struct mlx5_context *ctx, const void *data, struct devx_umem *umem)
{
	struct umem_place place = { 0 };
	struct call c;
	int err = read_exported(ctx, data, true, &umem->shared);

	if (err)
		return err;
	c = make_call(ctx->devx, &umem->shared, OP_UMEM_FIND);
	err = send_call(&umem->shared, &c, NULL, NULL, &place);
	if (err)
		return err;
	if (umem->shared.owner == hca_rpc_self() && place.devx == (uintptr_t)ctx->devx) {
		umem->pub.umem_id = place.number;
		umem->shared.is_alias = true;
		return 0;
	}
	if (!place.va)
		return explain(EOPNOTSUPP,
			       "mlx5dv_devx_umem_import: umem 0x%x is not in memory that can be "
			       "mapped again",
			       place.number);
	if (umem->shared.owner == hca_rpc_self())
		return devx_umem_import_own(umem, (void *)(uintptr_t)place.va, place.size,
					    place.number);
	err = devx_umem_import(umem, place.va, place.size, place.number);
	if (err == -EOPNOTSUPP)
		return explain(EOPNOTSUPP, "mlx5dv_devx_umem_import: the process that registered "
					   "the umem does not share its memory");
	return err;
}

struct mlx5dv_devx_umem *mlx5dv_devx_umem_import(struct ibv_context *context, void *data)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct devx_umem *umem;
	int err;

	if (!ctx)
		return NULL;
	umem = calloc(1, sizeof(*umem));
	if (!umem)
		return NULL;
	umem->devx = ctx->devx;
	err = import_umem(ctx, data, umem);
	if (!err)
		return &umem->pub;
	free(umem);
	errno = -err;
	return NULL;
}

/* Gives up an imported umem here. -EBUSY while objects of this process are on it. */
static int release_umem(struct devx_umem *umem)
{
	struct devx *devx = umem->devx;
	int err;

	pthread_mutex_lock(&mlx5_state.export_lock);
	pthread_mutex_lock(&devx->lock);
	err = devx_umem_drop(umem);
	pthread_mutex_unlock(&devx->lock);
	pthread_mutex_unlock(&mlx5_state.export_lock);
	return err;
}

void mlx5dv_devx_umem_unimport(struct mlx5dv_devx_umem *pub)
{
	struct devx_umem *umem = container_of(pub, struct devx_umem, pub);

	if (!pub || (!umem->shared.owner && !umem->shared.gone))
		return;
	if (umem->shared.gone || !release_umem(umem))
		free(umem);
}

int mlx5dv_devx_umem_dereg(struct mlx5dv_devx_umem *pub)
{
	struct devx_umem *umem = container_of(pub, struct devx_umem, pub);
	struct umem_place unused;
	struct call c;
	int err;

	if (umem->shared.gone)
		return -explain(ENOENT,
				"umem 0x%x was deregistered through another handle; "
				"mlx5dv_devx_umem_unimport() frees this one",
				pub->umem_id);
	if (umem->shared.owner && !umem->users) {
		c = make_call(umem->devx, &umem->shared, OP_UMEM_DEREG);
		err = send_call(&umem->shared, &c, NULL, NULL, &unused);
		if (err)
			return -err;
	}
	err = release_umem(umem);
	if (err)
		return -err;
	free(umem);
	return 0;
}
