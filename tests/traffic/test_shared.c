/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts, protection domains, regions and device memory that processes share: whose memory a key
 * names, and which processes may use it.
 */
#include "estate.h"

static void remote_user(int fd)
{
	struct guest g = { 0 };

	guest_import(&g, fd);
	guest_connect(&g);
	fill(g.a->buf, ESTATE_BYTES, 3);
	guest_work(&g, IBV_WR_RDMA_WRITE, 100000, 0);
	guest_work(&g, IBV_WR_RDMA_READ, 1000, 200000);
	check_filled(g.a->buf, 1000, 9);
	guest_work(&g, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 150000);
	check_equal(*(uint64_t *)g.a->buf, 37);
	tell_mark(fd, 'd');
	hear_mark(fd, 'e');
	guest_leave(&g);
}

static void queue_pairs_of_an_importer_accept_the_owners_remote_keys(void)
{
	struct peer p = peer_start(remote_user);
	struct estate s = estate_open();

	fill(s.buf + 200000, 1000, 9);
	*(uint64_t *)(s.buf + 150000) = 37;
	estate_offer(&s, p.fd);
	hear_mark(p.fd, 'd');
	check_filled(s.buf, 100000, 3);
	check_equal(*(uint64_t *)(s.buf + 150000), 42);
	tell_mark(p.fd, 'e');
	peer_join(&p);
	estate_close(&s);
}

static void flush(struct end *e, const struct offer *o, size_t len, uint8_t level)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(e->qp);

	ibv_wr_start(ex);
	ex->wr_id = level;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_flush(ex, o->key, o->va, len, IBV_FLUSH_GLOBAL, level);
	check_ok(ibv_wr_complete(ex));
	expect_ok(e->scq, level);
}

static void flusher(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct guest g = { 0 };
	struct offer flushable;

	guest_import(&g, fd);
	hear(fd, &flushable, sizeof(flushable));
	o.send_ops = IBV_QP_EX_WITH_FLUSH;
	o.qp_access |= IBV_ACCESS_FLUSH_GLOBAL;
	g.a = end_open_in(&o, g.ctx, g.pd);
	g.b = end_open_in(&o, g.ctx, g.pd);
	ends_connect(g.a, g.b);
	flush(g.a, &flushable, 1000, IBV_FLUSH_RANGE);
	flush(g.a, &flushable, 0, IBV_FLUSH_MR);
	tell_mark(fd, 'd');
	hear_mark(fd, 'e');
	guest_leave(&g);
}

static void queue_pairs_of_an_importer_flush_the_owners_memory(void)
{
	struct estate s;
	struct offer flushable;
	struct ibv_mr *mr;
	struct peer p;

	if (!rig_is_mlx5())
		rig_skip("a ConnectX-3 has no ibv_wr_*()");
	p = peer_start(flusher);
	s = estate_open();
	mr = must(ibv_reg_mr(s.pd, s.buf, ESTATE_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_FLUSH_GLOBAL));
	flushable = (struct offer){ .key = mr->rkey, .va = (uintptr_t)s.buf };
	estate_offer(&s, p.fd);
	tell(p.fd, &flushable, sizeof(flushable));
	hear_mark(p.fd, 'd');
	tell_mark(p.fd, 'e');
	peer_join(&p);
	check_ok(ibv_dereg_mr(mr));
	estate_close(&s);
}

#define COUNTS 300

static void counter(int fd)
{
	struct guest g = { 0 };

	guest_import(&g, fd);
	guest_connect(&g);
	tell_mark(fd, 'r');
	hear_mark(fd, 'g');
	for (int i = 0; i < COUNTS; i++)
		guest_work(&g, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 64);
	tell_mark(fd, 'd');
	guest_leave(&g);
}

static void atomics_of_importers_and_owner_on_the_owners_memory_add_up(void)
{
	struct peer p = peer_start(counter), q = peer_start(counter);
	struct estate s = estate_open();
	struct guest self = { .ctx = s.ctx, .pd = s.pd };

	estate_offer(&s, p.fd);
	estate_offer(&s, q.fd);
	self.o = (struct offer){ .key = s.mr->rkey, .va = (uintptr_t)s.buf };
	guest_connect(&self);
	hear_mark(p.fd, 'r');
	hear_mark(q.fd, 'r');
	tell_mark(p.fd, 'g');
	tell_mark(q.fd, 'g');
	for (int i = 0; i < COUNTS; i++)
		guest_work(&self, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 64);
	hear_mark(p.fd, 'd');
	hear_mark(q.fd, 'd');
	check_equal(*(uint64_t *)(s.buf + 64), 3 * COUNTS * 5);
	end_close(self.a);
	end_close(self.b);
	peer_join(&p);
	peer_join(&q);
	estate_close(&s);
}

/* Requests and receives in the other's memory, without a pause. */
static void work_in(struct guest *g)
{
	for (int i = 0; i < 50; i++) {
		guest_post_recv_theirs(g, 100000, 100000);
		guest_post_theirs(g, IBV_WR_SEND, 70000, 0);
		expect_ok(g->a->scq, 77);
		check_equal(expect_ok(g->b->rcq, 78).byte_len, 70000);
		guest_work(g, IBV_WR_RDMA_READ, 70000, 100000);
		check_filled(g->a->buf, 70000, 4);
	}
}

static void busy_guest(int fd)
{
	struct guest g = { 0 };
	struct offer mine;
	struct ibv_mr *mr;
	char *buf = pages(ESTATE_BYTES);

	guest_import(&g, fd);
	fill(buf, ESTATE_BYTES, 4);
	mr = must(ibv_reg_mr(g.pd, buf, ESTATE_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	mine = (struct offer){ .key = mr->lkey, .va = (uintptr_t)buf };
	guest_connect(&g);
	tell(fd, &mine, sizeof(mine));
	work_in(&g);
	tell_mark(fd, 'd');
	hear_mark(fd, 'e');
	check_ok(ibv_dereg_mr(mr));
	guest_leave(&g);
}

static void two_processes_work_in_each_others_memory_at_once(void)
{
	struct peer p = peer_start(busy_guest);
	struct estate s = estate_open();
	struct guest self = { .ctx = s.ctx, .pd = s.pd };

	fill(s.buf, ESTATE_BYTES, 4);
	estate_offer(&s, p.fd);
	hear(p.fd, &self.o, sizeof(self.o));
	guest_connect(&self);
	work_in(&self);
	hear_mark(p.fd, 'd');
	end_close(self.a);
	end_close(self.b);
	tell_mark(p.fd, 'e');
	peer_join(&p);
	estate_close(&s);
}

static void local_user(int fd)
{
	struct guest g = { 0 };

	guest_import(&g, fd);
	guest_connect(&g);
	guest_post_theirs(&g, IBV_WR_RDMA_WRITE, 50000, 0);
	expect_ok(g.a->scq, 77);
	check_filled(g.b->buf, 50000, 4);
	fill(g.b->buf, 3000, 5);
	guest_post_theirs(&g, IBV_WR_RDMA_READ, 3000, 50000);
	expect_ok(g.a->scq, 77);
	/* A message from the owner's memory into the owner's memory. */
	guest_post_recv_theirs(&g, 90000, 100000);
	guest_post_theirs(&g, IBV_WR_SEND, 50000, 0);
	expect_ok(g.a->scq, 77);
	check_equal(expect_ok(g.b->rcq, 78).byte_len, 50000);
	tell_mark(fd, 'd');
	hear_mark(fd, 'e');
	guest_leave(&g);
}

static void the_owners_local_keys_name_the_owners_memory(void)
{
	struct peer p = peer_start(local_user);
	struct estate s = estate_open();

	fill(s.buf, 50000, 4);
	estate_offer(&s, p.fd);
	hear_mark(p.fd, 'd');
	check_filled(s.buf + 50000, 3000, 5);
	check_filled(s.buf + 100000, 50000, 4);
	tell_mark(p.fd, 'e');
	peer_join(&p);
	estate_close(&s);
}

static void third_party(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o);
	struct offer owner;

	hear(fd, &owner, sizeof(owner));
	end_meet(e, fd);
	fill(e->buf, 4000, 8);
	post(e, &(struct work){ .id = 1,
				.op = IBV_WR_RDMA_WRITE,
				.flags = IBV_SEND_SIGNALED,
				.len = 4000,
				.raddr = owner.va,
				.rkey = owner.key });
	expect_wc(e->scq, 1, IBV_WC_SUCCESS);
	tell_mark(fd, 'd');
	end_close(e);
}

static void middle_man(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	struct guest g = { 0 };
	struct end *e;

	guest_import(&g, fd);
	e = end_open_in(&o, g.ctx, g.pd);
	end_meet(e, fd);
	hear_mark(fd, 'e');
	end_close(e);
	guest_leave(&g);
}

/* A process connected to the guest reaches the owner's memory through the guest's queue pair. */
static void a_third_process_uses_the_owners_key_on_a_queue_pair_of_the_importer(void)
{
	struct peer guest = peer_start(middle_man), third = peer_start(third_party);
	struct estate s = estate_open();
	struct offer o = { .key = s.mr->rkey, .va = (uintptr_t)s.buf };
	struct address to_guest, to_third;

	estate_offer(&s, guest.fd);
	tell(third.fd, &o, sizeof(o));
	hear(guest.fd, &to_guest, sizeof(to_guest));
	hear(third.fd, &to_third, sizeof(to_third));
	tell(guest.fd, &to_third, sizeof(to_third));
	tell(third.fd, &to_guest, sizeof(to_guest));
	hear_mark(guest.fd, 'R');
	hear_mark(third.fd, 'R');
	tell_mark(guest.fd, 'R');
	tell_mark(third.fd, 'R');
	hear_mark(third.fd, 'd');
	check_filled(s.buf, 4000, 8);
	tell_mark(guest.fd, 'e');
	peer_join(&third);
	peer_join(&guest);
	estate_close(&s);
}

static void registrar(int fd)
{
	struct guest g = { 0 };
	struct offer mine;
	struct ibv_mr *mr;
	char *buf = pages(ESTATE_BYTES);

	guest_import(&g, fd);
	fill(buf, 5000, 6);
	mr = must(ibv_reg_mr(g.pd, buf, ESTATE_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	check(mr->lkey != g.o.key);
	mine = (struct offer){ .mr = mr->handle, .key = mr->lkey, .va = (uintptr_t)buf };
	tell(fd, &mine, sizeof(mine));
	hear_mark(fd, 'e');
	check_ok(ibv_dereg_mr(mr));
	guest_leave(&g);
}

static void regions_registered_by_an_importer_are_valid_for_the_owner(void)
{
	struct peer p = peer_start(registrar);
	struct estate s = estate_open();
	struct guest self = { .ctx = s.ctx, .pd = s.pd };
	struct ibv_mr *mr = NULL;

	estate_offer(&s, p.fd);
	hear(p.fd, &self.o, sizeof(self.o));
	mr = must(ibv_import_mr(s.pd, self.o.mr));
	check_equal(mr->lkey, self.o.key);
	guest_connect(&self);
	guest_work(&self, IBV_WR_RDMA_READ, 5000, 0);
	check_filled(self.a->buf, 5000, 6);
	/* What the guest did not permit is refused. */
	post(self.a, &(struct work){ .id = 1,
				     .op = IBV_WR_RDMA_WRITE,
				     .flags = IBV_SEND_SIGNALED,
				     .len = 8,
				     .raddr = self.o.va,
				     .rkey = self.o.key });
	expect_wc(self.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	ibv_unimport_mr(mr);
	end_close(self.a);
	end_close(self.b);
	tell_mark(p.fd, 'e');
	peer_join(&p);
	estate_close(&s);
}

static void stranger(int fd)
{
	struct pair p;
	struct offer o;

	hear(fd, &o, sizeof(o));
	p = pair_open(NULL);
	post(p.a, &(struct work){ .id = 1,
				  .op = IBV_WR_RDMA_WRITE,
				  .flags = IBV_SEND_SIGNALED,
				  .len = 8,
				  .raddr = o.va,
				  .rkey = o.key });
	expect_wc(p.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	tell_mark(fd, 'd');
	pair_close(&p);
}

/* Linked with the owner it may be; its domains are others. */
static void keys_mean_nothing_without_the_domain(void)
{
	struct peer p = peer_start(stranger), talker = peer_start(stranger);
	struct estate s = estate_open();
	const struct offer o = { .key = s.mr->rkey, .va = (uintptr_t)s.buf };

	tell(p.fd, &o, sizeof(o));
	hear_mark(p.fd, 'd');
	tell(talker.fd, &o, sizeof(o));
	hear_mark(talker.fd, 'd');
	check(is_all(s.buf, 64, 0));
	peer_join(&p);
	peer_join(&talker);
	estate_close(&s);
}

static void dm_user(int fd)
{
	struct guest g = { 0 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint32_t word = 0, twelve = 12;

	guest_import(&g, fd);
	dm = must(ibv_import_dm(g.ctx, g.o.dm));
	check_ok(ibv_memcpy_from_dm(&word, dm, 8, 4));
	check_equal(word, 11);
	check_ok(ibv_memcpy_to_dm(dm, 12, &twelve, 4));
	check_equal(ibv_memcpy_to_dm(dm, 1024, &twelve, 4), EFAULT);
	mr = must(ibv_reg_dm_mr(g.pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED));
	tell_mark(fd, 'd');
	hear_mark(fd, 'e');
	check_equal(ibv_free_dm(dm), EBUSY);
	check_ok(ibv_dereg_mr(mr));
	ibv_unimport_dm(dm);
	guest_leave(&g);
	tell_mark(fd, 'd');
}

static void device_memory_is_one_memory_for_all(void)
{
	struct peer p = peer_start(dm_user);
	struct estate s = estate_open();
	struct ibv_alloc_dm_attr attr = { .length = 1024 };
	struct offer o = {
		.pd = s.pd->handle, .mr = s.mr->handle, .key = s.mr->rkey, .va = (uintptr_t)s.buf
	};
	uint32_t word = 11;
	struct ibv_dm *dm;

	if (!rig_is_mlx5())
		rig_skip("the adapter has no device memory");
	dm = must(ibv_alloc_dm(s.ctx, &attr));
	o.dm = dm->handle;
	check_ok(ibv_memcpy_to_dm(dm, 8, &word, 4));
	tell_fd(p.fd, s.ctx->cmd_fd);
	tell(p.fd, &o, sizeof(o));
	hear_mark(p.fd, 'd');
	check_ok(ibv_memcpy_from_dm(&word, dm, 12, 4));
	check_equal(word, 12);
	check_equal(ibv_free_dm(dm), EBUSY);
	tell_mark(p.fd, 'e');
	hear_mark(p.fd, 'd');
	check_ok(ibv_free_dm(dm));
	peer_join(&p);
	estate_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(queue_pairs_of_an_importer_accept_the_owners_remote_keys),
		TEST(queue_pairs_of_an_importer_flush_the_owners_memory),
		TEST(atomics_of_importers_and_owner_on_the_owners_memory_add_up),
		TEST(two_processes_work_in_each_others_memory_at_once),
		TEST(the_owners_local_keys_name_the_owners_memory),
		TEST(a_third_process_uses_the_owners_key_on_a_queue_pair_of_the_importer),
		TEST(regions_registered_by_an_importer_are_valid_for_the_owner),
		TEST(keys_mean_nothing_without_the_domain),
		TEST(device_memory_is_one_memory_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
