/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/iov.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "util/explain.h"

int rs_iov_init(struct rs_iov *iov, const struct iovec *vec, size_t count)
{
	*iov = (struct rs_iov){ .vec = vec, .count = count };
	if (count > UIO_MAXIOV || (count && !vec))
		return explain(EINVAL, "%zu buffers; 0 to %d are possible", count, UIO_MAXIOV);
	for (size_t i = 0; i < count; i++) {
		if (vec[i].iov_len > SSIZE_MAX - iov->left)
			return explain(EINVAL, "the buffers have more than %zd bytes", SSIZE_MAX);
		iov->left += vec[i].iov_len;
	}
	return 0;
}

void *rs_iov_piece(struct rs_iov *iov, size_t *len)
{
	while (iov->count && iov->offset == iov->vec->iov_len) {
		iov->vec++;
		iov->count--;
		iov->offset = 0;
	}
	*len = iov->count ? iov->vec->iov_len - iov->offset : 0;
	return iov->count ? (char *)iov->vec->iov_base + iov->offset : NULL;
}

void rs_iov_advance(struct rs_iov *iov, size_t len)
{
	iov->left -= len;
	while (len) {
		size_t here;

		rs_iov_piece(iov, &here);
		if (here > len)
			here = len;
		iov->offset += here;
		len -= here;
	}
}

void rs_iov_gather(struct rs_iov *iov, void *to, size_t len)
{
	char *at = to;

	while (len) {
		size_t here;
		const void *from = rs_iov_piece(iov, &here);

		if (here > len)
			here = len;
		memcpy(at, from, here);
		rs_iov_advance(iov, here);
		at += here;
		len -= here;
	}
}

void rs_iov_scatter(struct rs_iov *iov, const void *from, size_t len)
{
	const char *at = from;

	while (len) {
		size_t here;
		void *to = rs_iov_piece(iov, &here);

		if (here > len)
			here = len;
		memcpy(to, at, here);
		rs_iov_advance(iov, here);
		at += here;
		len -= here;
	}
}
