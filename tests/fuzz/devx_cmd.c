/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device commands as a program may send them: any bytes through any call, on any object.
 *
 * Input: commands one after the other. Each is one byte that says which call (low half) and which
 * object (high half), one byte of output length in units of 16, two bytes of input length
 * (big-endian), and the mailbox. Memory, a doorbell page and a protection domain are there from the
 * start; objects that are left go after each input. Numbers depend on the host: number 1 stands for the
 * domain and for a queue that there is, and any below 256 for the object that a command is sent for.
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
static struct hca_pd *domain;
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
	struct mlx5dv_devx_umem *umem;
	struct ibv_context *context;

	vb = calloc(1, sizeof(*vb));
	CHECK(vb);
	vb->adapter = find_adapter();
	CHECK(!hca_async_init(&vb->async, vb->adapter));
	CHECK(!hca_ctx_init(&vb->hca, vb->adapter, &vb->async));
	CHECK(!mlx5_context_init(vb));
	devx = mlx5_ctx(vb)->devx;
	devx->last[DEVX_UMEM] = 0; /* contexts begin at different numbers */
	context = &vb->verbs.context;
	context->cmd_fd = memfd_create("fuzz-context", MFD_CLOEXEC);
	CHECK(context->cmd_fd >= 0);
	umem = mlx5dv_devx_umem_reg(context, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	CHECK(umem && umem->umem_id == 1);
	CHECK(mlx5dv_devx_alloc_uar(context, MLX5DV_UAR_ALLOC_TYPE_NC));
	CHECK(mlx5dv_devx_alloc_msi_vector(context));
	CHECK(!hca_pd_create(&vb->hca, &domain));
}

#define NAME(op, at, kind)                                                                         \
	{                                                                                          \
		IFC_OP_##op, at, kind                                                              \
	}
#define PD(op, at)  NAME(op, at, DEVX_PD)
#define CQ(op, at)  NAME(op, at, DEVX_CQ)
#define SRQ(op, at) NAME(op, at, DEVX_SRQ)

/* Where commands name the domain, a completion queue, or a shared receive queue. */
static const struct {
	uint16_t op, at;
	enum devx_kind kind;
} names[] = {
	PD(CREATE_MKEY, ifc_byte(create_mkey_in, memory_key_mkey_entry) + ifc_byte(mkc, pd)),
	PD(CREATE_QP, ifc_byte(create_qp_in, qpc) + ifc_byte(qpc, pd)),
	CQ(CREATE_QP, ifc_byte(create_qp_in, qpc) + ifc_byte(qpc, cqn_snd)),
	CQ(CREATE_QP, ifc_byte(create_qp_in, qpc) + ifc_byte(qpc, cqn_rcv)),
	SRQ(CREATE_QP, ifc_byte(create_qp_in, qpc) + ifc_byte(qpc, srqn_rmpn_xrqn)),
	PD(CREATE_DCT, ifc_byte(create_dct_in, dct_context_entry) + ifc_byte(dctc, pd)),
	CQ(CREATE_DCT, ifc_byte(create_dct_in, dct_context_entry) + ifc_byte(dctc, cqn)),
	SRQ(CREATE_DCT, ifc_byte(create_dct_in, dct_context_entry) + ifc_byte(dctc, srqn_xrqn)),
	PD(CREATE_XRC_SRQ,
	   ifc_byte(create_xrc_srq_in, xrc_srq_context_entry) + ifc_byte(xrc_srqc, pd)),
	CQ(CREATE_XRC_SRQ,
	   ifc_byte(create_xrc_srq_in, xrc_srq_context_entry) + ifc_byte(xrc_srqc, cqn)),
	PD(CREATE_SRQ, ifc_byte(create_srq_in, srq_context_entry) + ifc_byte(srqc, pd)),
	PD(CREATE_RMP, ifc_byte(create_rmp_in, ctx) + ifc_byte(rmpc, wq) + ifc_byte(wq, pd)),
	PD(CREATE_XRQ,
	   ifc_byte(create_xrq_in, xrq_context) + ifc_byte(xrqc, wq) + ifc_byte(wq, pd)),
	CQ(CREATE_XRQ, ifc_byte(create_xrq_in, xrq_context) + ifc_byte(xrqc, cqn)),
	CQ(CREATE_SQ, ifc_byte(create_sq_in, ctx) + ifc_byte(sqc, cqn)),
	CQ(CREATE_RQ, ifc_byte(create_rq_in, ctx) + ifc_byte(rqc, cqn)),
	PD(CREATE_TIS, ifc_byte(create_tis_in, ctx) + ifc_byte(tisc, pd)),
	PD(CREATE_PSV, ifc_byte(create_psv_in, pd)),
	PD(CREATE_GENERAL_OBJECT,
	   ifc_len(general_obj_in_cmd_hdr) + ifc_byte(encryption_key_obj, pd)),
};

static bool is_of(const struct mlx5dv_devx_obj *obj, enum devx_kind kind)
{
	if (kind == DEVX_SRQ && (obj->kind == DEVX_RMP || obj->kind == DEVX_XRQ))
		return true;
	return obj->kind == kind;
}

static uint32_t number_of(enum devx_kind kind)
{
	if (kind == DEVX_PD)
		return domain->pdn;
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i] && is_of(objects[i], kind))
			return objects[i]->number;
	return 0;
}

static void put24(uint8_t *at, uint32_t value)
{
	at[0] = value >> 16;
	at[1] = value >> 8;
	at[2] = value;
}

static void put_numbers(uint8_t *in, size_t inlen, const struct mlx5dv_devx_obj *obj)
{
	static const uint8_t one[3] = { 0, 0, 1 };
	uint8_t *own = in + ifc_byte(obj_in, number);

	if (inlen < ifc_len(cmd_in))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].op == (in[0] << 8 | in[1]) && inlen >= names[i].at + sizeof(one) &&
		    !memcmp(in + names[i].at, one, sizeof(one)))
			put24(in + names[i].at, number_of(names[i].kind));
	if (obj && !own[0] && !own[1])
		put24(own, obj->number);
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

static void run(uint8_t how, uint8_t *in, size_t inlen, size_t outlen)
{
	static const uint8_t verbs[] = { [CALL_GENERAL] = DEVX_GENERAL_CMD,
					 [CALL_QUERY] = DEVX_QUERY,
					 [CALL_MODIFY] = DEVX_MODIFY };
	uint8_t *out = calloc(1, outlen ? outlen : 1);
	int call = (how & 0xf) % CALLS, slot = how >> 4;

	CHECK(out);
	put_numbers(in, inlen, call == CALL_QUERY || call == CALL_MODIFY ? objects[slot] : NULL);
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
