/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing array of any type. All zero is an empty array; the caller provides the lock.
 *
 *	ARRAY_OF(struct qp *) qps = { 0 };
 *
 *	err = array_push(&qps, qp);
 *	for (size_t i = 0; i < qps.count; i++)
 *		use(qps.data[i]);
 *	array_fini(&qps);
 *
 * The elements move when the array grows: keep indices, not pointers to elements.
 */
#ifndef UTIL_ARRAY_H
#define UTIL_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define ARRAY_OF(type)                                                                             \
	struct {                                                                                   \
		type *data;                                                                        \
		size_t count, room; /* elements in use, and allocated */                           \
	}

/* Allocates for at least `need` elements, at least twice as many as before; NULL: no memory. */
static inline void *array_grow(void *data, size_t *room, size_t need, size_t element_size)
{
	size_t more = *room ? 2 * *room : 16;

	if (more < need)
		more = need;
	data = reallocarray(data, more, element_size);
	if (data)
		*room = more;
	return data;
}

/* Makes room for `need` elements in all, so that pushing up to that many cannot fail. -ENOMEM. */
#define array_reserve(array, need)                                                                 \
	({                                                                                         \
		__typeof__(array) array_ = (array);                                                \
		const size_t need_ = (need);                                                       \
		void *data_ = array_->data;                                                        \
                                                                                                   \
		if (need_ > array_->room)                                                          \
			data_ = array_grow(data_, &array_->room, need_, sizeof(*array_->data));    \
		if (data_)                                                                         \
			array_->data = data_;                                                      \
		data_ || !need_ ? 0 : -ENOMEM;                                                     \
	})

/* Appends an element. 0 or -ENOMEM. */
#define array_push(array, value)                                                                   \
	({                                                                                         \
		__typeof__(array) to_ = (array);                                                   \
		const int err_ = array_reserve(to_, to_->count + 1);                               \
                                                                                                   \
		if (!err_)                                                                         \
			to_->data[to_->count++] = (value);                                         \
		err_;                                                                              \
	})

/* Removes one element; the last one takes its index. */
#define array_remove(array, index)                                                                 \
	do {                                                                                       \
		__typeof__(array) from_ = (array);                                                 \
                                                                                                   \
		from_->data[index] = from_->data[--from_->count];                                  \
	} while (0)

/* Frees the elements' memory; the array is empty and may be used again. */
#define array_fini(array)                                                                          \
	do {                                                                                       \
		__typeof__(array) old_ = (array);                                                  \
                                                                                                   \
		free(old_->data);                                                                  \
		old_->data = NULL;                                                                 \
		old_->count = old_->room = 0;                                                      \
	} while (0)

#endif
