/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions: registration, reregistration, and no access after deregistration.
 */
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALL_ACCESS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static void write_to(struct end *e, uint64_t id, uint32_t rkey, const void *there, uint32_t len)
{
	fill(e->buf, len, id);
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = len,
				.raddr = (uintptr_t)there,
				.rkey = rkey });
}

static void read_from(struct end *e, uint64_t id, uint32_t rkey, const void *there, uint32_t len)
{
	memset(e->buf, 0, len);
	post(e, &(struct work){ .id = id,
				.op = IBV_WR_RDMA_READ,
				.flags = IBV_SEND_SIGNALED,
				.len = len,
				.raddr = (uintptr_t)there,
				.rkey = rkey });
}

static void a_new_region_never_has_the_key_of_the_last_one(void)
{
	struct pair p = pair_open(NULL);
	char *there = pages(4096);
	uint32_t last = 0;

	for (int i = 0; i < 600; i++) {
		struct ibv_mr *mr = must(ibv_reg_mr(p.b->pd, there, 4096, ALL_ACCESS));

		check(mr->rkey != last);
		last = mr->rkey;
		check_ok(ibv_dereg_mr(mr));
	}
	write_to(p.a, 1, last, there, 8);
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void regions_may_overlap(void)
{
	struct pair p = pair_open(NULL);
	char *there = pages(65536);
	struct ibv_mr *mr[8];

	for (int i = 0; i < 8; i++)
		mr[i] = must(ibv_reg_mr(p.b->pd, there + i * 1000, 30000, ALL_ACCESS));
	for (int i = 0; i < 8; i++) {
		write_to(p.a, i, mr[i]->rkey, there + 10000, 3000);
		expect_ok(p.a->scq, i);
		check_filled(there + 10000, 3000, i);
	}
	/* the others stay good when one goes */
	for (int i = 0; i < 8; i++) {
		check_ok(ibv_dereg_mr(mr[i]));
		if (i == 7)
			break;
		write_to(p.a, 10 + i, mr[i + 1]->rkey, there + 10000, 3000);
		expect_ok(p.a->scq, 10 + i);
		check_filled(there + 10000, 3000, 10 + i);
	}
	pair_close(&p);
}

static void writes_reach_the_file_of_a_dmabuf_at_its_offset(void)
{
	struct pair p = pair_open(NULL);
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *there = pages(2 * 4096);
	struct ibv_mr *mr;

	check_ok(ftruncate(fd, 4 * 4096));
	check_ok(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	mr = must(ibv_reg_dmabuf_mr(p.b->pd, 4096, 2 * 4096, 0x10000, fd, ALL_ACCESS));
	write_to(p.a, 5, mr->rkey, (void *)0x10100, 6000);
	expect_ok(p.a->scq, 5);
	check_equal(pread(fd, there, 6000, 4096 + 0x100), 6000);
	check_filled(there, 6000, 5);
	read_from(p.a, 6, mr->rkey, (void *)0x10100, 6000);
	expect_ok(p.a->scq, 6);
	check_filled(p.a->buf, 6000, 5);
	/* bytes of the file outside of the region are out of reach */
	write_to(p.a, 7, mr->rkey, (void *)(uintptr_t)(0x10000 + 2 * 4096), 8);
	expect_wc(p.a->scq, 7, IBV_WC_REM_ACCESS_ERR);
	check_ok(ibv_dereg_mr(mr));
	close(fd);
	pair_close(&p);
}

static char static_memory[10000];

/* A target in another process for memory of every kind. */
struct kind {
	const char *name;
	void *(*get)(size_t len);
};

static void *get_private(size_t len)
{
	return pages(len);
}

static void *get_heap(size_t len)
{
	static char *volatile kept; /* the program's to the end */

	kept = must(malloc(len + 100));
	return kept + 33;
}

static void *get_static(size_t len)
{
	check(len <= sizeof(static_memory));
	return static_memory + 1;
}

static void *get_shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	return p;
}

static void *map_file(size_t len, int flags)
{
	char name[] = "/tmp/verbena-mr-XXXXXX";
	int fd = mkstemp(name);
	void *p;

	check(fd >= 0);
	unlink(name);
	check_ok(ftruncate(fd, len));
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);
	check(p != MAP_FAILED);
	close(fd);
	return p;
}

static void *get_file_shared(size_t len)
{
	return map_file(len, MAP_SHARED);
}

static void *get_file_private(size_t len)
{
	return map_file(len, MAP_PRIVATE);
}

static void *get_memfd(size_t len)
{
	int fd = memfd_create("mr", MFD_CLOEXEC);
	void *p;

	check(fd >= 0);
	check_ok(ftruncate(fd, len));
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(p != MAP_FAILED);
	close(fd);
	return p;
}

static void *get_stack(size_t len)
{
	(void)len;
	return NULL; /* the caller's own */
}

static const struct kind kinds[] = {
	{ "private", get_private },
	{ "heap", get_heap },
	{ "static", get_static },
	{ "shared", get_shared },
	{ "shared file", get_file_shared },
	{ "private file", get_file_private },
	{ "memfd", get_memfd },
	{ "stack", get_stack },
};

#define KIND_BYTES 8000u

static void owner_of_kinds(int fd)
{
	struct end *e = end_open(NULL);
	char stack[KIND_BYTES];

	end_meet(e, fd);
	for (size_t i = 0; i < array_size(kinds); i++) {
		char *p = kinds[i].get(KIND_BYTES);
		struct address a = end_address(e);
		struct ibv_mr *mr;

		if (!p)
			p = stack;
		fill(p, KIND_BYTES, 50 + i);
		mr = must(ibv_reg_mr(e->pd, p, KIND_BYTES, ALL_ACCESS));
		check_filled(p, KIND_BYTES, 50 + i);
		a.va = (uintptr_t)p;
		a.rkey = mr->rkey;
		tell(fd, &a, sizeof(a));
		hear_mark(fd, 'w');
		check_filled(p, KIND_BYTES, i);
		/* and what we write is what they read */
		fill(p, KIND_BYTES, 90 + i);
		tell_mark(fd, 'f');
		hear_mark(fd, 'r');
		check_ok(ibv_dereg_mr(mr));
		check_filled(p, KIND_BYTES, 90 + i);
	}
	end_close(e);
}

static void memory_of_every_kind_is_reached_from_another_process(void)
{
	struct peer peer = peer_start(owner_of_kinds);
	struct end *e = end_open(NULL);

	end_meet(e, peer.fd);
	for (size_t i = 0; i < array_size(kinds); i++) {
		struct address a;

		printf("%s\n", kinds[i].name);
		hear(peer.fd, &a, sizeof(a));
		read_from(e, 1, a.rkey, (void *)(uintptr_t)a.va, KIND_BYTES);
		expect_ok(e->scq, 1);
		check_filled(e->buf, KIND_BYTES, 50 + i);
		write_to(e, i, a.rkey, (void *)(uintptr_t)a.va, KIND_BYTES);
		expect_ok(e->scq, i);
		tell_mark(peer.fd, 'w');
		hear_mark(peer.fd, 'f');
		read_from(e, 2, a.rkey, (void *)(uintptr_t)a.va, KIND_BYTES);
		expect_ok(e->scq, 2);
		check_filled(e->buf, KIND_BYTES, 90 + i);
		tell_mark(peer.fd, 'r');
	}
	end_close(e);
	peer_join(&peer);
}

static void invalid_registrations_are_refused(void)
{
	struct end *e = end_open(NULL);
	char *hole = pages(3 * 4096), *readonly = pages(4096), *nowhere = hole + 4096;

	check_ok(munmap(hole + 4096, 4096));
	check_refused(ibv_reg_mr(e->pd, hole, 3 * 4096, ALL_ACCESS), EFAULT);
	check_refused(ibv_reg_mr(e->pd, nowhere, 4096, ALL_ACCESS), EFAULT);
	/* remote writing implies writing */
	check_refused(ibv_reg_mr(e->pd, e->buf, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	check_refused(ibv_reg_mr(e->pd, e->buf, 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	check_refused(ibv_reg_mr(e->pd, e->buf, UINT64_MAX - 4096, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	/* what may not be written cannot be registered to be written */
	check_ok(mprotect(readonly, 4096, PROT_READ));
	check_refused(ibv_reg_mr(e->pd, readonly, 4096, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	check_ok(ibv_dereg_mr(must(ibv_reg_mr(e->pd, readonly, 4096, IBV_ACCESS_REMOTE_READ))));
	end_close(e);
}

static void a_domain_with_a_region_is_busy(void)
{
	struct end *e = end_open(NULL);
	struct ibv_pd *pd = must(ibv_alloc_pd(e->ctx));
	struct ibv_mr *mr = must(ibv_reg_mr(pd, e->buf, 4096, ALL_ACCESS));

	check_equal(ibv_dealloc_pd(pd), EBUSY);
	check_ok(ibv_dereg_mr(mr));
	check_ok(ibv_dealloc_pd(pd));
	end_close(e);
}

/* ---- changing ---- */

static void a_region_may_change_its_rights(void)
{
	struct pair p = pair_open(NULL);
	int err = ibv_rereg_mr(p.b->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);

	check_equal(err, 0);
	read_from(p.a, 1, p.b->mr->rkey, p.b->buf, 8);
	expect_ok(p.a->scq, 1);
	write_to(p.a, 2, p.b->mr->rkey, p.b->buf, 8);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static void a_region_may_change_its_memory(void)
{
	struct pair p = pair_open(NULL);
	char *other = pages(8192);

	check_equal(ibv_rereg_mr(p.b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, other, 8192, 0),
		    0);
	check(p.b->mr->addr == other);
	check_equal(p.b->mr->length, 8192);
	write_to(p.a, 1, p.b->mr->rkey, other + 100, 5000);
	expect_ok(p.a->scq, 1);
	check_filled(other + 100, 5000, 1);
	memset(p.b->buf, 0, 64);
	write_to(p.a, 2, p.b->mr->rkey, p.b->buf, 8);
	expect_wc(p.a->scq, 2, IBV_WC_REM_ACCESS_ERR);
	check(is_all(p.b->buf, 64, 0));
	pair_close(&p);
}

/* The key stays the same, and a peer that has used it had mapped the other memory. */
static void mover(int fd)
{
	struct end *e = end_open(NULL);
	struct ibv_mr *mr;
	char *at[3] = { pages(8192), pages(8192), pages(16384) };

	end_meet(e, fd);
	mr = must(ibv_reg_mr(e->pd, at[0], 8192, ALL_ACCESS));
	for (size_t i = 0; i < array_size(at); i++) {
		uint32_t bytes = i == 2 ? 16384 : 8192;
		struct address a = { .va = (uintptr_t)at[i], .rkey = mr->rkey };

		if (i)
			check_ok(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at[i],
					      bytes, 0));
		fill(at[i], bytes, 30 + i);
		tell(fd, &a, sizeof(a));
		hear_mark(fd, 'w');
		check_filled(at[i], 8000, i);
		if (i)
			check_filled(at[i - 1], 8000, i - 1);
	}
	check_ok(ibv_dereg_mr(mr));
	end_close(e);
}

static void a_region_may_change_its_memory_under_another_process(void)
{
	struct peer peer = peer_start(mover);
	struct end *e = end_open(NULL);

	end_meet(e, peer.fd);
	for (unsigned int i = 0; i < 3; i++) {
		struct address a;

		hear(peer.fd, &a, sizeof(a));
		read_from(e, 77, a.rkey, (void *)(uintptr_t)a.va, 8000);
		expect_ok(e->scq, 77);
		check_filled(e->buf, 8000, 30 + i);
		write_to(e, i, a.rkey, (void *)(uintptr_t)a.va, 8000);
		expect_ok(e->scq, i);
		tell_mark(peer.fd, 'w');
	}
	end_close(e);
	peer_join(&peer);
}

static void a_region_may_change_its_domain(void)
{
	struct pair p = pair_open(NULL);

	/* to a's: a may now use it locally */
	check_equal(ibv_rereg_mr(p.b->mr, IBV_REREG_MR_CHANGE_PD, p.a->pd, NULL, 0, 0), 0);
	check(p.b->mr->pd == p.a->pd);
	write_to(p.a, 1, p.b->mr->rkey, p.b->buf, 8);
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	check_ok(ibv_dereg_mr(p.b->mr));
	p.b->mr = NULL;
	pair_close(&p);
}

static void a_change_that_fails_changes_nothing(void)
{
	struct pair p = pair_open(NULL);

	check(ibv_rereg_mr(p.b->mr, 0, NULL, NULL, 0, 0) != 0);
	check(ibv_rereg_mr(p.b->mr, 0x100, NULL, NULL, 0, 0) != 0);
	check(ibv_rereg_mr(p.b->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_REMOTE_WRITE) != 0);
	check(ibv_rereg_mr(p.b->mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, (void *)16, 4096, 0) !=
	      0);
	write_to(p.a, 1, p.a->to.rkey, p.b->buf, 64);
	expect_ok(p.a->scq, 1);
	check_filled(p.b->buf, 64, 1);
	pair_close(&p);
}

/* ---- special regions ---- */

static void a_null_region_reads_as_zeros_and_ignores_writes(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *null = ibv_alloc_null_mr(p.a->pd);
	struct ibv_sge sge[2];
	struct ibv_send_wr *bad, wr = { .wr_id = 1,
					.sg_list = sge,
					.num_sge = 2,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };

	if (!null)
		rig_skip("no null region");
	wr.wr.rdma.remote_addr = p.a->to.va;
	wr.wr.rdma.rkey = p.a->to.rkey;
	memset(p.b->buf, 0xee, 4096);
	fill(p.a->buf, 100, 4);
	sge[0] = (struct ibv_sge){ 0, 1000, null->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)p.a->buf, 100, p.a->mr->lkey };
	check_ok(ibv_post_send(p.a->qp, &wr, &bad));
	expect_ok(p.a->scq, 1);
	check(is_all(p.b->buf, 1000, 0));
	check_filled(p.b->buf + 1000, 100, 4);
	/* a read that skips what it does not want */
	fill(p.b->buf, 1100, 5);
	wr.opcode = IBV_WR_RDMA_READ;
	check_ok(ibv_post_send(p.a->qp, &wr, &bad));
	expect_ok(p.a->scq, 1);
	check(!memcmp(p.a->buf, p.b->buf + 1000, 100));
	check_ok(ibv_dereg_mr(null));
	pair_close(&p);
}

static void peers_read_zeros_from_a_null_region_and_write_into_nothing(void)
{
	struct pair p = pair_open(NULL);
	struct ibv_mr *null = ibv_alloc_null_mr(p.b->pd);
	uint32_t key;

	if (!null)
		rig_skip("no null region");
	key = null->lkey;
	write_to(p.a, 1, key, p.b->buf, 5000);
	expect_ok(p.a->scq, 1);
	memset(p.a->buf, 0xee, 5000);
	post(p.a, &(struct work){ .id = 2,
				  .op = IBV_WR_RDMA_READ,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 5000,
				  .raddr = 1000,
				  .rkey = key });
	expect_ok(p.a->scq, 2);
	check(is_all(p.a->buf, 5000, 0));
	check_ok(ibv_dereg_mr(null));
	write_to(p.a, 3, key, p.b->buf, 8);
	expect_wc(p.a->scq, 3, IBV_WC_REM_ACCESS_ERR);
	pair_close(&p);
}

static bool has_odp(uint32_t cap)
{
	struct ibv_device_attr_ex attr = rig_attr_ex();

	return (attr.odp_caps.general_caps & cap) == cap;
}

static void on_demand_regions_follow_the_page_tables(void)
{
	struct pair p;
	struct ibv_mr *mr;
	char *there;

	if (!has_odp(IBV_ODP_SUPPORT))
		rig_skip("no paging on demand");
	rig_skip_under_qemu("it has no process_vm_readv(2), which tells which pages are there");
	p = pair_open(NULL);
	there = pages(16 * 4096);
	mr = must(ibv_reg_mr(p.b->pd, there, 16 * 4096, ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
	write_to(p.a, 1, mr->rkey, there + 100, 20000);
	expect_ok(p.a->scq, 1);
	check_filled(there + 100, 20000, 1);
	/* pages that went away read as zeros, and come back when written */
	check_ok(madvise(there, 16 * 4096, MADV_DONTNEED));
	check(is_all(there, 16 * 4096, 0));
	read_from(p.a, 2, mr->rkey, there, 20000);
	expect_ok(p.a->scq, 2);
	check(is_all(p.a->buf, 20000, 0));
	write_to(p.a, 3, mr->rkey, there + 7, 20000);
	expect_ok(p.a->scq, 3);
	check_filled(there + 7, 20000, 3);
	check_ok(ibv_dereg_mr(mr));
	pair_close(&p);
}

static void an_implicit_region_covers_the_whole_address_space(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;
	struct ibv_mr *local, *remote;
	char *there;
	int access = ALL_ACCESS | IBV_ACCESS_ON_DEMAND;
	struct ibv_mr *before;

	if (!has_odp(IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT))
		rig_skip("no implicit paging on demand");
	rig_skip_under_qemu("it has no process_vm_readv(2), which tells which pages are there");
	o.timeout = 12;
	p = pair_open(&o);
	local = must(ibv_reg_mr(p.a->pd, NULL, SIZE_MAX, access));
	remote = must(ibv_reg_mr(p.b->pd, NULL, SIZE_MAX, access));
	before = p.a->mr;
	p.a->mr = local;
	there = pages(65536); /* younger than both */
	write_to(p.a, 1, remote->rkey, there + 3, 30000);
	expect_ok(p.a->scq, 1);
	check_filled(there + 3, 30000, 1);
	read_from(p.a, 2, remote->rkey, there + 3, 30000);
	expect_ok(p.a->scq, 2);
	check_filled(p.a->buf, 30000, 1);
	post_recv(p.b, 3, 0, 1000);
	post(p.a,
	     &(struct work){ .id = 3, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 1000 });
	expect_ok(p.a->scq, 3);
	expect_ok(p.b->rcq, 3);
	p.a->mr = before;
	check_ok(ibv_dereg_mr(local));
	check_ok(ibv_dereg_mr(remote));
	pair_close(&p);
}

/* Here or there: an error, on both sides no more than that. */
static void on_demand_regions_end_where_nothing_is_mapped(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };
	char *hole;

	if (!has_odp(IBV_ODP_SUPPORT))
		rig_skip("no paging on demand");
	hole = pages(3 * 4096);
	/* like unmapped, but no other mapping can take the address */
	check_ok(mprotect(hole + 4096, 4096, PROT_NONE));
	for (int local = 0; local < 2; local++)
		for (size_t i = 0; i < array_size(ops); i++) {
			struct pair p = pair_open(NULL);
			struct end *e = local ? p.a : p.b;
			struct ibv_mr *mr = must(ibv_reg_mr(e->pd, hole, 3 * 4096,
							    ALL_ACCESS | IBV_ACCESS_ON_DEMAND));
			uint32_t len = ops[i] == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 5000;
			struct ibv_sge sge = { (uintptr_t)p.a->buf, len, p.a->mr->lkey };
			struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge, .num_sge = 1 };
			struct ibv_send_wr *bad, wr = { .sg_list = &sge,
							.num_sge = 1,
							.opcode = ops[i],
							.send_flags = IBV_SEND_SIGNALED };
			uint64_t there = local ? p.a->to.va : (uintptr_t)hole + 4000;
			uint32_t rkey = local ? p.a->to.rkey : mr->rkey;

			if (ops[i] == IBV_WR_ATOMIC_FETCH_AND_ADD) {
				wr.wr.atomic.remote_addr = local ? there : (uintptr_t)hole + 4096;
				wr.wr.atomic.rkey = rkey;
			} else {
				wr.wr.rdma.remote_addr = there;
				wr.wr.rdma.rkey = rkey;
			}
			sge = (struct ibv_sge){ (uintptr_t)p.b->buf, 5000, p.b->mr->lkey };
			if (!local)
				sge = (struct ibv_sge){ there, 5000, mr->lkey };
			check_ok(ibv_post_recv(p.b->qp, &recv, &bad_recv));
			sge = (struct ibv_sge){ (uintptr_t)p.a->buf, len, p.a->mr->lkey };
			if (local)
				sge = (struct ibv_sge){ (uintptr_t)hole + 4092, len, mr->lkey };
			check_ok(ibv_post_send(p.a->qp, &wr, &bad));
			check(wait_wc(p.a->scq).status != IBV_WC_SUCCESS);
			check_equal(end_state(p.a), IBV_QPS_ERR);
			end_drop_qp(p.a);
			end_drop_qp(p.b);
			check_ok(ibv_dereg_mr(mr));
			pair_close(&p);
		}
}

static void device_memory_is_reached_like_any_other(void)
{
	struct ibv_device_attr_ex attr = rig_attr_ex();
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	char data[256], back[256];
	struct pair p;

	if (!attr.max_dm_size)
		rig_skip("no device memory");
	p = pair_open(NULL);
	dm = must(ibv_alloc_dm(p.b->ctx, &dm_attr));
	mr = must(ibv_reg_dm_mr(p.b->pd, dm, 0, 4096, ALL_ACCESS | IBV_ACCESS_ZERO_BASED));
	fill(data, sizeof(data), 9);
	check_ok(ibv_memcpy_to_dm(dm, 512, data, sizeof(data)));
	read_from(p.a, 1, mr->rkey, (void *)512, 256);
	expect_ok(p.a->scq, 1);
	check_filled(p.a->buf, 256, 9);
	write_to(p.a, 2, mr->rkey, (void *)1024, 256);
	expect_ok(p.a->scq, 2);
	check_ok(ibv_memcpy_from_dm(back, dm, 1024, sizeof(back)));
	check_filled(back, 256, 2);
	check_equal(ibv_free_dm(dm), EBUSY);
	check_ok(ibv_dereg_mr(mr));
	check_ok(ibv_free_dm(dm));
	pair_close(&p);
}

/* ---- the end ---- */

static void hammer(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct address a;

	/* each round: a region to write to until it is gone */
	for (;;) {
		struct end *e = end_open(&o);
		struct ibv_wc wc = { .status = IBV_WC_SUCCESS };
		unsigned int rounds = 0;

		end_meet(e, fd);
		hear(fd, &a, sizeof(a));
		if (!a.rkey) {
			end_close(e);
			return;
		}
		memset(e->buf, 0xff, 4096);
		while (wc.status == IBV_WC_SUCCESS) {
			post(e, &(struct work){ .op = IBV_WR_RDMA_WRITE,
						.flags = IBV_SEND_SIGNALED,
						.len = 4096,
						.raddr = a.va,
						.rkey = a.rkey });
			wc = wait_wc(e->scq);
			if (rounds++ == 3)
				tell_mark(fd, 'h');
		}
		check_equal(wc.status, IBV_WC_REM_ACCESS_ERR);
		tell_mark(fd, 'x');
		end_close(e);
	}
}

static void no_access_lands_after_deregistration(void)
{
	struct peer peer = peer_start(hammer);
	struct address a;

	for (int i = 0; i <= 20; i++) {
		struct end *e = end_open(NULL);
		char *there = pages(4096);
		struct ibv_mr *mr = must(ibv_reg_mr(e->pd, there, 4096, ALL_ACCESS));

		end_meet(e, peer.fd);
		a = end_address(e);
		a.va = (uintptr_t)there;
		a.rkey = i < 20 ? mr->rkey : 0;
		tell(peer.fd, &a, sizeof(a));
		if (i < 20) {
			hear_mark(peer.fd, 'h');
			check_ok(ibv_dereg_mr(mr));
			memset(there, 0, 4096);
			hear_mark(peer.fd, 'x');
			check(is_all(there, 4096, 0));
		} else {
			check_ok(ibv_dereg_mr(mr));
		}
		munmap(there, 4096);
		end_close(e);
	}
	peer_join(&peer);
}

static atomic_bool stop;

static void *count_up(void *at)
{
	volatile uint64_t *word = at;

	/* every word alone: a lost update shows as a step back */
	for (uint64_t n = 1; !atomic_load_explicit(&stop, memory_order_relaxed); n++)
		for (int i = 0; i < 64; i++) {
			if (word[i * 512] != n - 1) {
				fprintf(stderr, "word %d is %llu, not %llu\n", i,
					(unsigned long long)word[i * 512],
					(unsigned long long)n - 1);
				return at;
			}
			word[i * 512] = n;
		}
	return NULL;
}

static void registering_loses_no_update_of_other_threads(void)
{
	struct end *e = end_open(NULL);
	char *there = pages(64 * 4096);
	pthread_t thread;
	void *lost;

	check_ok(pthread_create(&thread, NULL, count_up, there));
	for (int i = 0; i < 300; i++)
		check_ok(ibv_dereg_mr(must(ibv_reg_mr(e->pd, there, 64 * 4096, ALL_ACCESS))));
	atomic_store(&stop, true);
	check_ok(pthread_join(thread, &lost));
	check(!lost);
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_region_never_has_the_key_of_the_last_one),
		TEST(regions_may_overlap),
		TEST(writes_reach_the_file_of_a_dmabuf_at_its_offset),
		TEST(memory_of_every_kind_is_reached_from_another_process),
		TEST(invalid_registrations_are_refused),
		TEST(a_domain_with_a_region_is_busy),
		TEST(a_region_may_change_its_rights),
		TEST(a_region_may_change_its_memory),
		TEST(a_region_may_change_its_memory_under_another_process),
		TEST(a_region_may_change_its_domain),
		TEST(a_change_that_fails_changes_nothing),
		TEST(a_null_region_reads_as_zeros_and_ignores_writes),
		TEST(peers_read_zeros_from_a_null_region_and_write_into_nothing),
		TEST(on_demand_regions_follow_the_page_tables),
		TEST(an_implicit_region_covers_the_whole_address_space),
		TEST(on_demand_regions_end_where_nothing_is_mapped),
		TEST(device_memory_is_reached_like_any_other),
		TEST(no_access_lands_after_deregistration),
		TEST(registering_loses_no_update_of_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
