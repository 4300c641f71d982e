/* SPDX-License-Identifier: BSD-2-Clause */
/* The report. Reads counters without a lock; runs in a destructor of the library. */
#include "hca/inspect/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/hca.h"
#include "hca/transport/drops.h"
#include "hca/wire/congestion.h"
#include "hca/wire/gsi_counters.h"
#include "hca/wire/wire_ports.h"
#include "roce/endpoint.h"
#include "roce/drop.h"
#include "roce/fault_parse.h"
#include "roce/opcode.h"
#include "util/file_limit.h"

#define FIRED_MAX 1024 /* faults that are listed one by one */

static void write_port(FILE *out, const struct roce_endpoint *ep)
{
	struct roce_counters c;
	char addr[ROCE_ADDR_TEXT];

	roce_endpoint_counters(ep, &c);
	fprintf(out,
		"  wire %s: sent %llu packets (%llu bytes, %llu calls, %llu times full, %llu lost),"
		" received %llu packets (%llu bytes, %llu calls)\n",
		roce_addr_format(roce_endpoint_addr(ep), addr), (unsigned long long)c.tx_packets,
		(unsigned long long)c.tx_bytes, (unsigned long long)c.tx_calls,
		(unsigned long long)c.tx_full, (unsigned long long)c.tx_lost,
		(unsigned long long)c.rx_packets, (unsigned long long)c.rx_bytes,
		(unsigned long long)c.rx_calls);
	if (c.rx_full)
		fprintf(out, "  wire %s: dropped %llu: the socket was full\n", addr,
			(unsigned long long)c.rx_full);
	for (unsigned int i = 1; i < ROCE_DROP_COUNT; i++)
		if (c.rx_drop[i] && i != ROCE_DROP_PROBE)
			fprintf(out, "  wire %s: dropped %llu: %s\n", addr,
				(unsigned long long)c.rx_drop[i], roce_drop_name(i));
}

/* Not by time, so that reports of two runs compare equal. */
static int by_packet(const void *a, const void *b)
{
	const struct roce_fired *x = a, *y = b;
	const uint32_t left[] = { x->connection, x->dir, x->packet, x->op, x->times, x->rule };
	const uint32_t right[] = { y->connection, y->dir, y->packet, y->op, y->times, y->rule };

	for (size_t i = 0; i < array_size(left); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* Numbers that differ from run to run come last. */
static void write_fired(FILE *out, const struct roce_fired *f)
{
	const struct roce_opcode_info *op = roce_opcode_find(f->op);

	fprintf(out, "  fault %u: %s %s %s, connection %u, packet %u, attempt %u", f->rule + 1,
		roce_fault_action_name(f->action), f->dir == ROCE_DIR_IN ? "in" : "out",
		op ? op->name : "?", f->connection, f->packet, f->times + 1);
	fprintf(out, " (QP 0x%06x, PSN %u)\n", f->qpn, f->psn);
}

static void write_faults(FILE *out, struct roce_fault *fault)
{
	struct roce_fired *fired;
	const char *text;
	uint64_t count;
	size_t n;

	for (uint32_t i = 0; roce_fault_rule(fault, i, &text, &count); i++)
		fprintf(out, "  fault %u, %s: fired %llu times\n", i + 1, text,
			(unsigned long long)count);
	fired = malloc(FIRED_MAX * sizeof(*fired));
	if (!fired)
		return;
	n = roce_fault_list(fault, fired, FIRED_MAX);
	qsort(fired, n, sizeof(*fired), by_packet);
	for (size_t i = 0; i < n; i++)
		write_fired(out, &fired[i]);
	free(fired);
}

static void write_report(FILE *out)
{
	const struct roce_inspect *inspect = &hca.inspect.wire;
	const struct roce_endpoint *ep;
	uint64_t frames, lost, sent, received;

	fprintf(out, "%s[%d]:\n", program_invocation_short_name, (int)getpid());
	for (unsigned int i = 0; (ep = wire_endpoint(i)); i++)
		write_port(out, ep);
	for (unsigned int i = 0; i < DROP_REASONS; i++)
		if (drop_counted(i))
			fprintf(out, "  dropped %llu: %s\n", (unsigned long long)drop_counted(i),
				drop_reason_name(i));
	for (unsigned int i = 0; i < HCA_GSI_COUNTERS; i++)
		if (hca_gsi_count(i))
			fprintf(out, "  MADs %s: %llu\n", hca_gsi_counter_name(i),
				(unsigned long long)hca_gsi_count(i));
	congestion_count(&sent, &received);
	if (sent || received)
		fprintf(out, "  congestion: told the sender %llu times, was told %llu times\n",
			(unsigned long long)sent, (unsigned long long)received);
	if (inspect->fault)
		write_faults(out, inspect->fault);
	if (inspect->capture) {
		roce_capture_count(inspect->capture, &frames, &lost);
		if (frames)
			fprintf(out, "  captured %llu packets, could not write %llu\n",
				(unsigned long long)frames, (unsigned long long)lost);
	}
}

void report_init(void)
{
	const char *stat = getenv("VERBENA_STAT");

	if (stat && *stat && strcmp(stat, "0"))
		snprintf(hca.inspect.report_path, sizeof(hca.inspect.report_path), "%s", stat);
}

/* Processes may share a file: a report is one write(2). */
__attribute__((destructor)) static void report_at_end(void)
{
	const char *path = hca.inspect.report_path;
	char *text = NULL;
	size_t len = 0;
	FILE *memory;
	int fd = STDERR_FILENO;

	if (!path[0] || !wire_endpoint(0))
		return;
	memory = open_memstream(&text, &len);
	if (!memory)
		return;
	write_report(memory);
	if (fclose(memory))
		goto free_text;
	if (strcmp(path, "1"))
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		goto free_text;
	file_append(fd, text, len);
	if (fd != STDERR_FILENO)
		close(fd);
free_text:
	free(text);
}
