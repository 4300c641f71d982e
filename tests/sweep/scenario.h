/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sweeps run: parts, each about one subject, which together use every public call. A call may fail, and
 * the part does without its object. It does not forgive a destruction that fails, or a request that was accepted
 * and does not complete.
 */
#ifndef TESTS_SCENARIO_H
#define TESTS_SCENARIO_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

enum {
	PART_MLX4 = 1 << 0,  /* runs on mlx4_0, too */
	PART_ONLY4 = 1 << 1, /* runs on mlx4_0 only */
	PART_FAR = 1 << 2,   /* talks to another process */
	PART_OPENS = 1 << 3, /* opens the adapter itself */
	PART_IPV4 = 1 << 4,  /* needs an IPv4 address */
	PART_LOSSY = 1 << 5, /* packets that are lost are lost: UC, datagrams */
	PART_WARM = 1 << 6,  /* runs once before: libcrypto's first use is libcrypto's affair */
};

struct part {
	const char *name;
	void (*run)(void);
	unsigned int flags;
};

extern const struct part scenario_parts[];
extern const unsigned int scenario_part_count;

/* Before anything is opened: the processes that the part talks to. */
void scenario_prepare(const struct part *part, const char *adapter);
/* What a part runs on. A failure is a problem. */
void scenario_open(const struct part *part, const char *adapter);
void scenario_close(const struct part *part);
enum scenario_mode {
	SCENARIO_STRICT, /* no call may fail */
	SCENARIO_FAULTY, /* nor here, but packets are lost, and what was not promised is lost with them */
	SCENARIO_WEAK, /* calls may fail */
};

/* Runs once. The number of problems since the last call, each of which was printed. */
int scenario_run(const struct part *part, enum scenario_mode mode);

/* ---- for the parts ---- */

#define WAIT_NS   20000000000ull
#define BUF_BYTES (1u << 17)
#define HALF      (BUF_BYTES / 2)
#define BIG       20000u
#define QKEY      0x1234u
/* wr_id of receives; those of a shared queue need not complete. */
#define OF_RECV 6u
#define OF_SRQ  7u
#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* An adapter, and queues that most parts use. */
struct scenario {
	bool strict, faulty, lossy;
	int problems;
	const char *name;
	struct ibv_context *ctx;
	bool mlx5, ethernet;
	int gid_index;
	union ibv_gid gid;
	uint16_t lid;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	unsigned int sends, receives; /* requests whose completions have not come */
};

extern struct scenario a;

/* Calls of the program itself, which no sweep lets fail: between the two. */
void own_begin(void);
void own_end(void);
#define OWN(call)                                                                                  \
	({                                                                                         \
		own_begin();                                                                       \
		__typeof__(call) res_ = (call);                                                    \
		own_end();                                                                         \
		res_;                                                                              \
	})

uint64_t now_ns(void);
void problem(const char *what, const char *why);
/* A call that may fail for want of something. True: it did not. */
bool did(bool good, const char *what);

#define MAKE(call) did((call) != NULL, #call)
/* For calls that return 0, an errno, or -1 and errno. */
#define DO(call)                                                                                   \
	({                                                                                         \
		int err_ = (call);                                                                 \
		if (err_ > 0)                                                                      \
			errno = err_;                                                              \
		did(!err_, #call);                                                                 \
	})
/* A destruction, which needs nothing that may be lacking. */
#define END(call)                                                                                  \
	do {                                                                                       \
		int err_ = (call);                                                                 \
		if (err_)                                                                          \
			problem(#call, strerror(err_ > 0 ? err_ : errno));                         \
	} while (0)

bool open_adapter(const char *name);
bool open_queues(void);
void close_queues(void);
/*
 * Requests that were accepted complete: sends, and with `receives` receives. With `good` they succeed, if
 * nothing may fail.
 */
void reap(const char *what, bool receives, bool good);
/* Receives complete if nothing may fail or be lost. */
bool receives_come(void);

struct ibv_ah_attr address_of(const union ibv_gid *gid, uint16_t lid);
uint8_t ack_timeout(void);
bool to_init(struct ibv_qp *qp);
bool connect_to(struct ibv_qp *qp, uint32_t qpn, const struct ibv_ah_attr *to);
/* Two queue pairs with each other. */
bool connect_both(struct ibv_qp *one, struct ibv_qp *two);
struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *srq);
/* Ends queue pairs, either of which may be NULL, after all that they have accepted has completed. */
void end_qps(struct ibv_qp *one, struct ibv_qp *two);
void post_recv(struct ibv_qp *qp, struct ibv_srq *srq, uint32_t len);
void post(struct ibv_qp *qp, struct ibv_send_wr *wr, uint32_t len);
void post_rdma(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t len, uint64_t addr,
	       uint32_t rkey);

/* The processes that part_other_process() talks to, one after the other. */
void far_ends_start(const char *adapter);
void far_ends_stop(void);

#define PART(name) void part_##name(void)
PART(open);
PART(rc);
PART(uc);
PART(ud);
PART(srq);
PART(xrc);
PART(dc);
PART(other_process);
PART(queries);
PART(import);
PART(memory);
PART(comp_cntr);
PART(qp);
PART(async_event);
PART(windows);
PART(wr);
PART(wr_ud);
PART(mcast);
PART(cq);
PART(tags);
PART(xrc_calls);
PART(frames);
PART(matchers);
PART(commands);
PART(commands_on_verbs);
PART(direct);
PART(rings);
PART(mkeys);
PART(crypto);
PART(rules);
PART(mlx4);
PART(connection);
PART(rejection);
PART(endpoints);
PART(groups);
PART(ids);
PART(streams);
PART(dgram_sockets);
#undef PART

#endif
