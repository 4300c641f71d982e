/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/sysv.h"

#include <errno.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

int sysv_create(uint64_t size, int *out)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | SHM_NORESERVE | 0600);

	if (id < 0)
		return -errno;
	*out = id;
	return 0;
}

static int get_size(int id, uint64_t *size)
{
	struct shmid_ds ds;

	if (shmctl(id, IPC_STAT, &ds))
		return -errno;
	if (ds.shm_perm.uid != geteuid() || (ds.shm_perm.mode & 077))
		return -EPERM;
	*size = ds.shm_segsz;
	return 0;
}

bool sysv_has_size(int id, uint64_t size)
{
	uint64_t has = 0;

	return !get_size(id, &has) && has == size;
}

int sysv_attach(int id, bool read_only, void **out)
{
	void *base = shmat(id, NULL, read_only ? SHM_RDONLY : 0);
	int err = base == (void *)-1 ? -errno : 0;

	/* Linux lets others attach it nevertheless, as long as one process has it attached. */
	shmctl(id, IPC_RMID, NULL);
	if (!err)
		*out = base;
	return err;
}

int sysv_map_at(int id, uint64_t offset, uint64_t size, void *at)
{
	uint64_t has = 0;
	void *base = NULL, *got;
	int err = get_size(id, &has);

	if (!err && (offset > has || size > has - offset))
		err = -EINVAL;
	if (!err)
		err = sysv_attach(id, false, &base);
	if (err)
		return err;
	/* With an old size of 0, mremap() adds a mapping of the same pages. */
	got = mremap((char *)base + offset, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	err = got == MAP_FAILED ? -errno : 0;
	shmdt(base);
	return err;
}
