/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/iomap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rsocket/post.h"
#include "util/explain.h"

struct rs_iomap_region {
	TAILQ_ENTRY(rs_iomap_region) link;
	struct ibv_mr *mr;
	uint64_t offset;
	int slot; /* in the peer's iomap; -1: for this side alone */
	bool unsent;
};

/* The table is made when it is needed first: most sockets have none. */
static int find_slot(struct rs_stream *s)
{
	if (!s->iomap_slots) {
		s->iomap_slots = calloc(s->peer.iomap_size + 1, sizeof(*s->iomap_slots));
		if (!s->iomap_slots)
			return explain(ENOMEM, "no memory for a table of mapped buffers");
	}
	for (int i = 0; i < s->peer.iomap_size; i++)
		if (!s->iomap_slots[i])
			return i;
	return explain(ENOMEM,
		       "the peer's iomap has %d entries, and all are in use; the peer sets "
		       "RDMA_IOMAPSIZE before it connects",
		       s->peer.iomap_size);
}

static int register_region(struct rs_stream *s, struct rs_iomap_region *region, void *buf,
			   size_t len, int prot)
{
	int access = IBV_ACCESS_LOCAL_WRITE;

	region->slot = -1;
	if (prot & PROT_WRITE) {
		region->slot = find_slot(s);
		if (region->slot < 0)
			return region->slot;
		access |= IBV_ACCESS_REMOTE_WRITE;
	}
	region->mr = ibv_reg_mr(s->id->pd, buf, len, access);
	if (!region->mr)
		return -errno;
	if (region->slot >= 0) {
		s->iomap_slots[region->slot] = region;
		region->unsent = true;
		s->iomap_unsent++;
	}
	return 0;
}

int rs_iomap_open(struct rs_stream *s, void *buf, size_t len, int prot, uint64_t *offset)
{
	struct rs_iomap_region *region;
	int err;

	if (prot & ~(PROT_WRITE | PROT_NONE))
		return explain(EINVAL, "riomap takes PROT_WRITE or PROT_NONE, not %#x", prot);
	if (!s->id->pd || !rs_has_endpoint(s))
		return explain(EINVAL, "riomap is for rsockets that are connected");
	region = calloc(1, sizeof(*region));
	if (!region)
		return explain(ENOMEM, "no memory for a mapped buffer");
	err = register_region(s, region, buf, len, prot);
	if (err) {
		free(region);
		return err;
	}
	if (*offset == (uint64_t)-1)
		*offset = (uintptr_t)buf;
	region->offset = *offset;
	TAILQ_INSERT_TAIL(&s->iomap_regions, region, link);
	return 0;
}

static void free_region(struct rs_stream *s, struct rs_iomap_region *region)
{
	TAILQ_REMOVE(&s->iomap_regions, region, link);
	if (region->unsent)
		s->iomap_unsent--;
	if (region->slot >= 0)
		s->iomap_slots[region->slot] = NULL;
	ibv_dereg_mr(region->mr);
	free(region);
}

int rs_iomap_remove(struct rs_stream *s, const void *buf, size_t len)
{
	struct rs_iomap_region *region;

	TAILQ_FOREACH(region, &s->iomap_regions, link)
		if (region->mr->addr == buf && region->mr->length == len)
			break;
	if (!region)
		return explain(EINVAL, "no buffer of %zu bytes is mapped at %p", len, buf);
	free_region(s, region);
	return 0;
}

static int post_entry(struct rs_stream *s, int slot, const struct rs_iomap_entry *entry)
{
	struct rs_target to = { .addr = s->peer.iomap_addr + slot * sizeof(*entry),
				.key = s->peer.sgl.key };
	struct ibv_sge sges[2] = { { .addr = (uintptr_t)entry, .length = sizeof(*entry) } };
	int count = 1;

	if (s->base.sizes.inline_max >= sizeof(*entry)) {
		to.send_flags = IBV_SEND_INLINE;
		to.wr_flags = RS_WR_NO_RING;
	} else {
		count = rs_send_ring_reserve(&s->ring, sizeof(*entry), sges);
		memcpy((void *)(uintptr_t)sges[0].addr, entry, sges[0].length);
		memcpy((void *)(uintptr_t)sges[1].addr, (const char *)entry + sges[0].length,
		       sges[1].length);
	}
	s->send_slots--;
	return rs_post_write_msg(s, sges, count, rs_msg(RS_MSG_IOMAP, slot), &to);
}

/*
 * The receiver does not count this message as data, so it does not advance the sequence number. The
 * entry is in the peer's byte order.
 */
int rs_iomap_announce(struct rs_stream *s)
{
	struct rs_iomap_region *region;
	struct rs_iomap_entry entry;

	TAILQ_FOREACH(region, &s->iomap_regions, link)
		if (region->unsent)
			break;
	if (!region)
		return 0;
	entry = (struct rs_iomap_entry){ .offset = region->offset,
					 .sge = { .addr = (uintptr_t)region->mr->addr,
						  .key = region->mr->rkey,
						  .length = region->mr->length } };
	if (s->peer.swap) {
		entry.offset = __builtin_bswap64(entry.offset);
		entry.sge = rs_sge_swap(entry.sge);
	}
	region->unsent = false;
	s->iomap_unsent--;
	return post_entry(s, region->slot, &entry);
}

const struct rs_iomap_entry *rs_iomap_find(const struct rs_stream *s, uint64_t offset)
{
	for (int i = 0; s->ep.iomap_copy && i < s->base.sizes.iomap; i++) {
		const struct rs_iomap_entry *entry = &s->ep.iomap_copy[i];

		if (offset >= entry->offset && offset - entry->offset < entry->sge.length)
			return entry;
	}
	return NULL;
}

void rs_iomap_close(struct rs_stream *s)
{
	struct rs_iomap_region *region, *next;

	for (region = TAILQ_FIRST(&s->iomap_regions); region; region = next) {
		next = TAILQ_NEXT(region, link);
		free_region(s, region);
	}
	free(s->iomap_slots);
	s->iomap_slots = NULL;
}
