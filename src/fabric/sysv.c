/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/sysv.h"

#include <errno.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <unistd.h>

/* Keys by which memory of ours is known until it is attached first; then it has none. */
#define OWN_KEY  0x56620000
#define KEY_MASK 0xffff0000u
#define TRIES    64

int sysv_create(uint64_t size, int *out)
{
	for (int i = 0; i < TRIES; i++) {
		uint16_t number = 0;
		int id;

		if (getrandom(&number, sizeof(number), 0) < 0)
			return -errno;
		id = shmget(OWN_KEY | number, size, IPC_CREAT | IPC_EXCL | SHM_NORESERVE | 0600);
		if (id >= 0) {
			*out = id;
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/*
 * Its creator died before anything was attached. A process that is not of this PID namespace has
 * the number 0.
 */
static bool is_litter(const struct shmid_ds *ds)
{
	return ((unsigned int)ds->shm_perm.__key & KEY_MASK) == OWN_KEY &&
	       ds->shm_perm.uid == geteuid() && !ds->shm_nattch && !ds->shm_atime &&
	       ds->shm_cpid > 0 && kill(ds->shm_cpid, 0) && errno == ESRCH;
}

void sysv_sweep(void)
{
	struct shm_info info;
	int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);

	for (int i = 0; i <= last; i++) {
		struct shmid_ds ds;
		int id = shmctl(i, SHM_STAT, &ds);

		if (id >= 0 && is_litter(&ds))
			shmctl(id, IPC_RMID, NULL);
	}
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
