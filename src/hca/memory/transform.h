/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transforms of indirect keys: the bytes that the transport sees of such a key (the wire) are not
 * those of its memory. A chain of stages lies between both: block signatures, encryption. The first
 * stage is next to memory, the last one next to the wire. Each maps a space of bytes, its upper one,
 * on the space below it.
 *
 * mkey.c builds a chain when a request configures a key and replaces it like a layout; mem.c runs
 * accesses through it. Peers never do: their accesses go to the owner's responder.
 */
#ifndef HCA_TRANSFORM_H
#define HCA_TRANSFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct transform;
struct transform_space;

/* Access to a space of bytes. False: the memory is gone, or may not be accessed. */
struct transform_space_ops {
	bool (*read)(const struct transform_space *space, uint64_t off, void *to, uint64_t len);
	bool (*write)(const struct transform_space *space, uint64_t off, const void *from,
		      uint64_t len);
	/* The range as plain memory without gaps, for reads only unless `write`; NULL: it is none. */
	void *(*map)(const struct transform_space *space, uint64_t off, uint64_t len, bool write);
};

/* The bytes below a stage: embedded by mem.c in what it knows of the memory. */
struct transform_space {
	const struct transform_space_ops *ops;
};

static inline bool transform_get(const struct transform_space *below, uint64_t off, void *to,
				 uint64_t len)
{
	return below->ops->read(below, off, to, len);
}

static inline bool transform_put(const struct transform_space *below, uint64_t off,
				 const void *from, uint64_t len)
{
	return below->ops->write(below, off, from, len);
}

static inline void *transform_map(const struct transform_space *below, uint64_t off, uint64_t len,
				  bool write)
{
	return below->ops->map(below, off, len, write);
}

/*
 * The operations of a kind of stage. Offsets and lengths of read and write are of the upper space. Pieces of
 * a message come in any size, normally ascending, but also once more (a packet is sent again) or
 * anywhere. A stage may keep state for the ascending case and recovers from any other by reading the
 * space below. The chain's lock is held.
 */
struct transform_ops {
	/* Bytes of the upper space when the one below has this many. */
	uint64_t (*length)(const struct transform *t, uint64_t below);
	/* Towards the wire: a request or the answer to a read is sent. */
	bool (*read)(struct transform *t, const struct transform_space *below, uint64_t off,
		     void *to, uint64_t len);
	/* Towards memory: data was received. */
	bool (*write)(struct transform *t, const struct transform_space *below, uint64_t off,
		      const void *from, uint64_t len);
	void (*free)(struct transform *t);
};

/* A stage; the first member of the struct of its kind. */
struct transform {
	const struct transform_ops *ops;
};

#define TRANSFORM_STAGES 2

struct transform_chain {
	pthread_mutex_t lock; /* leaf */
	unsigned int count;
	struct transform *stage[TRANSFORM_STAGES];
};

/* An empty chain, or NULL. Stages are added from memory to the wire, and owned by it. */
struct transform_chain *transform_chain_create(void);
void transform_chain_add(struct transform_chain *chain, struct transform *stage);
void transform_chain_free(struct transform_chain *chain);

/* Bytes on the wire for this many in memory. */
uint64_t transform_chain_length(const struct transform_chain *chain, uint64_t memory);
/* Bytes [off, off + len) as the wire has them. */
bool transform_chain_read(struct transform_chain *chain, const struct transform_space *memory,
			  uint64_t off, void *to, uint64_t len);
bool transform_chain_write(struct transform_chain *chain, const struct transform_space *memory,
			   uint64_t off, const void *from, uint64_t len);

#endif
