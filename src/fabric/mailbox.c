/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates this process's mailbox and maps those of peers. fabric.mailbox is changed by init, fini and
 * fork only, while no other thread uses the fabric.
 */
#include "fabric/mailbox.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/memfd.h"
#include "fabric/state.h"

void *fabric_mailbox_self(void)
{
	return fabric.mailbox.base;
}

uint64_t fabric_mailbox_size(void)
{
	return fabric.mailbox.size;
}

int fabric_mailbox_fd(void)
{
	return fabric.mailbox.fd;
}

int fabric_mailbox_create(uint64_t size)
{
	void *base = NULL;
	int fd, err;

	if (!size)
		return 0;
	err = fabric_memfd_create("verbena-mailbox", size, &fd);
	if (err)
		return err;
	err = fabric_memfd_map(fd, 0, size, &base);
	if (err) {
		close(fd);
		return err;
	}
	fabric.mailbox = (struct fabric_mailbox){ .base = base, .size = size, .fd = fd };
	return 0;
}

void fabric_mailbox_destroy(void)
{
	if (fabric.mailbox.fd < 0)
		return;
	munmap(fabric.mailbox.base, fabric.mailbox.size);
	close(fabric.mailbox.fd);
	fabric.mailbox = (struct fabric_mailbox){ .fd = -1 };
}

int fabric_mailbox_map(int fd, void **out)
{
	int err;

	if (!fabric.mailbox.size)
		return -EPROTO;
	err = fabric_memfd_check(fd, fabric.mailbox.size);
	return err ? err : fabric_memfd_map(fd, 0, fabric.mailbox.size, out);
}

void fabric_mailbox_unmap(void *mailbox, uint64_t size)
{
	if (mailbox)
		munmap(mailbox, size);
}

/* Peers go on writing to the parent's. */
void fabric_mailbox_forked(void)
{
	fabric_mailbox_destroy();
}
