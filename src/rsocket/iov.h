/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A position in a program's vector of buffers, for copying piece by piece.
 */
#ifndef RSOCKET_IOV_H
#define RSOCKET_IOV_H

#include <stddef.h>
#include <sys/uio.h>

struct rs_iov {
	const struct iovec *vec; /* the buffer at the position */
	size_t count;            /* buffers from there on */
	size_t offset;           /* in the first one */
	size_t left;             /* bytes in all */
};

/* -EINVAL: too many buffers, or too many bytes. */
int rs_iov_init(struct rs_iov *iov, const struct iovec *vec, size_t count);
/* The contiguous bytes at the position. */
void *rs_iov_piece(struct rs_iov *iov, size_t *len);
void rs_iov_advance(struct rs_iov *iov, size_t len);
/* Copy len bytes, no more than are left, out of the buffers, or into them, and advance. */
void rs_iov_gather(struct rs_iov *iov, void *to, size_t len);
void rs_iov_scatter(struct rs_iov *iov, const void *from, size_t len);

#endif
