/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts, queues, queue pairs and faults of a seed. */
#include <stdlib.h>
#include <string.h>

#include "sim/end.h"
#include "sim/host.h"
#include "sim/net.h"
#include "sim/program.h"

static const struct {
	const char *script;
	bool harsh, rnr;
} scripts[] = {
	{ .script = "" },
	{ .script = "" },
	{ .script = "drop p=1%" },
	{ .script = "drop p=2%; dup p=2%; corrupt p=1%; reorder p=2%" },
	{ .script = "dup p=20%" },
	{ .script = "reorder p=5%" },
	{ .script = "drop opcode=ACK p=10%; drop opcode=ATOMIC_ACK every=3" },
	{ .script = "drop opcode=READ_RESP_MIDDLE p=5%; drop opcode=READ_REQUEST p=5%" },
	{ .script = "delay us=30 p=3%; dup p=3% dir=in; drop p=1% dir=in" },
	{ .script = "nak code=seq p=2%; drop p=1%" },
	{ .script = "rnr timer=2 p=2%", .rnr = true },
	{ .script = "drop p=2% again=yes; dup p=2% again=yes; reorder p=2% again=yes; corrupt p=1% "
		    "again=yes",
	  .harsh = true },
	{ .script = "drop p=10%", .harsh = true },
	{ .script = "drop p=30%; dup p=10%", .harsh = true },
	{ .script = "drop every=7 again=yes; reorder p=10%", .harsh = true },
};

static void make_faults(struct shape *s, struct rng *rng)
{
	unsigned int i = rng_below(rng, sizeof(scripts) / sizeof(scripts[0]));

	s->script = scripts[i].script;
	s->harsh = scripts[i].harsh;
	s->rnr = scripts[i].rnr;
	s->lossless = !*s->script;
	s->delay_ns = rng_between(rng, 300, 5000);
	s->jitter_ns = rng_percent(rng, 50) ? rng_between(rng, 1, 3000) : 0;
	s->stormy = rng_percent(rng, 50);
	s->starved = rng_percent(rng, 10);
	if (s->starved)
		s->harsh = s->rnr = true;
	s->lossless &= !s->starved;
}

static struct cq *cq_of(const struct host *host, struct rng *rng, unsigned int per_host)
{
	return &sim.cq[host->index * per_host + rng_below(rng, per_host)];
}

static void make_rq(struct rq *rq, struct host *host, struct cq *cq, uint32_t size, uint32_t stride)
{
	*rq = (struct rq){ .index = (unsigned int)(rq - sim.rq),
			   .host = host,
			   .cq = cq,
			   .size = size,
			   .stride = stride };
	rq->slot = calloc(size, sizeof(*rq->slot));
	SIM_CHECK(rq->slot, "no memory");
	sim.shape.rqs++;
}

/* Receive buffers of all queues of a host lie in one region. */
static uint32_t place_buffers(const struct host *host)
{
	uint32_t off = 0;

	for (unsigned int i = 0; i < sim.shape.rqs; i++)
		if (sim.rq[i].host == host) {
			sim.rq[i].off = off;
			off += sim.rq[i].size * sim.rq[i].stride;
		}
	return off;
}

static struct end *add_end(enum hca_qp_type type, struct host *host, struct rng *rng,
			   unsigned int per_host)
{
	struct end *end = &sim.end[sim.shape.ends];

	*end = (struct end){ .index = sim.shape.ends++, .type = type, .host = host };
	end->send_cq = cq_of(host, rng, per_host);
	end->recv_cq = cq_of(host, rng, per_host);
	end->slots = sim.shape.hosts > 100 ? 8 : 8u << rng_below(rng, 3);
	end->slot = calloc(end->slots, sizeof(*end->slot));
	SIM_CHECK(end->slot, "no memory");
	end->timeout = (uint8_t)rng_between(rng, 9, 12);
	end->retry_cnt = sim.shape.harsh ? (uint8_t)rng_between(rng, 0, 7) : 7;
	end->rnr_retry = rng_percent(rng, 70) ? 7 : (uint8_t)rng_between(rng, 0, 6);
	end->min_rnr_timer = (uint8_t)rng_between(rng, 5, 14);
	end->psn = (uint32_t)rng_next(rng) & 0xffffff;
	if (rng_percent(rng, 20))
		end->psn = 0xffffff - rng_below(rng, 50);
	return end;
}

static uint32_t message_size(struct rng *rng)
{
	static const uint32_t sizes[] = { 64, 512, 2048, 4096, 9000 };

	if (sim.shape.hosts > 100)
		return 512;
	return sizes[rng_below(rng, 5)];
}

static void own_rq(struct end *end, struct rng *rng)
{
	uint32_t header = end->type == HCA_QP_UD ? 40 : 0;
	struct rq *rq = &sim.rq[sim.shape.rqs];

	make_rq(rq, end->host, end->recv_cq, sim.shape.hosts > 100 ? 4 : 4u << rng_below(rng, 3),
		end->message_most + header);
	end->rq = rq;
}

static struct rq *shared_rq(struct end *end, enum hca_srq_type type, struct rng *rng)
{
	struct rq *rq = &sim.rq[sim.shape.rqs];

	make_rq(rq, end->host, end->recv_cq, 8u << rng_below(rng, 2), end->message_most);
	rq->shared = true;
	rq->type = type;
	return rq;
}

/* Attributes that both sides must agree on. */
static void join(struct end *a, struct end *b, struct rng *rng)
{
	a->message_most = b->message_most = message_size(rng);
	a->path_mtu = b->path_mtu = (uint8_t)rng_between(rng, 1, 5);
	a->rd_atomic = b->rd_atomic = (uint8_t)rng_between(rng, 1, 16);
	a->out_of_order = b->out_of_order = rng_percent(rng, 20);
	a->peer = b;
	b->peer = a;
}

static void add_pair(struct rng *rng, unsigned int per_host)
{
	struct host *from = &sim.host[rng_below(rng, sim.shape.hosts)];
	struct host *to = &sim.host[rng_below(rng, sim.shape.hosts)];
	uint32_t kind = rng_below(rng, 100);
	struct end *a, *b;

	if (kind < 45 || (kind >= 60 && kind < 70 && sim.shape.hosts > 100)) {
		a = add_end(HCA_QP_RC, from, rng, per_host);
		b = add_end(HCA_QP_RC, to, rng, per_host);
		join(a, b, rng);
		own_rq(a, rng);
		if (rng_percent(rng, 30))
			b->rq = shared_rq(b, HCA_SRQ_BASIC, rng);
		else
			own_rq(b, rng);
	} else if (kind < 60) {
		a = add_end(HCA_QP_UC, from, rng, per_host);
		b = add_end(HCA_QP_UC, to, rng, per_host);
		join(a, b, rng);
		a->out_of_order = b->out_of_order = false;
		own_rq(a, rng);
		own_rq(b, rng);
	} else if (kind < 70) {
		a = add_end(HCA_QP_UD, from, rng, per_host);
		a->message_most = 512; /* no port has a smaller MTU than 1024 */
		a->path_mtu = 5;
		own_rq(a, rng);
	} else if (kind < 85) {
		a = add_end(HCA_QP_XRC_SEND, from, rng, per_host);
		b = add_end(HCA_QP_XRC_RECV, to, rng, per_host);
		join(a, b, rng);
		b->rq = shared_rq(b, HCA_SRQ_XRC, rng);
	} else {
		a = add_end(HCA_QP_DCI, from, rng, per_host);
		b = add_end(HCA_QP_DCT, to, rng, per_host);
		join(a, b, rng);
		/* any initiator addresses any target */
		a->message_most = b->message_most = sim.shape.hosts > 100 ? 512 : 2048;
		a->path_mtu = b->path_mtu = 3;
		a->rd_atomic = b->rd_atomic = 8;
		a->peer = b->peer = NULL;
		b->rq = shared_rq(b, HCA_SRQ_BASIC, rng);
	}
}

void shape_make(uint64_t seed, unsigned int hosts)
{
	struct rng rng = rng_fork(seed, 1);
	struct shape *s = &sim.shape;
	unsigned int pairs, per_host;

	*s = (struct shape){ 0 };
	sim.seed = seed;
	make_faults(s, &rng);
	s->hosts = hosts ? hosts : rng_between(&rng, 2, 6);
	s->rounds = rng_between(&rng, 1, 3);
	s->ops = hosts ? hosts * 30 : rng_between(&rng, 100, 800);
	pairs = hosts ? 2 * hosts : rng_between(&rng, 2, 12);
	per_host = hosts ? 1 : rng_between(&rng, 1, 3);
	sim.host = calloc(s->hosts, sizeof(*sim.host));
	sim.end = calloc((size_t)pairs * 2, sizeof(*sim.end));
	sim.rq = calloc((size_t)pairs * 2, sizeof(*sim.rq));
	sim.cq = calloc((size_t)s->hosts * per_host, sizeof(*sim.cq));
	SIM_CHECK(sim.host && sim.end && sim.rq && sim.cq, "no memory");
	for (unsigned int i = 0; i < s->hosts; i++)
		sim.host[i].index = i;
	s->cqs = s->hosts * per_host;
	for (unsigned int i = 0; i < s->cqs; i++) {
		struct cq *cq = &sim.cq[i];

		cq->host = &sim.host[i / per_host];
		cq->size = 16u << rng_below(&rng, 4);
		cq->done = calloc(cq->size, sizeof(*cq->done));
		SIM_CHECK(cq->done, "no memory");
	}
	for (unsigned int i = 0; i < pairs; i++)
		add_pair(&rng, per_host);
	net_reset();
	for (unsigned int i = 0; i < s->hosts; i++)
		host_init(&sim.host[i], i, place_buffers(&sim.host[i]));
	for (unsigned int i = 0; i < s->rqs; i++)
		sim.rq[i].off += sim.rq[i].host->region[REGION_RECV].off;
}

void shape_free(void)
{
	for (unsigned int i = 0; i < sim.shape.hosts; i++)
		host_fini(&sim.host[i]);
	for (unsigned int i = 0; i < sim.shape.ends; i++) {
		free(sim.end[i].slot);
		free(sim.end[i].inbox);
	}
	for (unsigned int i = 0; i < sim.shape.rqs; i++)
		free(sim.rq[i].slot);
	for (unsigned int i = 0; i < sim.shape.cqs; i++)
		free(sim.cq[i].done);
	free(sim.host);
	free(sim.end);
	free(sim.rq);
	free(sim.cq);
}
