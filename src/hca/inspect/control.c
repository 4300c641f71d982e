/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applies the settings of the host to this process: the service thread when they change, and the thread that
 * joins the fabric. hca.inspect.set_lock keeps the two apart, and the file is read with the lock held, so that
 * the text that was read last is the one that stays.
 */
#include "hca/inspect/control.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "fabric/folder.h"
#include "fabric/service.h"
#include "hca/hca.h"
#include "hca/inspect/inspect.h"
#include "hca/inspect/query.h"
#include "hca/inspect/setting.h"
#include "hca/inspect/unplug.h"

static void apply(const char *folder)
{
	static const char *const keys[] = { "capture", "fault" };
	char text[SETTING_MAX], value[SETTING_MAX];

	pthread_mutex_lock(&hca.inspect.set_lock);
	setting_read(folder, text, sizeof(text));
	for (size_t i = 0; i < array_size(keys); i++) {
		setting_find(text, keys[i], value, sizeof(value));
		inspect_set(keys[i], value);
	}
	setting_find(text, UNPLUG_KEY, value, sizeof(value));
	unplug_set(value);
	pthread_mutex_unlock(&hca.inspect.set_lock);
}

static void file_changed(void *arg, uint32_t events)
{
	apply(fabric_folder());
	query_answer(fabric_folder());
}

void control_start(void)
{
	struct control_state *state = &hca.inspect.control;

	if (atomic_exchange(&state->started, true))
		return;
	if (!folder_fifo_open(fabric_folder(), &state->fd) &&
	    fabric_service_add_fd(state->fd, EPOLLHUP | EPOLLET, file_changed, NULL)) {
		close(state->fd); /* later changes are not noticed */
		state->fd = -1;
	}
	apply(fabric_folder());
}

void control_stop(void)
{
	struct control_state *state = &hca.inspect.control;

	if (state->fd >= 0)
		close(state->fd);
	state->fd = -1;
	atomic_store(&state->started, false);
}
