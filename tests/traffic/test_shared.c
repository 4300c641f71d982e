/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts, protection domains, regions and device memory that processes share: one opens a device
 * and hands its command descriptor and handles to another, which imports them.
 */
#include "rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (256u << 10)

/* What the owner says of its objects. */
struct offer {
	uint32_t pd, mr, dm;
	uint32_t key;
	uint64_t va;
};

/* The owner's side. */
struct estate {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *buf;
};

static struct estate estate_open(void)
{
	struct estate s = { .ctx = rig_context(), .buf = pages(BYTES) };

	s.pd = must(ibv_alloc_pd(s.ctx));
	s.mr = must(ibv_reg_mr(s.pd, s.buf, BYTES,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	return s;
}

static void estate_offer(const struct estate *s, int fd)
{
	const struct offer o = {
		.pd = s->pd->handle,
		.mr = s->mr->handle,
		.key = s->mr->rkey,
		.va = (uintptr_t)s->buf,
	};

	tell_fd(fd, s->ctx->cmd_fd);
	tell(fd, &o, sizeof(o));
}

static void estate_close(struct estate *s)
{
	check_ok(ibv_dereg_mr(s->mr));
	check_ok(ibv_dealloc_pd(s->pd));
}

/* The guest's side: a pair of queue pairs of its own in the owner's domain. */
struct guest {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct offer o;
	struct end *a, *b;
};

static void guest_import(struct guest *g, int fd)
{
	int cmd_fd = hear_fd(fd);

	hear(fd, &g->o, sizeof(g->o));
	g->ctx = must(ibv_import_device(cmd_fd));
	g->pd = must(ibv_import_pd(g->ctx, g->o.pd));
	check_equal(g->pd->handle, g->o.pd);
	g->mr = must(ibv_import_mr(g->pd, g->o.mr));
	check(g->mr->addr == NULL);
	check_equal(g->mr->length, BYTES);
	check_equal(g->mr->lkey, g->o.key);
	check_equal(g->mr->rkey, g->o.key);
}

static void guest_connect(struct guest *g)
{
	struct options o = options_of(IBV_QPT_RC);
	struct address to_a, to_b;

	o.bytes = BYTES;
	g->a = end_open_in(&o, g->ctx, g->pd);
	g->b = end_open_in(&o, g->ctx, g->pd);
	to_a = end_address(g->a);
	to_b = end_address(g->b);
	end_connect(g->a, &to_b);
	end_connect(g->b, &to_a);
}

static void guest_leave(struct guest *g)
{
	if (g->a) {
		end_close(g->a);
		end_close(g->b);
	}
	if (g->mr)
		ibv_unimport_mr(g->mr);
	ibv_unimport_pd(g->pd);
	check_ok(ibv_close_device(g->ctx));
}

static void one_sided(struct guest *g, enum ibv_wr_opcode op, uint32_t len, size_t at)
{
	post(g->a, &(struct work){ .id = op,
				   .op = op,
				   .flags = IBV_SEND_SIGNALED,
				   .len = len,
				   .raddr = g->o.va + at,
				   .rkey = g->o.key,
				   .compare = 5 });
	expect_ok(g->a->scq, op);
}

/* Posts a request, or a receive, whose memory is the owner's. */
static void post_theirs(struct guest *g, enum ibv_wr_opcode op, uint32_t len, size_t at)
{
	struct ibv_sge sge = { g->o.va + at, len, g->o.key };
	struct ibv_send_wr *bad, wr = {
		.wr_id = 77,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)g->b->buf, g->b->mr->rkey },
	};

	check_ok(ibv_post_send(g->a->qp, &wr, &bad));
}

static void post_recv_theirs(struct guest *g, uint32_t len, size_t at)
{
	struct ibv_sge sge = { g->o.va + at, len, g->o.key };
	struct ibv_recv_wr *bad, wr = { .wr_id = 78, .sg_list = &sge, .num_sge = 1 };

	check_ok(ibv_post_recv(g->b->qp, &wr, &bad));
}

/* ---- memory ---- */

static void remote_user(int fd)
{
	struct guest g = { 0 };

	guest_import(&g, fd);
	guest_connect(&g);
	fill(g.a->buf, BYTES, 3);
	one_sided(&g, IBV_WR_RDMA_WRITE, 100000, 0);
	one_sided(&g, IBV_WR_RDMA_READ, 1000, 200000);
	check_filled(g.a->buf, 1000, 9);
	one_sided(&g, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 150000);
	check_equal(*(uint64_t *)g.a->buf, 37);
	tell_mark(fd, 'd');
	hear_mark(fd, 'e');
	guest_leave(&g);
}

static void queue_pairs_of_a_guest_accept_the_owners_remote_keys(void)
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

#define COUNTS 300

static void counter(int fd)
{
	struct guest g = { 0 };

	guest_import(&g, fd);
	guest_connect(&g);
	tell_mark(fd, 'r');
	hear_mark(fd, 'g');
	for (int i = 0; i < COUNTS; i++)
		one_sided(&g, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 64);
	tell_mark(fd, 'd');
	guest_leave(&g);
}

static void guests_and_owner_count_in_the_owners_memory_without_losing_one(void)
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
		one_sided(&self, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 64);
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
		post_recv_theirs(g, 100000, 100000);
		post_theirs(g, IBV_WR_SEND, 70000, 0);
		expect_ok(g->a->scq, 77);
		check_equal(expect_ok(g->b->rcq, 78).byte_len, 70000);
		one_sided(g, IBV_WR_RDMA_READ, 70000, 100000);
		check_filled(g->a->buf, 70000, 4);
	}
}

static void busy_guest(int fd)
{
	struct guest g = { 0 };
	struct offer mine;
	struct ibv_mr *mr;
	char *buf = pages(BYTES);

	guest_import(&g, fd);
	fill(buf, BYTES, 4);
	mr = must(ibv_reg_mr(g.pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
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

	fill(s.buf, BYTES, 4);
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
	post_theirs(&g, IBV_WR_RDMA_WRITE, 50000, 0);
	expect_ok(g.a->scq, 77);
	check_filled(g.b->buf, 50000, 4);
	fill(g.b->buf, 3000, 5);
	post_theirs(&g, IBV_WR_RDMA_READ, 3000, 50000);
	expect_ok(g.a->scq, 77);
	/* A message from the owner's memory into the owner's memory. */
	post_recv_theirs(&g, 90000, 100000);
	post_theirs(&g, IBV_WR_SEND, 50000, 0);
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

/* Who is connected to the guest reaches the owner's memory through the guest's queue pair. */
static void a_third_process_uses_the_owners_key_at_the_guest(void)
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
	char *buf = pages(BYTES);

	guest_import(&g, fd);
	fill(buf, 5000, 6);
	mr = must(ibv_reg_mr(g.pd, buf, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	check(mr->lkey != g.o.key);
	mine = (struct offer){ .mr = mr->handle, .key = mr->lkey, .va = (uintptr_t)buf };
	tell(fd, &mine, sizeof(mine));
	hear_mark(fd, 'e');
	check_ok(ibv_dereg_mr(mr));
	guest_leave(&g);
}

static void regions_of_a_guest_are_the_owners_as_well(void)
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
	one_sided(&self, IBV_WR_RDMA_READ, 5000, 0);
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

/* ---- life ---- */

static void user_of_the_domain(int fd)
{
	struct guest g = { 0 };
	struct ibv_cq *cq;

	guest_import(&g, fd);
	cq = must(ibv_create_cq(g.ctx, 4, NULL, NULL, 0));
	guest_connect(&g);
	tell_mark(fd, 'u');
	hear_mark(fd, 'f');
	end_close(g.a);
	end_close(g.b);
	g.a = NULL;
	check_ok(ibv_destroy_cq(cq));
	tell_mark(fd, 'i');
	hear_mark(fd, 'e');
	guest_leave(&g);
}

static void a_domain_that_a_guest_uses_is_busy(void)
{
	struct peer p = peer_start(user_of_the_domain);
	struct estate s = estate_open();

	estate_offer(&s, p.fd);
	hear_mark(p.fd, 'u');
	check_ok(ibv_dereg_mr(s.mr));
	check_equal(ibv_dealloc_pd(s.pd), EBUSY);
	tell_mark(p.fd, 'f');
	hear_mark(p.fd, 'i');
	check_ok(ibv_dealloc_pd(s.pd));
	tell_mark(p.fd, 'e');
	peer_join(&p);
}

static void a_domain_that_a_killed_guest_used_is_free(void)
{
	struct peer p = peer_start(user_of_the_domain);
	struct estate s = estate_open();

	estate_offer(&s, p.fd);
	hear_mark(p.fd, 'u');
	check_ok(ibv_dereg_mr(s.mr));
	check_equal(ibv_dealloc_pd(s.pd), EBUSY);
	peer_kill(&p);
	wait_for(ibv_dealloc_pd(s.pd) == 0);
}

static void visitor(int fd)
{
	struct guest g = { 0 };

	for (int i = 0; i < 3; i++) {
		guest_import(&g, fd);
		guest_leave(&g);
		g = (struct guest){ 0 };
	}
	tell_mark(fd, 'd');
}

static void what_is_unimported_lives_on(void)
{
	struct peer p = peer_start(visitor);
	struct estate s = estate_open();
	struct guest self = { .ctx = s.ctx, .pd = s.pd };

	for (int i = 0; i < 3; i++)
		estate_offer(&s, p.fd);
	hear_mark(p.fd, 'd');
	self.o = (struct offer){ .key = s.mr->rkey, .va = (uintptr_t)s.buf };
	guest_connect(&self);
	one_sided(&self, IBV_WR_RDMA_WRITE, 100, 0);
	end_close(self.a);
	end_close(self.b);
	peer_join(&p);
	estate_close(&s);
}

static void destroyer(int fd)
{
	struct guest g = { 0 };
	uint32_t handle;

	guest_import(&g, fd);
	if (g.mr) {
		check_ok(ibv_dereg_mr(g.mr));
		check_refused(ibv_import_mr(g.pd, g.o.mr), ENOENT);
	}
	g.mr = NULL;
	tell_mark(fd, 'd');
	hear_mark(fd, 'p');
	handle = g.pd->handle;
	check_ok(ibv_dealloc_pd(g.pd));
	check_refused(ibv_import_pd(g.ctx, handle), ENOENT);
	check_ok(ibv_close_device(g.ctx));
	tell_mark(fd, 'd');
}

static void a_guest_may_destroy_and_the_owner_lets_go(void)
{
	struct peer p = peer_start(destroyer);
	struct estate s = estate_open();
	struct guest self = { .ctx = s.ctx, .pd = s.pd };

	estate_offer(&s, p.fd);
	hear_mark(p.fd, 'd');
	self.o = (struct offer){ .key = s.mr->rkey, .va = (uintptr_t)s.buf };
	guest_connect(&self);
	post(self.a, &(struct work){ .id = 1,
				     .op = IBV_WR_RDMA_WRITE,
				     .flags = IBV_SEND_SIGNALED,
				     .len = 8,
				     .raddr = self.o.va,
				     .rkey = self.o.key });
	expect_wc(self.a->scq, 1, IBV_WC_REM_ACCESS_ERR);
	end_close(self.a);
	end_close(self.b);
	check_equal(ibv_dereg_mr(s.mr), ENOENT);
	ibv_unimport_mr(s.mr);
	tell_mark(p.fd, 'p');
	hear_mark(p.fd, 'd');
	check_equal(ibv_dealloc_pd(s.pd), ENOENT);
	ibv_unimport_pd(s.pd);
	peer_join(&p);
}

static void owner_until_killed(int fd)
{
	struct estate s = estate_open();

	estate_offer(&s, fd);
	hear_mark(fd, 'n');
}

/* The owner was killed: nothing hangs, and the domain goes on with what is left of it. */
static void check_widow(struct guest *g, bool local)
{
	uint32_t handle = g->pd->handle;

	if (local) {
		post_theirs(g, IBV_WR_RDMA_WRITE, 5000, 0);
		expect_wc(g->a->scq, 77, IBV_WC_LOC_PROT_ERR);
	} else {
		post(g->a, &(struct work){ .id = 7,
					   .op = IBV_WR_RDMA_READ,
					   .flags = IBV_SEND_SIGNALED,
					   .len = 5000,
					   .raddr = g->o.va,
					   .rkey = g->o.key });
		expect_wc(g->a->scq, 7, IBV_WC_REM_ACCESS_ERR);
	}
	end_close(g->a);
	end_close(g->b);
	guest_connect(g);
	post(g->a, &(struct work){ .id = 8,
				   .op = IBV_WR_RDMA_WRITE,
				   .flags = IBV_SEND_SIGNALED,
				   .len = 100,
				   .raddr = (uintptr_t)g->b->buf,
				   .rkey = g->b->mr->rkey });
	expect_ok(g->a->scq, 8);
	end_close(g->a);
	end_close(g->b);
	if (g->mr)
		check_ok(ibv_dereg_mr(g->mr));
	check_ok(ibv_dealloc_pd(g->pd));
	check_refused(ibv_import_pd(g->ctx, handle), ENOENT);
	check_ok(ibv_close_device(g->ctx));
}

static void survive_the_owner(bool local)
{
	struct peer p = peer_start(owner_until_killed);
	struct guest g = { 0 };

	guest_import(&g, p.fd);
	guest_connect(&g);
	one_sided(&g, IBV_WR_RDMA_WRITE, 1000, 0);
	peer_kill(&p);
	/* Until the death is known here, the owner's memory may still be reached. */
	for (;;) {
		struct ibv_mr *mr = ibv_import_mr(g.pd, g.o.mr);

		if (!mr)
			break;
		ibv_unimport_mr(mr);
		rig_relax();
	}
	check_widow(&g, local);
}

static void a_killed_owner_takes_its_local_keys_along(void)
{
	survive_the_owner(true);
}

static void a_killed_owner_takes_its_remote_keys_along(void)
{
	survive_the_owner(false);
}

static void a_guest_that_works_while_the_owner_dies_sees_an_error(void)
{
	struct peer p = peer_start(owner_until_killed);
	struct guest g = { 0 };
	struct ibv_wc wc;
	uint64_t end_ns = now_ns() + PATIENCE_MS * 1000000ull;

	guest_import(&g, p.fd);
	guest_connect(&g);
	for (int i = 0; i < 50; i++)
		one_sided(&g, IBV_WR_RDMA_WRITE, 20000, 0);
	check_ok(kill(p.pid, SIGKILL));
	do {
		post(g.a, &(struct work){ .id = 9,
					  .op = IBV_WR_RDMA_WRITE,
					  .flags = IBV_SEND_SIGNALED,
					  .len = 20000,
					  .raddr = g.o.va,
					  .rkey = g.o.key });
		wc = wait_wc(g.a->scq);
		check(now_ns() < end_ns);
	} while (wc.status == IBV_WC_SUCCESS);
	/* The key is not known any more, or leads nowhere already. */
	check(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR);
	waitpid(p.pid, NULL, 0);
	guest_leave(&g);
}

/* The child of a fork has the descriptor, and whatever else of its parent it must not touch. */
static void a_child_imports_what_its_parent_has(void)
{
	struct estate s = estate_open();
	struct guest g = { .o = { .pd = s.pd->handle,
				  .mr = s.mr->handle,
				  .key = s.mr->rkey,
				  .va = (uintptr_t)s.buf } };
	int status, fd = dup(s.ctx->cmd_fd);
	pid_t pid;

	fill(s.buf + 200000, 1000, 9);
	pid = fork();
	if (!pid) {
		rig_forget();
		g.ctx = must(ibv_import_device(fd));
		g.pd = must(ibv_import_pd(g.ctx, g.o.pd));
		guest_connect(&g);
		fill(g.a->buf, BYTES, 3);
		one_sided(&g, IBV_WR_RDMA_WRITE, 10000, 0);
		one_sided(&g, IBV_WR_RDMA_READ, 1000, 200000);
		check_filled(g.a->buf, 1000, 9);
		guest_leave(&g);
		_exit(0);
	}
	close(fd);
	wait_for(waitpid(pid, &status, WNOHANG) == pid);
	check_equal(status, 0);
	check_filled(s.buf, 10000, 3);
	estate_close(&s);
}

static void asker(int fd)
{
	struct guest g = { 0 };
	struct ibv_context *other;

	guest_import(&g, fd);
	check_refused(ibv_import_pd(g.ctx, g.o.pd + 4711), ENOENT);
	check_refused(ibv_import_mr(g.pd, UINT32_MAX), ENOENT);
	check_refused(ibv_import_mr(g.pd, g.o.pd), EINVAL);
	check_refused(ibv_import_pd(g.ctx, g.o.mr), EINVAL);
	check_refused(ibv_import_dm(g.ctx, g.o.mr), EINVAL);
	/* A context of the same device that was not imported knows none of it. */
	other = rig_open();
	check_refused(ibv_import_pd(other, g.o.pd), ENOENT);
	check_ok(ibv_close_device(other));
	guest_leave(&g);
	tell_mark(fd, 'd');
}

static void handles_that_name_nothing_are_refused(void)
{
	struct peer p = peer_start(asker);
	struct estate s = estate_open();

	estate_offer(&s, p.fd);
	hear_mark(p.fd, 'd');
	peer_join(&p);
	estate_close(&s);
}

/* ---- device memory ---- */

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
		TEST(queue_pairs_of_a_guest_accept_the_owners_remote_keys),
		TEST(guests_and_owner_count_in_the_owners_memory_without_losing_one),
		TEST(two_processes_work_in_each_others_memory_at_once),
		TEST(the_owners_local_keys_name_the_owners_memory),
		TEST(a_third_process_uses_the_owners_key_at_the_guest),
		TEST(regions_of_a_guest_are_the_owners_as_well),
		TEST(keys_mean_nothing_without_the_domain),
		TEST(a_domain_that_a_guest_uses_is_busy),
		TEST(a_domain_that_a_killed_guest_used_is_free),
		TEST(what_is_unimported_lives_on),
		TEST(a_guest_may_destroy_and_the_owner_lets_go),
		TEST(a_killed_owner_takes_its_local_keys_along),
		TEST(a_killed_owner_takes_its_remote_keys_along),
		TEST(a_guest_that_works_while_the_owner_dies_sees_an_error),
		TEST(a_child_imports_what_its_parent_has),
		TEST(handles_that_name_nothing_are_refused),
		TEST(device_memory_is_one_memory_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
