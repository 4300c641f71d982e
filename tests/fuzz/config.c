/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything that a person writes: the description of adapters as a file and as VERBENA_ADAPTERS, fault scripts, the
 * configuration of rsockets and of the library that is preloaded for them.
 *
 * Input: a byte that says which, then the text. Text that is accepted must describe something sound; a fault script
 * is then applied to packets.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "hca/device/config.h"
#include "hca/device/model.h"
#include "roce/fault.h"
#include "roce/opcode.h"
#include "rsocket/config.h"
#include "rspreload/config.h"

enum { ADAPTERS, LIST, FAULTS, RSOCKET, PRELOAD, KINDS };

static void check_adapter(const struct hca_config *cfg, int index)
{
	const struct hca_adapter *a = &cfg->adapters[index];
	size_t len = strnlen(a->name, sizeof(a->name));

	CHECK(len && len < sizeof(a->name) && a->index == index && a->model);
	CHECK(a->port_count >= 1 && a->port_count <= HCA_PORTS_MAX);
	for (int i = 0; i < a->port_count; i++) {
		const struct hca_port_config *p = &a->ports[i];

		CHECK(p->gid_count >= 0 && p->gid_count <= HCA_FIXED_GIDS);
		CHECK(memchr(p->interface, 0, sizeof(p->interface)));
		CHECK(memchr(p->switch_name, 0, sizeof(p->switch_name)));
	}
	for (int i = 0; i < index; i++)
		CHECK(strcmp(cfg->adapters[i].name, a->name));
	CHECK(a->lag_count == 0 || a->lag_count == HCA_LAG_LINKS);
}

static void adapters(const char *text, bool list)
{
	static struct hca_config cfg;
	int err = list ? hca_config_parse_list(text, "list", &cfg)
		       : hca_config_parse(text, "file", &cfg);

	CHECK(err <= 0);
	if (err)
		return;
	CHECK(cfg.count >= 1 && cfg.count <= HCA_ADAPTERS_MAX);
	for (int i = 0; i < cfg.count; i++)
		check_adapter(&cfg, i);
}

/* Packets of two connections, every opcode, in both directions. */
static void apply(struct roce_fault *fault)
{
	const struct roce_addr peer = { .gid = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 } };
	struct roce_fired fired[4];
	const char *rule;
	uint64_t times;

	for (uint32_t i = 0; i < 300; i++) {
		struct roce_pkt pkt = { .op = (uint8_t)i, .dqpn = i % 2 + 1, .psn = i / 3 };
		struct roce_verdict v;

		if (!roce_opcode_find(pkt.op))
			continue;
		v = roce_fault_judge(fault, i % 2 ? ROCE_DIR_IN : ROCE_DIR_OUT, &pkt,
				     i % 5 ? &peer : NULL, i * 1000000ull);
		CHECK(v.action != ROCE_FAULT_RNR && v.action != ROCE_FAULT_NAK);
		CHECK(v.action != ROCE_FAULT_DELAY || v.delay_ns);
		v = roce_fault_judge_request(fault, &pkt, &peer, i * 1000000ull);
		CHECK(v.action == ROCE_FAULT_NONE || v.action == ROCE_FAULT_RNR ||
		      v.action == ROCE_FAULT_NAK);
		if (i % 50 == 49)
			roce_fault_reset_qp(fault, 1);
	}
	CHECK(roce_fault_list(fault, fired, 4) <= 4);
	for (uint32_t i = 0; roce_fault_rule(fault, i, &rule, &times); i++)
		CHECK(rule);
}

static void faults(const char *text)
{
	static struct roce_fault *fault;

	if (!fault)
		CHECK(!roce_fault_create(&fault));
	if (!roce_fault_load(fault, text, 1, 0))
		apply(fault);
	CHECK(!roce_fault_load(fault, "", 0, 0));
}

/* Files are lines "name value". */
static void rsocket_folder(char *text)
{
	static const char *const names[] = { "polling_time",   "wake_up_interval", "inline_default",
					     "sqsize_default", "rqsize_default",   "mem_default",
					     "wmem_default",   "iomap_size" };
	char folder[] = "/tmp/verbena-fuzz-XXXXXX";
	struct rs_config c;
	char path[PATH_MAX], *line, *rest = text;

	CHECK(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && (line = strsep(&rest, "\n"));
	     i++) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		f = fopen(path, "we");
		CHECK(f);
		fputs(line, f);
		fclose(f);
	}
	rs_config_load(folder, &c);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	CHECK(!rmdir(folder));
	CHECK(c.wake_up_ms && c.wake_up_ms <= INT_MAX && c.sizes.recv_buf >= 2);
	CHECK(c.sizes.send_buf >= RS_SEND_LOW && c.sizes.iomap <= 127 << 8);
}

static void preload(char *text, size_t len)
{
	struct rsp_config c = { 0 };
	FILE *f;

	if (!len)
		return;
	f = fmemopen(text, len, "r");
	CHECK(f);
	rsp_config_read(&c, f);
	fclose(f);
	rsp_config_matches(&c, "program", AF_INET, SOCK_STREAM, 0);
	rsp_config_matches(&c, "", AF_INET6, SOCK_DGRAM, 17);
	rsp_config_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	/* Exactly as long as it is. */
	text = malloc(size);
	CHECK(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	switch (data[0] % KINDS) {
	case ADAPTERS:
	case LIST:
		adapters(text, data[0] % KINDS == LIST);
		break;
	case FAULTS:
		faults(text);
		break;
	case RSOCKET:
		rsocket_folder(text);
		break;
	default:
		preload(text, size - 1);
		break;
	}
	free(text);
	return 0;
}
