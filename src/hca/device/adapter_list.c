/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Builds the list of adapters, once. A failed attempt is not remembered: the caller may correct
 * the environment and call again.
 */
#include "hca/device/adapter_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hca/device/config.h"
#include "hca/device/interfaces.h"
#include "hca/hca.h"
#include "util/explain.h"

static uint64_t mix(uint64_t hash, const void *data, size_t n)
{
	const uint8_t *p = data;

	/* FNV-1a */
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ull;
	return hash;
}

/*
 * Identifies this host: a hash over the hardware addresses of its interfaces, or, where there is
 * only loopback, over the boot id and the network namespace.
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

		/* The GUIDs of ports are this one plus the port number: clear the low bits. */
		tail = (tail ^ (tail >> 24) ^ (tail >> 48)) & 0xfffff8;
		a->node_guid = (uint64_t)a->model->guid_oui << 40 | 0x0300ull << 24 | tail;
	}
	snprintf(a->pci_slot, sizeof(a->pci_slot), "0000:%02x:00.0", (0xa0 + a->index) & 0xff);
}

/* Lock held. */
static int build(void)
{
	struct hca_config *config = &hca.device.adapters.config;
	int err = hca_config_load(config);
	uint64_t host;

	if (err) {
		/* Not left to VERBENA_EXPLAIN: without adapters a program can only give up. */
		fprintf(stderr, "verbena: %s\n", explain_last());
		return err;
	}
	host = host_hash();
	for (int i = 0; i < config->count; i++) {
		finish(&config->adapters[i], host);
		hca.device.adapters.list[i] = &config->adapters[i];
	}
	hca.device.adapters.built = true;
	return 0;
}

int hca_adapters_get(const struct hca_adapter *const **out, int *count)
{
	int err = 0;

	pthread_mutex_lock(&hca.device.adapters.lock);
	if (!hca.device.adapters.built)
		err = build();
	if (!err) {
		*out = hca.device.adapters.list;
		*count = hca.device.adapters.config.count;
	}
	pthread_mutex_unlock(&hca.device.adapters.lock);
	return err;
}
