/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks, isolation and the device under test.
 */
#include "rig.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SKIPPED 77

void rig_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, " (process %d)\n", (int)getpid());
	fflush(stderr);
	_exit(1);
}

void rig_check_equal(const char *file, int line, const char *text, long long got, long long want)
{
	if (got != want)
		rig_fail(file, line, "%s is %lld (0x%llx), not %lld (0x%llx)", text, got, got, want,
			 want);
}

uintptr_t rig_must(const char *file, int line, const char *text, uintptr_t got)
{
	if (!got)
		rig_fail(file, line, "%s: %s", text, strerror(errno));
	return got;
}

void rig_skip(const char *why)
{
	printf("skipped: %s\n", why);
	fflush(stdout);
	_exit(SKIPPED);
}

void rig_skip_under_qemu(const char *why)
{
	if (getenv("TEST_UNDER_QEMU"))
		rig_skip(why);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void rig_relax(void)
{
	sched_yield();
}

/* ---- running ---- */

/* False when it is still there after `ms`. */
static bool wait_child(pid_t pid, int ms, int *status)
{
	uint64_t end = now_ns() + ms * 1000000ull;
	const struct timespec nap = { .tv_nsec = 500000 };

	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid)
			return true;
		if (got < 0 && errno != EINTR)
			fail_msg("waitpid: %s", strerror(errno));
		if (now_ns() > end)
			return false;
		nanosleep(&nap, NULL);
	}
}

void rig_isolate(void **state)
{
	static const int deadly[] = { SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS };
	void (*fn)(void) = (void (*)(void)) * state;
	int status = 0;
	bool ended;
	pid_t pid;

	fflush(stdout);
	fflush(stderr);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		/* A group of its own, so that nothing of the test outlives it. */
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		/* cmocka's handlers would go on with the next test, here. */
		for (size_t i = 0; i < array_size(deadly); i++)
			signal(deadly[i], SIG_DFL);
		fn();
		exit(0);
	}
	setpgid(pid, pid);
	ended = wait_child(pid, TEST_MS, &status);
	kill(-pid, SIGKILL);
	if (!ended) {
		waitpid(pid, &status, 0);
		fail_msg("the test did not end within %d s", TEST_MS / 1000);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		skip();
	if (WIFSIGNALED(status))
		fail_msg("the test died of signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* TRAFFIC_TEST=pattern runs only the tests that match. */
__attribute__((constructor)) static void choose(void)
{
	const char *pattern = getenv("TRAFFIC_TEST");

	if (pattern)
		cmocka_set_test_filter(pattern);
}

/* ---- the device ---- */

static const char *device_name(void)
{
	const char *name = getenv("TRAFFIC_DEVICE");

	return name && *name ? name : "mlx5_0";
}

struct ibv_context *rig_open(void)
{
	struct ibv_device **list = must(ibv_get_device_list(NULL));
	struct ibv_context *context = NULL;

	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device_name()))
			context = must(ibv_open_device(list[i]));
	ibv_free_device_list(list);
	return must(context);
}

static struct ibv_context *opened;

struct ibv_context *rig_context(void)
{
	if (!opened)
		opened = rig_open();
	return opened;
}

void rig_forget(void)
{
	opened = NULL;
}

bool rig_is_mlx5(void)
{
	return !strncmp(device_name(), "mlx5", 4);
}

static const struct ibv_port_attr *port(void)
{
	static struct ibv_port_attr attr;
	static bool known;

	if (!known) {
		check_ok(ibv_query_port(rig_context(), 1, &attr));
		known = true;
	}
	return &attr;
}

bool rig_is_ethernet(void)
{
	return port()->link_layer == IBV_LINK_LAYER_ETHERNET;
}

int rig_gid_index(void)
{
	static int index = -1;
	struct ibv_gid_entry entry;

	if (index >= 0)
		return index;
	for (int i = 0; i < port()->gid_tbl_len; i++) {
		if (ibv_query_gid_ex(rig_context(), 1, i, &entry, 0))
			continue;
		if (rig_is_ethernet() && entry.gid_type != IBV_GID_TYPE_ROCE_V2)
			continue;
		index = i;
		return i;
	}
	rig_fail(__FILE__, __LINE__, "no usable GID");
}

const struct ibv_device_attr *rig_attr(void)
{
	static struct ibv_device_attr attr;

	check_ok(ibv_query_device(rig_context(), &attr));
	return &attr;
}

struct ibv_device_attr_ex rig_attr_ex(void)
{
	struct ibv_device_attr_ex attr;

	memset(&attr, 0, sizeof(attr));
	if (ibv_query_device_ex(rig_context(), NULL, &attr))
		memset(&attr, 0, sizeof(attr));
	return attr;
}

bool rig_on_wire(void)
{
	const char *path = getenv("VERBENA_PATH");

	return path && !strcmp(path, "wire") && rig_is_ethernet();
}

/* ---- data ---- */

static unsigned char byte_at(size_t i, unsigned int seed)
{
	return (unsigned char)(i * 7 + (i >> 8) * 3 + (i >> 16) * 5 + seed * 29 + 1);
}

void fill(void *buf, size_t len, unsigned int seed)
{
	unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = byte_at(i, seed);
}

/*
 * Data that the adapter has written, which the thread sanitizer takes for a race, and looks up a
 * suppression for, byte by byte.
 */
__attribute__((no_sanitize_thread)) bool is_filled(const void *buf, size_t len, unsigned int seed)
{
	const unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		if (p[i] != byte_at(i, seed)) {
			fprintf(stderr, "byte %zu of %zu is 0x%02x, not 0x%02x\n", i, len, p[i],
				byte_at(i, seed));
			return false;
		}
	return true;
}

/*
 * Of memory that an adapter writes. Each byte that the service thread has written would be a race to the thread
 * sanitizer; tsan.supp suppresses it, but only after a report was made: hours for 64 MiB.
 */
__attribute__((no_sanitize("thread"))) bool is_all(const void *buf, size_t len, unsigned char byte)
{
	const unsigned char *p = buf;

	for (size_t i = 0; i < len; i++)
		if (p[i] != byte) {
			fprintf(stderr, "byte %zu of %zu is 0x%02x, not 0x%02x\n", i, len, p[i],
				byte);
			return false;
		}
	return true;
}

void *pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	return p;
}

/* ---- waiting ---- */

struct ibv_wc wait_wc(struct ibv_cq *cq)
{
	uint64_t end = now_ns() + WAIT_MS * 1000000ull;
	struct ibv_wc wc;
	int n;

	for (unsigned int spins = 0; !(n = ibv_poll_cq(cq, 1, &wc)); spins++) {
		if (spins % 64 != 63)
			continue;
		rig_relax();
		if (now_ns() > end)
			rig_fail(__FILE__, __LINE__, "no completion within %d s", WAIT_MS / 1000);
	}
	check_equal(n, 1);
	return wc;
}

struct ibv_wc expect_wc_at(const char *file, int line, struct ibv_cq *cq, uint64_t id,
			   enum ibv_wc_status status)
{
	struct ibv_wc wc = wait_wc(cq);

	if (wc.wr_id != id || wc.status != status)
		rig_fail(file, line, "completion of %llu: %s (vendor 0x%x), not of %llu: %s",
			 (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status), wc.vendor_err,
			 (unsigned long long)id, ibv_wc_status_str(status));
	return wc;
}

void check_empty_at(const char *file, int line, struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	if (n)
		rig_fail(file, line, "a completion that should not be: %d of %llu: %s", n,
			 (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

bool is_readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int n;

	do
		n = poll(&pfd, 1, timeout_ms);
	while (n < 0 && errno == EINTR);
	check(n >= 0);
	return n == 1 && pfd.revents & POLLIN;
}

struct ibv_async_event wait_event(struct ibv_context *ctx)
{
	struct ibv_async_event event;

	if (!is_readable(ctx->async_fd, WAIT_MS))
		rig_fail(__FILE__, __LINE__, "no asynchronous event");
	check_ok(ibv_get_async_event(ctx, &event));
	ibv_ack_async_event(&event);
	return event;
}

bool event_is_there(struct ibv_context *ctx)
{
	return is_readable(ctx->async_fd, 0);
}
