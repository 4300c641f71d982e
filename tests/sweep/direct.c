/* SPDX-License-Identifier: BSD-2-Clause */
/* Direct verbs of mlx5: objects, questions, requests that configure keys, encryption. */
#include "scenario.h"

#include <string.h>
#include <infiniband/mlx5dv.h>

static void ask(void)
{
	struct mlx5dv_vfio_context_attr vfio = { .pci_name = "0000:00:00.0" };
	struct mlx5dv_context attrs = { 0 };
	struct mlx5dv_clock_info clock;
	struct mlx5dv_ctx_allocators none = { 0 };
	struct mlx5dv_port port = { 0 };
	struct ibv_device **list;
	char path[64];

	DO(mlx5dv_query_device(a.ctx, &attrs));
	DO(mlx5dv_query_port(a.ctx, 1, &port));
	did(mlx5dv_is_supported(a.ctx->device), "mlx5dv_is_supported");
	if (DO(mlx5dv_get_clock_info(a.ctx, &clock)))
		mlx5dv_ts_to_ns(&clock, 1000);
	DO(mlx5dv_set_context_attr(a.ctx, MLX5DV_CTX_ATTR_BUF_ALLOCATORS, &none));
	mlx5dv_get_data_direct_sysfs_path(a.ctx, path, sizeof(path)); /* there is none */
	/* No adapter here is driven through VFIO: these refuse. */
	list = mlx5dv_get_vfio_device_list(&vfio);
	if (list)
		ibv_free_device_list(list);
	mlx5dv_vfio_get_events_fd(a.ctx);
	mlx5dv_vfio_process_events(a.ctx);
}

static void contexts(void)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *ctx = mlx5dv_open_device(a.ctx->device, &attr);

	if (MAKE(ctx))
		END(ibv_close_device(ctx));
}

static void numbers(void)
{
	const uint32_t rate = htobe32(100);
	struct mlx5dv_pp *pp = mlx5dv_pp_alloc(a.ctx, sizeof(rate), &rate, 0);
	uint32_t qpn;

	if (DO(mlx5dv_reserved_qpn_alloc(a.ctx, &qpn)))
		END(mlx5dv_reserved_qpn_dealloc(a.ctx, qpn));
	if (MAKE(pp))
		mlx5dv_pp_free(pp);
}

static void queues(void)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16 };
	struct mlx5dv_cq_init_attr dv_cq = { 0 };
	struct ibv_cq_ex *cq = mlx5dv_create_cq(a.ctx, &cq_attr, &dv_cq);
	struct ibv_wq_init_attr wq_attr = {
		.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = a.pd, .cq = a.cq
	};
	struct mlx5dv_wq_init_attr dv_wq = { 0 };
	struct ibv_wq *wq = mlx5dv_create_wq(a.ctx, &wq_attr, &dv_wq);

	if (MAKE(cq))
		END(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	if (MAKE(wq))
		END(ibv_destroy_wq(wq));
}

static void memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct mlx5dv_alloc_dm_attr dv = { .type = MLX5DV_DM_TYPE_MEMIC };
	struct ibv_dm *dm = mlx5dv_alloc_dm(a.ctx, &attr, &dv);
	struct ibv_mr *mr = mlx5dv_reg_dmabuf_mr(a.pd, 0, 4096, 0, -1, 0, 0);

	if (mr)
		problem("mlx5dv_reg_dmabuf_mr", "takes no descriptor");
	if (!MAKE(dm))
		return;
	mlx5dv_dm_map_op_addr(dm, 0); /* only of models with operations */
	END(ibv_free_dm(dm));
}

static void schedule(struct ibv_qp *qp)
{
	struct mlx5dv_sched_attr attr = { 0 };
	struct mlx5dv_sched_node *node = mlx5dv_sched_node_create(a.ctx, &attr);
	struct mlx5dv_sched_leaf *leaf;

	if (!MAKE(node))
		return;
	attr.parent = node;
	leaf = mlx5dv_sched_leaf_create(a.ctx, &attr);
	if (MAKE(leaf)) {
		DO(mlx5dv_sched_leaf_modify(leaf, &attr));
		if (qp && DO(mlx5dv_modify_qp_sched_elem(qp, leaf, NULL)))
			END(mlx5dv_modify_qp_sched_elem(qp, NULL, NULL));
		END(mlx5dv_sched_leaf_destroy(leaf));
	}
	attr.parent = NULL;
	mlx5dv_sched_node_modify(node, &attr);
	END(mlx5dv_sched_node_destroy(node));
}

static void queue_pairs(void)
{
	struct ibv_ah_attr here = address_of(&a.gid, a.lid);
	struct ibv_ah *ah = ibv_create_ah(a.pd, &here);
	struct ibv_qp *one = make_qp(IBV_QPT_RC, NULL), *two = make_qp(IBV_QPT_RC, NULL);
	uint8_t port, active;

	if (connect_both(one, two)) {
		DO(mlx5dv_modify_qp_udp_sport(one, 0xc123));
		schedule(one);
		mlx5dv_query_qp_lag_port(one, &port, &active); /* only where ports are bonded */
		mlx5dv_modify_qp_lag_port(one, 1);
		mlx5dv_dci_stream_id_reset(one, 1);
		if (MAKE(ah))
			DO(mlx5dv_map_ah_to_qp(ah, two->qp_num));
	}
	end_qps(one, two);
	if (ah)
		END(ibv_destroy_ah(ah));
}

void part_direct(void)
{
	ask();
	contexts();
	numbers();
	queues();
	memory();
	queue_pairs();
}

/* ---- entries of rings, by hand ---- */

void part_rings(void)
{
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_data_seg data;
	struct mlx5_wqe_datagram_seg dgram;
	uint8_t eth[64] __attribute__((aligned(16)));
	struct mlx5_cqe64 cqe = { .op_own = 0xf1 };
	uint8_t mac[6] = { 2 }, gid[16] = { 0 };
	struct mlx5dv_qp dv_qp = { 0 };
	struct mlx5dv_cq dv_cq = { 0 };
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, NULL);
	struct mlx5dv_obj obj = { .cq = { .in = a.cq, .out = &dv_cq },
				  .qp = { .in = qp, .out = &dv_qp } };

	DO(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ | (qp ? MLX5DV_OBJ_QP : 0)));
	mlx5dv_set_ctrl_seg(&ctrl, 0, MLX5_OPCODE_NOP, 0, 1, 0, 1, 0, 0);
	mlx5dv_set_data_seg(&data, 64, 1, (uintptr_t)a.buf);
	mlx5dv_set_dgram_seg(&dgram, 1, 1, 0, 0, 0, 0, mac, 0, 64, 0, gid);
	mlx5dv_set_eth_seg((void *)eth, 0, 0, 16, a.buf);
	mlx5dv_set_cqe_owner(&cqe, 1);
	did(mlx5dv_get_cqe_owner(&cqe) == 1, "an owner");
	mlx5dv_get_cqe_se(&cqe);
	mlx5dv_get_cqe_format(&cqe);
	mlx5dv_get_cqe_opcode(&cqe);
	end_qps(qp, NULL);
}

/* ---- keys ---- */

static struct ibv_qp *make_dv(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = a.cq,
		.recv_cq = a.cq,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 16,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = 300 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = a.pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct mlx5dv_qp_init_attr extra = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED |
				  MLX5DV_QP_EX_WITH_MKEY_CONFIGURE | MLX5DV_QP_EX_WITH_RAW_WQE |
				  MLX5DV_QP_EX_WITH_MEMCPY,
	};
	struct ibv_qp *qp = mlx5dv_create_qp(a.ctx, &attr, &extra);

	did(qp, "mlx5dv_create_qp");
	return qp;
}

static void configure(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey)
{
	struct ibv_sge sge[2] = { { (uintptr_t)a.buf, 100, a.mr->lkey },
				  { (uintptr_t)a.buf + 1000, 50, a.mr->lkey } };
	struct mlx5dv_mr_interleaved lane = { (uintptr_t)a.buf, 10, 6, a.mr->lkey };
	struct mlx5dv_mkey_conf_attr conf = { 0 };

	mlx5dv_wr_mr_list(dv, mkey, IBV_ACCESS_LOCAL_WRITE, 2, sge);
	mlx5dv_wr_mr_interleaved(dv, mkey, IBV_ACCESS_LOCAL_WRITE, 3, 1, &lane);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_interleaved(dv, 3, 1, &lane);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_access_flags(dv, IBV_ACCESS_LOCAL_WRITE);
	mlx5dv_wr_set_mkey_layout_list(dv, 2, sge);
}

/* A request with a layout that takes the block's signature, which this key cannot: it refuses at its end. */
static void refuse(struct ibv_qp_ex *ex, struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey)
{
	struct mlx5dv_sig_block_attr sig = { 0 };
	struct mlx5dv_crypto_attr crypto = { 0 };
	struct mlx5dv_mkey_conf_attr conf = { 0 };
	struct mlx5_wqe_ctrl_seg nop = { 0 };

	ibv_wr_start(ex);
	mlx5dv_wr_mkey_configure(dv, mkey, 2, &conf);
	mlx5dv_wr_set_mkey_sig_block(dv, &sig);
	mlx5dv_wr_set_mkey_crypto(dv, &crypto);
	ibv_wr_abort(ex);
	mlx5dv_set_ctrl_seg(&nop, 0, MLX5_OPCODE_NOP, 0, 0, 0, 1, 0, 0);
	ibv_wr_start(ex);
	mlx5dv_wr_raw_wqe(dv, &nop);
	ibv_wr_abort(ex);
	mlx5dv_qp_cancel_posted_send_wrs(dv, 1); /* only of queue pairs that drain signatures */
}

void part_mkeys(void)
{
	struct mlx5dv_mkey_init_attr attr = { .pd = a.pd,
					      .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = 8 };
	struct mlx5dv_mkey *mkey = mlx5dv_create_mkey(&attr);
	struct ibv_qp *one = make_dv(), *two = make_dv();
	struct mlx5dv_mkey_err err;

	if (MAKE(mkey) && connect_both(one, two)) {
		struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(one);
		struct mlx5dv_qp_ex *dv = mlx5dv_qp_ex_from_ibv_qp_ex(ex);

		ibv_wr_start(ex);
		ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
		configure(dv, mkey);
		ex->wr_flags = IBV_SEND_SIGNALED;
		mlx5dv_wr_memcpy(dv, a.mr->lkey, (uintptr_t)a.buf + HALF, a.mr->lkey,
				 (uintptr_t)a.buf, 500);
		if (DO(ibv_wr_complete(ex)))
			a.sends += 5;
		reap("keys", false, true);
		refuse(ex, dv, mkey);
		mlx5dv_mkey_check(mkey, &err); /* only of keys with signatures */
	}
	end_qps(one, two);
	if (mkey)
		END(mlx5dv_destroy_mkey(mkey));
}

/* This model encrypts with keys in plaintext: logins refuse. */
void part_crypto(void)
{
	struct mlx5dv_crypto_login_attr login = { 0 };
	struct mlx5dv_crypto_login_attr_ex login_ex = { 0 };
	struct mlx5dv_crypto_login_query_attr query = { 0 };
	struct mlx5dv_dek_init_attr init = { .pd = a.pd,
					     .key_size = MLX5DV_CRYPTO_KEY_SIZE_128,
					     .comp_mask = MLX5DV_DEK_INIT_ATTR_CRYPTO_LOGIN,
					     .key = { 1, 2, 3 } };
	struct mlx5dv_dek_attr attr = { 0 };
	enum mlx5dv_crypto_login_state state;
	struct mlx5dv_crypto_login_obj *obj;
	struct mlx5dv_dek *dek;

	if (!mlx5dv_crypto_login(a.ctx, &login))
		END(mlx5dv_crypto_logout(a.ctx));
	mlx5dv_crypto_login_query_state(a.ctx, &state);
	obj = mlx5dv_crypto_login_create(a.ctx, &login_ex);
	if (obj) {
		mlx5dv_crypto_login_query(obj, &query);
		END(mlx5dv_crypto_login_destroy(obj));
	}
	dek = mlx5dv_dek_create(a.ctx, &init);
	if (dek) {
		DO(mlx5dv_dek_query(dek, &attr));
		END(mlx5dv_dek_destroy(dek));
	}
}
