/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process is in the middle of an access to memory of another one, which takes its right to that away: it deregisters the
 * memory, or resets or destroys the queue pair. Memory does not change afterwards. A process that is stopped inside an access is
 * not waited for, nor is one that is inside of something else: its access goes nowhere, and its connections stay.
 */
#include "rig.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__) && defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define copies_are_guarded() (__rseq_size != 0)
#else
#define copies_are_guarded() false
#endif

#define BYTES (64u << 20)
#define TRIES 20

static struct options large(void)
{
	struct options o = options_of(IBV_QPT_RC);

	o.bytes = BYTES;
	return o;
}

struct target {
	uint64_t va;
	uint32_t rkey;
};

/* Of the process that is stopped, and seen by the other one. */
static char *local;
static enum ibv_wr_opcode op;

/* Accesses the whole of each region that it is told of, then sends a message on another connection. */
static void accesses(int fd)
{
	struct options o = large(), small = options_of(IBV_QPT_RC);
	struct end *e = end_open(&o), *other = end_open(&small);
	struct ibv_mr *mr = must(ibv_reg_mr(e->pd, local, BYTES, IBV_ACCESS_LOCAL_WRITE));
	struct target target;

	end_meet(e, fd);
	end_meet(other, fd);
	for (;;) {
		struct ibv_sge sge = { (uintptr_t)local, BYTES, mr->lkey };
		struct ibv_send_wr wr = { .wr_id = 1,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = op,
					  .send_flags = IBV_SEND_SIGNALED },
				   *bad;
		int status;

		hear(fd, &target, sizeof(target));
		if (!target.rkey)
			break;
		wr.wr.rdma.remote_addr = target.va;
		wr.wr.rdma.rkey = target.rkey;
		check_ok(ibv_post_send(e->qp, &wr, &bad));
		status = (int)wait_wc(e->scq).status;
		tell(fd, &status, sizeof(status));
	}
	post(other,
	     &(struct work){ .id = 2, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(other->scq, 2);
	hear_mark(fd, 'E');
	check_ok(ibv_dereg_mr(mr));
	end_close(e);
	end_close(other);
}

/* Stops the process once the first byte has changed; false: it had done everything by then. */
static bool stop_inside(const struct peer *peer, const char *changes)
{
	int status;

	wait_for(__atomic_load_n(changes, __ATOMIC_ACQUIRE) != 1);
	check_ok(kill(peer->pid, SIGSTOP));
	wait_for(waitpid(peer->pid, &status, WUNTRACED | WNOHANG) == peer->pid);
	check(WIFSTOPPED(status));
	return changes[BYTES - 1] == 1;
}

static int hear_status(const struct peer *peer)
{
	int status;

	hear(peer->fd, &status, sizeof(status));
	return status;
}

static int resume(const struct peer *peer)
{
	check_ok(kill(peer->pid, SIGCONT));
	return hear_status(peer);
}

struct scene {
	struct peer peer;
	struct end *e, *other;
	struct ibv_mr *mr;
	char *buf;           /* the memory of the region */
	const char *changes; /* the memory that the access writes */
	bool by_kernel;      /* memory that peers cannot map: the kernel copies */
};

static char *shared_pages(void)
{
	return must(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

/* Memory in which an access of the peer begins at this moment. */
static void let_access(struct scene *s, enum ibv_wr_opcode what)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct target target;

	/* Other memory each time: what is registered again and again is not shared at once. */
	s->buf = s->by_kernel ? shared_pages() : pages(BYTES);
	s->changes = what == IBV_WR_RDMA_WRITE ? s->buf : local;
	memset(s->buf, what == IBV_WR_RDMA_WRITE ? 1 : 7, BYTES);
	memset(local, what == IBV_WR_RDMA_WRITE ? 7 : 1, BYTES);
	s->mr = must(ibv_reg_mr(s->e->pd, s->buf, BYTES, access));
	target = (struct target){ .va = (uintptr_t)s->buf, .rkey = s->mr->rkey };
	tell(s->peer.fd, &target, sizeof(target));
}

/* The first access may take another way, before both sides know of their link. */
static void open_scene(struct scene *s, enum ibv_wr_opcode what)
{
	struct options small = options_of(IBV_QPT_RC), o = small;

	op = what;
	local = shared_pages();
	s->peer = peer_start(accesses);
	s->e = end_open(&o);
	s->other = end_open(&small);
	end_meet(s->e, s->peer.fd);
	end_meet(s->other, s->peer.fd);
	post_recv(s->other, 2, 0, 64);
	let_access(s, what);
	check_equal(hear_status(&s->peer), IBV_WC_SUCCESS);
	check_ok(ibv_dereg_mr(s->mr));
	check_ok(munmap(s->buf, BYTES));
}

/* False: no access could be stopped half-way. */
static bool begin(struct scene *s, enum ibv_wr_opcode what)
{
	open_scene(s, what);
	for (int i = 1; i < TRIES; i++) {
		let_access(s, what);
		if (stop_inside(&s->peer, s->changes))
			return true;
		check_equal(resume(&s->peer), IBV_WC_SUCCESS);
		check_ok(ibv_dereg_mr(s->mr));
		check_ok(munmap(s->buf, BYTES));
	}
	return false;
}

/* The other connection of the two has not suffered. The peer has ended its requests, and waits. */
static void end_requests(struct scene *s)
{
	const struct target none = { 0 };

	tell(s->peer.fd, &none, sizeof(none));
	expect_ok(s->other->rcq, 2);
}

static void end_peer(struct scene *s)
{
	tell_mark(s->peer.fd, 'E');
	peer_join(&s->peer);
	end_close(s->e);
	end_close(s->other);
}

static void end(struct scene *s)
{
	end_requests(s);
	end_peer(s);
}

static void a_stopped_write_does_not_reach_memory_that_was_deregistered(void)
{
	struct scene s = { 0 };
	struct ibv_mr *again;

	if (!begin(&s, IBV_WR_RDMA_WRITE))
		rig_skip("accesses cannot be stopped half-way");
	check_ok(ibv_dereg_mr(s.mr));
	memset(s.buf, 3, BYTES);
	/* Also if it is registered again, meanwhile or later. */
	again = must(ibv_reg_mr(s.e->pd, s.buf, BYTES, IBV_ACCESS_LOCAL_WRITE));
	check_equal(resume(&s.peer), IBV_WC_REM_ACCESS_ERR);
	check(is_all(s.buf, BYTES, 3));
	check_ok(ibv_dereg_mr(again));
	again = must(ibv_reg_mr(s.e->pd, s.buf, BYTES, IBV_ACCESS_LOCAL_WRITE));
	check(is_all(s.buf, BYTES, 3));
	check_ok(ibv_dereg_mr(again));
	end(&s);
}

static void a_stopped_read_does_not_succeed_with_memory_that_was_deregistered(void)
{
	struct scene s = { 0 };

	if (!begin(&s, IBV_WR_RDMA_READ))
		rig_skip("accesses cannot be stopped half-way");
	check_ok(ibv_dereg_mr(s.mr));
	memset(s.buf, 3, BYTES);
	check_equal(resume(&s.peer), IBV_WC_REM_ACCESS_ERR);
	end(&s);
}

static void a_stopped_write_is_done_again_after_a_fork(void)
{
	struct scene s = { 0 };

	if (!begin(&s, IBV_WR_RDMA_WRITE))
		rig_skip("accesses cannot be stopped half-way");
	fork_once();
	check_equal(resume(&s.peer), IBV_WC_SUCCESS);
	check(is_all(s.buf, BYTES, 7));
	check_ok(ibv_dereg_mr(s.mr));
	end(&s);
}

/* The kernel copies all of it before the process stops; the access is not over then. */
static bool begin_by_kernel(struct scene *s)
{
	s->by_kernel = true;
	open_scene(s, IBV_WR_RDMA_WRITE);
	for (int i = 1; i < TRIES; i++) {
		let_access(s, IBV_WR_RDMA_WRITE);
		stop_inside(&s->peer, s->changes);
		if (!is_readable(s->peer.fd, 0))
			return true;
		check_equal(resume(&s->peer), IBV_WC_SUCCESS);
		check_ok(ibv_dereg_mr(s->mr));
		check_ok(munmap(s->buf, BYTES));
	}
	return false;
}

/* The rings of all links of this process, by inode. */
static void note_links(char *out, size_t size)
{
	FILE *maps = must(fopen("/proc/self/maps", "re"));
	char line[512];
	size_t n = 0;

	out[0] = 0;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long inode;

		if (strstr(line, "/memfd:verbena-rings") &&
		    sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 && n < size)
			n += (size_t)snprintf(out + n, size - n, " %lu", inode);
	}
	fclose(maps);
	check(n && n < size);
}

/* False: this process has ended its link to the stopped peer, as one whose copy may be under way. */
static bool link_stays(struct scene *s)
{
	char before[512], after[512];

	note_links(before, sizeof(before));
	check_ok(ibv_dereg_mr(s->mr));
	memset(s->buf, 3, BYTES);
	check_equal(resume(&s->peer), IBV_WC_REM_ACCESS_ERR);
	check(is_all(s->buf, BYTES, 3));
	end_requests(s);
	note_links(after, sizeof(after));
	end_peer(s);
	return !strcmp(before, after);
}

/* Once in three times it may be this process that has to wait. */
static void a_stopped_write_by_the_kernel_is_not_waited_for(void)
{
	bool stays = false;

	if (!copies_are_guarded())
		rig_skip("copies by the kernel are not guarded");
	for (int i = 0; i < 3 && !stays; i++) {
		struct scene s = { 0 };

		if (!begin_by_kernel(&s))
			rig_skip("accesses cannot be stopped half-way");
		stays = link_stays(&s);
	}
	check(stays);
}

/* ---- queue pairs ---- */

enum way { TO_RESET, TO_ERR, FEWER_RIGHTS, DESTROY, WAYS };

static void take_rights_away(struct end *e, enum way way)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	switch (way) {
	case TO_RESET:
		end_reset(e);
		break;
	case TO_ERR:
		end_to_error(e);
		break;
	case FEWER_RIGHTS:
		check_ok(ibv_modify_qp(e->qp, &attr, IBV_QP_ACCESS_FLAGS));
		break;
	default:
		check_ok(ibv_destroy_qp(e->qp));
		e->qp = NULL;
	}
}

/* Once the peer's request has ended, in whatever way, the bytes that this process wrote are still there. */
static void check_untouched(struct scene *s)
{
	hear_status(&s->peer);
	check(is_all(s->buf, BYTES, 3));
	check_ok(ibv_dereg_mr(s->mr));
	end(s);
}

static void no_write_outlasts_the_rights_of_its_queue_pair(void)
{
	for (enum way way = 0; way < WAYS; way++) {
		struct scene s = { 0 };

		open_scene(&s, IBV_WR_RDMA_WRITE);
		let_access(&s, IBV_WR_RDMA_WRITE);
		wait_for(__atomic_load_n(s.changes, __ATOMIC_ACQUIRE) != 1);
		take_rights_away(s.e, way);
		memset(s.buf, 3, BYTES);
		check_untouched(&s);
	}
}

static void a_stopped_write_does_not_outlast_its_queue_pair(void)
{
	struct scene s = { 0 };

	if (!begin(&s, IBV_WR_RDMA_WRITE))
		rig_skip("accesses cannot be stopped half-way");
	take_rights_away(s.e, DESTROY);
	memset(s.buf, 3, BYTES);
	check_ok(kill(s.peer.pid, SIGCONT));
	check_untouched(&s);
}

/* ---- peers that are inside of something else ---- */

static int new_userfaultfd(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd >= 0 && ioctl(fd, UFFDIO_API, &api)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void *poll_once(void *arg)
{
	struct end *e = arg;

	expect_ok(e->rcq, 1);
	return NULL;
}

/* Its thread that polls waits for a page of its own receive buffer. */
static void receives_into_missing_memory(int fd)
{
	struct options o = options_of(IBV_QPT_RC);
	int faults = new_userfaultfd();
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { .range.len = 4096 };
	struct end *e = end_open(&o);
	struct uffd_msg msg;
	char *page = pages(4096);
	struct ibv_mr *mr;
	struct ibv_sge sge = { (uintptr_t)page, 64, 0 };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	pthread_t thread;

	tell_mark(fd, faults < 0 ? 'N' : 'Y');
	if (faults < 0)
		return;
	range.range.start = zero.range.start = (uintptr_t)page;
	range.range.len = 4096;
	check_ok(ioctl(faults, UFFDIO_REGISTER, &range));
	mr = must(ibv_reg_mr(e->pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
	sge.lkey = mr->lkey;
	end_meet(e, fd);
	check_ok(ibv_post_recv(e->qp, &wr, &bad));
	tell_mark(fd, 'R');
	check_ok(pthread_create(&thread, NULL, poll_once, e));
	check_equal(read(faults, &msg, sizeof(msg)), sizeof(msg));
	tell_mark(fd, 'W');
	hear_mark(fd, 'G');
	check_ok(ioctl(faults, UFFDIO_ZEROPAGE, &zero));
	check_ok(pthread_join(thread, NULL));
	check(is_all(page, 64, 5));
	check_ok(ibv_dereg_mr(mr));
	end_close(e);
}

/* The limit for a peer inside an access is 2 s. */
static void a_peer_that_waits_for_its_own_memory_is_not_waited_for(void)
{
	struct peer peer = peer_start(receives_into_missing_memory);
	struct options o = options_of(IBV_QPT_RC);
	char answer, *memory;
	struct ibv_mr *mr;
	struct end *e;
	uint64_t begin_ns;

	hear(peer.fd, &answer, 1);
	if (answer == 'N')
		rig_skip("no userfaultfd");
	e = end_open(&o);
	end_meet(e, peer.fd);
	memset(e->buf, 5, 64);
	hear_mark(peer.fd, 'R');
	post(e,
	     &(struct work){ .id = 3, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 64 });
	hear_mark(peer.fd, 'W');
	memory = pages(4096);
	begin_ns = now_ns();
	mr = must(
		ibv_reg_mr(e->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	check_ok(ibv_dereg_mr(mr));
	fork_once();
	check(now_ns() - begin_ns < 1800000000);
	tell_mark(peer.fd, 'G');
	expect_ok(e->scq, 3);
	peer_join(&peer);
	end_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stopped_write_does_not_reach_memory_that_was_deregistered),
		TEST(a_stopped_read_does_not_succeed_with_memory_that_was_deregistered),
		TEST(a_stopped_write_is_done_again_after_a_fork),
		TEST(a_stopped_write_by_the_kernel_is_not_waited_for),
		TEST(no_write_outlasts_the_rights_of_its_queue_pair),
		TEST(a_stopped_write_does_not_outlast_its_queue_pair),
		TEST(a_peer_that_waits_for_its_own_memory_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
