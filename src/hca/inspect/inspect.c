/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets up capture and faults from the environment, changes them in a running process, and tells the
 * transport what to call (struct observer). After the set-up, which runs once, the capture and the
 * faults have locks of their own.
 */
#include "hca/inspect/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/inspect/fault_script.h"
#include "hca/inspect/local_capture.h"
#include "hca/inspect/pkt_comment.h"
#include "hca/transport/observer.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/wire_ports.h"
#include "util/explain.h"

/* ---- the transport's hooks ---- */

static struct roce_verdict judge(const struct qp *qp, const struct roce_pkt *pkt)
{
	struct roce_fault *fault = hca.inspect.wire.fault;
	struct roce_addr peer = { .ifindex = 0 };

	if (!roce_fault_on(fault))
		return (struct roce_verdict){ .action = ROCE_FAULT_NONE };
	memcpy(peer.gid, qp->attr.av.dgid.raw, sizeof(peer.gid));
	return roce_fault_judge_request(fault, pkt, &peer, hca_now_ns());
}

static void forget(const struct qp *qp)
{
	roce_fault_reset_qp(hca.inspect.wire.fault, qp->pub.qpn);
}

/* Bit 0: a capture is on; bit 1: faults were used. */
static const struct observer observers[] = {
	[1] = { .sent = local_capture_sent, .received = local_capture_received },
	[2] = { .judge = judge, .forget = forget },
	[3] = { .sent = local_capture_sent,
		.received = local_capture_received,
		.judge = judge,
		.forget = forget },
};

static void publish(void)
{
	struct roce_capture *capture = hca.inspect.wire.capture;
	unsigned int on = capture && roce_capture_on(capture);

	on |= atomic_load(&hca.inspect.faults_used) << 1;
	/* [O1] pairs with observer_get(); faults and capture are set up before the hooks */
	atomic_store_explicit(&hca.observer, on ? &observers[on] : NULL, memory_order_release);
}

/* ---- set-up ---- */

/* An environment variable; NULL when it is empty. */
static const char *get_variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static uint64_t get_seed(void)
{
	const char *text = get_variable("VERBENA_FAULT_SEED");
	char *end;
	uint64_t seed;

	if (!text)
		return 1;
	errno = 0;
	seed = strtoull(text, &end, 0);
	if (errno || *end)
		explain_note("VERBENA_FAULT_SEED is a number, not '%s'", text);
	return seed;
}

static int set_up_faults(void)
{
	const char *script = get_variable("VERBENA_FAULT");
	int err = hca.inspect.wire.fault ? 0 : roce_fault_create(&hca.inspect.wire.fault);

	if (err || !script)
		return err;
	atomic_store(&hca.inspect.faults_used, true);
	return fault_script_load(hca.inspect.wire.fault, script, get_seed());
}

static int set_up_capture(void)
{
	const char *file = get_variable("VERBENA_CAPTURE");
	int err = hca.inspect.wire.capture ? 0 : roce_capture_create(&hca.inspect.wire.capture);

	return err || !file ? err : roce_capture_start(hca.inspect.wire.capture, file);
}

int inspect_set_up(void)
{
	struct inspect_state *state = &hca.inspect;
	int err;

	if (atomic_load_explicit(&state->is_set_up, memory_order_relaxed))
		return 0;
	state->wire.comment = pkt_comment_wire;
	err = set_up_faults();
	if (!err)
		err = set_up_capture();
	if (err)
		return err;
	publish();
	wire_set_inspect(&state->wire,
			 get_variable("VERBENA_FAULT") || get_variable("VERBENA_CAPTURE"));
	atomic_store(&state->is_set_up, true);
	return 0;
}

/* ---- settings of the running process ---- */

/* True when the setting changes. set_lock held. */
static bool update(char **setting, const char *value)
{
	if (*setting ? !strcmp(*setting, value) : !*value)
		return false;
	free(*setting);
	*setting = *value ? strdup(value) : NULL;
	return true;
}

static void set_capture(const char *file)
{
	struct roce_capture *capture = hca.inspect.wire.capture;

	roce_capture_stop(capture);
	if (*file && roce_capture_start(capture, file))
		explain_note("no capture to %s", file);
	publish();
}

static void set_faults(const char *script)
{
	atomic_store(&hca.inspect.faults_used, true);
	publish();
	if (fault_script_load(hca.inspect.wire.fault, script, get_seed()))
		explain_note("the faults stay as they are");
}

void inspect_set(const char *key, const char *value)
{
	struct inspect_state *state = &hca.inspect;

	if (!strcmp(key, "capture")) {
		if (update(&state->capture_set, value))
			set_capture(value);
	} else if (update(&state->fault_set, value)) {
		set_faults(value);
	}
}

/* ---- fork and end ---- */

void inspect_fork_prepare(void)
{
	const struct roce_inspect *wire = &hca.inspect.wire;

	if (!atomic_load(&hca.inspect.is_set_up))
		return;
	if (wire->fault)
		roce_fault_lock(wire->fault);
	if (wire->capture)
		roce_capture_lock(wire->capture);
}

void inspect_fork_done(void)
{
	const struct roce_inspect *wire = &hca.inspect.wire;

	if (!atomic_load(&hca.inspect.is_set_up))
		return;
	if (wire->capture)
		roce_capture_unlock(wire->capture);
	if (wire->fault)
		roce_fault_unlock(wire->fault);
}

/* Writes the capture's buffer to its file. */
__attribute__((destructor)) static void stop_capture(void)
{
	if (atomic_load(&hca.inspect.is_set_up) && hca.inspect.wire.capture)
		roce_capture_stop(hca.inspect.wire.capture);
}
