/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbell pages that a program maps once more, from the context's descriptor, and rings there. */
#include "devx_rig.h"

#include <endian.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static struct rig rig;

static int open_rig(void **state)
{
	rig_open(&rig);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(&rig);
	return 0;
}

static uint8_t *map_page(off_t offset)
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, rig.ctx->cmd_fd, offset);

	assert_ptr_not_equal(page, MAP_FAILED);
	return page;
}

/* The rig rings where the rig's page is said to be. */
static void use_page(struct mlx5dv_devx_uar *uar, uint8_t *page)
{
	uar->reg_addr = page + ((uint8_t *)uar->reg_addr - (uint8_t *)uar->base_addr);
	uar->base_addr = page;
}

/* Where the kernel has no udmabuf, the call says that it cannot. */
static void sends_are_rung_for_on_the_dmabuf_of_a_page(void **state)
{
	struct mlx5dv_devx_uar was = *rig.uar;
	struct rig_cq cq;
	struct rig_qp qp;
	uint8_t *page;
	int fd;

	errno = 0;
	fd = mlx5dv_devx_uar_export_dmabuf_fd(rig.uar);
	if (fd < 0) {
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_not_equal(access("/dev/udmabuf", R_OK | W_OK), 0);
		return;
	}
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	use_page(rig.uar, page);
	rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
	assert_int_equal(mlx5dv_get_cqe_opcode((void *)rig_cq_wait(&cq)), MLX5_CQE_REQ);
	rig_cq_take(&cq);
	use_page(rig.uar, was.base_addr);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	munmap(page, 4096);
	close(fd);
}

static void sends_are_rung_for_on_a_page_that_was_mapped_again(void **state)
{
	struct mlx5dv_devx_uar was = *rig.uar;
	uint8_t *page = map_page(rig.uar->mmap_off);
	struct rig_cq cq;
	struct rig_qp qp;

	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	for (uint32_t i = 0; i < 30; i++) {
		/* Both pages are one register to the adapter. */
		if (i == 10)
			use_page(rig.uar, page);
		if (i == 20)
			use_page(rig.uar, was.base_addr);
		if (i % 8 == 7)
			usleep(30000); /* the adapter rests meanwhile */
		rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		assert_int_equal(mlx5dv_get_cqe_opcode((void *)rig_cq_wait(&cq)), MLX5_CQE_REQ);
		rig_cq_take(&cq);
	}
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	munmap(page, 4096);
}

static void events_are_asked_for_on_a_page_that_was_mapped_again(void **state)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(rig.ctx, 0);
	struct mlx5dv_devx_uar was = *rig.uar;
	uint8_t *page = map_page(rig.uar->mmap_off), buf[8 + 64];
	uint16_t comp = IFC_EVENT_COMP;
	struct rig_cq cq;
	struct rig_qp qp;

	assert_non_null(ch);
	rig_cq(&rig, 4, rig.eqn, &cq);
	rig_qp(&rig, 4, 4, 0, &cq, &qp);
	rig_connect(&qp, &qp);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, cq.obj, 2, &comp, 1), 0);
	use_page(rig.uar, page);
	for (uint32_t i = 0; i < 10; i++) {
		rig_cq_arm(&cq);
		rig_send(&qp, MLX5_OPCODE_RDMA_WRITE, 0, 64, 4096);
		rig_wait_readable(ch->fd);
		assert_int_equal(mlx5dv_devx_get_event(ch, (void *)buf, sizeof(buf)), sizeof(buf));
		rig_cq_wait(&cq);
		rig_cq_take(&cq);
	}
	use_page(rig.uar, was.base_addr);
	rig_qp_drop(&qp);
	rig_cq_drop(&cq);
	mlx5dv_devx_destroy_event_channel(ch);
	munmap(page, 4096);
}

static void each_page_has_a_place_of_its_own(void **state)
{
	struct mlx5dv_devx_uar *other = mlx5dv_devx_alloc_uar(rig.ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	struct mlx5dv_var *var = mlx5dv_alloc_var(rig.ctx, 0);
	uint8_t *a, *b;

	assert_true(other && var);
	assert_int_not_equal(other->mmap_off, rig.uar->mmap_off);
	assert_int_not_equal(other->mmap_off, var->mmap_off);
	a = map_page(other->mmap_off);
	b = map_page(var->mmap_off);
	*(volatile uint32_t *)b = 5;
	assert_int_equal(*(volatile uint32_t *)a, 0);
	munmap(a, 4096);
	munmap(b, 4096);
	mlx5dv_free_var(var);
	mlx5dv_devx_free_uar(other);
}

/* ---- a queue pair of verbs ---- */

static struct pair p;

static void a_queue_pair_of_verbs_tells_where_its_page_is(void **state)
{
	struct mlx5dv_qp out = { .comp_mask = MLX5DV_QP_MASK_UAR_MMAP_OFFSET };
	struct mlx5dv_cq cq = { 0 };
	struct mlx5dv_obj obj;
	struct mlx5_cqe64 *cqe;
	uint8_t *page, *at;
	time_t end;

	pair_make(&p, &(struct pair_wish){ .type = IBV_QPT_RC });
	obj = (struct mlx5dv_obj){ .qp = { .in = p.qp[0], .out = &out },
				   .cq = { .in = p.cq[0], .out = &cq } };
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
	assert_int_equal(out.comp_mask, MLX5DV_QP_MASK_UAR_MMAP_OFFSET);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.ctx->cmd_fd,
		    out.uar_mmap_offset);
	assert_ptr_not_equal(page, MAP_FAILED);
	for (uint32_t i = 0; i < 20; i++) {
		struct mlx5_wqe_raddr_seg *raddr;

		at = (uint8_t *)out.sq.buf + (size_t)(i % out.sq.wqe_cnt) * 64;
		raddr = (void *)(at + 16);
		raddr->raddr = htobe64((uintptr_t)p.buf + PAIR_BUF / 2);
		raddr->rkey = htobe32(p.mr->rkey);
		raddr->reserved = 0;
		mlx5dv_set_data_seg((void *)(at + 32), 8, p.mr->lkey, (uintptr_t)p.buf);
		mlx5dv_set_ctrl_seg((void *)at, (uint16_t)i, MLX5_OPCODE_RDMA_WRITE, 0,
				    p.qp[0]->qp_num, MLX5_WQE_CTRL_CQ_UPDATE, 3, 0, 0);
		__atomic_store_n(&out.dbrec[MLX5_SND_DBR], htobe32(i + 1), __ATOMIC_RELEASE);
		__atomic_store_n((uint64_t *)(page + 0x800), *(uint64_t *)at, __ATOMIC_RELEASE);
		cqe = (void *)((uint8_t *)cq.buf + (size_t)(i % cq.cqe_cnt) * cq.cqe_size);
		end = time(NULL) + 60;
		while (((uint8_t)be64toh(__atomic_load_n((uint64_t *)cqe + 7, __ATOMIC_ACQUIRE)) &
			0xf1) != (MLX5_CQE_REQ << 4 | (i / cq.cqe_cnt & 1)))
			assert_true(time(NULL) < end);
		__atomic_store_n(&cq.dbrec[0], htobe32(i + 1), __ATOMIC_RELEASE);
	}
	munmap(page, 4096);
	pair_drop(&p);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
		T(sends_are_rung_for_on_the_dmabuf_of_a_page),
		T(sends_are_rung_for_on_a_page_that_was_mapped_again),
		T(events_are_asked_for_on_a_page_that_was_mapped_again),
		T(each_page_has_a_place_of_its_own),
		cmocka_unit_test(a_queue_pair_of_verbs_tells_where_its_page_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
