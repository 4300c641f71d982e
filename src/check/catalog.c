/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/catalog.h"

#include "util/api.h"

static const struct check_catalog catalog[] = {
	[CHECK_SEND_BUFFER_CHANGED] = {
		.id = "send-buffer-changed",
		.why = "the adapter reads the buffer at any time until the completion, and again when a "
		       "packet is lost: the peer gets old bytes, new bytes or a mixture",
		.advice = "poll the completion before the buffer is used again, take another buffer, or "
			  "send short data with IBV_SEND_INLINE",
	},
	[CHECK_SEND_BUFFER_UNMAPPED] = {
		.id = "send-buffer-unmapped",
		.why = "the adapter still owns the memory: it sends the old pages, or completes with "
		       "IBV_WC_LOC_PROT_ERR where pages are on demand",
		.advice = "free or unmap a buffer after its completion, and after ibv_dereg_mr()",
	},
	[CHECK_RECEIVE_BUFFER_CHANGED] = {
		.id = "receive-buffer-changed",
		.why = "the adapter writes there at any time until the completion: the message overwrites what "
		       "the program wrote, or the program overwrites the message",
		.advice = "fill in the buffer before it is posted, or poll the completion first",
	},
	[CHECK_STACK_BUFFER_RETURNED] = {
		.id = "stack-buffer-returned",
		.why = "other calls use that part of the stack by now, and the adapter reads or writes it "
		       "at any time until the completion",
		.advice = "wait for the completion in the function that has the buffer, take a buffer from "
			  "the heap, or send with IBV_SEND_INLINE",
	},
	[CHECK_MR_IN_USE] = {
		.id = "mr-in-use",
		.why = "the request may be executed later: it then completes with IBV_WC_LOC_PROT_ERR, "
		       "and its queue pair is in the error state",
		.advice = "poll the request's completion, or move the queue pair to IBV_QPS_ERR or destroy "
			  "it, before ibv_dereg_mr()",
	},
	[CHECK_MR_UNMAPPED] = {
		.id = "mr-unmapped",
		.note = true,
		.why = "the adapter keeps the old pages until ibv_dereg_mr(): requests, and peers that have the "
		       "key, read and write memory that is not the program's any more",
		.advice = "call ibv_dereg_mr() before the memory is unmapped",
	},
	[CHECK_KEY_AFTER_DEREG] = {
		.id = "key-after-dereg",
		.why = "the key names no memory, or soon that of another region: IBV_WC_LOC_PROT_ERR, or "
		       "other data",
		.advice = "deregister memory when no request uses it any more",
	},
	[CHECK_SGE_REFUSED] = {
		.id = "sge-refused",
		.why = "the request completes with IBV_WC_LOC_PROT_ERR, and its queue pair is in the error state",
		.advice = "give each element the lkey of a region of the queue pair's protection domain that has "
			  "all of its bytes; memory that the adapter writes to needs IBV_ACCESS_LOCAL_WRITE",
	},
	[CHECK_INLINE_TOO_LONG] = {
		.id = "inline-too-long",
		.why = "the request is refused, and not posted: its message is never sent, and its completion "
		       "never comes",
		.advice = "ask for enough in max_inline_data when the queue pair is created, send at most what was "
			  "granted there, and look at the result of the post",
	},
	[CHECK_READ_SENT_UNFENCED] = {
		.id = "read-sent-unfenced",
		.why = "a send queue goes on while a read or an atomic waits for its answer: the later request "
		       "sends what was in the buffer before",
		.advice = "post the later request with IBV_SEND_FENCE, or poll the completion of the read first",
	},
	[CHECK_READ_OVERWRITTEN] = {
		.id = "read-overwritten",
		.why = "the order of a read and a later write is not promised, and a read whose answer was lost is "
		       "executed again after the write: it brings the new bytes",
		.advice = "post the write with IBV_SEND_FENCE, or poll the completion of the read first",
	},
	[CHECK_USE_AFTER_DESTROY] = {
		.id = "use-after-destroy",
		.why = "the struct is freed memory: the call crashes, or works on another object",
		.advice = "set the pointer to NULL where the object is destroyed, and stop the threads that "
			  "use it first",
	},
	[CHECK_OBJECT_LEAKED] = {
		.id = "object-leaked",
		.why = "adapters have few of them, and pinned memory stays pinned: a program that runs "
		       "long, or is loaded as a library, runs out",
		.advice = "destroy what was created, in the reverse order",
	},
	[CHECK_DESTROY_BUSY] = {
		.id = "destroy-busy",
		.why = "the object is still there, with its memory; the error was ignored",
		.advice = "destroy the objects that use it first: QPs before their CQs, SRQs and PD, memory "
			  "regions before their PD, CQs before their channel",
	},
	[CHECK_AH_PER_MESSAGE] = {
		.id = "ah-per-message",
		.why = "on Ethernet each creation is a system call, with a lookup of the neighbour: it "
		       "takes longer than the message",
		.advice = "keep one address handle for each destination",
	},
	[CHECK_MR_PER_MESSAGE] = {
		.id = "mr-per-message",
		.why = "registration pins pages and updates the adapter's tables: tens of microseconds, "
		       "many times the message",
		.advice = "register the buffer once and keep the region",
	},
	[CHECK_FORK_UNPREPARED] = {
		.id = "fork-unprepared",
		.note = true,
		.why = "on Linux before 5.12 the parent gets a copy of each registered page that it writes to next, "
		       "and the adapter keeps the old one, even if the child calls exec() at once",
		.advice = "call ibv_fork_init() before anything is registered, or fork before that; "
			  "posix_spawn() does not share pages",
	},
	[CHECK_CQ_OVERRUN_POSSIBLE] = {
		.id = "cq-overrun-possible",
		.why = "when they complete before the program polls, completions are lost, and all queue "
		       "pairs of the CQ go to the error state",
		.advice = "create the CQ with an entry for every receive and every signaled send that can be "
			  "outstanding on all of its queues",
	},
	[CHECK_CQ_OVERRUN] = {
		.id = "cq-overrun",
		.why = "completions are lost, IBV_EVENT_CQ_ERR comes, and all queue pairs of the CQ are of no use "
		       "any more",
		.advice = "create the CQ with an entry for every receive and every signaled send that can be "
			  "outstanding on all of its queues, or poll it sooner",
	},
	[CHECK_SEND_QUEUE_UNSIGNALED] = {
		.id = "send-queue-unsignaled",
		.why = "room in the send queue comes back with completions only; without one in a whole "
		       "queue of requests it stays full for ever",
		.advice = "set IBV_SEND_SIGNALED on at least one request in max_send_wr, and poll for it",
	},
	[CHECK_RECEIVE_QUEUE_DRY] = {
		.id = "receive-queue-dry",
		.note = true,
		.why = "messages wait for the RNR timer, which is up to 0.65 s, or fail; datagrams are lost",
		.advice = "post more receives, or give them back sooner",
	},
	[CHECK_SRQ_DRY] = {
		.id = "srq-dry",
		.note = true,
		.why = "messages for all of its queue pairs wait for the RNR timer, or fail; datagrams are lost",
		.advice = "post more receives, or arm a limit (ibv_modify_srq() with IBV_SRQ_LIMIT), post when "
			  "IBV_EVENT_SRQ_LIMIT_REACHED comes, and arm it again",
	},
	[CHECK_RNR_RETRY_EXCEEDED] = {
		.id = "rnr-retry-exceeded",
		.why = "the peer had no receive posted for all of the retries; the queue pair is in the error "
		       "state",
		.advice = "post receives before the peer sends; rnr_retry = 7 retries for ever",
	},
	[CHECK_DATAGRAM_TOO_LONG] = {
		.id = "datagram-too-long",
		.why = "the datagram is dropped, and neither side is told",
		.advice = "post receives that are 40 bytes longer than the longest message: the GRH, or room for it, "
			  "comes first",
	},
	[CHECK_QKEY_MISMATCH] = {
		.id = "qkey-mismatch",
		.note = true,
		.why = "the datagram is dropped, and neither side is told",
		.advice = "give wr.ud.remote_qkey the Q_Key of the receiving queue pair, or that of the multicast "
			  "group; it is a note, since strangers may send datagrams, too",
	},
	[CHECK_LOST_WAKEUP] = {
		.id = "lost-wakeup",
		.why = "an event comes for completions after ibv_req_notify_cq() only: on adapters that keep "
		       "to the letter of the specification, the program sleeps for ever",
		.advice = "call ibv_req_notify_cq(), then poll until the CQ is empty, then wait",
	},
	[CHECK_EVENTS_UNACKNOWLEDGED] = {
		.id = "events-unacknowledged",
		.why = "ibv_destroy_cq() waits until every event is acknowledged: it never returns",
		.advice = "call ibv_ack_cq_events() once for each event, or with their number before "
			  "ibv_destroy_cq()",
	},
	[CHECK_CQ_TWO_THREADS] = {
		.id = "cq-two-threads",
		.why = "IBV_CREATE_CQ_ATTR_SINGLE_THREADED takes the lock away: completions are lost or seen "
		       "twice",
		.advice = "poll it from one thread at a time, or leave the flag out",
	},
	[CHECK_TD_TWO_THREADS] = {
		.id = "td-two-threads",
		.why = "objects of a thread domain have no locks, and share a doorbell register: requests are lost "
		       "or mixed up",
		.advice = "give each thread a thread domain of its own, or let one thread at a time use it",
	},
	[CHECK_GID_INDEX_0] = {
		.id = "gid-index-0",
		.why = "entry 0 of a RoCE port is usually the RoCE v1 form of a link-local address: its "
		       "packets cross no router, and RoCE v2 peers do not see them",
		.advice = "look for an entry with type IBV_GID_TYPE_ROCE_V2 and the address that the peer "
			  "reaches (ibv_query_gid_ex), or use librdmacm",
	},
	[CHECK_PKEY_INDEX] = {
		.id = "pkey-index",
		.why = "the port is in no partition by that entry: its packets are dropped on the way, with no "
		       "error but a timeout",
		.advice = "look for the entry of the partition (ibv_query_pkey, ibv_get_pkey_index); the default "
			  "partition's is usually 0",
	},
	[CHECK_TIMEOUT_ZERO] = {
		.id = "timeout-zero",
		.why = "a timeout of 0 means never: after one lost packet or a dead peer, requests wait for "
		       "ever",
		.advice = "set timeout to 14 (67 ms) or so; the unit is 4.096 us * 2^timeout",
	},
	[CHECK_TIMEOUT_SHORT] = {
		.id = "timeout-short",
		.why = "a pause of a switch or of the peer's adapter takes longer: requests are sent again needlessly, "
		       "and the queue pair fails with IBV_WC_RETRY_EXC_ERR although nothing is broken",
		.advice = "set timeout to 14 (67 ms) or so, and retry_cnt to 7; the unit is 4.096 us * 2^timeout",
	},
	[CHECK_RD_ATOMIC_MISMATCH] = {
		.id = "rd-atomic-mismatch",
		.why = "the peer may refuse an RDMA read or an atomic beyond what it has resources for: "
		       "IBV_WC_REM_INV_REQ_ERR under load",
		.advice = "exchange the limits, and set max_rd_atomic to at most the peer's "
			  "max_dest_rd_atomic",
	},
	[CHECK_MTU_ABOVE_PORT] = {
		.id = "mtu-above-port",
		.why = "adapters refuse it, or packets are dropped on the way",
		.advice = "take the smaller active_mtu of both ports (ibv_query_port)",
	},
	[CHECK_CAPABILITY_NOT_ASKED] = {
		.id = "capability-not-asked",
		.why = "not every adapter has it; on others the program fails when it uses it",
		.advice = "ask with ibv_query_device_ex(), and have another way or say what is missing",
	},
	[CHECK_LIMIT_NOT_PORTABLE] = {
		.id = "limit-not-portable",
		.why = "the adapter at hand grants it, and others refuse to create the object",
		.advice = "ask for the limits with ibv_query_device(), and stay below them",
	},
	[CHECK_DV_WQE_CHANGED] = {
		.id = "dv-wqe-changed",
		.why = "the adapter reads the entry at any time until the completion, and again when a packet is "
		       "lost: it executes old bytes, new bytes or a mixture",
		.advice = "leave an entry alone until a completion of it or of a later one; take the next entry "
			  "for the next request",
	},
	[CHECK_DV_RECORD_MISSING] = {
		.id = "dv-record-missing",
		.why = "the adapter goes by the doorbell record whenever it reads the queue later than at the "
		       "doorbell: requests are lost under load",
		.advice = "store the index of the next request to dbrec[MLX5_SND_DBR] first, then ring the register",
	},
	[CHECK_DV_SQ_OVERTAKEN] = {
		.id = "dv-sq-overtaken",
		.why = "entries that the adapter has not executed are overwritten, and the index says nothing any "
		       "more: requests are lost, or executed twice",
		.advice = "count the blocks of 64 bytes that are outstanding, and wait for completions when there "
			  "are as many as the ring has (sq.wqe_cnt)",
	},
	[CHECK_DV_OWNER_BIT] = {
		.id = "dv-owner-bit",
		.why = "the adapter waits at an entry that it does not own: this request and all behind it are "
		       "never executed",
		.advice = "take the owner bit from the running number of the request: it changes each time the "
			  "ring begins anew",
	},
	[CHECK_DV_CONSUMER_AHEAD] = {
		.id = "dv-consumer-ahead",
		.why = "the adapter takes the CQ for full, or overwrites entries that were not read: completions "
		       "are lost",
		.advice = "look at the owner bit of each entry before it counts, with the round of the ring in mind, "
			  "and add to the consumer index only what was there",
	},
	[CHECK_DV_CONSUMER_STILL] = {
		.id = "dv-consumer-still",
		.why = "the adapter learns from the doorbell record alone which entries are free: it takes the CQ "
		       "for full, and completions are lost",
		.advice = "store the consumer index to the doorbell record of the CQ (dbrec[0], or set_ci_db) "
			  "after each poll",
	},
};

_Static_assert(array_size(catalog) == CHECK_KINDS, "every kind has an entry");

const struct check_catalog *check_catalog_of(enum check_kind kind)
{
	return &catalog[kind];
}
