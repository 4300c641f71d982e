/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/inspect/story_text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "hca/device/access.h"
#include "hca/device/work.h"
#include "hca/transport/hca_qp.h"
#include "hca/transport/syndrome.h"

/* ---- words ---- */

static const char *type_name(unsigned int type)
{
	static const char *const names[] = {
		[HCA_QP_RC] = "RC",   [HCA_QP_UC] = "UC",        [HCA_QP_UD] = "UD",
		[HCA_QP_RAW] = "raw", [HCA_QP_XRC_SEND] = "XRC", [HCA_QP_XRC_RECV] = "XRC",
		[HCA_QP_DCI] = "DCI", [HCA_QP_DCT] = "DCT",      [HCA_QP_DCR] = "DC session",
	};

	return type < array_size(names) && names[type] ? names[type] : "?";
}

static const char *state_name(unsigned int state)
{
	static const char *const names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return state < array_size(names) ? names[state] : "?";
}

static const char *op_name(unsigned int op)
{
	static const char *const names[HCA_OP_COUNT] = {
		[HCA_OP_SEND] = "SEND",
		[HCA_OP_SEND_IMM] = "SEND with immediate data",
		[HCA_OP_SEND_INV] = "SEND with invalidate",
		[HCA_OP_WRITE] = "RDMA WRITE",
		[HCA_OP_WRITE_IMM] = "RDMA WRITE with immediate data",
		[HCA_OP_READ] = "RDMA READ",
		[HCA_OP_CMP_SWAP] = "COMPARE and SWAP",
		[HCA_OP_FETCH_ADD] = "FETCH and ADD",
		[HCA_OP_LOCAL_INV] = "LOCAL INVALIDATE",
		[HCA_OP_BIND_MW] = "BIND MW",
		[HCA_OP_FLUSH] = "FLUSH",
		[HCA_OP_ATOMIC_WRITE] = "ATOMIC WRITE",
	};

	return op < array_size(names) && names[op] ? names[op] : "request";
}

static const char *status_name(unsigned int status)
{
	static const char *const names[] = {
		[HCA_LOC_LEN_ERR] = "IBV_WC_LOC_LEN_ERR",
		[HCA_LOC_QP_OP_ERR] = "IBV_WC_LOC_QP_OP_ERR",
		[HCA_LOC_PROT_ERR] = "IBV_WC_LOC_PROT_ERR",
		[HCA_MW_BIND_ERR] = "IBV_WC_MW_BIND_ERR",
		[HCA_BAD_RESP_ERR] = "IBV_WC_BAD_RESP_ERR",
		[HCA_LOC_ACCESS_ERR] = "IBV_WC_LOC_ACCESS_ERR",
		[HCA_REM_INV_REQ_ERR] = "IBV_WC_REM_INV_REQ_ERR",
		[HCA_REM_ACCESS_ERR] = "IBV_WC_REM_ACCESS_ERR",
		[HCA_REM_OP_ERR] = "IBV_WC_REM_OP_ERR",
		[HCA_RETRY_EXC_ERR] = "IBV_WC_RETRY_EXC_ERR",
		[HCA_RNR_RETRY_EXC_ERR] = "IBV_WC_RNR_RETRY_EXC_ERR",
	};

	return status < array_size(names) && names[status] ? names[status] : "an error";
}

static const char *right_name(unsigned int right)
{
	switch (right) {
	case HCA_ACCESS_LOCAL_WRITE:
		return "IBV_ACCESS_LOCAL_WRITE";
	case HCA_ACCESS_REMOTE_READ:
		return "IBV_ACCESS_REMOTE_READ";
	case HCA_ACCESS_REMOTE_ATOMIC:
		return "IBV_ACCESS_REMOTE_ATOMIC";
	default:
		return "IBV_ACCESS_REMOTE_WRITE";
	}
}

static void put_duration(FILE *to, uint64_t ns)
{
	if (ns < 1000000)
		fprintf(to, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		fprintf(to, "%.1f ms", (double)ns / 1e6);
	else
		fprintf(to, "%.1f s", (double)ns / 1e9);
}

static uint64_t timeout_ns(const struct hca_story *s)
{
	return s->timeout ? 4096ull << (s->timeout & 31) : 0;
}

static void put_request(FILE *to, const struct story_request *r)
{
	fprintf(to, "%s of %" PRIu64 " bytes", op_name(r->op), r->length);
	if (r->has_wr_id)
		fprintf(to, " (wr_id %" PRIu64 ")", r->wr_id);
}

static void put_range(FILE *to, const struct story_request *r)
{
	fprintf(to, "%" PRIu64 " bytes at 0x%" PRIx64 " by key 0x%08x", r->length, r->raddr,
		r->rkey);
}

static void put_peer(FILE *to, const struct hca_story *s)
{
	char gid[INET6_ADDRSTRLEN] = "?";

	fprintf(to, "QP 0x%06x", s->peer_qpn);
	if (s->peer_pid) {
		fprintf(to, " of %.16s (pid %u)", s->peer_program, s->peer_pid);
	} else if (s->elsewhere) {
		inet_ntop(AF_INET6, s->gid, gid, sizeof(gid));
		fprintf(to, " of another host, %s", gid);
	}
}

void story_name(FILE *to, const struct hca_story *s)
{
	fprintf(to, "QP 0x%06x (%s) of %.16s (pid %u) on %.64s", s->qpn, type_name(s->type),
		s->program, s->pid, s->adapter);
}

/* ---- facts ---- */

static void put_cq(FILE *to, const char *what, const struct story_queue *q)
{
	if (q->number)
		fprintf(to, "  %s CQ %u: %u of %u entries not polled\n", what, q->number, q->filled,
			q->size);
}

void story_facts(FILE *to, const struct hca_story *s)
{
	story_name(to, s);
	fprintf(to, ": %s", state_name(s->state));
	if (s->connected && s->state >= HCA_QPS_RTR) {
		fputs(", to ", to);
		put_peer(to, s);
	}
	fprintf(to, "\n  send queue: %u requests without an answer, %u of %u slots waiting\n",
		s->outstanding, s->posted, s->slots);
	if (s->outstanding && s->request.known) {
		fputs("  oldest request: ", to);
		put_request(to, &s->request);
		if (s->age_ns != STORY_UNKNOWN) {
			fputs(", for ", to);
			put_duration(to, s->age_ns);
		}
		fprintf(to, "; %u of %u retries, %u of %u for RNR\n", s->retries, s->retry_cnt,
			s->rnr_retries, s->rnr_retry);
	}
	if (s->srq.number)
		fprintf(to, "  SRQ %u: %u of %u receives posted, limit %u\n", s->srq.number,
			s->srq.filled, s->srq.size, s->srq_limit);
	else
		fprintf(to, "  receive queue: %u receives posted\n", s->receives);
	if (s->send_cq.number == s->recv_cq.number) {
		put_cq(to, "send and receive", &s->send_cq);
	} else {
		put_cq(to, "send", &s->send_cq);
		put_cq(to, "receive", &s->recv_cq);
	}
}

/* ---- failures ---- */

static void tell_silence(FILE *to, const struct hca_story *s)
{
	if (s->elsewhere)
		fprintf(to,
			"  The host does not answer: is it up, does a firewall let UDP port 4791 "
			"through, and is its QP in RTR or RTS with dest_qp_num 0x%06x?\n",
			s->qpn);
	else if (s->peer_pid)
		fprintf(to,
			"  That process is there, and nothing is answered for this number: a QP "
			"drops packets until it is in RTR, after it failed or was destroyed, and "
			"those of another QP than its dest_qp_num, which must be 0x%06x.\n",
			s->qpn);
	else
		fprintf(to,
			"  No process of this host had QP 0x%06x: its process has ended, the QP "
			"was "
			"destroyed, or dest_qp_num (or the GID or LID) is wrong.\n",
			s->peer_qpn);
}

static void tell_retries(FILE *to, const struct hca_story *s)
{
	fputs("  ", to);
	put_peer(to, s);
	if (s->answer == STORY_ANSWER_SEQUENCE)
		fputs(" answered that packets before it are missing (NAK for the sequence), again "
		      "and again: the network loses packets, or rq_psn of the peer is not this "
		      "QP's sq_psn.\n",
		      to);
	else
		fprintf(to, " %s.\n",
			s->answer == STORY_ANSWER_NEVER ? "has never answered on this connection"
							: "did not answer");
	fprintf(to, "  timeout and retry_cnt decide: timeout %u is ", s->timeout);
	put_duration(to, timeout_ns(s));
	fprintf(to, ", and retry_cnt %u makes %u attempts.\n", s->retry_cnt, s->retry_cnt + 1u);
	if (s->answer != STORY_ANSWER_SEQUENCE)
		tell_silence(to, s);
	fputs("  To do: keep the peer's QP until its requests are answered, and connect it before "
	      "sending; timeout 14 and retry_cnt 7 are usual on a network.\n",
	      to);
}

static void tell_rnr(FILE *to, const struct hca_story *s)
{
	fputs("  ", to);
	put_peer(to, s);
	fprintf(to,
		" had no receive posted, and said so each time (RNR NAK).\n"
		"  rnr_retry decides: it is %u, so that the request was sent %u time%s; the peer's "
		"min_rnr_timer is the time between.\n"
		"  To do: post receives at the peer before this end sends, and count them; "
		"rnr_retry "
		"7 tries without end.\n",
		s->rnr_retry, s->rnr_retry + 1u, s->rnr_retry ? "s" : "");
}

static void tell_key(FILE *to, const struct hca_story *s)
{
	const struct story_request *r = &s->request;

	switch (s->refusal) {
	case STORY_REFUSAL_NO_KEY:
		fprintf(to,
			"  No memory region or window has key 0x%08x: it was deregistered, or the "
			"number is wrong.\n",
			r->rkey);
		break;
	case STORY_REFUSAL_DOMAIN:
		fprintf(to, "  Key 0x%08x belongs to another protection domain than the QP.\n",
			r->rkey);
		break;
	case STORY_REFUSAL_RANGE:
		fprintf(to,
			"  Key 0x%08x is of %" PRIu64 " bytes at 0x%" PRIx64
			", and the access goes beyond them.\n",
			r->rkey, s->region_length, s->region);
		break;
	case STORY_REFUSAL_RIGHT:
		fprintf(to, "  Key 0x%08x was registered without %s.\n", r->rkey,
			right_name(s->needs));
		break;
	default:
		break;
	}
}

static void tell_local(FILE *to, const struct hca_story *s)
{
	if (!s->refusal) {
		fputs("  An element of its list is not in a memory region of its lkey.\n", to);
	} else {
		fputs("  An element of its list has ", to);
		put_range(to, &s->request);
		fputs(".\n", to);
		tell_key(to, s);
	}
	fputs("  To do: register the memory in the QP's protection domain, with "
	      "IBV_ACCESS_LOCAL_WRITE for what a read or an atomic writes, and keep it "
	      "registered until the completion.\n",
	      to);
}

static void tell_remote_access(FILE *to, const struct hca_story *s)
{
	fputs("  ", to);
	put_peer(to, s);
	fputs(" refused it (NAK for a remote access error): ", to);
	put_range(to, &s->request);
	fputs(".\n  To do: take address and rkey from the peer's registration, which needs "
	      "IBV_ACCESS_REMOTE_WRITE, _READ or _ATOMIC, the protection domain of the peer's "
	      "QP, and to live as long as it is used.\n",
	      to);
}

static void tell_remote_invalid(FILE *to, const struct hca_story *s)
{
	fputs("  ", to);
	put_peer(to, s);
	fputs(" refused it as invalid (NAK for an invalid request): ", to);
	if (s->request.remote)
		fputs("its qp_access_flags lack the right, its max_dest_rd_atomic is 0, or the "
		      "address of an atomic is no multiple of 8.\n",
		      to);
	else
		fputs("the message is longer than the receive that it met.\n", to);
}

static void tell_status(FILE *to, const struct hca_story *s)
{
	switch (s->status) {
	case HCA_RNR_RETRY_EXC_ERR:
		tell_rnr(to, s);
		break;
	case HCA_RETRY_EXC_ERR:
		tell_retries(to, s);
		break;
	case HCA_REM_ACCESS_ERR:
		tell_remote_access(to, s);
		break;
	case HCA_REM_INV_REQ_ERR:
		tell_remote_invalid(to, s);
		break;
	case HCA_REM_OP_ERR:
		fputs("  ", to);
		put_peer(to, s);
		fputs(" could not carry it out (NAK for a remote operational error): the list of "
		      "the receive that it met is not in regions of its lkeys.\n",
		      to);
		break;
	case HCA_LOC_PROT_ERR:
		tell_local(to, s);
		break;
	case HCA_LOC_LEN_ERR:
		fputs("  It is longer than a message may be: 2^31 bytes, the port's MTU for a "
		      "datagram, 8 bytes for an atomic.\n",
		      to);
		break;
	case HCA_LOC_QP_OP_ERR:
		fputs("  The adapter cannot carry out such a request on a QP of this type, or the "
		      "request is malformed.\n",
		      to);
		break;
	case HCA_MW_BIND_ERR:
		fputs("  The memory window cannot be bound so: its region lacks "
		      "IBV_ACCESS_MW_BIND or a right, or the range goes beyond it.\n",
		      to);
		break;
	default:
		break;
	}
}

static void put_time(FILE *to, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / 1000000000);
	struct tm tm;
	char text[16] = "?";

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	fprintf(to, "%s.%03u", text, (unsigned int)(wall_ns / 1000000 % 1000));
}

static void tell_failure(FILE *to, const struct hca_story *s)
{
	story_name(to, s);
	fputs(": ", to);
	put_request(to, &s->request);
	fprintf(to, " failed with %s (vendor error 0x%02x) at ", status_name(s->status), s->vendor);
	put_time(to, s->wall_ns);
	fprintf(to, ", and %s.\n",
		s->type == HCA_QP_DCI                          ? "its stream with it"
		: s->type == HCA_QP_UD || s->type == HCA_QP_UC ? "the QP went to SQE"
							       : "the QP went to ERR");
	tell_status(to, s);
}

static void tell_refusal(FILE *to, const struct hca_story *s)
{
	story_name(to, s);
	fputs(": it refused ", to);
	if (s->request.known) {
		fprintf(to, "%s of %" PRIu64 " bytes from ",
			s->request.op == HCA_OP_FETCH_ADD ? "an atomic" : op_name(s->request.op),
			s->request.length);
	} else {
		fputs("a request of ", to);
	}
	put_peer(to, s);
	fputs(" at ", to);
	put_time(to, s->wall_ns);
	fputs(", and went to ERR.\n", to);
	switch (s->refusal) {
	case STORY_REFUSAL_TOO_LONG:
		fprintf(to,
			"  The message is longer than the receive that it met, of %" PRIu64
			" bytes. To do: post receives of the longest message.\n",
			s->region_length);
		break;
	case STORY_REFUSAL_QP_RIGHT:
		fprintf(to, "  qp_access_flags decide: the QP has not %s.\n", right_name(s->needs));
		break;
	case STORY_REFUSAL_RESOURCES:
		fputs("  max_dest_rd_atomic decides: it is 0, so that the QP answers no reads and "
		      "atomics.\n",
		      to);
		break;
	case STORY_REFUSAL_RECEIVE:
		fputs("  The list of the receive that it met is not in regions of its lkeys, with "
		      "IBV_ACCESS_LOCAL_WRITE.\n",
		      to);
		break;
	case STORY_REFUSAL_INVALIDATE:
		fputs("  The key that the SEND invalidates is none of this QP's.\n", to);
		break;
	default:
		if (s->request.remote) {
			fputs("  It asked for ", to);
			put_range(to, &s->request);
			fputs(".\n", to);
		}
		tell_key(to, s);
		break;
	}
}

/* ---- live ones ---- */

static void tell_waiting(FILE *to, const struct hca_story *s)
{
	fputs("  ", to);
	put_request(to, &s->request);
	fputs(" waits for an answer of ", to);
	put_peer(to, s);
	if (s->age_ns != STORY_UNKNOWN) {
		fputs(", for ", to);
		put_duration(to, s->age_ns);
	}
	fputs(".\n", to);
	if (s->answer == STORY_ANSWER_RNR) {
		fprintf(to, "  The peer has no receive posted, and says so (RNR NAK). ");
		if (s->rnr_retry == 7)
			fputs("rnr_retry is 7: this goes on without end, until the peer posts a "
			      "receive.\n",
			      to);
		else
			fprintf(to, "rnr_retry decides: %u of %u retries are used.\n",
				s->rnr_retries, s->rnr_retry);
	} else if (!s->timeout && s->type != HCA_QP_UC) {
		fputs("  timeout decides: it is 0, so that the QP waits without end. 14 is "
		      "usual.\n",
		      to);
	} else {
		fprintf(to, "  timeout %u is ", s->timeout);
		put_duration(to, timeout_ns(s));
		fprintf(to, "; %u of %u retries (retry_cnt) are used.\n", s->retries, s->retry_cnt);
	}
	if (s->answer <= STORY_ANSWER_NONE && s->retries)
		tell_silence(to, s);
}

static void tell_ready(FILE *to, const struct hca_story *s)
{
	bool none = !s->outstanding && !s->posted;
	uint32_t receives = s->srq.number ? s->srq.filled : s->receives;

	if (s->outstanding && s->request.known)
		tell_waiting(to, s);
	if (s->waits_path)
		fputs("  Its next request waits for the process of the peer to answer that it is "
		      "there: it may be stopped.\n",
		      to);
	if (s->waits_room)
		fputs("  The way to the peer is full: the peer's process does not take in what "
		      "has come.\n",
		      to);
	if (s->posted && !s->outstanding && s->state == HCA_QPS_SQD)
		fputs("  In SQD nothing is sent: ibv_modify_qp() to RTS goes on.\n", to);
	if (s->send_cq.filled)
		fprintf(to,
			"  %u completions are in its send CQ, and the program does not poll "
			"them.\n",
			s->send_cq.filled);
	if (s->recv_cq.filled && s->recv_cq.number != s->send_cq.number)
		fprintf(to,
			"  %u completions are in its receive CQ, and the program does not poll "
			"them.\n",
			s->recv_cq.filled);
	if (s->posted && !s->outstanding && s->state == HCA_QPS_RTS && s->request.known) {
		fputs("  ", to);
		put_request(to, &s->request);
		fputs(" is not sent yet: it waits for those before it, for its fence, or for the "
		      "adapter.\n",
		      to);
	}
	if (none && receives)
		fprintf(to,
			"  All of its sends are answered; %u receives are posted, and wait for "
			"the peer to send.\n",
			receives);
	else if (none)
		fputs("  All of its sends are answered, and no receive is posted: a SEND of the "
		      "peer would find none (RNR).\n",
		      to);
}

static void tell_live(FILE *to, const struct hca_story *s)
{
	story_name(to, s);
	fprintf(to, " is in %s.\n", state_name(s->state));
	switch (s->state) {
	case HCA_QPS_RESET:
	case HCA_QPS_INIT:
		fprintf(to,
			"  The state decides: it neither sends nor receives, and drops what comes. "
			"ibv_modify_qp() to RTR and RTS is missing; %u receives are posted.\n",
			s->receives);
		break;
	case HCA_QPS_RTR:
		fprintf(to,
			"  The state decides: it receives from QP 0x%06x, and ibv_post_send() is "
			"refused until ibv_modify_qp() to RTS.\n",
			s->peer_qpn);
		break;
	case HCA_QPS_SQE:
		fputs("  A send has failed, and those behind it were flushed; ibv_modify_qp() to "
		      "RTS goes on.\n",
		      to);
		break;
	case HCA_QPS_ERR:
		fputs("  What is posted is flushed. No request of it failed, and none of its "
		      "peer's: the program has moved it to ERR, itself or through librdmacm, or "
		      "the failure is too old to be kept.\n",
		      to);
		break;
	default:
		tell_ready(to, s);
		break;
	}
}

void story_tell(FILE *to, const struct hca_story *s)
{
	if (s->kind == STORY_REQUEST)
		tell_failure(to, s);
	else if (s->kind == STORY_REFUSED)
		tell_refusal(to, s);
	else
		tell_live(to, s);
}

bool story_is_stuck(const struct hca_story *s)
{
	return s->kind != STORY_LIVE || s->outstanding || s->posted || s->waits_path ||
	       s->waits_room || s->state == HCA_QPS_SQE || s->state == HCA_QPS_ERR;
}
