/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/peer.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "fabric/clock.h"
#include "fabric/directory.h"
#include "fabric/fabric.h"
#include "fabric/memfd.h"
#include "fabric/numbers.h"
#include "fabric/poll.h"
#include "fabric/segment.h"

/* As the first version of the protocol has it; a change of the version changes this test. */
struct hello {
	uint32_t magic;
	uint16_t version, kind;
	fabric_id_t from, to;
	uint32_t ring_size, flags;
	uint64_t segment_size;
};

static struct fabric_link *link_to(fabric_id_t id)
{
	struct fabric_link *link = fabric_link_get(id);

	assert_non_null(link);
	until(fabric_link_state(link) != FABRIC_LINK_CONNECTING);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_UP);
	return link;
}

static void ping(struct fabric_link *link, uint32_t count)
{
	uint64_t before = seen_pongs;

	for (uint32_t i = 0; i < count; i++)
		until(send_record(link, PING, i, i % 300));
	until(seen_pongs == before + count);
	assert_int_equal(seen_broken, 0);
}

/* ---- strangers ---- */

static int dial(fabric_id_t id)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct fabric_process p;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), n;

	assert_int_equal(fabric_process_find(id, &p), 0);
	n = sprintf(name.sun_path + 1, "verbena-");
	for (int i = 0; i < FABRIC_TOKEN_BYTES; i++)
		n += sprintf(name.sun_path + 1 + n, "%02x", p.token[i]);
	assert_int_equal(connect(sock, (struct sockaddr *)&name,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)),
			 0);
	return sock;
}

static void send_with(int sock, const void *bytes, size_t len, const int *fds, size_t count)
{
	char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec data = { .iov_base = (void *)bytes, .iov_len = len };
	struct msghdr msg = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (count) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(sock, &msg, 0), len);
}

/* Sends it and waits for the refusal and the hang-up. */
static void expect_refusal(fabric_id_t id, const void *bytes, size_t len, const int *fds,
			   size_t count)
{
	struct hello answer;
	int sock = dial(id);
	ssize_t n;

	send_with(sock, bytes, len, fds, count);
	n = recv(sock, &answer, sizeof(answer), 0);
	if (n > 0) {
		assert_int_equal(n, sizeof(answer));
		assert_int_equal(answer.kind, 4);
		n = recv(sock, &answer, sizeof(answer), 0);
	}
	assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
	close(sock);
}

static int count_files(pid_t pid)
{
	char path[64], target[2];
	int count = 0;

	for (int fd = 0; fd < 200; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		count += readlink(path, target, sizeof(target)) > 0;
	}
	return count;
}

static void messages_of_foreign_processes_are_refused_and_forgotten(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct hello good = { .magic = 0x6c6e6b76,
			      .version = 2,
			      .kind = 1,
			      .from = fabric_self(),
			      .to = peer.id,
			      .ring_size = 65536,
			      .segment_size = fabric_segment_size() };
	struct hello bad;
	struct fabric_link *link;
	int rings, fake, event, files, pipes[2];
	int segment = -1;

	assert_int_equal(fabric_ring_memfd(65536, 2, &rings), 0);
	assert_int_equal(fabric_memfd_create("fake", fabric_segment_size(), &segment), 0);
	fake = open("/dev/null", O_RDWR | O_CLOEXEC);
	event = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	files = count_files(peer.pid);
	for (int i = 0; i < 3; i++) {
		expect_refusal(peer.id, "hi", 2, NULL, 0);
		bad = good, bad.magic++;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.version++;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.kind = 2;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.to++;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.from += FABRIC_SLOTS;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.ring_size = 0x80000000;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.segment_size = 1ull << 60;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		bad = good, bad.flags = 1;
		expect_refusal(peer.id, &bad, sizeof(bad), (int[]){ rings, segment, event }, 3);
		/* No descriptors, too few, too many, and ones of the wrong kind. */
		expect_refusal(peer.id, &good, sizeof(good), NULL, 0);
		expect_refusal(peer.id, &good, sizeof(good), (int[]){ rings }, 1);
		expect_refusal(peer.id, &good, sizeof(good), (int[]){ rings, segment }, 2);
		expect_refusal(peer.id, &good, sizeof(good),
			       (int[]){ rings, segment, event, fake, fake, fake }, 6);
		expect_refusal(peer.id, &good, sizeof(good), (int[]){ fake, segment, event }, 3);
		expect_refusal(peer.id, &good, sizeof(good), (int[]){ rings, fake, event }, 3);
		expect_refusal(peer.id, &good, sizeof(good), (int[]){ rings, segment, pipes[1] },
			       3);
		/* A memfd of the right size without our page in it. */
		expect_refusal(peer.id, &good, sizeof(good), (int[]){ rings, segment, event }, 3);
	}
	assert_true(fabric_counter_read(fabric_id_slot(peer.id), FABRIC_COUNT_LINKS_REFUSED) >= 40);
	/* Every descriptor that came with them was closed. */
	until(count_files(peer.pid) == files);
	link = link_to(peer.id);
	ping(link, 10);
	fabric_link_put(link);
	close(rings);
	close(segment);
	close(fake);
	close(event);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(peer_end(&peer), 0);
}

static void a_silent_connection_does_not_delay_other_handshakes(void **state)
{
	struct peer peer = peer_spawn_known("echo");
	struct fabric_link *link;
	int silent[20];

	for (int i = 0; i < 20; i++)
		silent[i] = dial(peer.id);
	link = link_to(peer.id);
	ping(link, 10);
	fabric_link_put(link);
	for (int i = 0; i < 20; i++)
		close(silent[i]);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- no descriptors left ---- */

static int role_no_files(void)
{
	struct rlimit limit, before;
	uint32_t first, count;
	uint64_t word;

	must(!fabric_init(record_config()), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	getrlimit(RLIMIT_NOFILE, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)dup(0);
	must(!setrlimit(RLIMIT_NOFILE, &limit), "limit");
	close((int)limit.rlim_cur);
	say(fabric_self());
	must(hear(&word), "go on");
	must(!setrlimit(RLIMIT_NOFILE, &before), "limit");
	while (hear(&word))
		;
	fabric_fini();
	return 0;
}

static void a_process_without_descriptors_waits_and_does_not_spin(void **state)
{
	const struct timespec nap = { .tv_nsec = 300000000 };
	struct peer peer = peer_spawn_known("no-files");
	struct fabric_link *link = fabric_link_get(peer.id);
	uint32_t slot = fabric_id_slot(peer.id);
	uint64_t before, begin;

	until(fabric_counter_read(slot, FABRIC_COUNT_WAKEUPS) > 2);
	before = fabric_counter_read(slot, FABRIC_COUNT_WAKEUPS);
	begin = fabric_now_ns();
	nanosleep(&nap, NULL);
	assert_true(fabric_counter_read(slot, FABRIC_COUNT_WAKEUPS) - before <
		    (fabric_now_ns() - begin) / 3000000);
	assert_int_equal(fabric_link_state(link), FABRIC_LINK_CONNECTING);
	peer_tell(&peer, 0);
	until(fabric_link_state(link) == FABRIC_LINK_UP);
	ping(link, 10);
	fabric_link_put(link);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- a peer that writes nonsense ---- */

static int role_swallow(void)
{
	const struct fabric_config config = { .segment_size = 8192 };
	uint32_t first, count;
	uint64_t word;

	must(!fabric_init(&config), "init");
	must(!fabric_qpn_block_get(&first, &count), "block");
	say(fabric_self());
	while (hear(&word)) {
		for (int i = 0; i < 200; i++) {
			fabric_poll_enter();
			fabric_poll_links();
		}
		say(0);
	}
	fabric_fini();
	return 0;
}

static void random_bytes_in_the_ring_end_links_and_nothing_else(void **state)
{
	struct peer peer = peer_spawn_known("swallow");
	uint64_t seed = fabric_now_ns();

	print_message("seed %llu\n", (unsigned long long)seed);
	for (int round = 0; round < 60; round++) {
		struct fabric_link *link = link_to(peer.id);
		struct fabric_tx *tx = &link->tx;

		for (int burst = 0; burst < 30; burst++) {
			fabric_link_tx_lock(link);
			if (!tx->size) {
				fabric_link_tx_unlock(link);
				break;
			}
			for (int i = 0; i < 200; i++) {
				uint64_t value;

				seed = seed * 6364136223846793005ull + 1442695040888963407ull;
				value = seed >> 17;
				if (round % 2)
					/* Lengths that are nearly right get further. */
					value = FABRIC_PRESENT + value % 140000;
				atomic_store(fabric_ring_word(tx->data, tx->mask,
							      (uint32_t)(seed >> 40) & ~63u),
					     value);
			}
			atomic_store(&tx->ctl->want, (uint32_t)seed);
			atomic_store(&tx->ctl->kicked, (uint32_t)(seed >> 9) & 1);
			fabric_link_kick(link);
			fabric_link_tx_unlock(link);
			peer_tell(&peer, 0);
			peer_hear(&peer);
		}
		fabric_link_kill(link);
		until(fabric_link_state(link) == FABRIC_LINK_DEAD);
		fabric_link_put(link);
	}
	assert_true(fabric_counter_read(fabric_id_slot(peer.id), FABRIC_COUNT_LINKS_CORRUPT) > 0);
	assert_int_equal(peer_end(&peer), 0);
}

/* ---- kernels and sandboxes without membarrier ---- */

static void forbid_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
	must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "filter");
}

static int role_plain_echo(void)
{
	forbid_membarrier();
	return role_echo();
}

static int role_plain_meet(void)
{
	struct fabric_link *link;
	uint64_t other;

	forbid_membarrier();
	must(!fabric_init(record_config()), "init");
	say(fabric_self());
	must(hear(&other), "whom");
	link = fabric_link_get((fabric_id_t)other);
	while (fabric_link_state(link) == FABRIC_LINK_CONNECTING)
		usleep(50);
	must(fabric_link_state(link) == FABRIC_LINK_UP, "not up");
	must(link->fence, "no fence");
	for (uint32_t i = 0; i < 2000; i++) {
		while (!send_record(link, PING, i, i % 300))
			usleep(50);
		while (seen_pongs <= i)
			if (i % 100 < 50) {
				fabric_poll_enter();
				fabric_poll_links();
			}
	}
	say(seen_broken);
	fabric_link_put(link);
	fabric_fini();
	return 0;
}

static void without_membarrier_links_fence_and_work(void **state)
{
	struct peer plain = peer_spawn_known("plain-echo"), meet = peer_spawn_known("plain-meet");
	struct fabric_link *link = link_to(plain.id);

	assert_true(link->fence);
	ping(link, 1000);
	peer_tell(&meet, plain.id);
	assert_int_equal(peer_hear(&meet), 0);
	fabric_link_put(link);
	assert_int_equal(peer_end(&meet), 0);
	assert_int_equal(peer_end(&plain), 0);
}

#define HANDSHAKE_TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HANDSHAKE_TEST(messages_of_foreign_processes_are_refused_and_forgotten),
		HANDSHAKE_TEST(a_silent_connection_does_not_delay_other_handshakes),
		HANDSHAKE_TEST(a_process_without_descriptors_waits_and_does_not_spin),
		HANDSHAKE_TEST(random_bytes_in_the_ring_end_links_and_nothing_else),
		HANDSHAKE_TEST(without_membarrier_links_fence_and_work),
	};

	peer_main(argc);
	PEER_ROLE("echo", role_echo);
	PEER_ROLE("no-files", role_no_files);
	PEER_ROLE("swallow", role_swallow);
	PEER_ROLE("plain-echo", role_plain_echo);
	PEER_ROLE("plain-meet", role_plain_meet);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
