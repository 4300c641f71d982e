/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets up capture and faults as the environment says, and writes the comments of captured packets.
 * Set up once, under a pthread_once; after that the objects have locks of their own.
 */
#include "hca/inspect/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hca/hca.h"
#include "hca/inspect/control.h"
#include "hca/inspect/local_capture.h"
#include "hca/transport/observer.h"
#include "hca/transport/qp_table.h"
#include "hca/inspect/report.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define SCRIPT_MOST (1u << 20)

_Thread_local const struct qp *inspect_sender;
_Atomic bool inspect_faults_asked;

static struct roce_inspect taps;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool is_set_up;
static int failure;

/* ---- comments ---- */

static const char *state_name(enum hca_qp_state state)
{
	static const char *const names[] = {
		[HCA_QPS_RESET] = "RESET", [HCA_QPS_INIT] = "INIT", [HCA_QPS_RTR] = "RTR",
		[HCA_QPS_RTS] = "RTS",     [HCA_QPS_SQD] = "SQD",   [HCA_QPS_SQE] = "SQE",
		[HCA_QPS_ERR] = "ERR",
	};

	return state < array_size(names) && names[state] ? names[state] : "?";
}

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* The request that posting numbered `counter`, as the program knows it. Lock held. */
static int put_wr_id(const struct qp *qp, uint32_t counter, char *text, size_t size)
{
	const char *ids = qp->pub.wr_ids;
	uint64_t id;

	if (!ids)
		return snprintf(text, size, ", request %u", counter & 0xffff);
	memcpy(&id, ids + (size_t)(counter & qp->pub.wr_id_mask) * qp->pub.wr_id_stride,
	       sizeof(id));
	return snprintf(text, size, ", wr_id %llu", (unsigned long long)id);
}

static uint32_t counter_of(const struct requester *r, uint32_t at)
{
	return r->window[at & (QP_WINDOW - 1)].counter;
}

/* Lock held. */
void inspect_describe(const struct qp *qp, const struct roce_pkt *pkt, bool out, char *text,
		      size_t size)
{
	const struct requester *r = &qp->req;
	bool answer = is_answer(pkt->op), waits = r->window && r->head != r->tail;
	int n = snprintf(text, size, "QP 0x%06x %s", qp->pub.qpn, state_name(qp->pub.state));

	if (n < 0 || (size_t)n >= size)
		return;
	/* Ours are the last that entered the window; answers to us are for the first. */
	if (out && qp->pub.type == HCA_QP_UD)
		n += put_wr_id(qp, r->next, text + n, size - n); /* never waits in a window */
	else if (waits && out && !answer)
		n += put_wr_id(qp, counter_of(r, r->tail - 1), text + n, size - n);
	else if (waits && !out && answer)
		n += put_wr_id(qp, counter_of(r, r->head), text + n, size - n);
	if ((size_t)n >= size)
		return;
	if (!answer && !out && qp->pub.type != HCA_QP_UD)
		snprintf(text + n, size - n, ", expects PSN %u", qp->resp.epsn);
	else if (!out && answer)
		snprintf(text + n, size - n, ", window %u of %u packets",
			 (unsigned int)psn_diff(r->high, r->una), r->cwnd);
	else if (out && !answer && r->retries)
		snprintf(text + n, size - n, ", retry %u", r->retries);
}

static void comment(void *arg, const struct roce_pkt *pkt, bool out, char *text, size_t size)
{
	struct qp *qp;

	if (out) {
		if (inspect_sender) /* its lock is held by who sends */
			inspect_describe(inspect_sender, pkt, true, text, size);
		return;
	}
	qp = qp_find(pkt->dqpn);
	if (!qp) {
		snprintf(text, size, "QP 0x%06x is not of this process", pkt->dqpn);
		return;
	}
	fabric_lock(&qp->pub.lock);
	if (!qp->dying)
		inspect_describe(qp, pkt, false, text, size);
	fabric_unlock(&qp->pub.lock);
}

/* ---- faults ---- */

static int read_script(const char *path, char **out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	struct stat st;
	size_t len = 0;
	char *text;

	if (fd < 0 || fstat(fd, &st)) {
		err = explain(errno, "the fault script %s: %s", path, strerror(errno));
		goto close_fd;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > SCRIPT_MOST) {
		err = explain(EINVAL, "the fault script %s is no file, or longer than 1 MiB", path);
		goto close_fd;
	}
	text = calloc(1, st.st_size + 1);
	if (!text) {
		err = -ENOMEM;
		goto close_fd;
	}
	while (len < (size_t)st.st_size) {
		ssize_t n = read(fd, text + len, st.st_size - len);

		if (n <= 0)
			break;
		len += n;
	}
	*out = text;
close_fd:
	if (fd >= 0)
		close(fd);
	return err;
}

/* Rules, or the absolute name of a file that holds them. */
static int load_faults(struct roce_fault *fault, const char *spec, uint64_t seed)
{
	char *text = NULL;
	int err;

	if (*spec != '/')
		return roce_fault_load(fault, spec, seed, hca_now_ns());
	err = read_script(spec, &text);
	if (!err)
		err = roce_fault_load(fault, text, seed, hca_now_ns());
	free(text);
	return err;
}

int hca_faults_check(const char *spec)
{
	struct roce_fault *fault;
	int err = roce_fault_create(&fault);

	if (err)
		return err;
	err = load_faults(fault, spec, 0);
	roce_fault_destroy(fault);
	return err;
}

static uint64_t seed_of(const char *text)
{
	char *end;
	uint64_t seed;

	if (!text || !*text)
		return 1;
	errno = 0;
	seed = strtoull(text, &end, 0);
	if (errno || *end)
		explain_note("VERBENA_FAULT_SEED is a number, not '%s'", text);
	return seed;
}

static struct roce_verdict judge(const struct qp *qp, const struct roce_pkt *pkt)
{
	struct roce_addr peer = { .ifindex = 0 };

	if (!roce_fault_on(taps.fault))
		return (struct roce_verdict){ .action = ROCE_FAULT_NONE };
	memcpy(peer.gid, qp->attr.av.dgid.raw, sizeof(peer.gid));
	return roce_fault_judge_request(taps.fault, pkt, &peer, hca_now_ns());
}

static void forget(const struct qp *qp)
{
	roce_fault_reset_qp(taps.fault, qp->pub.qpn);
}

/* ---- the transport's hooks ---- */

/* By what is on: bit 0, a capture; bit 1, faults, which are never off again once asked for. */
static const struct observer observers[] = {
	[1] = { .sent = local_capture_sent, .received = local_capture_received },
	[2] = { .judge = judge, .forget = forget },
	[3] = { .sent = local_capture_sent,
		.received = local_capture_received,
		.judge = judge,
		.forget = forget },
};

static void publish(bool captures)
{
	unsigned int on = captures | atomic_load(&inspect_faults_asked) << 1;

	/* [O1] pairs with observer_get(); faults and capture are set up before the hooks */
	atomic_store_explicit(&hca.observer, on ? &observers[on] : NULL, memory_order_release);
}

/* ---- setting up ---- */

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int set_up_faults(void)
{
	const char *script = setting("VERBENA_FAULT");
	int err = roce_fault_create(&taps.fault);

	if (err || !script)
		return err;
	atomic_store(&inspect_faults_asked, true);
	return load_faults(taps.fault, script, seed_of(getenv("VERBENA_FAULT_SEED")));
}

static int set_up_capture(void)
{
	const char *file = setting("VERBENA_CAPTURE");
	int err = roce_capture_create(&taps.capture);

	if (err)
		return err;
	if (!file)
		return 0;
	err = roce_capture_start(taps.capture, file);
	return err;
}

static void set_up(void)
{
	taps.comment = comment;
	failure = set_up_faults();
	if (!failure)
		failure = set_up_capture();
	publish(taps.capture && roce_capture_on(taps.capture));
	atomic_store(&is_set_up, true);
	report_begin();
}

/* ---- orders ---- */

/* What is in force by order, and may be taken back; under order_lock. */
static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(order_lock, FORKSAFE_LEAF);
static char *ordered[2];

/* True when it is news. */
static bool take_order(char **slot, const char *value)
{
	if (*slot ? !strcmp(*slot, value) : !*value)
		return false;
	free(*slot);
	*slot = *value ? strdup(value) : NULL;
	return true;
}

static void order_capture(const char *file)
{
	roce_capture_stop(taps.capture);
	if (*file && roce_capture_start(taps.capture, file))
		explain_note("no capture to %s", file);
	publish(taps.capture && roce_capture_on(taps.capture));
}

static void order_faults(const char *spec)
{
	uint64_t seed = seed_of(getenv("VERBENA_FAULT_SEED"));

	atomic_store(&inspect_faults_asked, true);
	publish(taps.capture && roce_capture_on(taps.capture));
	if (load_faults(taps.fault, spec, seed))
		explain_note("the faults stay as they are");
}

void inspect_set(const char *key, const char *value)
{
	bool capture = !strcmp(key, "capture");

	if (inspect_check())
		return;
	pthread_mutex_lock(&order_lock);
	if (take_order(&ordered[capture], value)) {
		if (capture)
			order_capture(value);
		else
			order_faults(value);
	}
	pthread_mutex_unlock(&order_lock);
}

int inspect_check(void)
{
	inspect_get();
	return failure;
}

const struct roce_inspect *inspect_get(void)
{
	if (unlikely(!atomic_load_explicit(&is_set_up, memory_order_acquire)))
		pthread_once(&once, set_up);
	return &taps;
}

bool inspect_want_wire(void)
{
	return setting("VERBENA_FAULT") || setting("VERBENA_CAPTURE");
}

void inspect_fork_prepare(void)
{
	if (!atomic_load(&is_set_up))
		return;
	if (taps.fault)
		roce_fault_lock(taps.fault);
	if (taps.capture)
		roce_capture_lock(taps.capture);
}

void inspect_fork_done(void)
{
	if (!atomic_load(&is_set_up))
		return;
	if (taps.capture)
		roce_capture_unlock(taps.capture);
	if (taps.fault)
		roce_fault_unlock(taps.fault);
}

/* What waits in the buffer belongs into the file. */
__attribute__((destructor)) static void stop_at_end(void)
{
	if (atomic_load(&is_set_up) && taps.capture)
		roce_capture_stop(taps.capture);
}
