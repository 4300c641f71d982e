/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes are killed at random moments, while they create and destroy objects and send by every
 * transport. Their peers get exceeded retries, go on with the other processes and end; no files are left.
 * TRAFFIC_KILLS is the number of kills, TRAFFIC_SEED chooses the moments.
 */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES   (256u << 10)
#define DEPTH   16u
#define COUNTER (BYTES - 64)

static char xrc_file[256];

static unsigned int number_of(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 0) : otherwise;
}

/* Short for a process that will be killed; the others may have to wait for a processor. */
static struct options options_for(bool doomed)
{
	struct options o = options_of(IBV_QPT_RC);

	if (doomed) {
		o.timeout = 12; /* 17 ms */
		o.retry_cnt = 3;
	}
	o.bytes = BYTES;
	o.srq = true;
	return o;
}

/* ---- endless work ---- */

static bool post_any(struct end *e, unsigned int i)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						  IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_RDMA_READ,
						  IBV_WR_RDMA_WRITE_WITH_IMM };
	enum ibv_wr_opcode op = ops[i % array_size(ops)];
	bool counts = op == IBV_WR_ATOMIC_FETCH_AND_ADD;

	return !try_post(e, &(struct work){ .id = i,
					    .op = op,
					    .flags = IBV_SEND_SIGNALED,
					    .len = counts ? 8 : 1 + i * 977 % 20000,
					    .raddr = e->to.va + (counts ? COUNTER : 0),
					    .rkey = e->to.rkey,
					    .compare = 1 });
}

static void post_srq(struct end *e, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + 32768, 32768, e->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	check_ok(ibv_post_srq_recv(e->srq, &wr, &bad));
}

struct load {
	unsigned int sent, done;
};

/* A turn: some requests go out, some completions come in. The first failure, or success. */
static enum ibv_wc_status work_on(struct end *e, struct load *l)
{
	struct ibv_wc wc;

	/* Windows, which the victim binds, take places, too. */
	while (l->sent - l->done < DEPTH && post_any(e, l->sent))
		l->sent++;
	while (ibv_poll_cq(e->scq, 1, &wc) == 1) {
		l->done++;
		if (wc.status)
			return wc.status;
	}
	while (ibv_poll_cq(e->rcq, 1, &wc) == 1)
		if (!wc.status)
			post_srq(e, wc.wr_id);
	return IBV_WC_SUCCESS;
}

static struct end *open_end(bool doomed)
{
	struct options o = options_for(doomed);
	struct end *e = end_open(&o);

	for (unsigned int i = 0; i < 60; i++)
		post_srq(e, i);
	return e;
}

/* ---- the victim ---- */

static void bind_and_invalidate(struct end *e)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };

	if (!mw)
		return;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = e->mr, .addr = (uintptr_t)e->buf, .length = 4096, .mw_access_flags = 0
	};
	if (!ibv_post_send(e->qp, &wr, &bad)) {
		wr = (struct ibv_send_wr){ .opcode = IBV_WR_LOCAL_INV,
					   .invalidate_rkey = wr.bind_mw.rkey };
		ibv_post_send(e->qp, &wr, &bad);
	}
	ibv_dealloc_mw(mw);
}

static void make_and_unmake(struct end *e, unsigned int i)
{
	struct options o = options_of(i % 2 ? IBV_QPT_UD : IBV_QPT_RC);
	size_t bytes = 4096u << i % 6;
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = open(xrc_file, O_RDONLY | O_CLOEXEC),
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(e->ctx, &attr);
	char *buf = pages(bytes);
	struct ibv_mr *mr = must(ibv_reg_mr(e->pd, buf, bytes, IBV_ACCESS_LOCAL_WRITE));
	struct end *other = end_open_in(&o, e->ctx, e->pd);
	struct pair pair;

	memset(buf, 1, bytes);
	bind_and_invalidate(e);
	end_close(other);
	check_ok(ibv_dereg_mr(mr));
	munmap(buf, bytes);
	if (i % 4 == 0) {
		pair = pair_open(NULL);
		post_recv(pair.b, 1, 0, 64);
		post(pair.a, &(struct work){ .id = 2, .op = IBV_WR_SEND, .len = 64 });
		pair_settle(&pair);
		pair_close(&pair);
	}
	if (xrcd)
		check_ok(ibv_close_xrcd(xrcd));
	close(attr.fd);
}

static void victim(int fd)
{
	struct end *e = open_end(true);
	struct load load = { 0 };

	end_meet(e, fd);
	tell_mark(fd, 'g');
	for (unsigned int i = 0;; i++) {
		work_on(e, &load);
		if (i % 8 == 0)
			make_and_unmake(e, i / 8);
	}
}

/* ---- processes that are not killed ---- */

/* Both exchange messages until the counting process ends them. */
static void work_together(struct end *e, struct load *l, unsigned int much)
{
	unsigned int goal = l->done + much;
	uint64_t end_ns = now_ns() + WAIT_MS * 1000000ull;

	while ((int)(goal - l->done) > 0) {
		check_equal(work_on(e, l), IBV_WC_SUCCESS);
		check(now_ns() < end_ns);
	}
}

static void survivor(int fd)
{
	struct end *friend = open_end(false);
	struct load load = { 0 };
	char order;

	end_meet(friend, fd);
	for (hear(fd, &order, 1); order == 'n'; hear(fd, &order, 1)) {
		struct end *e = open_end(true);
		struct load doomed = { 0 };
		enum ibv_wc_status status;
		uint64_t end_ns = now_ns() + WAIT_MS * 1000000ull;

		end_meet(e, fd);
		tell_mark(fd, 'g');
		do {
			status = work_on(e, &doomed);
			check(now_ns() < end_ns);
		} while (status == IBV_WC_SUCCESS);
		check_equal(status, IBV_WC_RETRY_EXC_ERR);
		work_together(friend, &load, 50);
		end_close(e);
		tell_mark(fd, 'd');
	}
	/* The other one may not be through with us. */
	tell_mark(fd, 'q');
	while (!is_readable(fd, 0))
		work_on(friend, &load);
	hear_mark(fd, 'E');
	end_to_error(friend);
	end_close(friend);
}

static void friend_of_all(int fd)
{
	struct end *e = open_end(false);
	struct load load = { 0 };

	end_meet(e, fd);
	tell_mark(fd, 'q');
	while (!is_readable(fd, 0))
		work_on(e, &load);
	hear_mark(fd, 'E');
	end_to_error(e);
	end_close(e);
}

/* ---- the test: opens no device, so that it may fork as often as it likes ---- */

static void introduce(int a, int b)
{
	struct address of_a, of_b;

	hear(a, &of_a, sizeof(of_a));
	hear(b, &of_b, sizeof(of_b));
	tell(a, &of_b, sizeof(of_b));
	tell(b, &of_a, sizeof(of_a));
	hear_mark(a, 'R');
	hear_mark(b, 'R');
	tell_mark(a, 'R');
	tell_mark(b, 'R');
}

/* Failures of queue pairs are kept on purpose (hca/inspect/failure.c). */
static unsigned int count_entries(const char *path)
{
	DIR *dir = path ? opendir(path) : NULL;
	unsigned int count = 0;

	for (struct dirent *d; dir && (d = readdir(dir));)
		count += d->d_name[0] != '.' && strncmp(d->d_name, "failures", 8);
	if (dir)
		closedir(dir);
	return count;
}

static unsigned int descriptors_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return count_entries(path);
}

static void a_process_killed_at_any_moment_breaks_no_other_and_leaves_no_files(void)
{
	unsigned int kills = number_of("TRAFFIC_KILLS", 8), seed = number_of("TRAFFIC_SEED", 1);
	unsigned int files = 0, fds = 0;
	struct peer s = peer_start(survivor), f = peer_start(friend_of_all);
	int fd;

	snprintf(xrc_file, sizeof(xrc_file), "/tmp/verbena-kills.XXXXXX");
	fd = mkstemp(xrc_file);
	check(fd >= 0);
	close(fd);
	introduce(s.fd, f.fd);
	hear_mark(f.fd, 'q');
	for (unsigned int i = 0; i < kills; i++) {
		struct peer v = peer_start(victim);

		tell_mark(s.fd, 'n');
		introduce(s.fd, v.fd);
		hear_mark(s.fd, 'g');
		hear_mark(v.fd, 'g');
		/* not a wait for an event: the moment is random */
		usleep((unsigned int)rand_r(&seed) % 30000);
		peer_kill(&v);
		hear_mark(s.fd, 'd');
		if (i == 2) {
			files = count_entries(getenv("VERBENA_DIR"));
			fds = descriptors_of(s.pid);
		}
	}
	check(kills < 4 || descriptors_of(s.pid) <= fds + 2);
	check(kills < 4 || count_entries(getenv("VERBENA_DIR")) <= files + 1);
	tell_mark(s.fd, 'q');
	hear_mark(s.fd, 'q');
	tell_mark(s.fd, 'E');
	tell_mark(f.fd, 'E');
	peer_join(&s);
	peer_join(&f);
	check(count_entries(getenv("VERBENA_DIR")) <= 1);
	unlink(xrc_file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_killed_at_any_moment_breaks_no_other_and_leaves_no_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
