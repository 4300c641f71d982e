/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/transform.h"

#include <stdlib.h>

#include "util/api.h"

/* The upper space of a stage, as the stage above it sees it. */
struct stage_space {
	struct transform_space base;
	struct transform *stage;
	const struct transform_space *below;
};

static bool read_stage(const struct transform_space *space, uint64_t off, void *to, uint64_t len)
{
	const struct stage_space *s = container_of(space, const struct stage_space, base);

	return s->stage->ops->read(s->stage, s->below, off, to, len);
}

static bool write_stage(const struct transform_space *space, uint64_t off, const void *from,
			uint64_t len)
{
	const struct stage_space *s = container_of(space, const struct stage_space, base);

	return s->stage->ops->write(s->stage, s->below, off, from, len);
}

static void *map_none(const struct transform_space *space, uint64_t off, uint64_t len, bool write)
{
	(void)space;
	(void)off;
	(void)len;
	(void)write;
	return NULL;
}

static const struct transform_space_ops stage_ops = { read_stage, write_stage, map_none };

struct transform_chain *transform_chain_create(void)
{
	struct transform_chain *chain = calloc(1, sizeof(*chain));

	if (chain)
		pthread_mutex_init(&chain->lock, NULL);
	return chain;
}

void transform_chain_add(struct transform_chain *chain, struct transform *stage)
{
	chain->stage[chain->count++] = stage;
}

void transform_chain_free(struct transform_chain *chain)
{
	if (!chain)
		return;
	for (unsigned int i = 0; i < chain->count; i++)
		chain->stage[i]->ops->free(chain->stage[i]);
	pthread_mutex_destroy(&chain->lock);
	free(chain);
}

uint64_t transform_chain_length(const struct transform_chain *chain, uint64_t memory)
{
	uint64_t len = memory;

	for (unsigned int i = 0; i < chain->count; i++)
		len = chain->stage[i]->ops->length(chain->stage[i], len);
	return len;
}

/* The spaces between memory and wire, lowest first; returns the wire. */
static const struct transform_space *join(const struct transform_chain *chain,
					  const struct transform_space *memory,
					  struct stage_space *spaces)
{
	const struct transform_space *below = memory;

	for (unsigned int i = 0; i < chain->count; i++) {
		spaces[i] = (struct stage_space){ { &stage_ops }, chain->stage[i], below };
		below = &spaces[i].base;
	}
	return below;
}

bool transform_chain_read(struct transform_chain *chain, const struct transform_space *memory,
			  uint64_t off, void *to, uint64_t len)
{
	struct stage_space spaces[TRANSFORM_STAGES];
	bool done;

	pthread_mutex_lock(&chain->lock);
	done = transform_get(join(chain, memory, spaces), off, to, len);
	pthread_mutex_unlock(&chain->lock);
	return done;
}

bool transform_chain_write(struct transform_chain *chain, const struct transform_space *memory,
			   uint64_t off, const void *from, uint64_t len)
{
	struct stage_space spaces[TRANSFORM_STAGES];
	bool done;

	pthread_mutex_lock(&chain->lock);
	done = transform_put(join(chain, memory, spaces), off, from, len);
	pthread_mutex_unlock(&chain->lock);
	return done;
}
