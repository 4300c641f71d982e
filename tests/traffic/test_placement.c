/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory placement extensions (IBTA volume 1, Annex A19): RDMA FLUSH and ATOMIC WRITE, by ibv_wr_*().
 */
#include "rig.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bits of device_cap_flags_ex; the kernel's names are IB_UVERBS_DEVICE_*. */
#define CAP_FLUSH_GLOBAL     (1ull << 38)
#define CAP_FLUSH_PERSISTENT (1ull << 39)
#define CAP_ATOMIC_WRITE     (1ull << 40)

#define OPS                                                                                        \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_FLUSH |                  \
	 IBV_QP_EX_WITH_ATOMIC_WRITE)
#define FLUSH_BOTH (IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT)

static void need_mlx5(void)
{
	if (!rig_is_mlx5())
		rig_skip("a ConnectX-3 has no ibv_wr_*()");
}

static struct options options(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.send_ops = OPS;
	o.mr_access |= IBV_ACCESS_FLUSH_GLOBAL;
	o.qp_access |= FLUSH_BOTH;
	return o;
}

static struct ibv_qp_ex *begin(struct end *e, uint64_t id)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(e->qp);

	ibv_wr_start(ex);
	ex->wr_id = id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

static void flush(struct end *e, uint64_t id, size_t off, size_t len, uint8_t type, uint8_t level)
{
	struct ibv_qp_ex *ex = begin(e, id);

	ibv_wr_flush(ex, e->to.rkey, e->to.va + off, len, type, level);
	check_ok(ibv_wr_complete(ex));
}

static void write_word(struct end *e, uint64_t id, size_t off, uint64_t value)
{
	struct ibv_qp_ex *ex = begin(e, id);

	ibv_wr_atomic_write(ex, e->to.rkey, e->to.va + off, &value);
	check_ok(ibv_wr_complete(ex));
}

static _Atomic uint64_t *word(struct end *e, size_t off)
{
	return (_Atomic uint64_t *)(void *)(e->buf + off);
}

static void the_device_says_what_it_has(void)
{
	const uint64_t all = CAP_FLUSH_GLOBAL | CAP_FLUSH_PERSISTENT | CAP_ATOMIC_WRITE;
	struct ibv_device_attr_ex attr = rig_attr_ex();

	check_equal(attr.device_cap_flags_ex & all, rig_is_mlx5() ? all : 0);
}

static void an_atomic_write_places_eight_bytes(void)
{
	struct options o = options();
	struct ibv_wc wc;
	struct pair p;

	need_mlx5();
	p = pair_open(&o);
	memset(p.b->buf, 0xee, 64);
	write_word(p.a, 1, 8, 0x1122334455667788);
	wc = expect_ok(p.a->scq, 1);
	check_equal(wc.opcode, IBV_WC_ATOMIC_WRITE);
	check_equal(*word(p.b, 8), 0x1122334455667788);
	check(is_all(p.b->buf, 8, 0xee) && is_all(p.b->buf + 16, 48, 0xee));
	pair_close(&p);
}

static void a_flush_completes_behind_what_it_flushes(void)
{
	const enum ibv_wc_opcode order[] = { IBV_WC_RDMA_WRITE, IBV_WC_FLUSH, IBV_WC_ATOMIC_WRITE };
	struct options o = options();
	struct ibv_qp_ex *ex;
	struct pair p;

	need_mlx5();
	p = pair_open(&o);
	fill(p.a->buf, 4096, 3);
	ex = begin(p.a, 0);
	ibv_wr_rdma_write(ex, p.a->to.rkey, p.a->to.va);
	ibv_wr_set_sge(ex, p.a->mr->lkey, (uintptr_t)p.a->buf, 4096);
	ex->wr_id = 1;
	ibv_wr_flush(ex, p.a->to.rkey, p.a->to.va, 4096, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ex->wr_id = 2;
	ibv_wr_atomic_write(ex, p.a->to.rkey, p.a->to.va + 8192, "8 bytes");
	check_ok(ibv_wr_complete(ex));
	for (unsigned int i = 0; i < array_size(order); i++)
		check_equal(expect_ok(p.a->scq, i).opcode, order[i]);
	check_filled(p.b->buf, 4096, 3);
	check(!memcmp(p.b->buf + 8192, "8 bytes", 8));
	pair_close(&p);
}

/* Another thread that sees the word sees the data before it. */
static void the_word_comes_after_the_data(void)
{
	struct options o = options();
	struct pair p;

	need_mlx5();
	p = pair_open(&o);
	for (uint64_t i = 1; i <= 200; i++) {
		struct ibv_qp_ex *ex;

		memset(p.a->buf, (int)i, 4096);
		ex = begin(p.a, i);
		ibv_wr_rdma_write(ex, p.a->to.rkey, p.a->to.va);
		ibv_wr_set_sge(ex, p.a->mr->lkey, (uintptr_t)p.a->buf, 4096);
		ibv_wr_atomic_write(ex, p.a->to.rkey, p.a->to.va + 8192, &i);
		check_ok(ibv_wr_complete(ex));
		wait_for(atomic_load(word(p.b, 8192)) == i);
		check(is_all(p.b->buf, 4096, (unsigned char)i));
		expect_ok(p.a->scq, i);
		expect_ok(p.a->scq, i);
	}
	pair_close(&p);
}

static void a_flush_of_the_region_needs_no_range(void)
{
	struct options o = options();
	struct pair p;

	need_mlx5();
	p = pair_open(&o);
	flush(p.a, 1, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	check_equal(expect_ok(p.a->scq, 1).opcode, IBV_WC_FLUSH);
	flush(p.a, 2, 1ull << 40, 1ull << 40, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	expect_ok(p.a->scq, 2);
	pair_close(&p);
}

static void requests_that_the_peer_does_not_allow_are_refused(void)
{
	static const struct {
		int without_qp, without_mr;
		size_t off, len;
		uint8_t type, level;
		enum ibv_wc_status status;
	} cases[] = {
		{ IBV_ACCESS_FLUSH_GLOBAL, 0, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
		  IBV_WC_REM_INV_REQ_ERR },
		{ 0, IBV_ACCESS_FLUSH_GLOBAL, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE,
		  IBV_WC_REM_ACCESS_ERR },
		{ 0, IBV_ACCESS_FLUSH_GLOBAL, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR,
		  IBV_WC_REM_ACCESS_ERR },
		/* the region is not persistent */
		{ 0, 0, 0, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR },
		{ 0, 0, 1ull << 40, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE, IBV_WC_REM_ACCESS_ERR },
	};

	need_mlx5();
	for (unsigned int i = 0; i < array_size(cases); i++) {
		struct options o = options();
		struct pair p;

		o.qp_access &= ~cases[i].without_qp;
		o.mr_access &= ~cases[i].without_mr;
		p = pair_open(&o);
		flush(p.a, 1, cases[i].off, cases[i].len, cases[i].type, cases[i].level);
		expect_wc(p.a->scq, 1, cases[i].status);
		pair_close(&p);
	}
}

static void an_atomic_write_is_checked_as_a_write(void)
{
	static const struct {
		int without_qp, without_mr;
		size_t off;
		uint8_t rd_atomic;
		enum ibv_wc_status status;
	} cases[] = {
		{ IBV_ACCESS_REMOTE_WRITE, 0, 0, 4, IBV_WC_REM_INV_REQ_ERR },
		{ 0, IBV_ACCESS_REMOTE_WRITE, 0, 4, IBV_WC_REM_ACCESS_ERR },
		{ 0, 0, 4, 4, IBV_WC_REM_INV_REQ_ERR }, /* misaligned */
		{ 0, 0, 1ull << 40, 4, IBV_WC_REM_ACCESS_ERR },
		{ 0, 0, 0, 0, IBV_WC_REM_INV_REQ_ERR }, /* no resources */
	};

	need_mlx5();
	for (unsigned int i = 0; i < array_size(cases); i++) {
		struct options o = options();
		struct pair p;

		o.qp_access &= ~cases[i].without_qp;
		o.mr_access &= ~cases[i].without_mr;
		o.rd_atomic = cases[i].rd_atomic;
		p = pair_open(&o);
		memset(p.b->buf, 0, 64);
		write_word(p.a, 1, cases[i].off, UINT64_MAX);
		expect_wc(p.a->scq, 1, cases[i].status);
		check(is_all(p.b->buf, 64, 0));
		pair_close(&p);
	}
}

static void arguments_that_mean_nothing_are_refused_at_the_call(void)
{
	static const struct {
		size_t len;
		uint8_t type, level;
	} wrong[] = { { 8, 0, IBV_FLUSH_RANGE },
		      { 8, 4, IBV_FLUSH_RANGE },
		      { 8, IBV_FLUSH_GLOBAL, 2 },
		      { 1ull << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE } };
	struct options o = options();
	struct ibv_qp_ex *ex;
	struct pair p;

	need_mlx5();
	p = pair_open(&o);
	for (unsigned int i = 0; i < array_size(wrong); i++) {
		ex = begin(p.a, 1);
		ibv_wr_flush(ex, p.a->to.rkey, p.a->to.va, wrong[i].len, wrong[i].type,
			     wrong[i].level);
		check_equal(ibv_wr_complete(ex), EINVAL);
	}
	check_empty(p.a->scq);
	flush(p.a, 2, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	expect_ok(p.a->scq, 2);
	pair_close(&p);
}

/* More of them than the peer has resources for: they wait for each other. */
static void a_queue_of_them_is_executed_in_order(void)
{
	struct options o = options();
	struct pair p;

	need_mlx5();
	o.rd_atomic = 1;
	p = pair_open(&o);
	for (uint64_t i = 0; i < 60; i += 2) {
		write_word(p.a, i, 0, i + 1);
		flush(p.a, i + 1, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	}
	for (uint64_t i = 0; i < 60; i++)
		check_equal(expect_ok(p.a->scq, i).opcode,
			    i % 2 ? IBV_WC_FLUSH : IBV_WC_ATOMIC_WRITE);
	check_equal(*word(p.b, 0), 59);
	pair_close(&p);
}

/* ---- persistence ---- */

static char path[32];

/* A mapping of a new file, which has its name until forget_file(). */
static void *map_file(size_t len, int flags)
{
	int fd;
	void *at;

	strcpy(path, "placement.XXXXXX");
	fd = mkstemp(path);
	check(fd >= 0);
	check_ok(ftruncate(fd, (off_t)len));
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
	check(at != MAP_FAILED);
	close(fd);
	return at;
}

static void forget_file(void)
{
	check_ok(unlink(path));
}

static void persistent_regions_are_files(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_FLUSH_PERSISTENT;
	struct ibv_pd *pd = must(ibv_alloc_pd(rig_context()));
	struct ibv_mr *mr;
	void *at;

	need_mlx5();
	check_refused(ibv_reg_mr(pd, pages(8192), 8192, access), EINVAL);
	at = map_file(8192, MAP_PRIVATE);
	check_refused(ibv_reg_mr(pd, at, 8192, access), EINVAL);
	forget_file();
	at = map_file(8192, MAP_SHARED);
	mr = ibv_reg_mr(pd, at, 8192, access);
	forget_file();
	if (!mr)
		rig_skip("the working directory is not on storage");
	check_ok(ibv_dereg_mr(mr));
	check_ok(ibv_dealloc_pd(pd));
}

static void a_flush_writes_to_the_file(void)
{
	struct options o = options();
	struct ibv_qp_ex *ex;
	void *shared;
	struct ibv_mr *mr;
	struct pair p;

	need_mlx5();
	p = pair_open(&o);
	shared = map_file(65536, MAP_SHARED);
	mr = ibv_reg_mr(p.b->pd, shared, 65536, o.mr_access | IBV_ACCESS_FLUSH_PERSISTENT);
	forget_file();
	if (!mr)
		rig_skip("the working directory is not on storage");
	fill(p.a->buf, 4096, 5);
	ex = begin(p.a, 1);
	ibv_wr_rdma_write(ex, mr->rkey, (uintptr_t)shared + 100);
	ibv_wr_set_sge(ex, p.a->mr->lkey, (uintptr_t)p.a->buf, 4096);
	ibv_wr_flush(ex, mr->rkey, (uintptr_t)shared + 100, 4096,
		     IBV_FLUSH_PERSISTENT | IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	ibv_wr_flush(ex, mr->rkey, 0, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
	check_ok(ibv_wr_complete(ex));
	expect_ok(p.a->scq, 1);
	check_equal(expect_ok(p.a->scq, 1).opcode, IBV_WC_FLUSH);
	expect_ok(p.a->scq, 1);
	check_filled((char *)shared + 100, 4096, 5);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

/* ---- between processes ---- */

static void serve(int fd)
{
	struct options o = options();
	struct end *e = end_open(&o);

	end_meet(e, fd);
	hear_mark(fd, 'd');
	check_equal(*word(e, 4096), 77);
	check_filled(e->buf, 4096, 9);
	tell_mark(fd, 'k');
	hear_mark(fd, 'q');
	end_close(e);
}

static void another_process_has_the_data_when_the_flush_completes(void)
{
	struct options o = options();
	struct peer peer;
	struct ibv_qp_ex *ex;
	struct end *e;

	need_mlx5();
	peer = peer_start(serve);
	e = end_open(&o);
	end_meet(e, peer.fd);
	fill(e->buf, 4096, 9);
	ex = begin(e, 1);
	ex->wr_flags = 0;
	ibv_wr_rdma_write(ex, e->to.rkey, e->to.va);
	ibv_wr_set_sge(ex, e->mr->lkey, (uintptr_t)e->buf, 4096);
	ibv_wr_atomic_write(ex, e->to.rkey, e->to.va + 4096, &(uint64_t){ 77 });
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(ex, e->to.rkey, e->to.va, 4104, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	check_ok(ibv_wr_complete(ex));
	expect_ok(e->scq, 1);
	tell_mark(peer.fd, 'd');
	hear_mark(peer.fd, 'k');
	tell_mark(peer.fd, 'q');
	end_close(e);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_says_what_it_has),
		TEST(an_atomic_write_places_eight_bytes),
		TEST(a_flush_completes_behind_what_it_flushes),
		TEST(the_word_comes_after_the_data),
		TEST(a_flush_of_the_region_needs_no_range),
		TEST(requests_that_the_peer_does_not_allow_are_refused),
		TEST(an_atomic_write_is_checked_as_a_write),
		TEST(arguments_that_mean_nothing_are_refused_at_the_call),
		TEST(a_queue_of_them_is_executed_in_order),
		TEST(persistent_regions_are_files),
		TEST(a_flush_writes_to_the_file),
		TEST(another_process_has_the_data_when_the_flush_completes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
