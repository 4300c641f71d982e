/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/object.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/report.h"
#include "check/state.h"
#include "check/symbol.h"
#include "util/api.h"
#include "util/array.h"

struct object {
	struct hash_link link;
	enum vb_kind kind;
	pid_t pid; /* the child of a fork does not own its parent's */
	const struct check_place *created;
	const struct check_place *refused; /* the last destruction that failed */
	int error;
	uint64_t number; /* in the order of creation */
};

static struct object *find(const void *object)
{
	struct hash_link *link = hash_find(&check.objects, (uintptr_t)object);

	return link ? container_of(link, struct object, link) : NULL;
}

void check_object_added(const void *object, int kind)
{
	struct object *o = calloc(1, sizeof(*o));

	if (!o)
		return;
	o->kind = (enum vb_kind)kind;
	o->pid = getpid();
	o->created = check_place_here();
	o->number = atomic_fetch_add_explicit(&check.clock, 1, memory_order_relaxed);
	pthread_mutex_lock(&check.object_lock);
	hash_add(&check.objects, &o->link, (uintptr_t)object);
	pthread_mutex_unlock(&check.object_lock);
}

void check_object_removed(const void *object)
{
	struct object *o;

	pthread_mutex_lock(&check.object_lock);
	o = find(object);
	if (o)
		hash_remove(&check.objects, &o->link);
	pthread_mutex_unlock(&check.object_lock);
	free(o);
}

void check_object_busy(const void *object, int err)
{
	const struct check_place *place = check_place_here();
	struct object *o;

	pthread_mutex_lock(&check.object_lock);
	o = find(object);
	if (o) {
		o->refused = place;
		o->error = err;
	}
	pthread_mutex_unlock(&check.object_lock);
}

const struct check_place *check_object_place(const void *object)
{
	const struct check_place *place;
	struct object *o;

	pthread_mutex_lock(&check.object_lock);
	o = find(object);
	place = o ? o->created : NULL;
	pthread_mutex_unlock(&check.object_lock);
	return place;
}

/* librdmacm keeps the devices that it has opened, and their domains, until the process ends. */
static bool is_of_library(const struct object *o)
{
	int i = 0;

	if (o->kind != VB_KIND_CONTEXT && o->kind != VB_KIND_PD)
		return false;
	while (i < o->created->count && check_symbol_is_ours(o->created->frames[i], false))
		i++;
	return i < o->created->count && check_symbol_is_ours(o->created->frames[i], true);
}

typedef ARRAY_OF(struct object *) object_array;

static int by_number(const void *a, const void *b)
{
	const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* Objects of this process, oldest first. */
static void list_left(object_array *out)
{
	size_t chains;

	pthread_mutex_lock(&check.object_lock);
	chains = check.objects.chains ? (size_t)1 << check.objects.bits : 1;
	for (size_t i = 0; i < chains; i++) {
		struct hash_link *link =
			check.objects.chains ? check.objects.chains[i] : check.objects.only;

		for (; link; link = link->next) {
			struct object *o = container_of(link, struct object, link);

			if (o->pid == getpid())
				array_push(out, o);
		}
	}
	pthread_mutex_unlock(&check.object_lock);
	if (out->count)
		qsort(out->data, out->count, sizeof(out->data[0]), by_number);
}

static unsigned int count_alike(const object_array *list, const struct object *like)
{
	unsigned int count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->data[i]->kind == like->kind &&
			 list->data[i]->created == like->created &&
			 !list->data[i]->refused == !like->refused;
	return count;
}

static void tell_left(const struct object *o, unsigned int count)
{
	const char *name = verbena_kind_name(o->kind);
	struct check_report r = { .stacks[0] = { "created at", o->created } };

	if (o->refused) {
		r.kind = CHECK_DESTROY_BUSY;
		snprintf(r.text, sizeof(r.text),
			 "The destruction of a %s failed with %s, and the object is still there at "
			 "the "
			 "end of the program.",
			 name, strerrorname_np(o->error) ? strerrorname_np(o->error) : "an error");
		r.stacks[1].title = "destruction refused at";
		r.stacks[1].place = o->refused;
	} else {
		r.kind = CHECK_OBJECT_LEAKED;
		snprintf(r.text, sizeof(r.text),
			 "%u %s%s created here %s not destroyed at the end of "
			 "the program.",
			 count, name, count == 1 ? "" : "s", count == 1 ? "was" : "were");
	}
	check_report(&r);
}

void check_objects_left(void)
{
	object_array list = { 0 };

	list_left(&list);
	for (size_t i = 0; i < list.count; i++)
		if (!is_of_library(list.data[i]))
			tell_left(list.data[i], count_alike(&list, list.data[i]));
	array_fini(&list);
}
