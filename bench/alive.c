/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of creating and destroying an object while many others of its kind exist.
 *
 *	alive qp|mr|cq|ah|flow COUNT
 *
 * Prints microseconds of processor time per creation and per destruction, and how many objects were
 * alive: COUNT, or fewer if creation failed earlier.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "bench.h"

#define MORE   500u /* objects that are created and destroyed at a time */
#define ROUNDS 7u
#define PIECE  64u /* bytes of a region */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *raw_qp;
static struct ibv_ah_attr ah_attr;
static char *memory;

static void *create_qp_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = type,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static void *create_qp(uint32_t i)
{
	(void)i;
	return create_qp_of(IBV_QPT_RC);
}

static int destroy_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void *create_mr(uint32_t i)
{
	return ibv_reg_mr(pd, memory + (size_t)i * PIECE, PIECE, IBV_ACCESS_LOCAL_WRITE);
}

static int destroy_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

static void *create_cq(uint32_t i)
{
	(void)i;
	return ibv_create_cq(ctx, 1, NULL, NULL, 0);
}

static int destroy_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static void *create_ah(uint32_t i)
{
	(void)i;
	return ibv_create_ah(pd, &ah_attr);
}

static int destroy_ah(void *ah)
{
	return ibv_destroy_ah(ah);
}

/* Each flow has an IPv4 source address of its own. */
static void *create_flow(uint32_t i)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_ipv4 ipv4;
	} flow = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL,
			  .size = sizeof(flow),
			  .num_of_specs = 2,
			  .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH,
			 .size = sizeof(flow.eth),
			 .val.dst_mac = { 2 },
			 .mask.dst_mac = { 255, 255, 255, 255, 255, 255 } },
		.ipv4 = { .type = IBV_FLOW_SPEC_IPV4,
			  .size = sizeof(flow.ipv4),
			  .val.src_ip = htonl(0x0a000000 + i),
			  .mask.src_ip = UINT32_MAX },
	};

	_Static_assert(sizeof(flow) == sizeof(flow.attr) + sizeof(flow.eth) + sizeof(flow.ipv4),
		       "specs follow each other without gaps");
	return ibv_create_flow(raw_qp, &flow.attr);
}

static int destroy_flow(void *flow)
{
	return ibv_destroy_flow(flow);
}

static const struct kind {
	const char *name;
	void *(*create)(uint32_t i);
	int (*destroy)(void *object);
} kinds[] = {
	{ "qp", create_qp, destroy_qp },       { "mr", create_mr, destroy_mr },
	{ "cq", create_cq, destroy_cq },       { "ah", create_ah, destroy_ah },
	{ "flow", create_flow, destroy_flow },
};

static int open_device(uint32_t count)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "mlx5_0"))
			ctx = ibv_open_device(list[i]);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	cq = ctx ? ibv_create_cq(ctx, 16, NULL, NULL, 0) : NULL;
	raw_qp = pd && cq ? create_qp_of(IBV_QPT_RAW_PACKET) : NULL;
	memory = aligned_alloc(4096, ((size_t)count + MORE + PIECE) * PIECE / 4096 * 4096 + 4096);
	if (!raw_qp || !memory)
		return -1;
	ah_attr = (struct ibv_ah_attr){ .port_num = 1, .is_global = 1 };
	/* The port's own address; any other would do. */
	return ibv_query_gid(ctx, 1, 0, &ah_attr.grh.dgid);
}

/* The median of the rounds, in microseconds per object. */
static double per_object(double *seconds)
{
	return median(seconds, ROUNDS) * 1e6 / MORE;
}

static int measure(const struct kind *kind, uint32_t count)
{
	double created[ROUNDS], destroyed[ROUNDS], start;
	void *more[MORE];
	uint32_t alive = 0;

	while (alive < count && kind->create(alive))
		alive++;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		start = cpu_s();
		for (uint32_t i = 0; i < MORE; i++) {
			more[i] = kind->create(alive + i);
			if (!more[i]) {
				perror(kind->name);
				return 1;
			}
		}
		created[round] = cpu_s() - start;
		start = cpu_s();
		for (uint32_t i = 0; i < MORE; i++)
			if (kind->destroy(more[i]))
				return 1;
		destroyed[round] = cpu_s() - start;
	}
	printf("%.3f %.3f %u\n", per_object(created), per_object(destroyed), alive);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	for (size_t i = 0; count && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		if (open_device(count)) {
			fprintf(stderr, "mlx5_0 does not open\n");
			return 1;
		}
		return measure(&kinds[i], count);
	}
	fprintf(stderr, "usage: alive qp|mr|cq|ah|flow COUNT\n");
	return 2;
}
