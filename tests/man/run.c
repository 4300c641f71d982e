/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Examples of manual pages do what their pages say. extract.py puts them into man_examples.h; the list of pages is in
 * CMakeLists.txt.
 */
#include "man_examples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE 8192

static int failures;

#define CHECK(what) check((what), #what)

static void check(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	failures++;
}

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *page;

static void open_all(void)
{
	context = open_by_name("mlx5_0");
	page = aligned_alloc(4096, SIZE);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, page, SIZE,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_MW_BIND);
	CHECK(context && page && pd && cq && mr);
}

static void try_memory(void)
{
	struct ibv_mr *on_demand =
		ibv_reg_mr(pd, page, SIZE, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_dm *dm;
	void *ring;

	CHECK(register_file(pd, SIZE) != NULL);
	CHECK(counter(pd, &dm) != NULL);
	CHECK(small_area(context) != NULL);
	CHECK(register_at_zero(pd, page, SIZE) != NULL);
	CHECK(on_demand && !prepare(pd, on_demand, page, SIZE / 2));
	CHECK(ring_memory(context, 4096, &ring) != NULL);
	CHECK(join(dup(context->cmd_fd), pd->handle, mr->handle) != NULL);
	CHECK(domain_of_thread(context, pd) != NULL);
	CHECK(import_key(pd, "0123456789abcdef0123456789ABCDEF") != NULL);
}

static void try_queues(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1 }
	};
	uint32_t number, answer[0x404];
	struct ibv_wq *queues[4];

	CHECK(timed_queue(context, 10) != NULL);
	CHECK(target(pd, cq, shared_queue(pd), 7) != NULL);
	CHECK(count_writes(ibv_create_qp(pd, &init)) != NULL);
	for (int i = 0; i < 4; i++)
		queues[i] = ready_queue(pd, cq);
	CHECK(spread(context, queues) != NULL);
	CHECK(slow_lane(context) != NULL);
	CHECK(!domain_number(pd, &number));
	CHECK(!query_capabilities(context, answer, sizeof(answer)));
}

static void try_rules(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1 }
	};
	struct mlx5dv_dr_domain *domain =
		mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };

	CHECK(receive_mac(ibv_create_qp(pd, &init), mac) != NULL);
	CHECK(packet_counters(context) != NULL);
	CHECK(catch_all(mlx5dv_dr_table_create(domain, 1), mlx5dv_dr_action_create_drop()) != NULL);
	CHECK(has_ipsec(context, NULL) == 0);
}

/* A queue pair that is connected with itself: a receive, a write with news of it, a key, a window. */
static void try_requests(void)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 8, 8, 2, 2, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_IMM,
	};
	struct mlx5dv_qp_init_attr dv = { .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
					  .send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST };
	struct mlx5dv_mkey_init_attr mkey = { .pd = pd,
					      .create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
					      .max_entries = 4 };
	struct ibv_qp *qp = mlx5dv_create_qp(context, &init, &dv);
	struct ibv_ah_attr path = { .port_num = 1, .is_global = 1, .grh = { .hop_limit = 64 } };
	struct ibv_sge pieces[2] = { { (uintptr_t)page, 100, mr->lkey },
				     { (uintptr_t)page + 4096, 100, mr->lkey } };
	struct ibv_recv_wr receive = { .wr_id = 9 }, *bad;

	CHECK(!ibv_query_gid(context, 1, 0, &path.grh.dgid));
	CHECK(qp && !connect_to(qp, qp->qp_num, &path));
	CHECK(!ibv_post_recv(qp, &receive, &bad));
	CHECK(!write_and_tell(ibv_qp_to_qp_ex(qp), pieces, mr->rkey, (uintptr_t)page + 200, 5));
	CHECK(!join_buffers(ibv_qp_to_qp_ex(qp), mlx5dv_create_mkey(&mkey), pieces));
	CHECK(!open_window(qp, ibv_alloc_mw(pd, IBV_MW_TYPE_1), mr, (uintptr_t)page, 100));
	for (int i = 0; i < 4; i++)
		CHECK(!wait_one(cq));
}

int main(void)
{
	open_all();
	if (failures)
		return 1;
	try_memory();
	try_queues();
	try_rules();
	try_requests();
	printf("%d failures\n", failures);
	return failures != 0;
}
