/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains. A domain on a file is an entry of the host directory for each time it is open, so
 * it ends with the last process that had it open, however that process ended. No lock of its own.
 */
#include "hca/transport/xrcd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/registry.h"
#include "hca/hca.h"
#include "util/explain.h"

struct key {
	uint64_t adapter;
	uint64_t dev;
	uint64_t ino;
};

_Static_assert(sizeof(struct key) <= FABRIC_REG_KEY_MAX, "fits the directory");

struct hca_xrcd {
	uint32_t number;
	bool on_file;
	struct key key;
	uint64_t value; /* tells the openings of one process apart */
};

/* The top bit tells domains of their own from those on files. */
#define PRIVATE 0x80000000u

static uint64_t hash(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0xcbf29ce484222325ull;

	/* FNV-1a */
	for (size_t i = 0; i < len; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): whole words */
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}

static uint32_t fold(uint64_t h)
{
	return (uint32_t)(h ^ h >> 31 ^ h >> 62) & ~PRIVATE;
}

static int join_file(struct hca_xrcd *x, const struct hca_adapter *adapter, int fd, int oflags)
{
	struct fabric_reg_entry entry;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return explain(errno, "XRC domain: descriptor %d names no file", fd);
	x->on_file = true;
	x->key.adapter = hash(adapter->name, strlen(adapter->name));
	x->key.dev = st.st_dev;
	x->key.ino = st.st_ino;
	x->number = fold(hash(&x->key, sizeof(x->key)));
	if (!(oflags & O_CREAT) &&
	    !fabric_reg_find(FABRIC_REG_XRCD, &x->key, sizeof(x->key), &entry, 1))
		return explain(EAGAIN,
			       "XRC domain: no process has the file of descriptor %d open as a "
			       "domain, and oflags lack O_CREAT",
			       fd);
	err = fabric_reg_add(FABRIC_REG_XRCD, &x->key, sizeof(x->key), x->value, oflags & O_EXCL);
	if (err == -EADDRINUSE)
		return explain(EINVAL,
			       "XRC domain: the file of descriptor %d is open as a domain "
			       "already, and oflags have O_EXCL",
			       fd);
	return err;
}

int hca_xrcd_open(struct hca_ctx *ctx, int fd, int oflags, struct hca_xrcd **out)
{
	struct hca_xrcd *x = calloc(1, sizeof(*x));
	int err = 0;

	if (!x)
		return -ENOMEM;
	x->value = 1 + atomic_fetch_add(&hca.transport.xrcd_opened, 1);
	if (fd == -1) {
		uint64_t seed[2] = { getpid(), x->value };

		x->number = fold(hash(seed, sizeof(seed))) | PRIVATE;
	} else {
		err = join_file(x, ctx->adapter, fd, oflags);
	}
	if (err) {
		free(x);
		return err;
	}
	*out = x;
	return 0;
}

void hca_xrcd_close(struct hca_xrcd *x)
{
	if (x->on_file)
		fabric_reg_del(FABRIC_REG_XRCD, &x->key, sizeof(x->key), x->value);
	free(x);
}

uint32_t hca_xrcd_number(const struct hca_xrcd *x)
{
	return x->number;
}
