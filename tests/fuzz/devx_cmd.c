/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device commands as a program may send them: any bytes through any call, on any object.
 *
 * Input: commands one after the other. Each is one byte that says which call (low half) and which
 * object (high half), one byte of output length in units of 16, two bytes of input length
 * (big-endian), and the mailbox. Memory, a doorbell page and a protection domain are there from the
 * start, under the numbers that seeds use; objects that are left go after each input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "hca/device/adapter_list.h"
#include "mlx5/context.h"
#include "mlx5/devx.h"
#include "mlx5/devx_exec.h"
#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

enum {
	CALL_GENERAL,
	CALL_CREATE,
	CALL_QUERY,
	CALL_MODIFY,
	CALL_DESTROY,
	CALL_CREATE_EQ,
	CALLS,
	PREFIX = 4,
	OBJECTS = 16,
};

static struct vb_context *vb;
static struct devx *devx;
static uint8_t memory[1 << 16] __attribute__((aligned(4096)));
static struct mlx5dv_devx_obj *objects[OBJECTS];

static const struct hca_adapter *find_adapter(void)
{
	const struct hca_adapter *const *list;
	int count;

	CHECK(!hca_adapters_get(&list, &count));
	for (int i = 0; i < count; i++)
		if (list[i]->model->driver == HCA_DRIVER_MLX5)
			return list[i];
	abort();
}

static void set_up(void)
{
	struct ibv_context *context;
	struct hca_pd *pd;

	vb = calloc(1, sizeof(*vb));
	CHECK(vb);
	vb->adapter = find_adapter();
	CHECK(!hca_async_init(&vb->async, vb->adapter));
	CHECK(!hca_ctx_init(&vb->hca, vb->adapter, &vb->async));
	CHECK(!mlx5_context_init(vb));
	devx = mlx5_ctx(vb)->devx;
	context = &vb->verbs.context;
	context->cmd_fd = memfd_create("fuzz-context", MFD_CLOEXEC);
	CHECK(context->cmd_fd >= 0);
	CHECK(mlx5dv_devx_umem_reg(context, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	CHECK(mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC));
	CHECK(mlx5dv_devx_alloc_msi_vector(context));
	CHECK(!hca_pd_create(&vb->hca, &pd));
}

static void create(enum devx_verb verb, int slot, const uint8_t *in, size_t inlen, uint8_t *out,
		   size_t outlen)
{
	if (!objects[slot])
		objects[slot] = devx_create(devx, verb, in, inlen, out, outlen);
}

/* A refusal has a status, and success has none. */
static void check_answer(int err, const uint8_t *out, size_t outlen)
{
	if (outlen < ifc_len(cmd_out))
		CHECK(err && err != -EREMOTEIO);
	else if (!err)
		CHECK(ifc_get(out, cmd_out, status) == IFC_STATUS_OK);
	else if (err == -EREMOTEIO)
		CHECK(ifc_get(out, cmd_out, status) != IFC_STATUS_OK);
}

static void run(uint8_t how, const uint8_t *in, size_t inlen, size_t outlen)
{
	static const uint8_t verbs[] = { [CALL_GENERAL] = DEVX_GENERAL_CMD,
					 [CALL_QUERY] = DEVX_QUERY,
					 [CALL_MODIFY] = DEVX_MODIFY };
	uint8_t *out = calloc(1, outlen ? outlen : 1);
	int call = (how & 0xf) % CALLS, slot = how >> 4;

	CHECK(out);
	if (call == CALL_CREATE || call == CALL_CREATE_EQ) {
		create(call == CALL_CREATE ? DEVX_CREATE : DEVX_CREATE_EQ, slot, in, inlen, out,
		       outlen);
	} else if (call == CALL_DESTROY) {
		if (objects[slot] && !mlx5dv_devx_obj_destroy(objects[slot]))
			objects[slot] = NULL;
	} else if (call == CALL_GENERAL || objects[slot]) {
		check_answer(devx_exec(devx, verbs[call],
				       call == CALL_GENERAL ? NULL : objects[slot], in, inlen, out,
				       outlen),
			     out, outlen);
	}
	free(out);
}

static void clean_up(void)
{
	int left = OBJECTS, before;

	do {
		before = left;
		left = 0;
		for (int i = 0; i < OBJECTS; i++) {
			if (objects[i] && !mlx5dv_devx_obj_destroy(objects[i]))
				objects[i] = NULL;
			left += !!objects[i];
		}
	} while (left && left < before);
	CHECK(!left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!vb)
		set_up();
	while (size >= PREFIX) {
		size_t inlen = data[2] << 8 | data[3], outlen = data[1] * 16u;
		uint8_t *in;

		if (inlen > size - PREFIX)
			inlen = size - PREFIX;
		/* A copy of its own, so that a byte too far is seen. */
		in = malloc(inlen ? inlen : 1);
		CHECK(in);
		memcpy(in, data + PREFIX, inlen);
		run(data[0], in, inlen, outlen);
		free(in);
		data += PREFIX + inlen;
		size -= PREFIX + inlen;
	}
	clean_up();
	return 0;
}
