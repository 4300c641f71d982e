/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets are counted in a capture, a pcapng file: blocks of a type, a length, and options that have the direction. */
#include "packets.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_PACKET = 6, PACKET_HEAD = 28, OPTION_FLAGS = 2, OUTBOUND = 2 };

const char *const packet_fault_names[PACKET_FAULTS] = { "drop", "dup", "corrupt", "delay ms=5",
							"reorder" };

static char file_name[PATH_MAX];

void packets_set_fault(enum packet_fault fault, long n)
{
	char rule[64];

	snprintf(rule, sizeof(rule), "%s nth=%ld dir=out", packet_fault_names[fault], n);
	setenv("VERBENA_FAULT", rule, 1);
}

void packets_count_begin(void)
{
	setenv("VERBENA_CAPTURE", file_name, 1);
}

static uint32_t word_at(const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static bool is_outbound(const uint8_t *block, uint32_t len)
{
	uint32_t at = PACKET_HEAD + ((word_at(block + 20) + 3) & ~3u);

	while (at + 8 <= len - 4) {
		uint32_t option = word_at(block + at);

		if ((option & 0xffff) == OPTION_FLAGS)
			return (word_at(block + at + 4) & 3) == OUTBOUND;
		if (!option)
			return false;
		at += 4 + (((option >> 16) + 3) & ~3u);
	}
	return false;
}

long packets_count(void)
{
	FILE *file = fopen(file_name, "re");
	uint8_t head[8], *block;
	long count = 0;

	while (file && fread(head, sizeof(head), 1, file) == 1) {
		uint32_t len = word_at(head + 4);

		block = len >= 12 && len < 1u << 20 ? malloc(len) : NULL;
		if (!block)
			break;
		memcpy(block, head, sizeof(head));
		if (fread(block + 8, len - 8, 1, file) != 1)
			len = 0;
		if (len > PACKET_HEAD && word_at(head) == BLOCK_PACKET)
			count += is_outbound(block, len);
		free(block);
	}
	if (file)
		fclose(file);
	unlink(file_name);
	return count;
}

__attribute__((constructor)) static void choose_name(void)
{
	const char *dir = getenv("TMPDIR");

	snprintf(file_name, sizeof(file_name), "%s/sweep-%d.pcapng", dir ? dir : "/tmp",
		 (int)getpid());
}
