/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/ask.h"

#include <errno.h>
#include <unistd.h>

#include "fabric/dial.h"
#include "fabric/dirfile.h"
#include "fabric/handshake_msg.h"

uint32_t fabric_ask_slots(const struct fabric_counts_view *view)
{
	return view->file ? dir_slots(view->file) : 0;
}

int fabric_ask_process(const struct fabric_counts_view *view, uint32_t slot,
		       struct fabric_process *out)
{
	return view->file ? fabric_slot_read(view->file, slot, out) : -ESRCH;
}

int fabric_ask(const struct fabric_process *process, int *out, pid_t *pid)
{
	struct handshake_msg m = { .kind = ASK, .to = process->id };
	int sock, err;

	err = dial(process->token, &sock);
	if (err)
		return err;
	err = dial_check(sock, pid);
	if (!err)
		err = handshake_send(sock, &m, NULL, 0);
	if (err) {
		close(sock);
		return err;
	}
	*out = sock;
	return 0;
}

int fabric_ask_take(int sock, int *out)
{
	int fds[HELLO_FDS] = { -1, -1, -1, -1, -1 };
	struct handshake_msg m;
	size_t count;
	int err;

	err = handshake_receive(sock, &m, fds, &count);
	if (err)
		return err == -EAGAIN ? err : -ENODATA;
	if (m.kind == ANSWER && count) {
		*out = fds[0];
		fds[0] = -1;
	} else {
		err = -ENODATA;
	}
	handshake_close_fds(fds, count);
	return err;
}
