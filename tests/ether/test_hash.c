/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every set of fields that can be asked for, on both adapters: those that it cannot hash are
 * refused, and with the others packets of many kinds, fragments and such without the fields
 * included, land on the queue that a hash computed here says, which the completion tells, too.
 */
#include "raw_pair.h"

#include <endian.h>
#include <infiniband/mlx4dv.h>
#include <infiniband/mlx5dv.h>

#define QUEUES 8u
#define SIZE   512u

#define V4  (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define V6  (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define TCP (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define UDP (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)
#define SPI IBV_RX_HASH_IPSEC_SPI

/* ---- packets, and what there is in them to be hashed ---- */

struct layer {
	uint64_t fields; /* all that it has */
	uint8_t l3, l4;  /* where */
};

struct sample {
	struct pkt p;
	struct layer outer, inner;
};

static struct sample samples[12];
static unsigned int sample_count;

static struct layer add_headers(struct pkt *p, uint16_t type, uint8_t protocol)
{
	struct layer l = { .fields = type == 0x0800 ? V4 : V6 };

	pkt_eth(p, 2, 1, type);
	l.l3 = (uint8_t)p->len;
	if (type == 0x0800)
		pkt_ip4(p, 0xc0a80102, 0x0a0b0c0d, protocol);
	else
		pkt_ip6(p, 7, 9, protocol);
	l.l4 = (uint8_t)p->len;
	if (protocol == 6) {
		pkt_tcp(p, 0x1234, 0x5679);
		l.fields |= TCP;
	} else if (protocol == 17) {
		pkt_udp(p, 0x1234, 0x5679);
		l.fields |= UDP;
	} else if (protocol == 50) {
		pkt_u32(p, 0x89abcdef);
		pkt_u32(p, 1);
		l.fields |= SPI;
	}
	return l;
}

static struct sample *add_sample(void)
{
	assert_true(sample_count < sizeof(samples) / sizeof(samples[0]));
	return &samples[sample_count++];
}

static void add_plain(uint16_t type, uint8_t protocol)
{
	struct sample *s = add_sample();

	s->outer = add_headers(&s->p, type, protocol);
	pkt_fill(&s->p, 40);
	pkt_end(&s->p);
}

/* All fragments go one way: ports do not count in the first one either. */
static void add_fragment(uint16_t offset)
{
	struct sample *s = add_sample();

	s->outer = add_headers(&s->p, 0x0800, 17);
	pkt_fill(&s->p, 40);
	pkt_set16(&s->p, s->outer.l3 + 6, offset);
	pkt_end(&s->p);
	s->outer.fields = V4;
}

static void add_fragment_v6(void)
{
	struct sample *s = add_sample();

	s->outer = add_headers(&s->p, 0x86dd, 44);
	pkt_u32(&s->p, 0x11000001); /* UDP; the first one, and more to come */
	pkt_u32(&s->p, 77);
	pkt_udp(&s->p, 0x1234, 0x5679);
	pkt_fill(&s->p, 40);
	pkt_end(&s->p);
	s->outer.fields = V6;
}

static void add_vxlan(uint16_t type, uint8_t protocol)
{
	struct sample *s = add_sample();

	s->outer = add_headers(&s->p, 0x0800, 17);
	s->p.b[s->outer.l4 + 2] = 4789 >> 8;
	s->p.b[s->outer.l4 + 3] = 4789 & 0xff;
	pkt_u32(&s->p, 0x08000000);
	pkt_u32(&s->p, 0x12345600);
	s->inner = add_headers(&s->p, type, protocol);
	pkt_fill(&s->p, 40);
	pkt_end(&s->p);
}

static int make_samples(void **state)
{
	struct sample *arp;

	add_plain(0x0800, 6);
	add_plain(0x0800, 17);
	add_plain(0x0800, 50);
	add_plain(0x86dd, 6);
	add_plain(0x86dd, 17);
	add_plain(0x86dd, 50);
	add_fragment(0x2000);
	add_fragment(0x0010);
	add_fragment_v6();
	add_vxlan(0x0800, 6);
	add_vxlan(0x86dd, 17);
	arp = add_sample();
	pkt_eth(&arp->p, 2, 1, 0x0806);
	pkt_fill(&arp->p, 46);
	return 0;
}

/* ---- the hash ---- */

static uint8_t key[40];

static uint32_t toeplitz(const uint8_t *input, size_t len)
{
	uint32_t hash = 0;

	for (size_t bit = 0; bit < 8 * len; bit++) {
		uint32_t window = 0;

		if (!(input[bit / 8] & 0x80 >> bit % 8))
			continue;
		for (size_t i = bit; i < bit + 32; i++)
			window = window << 1 | (key[i / 8] >> (7 - i % 8) & 1);
		hash ^= window;
	}
	return hash;
}

struct predicted {
	uint32_t hash;
	uint64_t used;
};

static struct predicted predict(const struct sample *s, uint64_t fields)
{
	const struct layer *l = fields & IBV_RX_HASH_INNER ? &s->inner : &s->outer;
	static const struct {
		uint64_t field;
		bool is_l4;
		uint8_t at, len;
	} order[] = {
		{ IBV_RX_HASH_SRC_IPV4, false, 12, 4 },   { IBV_RX_HASH_DST_IPV4, false, 16, 4 },
		{ IBV_RX_HASH_SRC_IPV6, false, 8, 16 },   { IBV_RX_HASH_DST_IPV6, false, 24, 16 },
		{ IBV_RX_HASH_SRC_PORT_TCP, true, 0, 2 }, { IBV_RX_HASH_DST_PORT_TCP, true, 2, 2 },
		{ IBV_RX_HASH_SRC_PORT_UDP, true, 0, 2 }, { IBV_RX_HASH_DST_PORT_UDP, true, 2, 2 },
		{ IBV_RX_HASH_IPSEC_SPI, true, 0, 4 },
	};
	struct predicted out = { .used = fields & l->fields };
	uint8_t input[40];
	size_t len = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!(out.used & order[i].field))
			continue;
		memcpy(input + len, s->p.b + (order[i].is_l4 ? l->l4 : l->l3) + order[i].at,
		       order[i].len);
		len += order[i].len;
	}
	out.hash = toeplitz(input, len);
	return out;
}

/* Two bits each for the source's and destination's address, and their ports. */
static uint8_t type_of(uint64_t used)
{
	uint8_t type = 0;

	if (used & (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_IPV6))
		type |= used & V4 ? 1 : 2;
	if (used & (IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_DST_IPV6))
		type |= (used & V4 ? 1 : 2) << 2;
	if (used & (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP))
		type |= (used & TCP ? 1 : 2) << 4;
	if (used & (IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP))
		type |= (used & TCP ? 1 : 2) << 6;
	return used & SPI ? type | 0xf0 : type;
}

/* ---- queues ---- */

struct receiver {
	struct raw_end e; /* its QP is not used */
	struct ibv_cq *cq;
	struct ibv_wq *wq[QUEUES];
	struct ibv_rwq_ind_table *table;
	uint8_t *memory;
	struct ibv_mr *mr;
	uint32_t taken; /* completions */
};

static void post(struct receiver *r, unsigned int queue)
{
	struct ibv_sge sge = { (uintptr_t)(r->memory + queue * SIZE), SIZE, r->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = queue, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_wq_recv(r->wq[queue], &wr, &bad), 0);
}

static void receiver_init(struct receiver *r, const char *device)
{
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = IBV_WQS_RDY };
	struct ibv_rwq_ind_table_init_attr table = { .log_ind_tbl_size = 3, .ind_tbl = r->wq };

	memset(r, 0, sizeof(*r));
	raw_end_init(&r->e, device);
	r->cq = ibv_create_cq(r->e.context, 63, NULL, NULL, 0);
	r->memory = calloc(QUEUES, SIZE);
	r->mr = ibv_reg_mr(r->e.pd, r->memory, QUEUES * SIZE, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(r->cq);
	assert_non_null(r->mr);
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct ibv_wq_init_attr attr = {
			.max_wr = 4, .max_sge = 1, .pd = r->e.pd, .cq = r->cq
		};

		r->wq[i] = ibv_create_wq(r->e.context, &attr);
		assert_non_null(r->wq[i]);
		assert_int_equal(ibv_modify_wq(r->wq[i], &ready), 0);
		post(r, i);
	}
	r->table = ibv_create_rwq_ind_table(r->e.context, &table);
	assert_non_null(r->table);
}

static void receiver_fini(struct receiver *r)
{
	assert_int_equal(ibv_destroy_rwq_ind_table(r->table), 0);
	for (unsigned int i = 0; i < QUEUES; i++)
		assert_int_equal(ibv_destroy_wq(r->wq[i]), 0);
	assert_int_equal(ibv_destroy_cq(r->cq), 0);
	assert_int_equal(ibv_dereg_mr(r->mr), 0);
	free(r->memory);
	raw_end_fini(&r->e);
}

static struct ibv_qp *create(struct receiver *r, uint64_t fields)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH,
		.pd = r->e.pd,
		.rwq_ind_tbl = r->table,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(key), key, fields }
	};

	errno = 0;
	return ibv_create_qp_ex(r->e.context, &attr);
}

/* The entry that has just been polled, as the adapter wrote it. */
static void check_entry(struct receiver *r, const struct predicted *want, bool old)
{
	struct mlx5dv_cq m5 = { 0 };
	struct mlx4dv_cq m4 = { 0 };
	uint32_t hash, at = r->taken++;
	const uint8_t *cqe;

	if (old) {
		struct mlx4dv_obj obj = { .cq = { r->cq, &m4 } };

		assert_int_equal(mlx4dv_init_obj(&obj, MLX4DV_OBJ_CQ), 0);
		cqe = (uint8_t *)m4.buf.buf + (size_t)(at % m4.cqe_cnt) * m4.cqe_size +
		      m4.cqe_size - 32;
		memcpy(&hash, cqe + 4, sizeof(hash));
	} else {
		struct mlx5dv_obj obj = { .cq = { r->cq, &m5 } };

		assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
		cqe = (uint8_t *)m5.buf + (size_t)(at % m5.cqe_cnt) * m5.cqe_size + m5.cqe_size -
		      64;
		memcpy(&hash, cqe + 12, sizeof(hash));
		assert_int_equal(cqe[16], type_of(want->used));
	}
	assert_int_equal(be32toh(hash), want->hash);
}

static void send_samples(struct receiver *r, struct raw_pair *from, uint64_t fields, bool old)
{
	for (unsigned int i = 0; i < sample_count; i++) {
		struct predicted want = predict(&samples[i], fields);
		time_t end = time(NULL) + 20;
		struct ibv_wc wc;
		int n;

		raw_send(from, &samples[i].p);
		while (!(n = ibv_poll_cq(r->cq, 1, &wc)))
			assert_true(time(NULL) < end);
		assert_int_equal(n, 1);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		if (wc.wr_id != want.hash % QUEUES)
			fail_msg("fields 0x%llx, packet %u: queue %u, not %u",
				 (unsigned long long)fields, i, (unsigned int)wc.wr_id,
				 want.hash % QUEUES);
		assert_int_equal(wc.byte_len, samples[i].p.len);
		/* A newer adapter has the flow's tag in its place; there is none. */
		assert_int_equal(wc.qp_num, old ? r->wq[wc.wr_id]->wq_num : 0);
		check_entry(r, &want, old);
		post(r, (unsigned int)wc.wr_id);
	}
}

static bool new_has(uint64_t f)
{
	int l4 = !!(f & TCP) + !!(f & UDP) + !!(f & SPI);

	return f & ~(uint64_t)IBV_RX_HASH_INNER && !(f & V4 && f & V6) && l4 <= 1;
}

static bool is_half(uint64_t f, uint64_t pair)
{
	return f & pair && (f & pair) != pair;
}

static bool old_has(uint64_t f)
{
	return f && !(f & (SPI | IBV_RX_HASH_INNER)) && !is_half(f, V4) && !is_half(f, V6) &&
	       !is_half(f, TCP) && !is_half(f, UDP) && f & (V4 | V6);
}

static void every_set(const char *device, const char *other, bool old)
{
	struct raw_pair from; /* only its sender */
	unsigned int count = 0;
	struct receiver r;

	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = (uint8_t)(91 * i + 17);
	receiver_init(&r, device);
	raw_end_init(&from.from, other);
	for (uint64_t set = 1; set < 1 << 10; set++) {
		uint64_t fields = (set & 0x1ff) | (set & 0x200 ? IBV_RX_HASH_INNER : 0);
		struct ibv_qp *qp;
		struct ibv_flow *flow;

		/* Nothing but "inner" says nothing. */
		if (set == 0x200)
			continue;
		qp = create(&r, fields);
		if (!(old ? old_has(fields) : new_has(fields))) {
			assert_null(qp);
			assert_true(errno == EINVAL || errno == EOPNOTSUPP);
			continue;
		}
		assert_non_null(qp);
		count++;
		flow = raw_catch_all(&(struct raw_end){ .qp = qp });
		send_samples(&r, &from, fields, old);
		assert_int_equal(ibv_destroy_flow(flow), 0);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
	assert_int_equal(count, old ? 3 * 4 : 2 * (7 * 8 - 1));
	raw_end_fini(&from.from);
	receiver_fini(&r);
}

static void connectx_6_hashes_the_requested_fields(void **state)
{
	every_set("mlx5_0", "mlx5_1", false);
}

static void connectx_3_hashes_pairs_of_fields(void **state)
{
	every_set("mlx4_0", "mlx4_1", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connectx_6_hashes_the_requested_fields),
		cmocka_unit_test(connectx_3_hashes_pairs_of_fields),
	};

	return cmocka_run_group_tests(tests, make_samples, NULL);
}
