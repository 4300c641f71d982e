/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous queries. The command runs at once; its output is queued for
 * mlx5dv_devx_get_async_cmd_comp().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx_share.h"
#include "mlx5/devx_queue.h"
#include "mlx5/devx_types.h"
#include "mlx5/dv.h"
#include "util/explain.h"

#define ANSWER_MAX  65535u
#define WAITING_MAX (1u << 20) /* bytes of output that the program has not read */

struct comp {
	struct mlx5dv_devx_cmd_comp pub;
	struct devx_queue queue;
};

struct mlx5dv_devx_cmd_comp *mlx5dv_devx_create_cmd_comp(struct ibv_context *context)
{
	struct comp *comp;
	int err;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	comp = calloc(1, sizeof(*comp));
	if (!comp) {
		errno = ENOMEM;
		return NULL;
	}
	err = devx_queue_init(&comp->queue);
	if (err) {
		free(comp);
		errno = -err;
		return NULL;
	}
	comp->pub.fd = comp->queue.fd;
	return &comp->pub;
}

void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *pub)
{
	struct comp *comp = container_of(pub, struct comp, pub);

	devx_queue_fini(&comp->queue);
	free(comp);
}

/* A refusal is an output, too. */
static int answer(struct comp *comp, struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
		  size_t outlen, uint8_t *message)
{
	size_t head = sizeof(uint64_t);
	int err = devx_share_exec(obj, DEVX_QUERY, in, inlen, message + head, outlen);

	if (err && err != -EREMOTEIO)
		return err;
	err = devx_queue_add(&comp->queue, 0, message, head + outlen, WAITING_MAX);
	if (err == -EAGAIN)
		return explain(EAGAIN,
			       "mlx5dv_devx_obj_query_async: %u bytes of answers wait already; "
			       "read them first",
			       WAITING_MAX);
	return err;
}

int mlx5dv_devx_obj_query_async(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
				size_t outlen, uint64_t wr_id, struct mlx5dv_devx_cmd_comp *pub)
{
	struct comp *comp = container_of(pub, struct comp, pub);
	uint8_t *message;
	int err;

	if (outlen > ANSWER_MAX)
		return -explain(EINVAL,
				"mlx5dv_devx_obj_query_async: an answer of %zu bytes; %u "
				"at most",
				outlen, ANSWER_MAX);
	message = calloc(1, sizeof(wr_id) + outlen);
	if (!message)
		return ENOMEM;
	memcpy(message, &wr_id, sizeof(wr_id));
	err = answer(comp, obj, in, inlen, outlen, message);
	free(message);
	return -err;
}

int mlx5dv_devx_get_async_cmd_comp(struct mlx5dv_devx_cmd_comp *pub,
				   struct mlx5dv_devx_async_cmd_hdr *to, size_t len)
{
	struct comp *comp = container_of(pub, struct comp, pub);
	long n = devx_queue_take(&comp->queue, to, len, ENOSPC);

	if (n == -ENOSPC)
		return -explain(ENOSPC,
				"mlx5dv_devx_get_async_cmd_comp: room for %zu bytes; the answer "
				"has more",
				len);
	return n < 0 ? (int)-n : 0;
}
