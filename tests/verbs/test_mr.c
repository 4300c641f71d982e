/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions and windows: what is refused and with which error, what a change keeps, buffers of
 * the library, advice.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
/* Nothing is ever mapped so low. */
#define NOWHERE ((void *)PAGE)

struct fixture {
	struct ibv_context *context;
	struct ibv_pd *pd;
	char *memory; /* two pages */
};

static int open_mlx5(void **state)
{
	static struct fixture f;

	f.context = test_open("mlx5_0");
	f.pd = ibv_alloc_pd(f.context);
	f.memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*state = &f;
	return f.pd ? 0 : -1;
}

/* Every test gives back what it took, so the domain is free. */
static int close_it(void **state)
{
	struct fixture *f = *state;
	int err = ibv_dealloc_pd(f->pd);

	munmap(f->memory, 2 * PAGE);
	test_close(f->context);
	return err;
}

static void assert_refused(struct ibv_mr *mr, int err)
{
	assert_null(mr);
	assert_int_equal(errno, err);
}

static void remote_writing_needs_local_writing(void **state)
{
	struct fixture *f = *state;
	volatile unsigned int access = IBV_ACCESS_REMOTE_ATOMIC;

	assert_refused(ibv_reg_mr(f->pd, f->memory, PAGE, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	assert_refused(ibv_reg_mr(f->pd, f->memory, PAGE, access), EINVAL);
}

static void unknown_rights_are_refused_unless_they_are_hints(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr;

	assert_refused(ibv_reg_mr(f->pd, f->memory, PAGE, 1 << 15), EINVAL);
	mr = ibv_reg_mr(f->pd, f->memory, PAGE, IBV_ACCESS_OPTIONAL_FIRST << 5);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_region_of_zero_bytes_must_not_start_on_a_page_boundary(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr;

	assert_refused(ibv_reg_mr(f->pd, f->memory, 0, 0), EINVAL);
	mr = ibv_reg_mr(f->pd, f->memory + 8, 0, 0);
	assert_non_null(mr);
	assert_int_equal(mr->length, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void registering_unmapped_memory_is_efault(void **state)
{
	struct fixture *f = *state;

	assert_refused(ibv_reg_mr(f->pd, NOWHERE, PAGE, 0), EFAULT);
	assert_refused(ibv_reg_mr(f->pd, (void *)-PAGE, 2 * PAGE, 0), EINVAL);
	assert_refused(ibv_reg_mr(f->pd, NULL, SIZE_MAX, 0), EINVAL);
}

static void an_iova_must_have_the_page_offset_of_the_address(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr;

	assert_refused(ibv_reg_mr_iova(f->pd, f->memory + 8, 64, 0x10000, 0), EINVAL);
	mr = ibv_reg_mr_iova(f->pd, f->memory + 8, 64, 0x10008, 0);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, f->memory + 8);
	assert_int_equal(mr->length, 64);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_key_is_not_used_again_at_once(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr = ibv_reg_mr(f->pd, f->memory, PAGE, 0);
	uint32_t key = mr->lkey;

	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(f->pd, f->memory, PAGE, 0);
	assert_int_not_equal(mr->lkey, key);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void the_implicit_region_is_the_whole_address_space(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr = ibv_reg_mr(f->pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);

	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_refused(ibv_reg_mr(f->pd, f->memory, SIZE_MAX, IBV_ACCESS_ON_DEMAND), EINVAL);
}

static void a_model_without_on_demand_paging_refuses_it(void **state)
{
	struct ibv_context *context = test_open("mlx4_0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct fixture *f = *state;
	struct ibv_sge sge = { 0 };

	assert_refused(ibv_reg_mr(pd, f->memory, PAGE, IBV_ACCESS_ON_DEMAND), EOPNOTSUPP);
	assert_refused(ibv_alloc_null_mr(pd), EOPNOTSUPP);
	assert_int_equal(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1), EOPNOTSUPP);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(context);
}

static void flushes_are_for_models_that_have_them(void **state)
{
	struct fixture *f = *state;

	struct ibv_context *context = test_open("mlx4_0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr;

	assert_refused(ibv_reg_mr(pd, f->memory, PAGE, IBV_ACCESS_FLUSH_GLOBAL), EOPNOTSUPP);
	assert_refused(ibv_reg_mr(pd, f->memory, PAGE, IBV_ACCESS_FLUSH_PERSISTENT), EOPNOTSUPP);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(context);
	mr = ibv_reg_mr(f->pd, f->memory, PAGE, IBV_ACCESS_FLUSH_GLOBAL);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	/* Anonymous memory does not outlive a loss of power. */
	assert_refused(ibv_reg_mr(f->pd, f->memory, PAGE, IBV_ACCESS_FLUSH_PERSISTENT), EINVAL);
}

static void an_invalid_reregistration_is_an_input_error(void **state)
{
	struct fixture *f = *state;
	struct ibv_context *other = test_open("mlx5_0");
	struct ibv_pd *foreign = ibv_alloc_pd(other);
	struct ibv_mr *mr = ibv_reg_mr(f->pd, f->memory, PAGE, 0);
	struct ibv_mr before = *mr;
	const struct {
		int flags;
		struct ibv_pd *pd;
		void *addr;
		size_t length;
		int access;
	} wrong[] = {
		{ 1 << 7, NULL, NULL, 0, 0 },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, PAGE, 0 },
		{ IBV_REREG_MR_CHANGE_TRANSLATION, NULL, f->memory, 0, 0 },
		{ IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0 },
		{ IBV_REREG_MR_CHANGE_PD, foreign, NULL, 0, 0 },
		{ IBV_REREG_MR_CHANGE_PD, f->pd, NULL, 0, IBV_ACCESS_LOCAL_WRITE },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		assert_int_equal(ibv_rereg_mr(mr, wrong[i].flags, wrong[i].pd, wrong[i].addr,
					      wrong[i].length, wrong[i].access),
				 IBV_REREG_MR_ERR_INPUT);
		assert_int_equal(errno, EINVAL);
		assert_memory_equal(mr, &before, sizeof(before));
	}
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(foreign), 0);
	test_close(other);
}

static void a_refused_reregistration_leaves_the_region_unchanged(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr = ibv_reg_mr(f->pd, f->memory, PAGE, 0), before = *mr;

	assert_int_equal(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				      IBV_ACCESS_REMOTE_WRITE),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NOWHERE, PAGE, 0),
			 IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, EFAULT);
	assert_memory_equal(mr, &before, sizeof(before));
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_change_keeps_the_key_and_moves_the_domain(void **state)
{
	struct fixture *f = *state;
	struct ibv_pd *pd = ibv_alloc_pd(f->context);
	struct ibv_mr *mr = ibv_reg_mr(f->pd, f->memory, PAGE, 0);
	uint32_t key = mr->rkey;

	assert_int_equal(ibv_rereg_mr(mr,
				      IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_TRANSLATION |
					      IBV_REREG_MR_CHANGE_ACCESS,
				      pd, f->memory + PAGE, 100, IBV_ACCESS_LOCAL_WRITE),
			 0);
	assert_ptr_equal(mr->pd, pd);
	assert_ptr_equal(mr->addr, f->memory + PAGE);
	assert_int_equal(mr->length, 100);
	assert_int_equal(mr->rkey, key);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_pd(f->pd), 0);
	f->pd = ibv_alloc_pd(f->context);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void a_null_region_has_a_local_key_and_cannot_be_changed(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr = ibv_alloc_null_mr(f->pd);

	assert_non_null(mr);
	assert_int_not_equal(mr->lkey, 0);
	assert_null(mr->addr);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, f->memory, PAGE, 0),
		IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* libmlx5 makes it without the kernel. */
static void a_null_region_does_not_keep_its_domain(void **state)
{
	struct fixture *f = *state;
	struct ibv_pd *pd = ibv_alloc_pd(f->context);
	struct ibv_mr *mr = ibv_alloc_null_mr(pd), *other;

	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	/* the number of the domain may have another owner now */
	other = ibv_reg_mr(f->pd, f->memory, PAGE, 0);
	assert_non_null(other);
	assert_int_not_equal(other->lkey, mr->lkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dereg_mr(other), 0);
}

static void a_registration_by_attributes_wants_one_kind_of_memory(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr_init_attr attr = { .length = PAGE, .addr = f->memory, .fd = -1 };
	static const uint64_t wrong[] = {
		0,
		1ull << 40,
		IBV_REG_MR_MASK_IOVA,
		IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD_OFFSET,
		IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET,
		IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_IOVA,
		IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET,
	};
	struct ibv_mr *mr;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		attr.comp_mask = wrong[i];
		errno = 0;
		assert_refused(ibv_reg_mr_ex(f->pd, &attr), EINVAL);
	}
	attr.comp_mask = IBV_REG_MR_MASK_ADDR;
	mr = ibv_reg_mr_ex(f->pd, &attr);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, f->memory);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void a_descriptor_that_is_no_dmabuf_is_refused(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("no-dmabuf", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_refused(ibv_reg_dmabuf_mr(f->pd, 0, PAGE, 0, fd, 0), EOPNOTSUPP);
	close(fd);
	assert_refused(ibv_reg_dmabuf_mr(f->pd, 0, PAGE, 0, fd, 0), EBADF);
}

static void a_memory_file_that_cannot_shrink_is_a_dmabuf(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct ibv_mr *mr;

	assert_int_equal(ftruncate(fd, 3 * PAGE), 0);
	assert_refused(ibv_reg_dmabuf_mr(f->pd, 0, PAGE, 0, fd, 0), EOPNOTSUPP);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_refused(ibv_reg_dmabuf_mr(f->pd, PAGE, 2 * PAGE + 1, 0, fd, 0), EINVAL);
	assert_refused(ibv_reg_dmabuf_mr(f->pd, PAGE, PAGE, 1, fd, 0), EINVAL);
	assert_int_equal(lseek(fd, 8, SEEK_SET), 8);
	mr = ibv_reg_dmabuf_mr(f->pd, PAGE + 8, 2 * PAGE - 8, 8, fd, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	/* the position is the program's */
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 8);
	close(fd);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

/* ---- DMA handles ---- */

#define PH  IBV_DMAH_INIT_ATTR_MASK_PH
#define CPU IBV_DMAH_INIT_ATTR_MASK_CPU_ID
#define MEM IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE

static void a_dma_handle_is_checked_as_the_kernel_does(void **state)
{
	static const struct {
		struct ibv_dmah_init_attr attr;
		int err;
	} rows[] = {
		{ { .comp_mask = 0 }, EINVAL },
		{ { .comp_mask = PH | 1u << 3 }, EINVAL },
		{ { .comp_mask = PH, .ph = 4 }, EINVAL },
		{ { .comp_mask = CPU | MEM }, EINVAL },
		{ { .comp_mask = PH | CPU }, EINVAL },
		{ { .comp_mask = PH | MEM }, EINVAL },
		{ { .comp_mask = PH | CPU | MEM, .tph_mem_type = 2 }, EINVAL },
		{ { .comp_mask = PH | CPU | MEM, .cpu_id = 0xffff }, EINVAL },
		{ { .comp_mask = PH, .ph = 3 }, 0 },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_dmah_init_attr attr = rows[i].attr;
		struct ibv_dmah *dmah;

		errno = 0;
		dmah = ibv_alloc_dmah(f->context, &attr);
		assert_int_equal(dmah ? 0 : errno, rows[i].err);
		assert_int_equal(!dmah, !!rows[i].err);
		if (dmah)
			assert_int_equal(ibv_dealloc_dmah(dmah), 0);
	}
}

static void a_processor_that_the_thread_may_not_run_on_is_refused(void **state)
{
	struct ibv_dmah_init_attr attr = { .comp_mask = PH | CPU | MEM };
	struct fixture *f = *state;
	struct ibv_dmah *dmah;
	cpu_set_t old, one;
	uint32_t other = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	while (!CPU_ISSET(attr.cpu_id, &old))
		attr.cpu_id++;
	dmah = ibv_alloc_dmah(f->context, &attr);
	assert_non_null(dmah);
	assert_int_equal(ibv_dealloc_dmah(dmah), 0);
	for (other = attr.cpu_id + 1; other < CPU_SETSIZE && !CPU_ISSET(other, &old); other++)
		;
	if (other == CPU_SETSIZE)
		return; /* one processor only */
	CPU_ZERO(&one);
	CPU_SET(attr.cpu_id, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	attr.cpu_id = other;
	errno = 0;
	assert_null(ibv_alloc_dmah(f->context, &attr));
	assert_int_equal(errno, EPERM);
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
}

static void a_region_keeps_its_dma_handle(void **state)
{
	struct ibv_dmah_init_attr hint = { .comp_mask = PH };
	struct fixture *f = *state;
	struct ibv_dmah *dmah = ibv_alloc_dmah(f->context, &hint);
	struct ibv_mr_init_attr attr = {
		.length = PAGE,
		.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH,
		.addr = f->memory,
		.dmah = dmah,
	};
	struct ibv_context *other = test_open("mlx5_0");
	struct ibv_pd *pd = ibv_alloc_pd(other);
	struct ibv_mr *mr;

	assert_non_null(dmah);
	attr.access = IBV_ACCESS_ON_DEMAND;
	assert_refused(ibv_reg_mr_ex(f->pd, &attr), EINVAL);
	attr.access = IBV_ACCESS_REMOTE_WRITE; /* without local write */
	assert_refused(ibv_reg_mr_ex(f->pd, &attr), EINVAL);
	attr.access = IBV_ACCESS_LOCAL_WRITE;
	assert_refused(ibv_reg_mr_ex(pd, &attr), EINVAL);
	mr = ibv_reg_mr_ex(f->pd, &attr);
	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_dmah(dmah), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	dmah->context = other;
	assert_int_equal(ibv_dealloc_dmah(dmah), ENOENT);
	dmah->context = f->context;
	assert_int_equal(ibv_dealloc_dmah(dmah), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(other);
}

static void a_connectx_3_has_no_dma_handles(void **state)
{
	struct ibv_dmah_init_attr hint = { .comp_mask = PH };
	struct ibv_context *context = test_open("mlx4_0");

	errno = 0;
	assert_null(ibv_alloc_dmah(context, &hint));
	assert_int_equal(errno, EOPNOTSUPP);
	test_close(context);
}

static void a_buffer_of_the_library_is_whole_pages_of_zeros(void **state)
{
	struct fixture *f = *state;
	struct ibv_buf *buf;
	char *addr = ibv_alloc_buf(f->pd, 10000, &buf);
	struct ibv_mr *mr;

	assert_non_null(addr);
	assert_int_equal((uintptr_t)addr % PAGE, 0);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(addr[i], 0);
	mr = ibv_reg_buf_mr(f->pd, buf, addr + 100, 200, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, addr + 100);
	assert_int_equal(ibv_dereg_mr(mr), 0);

	assert_refused(ibv_reg_buf_mr(f->pd, buf, addr - 1, 2, 0), EINVAL);
	assert_refused(ibv_reg_buf_mr(f->pd, buf, addr + 9999, 2, 0), EINVAL);
	assert_int_equal(ibv_export_buf_dmabuf_fd(buf), -1);
	assert_int_equal(errno, ENODATA);
	ibv_free_buf(buf);
}

static void a_buffer_of_no_bytes_and_one_of_another_domain_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ibv_pd *pd = ibv_alloc_pd(f->context);
	struct ibv_buf *buf;
	char *addr;

	assert_null(ibv_alloc_buf(f->pd, 0, &buf));
	assert_int_equal(errno, EINVAL);
	addr = ibv_alloc_buf(pd, PAGE, &buf);
	assert_refused(ibv_reg_buf_mr(f->pd, buf, addr, PAGE, 0), EINVAL);
	ibv_free_buf(buf);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static int advise(struct fixture *f, enum ibv_advise_mr_advice advice, uint32_t flags,
		  uint32_t lkey, const char *addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)addr, .length = length, .lkey = lkey };

	return ibv_advise_mr(f->pd, advice, flags, &sge, 1);
}

static void advice_is_for_regions_that_are_paged_on_demand(void **state)
{
	struct fixture *f = *state;
	const enum ibv_advise_mr_advice read = IBV_ADVISE_MR_ADVICE_PREFETCH,
					write = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	struct ibv_mr *pinned = ibv_reg_mr(f->pd, f->memory, PAGE, 0);
	struct ibv_mr *odp = ibv_reg_mr(f->pd, f->memory, 2 * PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *pd = f->pd;

	assert_non_null(odp);
	assert_int_equal(advise(f, read, IBV_ADVISE_MR_FLAG_FLUSH, odp->lkey, f->memory, 2 * PAGE),
			 0);
	assert_int_equal(advise(f, read, 0, pinned->lkey, f->memory, PAGE), ENOENT);
	assert_int_equal(advise(f, read, 0, odp->lkey ^ 1, f->memory, PAGE), ENOENT);
	assert_int_equal(advise(f, write, 0, odp->lkey, f->memory, PAGE), EPERM);
	assert_int_equal(advise(f, read, 0, odp->lkey, f->memory + PAGE, 2 * PAGE), EFAULT);
	assert_int_equal(advise(f, read, 1 << 4, odp->lkey, f->memory, PAGE), EINVAL);
	assert_int_equal(advise(f, 99, 0, odp->lkey, f->memory, PAGE), EOPNOTSUPP);
	assert_int_equal(ibv_advise_mr(f->pd, read, 0, NULL, 0), EINVAL);
	f->pd = ibv_alloc_pd(f->context);
	assert_int_equal(advise(f, read, 0, odp->lkey, f->memory, PAGE), EPERM);
	ibv_dealloc_pd(f->pd);
	f->pd = pd;
	assert_int_equal(ibv_dereg_mr(odp), 0);
	assert_int_equal(ibv_dereg_mr(pinned), 0);
}

static void windows_are_of_two_types(void **state)
{
	struct fixture *f = *state;

	for (int type = 0; type < 4; type++) {
		struct ibv_mw *mw = ibv_alloc_mw(f->pd, type);

		if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) {
			assert_null(mw);
			assert_int_equal(errno, EINVAL);
			continue;
		}
		assert_non_null(mw);
		assert_int_equal(mw->type, type);
		assert_int_equal(ibv_dealloc_pd(f->pd), EBUSY);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_mlx5, close_it)

/* What a stranger would have to guess: in each run and for each region other bits. */
static void keys_are_not_foreseeable(void **state)
{
	struct fixture *f = *state;
	struct ibv_mr *mr[16];
	unsigned int same = 0;

	for (int i = 0; i < 16; i++) {
		mr[i] = ibv_reg_mr(f->pd, f->memory, PAGE, IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(mr[i]);
		same += (mr[i]->rkey & 0xff) == (mr[0]->rkey & 0xff);
	}
	for (int i = 0; i < 16; i++)
		assert_int_equal(ibv_dereg_mr(mr[i]), 0);
	/* Each but the first has one chance of 256. */
	assert_true(same < 8);
}

static int first_key(void *arg)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, arg, PAGE, IBV_ACCESS_LOCAL_WRITE) : NULL;
	uint32_t key = mr ? mr->rkey : 0;

	memcpy((char *)arg + 8, &key, sizeof(key));
	return mr ? 0 : 1;
}

static void processes_begin_with_other_keys(void **state)
{
	char *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int same = 0;
	uint32_t key[16];

	for (int i = 0; i < 16; i++) {
		assert_int_equal(test_in_child(first_key, shared), 0);
		memcpy(&key[i], shared + 8, sizeof(key[i]));
		same += (key[i] >> 8 & 0xff) == (key[0] >> 8 & 0xff);
	}
	/* One of 2^32 would be the same, and one of 2^24 the next. */
	assert_int_not_equal(key[0] >> 8, key[1] >> 8);
	assert_int_not_equal((key[0] >> 8) + 1, key[1] >> 8);
	assert_int_not_equal(key[1] >> 8, key[2] >> 8);
	/* Nor at the same place of their blocks, except by chance: one of 256. */
	assert_true(same < 8);
	munmap(shared, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(remote_writing_needs_local_writing),
		TEST(unknown_rights_are_refused_unless_they_are_hints),
		TEST(registering_unmapped_memory_is_efault),
		TEST(a_region_of_zero_bytes_must_not_start_on_a_page_boundary),
		TEST(an_iova_must_have_the_page_offset_of_the_address),
		TEST(a_key_is_not_used_again_at_once),
		TEST(keys_are_not_foreseeable),
		TEST(processes_begin_with_other_keys),
		TEST(the_implicit_region_is_the_whole_address_space),
		TEST(a_model_without_on_demand_paging_refuses_it),
		TEST(flushes_are_for_models_that_have_them),
		TEST(an_invalid_reregistration_is_an_input_error),
		TEST(a_refused_reregistration_leaves_the_region_unchanged),
		TEST(a_change_keeps_the_key_and_moves_the_domain),
		TEST(a_null_region_has_a_local_key_and_cannot_be_changed),
		TEST(a_null_region_does_not_keep_its_domain),
		TEST(a_registration_by_attributes_wants_one_kind_of_memory),
		TEST(a_descriptor_that_is_no_dmabuf_is_refused),
		TEST(a_memory_file_that_cannot_shrink_is_a_dmabuf),
		TEST(a_dma_handle_is_checked_as_the_kernel_does),
		TEST(a_processor_that_the_thread_may_not_run_on_is_refused),
		TEST(a_region_keeps_its_dma_handle),
		TEST(a_connectx_3_has_no_dma_handles),
		TEST(a_buffer_of_the_library_is_whole_pages_of_zeros),
		TEST(a_buffer_of_no_bytes_and_one_of_another_domain_are_refused),
		TEST(advice_is_for_regions_that_are_paged_on_demand),
		TEST(windows_are_of_two_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
