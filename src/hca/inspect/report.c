/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports. Reads counters that others write, without a lock; runs at the end of the process.
 */
#include "hca/inspect/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/transport/drops.h"
#include "hca/wire/congestion.h"
#include "hca/wire/gsi.h"
#include "hca/inspect/inspect.h"
#include "hca/wire/wire.h"
#include "roce/endpoint.h"
#include "roce/drop.h"
#include "roce/fault_parse.h"
#include "roce/opcode.h"

#define LISTED 1024

static char where[4096]; /* "": nowhere; "1": stderr; a file */

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

/* Not by time, in which no two runs agree. */
static int by_place(const void *a, const void *b)
{
	const struct roce_fired *x = a, *y = b;
	const uint32_t left[] = { x->connection, x->dir, x->packet, x->op, x->times, x->rule };
	const uint32_t right[] = { y->connection, y->dir, y->packet, y->op, y->times, y->rule };

	for (size_t i = 0; i < array_size(left); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

/* What differs from run to run comes last. */
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
	fired = malloc(LISTED * sizeof(*fired));
	if (!fired)
		return;
	n = roce_fault_list(fault, fired, LISTED);
	qsort(fired, n, sizeof(*fired), by_place);
	for (size_t i = 0; i < n; i++)
		write_fired(out, &fired[i]);
	free(fired);
}

void report_write(FILE *out)
{
	const struct roce_inspect *taps = inspect_get();
	const struct roce_endpoint *ep;
	uint64_t frames, lost, said, heard;

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
	congestion_count(&said, &heard);
	if (said || heard)
		fprintf(out, "  congestion: told the sender %llu times, was told %llu times\n",
			(unsigned long long)said, (unsigned long long)heard);
	if (taps->fault)
		write_faults(out, taps->fault);
	if (taps->capture) {
		roce_capture_count(taps->capture, &frames, &lost);
		if (frames)
			fprintf(out, "  captured %llu packets, could not write %llu\n",
				(unsigned long long)frames, (unsigned long long)lost);
	}
}

void report_begin(void)
{
	const char *stat = getenv("VERBENA_STAT");

	if (stat && *stat && strcmp(stat, "0"))
		snprintf(where, sizeof(where), "%s", stat);
}

/* Several processes may write one file: each report goes out in one piece. */
__attribute__((destructor)) static void report_at_end(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory, *file = stderr;

	/* Who never used the wire has nothing to say. */
	if (!where[0] || !wire_endpoint(0))
		return;
	memory = open_memstream(&text, &len);
	if (!memory)
		return;
	report_write(memory);
	if (fclose(memory))
		goto free_text;
	if (strcmp(where, "1"))
		file = fopen(where, "ae");
	if (!file)
		goto free_text;
	setvbuf(file, NULL, _IOFBF, len + 1);
	fwrite(text, 1, len, file);
	if (file != stderr)
		fclose(file);
	else
		fflush(file);
free_text:
	free(text);
}
