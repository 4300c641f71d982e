/* SPDX-License-Identifier: BSD-2-Clause */
/* An object with the processes, and in each its queue pairs. What is not known is null. */
#include "top_json.h"

#include <stdio.h>

#include "json.h"

static void print_text(const char *name, const char *text)
{
	printf("\"%s\": ", name);
	if (*text)
		json_print_string(text);
	else
		printf("null");
}

static void print_count(const char *name, bool known, unsigned long long n)
{
	if (known)
		printf("\"%s\": %llu", name, n);
	else
		printf("\"%s\": null", name);
}

static void print_rate(const char *name, bool known, double n)
{
	if (known)
		printf("\"%s\": %.1f", name, n);
	else
		printf("\"%s\": null", name);
}

static void print_flow(const char *name, const struct top_flow *f)
{
	printf("        \"%s\": { ", name);
	print_count("messages", f->has_messages, f->messages);
	printf(", ");
	print_count("packets", f->has_traffic, f->packets);
	printf(", ");
	print_count("bytes", f->has_traffic, f->bytes);
	printf(", ");
	print_rate("messages_per_s", f->has_messages, f->messages_s);
	printf(", ");
	print_rate("packets_per_s", f->has_traffic, f->packets_s);
	printf(", ");
	print_rate("bytes_per_s", f->has_traffic, f->bytes_s);
	printf(" },\n");
}

static void print_cq(const char *name, const struct snapshot_ring *cq)
{
	if (!cq->number) {
		printf("        \"%s\": null,\n", name);
		return;
	}
	printf("        \"%s\": { \"number\": %u, \"size\": %u, \"fill\": %u, \"overrun\": %s },\n",
	       name, cq->number, cq->size, cq->fill, cq->failed ? "true" : "false");
}

static void print_queues(const struct snapshot_qp *q)
{
	bool posted = q->flags & SNAPSHOT_POSTED;

	printf("        \"send_queue\": { ");
	print_count("size", q->sq_size, q->sq_size);
	printf(", ");
	print_count("fill", posted, q->posted - q->polled);
	printf(", ");
	print_count("posted", posted, q->posted);
	printf(", ");
	print_count("completed", posted, q->posted - q->pending);
	printf(", ");
	print_count("polled", posted, q->polled);
	printf(", \"pending\": %u },\n", q->pending);
	if (q->flags & SNAPSHOT_RQ) {
		printf("        \"receive_queue\": { ");
		print_count("shared", q->recv.number, q->recv.number);
		printf(", \"size\": %u, \"fill\": %u, ", q->recv.size, q->recv.fill);
		print_count("received", !q->recv.number, q->received);
		printf(" },\n");
	} else {
		printf("        \"receive_queue\": null,\n");
	}
	print_cq("send_cq", &q->send_cq);
	print_cq("receive_cq", &q->recv_cq);
}

static void print_peer(const struct top_qp *q)
{
	char address[TOP_CELL];

	if (!q->now.dest_qpn) {
		printf("        \"peer\": null,\n");
		return;
	}
	top_address(q, address);
	printf("        \"peer\": { \"qpn\": %u, ", q->now.dest_qpn);
	print_count("pid", q->peer_pid, (unsigned int)q->peer_pid);
	printf(", ");
	print_text("address", address);
	printf(", \"wire\": %s },\n", q->now.flags & SNAPSHOT_REMOTE ? "true" : "false");
}

static void print_qp(const struct top_qp *q)
{
	const struct snapshot_qp *s = &q->now;

	printf("      {\n        \"qpn\": %u, \"type\": \"%s\", \"state\": \"%s\", ", s->qpn,
	       top_type_name(q), top_state_name(q));
	print_text("adapter", s->adapter);
	printf(", \"port\": %u, \"exact\": %s,\n", s->port,
	       s->flags & SNAPSHOT_UNLOCKED ? "false" : "true");
	print_peer(q);
	print_flow("tx", &q->tx);
	print_flow("rx", &q->rx);
	printf("        ");
	print_rate("latency_us", q->latency_us >= 0, q->latency_us);
	printf(", ");
	print_rate("rtt_us", s->rtt_ns, (double)s->rtt_ns / 1e3);
	printf(",\n");
	print_queues(s);
	printf("        \"retrying\": %u, \"retry_cnt\": %u, \"rnr_retrying\": %u, \"rnr_retry\": "
	       "%u,\n",
	       s->retries, s->retry_cnt, s->rnr_retries, s->rnr_retry);
	printf("        \"retries\": %u, \"rnr\": %u, \"no_receive\": %u, \"errors\": %u, "
	       "\"flushed\": %u\n      }",
	       s->retried, s->rnr, s->no_recv, s->errors, s->flushed);
}

/* Whether any row is the process's; rows are few. */
static bool is_shown(const struct top_process *p, const struct top_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].process == p)
			return true;
	return false;
}

static void print_process(const struct top_process *p, const struct top_row *rows, size_t count)
{
	char name[TOP_CELL];
	bool some = false;

	top_name(p, name);
	printf("    {\n      \"pid\": %d, ", (int)p->pid);
	print_text("program", name);
	printf(", \"health\": \"%s\",\n      \"qps\": [", top_health_name(p));
	for (size_t i = 0; i < count; i++) {
		if (rows[i].process != p || !rows[i].qp)
			continue;
		printf(some ? ",\n" : "\n");
		print_qp(rows[i].qp);
		some = true;
	}
	printf(some ? "\n      ]\n    }" : "]\n    }");
}

void top_print_json(const struct top_host *h, const struct top_row *rows, size_t count)
{
	bool some = false;

	printf("{\n  \"seconds\": %.3f,\n  \"processes\": [", h->seconds);
	for (size_t i = 0; i < h->count; i++) {
		if (!is_shown(h->process[i], rows, count))
			continue;
		printf(some ? ",\n" : "\n");
		print_process(h->process[i], rows, count);
		some = true;
	}
	printf(some ? "\n  ]\n}\n" : "]\n}\n");
}
