/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kills at every system call. A victim goes through all phases of a program's life against a survivor, under
 * ptrace; it is killed or stopped at the entry or exit of its Kth system call, or some instructions or
 * microseconds after it. The survivor holds what it sees against what it must see.
 *
 *   main.c      plans the rounds, starts the processes, looks for litter
 *   tracer.c    the victim under ptrace
 *   victim.c    the victim's phases
 *   survivor.c  the survivor: queue pair and bytes; survivor_cm.c: its connections by address
 */
#ifndef KILLS_H
#define KILLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cm_rig.h"

enum phase {
	PHASE_JOIN,
	PHASE_REGISTER,
	PHASE_CONNECT,
	PHASE_TRAFFIC,
	PHASE_CM,
	PHASE_MIGRATE,
	PHASE_LEAVE,
	PHASES
};

enum action {
	ACT_NONE,      /* the victim lives through all phases, and everything succeeds */
	ACT_KILL,      /* SIGKILL */
	ACT_STOP,      /* stopped for a while, then it goes on */
	ACT_STOP_KILL, /* stopped for a while, then killed */
};

struct plan {
	uint32_t call; /* system call of the victim, counted from 1 */
	uint32_t at_exit;
	uint32_t steps;   /* instructions of the thread after that */
	uint32_t wait_us; /* time after that */
	uint32_t stop_us;
	enum action action;
	uint32_t survivor_posts; /* or the victim does */
	uint32_t victim_listens; /* or it connects */
	uint32_t shared;         /* the victim's buffer is memory that the survivor can look at */
};

/* Memory of all processes, mapped before the first is started. */
struct board {
	_Atomic uint32_t phase; /* of the victim */
	uint16_t port;          /* of the survivor's listener */
	char memory[] __attribute__((
		aligned(4096))); /* SLOTS slots of the victim, and a counter after them */
};

extern struct board *board;

/* Request number i has slot i of each buffer; a counter for atomics follows the last slot. */
#define REQUESTS   40u
#define SLOT       4096u
#define RECV_SLOTS 16u
#define COUNTER    ((REQUESTS + RECV_SLOTS) * (size_t)SLOT)
#define BYTES      (COUNTER + 4096)
#define DEPTH      6u

#define CLEAN_ROUNDS 4u /* at the start: each way of posting and of connecting */

enum wr_kind { KIND_SEND, KIND_WRITE, KIND_WRITE_IMM, KIND_READ, KIND_ADD, KINDS };

static inline enum wr_kind kind_of(uint32_t request)
{
	return (enum wr_kind)(request % KINDS);
}

/* One byte to four packets. */
static inline uint32_t length_of(uint32_t request)
{
	return kind_of(request) == KIND_ADD ? 8 : 1 + request * 1237 % SLOT;
}

/* Patterns of what the two sides send, and of what is there to be read. */
#define SEED_SENT(request) (1000 + (request))
#define SEED_READ(request) (3000 + (request))

/* Between victim and survivor, over a socket whose hang-up tells of the victim's death. */
enum note_type { NOTE_ADDRESS, NOTE_READY, NOTE_PORT, NOTE_THROUGH };
struct note {
	enum note_type type;
	struct address address;
	uint32_t value;
};

/* What the survivor tells main after a round. */
struct verdict {
	uint32_t succeeded; /* requests, or messages that were received */
	uint32_t failed;
};

/* Requests; `e` has posted up to and without *posted. */
void request_post(struct end *e, uint32_t request);
struct options kill_options(const struct plan *plan);

void victim_run(int fd, const struct plan *plan);
void survivor_run(int control);

/* ---- the survivor's connections by address ---- */

struct cm_state;
struct cm_state *cm_open(void);
void cm_close(struct cm_state *cm);
/* Connects to the port of the victim. */
void cm_connect(struct cm_state *cm, uint16_t port);
/* Handles events that are there. */
void cm_progress(struct cm_state *cm);
/* No id but the listener is left. */
bool cm_is_idle(struct cm_state *cm);
void cm_describe(struct cm_state *cm, char *text, size_t size);

/* ---- the victim under ptrace ---- */

struct traced {
	pid_t pid;
	pid_t other; /* the survivor, which must not end */
	pid_t thread[64];
	unsigned int threads;
	uint32_t calls; /* that were entered */
	bool ended;
	int status; /* of waitpid(), once it has ended */
};

/* The process waits in a read from the other end of `go`; it is traced from there on. */
void traced_start(struct traced *t, pid_t pid, pid_t other, int go);
/* Runs it up to the moment of the plan. False when it ended before. */
bool traced_run(struct traced *t, const struct plan *plan);
void traced_kill(struct traced *t);
void traced_stop(struct traced *t); /* all threads */
void traced_go_on(struct traced *t);
/* Runs it to its end. */
void traced_finish(struct traced *t);
/* In the child: its system calls stop it, once it is traced. */
void traced_filter(void);

#endif
