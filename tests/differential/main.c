/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Carries out verbs programs that are written as text, and prints what each call and each completion was. The same
 * program gives the same trace on adapters that behave alike; generate.py writes programs, differential.py compares
 * traces.
 *
 *   verbs-run [-d DEVICE] [-g GID_INDEX] [-r MS] FILE
 *
 * -r: how long a receive of a queue pair in the error state is waited for; rxe does not flush all of them.
 *
 * A file has many programs, each after a line "program NAME"; each runs in a process of its own. A line is a number,
 * a verb and key=value words; after it everything settles, unless it has hold=1.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "post.h"
#include "settle.h"
#include "world.h"

enum { PROGRAM_SECONDS = 300, LONGEST = 4096 };

static const char *device;
static int gid_option = -1;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "verbs-run: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!device || strcmp(ibv_get_device_name(list[i]), device) == 0)
			break;
	if (!list || !list[i])
		die("no such device");
	world.ctx = ibv_open_device(list[i]);
	if (!world.ctx)
		die("ibv_open_device");
	ibv_free_device_list(list);
}

/* The GID of the option, or the last one that is an IPv4 address: RoCEv2 comes after RoCEv1. */
static void choose_gid(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid gid;
	int i;

	world.gid_index = gid_option;
	for (i = 0; gid_option < 0 && i < 32; i++)
		if (!ibv_query_gid(world.ctx, 1, i, &gid) &&
		    !memcmp(gid.raw, mapped, sizeof mapped))
			world.gid_index = i;
	if (world.gid_index < 0 || ibv_query_gid(world.ctx, 1, world.gid_index, &world.gid))
		die("no GID");
}

static void fill_arena(void)
{
	uint32_t x = 1;
	int i;

	world.arena = mmap((void *)(uintptr_t)0x200000000ULL, ARENA, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	world.before = malloc(ARENA);
	if (world.arena == MAP_FAILED || !world.before)
		die("memory");
	for (i = 0; i < ARENA; i++) {
		x = x * 1664525U + 1013904223U;
		world.arena[i] = (uint8_t)(x >> 24);
	}
	memcpy(world.before, world.arena, ARENA);
}

static void open_world(void)
{
	open_device();
	choose_gid();
	fill_arena();
	world.channel = ibv_create_comp_channel(world.ctx);
	if (!world.channel)
		die("ibv_create_comp_channel");
	fcntl(world.channel->fd, F_SETFL, O_NONBLOCK);
	fcntl(world.ctx->async_fd, F_SETFL, O_NONBLOCK);
	settle_open();
}

static void carry_out(char *text)
{
	struct words w;
	const char *verb;
	bool hold;

	words_split(&w, text);
	if (w.count < 2)
		return;
	world.line = atoi(w.word[0]);
	verb = w.word[1];
	hold = words_number(&w, "hold", 0);
	if (strcmp(verb, "settle") != 0 && !control_do(verb, &w) && !post_do(verb, &w))
		trace("unknown verb %s", verb);
	if (hold)
		return;
	if (strstr(verb, "post_") || strstr(verb, "_qp") || strcmp(verb, "settle") == 0 ||
	    strcmp(verb, "bind_mw") == 0)
		settle();
	else
		settle_quick();
}

static _Noreturn void run(char **lines, int count)
{
	int i;

	alarm(PROGRAM_SECONDS);
	open_world();
	for (i = 0; i < count; i++)
		carry_out(lines[i]);
	world.line = 999999;
	settle();
	trace("end");
	fflush(stdout);
	_exit(0);
}

/* Copies what a program has printed, which survives its end by a signal. */
static void copy_out(int fd)
{
	char text[LONGEST];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, text, sizeof text)) > 0)
		fwrite(text, 1, (size_t)n, stdout);
	close(fd);
}

static void run_program(const char *name, char **lines, int count)
{
	int status, fd = memfd_create("trace", 0);
	pid_t pid;

	printf("program %s", name);
	fflush(stdout);
	pid = fd < 0 ? -1 : fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		dup2(fd, STDOUT_FILENO);
		setvbuf(stdout, NULL, _IOLBF, 0);
		run(lines, count);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	copy_out(fd);
	if (status)
		printf("999999 died %s %d\n", WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

static void run_file(FILE *file)
{
	char **lines = NULL, name[LONGEST] = "", text[LONGEST];
	int count = 0, i;
	bool more;

	do {
		more = fgets(text, sizeof text, file);
		if (more && strncmp(text, "program ", 8) != 0) {
			lines = reallocarray(lines, (size_t)count + 1, sizeof *lines);
			if (!lines || !(lines[count++] = strdup(text)))
				die("memory");
			continue;
		}
		if (*name)
			run_program(name, lines, count);
		for (i = 0; i < count; i++)
			free(lines[i]);
		count = 0;
		if (more)
			snprintf(name, sizeof name, "%s", text + 8);
	} while (more);
	free(lines);
}

int main(int argc, char **argv)
{
	FILE *file;
	int option;

	signal(SIGCHLD,
	       SIG_DFL); /* some parents leave it ignored, and then no status can be waited for */
	world.recv_limit_ms = 15000;
	while ((option = getopt(argc, argv, "d:g:r:")) != -1) {
		if (option == 'd')
			device = optarg;
		else if (option == 'g')
			gid_option = atoi(optarg);
		else if (option == 'r')
			world.recv_limit_ms = atoi(optarg);
		else
			return 2;
	}
	file = optind < argc ? fopen(argv[optind], "r") : NULL;
	if (!file)
		die("usage: verbs-run [-d DEVICE] [-g GID_INDEX] [-r MS] FILE");
	run_file(file);
	fclose(file);
	return 0;
}
