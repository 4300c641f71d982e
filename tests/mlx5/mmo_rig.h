/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tests of the memory-to-memory engine share: a queue pair made by commands that is connected to
 * itself, entries written by hand, and their results. mlx5_0 is a BlueField-2, mlx5_1 a BlueField-3, mlx5_2 a ConnectX-5.
 */
#ifndef TESTS_MLX5_MMO_RIG_H
#define TESTS_MLX5_MMO_RIG_H

#include "devx_rig.h"
#include "util/api.h"

enum { DMA = 1, COMPRESS = 2, DECOMPRESS = 3 };
/* Offsets in the test's memory. */
enum { IN = 0, OUT = 20000, BACK = 40000, RESULTS = 60000, ROOM = 20000 };
enum { NO_SPACE = 0x84, TRUNCATED = 0x11 };

#define FIXED   (5u << 12 | 15u << 16)
#define DYNAMIC (FIXED | 15u << 20)

struct mmo {
	struct rig rig;
	struct rig_cq cq;
	struct rig_qp qp;
};

extern struct mmo mmo;

/* The adapters, before the first call of the library. */
void mmo_adapters(void);
int mmo_open(const char *name);
int mmo_open_2(void **state);
int mmo_open_3(void **state);
int mmo_drop(void **state);

struct mmo_piece {
	uint32_t key, off, len;
};

struct mmo_piece mmo_by(uint32_t key, uint32_t off, uint32_t len);
/* A piece of the test's memory. */
struct mmo_piece mmo_mem(uint32_t off, uint32_t len);

/* An entry, with a place for the results. */
void mmo_fill(uint8_t *at, uint32_t number, uint16_t index, uint8_t modifier, uint32_t control,
	      struct mmo_piece from, struct mmo_piece to);
uint8_t *mmo_next_entry(void);
/* Posts an entry; its completion, which is left in the queue. */
const struct mlx5_cqe64 *mmo_post(uint8_t modifier, uint32_t control, struct mmo_piece from,
				  struct mmo_piece to);
/* A request that succeeds; the bytes that it has written. */
uint32_t mmo_run(uint8_t modifier, uint32_t control, struct mmo_piece from, struct mmo_piece to);
/* A request whose data is at fault: it is told, and the queue pair goes on. engine 0: any syndrome. */
void mmo_run_badly(uint8_t modifier, uint32_t control, struct mmo_piece from, struct mmo_piece to,
		   uint8_t engine);
/* The completion of a request that has failed the queue pair. */
void mmo_expect_dead(uint8_t syndrome);

/* A word of the results. */
uint32_t mmo_result(int word);
/* Text-like bytes at IN: words of a small vocabulary. */
void mmo_make_text(uint32_t len, uint32_t seed);
/* Checksums in the results of a BlueField-2. */
void mmo_assert_sums(const uint8_t *data, uint32_t len);

#endif
