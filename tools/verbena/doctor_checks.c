/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of memory, processes and processors.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"

/* Newer than the headers of some distributions. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* The host directory has 3.4 MB; a run's files are small. */
#define SHM_WANTED (8ull << 20)

static bool can_userfaultfd(int flags)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | flags);
	bool can = fd >= 0 && !ioctl(fd, UFFDIO_API, &api);

	if (fd >= 0)
		close(fd);
	return can;
}

void doctor_userfaultfd(struct finding *f)
{
	if (can_userfaultfd(0))
		finding_set(f, VERDICT_OK, "registered memory is shared with peers in place", NULL,
			    "allowed");
	else if (can_userfaultfd(UFFD_USER_MODE_ONLY))
		finding_set(f, VERDICT_OK,
			    "registered memory is shared with peers in place; a system call that "
			    "writes "
			    "to memory while another thread registers it may fail once with EFAULT",
			    NULL, "allowed for faults in user mode");
	else
		finding_set(
			f, VERDICT_SLOWER,
			"memory that is registered while other threads run may stay private, and "
			"peers then copy it through the kernel; doorbells of direct verbs are "
			"found by polling",
			"in a container, a seccomp profile that allows userfaultfd; on the host, "
			"sysctl vm.unprivileged_userfaultfd=1",
			"forbidden (%s)", strerror(errno));
}

void doctor_memfd(struct finding *f)
{
	int fd = memfd_create("verbena-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *map = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		finding_set(f, VERDICT_OK, "processes of this user exchange messages in memory",
			    NULL, "can be made, sealed and mapped");
	else
		finding_set(f, VERDICT_MISSING, "no device can be opened",
			    "a kernel or seccomp profile that allows memfd_create with seals",
			    "cannot be made or mapped (%s)", strerror(errno));
	if (map != MAP_FAILED)
		munmap(map, 4096);
	if (fd >= 0)
		close(fd);
}

/* One child reads the memory of another: as two programs, neither the parent of the other. */
static bool siblings_can_read(void)
{
	static volatile char byte = 42;
	char got = 0;
	struct iovec here = { &got, 1 }, there = { (void *)&byte, 1 };
	pid_t owner, reader;
	int status = -1;

	owner = fork();
	if (!owner)
		for (;;)
			pause();
	reader = owner < 0 ? -1 : fork();
	if (!reader)
		_exit(process_vm_readv(owner, &here, 1, &there, 1, 0) != 1);
	if (reader > 0)
		waitpid(reader, &status, 0);
	if (owner > 0) {
		kill(owner, SIGKILL);
		waitpid(owner, NULL, 0);
	}
	return !status;
}

void doctor_process_vm(struct finding *f)
{
	long scope = doctor_setting("/proc/sys/kernel/yama/ptrace_scope");
	char text[40] = "Yama is not there";

	if (scope >= 0)
		snprintf(text, sizeof(text), "ptrace_scope is %ld", scope);
	if (siblings_can_read())
		finding_set(f, VERDICT_OK,
			    "memory that cannot be shared in place is copied in one step", NULL,
			    "processes may read each other's memory (%s)", text);
	else
		finding_set(
			f, VERDICT_SLOWER,
			"memory that cannot be shared in place (files, stacks, huge pages) is "
			"copied by its owner, in two steps",
			"sysctl kernel.yama.ptrace_scope=0; in a container, a seccomp profile that "
			"allows process_vm_readv",
			"processes may not read each other's memory (%s)", text);
}

static bool has_room(const char *dir, unsigned long long *room)
{
	struct statvfs st;

	*room = 0;
	if (access(dir, W_OK | X_OK) || statvfs(dir, &st))
		return false;
	*room = (unsigned long long)st.f_bavail * st.f_frsize;
	return *room >= SHM_WANTED;
}

/* The places of the host directory, in the order in which it is looked for (src/fabric/folder_scan.c). */
void doctor_shm(struct finding *f)
{
	const char *chosen = getenv("VERBENA_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
	char usual[32];
	const char *others[] = { runtime && *runtime ? runtime : usual, "/tmp" };
	unsigned long long room, other;

	snprintf(usual, sizeof(usual), "/run/user/%u", (unsigned int)geteuid());
	if (chosen && *chosen && has_room(chosen, &room)) {
		finding_set(f, VERDICT_OK,
			    "processes with the same VERBENA_DIR find each other there", NULL,
			    "VERBENA_DIR is %s, with room for %llu MiB", chosen, room >> 20);
		return;
	}
	if (has_room("/dev/shm", &room)) {
		finding_set(f, VERDICT_OK, "processes find each other there", NULL,
			    "/dev/shm has room for %llu MiB", room >> 20);
		return;
	}
	for (size_t i = 0; i < 2; i++)
		if (has_room(others[i], &other)) {
			finding_set(f, VERDICT_SLOWER,
				    "its counters may be written to a disk now and then",
				    "a container's --shm-size=64m, or a tmpfs at /dev/shm",
				    "/dev/shm has room for %llu KiB; %s is used instead",
				    room >> 10, others[i]);
			return;
		}
	finding_set(f, VERDICT_MISSING, "no device can be opened",
		    "a container's --shm-size=64m, or VERBENA_DIR naming a directory with 8 MiB",
		    "none of /dev/shm, %s and /tmp can be written to, with room for 8 MiB",
		    others[0]);
}

static bool child_can_unshare(int flags)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(flags) != 0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return !status;
}

void doctor_user_namespaces(struct finding *f)
{
	if (child_can_unshare(CLONE_NEWNS) || child_can_unshare(CLONE_NEWUSER | CLONE_NEWNS))
		finding_set(f, VERDICT_OK, "'verbena run --facade namespace' works, too", NULL,
			    "mount namespaces can be made");
	else
		finding_set(
			f, VERDICT_LIMITED,
			"'verbena run --facade namespace' does not work, so statically linked "
			"programs see no /sys/class/infiniband; all others do",
			"sysctl user.max_user_namespaces=10000 (also kernel.unprivileged_userns_"
			"clone=1 or kernel.apparmor_restrict_unprivileged_userns=0, where there is "
			"one)",
			"mount namespaces cannot be made");
}

/* Tenths of a processor that the control group allows; 0: no limit. */
static unsigned long quota(void)
{
	unsigned long limit, period;
	FILE *in = fopen("/sys/fs/cgroup/cpu.max", "re");
	unsigned long tenths = 0;

	if (!in)
		return 0;
	if (fscanf(in, "%lu %lu", &limit, &period) == 2 && period)
		tenths = limit * 10 / period;
	fclose(in);
	return tenths;
}

void doctor_cores(struct finding *f)
{
	unsigned long allowed = quota();
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	if (count < 2 || (allowed && allowed < 20))
		finding_set(
			f, VERDICT_SLOWER,
			"two programs that poll wait for each other's time slice: latencies are "
			"those of the scheduler",
			"two cores or more", "%d, of which %lu.%lu may be used", count,
			allowed ? allowed / 10 : (unsigned long)count, allowed % 10);
	else
		finding_set(f, VERDICT_OK, "two programs that poll run side by side", NULL, "%d",
			    count);
}

void doctor_file_sizes(struct finding *f)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		finding_set(f, VERDICT_OK, "shared memory is made of memory files", NULL,
			    "no limit");
	else
		finding_set(f, VERDICT_SLOWER,
			    "shared memory is System V memory, and registered memory is copied "
			    "through the kernel",
			    "ulimit -f unlimited", "limited to %llu KiB (ulimit -f)",
			    (unsigned long long)limit.rlim_cur >> 10);
}

void doctor_address_layout(struct finding *f)
{
	long bits = doctor_setting("/proc/sys/vm/mmap_rnd_bits");

	if (bits > 28)
		finding_set(f, VERDICT_LIMITED,
			    "programs built with the ThreadSanitizer of gcc 13, clang 17 or older "
			    "may end at their start, with or without Verbena",
			    "sysctl vm.mmap_rnd_bits=28, or setarch -R before the program",
			    "%ld random bits", bits);
	else
		finding_set(f, VERDICT_OK, "programs built with ThreadSanitizer start", NULL,
			    "%s random bits", bits < 0 ? "few" : "28 or fewer");
}
