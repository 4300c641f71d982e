/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: memory born shared, so that peers reach it like any region. The model's size is
 * the budget of each process.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "fabric/share.h"
#include "hca/mr.h"
#include "util/explain.h"
#include "util/forksafe.h"

static pthread_mutex_t dm_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(dm_lock, FORKSAFE_OBJECT);
static uint64_t used[HCA_ADAPTERS_MAX];

int hca_dm_alloc(struct hca_ctx *ctx, uint64_t length, void **out)
{
	uint64_t most = ctx->adapter->limits.max_dm_size, *mine = &used[ctx->adapter->index];
	int err = 0;
	void *dm;

	if (!length)
		return explain(EINVAL, "device memory of 0 bytes");
	pthread_mutex_lock(&dm_lock);
	if (length > most || *mine > most - length)
		err = explain(ENOMEM, "%llu bytes of device memory; %s has %llu, %llu are in use",
			      (unsigned long long)length, ctx->adapter->name,
			      (unsigned long long)most, (unsigned long long)*mine);
	else
		*mine += length;
	pthread_mutex_unlock(&dm_lock);
	if (err)
		return err;
	dm = share_alloc(length);
	if (!dm) {
		pthread_mutex_lock(&dm_lock);
		*mine -= length;
		pthread_mutex_unlock(&dm_lock);
		return -ENOMEM;
	}
	*out = dm;
	return 0;
}

void hca_dm_free(struct hca_ctx *ctx, void *dm, uint64_t length)
{
	share_free(dm);
	pthread_mutex_lock(&dm_lock);
	used[ctx->adapter->index] -= length;
	pthread_mutex_unlock(&dm_lock);
}
