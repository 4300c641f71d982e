/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries whose answer is read later. The query itself is quick enough to be made at once; what
 * comes later is the answer, as a message on a pair of sockets (see devx_event.c for why).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mlx5/devx.h"
#include "mlx5/dv.h"

#define ANSWER_MAX 65536u

struct comp {
	struct mlx5dv_devx_cmd_comp pub;
	int out; /* our end */
};

struct mlx5dv_devx_cmd_comp *mlx5dv_devx_create_cmd_comp(struct ibv_context *context)
{
	struct comp *comp;
	int ends[2];

	if (!devx_context(context, __func__))
		return NULL;
	comp = calloc(1, sizeof(*comp));
	if (!comp) {
		errno = ENOMEM;
		return NULL;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		free(comp);
		return NULL;
	}
	comp->pub.fd = ends[0];
	comp->out = ends[1];
	return &comp->pub;
}

void mlx5dv_devx_destroy_cmd_comp(struct mlx5dv_devx_cmd_comp *pub)
{
	struct comp *comp = container_of(pub, struct comp, pub);

	close(pub->fd);
	close(comp->out);
	free(comp);
}

/* A refusal of the device is an answer, too. */
static int answer(struct comp *comp, struct mlx5dv_devx_obj *obj, const void *in, size_t inlen,
		  size_t outlen, uint8_t *message)
{
	size_t head = sizeof(uint64_t);
	int err = devx_exec(obj->devx, DEVX_QUERY, obj, in, inlen, message + head, outlen);

	if (err && err != -EREMOTEIO)
		return err;
	if (send(comp->out, message, head + outlen, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return explain(errno, "mlx5dv_devx_obj_query_async: no room; read answers first");
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
	ssize_t size = recv(pub->fd, NULL, 0, MSG_PEEK | MSG_TRUNC);

	if (size >= 0 && (size_t)size > len)
		return -explain(ENOSPC,
				"mlx5dv_devx_get_async_cmd_comp: room for %zu bytes; the answer "
				"has %zd",
				len, size);
	if (size < 0 || recv(pub->fd, to, len, 0) < 0)
		return errno;
	return 0;
}
