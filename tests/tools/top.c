/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools-top: does things step by step, and prints after each, as JSON in a line, what `verbena top --json` has to show of
 * its queue pairs by number (top.py). Each line on standard input is the next step. On the fabric and on a wire.
 */
#include <unistd.h>

#include "rig.h"

#define BYTES   (3 * 1024 - 1) /* three packets, one byte of padding */
#define PACKETS 3
#define SENDS   5
#define RECVS   8
#define BTH     12
#define RETH    16
#define AETH    4
#define ATOMIC  28
#define ICRC    4

static void next_step(void)
{
	char line[16];

	printf("\n");
	fflush(stdout);
	check(fgets(line, sizeof(line), stdin) != NULL);
}

/* Headers of a packet up to the BTH, and the ICRC. */
static unsigned int headers(const struct end *e)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_ah_attr attr = { 0 };

	address_to_ah_attr(&e->to, &attr);
	if (!rig_is_ethernet())
		return BTH + ICRC + 8 + (attr.is_global ? 40 : 0);
	return BTH + ICRC + 14 + 8 + (memcmp(e->to.gid.raw, mapped, sizeof(mapped)) ? 40 : 20);
}

static struct pair open_pair(enum ibv_qp_type type)
{
	struct options o = options_of(type);

	o.bytes = 2 * BYTES;
	o.mtu = IBV_MTU_1024;
	o.send_wr = o.recv_wr = 2 * RECVS;
	return pair_open(&o);
}

static void begin(const struct end *e, const char *type, const char *state)
{
	printf("\"%u\": { \"type\": \"%s\", \"state\": \"%s\", \"adapter\": \"%s\", \"exact\": "
	       "true",
	       e->qp->qp_num, type, state, rig_context()->device->name);
}

static void print_peer(const struct end *e)
{
	printf(", \"peer\": { \"qpn\": %u, \"pid\": %d, \"wire\": %s }", e->to.qpn, (int)getpid(),
	       rig_on_wire() ? "true" : "false");
}

static void print_flow(const char *way, unsigned int packets, unsigned int bytes)
{
	printf(", \"%s\": { \"packets\": %u, \"bytes\": %u }", way, packets, bytes);
}

static void print_sends(unsigned int posted, unsigned int polled)
{
	printf(", \"send_queue\": { \"posted\": %u, \"completed\": %u, \"polled\": %u, \"fill\": "
	       "%u, \"pending\": 0 }"
	       ", \"send_cq\": { \"fill\": %u, \"overrun\": false }",
	       posted, posted, polled, posted - polled, posted - polled);
}

static void print_receives(unsigned int posted, unsigned int taken, unsigned int polled)
{
	printf(", \"receive_queue\": { \"shared\": null, \"received\": %u, \"fill\": %u }"
	       ", \"receive_cq\": { \"fill\": %u }",
	       taken, posted - taken, taken - polled);
}

static void rdma(struct pair *p, enum ibv_wr_opcode op, uint32_t len)
{
	post(p->a, &(struct work){ .id = 1,
				   .op = op,
				   .flags = IBV_SEND_SIGNALED,
				   .len = len,
				   .raddr = p->a->to.va,
				   .rkey = p->a->to.rkey });
	expect_ok(p->a->scq, 1);
}

/* ---- steps ---- */

static void unpolled(struct pair *p, unsigned int each)
{
	for (int i = 0; i < RECVS; i++)
		post_recv(p->b, 2, 0, BYTES);
	for (int i = 0; i < SENDS; i++)
		post(p->a, &(struct work){ .id = 1,
					   .op = IBV_WR_SEND,
					   .flags = IBV_SEND_SIGNALED,
					   .len = BYTES });
	printf("{ ");
	begin(p->a, "UC", "RTS");
	print_peer(p->a);
	print_flow("tx", SENDS * PACKETS, SENDS * (PACKETS * each + BYTES + 1));
	print_flow("rx", 0, 0);
	print_sends(SENDS, 0);
	printf(" }, ");
	begin(p->b, "UC", "RTS");
	print_flow("tx", 0, 0);
	print_flow("rx", SENDS * PACKETS, SENDS * (PACKETS * each + BYTES + 1));
	print_receives(RECVS, SENDS, 0);
	printf(" } }");
	next_step();
}

/* On the fabric the write is the first request without packets, with which the counts move within the directory. */
static void polled(struct pair *p, unsigned int each)
{
	unsigned int packets = SENDS * PACKETS + 1;
	unsigned int bytes = SENDS * (PACKETS * each + BYTES + 1) + each + RETH + 8;

	for (int i = 0; i < SENDS; i++) {
		expect_ok(p->a->scq, 1);
		expect_ok(p->b->rcq, 2);
	}
	rdma(p, IBV_WR_RDMA_WRITE, 8);
	printf("{ ");
	begin(p->a, "UC", "RTS");
	printf(", \"tx\": { \"messages\": %u, \"packets\": %u, \"bytes\": %u }", SENDS + 1, packets,
	       bytes);
	print_sends(SENDS + 1, SENDS + 1);
	printf(" }, ");
	begin(p->b, "UC", "RTS");
	print_flow("rx", packets, bytes);
	print_receives(RECVS, SENDS, SENDS);
	printf(" } }");
	next_step();
}

static void answered(struct pair *p, unsigned int each)
{
	unsigned int tx = 2 * (each + RETH + 8) + each + RETH + each + ATOMIC;
	unsigned int rx =
		2 * (each + AETH) + PACKETS * each + 2 * AETH + BYTES + 1 + each + AETH + 8;

	rdma(p, IBV_WR_RDMA_WRITE, 8);
	rdma(p, IBV_WR_RDMA_READ, BYTES);
	rdma(p, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	rdma(p, IBV_WR_RDMA_WRITE, 8);
	printf("{ ");
	begin(p->a, "RC", "RTS");
	print_peer(p->a);
	print_flow("tx", 4, tx);
	print_flow("rx", 2 + PACKETS + 1, rx);
	print_sends(4, 4);
	printf(" }, ");
	begin(p->b, "RC", "RTS");
	print_peer(p->b);
	/* Without packets, the peer does it all. */
	printf(", \"rx\": { \"messages\": %d, \"packets\": %d, \"bytes\": %u }",
	       rig_on_wire() ? 4 : 0, 4, tx);
	print_flow("tx", 2 + PACKETS + 1, rx);
	printf(" } }");
	next_step();
}

static void failed(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.rnr_retry = 1;
	o.min_rnr_timer = 1;
	p = pair_open(&o);
	for (int i = 0; i < 2; i++)
		post(p.a,
		     &(struct work){
			     .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_wc(p.a->scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_wc(p.a->scq, 1, IBV_WC_WR_FLUSH_ERR);
	printf("{ ");
	begin(p.a, "RC", "ERR");
	printf(", \"rnr\": 2, \"errors\": 1, \"flushed\": 1 }, ");
	begin(p.b, "RC", "RTS");
	printf(", \"no_receive\": 2, \"errors\": 0 } }");
	next_step();
	pair_close(&p);
}

/* A fault drops the first packet: it is sent again after the timeout. */
static void lost(void)
{
	struct options o = options_of(IBV_QPT_RC);
	struct pair p;

	o.timeout = 12; /* 17 ms */
	p = pair_open(&o);
	post_recv(p.b, 2, 0, 64);
	post(p.a,
	     &(struct work){ .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = 8 });
	expect_ok(p.a->scq, 1);
	expect_ok(p.b->rcq, 2);
	printf("{ ");
	begin(p.a, "RC", "RTS");
	printf(", \"retries\": { \"least\": 1 }, \"retrying\": 0, \"errors\": 0, \"rnr\": 0 } }");
	next_step();
	pair_close(&p);
}

int main(int argc, char **argv)
{
	struct pair uc, rc;
	unsigned int each;

	if (argc > 1) {
		lost();
		return 0;
	}
	uc = open_pair(IBV_QPT_UC);
	rc = open_pair(IBV_QPT_RC);
	each = headers(uc.a);
	unpolled(&uc, each);
	polled(&uc, each);
	answered(&rc, each);
	failed();
	pair_close(&uc);
	pair_close(&rc);
	return 0;
}
