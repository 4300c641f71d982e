/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls symbols by name and version node and prints what they answer; stubs.py drives it. Each
 * line of standard input is `library kind symbol node`, each line of output
 * `symbol@node return-value errno [text]`.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long (*call_fn)(void *, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);

/* What a program that follows no rule might pass; a stub must not look at it. */
#define WILD ((uintptr_t)0xfffffffffffff00dull)

static int call_one(void *library, const char *kind, const char *symbol, const char *node)
{
	void *at = dlvsym(library, symbol, node);
	unsigned char out[16];
	call_fn fn;
	long ret;

	if (!at) {
		printf("%s@%s missing: %s\n", symbol, node, dlerror());
		return 1;
	}
	memcpy(&fn, &at, sizeof(fn));
	memset(out, 0xff, sizeof(out));
	errno = 0;
	if (!strcmp(kind, "CLEAR"))
		ret = fn(out, 12, WILD, WILD, WILD, WILD, WILD);
	else
		ret = fn((void *)WILD, WILD, WILD, WILD, WILD, WILD, WILD);
	/* a call without a return value leaves anything in the register */
	if (!strcmp(kind, "VOID") || !strcmp(kind, "CLEAR"))
		ret = 0;
	printf("%s@%s ", symbol, node);
	if (!strcmp(kind, "TEXT"))
		printf("0 %d %s\n", errno, (const char *)ret);
	else if (!strcmp(kind, "CLEAR"))
		printf("0 %d %02x%02x%02x\n", errno, out[0], out[11], out[12]);
	else
		printf("%ld %d\n", ret, errno);
	return 0;
}

int main(void)
{
	char path[512], kind[16], symbol[128], node[64];
	int bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (scanf("%511s %15s %127s %63s", path, kind, symbol, node) == 4) {
		void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

		if (!library) {
			printf("%s\n", dlerror());
			return 2;
		}
		bad |= call_one(library, kind, symbol, node);
		dlclose(library);
	}
	return bad;
}
