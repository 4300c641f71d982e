/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/net/udp gives inode and user of the socket; a process of /proc has a descriptor with that inode.
 * Called only after bind() failed, and for packets from an unknown port of this host.
 */
#include "roce/port_owner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/shortage.h"

struct owner {
	bool found;
	unsigned long inode;
	unsigned int uid;
	int err; /* -errno, if a file could not be read */
};

/* /proc/net prints addresses as 32-bit words in host byte order. */
static bool parse_address(const char *hex, bool ipv4, struct roce_addr *out)
{
	size_t words = ipv4 ? 1 : 4;
	uint8_t *to = out->gid + (ipv4 ? 12 : 0);

	if (strlen(hex) != words * 8)
		return false;
	memset(out, 0, sizeof(*out));
	if (ipv4)
		out->gid[10] = out->gid[11] = 0xff;
	for (size_t i = 0; i < words; i++) {
		char one[9] = { 0 };
		uint32_t word;

		memcpy(one, hex + i * 8, 8);
		word = strtoul(one, NULL, 16);
		memcpy(to + i * 4, &word, 4);
	}
	return true;
}

static bool is_any(const struct roce_addr *a, bool ipv4)
{
	static const uint8_t zero[16];

	return !memcmp(a->gid + (ipv4 ? 12 : 0), zero, ipv4 ? 4 : 16);
}

static void find_socket(const char *file, bool ipv4, const struct roce_addr *addr, uint16_t port,
			struct owner *out)
{
	FILE *f = fopen(file, "re");
	char line[512];

	if (!f)
		out->err = -errno;
	while (f && !out->found && fgets(line, sizeof(line), f)) {
		char hex[33];
		unsigned int has, uid;
		unsigned long inode;
		struct roce_addr at;

		/* sl: local remote st queues timer retransmits uid timeout inode */
		if (sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %*s %*x %*s %*s %*x %u %*d %lu", hex,
			   &has, &uid, &inode) != 4)
			continue;
		if (has != port || !parse_address(hex, ipv4, &at))
			continue;
		if (!is_any(&at, ipv4) && memcmp(at.gid, addr->gid, 16))
			continue;
		*out = (struct owner){ .found = true, .inode = inode, .uid = uid };
	}
	if (f)
		fclose(f);
}

static bool has_inode(const char *pid, const char *want)
{
	char path[300], target[64];
	struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = 0;
		found = !strcmp(target, want);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool find_process(unsigned long inode, long *pid)
{
	char want[64];
	struct dirent *e;
	bool found = false;
	DIR *proc = opendir("/proc");

	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	while (proc && !found && (e = readdir(proc))) {
		if (!isdigit((unsigned char)e->d_name[0]) || !has_inode(e->d_name, want))
			continue;
		*pid = strtol(e->d_name, NULL, 10);
		found = true;
	}
	if (proc)
		closedir(proc);
	return found;
}

static void process_name(long pid, char *name, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, (int)size, f))
		snprintf(name, size, "?");
	name[strcspn(name, "\n")] = 0;
	if (f)
		fclose(f);
}

static struct owner find_owner(const struct roce_addr *addr, uint16_t port)
{
	struct owner h = { .found = false };

	if (roce_addr_is_ipv4(addr))
		find_socket("/proc/net/udp", true, addr, port, &h);
	if (!h.found)
		find_socket("/proc/net/udp6", false, addr, port, &h);
	return h;
}

int roce_port_user(const struct roce_addr *addr, uint16_t port, uint32_t *uid)
{
	struct owner h = find_owner(addr, port);

	if (h.found)
		*uid = h.uid;
	return h.found ? 0 : is_shortage(h.err) ? h.err : -ENOENT;
}

void roce_port_owner(const struct roce_addr *addr, uint16_t port, char *text, size_t size)
{
	struct owner h = find_owner(addr, port);
	char name[64];
	long pid = 0;

	if (!h.found)
		snprintf(text, size, "a socket that /proc/net/udp does not show");
	else if (!h.inode)
		snprintf(text, size, "the kernel itself (the rdma_rxe module, most likely)");
	else if (find_process(h.inode, &pid)) {
		process_name(pid, name, sizeof(name));
		snprintf(text, size, "process %ld (%s) of user %u", pid, name, h.uid);
	} else {
		snprintf(text, size, "a process of user %u", h.uid);
	}
}
