/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An adapter that is pulled out: its contexts get DEVICE_FATAL and are dead, its queue pairs fail, and the
 * agents of queue pair 1 are told.
 */
#include "hca/inspect/unplug.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hca/device/adapter_list.h"
#include "hca/device/presence.h"
#include "hca/hca.h"
#include "hca/inspect/setting.h"
#include "hca/queue/channel.h"
#include "hca/transport/qp_dead.h"
#include "util/explain.h"

/* The next name of the list, and its length; NULL at the end. */
static const char *next_name(const char *list, size_t *len)
{
	list += strspn(list, ",");
	*len = strcspn(list, ",");
	return *len ? list : NULL;
}

static bool has_name(const char *list, const char *name)
{
	size_t len;

	for (list = next_name(list, &len); list; list = next_name(list + len, &len))
		if (len == strlen(name) && !memcmp(list, name, len))
			return true;
	return false;
}

static void append(char list[SETTING_MAX], const char *name, size_t len)
{
	size_t used = strlen(list);

	snprintf(list + used, SETTING_MAX - used, "%s%.*s", used ? "," : "", (int)len, name);
}

static void without(char names[SETTING_MAX], const void *name)
{
	char old[SETTING_MAX];
	const char *at;
	size_t len;

	memcpy(old, names, sizeof(old));
	names[0] = 0;
	for (at = next_name(old, &len); at; at = next_name(at + len, &len))
		if (len != strlen(name) || memcmp(at, name, len) != 0)
			append(names, at, len);
}

static void with(char names[SETTING_MAX], const void *name)
{
	if (!has_name(names, name))
		append(names, name, strlen(name));
}

int hca_unplug_order(const char *name, bool unplug)
{
	if (!*name || strlen(name) >= HCA_NAME_MAX || strpbrk(name, ",=\n"))
		return explain(EINVAL, "'%s' is no name of an adapter", name);
	return setting_change(UNPLUG_KEY, unplug ? with : without, name);
}

bool hca_unplug_is_present(const struct hca_adapter *a)
{
	char names[SETTING_MAX];

	hca_setting_get(UNPLUG_KEY, names, sizeof(names));
	return !has_name(names, a->name);
}

int hca_unplug_listen(const struct hca_adapter *a, struct hca_async *q)
{
	int err;

	pthread_mutex_lock(&hca.inspect.set_lock);
	if (hca_unplug_is_present(a))
		err = hca_async_init(q, a);
	else
		err = explain(ENODEV, "%s is unplugged; `verbena plug %s` plugs it in again",
			      a->name, a->name);
	pthread_mutex_unlock(&hca.inspect.set_lock);
	return err;
}

void unplug_set(const char *names)
{
	const struct hca_adapter *const *list;
	int count;

	if (hca_adapters_get(&list, &count))
		return;
	for (int i = 0; i < count; i++) {
		bool present = !has_name(names, list[i]->name);

		if (!present) {
			bool killed = hca_async_kill(list[i]);

			qp_dead_fail();
			channel_kill();
			/*
			 * A context that was alive: the adapter was plugged in, though this process may
			 * have missed that order. Its removal is a change.
			 */
			if (killed)
				hca_presence_set(list[i], true);
		}
		hca_presence_set(list[i], present);
	}
}
