/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/dial.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fabric/directory.h"
#include "util/explain.h"

socklen_t dial_name(const uint8_t *token, struct sockaddr_un *name)
{
	char *out;
	int n;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	out = name->sun_path + 1;
	n = snprintf(out, sizeof(name->sun_path) - 1, "verbena-");
	for (int i = 0; i < FABRIC_TOKEN_BYTES; i++)
		n += snprintf(out + n, sizeof(name->sun_path) - 1 - (size_t)n, "%02x", token[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int dial(const uint8_t *token, int *out)
{
	struct sockaddr_un name;
	socklen_t len = dial_name(token, &name);
	int sock, err;

	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return -errno;
	if (connect(sock, (struct sockaddr *)&name, len)) {
		err = -errno;
		close(sock);
		return err;
	}
	*out = sock;
	return 0;
}

int dial_check(int sock, pid_t *pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	if (cred.uid != geteuid())
		return explain(EPERM,
			       "the other end of a link is a process of user %u; it must be one of "
			       "user %u",
			       (unsigned int)cred.uid, (unsigned int)geteuid());
	*pid = cred.pid;
	return 0;
}
