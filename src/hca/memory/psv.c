/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/psv.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/epoch.h"
#include "hca/hca.h"
#include "util/explain.h"

int hca_psv_create(struct hca_pd *pd, struct hca_psv **out)
{
	struct hca_psv *psv = calloc(1, sizeof(*psv));
	int err;

	if (!psv)
		return -ENOMEM;
	psv->pd = pd;
	pthread_mutex_lock(&hca.memory.psv.lock);
	err = hca_number_get(&hca.memory.psv.numbers, &psv->index);
	pthread_mutex_unlock(&hca.memory.psv.lock);
	if (err) {
		err = explain(ENOMEM, "all numbers of signature contexts are taken");
		goto free_psv;
	}
	err = hca_table_set(&hca.memory.psv.table, psv->index, psv);
	if (err)
		goto put_number;
	hca_pd_get(pd);
	*out = psv;
	return 0;
put_number:
	pthread_mutex_lock(&hca.memory.psv.lock);
	hca_number_put(&hca.memory.psv.numbers, psv->index);
	pthread_mutex_unlock(&hca.memory.psv.lock);
free_psv:
	free(psv);
	return err;
}

void hca_psv_destroy(struct hca_psv *psv)
{
	hca_table_set(&hca.memory.psv.table, psv->index, NULL);
	epoch_wait();
	pthread_mutex_lock(&hca.memory.psv.lock);
	hca_number_put(&hca.memory.psv.numbers, psv->index);
	pthread_mutex_unlock(&hca.memory.psv.lock);
	hca_pd_put(psv->pd);
	free(psv);
}

struct hca_psv *hca_psv_find(uint32_t index, uint32_t pdn)
{
	struct hca_psv *psv = hca_table_find(&hca.memory.psv.table, index);

	return psv && psv->pd->pdn == pdn ? psv : NULL;
}

int hca_psv_set(const struct hca_psv_op *op, uint32_t pdn)
{
	struct hca_psv *psv = hca_psv_find(op->index[0], pdn);

	if (!psv)
		return -EINVAL;
	atomic_store_explicit(&psv->syndrome, op->syndrome, memory_order_relaxed);
	atomic_store_explicit(&psv->value, op->value, memory_order_relaxed);
	return 0;
}

int hca_psv_get(const struct hca_psv_op *op, uint32_t pdn, uint8_t *out)
{
	for (uint32_t i = 0; i < op->count; i++, out += HCA_PSV_BYTES) {
		const struct hca_psv *psv = hca_psv_find(op->index[i], pdn);
		uint32_t head[2];
		uint64_t value;

		if (!psv)
			return -EINVAL;
		head[0] = htobe32(psv->index);
		head[1] = htobe32(
			(uint32_t)atomic_load_explicit(&psv->syndrome, memory_order_relaxed) << 16);
		value = htobe64(atomic_load_explicit(&psv->value, memory_order_relaxed));
		memcpy(out, head, sizeof(head));
		memcpy(out + sizeof(head), &value, sizeof(value));
	}
	return 0;
}
