/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of public pointers: a hash of chains, keyed by the pointer's value alone.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "cm/handle.h"
#include "util/api.h"

#define BUCKETS 1024

pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;

static struct cm_handle *buckets[BUCKETS];

static struct cm_handle **bucket_of(const void *public)
{
	/* Fibonacci hashing: heap pointers differ little in their low bits. */
	return &buckets[((uintptr_t) public * 0x9e3779b97f4a7c15ULL) >> 54];
}

void cm_handle_add(struct cm_handle *handle, enum cm_kind kind, const void *public)
{
	struct cm_handle **head = bucket_of(public);

	handle->kind = kind;
	handle->public = public;
	handle->next = *head;
	*head = handle;
}

void cm_handle_remove(struct cm_handle *handle)
{
	struct cm_handle **at = bucket_of(handle->public);

	while (*at && *at != handle)
		at = &(*at)->next;
	if (*at)
		*at = handle->next;
}

struct cm_handle *cm_handle_find(enum cm_kind kind, const void *public)
{
	struct cm_handle *handle;

	for (handle = *bucket_of(public); handle; handle = handle->next)
		if (handle->public == public && handle->kind == kind)
			return handle;
	return NULL;
}

void cm_handle_each(enum cm_kind kind, void (*visit)(struct cm_handle *handle, void *arg),
		    void *arg)
{
	struct cm_handle *handle;
	size_t i;

	for (i = 0; i < array_size(buckets); i++)
		for (handle = buckets[i]; handle; handle = handle->next)
			if (handle->kind == kind)
				visit(handle, arg);
}

int cm_answer(int err)
{
	if (!err)
		return 0;
	errno = -err;
	return -1;
}
