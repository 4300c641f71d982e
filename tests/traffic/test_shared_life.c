/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that processes share: their life when one of the processes destroys them or dies. */
#include "estate.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void a_domain_used_by_an_importer_is_busy(void)
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

static void a_domain_used_by_a_killed_importer_is_free(void)
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

static void unimported_objects_stay_alive(void)
{
	struct peer p = peer_start(visitor);
	struct estate s = estate_open();
	struct guest self = { .ctx = s.ctx, .pd = s.pd };

	for (int i = 0; i < 3; i++)
		estate_offer(&s, p.fd);
	hear_mark(p.fd, 'd');
	self.o = (struct offer){ .key = s.mr->rkey, .va = (uintptr_t)s.buf };
	guest_connect(&self);
	guest_work(&self, IBV_WR_RDMA_WRITE, 100, 0);
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

static void an_importer_may_destroy_objects_and_the_owner_unimports_them(void)
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
		guest_post_theirs(g, IBV_WR_RDMA_WRITE, 5000, 0);
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
	guest_work(&g, IBV_WR_RDMA_WRITE, 1000, 0);
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

static void the_local_keys_of_a_killed_owner_are_invalid(void)
{
	survive_the_owner(true);
}

static void the_remote_keys_of_a_killed_owner_are_invalid(void)
{
	survive_the_owner(false);
}

static void an_importer_gets_an_error_when_the_owner_dies(void)
{
	struct peer p = peer_start(owner_until_killed);
	struct guest g = { 0 };
	struct ibv_wc wc;
	uint64_t end_ns = now_ns() + WAIT_MS * 1000000ull;

	guest_import(&g, p.fd);
	guest_connect(&g);
	for (int i = 0; i < 50; i++)
		guest_work(&g, IBV_WR_RDMA_WRITE, 20000, 0);
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
#ifdef __SANITIZE_ADDRESS__
/* gcc 12's sanitizer leaves the locks of its allocator taken in a child if another thread held them at the fork. */
static void a_child_imports_what_its_parent_has(void)
{
	rig_skip("the service thread may be inside the sanitizer's allocator at the fork");
}
#else
static void a_child_imports_what_its_parent_has(void)
{
	struct estate s;
	struct guest g;
	int status, fd;
	pid_t pid;

	rig_skip_under_qemu("it aborts when a child of a process with threads starts threads");
	s = estate_open();
	g = (struct guest){ .o = { .pd = s.pd->handle,
				   .mr = s.mr->handle,
				   .key = s.mr->rkey,
				   .va = (uintptr_t)s.buf } };
	fd = dup(s.ctx->cmd_fd);
	fill(s.buf + 200000, 1000, 9);
	pid = fork();
	if (!pid) {
		rig_forget();
		g.ctx = must(ibv_import_device(fd));
		g.pd = must(ibv_import_pd(g.ctx, g.o.pd));
		guest_connect(&g);
		fill(g.a->buf, ESTATE_BYTES, 3);
		guest_work(&g, IBV_WR_RDMA_WRITE, 10000, 0);
		guest_work(&g, IBV_WR_RDMA_READ, 1000, 200000);
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
#endif

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_domain_used_by_an_importer_is_busy),
		TEST(a_domain_used_by_a_killed_importer_is_free),
		TEST(unimported_objects_stay_alive),
		TEST(an_importer_may_destroy_objects_and_the_owner_unimports_them),
		TEST(the_local_keys_of_a_killed_owner_are_invalid),
		TEST(the_remote_keys_of_a_killed_owner_are_invalid),
		TEST(an_importer_gets_an_error_when_the_owner_dies),
		TEST(a_child_imports_what_its_parent_has),
		TEST(handles_that_name_nothing_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
