/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/peers/peer_memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/epoch.h"
#include "fabric/link.h"
#include "fabric/share.h"
#include "fabric/share_alloc.h"
#include "hca/peers/peer.h"

static uint64_t in_page(uint64_t va)
{
	return va & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
}

int hca_peer_memory_alloc(uint64_t length, void **out)
{
	void *addr = share_alloc_device(length);

	if (!addr)
		return -ENOMEM;
	if (!share_covers(addr, length)) {
		share_free(addr);
		return -EOPNOTSUPP;
	}
	*out = addr;
	return 0;
}

void hca_peer_memory_free(void *addr)
{
	share_free(addr);
}

int peer_memory_map(struct hca_peer *peer, uint64_t va, uint64_t length, void **out)
{
	uint64_t head = in_page(va);
	struct stat st;
	char *map;
	int fd;

	if (!peer->can_map)
		return -EOPNOTSUPP;
	/* The peer has chosen the range: behind the end of the file there would be signals. */
	fd = fabric_link_peer_share_fd(peer->link);
	if (fstat(fd, &st) || !length || length > (uint64_t)st.st_size ||
	    va > (uint64_t)st.st_size - length)
		return -EINVAL;
	map = mmap(NULL, length + head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(va - head));
	if (map == MAP_FAILED)
		return -ENOMEM;
	*out = map + head;
	return 0;
}

int hca_peer_memory_map(fabric_id_t owner, uint64_t va, uint64_t length, void **out)
{
	struct hca_peer *peer;
	int err = -ENOENT;

	epoch_enter();
	peer = hca_peer_at(fabric_id_slot(owner));
	if (peer && peer->id == owner && !peer->is_self)
		err = peer_memory_map(peer, va, length, out);
	epoch_exit();
	return err;
}

void hca_peer_memory_unmap(void *addr, uint64_t length)
{
	uint64_t head = in_page((uintptr_t)addr);

	munmap((char *)addr - head, length + head);
}
