/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * port-traffic: sends messages, and waits until the counters of the port have counted their packets and words of
 * 4 bytes, sent and received: both ends are at one port. Under `verbena run`, on the fabric and on a wire.
 */
#include "rig.h"

#define BYTES   (3 * 1024 - 1) /* three packets, one byte of padding */
#define PACKETS 3
#define BTH     12
#define RETH    16
#define AETH    4
#define ATOMIC  28
#define ICRC    4

static uint64_t counted(const char *name)
{
	char path[256], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/counters/%s",
		 rig_context()->device->name, name);
	file = fopen(path, "r");
	if (!file)
		rig_fail(__FILE__, __LINE__, "%s: %s", path, strerror(errno));
	check(fgets(text, sizeof(text), file) != NULL);
	fclose(file);
	return strtoull(text, NULL, 10);
}

static const char *const names[] = {
	"port_xmit_packets",   "port_rcv_packets",       "unicast_xmit_packets",
	"unicast_rcv_packets", "multicast_xmit_packets", "multicast_rcv_packets",
	"port_xmit_data",      "port_rcv_data",
};

enum { XMIT, RCV, UNI_XMIT, UNI_RCV, MULTI_XMIT, MULTI_RCV, XMIT_DATA, RCV_DATA, COUNTERS };

static uint64_t before[COUNTERS];
static uint64_t bytes_before; /* that were counted in full, since words round down */

static void begin(void)
{
	for (int i = 0; i < COUNTERS; i++)
		before[i] = counted(names[i]);
}

static uint64_t moved(int counter)
{
	return counted(names[counter]) - before[counter];
}

/* Exactly so many unicast packets of so many bytes in sum, which both ends have counted. */
static void expect_unicast(unsigned int packets, uint64_t bytes)
{
	uint64_t words = (bytes_before + bytes) / 4 - bytes_before / 4;

	bytes_before += bytes;
	wait_for(moved(RCV_DATA) >= words && moved(XMIT_DATA) >= words);
	wait_for(moved(RCV) >= packets && moved(XMIT) >= packets);
	wait_for(moved(UNI_RCV) >= packets && moved(UNI_XMIT) >= packets);
	check_equal(moved(XMIT_DATA), words);
	check_equal(moved(RCV_DATA), words);
	check_equal(moved(XMIT), packets);
	check_equal(moved(RCV), packets);
	check_equal(moved(UNI_XMIT), packets);
	check_equal(moved(UNI_RCV), packets);
	check_equal(moved(MULTI_XMIT), 0);
	check_equal(moved(MULTI_RCV), 0);
}

/* Headers of a packet below the BTH. */
static unsigned int link_headers(const struct end *e)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_ah_attr attr = { 0 };

	address_to_ah_attr(&e->to, &attr);
	if (!rig_is_ethernet())
		return 8 + (attr.is_global ? 40 : 0);
	return 14 + 8 + (memcmp(e->to.gid.raw, mapped, sizeof(mapped)) ? 40 : 20);
}

static struct pair open_pair(enum ibv_qp_type type)
{
	struct options o = options_of(type);

	o.bytes = 2 * BYTES;
	o.mtu = IBV_MTU_1024;
	return pair_open(&o);
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

static void a_message_counts_as_the_packets_of_its_mtu(void)
{
	struct pair p = open_pair(IBV_QPT_UC);
	unsigned int each = link_headers(p.a) + BTH + ICRC;

	begin();
	post_recv(p.b, 2, 0, BYTES);
	post(p.a, &(struct work){
			  .id = 1, .op = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .len = BYTES });
	expect_ok(p.a->scq, 1);
	expect_ok(p.b->rcq, 2);
	expect_unicast(PACKETS, PACKETS * each + BYTES + 1);
	/* Counts outlive their queue pair. */
	pair_close(&p);
	check_equal(moved(XMIT), PACKETS);
	p = open_pair(IBV_QPT_UC);
	begin();
	rdma(&p, IBV_WR_RDMA_WRITE, 8);
	expect_unicast(1, each + RETH + 8);
	pair_close(&p);
}

/* On the fabric no packet is sent for them. */
static void reads_writes_and_atomics_count_with_their_answers(void)
{
	struct pair p = open_pair(IBV_QPT_RC);
	unsigned int each = link_headers(p.a) + BTH + ICRC;

	begin();
	rdma(&p, IBV_WR_RDMA_READ, BYTES);
	expect_unicast(1 + PACKETS, (1 + PACKETS) * each + RETH + 2 * AETH + BYTES + 1);
	begin();
	rdma(&p, IBV_WR_RDMA_WRITE, 8);
	expect_unicast(2, 2 * each + RETH + 8 + AETH);
	begin();
	rdma(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	expect_unicast(2, 2 * each + ATOMIC + AETH + 8);
	pair_close(&p);
}

/* More queue pairs than the directory has blocks to count in. */
static void queue_pairs_beyond_the_blocks_count_as_well(void)
{
	enum { MANY = 2048 };
	struct options o = options_of(IBV_QPT_RC);
	static struct ibv_qp *qps[MANY];
	struct end *e = end_open(&o);

	for (int i = 0; i < MANY; i++) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
						 .send_cq = e->scq,
						 .recv_cq = e->rcq,
						 .cap = { 1, 1, 1, 1, 0 } };
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

		qps[i] = must(ibv_create_qp(e->pd, &init));
		check_ok(ibv_modify_qp(qps[i], &attr,
				       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					       IBV_QP_ACCESS_FLAGS));
	}
	reads_writes_and_atomics_count_with_their_answers();
	for (int i = 0; i < MANY; i++)
		check_ok(ibv_destroy_qp(qps[i]));
	end_close(e);
}

static void a_datagram_to_a_group_counts_as_multicast(void)
{
	union ibv_gid gid = { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, [12] = 0xef } };
	struct ibv_ah_attr attr = {
		.port_num = 1,
		.is_global = 1,
		.dlid = 0xc005,
		.grh = { .sgid_index = rig_gid_index(), .hop_limit = 1 },
	};
	struct options o = options_of(IBV_QPT_UD);
	struct end *a = end_open(&o), *b = end_open(&o);
	struct ibv_ah *ah;

	if (rig_is_ethernet())
		gid = (union ibv_gid){ .raw = { 0xff, 0x0e, [12] = 0xef } };
	attr.grh.dgid = gid;
	end_connect(a, NULL);
	end_connect(b, NULL);
	ah = must(ibv_create_ah(a->pd, &attr));
	check_ok(ibv_attach_mcast(b->qp, &gid, 0xc005));
	begin();
	post_recv(b, 2, 0, 512);
	post(a, &(struct work){ .id = 1,
				.op = IBV_WR_SEND,
				.flags = IBV_SEND_SIGNALED,
				.len = 100,
				.ah = ah,
				.qpn = 0xffffff,
				.qkey = a->o.qkey });
	expect_ok(a->scq, 1);
	expect_ok(b->rcq, 2);
	wait_for(moved(MULTI_XMIT) && moved(MULTI_RCV) && moved(XMIT_DATA) && moved(RCV_DATA));
	check_equal(moved(MULTI_XMIT), 1);
	check_equal(moved(MULTI_RCV), 1);
	check_equal(moved(XMIT_DATA), moved(RCV_DATA));
	check(moved(XMIT_DATA) * 4 > 100);
	check_equal(moved(UNI_XMIT), 0);
	check_ok(ibv_detach_mcast(b->qp, &gid, 0xc005));
	check_ok(ibv_destroy_ah(ah));
	end_close(a);
	end_close(b);
}

int main(void)
{
	a_message_counts_as_the_packets_of_its_mtu();
	reads_writes_and_atomics_count_with_their_answers();
	queue_pairs_beyond_the_blocks_count_as_well();
	a_datagram_to_a_group_counts_as_multicast();
	return 0;
}
