/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds the list of adapters, once. A failed attempt is not remembered: the caller may mend the
 * environment and ask again.
 */
#include "hca/device/adapter.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hca/device/config.h"
#include "hca/device/interfaces.h"
#include "util/explain.h"
#include "util/forksafe.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(lock, FORKSAFE_ADAPTER);
static struct hca_config config;
static const struct hca_adapter *list[HCA_ADAPTERS_MAX];
static bool built;

static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
	const uint8_t *p = data;

	/* FNV-1a */
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

/*
 * What tells this host from others: the hardware addresses of its interfaces, or, where there is
 * only loopback, the boot and the network namespace.
 */
static uint64_t host_hash(void)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	struct host_picture pic;
	bool found = false;
	struct stat st;
	char boot[64] = "";
	FILE *f;

	if (!host_picture_take(&pic)) {
		for (int i = 0; i < pic.interface_count; i++) {
			if (pic.interfaces[i].loopback || !pic.interfaces[i].up)
				continue;
			hash = mix(hash, pic.interfaces[i].mac, sizeof(pic.interfaces[i].mac));
			found = true;
		}
		host_picture_free(&pic);
	}
	if (found)
		return hash;
	f = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (f) {
		hash = mix(hash, boot, fread(boot, 1, sizeof(boot), f));
		fclose(f);
	}
	if (!stat("/proc/self/ns/net", &st))
		hash = mix(hash, &st.st_ino, sizeof(st.st_ino));
	return hash;
}

static void finish(struct hca_adapter *a, uint64_t host)
{
	if (!a->node_guid) {
		uint64_t tail = mix(host, a->name, strlen(a->name));

		/* Ports take the following numbers, so leave room below. */
		tail = (tail ^ (tail >> 24) ^ (tail >> 48)) & 0xfffff8;
		a->node_guid = (uint64_t)a->model->guid_oui << 40 | 0x0300ull << 24 | tail;
	}
	snprintf(a->pci_slot, sizeof(a->pci_slot), "0000:%02x:00.0", (0xa0 + a->index) & 0xff);
}

static int build(void)
{
	int err = hca_config_load(&config);
	uint64_t host;

	if (err) {
		/* Not left to VERBENA_EXPLAIN: without adapters a program can only give up. */
		fprintf(stderr, "verbena: %s\n", explain_last());
		return err;
	}
	host = host_hash();
	for (int i = 0; i < config.count; i++) {
		finish(&config.adapters[i], host);
		list[i] = &config.adapters[i];
	}
	built = true;
	return 0;
}

int hca_adapters_get(const struct hca_adapter *const **out, int *count)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	if (!built)
		err = build();
	if (!err) {
		*out = list;
		*count = config.count;
	}
	pthread_mutex_unlock(&lock);
	return err;
}
