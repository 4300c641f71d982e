/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the traffic tests share: checks, a fresh process for every test, ends (a queue pair with all
 * that it needs), and processes to talk to.
 *
 * Every test runs in a process of its own, forked before any device is opened; so do the peers that
 * it starts. A check that fails says where and ends the process that it failed in, and with it the
 * test. Nothing here sleeps to wait for something: every wait looks, and has an end.
 */
#ifndef TRAFFIC_RIG_H
#define TRAFFIC_RIG_H

#include "cmocka_all.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <infiniband/verbs.h>

#define array_size(a) (sizeof(a) / sizeof((a)[0]))

/* ---- checks ---- */

_Noreturn void rig_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void rig_check_equal(const char *file, int line, const char *text, long long got, long long want);
uintptr_t rig_must(const char *file, int line, const char *text, uintptr_t got);
/* Ends the test as skipped: the adapter does not have what it is about. */
_Noreturn void rig_skip(const char *why);
/* For what qemu-user 7.2 cannot do; tests/arm64/arm64.sh sets TEST_UNDER_QEMU. */
void rig_skip_under_qemu(const char *why);

#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			rig_fail(__FILE__, __LINE__, "%s", #condition);                            \
	} while (0)
#define check_equal(got, want)                                                                     \
	rig_check_equal(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
/* For calls that return 0 or an errno. */
#define check_ok(call) check_equal(call, 0)
/* For calls that return a pointer: NULL fails, with what errno says. */
#define must(call) ((typeof(call))rig_must(__FILE__, __LINE__, #call, (uintptr_t)(call)))
/* For calls that return NULL and errno. */
#define check_refused(call, want)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		check((call) == NULL);                                                             \
		check_equal(errno, want);                                                          \
	} while (0)

#define WAIT_MS 20000
#define TEST_MS (5 * WAIT_MS)

uint64_t now_ns(void);

/* Looks at `condition` again and again until it holds; a limit, not a pause. */
#define wait_for(condition)                                                                        \
	do {                                                                                       \
		uint64_t end_ns_ = now_ns() + WAIT_MS * 1000000ull;                                \
		while (!(condition)) {                                                             \
			if (now_ns() > end_ns_)                                                    \
				rig_fail(__FILE__, __LINE__, "waited in vain for %s", #condition); \
			rig_relax();                                                               \
		}                                                                                  \
	} while (0)
void rig_relax(void);

/* ---- running ---- */

#define TEST(fn)                                                                                   \
	{                                                                                          \
#fn, rig_isolate, NULL, NULL, (void *)(fn)                                         \
	}
void rig_isolate(void **state);

/* ---- the device ---- */

/* The adapter that this run is about; opened once per process. */
struct ibv_context *rig_context(void);
struct ibv_context *rig_open(void);
void rig_forget(void); /* in a forked child: what was opened is the parent's */
bool rig_is_mlx5(void);
bool rig_is_ethernet(void);
/* The first RoCEv2 GID, or the first GID of an InfiniBand port. */
int rig_gid_index(void);
const struct ibv_device_attr *rig_attr(void);
/* 0 when the extended query fails. */
struct ibv_device_attr_ex rig_attr_ex(void);
bool rig_on_wire(void); /* all traffic is packets over UDP */

/* ---- data ---- */

void fill(void *buf, size_t len, unsigned int seed);
bool is_filled(const void *buf, size_t len, unsigned int seed);
bool is_all(const void *buf, size_t len, unsigned char byte);
#define check_filled(buf, len, seed) check(is_filled(buf, len, seed))
void *pages(size_t len); /* fresh zeroed memory, page aligned */

/* ---- ends ---- */

struct options {
	enum ibv_qp_type type;
	uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_bytes, cqe;
	bool sig_all;
	bool srq;
	bool events;
	size_t bytes; /* of the buffer */
	int mr_access, qp_access;
	enum ibv_mtu mtu;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, rd_atomic;
	uint32_t psn; /* first one sent */
	uint32_t qkey;
	uint8_t traffic_class;
	uint64_t send_ops; /* of ibv_create_qp_ex(); 0: ibv_create_qp() */
	/* The shared receive queue matches tags, with so many buffers; rcq is an extended one. */
	uint32_t tags, tag_ops;
};

struct options options_of(enum ibv_qp_type type);

/* What the other side has to know. */
struct address {
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
	uint16_t lid;
	uint32_t rkey;
	uint64_t va;
	uint64_t len;
	uint32_t srqn;
};

struct end {
	struct options o;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	bool owns_pd;
	struct ibv_comp_channel *channel; /* with o.events */
	struct ibv_cq *scq, *rcq;
	struct ibv_srq *srq; /* with o.srq */
	struct ibv_qp *qp;
	char *buf;
	struct ibv_mr *mr;
	struct address to; /* once connected */
};

struct end *end_open(const struct options *o); /* the queue pair is in RESET */
/* An end in a protection domain of the caller, which end_close() leaves. */
struct end *end_open_in(const struct options *o, struct ibv_context *ctx, struct ibv_pd *pd);
void end_close(struct end *e);   /* every destroy must say 0 */
void end_drop_qp(struct end *e); /* the queue pair only */
/* Another queue pair with everything else of `e`, which must outlive it. */
struct end *end_twin(struct end *e);
void twin_close(struct end *e);
struct address end_address(const struct end *e);

/* The steps, and all of them (UD needs no address). */
void end_to_init(struct end *e);
void end_to_rtr(struct end *e, const struct address *to);
void end_to_rts(struct end *e);
void end_connect(struct end *e, const struct address *to);
void end_reset(struct end *e);
void end_to_error(struct end *e);
enum ibv_qp_state end_state(const struct end *e);
void address_to_ah_attr(const struct address *to, struct ibv_ah_attr *attr);

/* Two ends in this process. */
void ends_connect(struct end *a, struct end *b);

struct pair {
	struct end *a, *b;
};

/* Two ends, connected with each other. NULL: RC. */
struct pair pair_open(const struct options *o);
void pair_close(struct pair *p);
/* What a has posted is done, and its completions are there, without looking at them. RC or UC. */
void pair_settle(struct pair *p);

/* ---- work ---- */

/* A request with one element in the end's own buffer. */
struct work {
	uint64_t id;
	enum ibv_wr_opcode op;
	unsigned int flags;
	size_t off;
	uint32_t len;
	uint32_t imm; /* host order; or the key to invalidate */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t compare, swap;
	/* UD */
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
};

int try_post(struct end *e, const struct work *w); /* what ibv_post_send says */
void post(struct end *e, const struct work *w);
void post_recv(struct end *e, uint64_t id, size_t off, uint32_t len);

/* The next completion; fails when none comes in time. */
struct ibv_wc wait_wc(struct ibv_cq *cq);
struct ibv_wc expect_wc_at(const char *file, int line, struct ibv_cq *cq, uint64_t id,
			   enum ibv_wc_status status);
#define expect_wc(cq, id, status) expect_wc_at(__FILE__, __LINE__, cq, id, status)
#define expect_ok(cq, id)         expect_wc(cq, id, IBV_WC_SUCCESS)
/* Nothing is there now. */
void check_empty_at(const char *file, int line, struct ibv_cq *cq);
#define check_empty(cq) check_empty_at(__FILE__, __LINE__, cq)

/* The next asynchronous event, acknowledged; fails when none comes in time. */
struct ibv_async_event wait_event(struct ibv_context *ctx);
/* No event is there now. */
bool event_is_there(struct ibv_context *ctx);
bool is_readable(int fd, int timeout_ms);

/* ---- processes ---- */

struct peer {
	pid_t pid;
	int fd; /* to talk with it */
};

/* Before this process opens a device. fn gets the other end of the socket. */
struct peer peer_start(void (*fn)(int fd));
void peer_join(struct peer *p); /* it must end well */
/* Runs it to its end, and returns what it reports of the wire; valid until the next. */
char *peer_report(void (*fn)(int fd));
void peer_kill(struct peer *p); /* as kill -9 */
/* Forks a child that exits at once. */
void fork_once(void);
void tell(int fd, const void *what, size_t len);
void hear(int fd, void *what, size_t len);
void tell_mark(int fd, char mark);
void hear_mark(int fd, char mark);
void tell_fd(int fd, int what); /* a descriptor */
int hear_fd(int fd);
/* Connects the end with the one that the process at the other end of fd has. */
void end_meet(struct end *e, int fd);

#endif
