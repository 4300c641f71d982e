/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Other processes for the fabric's tests. A peer is the test program itself, started again with the
 * name of a role; it talks to the test through two pipes, in 64-bit words. Every run has a host
 * directory of its own, and the run fails when anything is left in it.
 */
#ifndef TESTS_FABRIC_PEER_H
#define TESTS_FABRIC_PEER_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/link.h"
#include "fabric/numbers.h"
#include "fabric/poll.h"
#include "fabric/registry.h"
#include "fabric/segment.h"
#include "fabric/service.h"

#define WAIT_NS 30000000000ull

/* Waits for something that must happen; how long it takes is not what is tested. */
#define until(condition)                                                                           \
	do {                                                                                       \
		uint64_t until_end = fabric_now_ns() + WAIT_NS;                                    \
		while (!(condition)) {                                                             \
			assert_true(fabric_now_ns() < until_end);                                  \
			usleep(50);                                                                \
		}                                                                                  \
	} while (0)

/* ---- the test's side ---- */

struct peer {
	pid_t pid;
	int to, from;
	fabric_id_t id; /* 0 unless the role says it first */
};

static inline uint64_t peer_hear(struct peer *peer)
{
	uint64_t word;

	assert_int_equal(read(peer->from, &word, sizeof(word)), sizeof(word));
	return word;
}

static inline void peer_tell(struct peer *peer, uint64_t word)
{
	assert_int_equal(write(peer->to, &word, sizeof(word)), sizeof(word));
}

static inline struct peer peer_spawn(const char *role)
{
	struct peer peer = { 0 };
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	peer.pid = fork();
	assert_true(peer.pid >= 0);
	if (!peer.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl("/proc/self/exe", "peer", role, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	peer.to = to[1];
	peer.from = from[0];
	return peer;
}

/* A peer whose first word is its id. */
static inline struct peer peer_spawn_known(const char *role)
{
	struct peer peer = peer_spawn(role);

	peer.id = (fabric_id_t)peer_hear(&peer);
	assert_int_not_equal(peer.id, 0);
	return peer;
}

/* Tells it to end (its input closes); returns its exit status, or -signal. */
static inline int peer_end(struct peer *peer)
{
	int status;

	close(peer->to);
	close(peer->from);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline void peer_kill(struct peer *peer)
{
	kill(peer->pid, SIGKILL);
	assert_int_equal(peer_end(peer), -SIGKILL);
}

/* When it returns, every thread of the peer stands still. */
static inline void peer_stop(struct peer *peer)
{
	int status;

	kill(peer->pid, SIGSTOP);
	assert_int_equal(waitpid(peer->pid, &status, WUNTRACED), peer->pid);
	assert_true(WIFSTOPPED(status));
}

/* ---- the peer's side ---- */

static inline void say(uint64_t word)
{
	if (write(1, &word, sizeof(word)) != sizeof(word))
		exit(3);
}

/* False when the test wants us to end. */
static inline bool hear(uint64_t *word)
{
	return read(0, word, sizeof(*word)) == sizeof(*word);
}

static inline void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "peer %d: %s\n", (int)getpid(), what);
	exit(2);
}

/* ---- records that check themselves, and an echo ---- */

enum { PING = 1, PONG, DATA, IGNORE };

struct record {
	uint32_t op;
	uint32_t seq;
	uint32_t len;
	uint32_t sum;
	uint8_t bytes[];
};

static inline uint32_t record_sum(uint32_t seq, uint32_t len, const uint8_t *bytes)
{
	uint32_t sum = seq * 2654435761u + len;

	for (uint32_t i = 0; i < len; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static inline void record_fill(struct record *r, uint32_t op, uint32_t seq, uint32_t len)
{
	r->op = op;
	r->seq = seq;
	r->len = len;
	for (uint32_t i = 0; i < len; i++)
		r->bytes[i] = (uint8_t)(seq + i * 7);
	r->sum = record_sum(seq, len, r->bytes);
}

static inline bool record_is_whole(const struct record *r, uint32_t total)
{
	return total == sizeof(*r) + r->len && r->sum == record_sum(r->seq, r->len, r->bytes);
}

static _Atomic uint64_t seen_pings, seen_pongs, seen_data, seen_broken, seen_ups, seen_downs;
static _Atomic uint64_t seen_rooms;

static inline bool send_record(struct fabric_link *link, uint32_t op, uint32_t seq, uint32_t len)
{
	struct record *r;

	fabric_link_tx_lock(link);
	r = fabric_link_reserve(link, (uint32_t)sizeof(*r) + len);
	if (r) {
		record_fill(r, op, seq, len);
		fabric_link_publish(link);
	}
	fabric_link_tx_unlock(link);
	return r;
}

static inline unsigned int drain_records(struct fabric_link *link)
{
	const struct record *r;
	unsigned int count = 0;
	uint32_t total;

	while ((r = fabric_link_peek(link, &total))) {
		if (!record_is_whole(r, total))
			seen_broken++;
		else if (r->op == PING && !send_record(link, PONG, r->seq, r->len))
			return count; /* no room: the record stays */
		else if (r->op == PING)
			seen_pings++;
		else if (r->op == PONG)
			seen_pongs++;
		else if (r->op == DATA)
			seen_data++;
		fabric_link_release(link);
		count++;
	}
	return count;
}

static inline void count_up(struct fabric_link *link)
{
	seen_ups++;
}

static inline void count_down(struct fabric_link *link)
{
	seen_downs++;
}

static inline void count_room(struct fabric_link *link)
{
	seen_rooms++;
}

static inline const struct fabric_config *record_config(void)
{
	static const struct fabric_config config = {
		.segment_size = 1 << 20,
		.drain = drain_records,
		.link_up = count_up,
		.link_down = count_down,
		.link_room = count_room,
	};

	seen_pings = seen_pongs = seen_data = seen_broken = seen_ups = seen_downs = 0;
	seen_rooms = 0;
	return &config;
}

/* Role: joins, says its id, echoes until told to end. None of its threads polls. */
static inline int role_echo(void)
{
	uint64_t word;
	uint32_t first, count;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	say(fabric_self());
	while (hear(&word))
		say(seen_pings);
	fabric_fini();
	return 0;
}

/* Role: the same, in a process that polls all the time. */
static inline int role_echo_polling(void)
{
	uint32_t first, count;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	fcntl(0, F_SETFL, O_NONBLOCK);
	say(fabric_self());
	for (uint32_t turn = 0;; turn++) {
		char byte;

		fabric_poll_enter();
		fabric_poll_links();
		if (!(turn % 1024) && read(0, &byte, 1) == 0)
			break;
	}
	fabric_fini();
	return 0;
}

/* ---- a directory of one's own ---- */

static char peer_dir[64];

static inline int group_setup(void **state)
{
	snprintf(peer_dir, sizeof(peer_dir), "/tmp/verbena-test-XXXXXX");
	if (!mkdtemp(peer_dir))
		return -1;
	setenv("VERBENA_DIR", peer_dir, 1);
	return 0;
}

/* Fails when a test left something there. */
static inline int group_teardown(void **state)
{
	return rmdir(peer_dir);
}

/* With a block of numbers, hence reachable. */
static inline int up(void **state)
{
	uint32_t first, count;
	int err = fabric_init(record_config());

	return err ? err : fabric_qpn_block_get(&first, &count);
}

static inline int down(void **state)
{
	fabric_fini();
	return 0;
}

/* True when no file is left in the directory's folder. */
static inline bool nothing_left(void)
{
	char probe[80];

	snprintf(probe, sizeof(probe), "%s", peer_dir);
	if (rmdir(probe))
		return false;
	return mkdir(probe, 0700) == 0;
}

#define PEER_ROLE(name, fn)                                                                        \
	do {                                                                                       \
		if (argc > 1 && !strcmp(argv[1], name))                                            \
			return fn();                                                               \
	} while (0)

/* At the head of main(): a stuck test or peer ends by itself, a peer with its test. */
static inline void peer_main(int argc)
{
	alarm(280);
	if (argc > 1)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
}

#endif
