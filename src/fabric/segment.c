/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates this process's segment and maps the segments of peers. fabric.segment is changed by init,
 * fini and fork only, while no other thread uses the fabric.
 */
#include "fabric/segment.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/memfd.h"
#include "fabric/state.h"
#include "util/explain.h"

#define SEGMENT_MAGIC   0x67657376u
#define SEGMENT_VERSION 4u
#define PAGE_BYTES      4096u

void *fabric_segment_self(void)
{
	return fabric.segment.base;
}

uint64_t fabric_segment_size(void)
{
	return fabric.segment.size;
}

int fabric_segment_fd(void)
{
	return fabric.segment.fd;
}

static int no_room(int err, uint64_t size)
{
	return explain(ENOMEM, "a segment of %llu MiB does not fit the address space: %s",
		       (unsigned long long)(size >> 20), strerror(-err));
}

int fabric_segment_create(uint64_t size)
{
	struct fabric_page *page;
	void *base = NULL;
	int fd, err;

	size = (size + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	if (size < FABRIC_SEGMENT_RESERVED)
		size = FABRIC_SEGMENT_RESERVED;
	err = fabric_memfd_create_owned("verbena-segment", size, &fd, &base);
	if (err)
		return err == -ENOMEM ? no_room(err, size) : err;
	page = base;
	assert(page);
	page->magic = SEGMENT_MAGIC;
	page->version = SEGMENT_VERSION;
	fabric.segment.base = base;
	fabric.segment.size = size;
	fabric.segment.fd = fd;
	return 0;
}

void fabric_segment_destroy(void)
{
	if (fabric.segment.fd < 0)
		return;
	munmap(fabric.segment.base, fabric.segment.size);
	close(fabric.segment.fd);
	fabric.segment.base = NULL;
	fabric.segment.size = 0;
	fabric.segment.fd = -1;
}

int fabric_segment_map(int fd, uint64_t size, const void **out)
{
	struct fabric_page head;
	void *base = NULL;
	int err;

	if (size < FABRIC_SEGMENT_RESERVED || size % PAGE_BYTES)
		return -EPROTO;
	err = fabric_memfd_check(fd, size);
	if (err)
		return err;
	err = fabric_memfd_map_read(fd, size, &base);
	if (err)
		return no_room(err, size);
	memcpy(&head, base, sizeof(head));
	if (head.magic != SEGMENT_MAGIC || head.version != SEGMENT_VERSION) {
		munmap(base, size);
		return -EPROTO;
	}
	*out = base;
	return 0;
}

void fabric_segment_unmap(const void *segment, uint64_t size)
{
	if (segment)
		munmap((void *)segment, size);
}

/* The program may keep pointers into the segment, so the addresses stay valid in the child. */
void fabric_segment_forked(void)
{
	if (fabric.segment.fd < 0)
		return;
	fabric_memfd_make_private(fabric.segment.fd, fabric.segment.base, fabric.segment.size);
	close(fabric.segment.fd);
	fabric.segment.base = NULL;
	fabric.segment.size = 0;
	fabric.segment.fd = -1;
}
