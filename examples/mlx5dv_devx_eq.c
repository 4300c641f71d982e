/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5dv_devx_create_eq(): an event queue of the program's own. It arms the queue by a register,
 * sleeps on the vector's descriptor, and reads what has happened where the adapter writes it. The
 * events are those of a shared receive queue that runs low, because they are easily made.
 *
 * Device commands are bytes in a layout that the device fixes. A program brings the layouts that it
 * needs as structs in which every member is as long, in bytes, as the field is in bits.
 */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>
#include <infiniband/mlx5dv.h>

#include "setup.h"

typedef uint8_t u8;

struct mlx5_ifc_eqc_bits {
	u8 reserved_at_0[0x63];
	u8 log_eq_size[0x5];
	u8 uar_page[0x18];
	u8 reserved_at_80[0x38];
	u8 intr[0x8];
	u8 reserved_at_c0[0x140];
};

struct mlx5_ifc_create_eq_in_bits {
	u8 opcode[0x10];
	u8 reserved_at_10[0x70];
	struct mlx5_ifc_eqc_bits eq_context;
	u8 reserved_at_280[0x40];
	u8 event_bitmask[0x40];
	u8 reserved_at_300[0x580];
};

struct mlx5_ifc_create_eq_out_bits {
	u8 status[0x8];
	u8 reserved_at_8[0x18];
	u8 syndrome[0x20];
	u8 reserved_at_40[0x18];
	u8 eq_number[0x8];
	u8 reserved_at_60[0x20];
};

enum {
	OP_CREATE_EQ = 0x301,
	EVENT_SRQ_LIMIT = 0x14,
	LOG_ENTRIES = 3,
	ENTRY = 64,    /* bytes */
	EQ_ARM = 0x40, /* register: up to here I have read, and the next event is to wake me */
};

static struct setup s;
static struct mlx5dv_devx_uar *uar;
static struct mlx5dv_devx_msi_vector *vector;
static struct mlx5dv_devx_eq *eq;
static uint32_t eqn, consumer;

static void make_event_queue(void)
{
	uint32_t in[DEVX_ST_SZ_DW(create_eq_in)] = { 0 }, out[DEVX_ST_SZ_DW(create_eq_out)] = { 0 };
	void *eqc = DEVX_ADDR_OF(create_eq_in, in, eq_context);

	uar = mlx5dv_devx_alloc_uar(s.context, MLX5DV_UAR_ALLOC_TYPE_NC);
	setup_check(!uar, "mlx5dv_devx_alloc_uar");
	vector = mlx5dv_devx_alloc_msi_vector(s.context);
	setup_check(!vector, "mlx5dv_devx_alloc_msi_vector");
	DEVX_SET(create_eq_in, in, opcode, OP_CREATE_EQ);
	DEVX_SET64(create_eq_in, in, event_bitmask, 1ull << EVENT_SRQ_LIMIT);
	DEVX_SET(eqc, eqc, log_eq_size, LOG_ENTRIES);
	DEVX_SET(eqc, eqc, uar_page, uar->page_id);
	DEVX_SET(eqc, eqc, intr, vector->vector);
	eq = mlx5dv_devx_create_eq(s.context, in, sizeof(in), out, sizeof(out));
	setup_check(!eq, "mlx5dv_devx_create_eq");
	eqn = DEVX_GET(create_eq_out, out, eq_number);
}

static void arm(void)
{
	__atomic_store_n((uint32_t *)((char *)uar->base_addr + EQ_ARM),
			 htobe32(eqn << 24 | (consumer & 0xffffff)), __ATOMIC_RELEASE);
}

/* An entry belongs to software when its owner bit is that of the current lap of the ring. */
static const uint8_t *take_event(void)
{
	uint8_t *entry = (uint8_t *)eq->vaddr + ENTRY * (consumer % (1 << LOG_ENTRIES));
	uint32_t lap = consumer >> LOG_ENTRIES & 1, *last = (uint32_t *)(entry + ENTRY) - 1;
	struct pollfd wake = { .fd = vector->fd, .events = POLLIN };
	uint64_t count;

	while ((be32toh(__atomic_load_n(last, __ATOMIC_ACQUIRE)) & 1) != lap) {
		setup_check(poll(&wake, 1, -1) < 0, "poll");
		setup_check(read(vector->fd, &count, sizeof(count)) < 0, "read");
	}
	consumer++;
	return entry;
}

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 4 };
	struct ibv_srq *srq;
	uint32_t number;

	setup_open(&s, argc > 1 ? argv[1] : "mlx5_0");
	srq = ibv_create_srq(s.pd, &attr);
	setup_check(!srq, "ibv_create_srq");
	setup_check(ibv_get_srq_num(srq, &number), "ibv_get_srq_num");
	make_event_queue();
	printf("event queue %u of %d entries on vector %d\n", eqn, 1 << LOG_ENTRIES,
	       vector->vector);

	/* More often than the ring is long. Nothing is posted, which is less than any limit. */
	for (int i = 0; i < 50; i++) {
		const uint8_t *entry;

		arm();
		setup_check(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");
		/* The second byte is the type; of the data, from 0x20 on, the last word the number. */
		entry = take_event();
		if (entry[1] != EVENT_SRQ_LIMIT ||
		    (be32toh(*(uint32_t *)(entry + 0x38)) & 0xffffff) != number)
			return 1;
	}
	printf("%u events, read by hand\n", consumer);

	setup_check(mlx5dv_devx_destroy_eq(eq), "mlx5dv_devx_destroy_eq");
	setup_check(mlx5dv_devx_free_msi_vector(vector), "mlx5dv_devx_free_msi_vector");
	mlx5dv_devx_free_uar(uar);
	setup_check(ibv_destroy_srq(srq), "ibv_destroy_srq");
	setup_close(&s);
	return 0;
}
