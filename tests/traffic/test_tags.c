/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tag matching by the adapter: lists changed by ibv_post_srq_ops(), messages that match and that do not, rendezvous,
 * and completions as an extended completion queue tells them.
 */
#include "rig.h"

#include <infiniband/tm_types.h>

#define TAGS 20u
#define OPS  16u

/* Offsets in buffers: messages that are sent, data of a rendezvous; tagged buffers, plain receives. */
enum { OUT = 0, DATA = 8192, TAGGED = 0, PLAIN = 65536, PIECE = 4096 };

static struct options receiver(void)
{
	struct options o = options_of(IBV_QPT_RC);

	if (!rig_is_mlx5())
		rig_skip("a ConnectX-3 has no tag matching");
	o.tags = TAGS;
	o.tag_ops = OPS;
	o.bytes = 1 << 20;
	o.recv_wr = 40;
	return o;
}

/* Requests go from a to b. */
static struct pair open_tagged(void)
{
	struct options to = receiver(), from = options_of(IBV_QPT_RC);
	struct pair p;

	from.bytes = to.bytes;
	p.a = end_open(&from);
	p.b = end_open(&to);
	ends_connect(p.a, p.b);
	return p;
}

/* ---- completions ---- */

struct seen {
	uint64_t wr_id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	unsigned int flags;
	uint32_t byte_len;
	struct ibv_wc_tm_info tm;
};

static struct seen see(struct end *e)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)e->rcq;
	struct ibv_poll_cq_attr attr = { 0 };
	struct seen s;

	wait_for(!ibv_start_poll(cq, &attr));
	s = (struct seen){ .wr_id = cq->wr_id,
			   .status = cq->status,
			   .opcode = ibv_wc_read_opcode(cq),
			   .flags = ibv_wc_read_wc_flags(cq),
			   .byte_len = ibv_wc_read_byte_len(cq) };
	ibv_wc_read_tm_info(cq, &s.tm);
	ibv_end_poll(cq);
	return s;
}

static void check_nothing(struct end *e)
{
	struct ibv_poll_cq_attr attr = { 0 };

	check_equal(ibv_start_poll((struct ibv_cq_ex *)e->rcq, &attr), ENOENT);
}

static struct seen expect(struct end *e, uint64_t id, enum ibv_wc_opcode opcode, unsigned int flags)
{
	struct seen s = see(e);

	check_equal(s.status, IBV_WC_SUCCESS);
	check_equal(s.wr_id, id);
	check_equal(s.opcode, opcode);
	check_equal(s.flags, flags);
	return s;
}

#define BOTH (IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID)

/* ---- the list ---- */

static int try_op(struct end *e, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int err = ibv_post_srq_ops(e->srq, wr, &bad);

	check(!err || bad == wr);
	return err;
}

/* A buffer of `len` bytes, number `i` of the end's; returns its handle. */
static uint32_t add(struct end *e, uint64_t tag, unsigned int i, uint32_t len, int flags,
		    uint32_t count)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + TAGGED + i * PIECE, len, e->mr->lkey };
	struct ibv_ops_wr wr = {
		.wr_id = 1000 + i,
		.opcode = IBV_WR_TAG_ADD,
		.flags = flags,
		.tm = { .unexpected_cnt = count,
			.add = { .recv_wr_id = i,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .tag = tag,
				 .mask = UINT64_MAX } },
	};

	check_ok(try_op(e, &wr));
	return wr.tm.handle;
}

static void sync_list(struct end *e, uint32_t count)
{
	struct ibv_ops_wr wr = { .wr_id = 77,
				 .opcode = IBV_WR_TAG_SYNC,
				 .flags = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC,
				 .tm = { .unexpected_cnt = count } };

	check_ok(try_op(e, &wr));
	expect(e, 77, IBV_WC_TM_SYNC, 0);
}

/* ---- messages ---- */

static void send_message(struct end *e, uint32_t len)
{
	post(e, &(struct work){ .id = 5,
				.op = IBV_WR_SEND,
				.flags = IBV_SEND_SIGNALED,
				.off = OUT,
				.len = len });
	expect_ok(e->scq, 5);
}

static void send_eager(struct end *e, uint64_t tag, uint32_t len, unsigned int seed)
{
	struct ibv_tmh *tmh = (void *)(e->buf + OUT);

	*tmh = (struct ibv_tmh){ .opcode = IBV_TMH_EAGER,
				 .app_ctx = htobe32(0x1234),
				 .tag = htobe64(tag) };
	fill(tmh + 1, len, seed);
	send_message(e, sizeof(*tmh) + len);
}

static void send_rndv(struct end *e, uint64_t tag, uint32_t len)
{
	struct ibv_tmh *tmh = (void *)(e->buf + OUT);
	struct ibv_rvh *rvh = (void *)(tmh + 1);

	*tmh = (struct ibv_tmh){ .opcode = IBV_TMH_RNDV,
				 .app_ctx = htobe32(0x1234),
				 .tag = htobe64(tag) };
	*rvh = (struct ibv_rvh){ .va = htobe64((uintptr_t)e->buf + DATA),
				 .rkey = htobe32(e->mr->rkey),
				 .len = htobe32(len) };
	fill(e->buf + DATA, len, (unsigned int)tag);
	send_message(e, sizeof(*tmh) + sizeof(*rvh));
}

static char *tagged(struct end *e, unsigned int i)
{
	return e->buf + TAGGED + i * PIECE;
}

/* ---- tests ---- */

static void the_device_says_what_it_has(void)
{
	struct ibv_device_attr_ex attr = rig_attr_ex();

	check_equal(attr.tm_caps.flags, rig_is_mlx5() ? IBV_TM_CAP_RC : 0);
	check_equal(attr.tm_caps.max_num_tags, rig_is_mlx5() ? 127 : 0);
	check_equal(attr.tm_caps.max_sge, rig_is_mlx5() ? 1 : 0);
	check_equal(attr.tm_caps.max_rndv_hdr_size, rig_is_mlx5() ? 64 : 0);
	check_equal(attr.tm_caps.max_ops, rig_is_mlx5() ? 32768 : 0);
}

static void messages_find_their_buffers(void)
{
	struct pair p = open_tagged();

	for (unsigned int i = 0; i < 5; i++) {
		add(p.b, 100 + i, i, 256, IBV_OPS_SIGNALED, 0);
		expect(p.b, 1000 + i, IBV_WC_TM_ADD, 0);
	}
	for (unsigned int i = 5; i-- > 0;) {
		struct seen s;

		send_eager(p.a, 100 + i, 50 + i, i);
		s = expect(p.b, i, IBV_WC_TM_RECV, BOTH);
		check_equal(s.byte_len, 50 + i);
		check_equal(s.tm.tag, 100 + i);
		check_equal(s.tm.priv, 0x1234);
		check_filled(tagged(p.b, i), 50 + i, i);
		check(is_all(tagged(p.b, i) + 50 + i, 100, 0));
	}
	check_nothing(p.b);
	pair_close(&p);
}

static void numbers_of_buffers_are_used_again(void)
{
	struct pair p = open_tagged();

	for (unsigned int i = 0; i < 10 * TAGS; i++) {
		add(p.b, i, i % 4, 256, i % 3 ? 0 : IBV_OPS_SIGNALED, 0);
		if (i % 3 == 0)
			expect(p.b, 1000 + i % 4, IBV_WC_TM_ADD, 0);
		send_eager(p.a, i, 16, i);
		expect(p.b, i % 4, IBV_WC_TM_RECV, BOTH);
	}
	pair_close(&p);
}

static void an_unexpected_message_is_received_whole_and_stops_new_buffers(void)
{
	struct pair p = open_tagged();
	struct seen s;

	post_recv(p.b, 9, PLAIN, 4096);
	post_recv(p.b, 10, PLAIN + 4096, 4096);
	send_eager(p.a, 1, 100, 1);
	s = expect(p.b, 9, IBV_WC_TM_RECV, 0);
	check_equal(s.byte_len, 116);
	check(!memcmp(p.b->buf + PLAIN, p.a->buf + OUT, 116));
	/* Appended before the program has told that it knows of the message. */
	add(p.b, 2, 0, 256, IBV_OPS_SIGNALED, 0);
	expect(p.b, 1000, IBV_WC_TM_ADD, IBV_WC_TM_SYNC_REQ);
	send_eager(p.a, 2, 100, 2);
	expect(p.b, 10, IBV_WC_TM_RECV, 0);
	sync_list(p.b, 2);
	send_eager(p.a, 2, 100, 3);
	expect(p.b, 0, IBV_WC_TM_RECV, BOTH);
	check_filled(tagged(p.b, 0), 100, 3);
	/* With the count in the change itself no synchronisation is asked for. */
	add(p.b, 4, 1, 256, IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC, 2);
	expect(p.b, 1001, IBV_WC_TM_ADD, 0);
	pair_close(&p);
}

static void a_message_without_a_tag_is_an_ordinary_one(void)
{
	struct pair p = open_tagged();

	add(p.b, 0, 0, 256, 0, 0);
	post_recv(p.b, 9, PLAIN, 4096);
	memset(p.a->buf + OUT, 0, 200);
	send_message(p.a, 200);
	check_equal(expect(p.b, 9, IBV_WC_TM_NO_TAG, 0).byte_len, 200);
	post_recv(p.b, 10, PLAIN, 4096);
	send_message(p.a, 1);
	check_equal(expect(p.b, 10, IBV_WC_TM_NO_TAG, 0).byte_len, 1);
	send_eager(p.a, 0, 10, 1); /* these have not been counted */
	expect(p.b, 0, IBV_WC_TM_RECV, BOTH);
	pair_close(&p);
}

/* In packets: the match and the data complete apart. In one piece: together. */
static void a_long_eager_message(void)
{
	struct pair p = open_tagged();
	struct seen s;

	add(p.b, 8, 0, 4 * PIECE, 0, 0);
	send_eager(p.a, 8, 3 * PIECE, 6);
	s = see(p.b);
	check_equal(s.opcode, IBV_WC_TM_RECV);
	check_equal(s.tm.tag, 8);
	if (s.flags == IBV_WC_TM_MATCH) {
		s = see(p.b);
		check_equal(s.flags, IBV_WC_TM_DATA_VALID);
	} else {
		check_equal(s.flags, BOTH);
	}
	check_equal(s.wr_id, 0);
	check_equal(s.byte_len, 3 * PIECE);
	check_filled(tagged(p.b, 0), 3 * PIECE, 6);
	check_nothing(p.b);
	pair_close(&p);
}

static void a_rendezvous_is_done_by_the_adapter(void)
{
	static const uint32_t lengths[] = { 0, 1, 1000, 200000 };
	struct pair p = open_tagged();
	struct seen s;

	for (unsigned int i = 0; i < array_size(lengths); i++) {
		const struct ibv_tmh *fin = (void *)(p.a->buf + (512 << 10));

		post_recv(p.a, 40 + i, 512 << 10, 64);
		add(p.b, 50 + i, 0, 300000, IBV_OPS_SIGNALED, 0);
		expect(p.b, 1000, IBV_WC_TM_ADD, 0);
		send_rndv(p.a, 50 + i, lengths[i]);
		s = expect(p.b, 0, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
		check_equal(s.tm.tag, 50 + i);
		check_equal(expect(p.b, 0, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID).byte_len,
			    lengths[i]);
		check_filled(tagged(p.b, 0), lengths[i], 50 + i);
		check_equal(expect_ok(p.a->rcq, 40 + i).byte_len, 32);
		check_equal(fin->opcode, IBV_TMH_FIN);
		check_equal(be64toh(fin->tag), 50 + i);
		check_equal(be32toh(fin->app_ctx), 0x1234);
	}
	pair_close(&p);
}

static void many_rendezvous_at_once(void)
{
	struct pair p = open_tagged();
	struct ibv_tmh *tmh = (void *)(p.a->buf + OUT);
	unsigned int data = 0;

	for (unsigned int i = 0; i < TAGS; i++) {
		add(p.b, i, i, PIECE, i % 8 == 7 ? IBV_OPS_SIGNALED : 0, 0);
		if (i % 8 == 7)
			expect(p.b, 1000 + i, IBV_WC_TM_ADD, 0);
		post_recv(p.a, i, (512 << 10) + i * 64, 64);
	}
	fill(p.a->buf + DATA, PIECE, 3);
	for (unsigned int i = 0; i < TAGS; i++) {
		struct ibv_rvh *rvh;

		tmh = (void *)(p.a->buf + OUT + i * 64);
		rvh = (void *)(tmh + 1);
		*tmh = (struct ibv_tmh){ .opcode = IBV_TMH_RNDV, .tag = htobe64(i) };
		*rvh = (struct ibv_rvh){ .va = htobe64((uintptr_t)p.a->buf + DATA),
					 .rkey = htobe32(p.a->mr->rkey),
					 .len = htobe32(PIECE) };
		post(p.a, &(struct work){ .op = IBV_WR_SEND,
					  .flags = IBV_SEND_SIGNALED,
					  .off = OUT + i * 64,
					  .len = 32 });
	}
	for (unsigned int i = 0; i < 2 * TAGS; i++) {
		struct seen s = see(p.b);

		check_equal(s.status, IBV_WC_SUCCESS);
		data += s.flags == IBV_WC_TM_DATA_VALID;
	}
	check_equal(data, TAGS);
	for (unsigned int i = 0; i < TAGS; i++) {
		check_filled(tagged(p.b, i), PIECE, 3);
		expect_ok(p.a->rcq, i);
	}
	pair_close(&p);
}

static void a_rendezvous_longer_than_its_buffer_is_left_to_the_program(void)
{
	struct pair p = open_tagged();
	struct seen s;

	add(p.b, 5, 0, 100, 0, 0);
	send_rndv(p.a, 5, 101);
	s = see(p.b);
	check_equal(s.status, IBV_WC_TM_RNDV_INCOMPLETE);
	check_equal(s.wr_id, 0);
	check_equal(s.flags, BOTH);
	check_equal(s.tm.tag, 5);
	check(!memcmp(tagged(p.b, 0), p.a->buf + OUT, 32));
	pair_close(&p);
}

/* Only bytes that a message touches have to be in a region. */
static void a_buffer_may_be_longer_than_its_region(void)
{
	struct pair p = open_tagged();
	const uint32_t most = p.b->o.bytes, most_tag = most - (TAGS - 1) * PIECE;

	/* The last PIECE bytes of the region, and as much behind it. */
	post_recv(p.b, 9, most - PIECE, 2 * PIECE);
	send_eager(p.a, 1, 100, 1);
	expect(p.b, 9, IBV_WC_TM_RECV, 0);
	check(!memcmp(p.b->buf + most - PIECE, p.a->buf + OUT, 116));
	sync_list(p.b, 1);
	add(p.b, 2, TAGS - 1, most_tag + PIECE, 0, 0);
	send_eager(p.a, 2, 200, 2);
	expect(p.b, TAGS - 1, IBV_WC_TM_RECV, BOTH);
	check_filled(tagged(p.b, TAGS - 1), 200, 2);
	pair_close(&p);
}

/* Buffers are the queue's, and so is their domain; a queue pair may be of another one. */
static void buffers_are_of_the_queues_domain(void)
{
	struct pair p = open_tagged();
	struct ibv_pd *pd = p.b->pd, *other = must(ibv_alloc_pd(p.b->ctx));
	struct end *twin;

	end_drop_qp(p.b);
	p.b->pd = other;
	twin = end_twin(p.b);
	p.b->pd = pd;
	end_reset(p.a);
	ends_connect(p.a, twin);
	add(p.b, 1, 0, 256, 0, 0);
	send_eager(p.a, 1, 100, 1);
	expect(p.b, 0, IBV_WC_TM_RECV, BOTH);
	check_filled(tagged(p.b, 0), 100, 1);
	add(p.b, 2, 1, 8000, 0, 0);
	post_recv(p.a, 3, 512 << 10, 64);
	send_rndv(p.a, 2, 8000);
	expect(p.b, 1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	expect(p.b, 1, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
	check_filled(tagged(p.b, 1), 8000, 2);
	expect_ok(p.a->rcq, 3);
	twin_close(twin);
	check_ok(ibv_dealloc_pd(other));
	pair_close(&p);
}

static void a_buffer_can_be_removed_unless_a_message_has_taken_it(void)
{
	struct pair p = open_tagged();
	struct ibv_ops_wr wr = { .wr_id = 3, .opcode = IBV_WR_TAG_DEL, .flags = IBV_OPS_SIGNALED };
	struct seen s;

	wr.tm.handle = add(p.b, 1, 0, 256, 0, 0);
	check_ok(try_op(p.b, &wr));
	expect(p.b, 3, IBV_WC_TM_DEL, 0);
	post_recv(p.b, 9, PLAIN, 4096);
	send_eager(p.a, 1, 10, 1);
	expect(p.b, 9, IBV_WC_TM_RECV, 0);
	check_equal(try_op(p.b, &wr), EINVAL); /* there is no such buffer any more */

	wr.tm.handle = add(p.b, 2, 0, 256, IBV_OPS_TM_SYNC, 1);
	send_eager(p.a, 2, 10, 2);
	check_ok(try_op(p.b, &wr));
	expect(p.b, 0, IBV_WC_TM_RECV, BOTH);
	s = see(p.b);
	check_equal(s.status, IBV_WC_TM_ERR);
	check_equal(s.opcode, IBV_WC_TM_DEL);
	check_equal(s.wr_id, 3);
	pair_close(&p);
}

static void lists_have_ends(void)
{
	struct pair p = open_tagged();
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD };
	struct ibv_sge sge[2] = { 0 };

	/* Unsignaled changes are outstanding until a later, signaled one is polled. */
	for (unsigned int i = 0; i < OPS - 1; i++)
		add(p.b, i, 0, 16, 0, 0);
	add(p.b, OPS, 0, 16, IBV_OPS_SIGNALED, 0);
	check_equal(try_op(p.b, &wr), ENOMEM);
	expect(p.b, 1000, IBV_WC_TM_ADD, 0);
	for (unsigned int i = OPS; i < TAGS; i++)
		add(p.b, i, 0, 16, 0, 0);
	check_equal(try_op(p.b, &wr), ENOMEM); /* all buffers are posted */
	wr.tm.add.sg_list = sge;
	wr.tm.add.num_sge = 2;
	check_equal(try_op(p.b, &wr), EINVAL);
	wr.opcode = 9;
	check_equal(try_op(p.b, &wr), EINVAL);
	wr.opcode = IBV_WR_TAG_DEL;
	wr.tm.handle = TAGS + 1;
	check_equal(try_op(p.b, &wr), EINVAL);
	pair_close(&p);
}

static void attributes_that_make_no_tag_matching_queue_are_refused(void)
{
	struct options o = receiver();
	struct end *e = end_open(&o), *plain;
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_SYNC };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = e->pd,
		.cq = e->scq, /* not an extended one */
		.tm_cap = { .max_num_tags = 4, .max_ops = 4 },
	};
	struct ibv_qp_init_attr qp = { .send_cq = e->scq,
				       .recv_cq = e->scq,
				       .srq = e->srq,
				       .qp_type = IBV_QPT_UD,
				       .cap = { 1, 0, 1, 0, 0 } };

	check_refused(ibv_create_srq_ex(e->ctx, &attr), EINVAL);
	attr.cq = e->rcq;
	attr.tm_cap.max_num_tags = 128;
	check_refused(ibv_create_srq_ex(e->ctx, &attr), EINVAL);
	attr.tm_cap.max_num_tags = 0;
	check_refused(ibv_create_srq_ex(e->ctx, &attr), EINVAL);
	attr.tm_cap = (struct ibv_tm_cap){ 4, 32769 };
	check_refused(ibv_create_srq_ex(e->ctx, &attr), EINVAL);
	attr.tm_cap.max_ops = 4;
	attr.comp_mask &= ~IBV_SRQ_INIT_ATTR_CQ;
	check_refused(ibv_create_srq_ex(e->ctx, &attr), EINVAL);
	check_refused(ibv_create_qp(e->pd, &qp), EINVAL); /* UD */
	end_close(e);
	o = options_of(IBV_QPT_RC);
	o.srq = true;
	plain = end_open(&o);
	check_equal(try_op(plain, &wr), EINVAL);
	end_close(plain);
}

static void a_failed_read_is_told(void)
{
	struct pair p = open_tagged();
	struct ibv_tmh *tmh = (void *)(p.a->buf + OUT);
	struct ibv_rvh *rvh = (void *)(tmh + 1);
	struct seen s;

	add(p.b, 6, 0, 4096, 0, 0);
	*tmh = (struct ibv_tmh){ .opcode = IBV_TMH_RNDV, .tag = htobe64(6) };
	/* outside the region */
	*rvh = (struct ibv_rvh){ .va = htobe64(0x1000),
				 .rkey = htobe32(p.a->mr->rkey),
				 .len = htobe32(64) };
	post(p.a, &(struct work){ .id = 5, .op = IBV_WR_SEND, .off = OUT, .len = 32 });
	expect(p.b, 0, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	s = see(p.b);
	check_equal(s.status, IBV_WC_TM_RNDV_INCOMPLETE);
	check_equal(s.wr_id, 0);
	wait_for(end_state(p.b) == IBV_QPS_ERR);
	pair_close(&p);
}

/* ---- between processes ---- */

static void serve(int fd)
{
	struct options o = receiver();
	struct end *e = end_open(&o);

	add(e, 1, 0, PIECE, 0, 0);
	add(e, 2, 1, PIECE, 0, 0);
	end_meet(e, fd);
	expect(e, 0, IBV_WC_TM_RECV, BOTH);
	check_filled(tagged(e, 0), 500, 7);
	expect(e, 1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	expect(e, 1, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
	check_filled(tagged(e, 1), 4000, 2);
	tell_mark(fd, 'k');
	hear_mark(fd, 'q');
	end_close(e);
}

static void another_process_matches(void)
{
	struct peer peer;
	struct options o;
	struct end *e;

	peer = peer_start(serve);
	o = receiver();
	o.tags = 0;
	e = end_open(&o);
	end_meet(e, peer.fd);
	post_recv(e, 1, 512 << 10, 64);
	send_eager(e, 1, 500, 7);
	send_rndv(e, 2, 4000);
	hear_mark(peer.fd, 'k');
	expect_ok(e->rcq, 1);
	tell_mark(peer.fd, 'q');
	end_close(e);
	peer_join(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_device_says_what_it_has),
		TEST(messages_find_their_buffers),
		TEST(numbers_of_buffers_are_used_again),
		TEST(an_unexpected_message_is_received_whole_and_stops_new_buffers),
		TEST(a_message_without_a_tag_is_an_ordinary_one),
		TEST(a_long_eager_message),
		TEST(a_rendezvous_is_done_by_the_adapter),
		TEST(many_rendezvous_at_once),
		TEST(a_rendezvous_longer_than_its_buffer_is_left_to_the_program),
		TEST(a_buffer_may_be_longer_than_its_region),
		TEST(buffers_are_of_the_queues_domain),
		TEST(a_buffer_can_be_removed_unless_a_message_has_taken_it),
		TEST(lists_have_ends),
		TEST(attributes_that_make_no_tag_matching_queue_are_refused),
		TEST(a_failed_read_is_told),
		TEST(another_process_matches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
