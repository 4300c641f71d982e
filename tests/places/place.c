/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program in a strange place, which it makes by itself:
 *
 *	place KIND[,KIND...] PROGRAM ARGUMENT...
 *
 * Kinds are in the table at the end. Status 77, with a line that says why: the machine does not allow the place.
 * Mounts are made as root, or in a user namespace; `user` comes last, as it gives up what the others need.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter.h"

#define NOBODY 65534

static _Noreturn void skip(const char *what)
{
	printf("SKIPPED: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void must(bool ok, const char *what)
{
	if (!ok)
		skip(what);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

/* ---- mounts ---- */

static void own_mounts(void)
{
	static bool done;
	char map[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (done)
		return;
	done = true;
	if (unshare(CLONE_NEWNS)) {
		must(!unshare(CLONE_NEWUSER | CLONE_NEWNS), "a mount namespace");
		write_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		write_file("/proc/self/uid_map", map);
		snprintf(map, sizeof(map), "%u %u 1", gid, gid);
		write_file("/proc/self/gid_map", map);
	}
	must(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
}

/* A /dev without shm, as in a chroot that was made in a hurry. */
static void no_shm(void)
{
	static const char *const nodes[] = { "null", "zero", "urandom", "random" };
	char folder[] = "/tmp/verbena-dev-XXXXXX", from[64], to[96];

	own_mounts();
	must(mkdtemp(folder), folder);
	must(!mount("tmpfs", folder, "tmpfs", 0, "mode=755"), "a tmpfs");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		snprintf(from, sizeof(from), "/dev/%s", nodes[i]);
		snprintf(to, sizeof(to), "%s/%s", folder, nodes[i]);
		close(open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		must(!mount(from, to, NULL, MS_BIND, NULL), from);
	}
	must(!mount(folder, "/dev", NULL, MS_BIND | MS_REC, NULL), "another /dev");
	umount2(folder, MNT_DETACH);
	rmdir(folder);
}

static void set_read_only(const char *path, bool recursive)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	must(!syscall(SYS_mount_setattr, AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, &attr,
		      sizeof(attr)),
	     "read-only mounts");
}

static void set_writable(const char *path)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	must(!syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &attr, sizeof(attr)),
	     "a writable mount");
}

/* As in a container with a read-only root: only /dev/shm can be written. */
static void read_only_root(void)
{
	own_mounts();
	set_read_only("/", true);
	set_writable("/dev/shm");
}

/* Nothing at all can be written. */
static void read_only(void)
{
	own_mounts();
	set_read_only("/", true);
}

/* Programs of a pair must see one /dev/shm: the one of the host, or none. */
static void full_shm(void)
{
	own_mounts();
	must(!mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777,size=64k"), "a small /dev/shm");
}

/* ---- rules of seccomp ---- */

static void no_userfaultfd(void)
{
	must(filter_userfaultfd(), "a filter");
}

static void docker(void)
{
	must(filter_docker(), "a filter");
}

static void service(void)
{
	must(filter_service(), "a filter");
}

static void few_families(void)
{
	must(filter_families(), "a filter");
}

/* ---- limits ---- */

/* The kernel refuses memory files that may be executed; the setting belongs to a pid namespace. */
static void no_memfd_exec(void)
{
	int status;
	pid_t pid;

	must(!unshare(CLONE_NEWPID), "a pid namespace");
	pid = fork();
	must(pid >= 0, "fork");
	if (pid) {
		signal(SIGTERM, SIG_IGN);
		waitpid(pid, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	write_file("/proc/sys/vm/memfd_noexec", "2");
}

static void limit(int what, rlim_t most)
{
	const struct rlimit l = { most, most };

	must(!setrlimit(what, &l), "a limit");
}

static void few_descriptors(void)
{
	limit(RLIMIT_NOFILE, 48);
}

static void no_threads(void)
{
	limit(RLIMIT_NPROC, 0);
}

static void little_address_space(void)
{
	limit(RLIMIT_AS, 512ul << 20);
}

static void no_locked_memory(void)
{
	limit(RLIMIT_MEMLOCK, 0);
}

static void one_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	must(!sched_getaffinity(0, sizeof(set), &set), "affinity");
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "affinity");
}

/* JUMPING_CLOCK is the library; `verbena run` keeps what is preloaded. */
static void jumping_clock(void)
{
	const char *library = getenv("JUMPING_CLOCK");

	must(library && !setenv("LD_PRELOAD", library, 1), "JUMPING_CLOCK");
}

static void user(void)
{
	if (getuid())
		return;
	must(!syscall(SYS_setgroups, 0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
		     !setresuid(NOBODY, NOBODY, NOBODY),
	     "another user");
	setenv("HOME", "/nonexistent", 1);
}

static const struct {
	const char *name;
	void (*make)(void);
} kinds[] = {
	{ "no-shm", no_shm },
	{ "read-only-root", read_only_root },
	{ "read-only", read_only },
	{ "full-shm", full_shm },
	{ "no-memfd-exec", no_memfd_exec },
	{ "one-cpu", one_cpu },
	{ "few-descriptors", few_descriptors },
	{ "little-address-space", little_address_space },
	{ "no-locked-memory", no_locked_memory },
	{ "jumping-clock", jumping_clock },
	{ "user", user },
	/* from here on nothing else can be made */
	{ "no-threads", no_threads },
	{ "no-userfaultfd", no_userfaultfd },
	{ "docker", docker },
	{ "service", service },
	{ "few-families", few_families },
};

static bool make(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(name, kinds[i].name)) {
			kinds[i].make();
			return true;
		}
	return false;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
		if (!make(name)) {
			fprintf(stderr, "place: no kind is called %s\n", name);
			return 2;
		}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 1;
}
