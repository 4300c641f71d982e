/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns: a table, and what each shows. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "hca/transport/hca_qp.h"
#include "top_columns.h"
#include "util/api.h"

const char *top_type_name(const struct top_qp *q)
{
	static const char *const names[] = {
		[HCA_QP_RC] = "RC",   [HCA_QP_UC] = "UC",         [HCA_QP_UD] = "UD",
		[HCA_QP_RAW] = "RAW", [HCA_QP_XRC_SEND] = "XRCS", [HCA_QP_XRC_RECV] = "XRCR",
		[HCA_QP_DCI] = "DCI", [HCA_QP_DCT] = "DCT",       [HCA_QP_DCR] = "DCR",
	};

	return q->now.type < array_size(names) && names[q->now.type] ? names[q->now.type] : "?";
}

const char *top_state_name(const struct top_qp *q)
{
	static const char *const names[] = {
		[HCA_QPS_RESET] = "RESET", [HCA_QPS_INIT] = "INIT", [HCA_QPS_RTR] = "RTR",
		[HCA_QPS_RTS] = "RTS",     [HCA_QPS_SQD] = "SQD",   [HCA_QPS_SQE] = "SQE",
		[HCA_QPS_ERR] = "ERR",
	};

	return q->now.state < array_size(names) ? names[q->now.state] : "?";
}

const char *top_health_name(const struct top_process *p)
{
	static const char *const names[] = {
		[TOP_NEW] = "new",
		[TOP_ANSWERS] = "answers",
		[TOP_STOPPED] = "stopped",
		[TOP_SILENT] = "silent",
	};

	return names[p->health];
}

void top_name(const struct top_process *p, char out[TOP_CELL])
{
	size_t i;

	for (i = 0; i < sizeof(p->entry.name) && p->entry.name[i]; i++) {
		unsigned char c = (unsigned char)p->entry.name[i];

		out[i] = c < 0x20 || c == 0x7f ? '?' : (char)c;
	}
	out[i] = 0;
}

void top_address(const struct top_qp *q, char out[TOP_CELL])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff }, none[16];
	const uint8_t *gid = q->now.dgid;

	out[0] = 0;
	if (!memcmp(gid, mapped, sizeof(mapped)))
		inet_ntop(AF_INET, gid + 12, out, TOP_CELL);
	else if (memcmp(gid, none, sizeof(none)) != 0)
		inet_ntop(AF_INET6, gid, out, TOP_CELL);
	else if (q->now.dlid)
		snprintf(out, TOP_CELL, "LID %u", q->now.dlid);
}

void top_short(double n, char out[TOP_CELL])
{
	static const char units[] = " kMGTPE";
	size_t unit = 0;

	while (n >= 999.5 && units[unit + 1]) {
		n /= 1000;
		unit++;
	}
	if (!unit)
		snprintf(out, TOP_CELL, n > 0 && n < 9.95 ? "%.1f" : "%.0f", n);
	else
		snprintf(out, TOP_CELL, "%.*f%c",
			 n < 9.995   ? 2
			 : n < 99.95 ? 1
				     : 0,
			 n, units[unit]);
}

/* ---- texts ---- */

static void pid_text(const struct top_row *r, char *out)
{
	snprintf(out, TOP_CELL, "%d", (int)r->process->pid);
}

static void program_text(const struct top_row *r, char *out)
{
	top_name(r->process, out);
}

static void health_text(const struct top_row *r, char *out)
{
	snprintf(out, TOP_CELL, "%c", "?RT-"[r->process->health]);
}

static void qpn_text(const struct top_row *r, char *out)
{
	snprintf(out, TOP_CELL, r->qp ? "0x%06x" : "-", r->qp ? r->qp->now.qpn : 0);
}

static void type_text(const struct top_row *r, char *out)
{
	snprintf(out, TOP_CELL, "%s", r->qp ? top_type_name(r->qp) : "-");
}

static void state_text(const struct top_row *r, char *out)
{
	snprintf(out, TOP_CELL, "%s", r->qp ? top_state_name(r->qp) : "-");
}

static void put_rate(bool known, double rate, char *out)
{
	snprintf(out, TOP_CELL, "-");
	if (known)
		top_short(rate, out);
}

static void tx_messages_text(const struct top_row *r, char *out)
{
	put_rate(r->qp && r->qp->tx.has_messages, r->qp ? r->qp->tx.messages_s : 0, out);
}

static void tx_bytes_text(const struct top_row *r, char *out)
{
	put_rate(r->qp && r->qp->tx.has_traffic, r->qp ? r->qp->tx.bytes_s : 0, out);
}

static void rx_messages_text(const struct top_row *r, char *out)
{
	put_rate(r->qp && r->qp->rx.has_messages, r->qp ? r->qp->rx.messages_s : 0, out);
}

static void rx_bytes_text(const struct top_row *r, char *out)
{
	put_rate(r->qp && r->qp->rx.has_traffic, r->qp ? r->qp->rx.bytes_s : 0, out);
}

static void latency_text(const struct top_row *r, char *out)
{
	double us = r->qp ? r->qp->latency_us : -1;

	if (us < 0)
		snprintf(out, TOP_CELL, "-");
	else if (us < 999.5)
		snprintf(out, TOP_CELL, us < 9.95 ? "%.1fus" : "%.0fus", us);
	else if (us < 999500)
		snprintf(out, TOP_CELL, "%.1fms", us / 1e3);
	else
		snprintf(out, TOP_CELL, "%.1fs", us / 1e6);
}

static uint32_t sends_of(const struct top_row *r)
{
	if (!r->qp)
		return 0;
	return r->qp->now.flags & SNAPSHOT_POSTED ? r->qp->now.posted - r->qp->now.polled
						  : r->qp->now.pending;
}

static void put_fill(uint32_t fill, uint32_t size, char *out)
{
	snprintf(out, TOP_CELL, "-");
	if (size)
		snprintf(out, TOP_CELL, "%u/%u", fill, size);
}

static void sq_text(const struct top_row *r, char *out)
{
	put_fill(sends_of(r), r->qp ? r->qp->now.sq_size : 0, out);
}

static void rq_text(const struct top_row *r, char *out)
{
	put_fill(r->qp ? r->qp->now.recv.fill : 0, r->qp ? r->qp->now.recv.size : 0, out);
}

static double share(const struct snapshot_ring *ring)
{
	return ring->failed ? 2 : ring->size ? (double)ring->fill / ring->size : -1;
}

/* The fuller one of the two. */
static const struct snapshot_ring *cq_of(const struct top_row *r)
{
	const struct snapshot_ring *s = &r->qp->now.send_cq, *t = &r->qp->now.recv_cq;

	return share(t) > share(s) ? t : s;
}

static void cq_text(const struct top_row *r, char *out)
{
	const struct snapshot_ring *cq = r->qp ? cq_of(r) : NULL;

	if (cq && cq->failed)
		snprintf(out, TOP_CELL, "overrun");
	else
		put_fill(cq ? cq->fill : 0, cq ? cq->size : 0, out);
}

static void put_count(const struct top_row *r, uint32_t n, char *out)
{
	snprintf(out, TOP_CELL, r->qp ? "%u" : "-", n);
}

static void retry_text(const struct top_row *r, char *out)
{
	put_count(r, r->qp ? r->qp->now.retried : 0, out);
}

static void rnr_text(const struct top_row *r, char *out)
{
	put_count(r, r->qp ? r->qp->now.rnr + r->qp->now.no_recv : 0, out);
}

static void error_text(const struct top_row *r, char *out)
{
	put_count(r, r->qp ? r->qp->now.errors : 0, out);
}

static void adapter_text(const struct top_row *r, char *out)
{
	if (!r->qp || !*r->qp->now.adapter)
		snprintf(out, TOP_CELL, "-");
	else
		snprintf(out, TOP_CELL, "%.50s/%u", r->qp->now.adapter, r->qp->now.port);
}

static void peer_text(const struct top_row *r, char *out)
{
	char address[TOP_CELL];

	snprintf(out, TOP_CELL, "-");
	if (!r->qp || !r->qp->now.dest_qpn)
		return;
	top_address(r->qp, address);
	if (r->qp->peer_pid)
		snprintf(out, TOP_CELL, "%d 0x%06x", (int)r->qp->peer_pid, r->qp->now.dest_qpn);
	else
		snprintf(out, TOP_CELL, "0x%06x %.40s", r->qp->now.dest_qpn, address);
}

/* ---- values ---- */

static double pid_value(const struct top_row *r)
{
	return r->process->pid;
}

static double qpn_value(const struct top_row *r)
{
	return r->qp ? r->qp->now.qpn : 0;
}

static double tx_messages_value(const struct top_row *r)
{
	return r->qp ? r->qp->tx.messages_s : -1;
}

static double tx_bytes_value(const struct top_row *r)
{
	return r->qp ? r->qp->tx.bytes_s : -1;
}

static double rx_messages_value(const struct top_row *r)
{
	return r->qp ? r->qp->rx.messages_s : -1;
}

static double rx_bytes_value(const struct top_row *r)
{
	return r->qp ? r->qp->rx.bytes_s : -1;
}

static double latency_value(const struct top_row *r)
{
	return r->qp ? r->qp->latency_us : -1;
}

static double sq_value(const struct top_row *r)
{
	return r->qp && r->qp->now.sq_size ? (double)sends_of(r) / r->qp->now.sq_size : -1;
}

static double rq_value(const struct top_row *r)
{
	return r->qp ? share(&r->qp->now.recv) : -1;
}

static double cq_value(const struct top_row *r)
{
	return r->qp ? share(cq_of(r)) : -1;
}

static double retry_value(const struct top_row *r)
{
	return r->qp ? (double)r->qp->now.retried : -1;
}

static double rnr_value(const struct top_row *r)
{
	return r->qp ? (double)r->qp->now.rnr + r->qp->now.no_recv : -1;
}

static double error_value(const struct top_row *r)
{
	return r->qp ? (double)r->qp->now.errors : -1;
}

const struct top_column top_columns[] = {
	{ "PID", "pid", 7, false, false, pid_text, pid_value },
	{ "PROGRAM", "program", 12, true, false, program_text, NULL },
	{ "S", "health", 1, true, false, health_text, NULL },
	{ "QPN", "qpn", 8, true, false, qpn_text, qpn_value },
	{ "TYPE", "type", 4, true, false, type_text, NULL },
	{ "STATE", "state", 5, true, false, state_text, NULL },
	{ "TX/s", "tx", 5, false, true, tx_messages_text, tx_messages_value },
	{ "TX B/s", "txb", 6, false, true, tx_bytes_text, tx_bytes_value },
	{ "RX/s", "rx", 5, false, true, rx_messages_text, rx_messages_value },
	{ "RX B/s", "rxb", 6, false, true, rx_bytes_text, rx_bytes_value },
	{ "LAT", "latency", 7, false, true, latency_text, latency_value },
	{ "SQ", "sq", 9, false, true, sq_text, sq_value },
	{ "RQ", "rq", 9, false, false, rq_text, rq_value },
	{ "CQ", "cq", 11, false, true, cq_text, cq_value },
	{ "RETRY", "retry", 5, false, true, retry_text, retry_value },
	{ "RNR", "rnr", 5, false, true, rnr_text, rnr_value },
	{ "ERR", "err", 5, false, true, error_text, error_value },
	{ "ADAPTER", "adapter", 9, true, false, adapter_text, NULL },
	{ "PEER", "peer", 32, true, false, peer_text, NULL },
};

const size_t top_column_count = array_size(top_columns);
