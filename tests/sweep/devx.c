/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that device commands create. */
#include "scenario.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

#define IN(name, len, op)                                                                          \
	uint8_t name[len] = { 0 };                                                                 \
	ifc_set(name, cmd_in, opcode, IFC_OP_##op)

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return OWN(poll(&p, 1, a.strict ? 20000 : 300)) > 0;
}

/* A completion queue, in a umem of its own memory. */
static struct mlx5dv_devx_obj *make_cq(struct mlx5dv_devx_umem *umem, struct mlx5dv_devx_uar *uar,
				       uint32_t eqn, uint32_t *cqn)
{
	const unsigned int log_size = 4, ring = 64u << log_size;
	uint8_t out[ifc_len(create_cq_out)];
	IN(in, ifc_len(create_cq_in), CREATE_CQ);
	uint8_t *cqc = ifc_ptr(in, create_cq_in, cq_context);
	struct mlx5dv_devx_obj *obj;

	ifc_set(cqc, cqc, log_cq_size, log_size);
	ifc_set(cqc, cqc, uar_page, uar->page_id);
	ifc_set(cqc, cqc, c_eqn, eqn);
	ifc_set(cqc, cqc, dbr_umem_valid, 1);
	ifc_set(cqc, cqc, dbr_umem_id, umem->umem_id);
	ifc_set(cqc, cqc, dbr_addr, ring);
	ifc_set(in, create_cq_in, cq_umem_valid, 1);
	ifc_set(in, create_cq_in, cq_umem_id, umem->umem_id);
	obj = mlx5dv_devx_obj_create(a.ctx, in, sizeof(in), out, sizeof(out));
	if (MAKE(obj))
		*cqn = ifc_get(out, create_cq_out, cqn);
	return obj;
}

static void ask_later(struct mlx5dv_devx_obj *obj, uint32_t cqn)
{
	struct mlx5dv_devx_cmd_comp *comp = mlx5dv_devx_create_cmd_comp(a.ctx);
	struct {
		struct mlx5dv_devx_async_cmd_hdr head;
		uint8_t data[ifc_len(query_cq_out)];
	} answer;
	IN(in, ifc_len(query_cq_in), QUERY_CQ);

	if (!MAKE(comp))
		return;
	ifc_set(in, query_cq_in, cqn, cqn);
	if (DO(mlx5dv_devx_obj_query_async(obj, in, sizeof(in), ifc_len(query_cq_out), 7, comp))) {
		if (is_readable(comp->fd))
			DO(mlx5dv_devx_get_async_cmd_comp(comp, &answer.head, sizeof(answer)));
		else
			problem("mlx5dv_devx_obj_query_async", "no answer comes");
	}
	mlx5dv_devx_destroy_cmd_comp(comp);
}

static void subscribe(struct mlx5dv_devx_obj *obj)
{
	struct mlx5dv_devx_event_channel *channel = mlx5dv_devx_create_event_channel(
		a.ctx, MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	struct mlx5dv_devx_async_event_hdr event;
	uint16_t type = IFC_EVENT_COMP;
	int fd = OWN(eventfd(0, EFD_CLOEXEC));

	if (MAKE(channel)) {
		DO(mlx5dv_devx_subscribe_devx_event(channel, obj, sizeof(type), &type, 5));
		DO(mlx5dv_devx_subscribe_devx_event_fd(channel, fd, obj, IFC_EVENT_CQ_ERROR));
		OWN(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
		mlx5dv_devx_get_event(channel, &event, sizeof(event)); /* nothing happened */
		mlx5dv_devx_destroy_event_channel(channel);
	}
	OWN(close(fd));
}

static void share(struct mlx5dv_devx_obj *obj, struct mlx5dv_devx_umem *umem)
{
	struct mlx5dv_export_sizes sizes;
	struct mlx5dv_devx_umem *umem2;
	struct mlx5dv_devx_obj *obj2;
	uint8_t data[256];

	mlx5dv_get_export_sizes(&sizes);
	if (DO(mlx5dv_devx_obj_export(obj, data))) {
		obj2 = mlx5dv_devx_obj_import(a.ctx, data);
		if (MAKE(obj2))
			mlx5dv_devx_obj_unimport(obj2);
	}
	if (DO(mlx5dv_devx_umem_export(umem, data))) {
		umem2 = mlx5dv_devx_umem_import(a.ctx, data);
		if (MAKE(umem2))
			mlx5dv_devx_umem_unimport(umem2);
	}
}

static void use_cq(struct mlx5dv_devx_obj *obj, struct mlx5dv_devx_umem *umem, uint32_t cqn)
{
	uint8_t out[ifc_len(query_cq_out)];
	IN(query, ifc_len(query_cq_in), QUERY_CQ);
	IN(slow, ifc_len(modify_cq_in), MODIFY_CQ);

	ifc_set(query, query_cq_in, cqn, cqn);
	DO(mlx5dv_devx_obj_query(obj, query, sizeof(query), out, sizeof(out)));
	ifc_set(slow, modify_cq_in, cqn, cqn);
	ifc_set(slow, modify_cq_in, field_select, IFC_CQ_SELECT_PERIOD | IFC_CQ_SELECT_MAX_COUNT);
	DO(mlx5dv_devx_obj_modify(obj, slow, sizeof(slow), out, sizeof(out)));
	ask_later(obj, cqn);
	subscribe(obj);
	share(obj, umem);
}

static void event_queue(struct mlx5dv_devx_uar *uar)
{
	struct mlx5dv_devx_msi_vector *vector = mlx5dv_devx_alloc_msi_vector(a.ctx);
	uint8_t out[ifc_len(create_eq_out)];
	IN(in, ifc_len(create_eq_in), CREATE_EQ);
	uint8_t *eqc = ifc_ptr(in, create_eq_in, eq_context_entry);
	struct mlx5dv_devx_eq *eq;

	if (!MAKE(vector))
		return;
	ifc_set(eqc, eqc, log_eq_size, 4);
	ifc_set(eqc, eqc, uar_page, uar->page_id);
	ifc_set(eqc, eqc, intr, vector->vector);
	eq = mlx5dv_devx_create_eq(a.ctx, in, sizeof(in), out, sizeof(out));
	if (MAKE(eq))
		END(mlx5dv_devx_destroy_eq(eq));
	END(mlx5dv_devx_free_msi_vector(vector));
}

void part_commands(void)
{
	struct mlx5dv_devx_uar *uar = mlx5dv_devx_alloc_uar(a.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	struct mlx5dv_devx_umem *umem =
		mlx5dv_devx_umem_reg(a.ctx, a.buf, 8192, IBV_ACCESS_LOCAL_WRITE);
	struct mlx5dv_devx_umem_in more = {
		.addr = a.buf, .size = 4096, .access = IBV_ACCESS_LOCAL_WRITE, .pgsz_bitmap = 4096
	};
	struct mlx5dv_devx_umem *umem2 = mlx5dv_devx_umem_reg_ex(a.ctx, &more);
	struct mlx5dv_devx_obj *cq;
	uint32_t eqn = 0, cqn = 0;
	uint8_t out[16];
	int fd;
	IN(nop, 16, NOP);

	did(uar && umem && umem2, "an object of DEVX");
	DO(mlx5dv_devx_general_cmd(a.ctx, nop, sizeof(nop), out, sizeof(out)));
	DO(mlx5dv_devx_query_eqn(a.ctx, 0, &eqn));
	cq = uar && umem ? make_cq(umem, uar, eqn, &cqn) : NULL;
	if (cq) {
		use_cq(cq, umem, cqn);
		END(mlx5dv_devx_obj_destroy(cq));
	}
	if (uar) {
		event_queue(uar);
		fd = mlx5dv_devx_uar_export_dmabuf_fd(uar); /* not every model can */
		if (fd >= 0)
			OWN(close(fd));
	}
	if (umem2)
		END(mlx5dv_devx_umem_dereg(umem2));
	if (umem)
		END(mlx5dv_devx_umem_dereg(umem));
	if (uar)
		mlx5dv_devx_free_uar(uar);
}

/* ---- verbs objects by commands ---- */

static void queue_pair(void)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL);
	uint8_t out[ifc_len(query_qp_out)];
	IN(init, ifc_len(modify_qp_in), RST2INIT_QP);
	IN(query, ifc_len(query_qp_in), QUERY_QP);

	if (!qp)
		return;
	ifc_set(init, modify_qp_in, qpn, qp->qp_num);
	ifc_set(ifc_ptr(ifc_ptr(init, modify_qp_in, qpc), qpc, primary_address_path), ads,
		vhca_port_num, 1);
	ifc_set(query, query_qp_in, qpn, qp->qp_num);
	DO(mlx5dv_devx_qp_modify(qp, init, sizeof(init), out, sizeof(out)));
	DO(mlx5dv_devx_qp_query(qp, query, sizeof(query), out, sizeof(out)));
	end_qps(qp, NULL);
}

static void completion_queue(void)
{
	struct mlx5dv_cq dv = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = a.cq, .out = &dv } };
	uint8_t out[ifc_len(query_cq_out)];
	IN(query, ifc_len(query_cq_in), QUERY_CQ);
	IN(slow, ifc_len(modify_cq_in), MODIFY_CQ);

	if (!DO(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ)))
		return;
	ifc_set(slow, modify_cq_in, cqn, dv.cqn);
	ifc_set(slow, modify_cq_in, field_select, IFC_CQ_SELECT_PERIOD | IFC_CQ_SELECT_MAX_COUNT);
	ifc_set(query, query_cq_in, cqn, dv.cqn);
	DO(mlx5dv_devx_cq_modify(a.cq, slow, sizeof(slow), out, sizeof(out)));
	DO(mlx5dv_devx_cq_query(a.cq, query, sizeof(query), out, sizeof(out)));
}

static void work_queue(void)
{
	uint8_t out[ifc_len(query_rqt_out) + 4], in[ifc_len(modify_rqt_in) + 4] = { 0 };
	uint8_t *rqt = ifc_ptr(in, modify_rqt_in, rqt_context);
	IN(query, ifc_len(query_rq_in), QUERY_RQ);
	IN(ready, ifc_len(modify_rq_in), MODIFY_RQ);
	IN(list, ifc_len(query_rqt_in), QUERY_RQT);
	struct ibv_wq_init_attr attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 8, .max_sge = 1, .pd = a.pd, .cq = a.cq
	};
	struct ibv_wq *wq = ibv_create_wq(a.ctx, &attr);
	struct ibv_rwq_ind_table_init_attr init = { .ind_tbl = &wq };
	struct ibv_rwq_ind_table *table;

	if (!MAKE(wq))
		return;
	ifc_set(ready, modify_rq_in, rqn, wq->wq_num);
	ifc_set(ifc_ptr(ready, modify_rq_in, ctx), rqc, state, IFC_WQ_RDY);
	DO(mlx5dv_devx_wq_modify(wq, ready, sizeof(ready), out, sizeof(out)));
	ifc_set(query, query_rq_in, rqn, wq->wq_num);
	DO(mlx5dv_devx_wq_query(wq, query, sizeof(query), out, sizeof(out)));
	table = ibv_create_rwq_ind_table(a.ctx, &init);
	if (MAKE(table)) {
		ifc_set(in, cmd_in, opcode, IFC_OP_MODIFY_RQT);
		ifc_set(in, modify_rqt_in, rqtn, table->ind_tbl_num);
		ifc_set(in, modify_rqt_in, modify_bitmask, IFC_MODIFY_RQT_LIST);
		ifc_set(rqt, rqtc, rqt_actual_size, 1);
		ifc_set_at(rqt, rqtc, rq_num, 0, wq->wq_num);
		ifc_set(list, query_rqt_in, rqtn, table->ind_tbl_num);
		DO(mlx5dv_devx_ind_tbl_modify(table, in, sizeof(in), out, sizeof(out)));
		DO(mlx5dv_devx_ind_tbl_query(table, list, sizeof(list), out, sizeof(out)));
		END(ibv_destroy_rwq_ind_table(table));
	}
	END(ibv_destroy_wq(wq));
}

static void receive_queue(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);
	uint8_t in[64] = { 0 }, out[64];

	if (!MAKE(srq))
		return;
	/* A command of no meaning is refused, after the queue was looked up. */
	mlx5dv_devx_srq_query(srq, in, sizeof(in), out, sizeof(out));
	mlx5dv_devx_srq_modify(srq, in, sizeof(in), out, sizeof(out));
	END(ibv_destroy_srq(srq));
}

static void doorbell_area(void)
{
	struct mlx5dv_var *var = mlx5dv_alloc_var(a.ctx, 0), *same;
	uint8_t data[256];

	if (!MAKE(var))
		return;
	if (DO(mlx5dv_var_export(var, data))) {
		same = mlx5dv_var_import(a.ctx, data);
		if (MAKE(same))
			mlx5dv_var_unimport(same);
	}
	mlx5dv_free_var(var);
}

void part_commands_on_verbs(void)
{
	queue_pair();
	completion_queue();
	work_queue();
	receive_queue();
	doorbell_area();
}
