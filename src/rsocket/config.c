/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsocket/config.h"

#include <limits.h>
#include <stdio.h>

#include "rsocket/wire.h"

/* The number in a file, no larger than `most`; `value` when there is none. */
static uint32_t read_number(const char *folder, const char *name, uint32_t value, uint32_t most)
{
	char path[PATH_MAX];
	unsigned long long number;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return value;
	if (fscanf(file, "%20llu", &number) == 1)
		value = number < most ? number : most;
	fclose(file);
	return value;
}

void rs_config_load(const char *folder, struct rs_config *config)
{
	struct rs_sizes *sizes = &config->sizes;

	config->polling_us = read_number(folder, "polling_time", 10, UINT32_MAX);
	config->wake_up_ms = read_number(folder, "wake_up_interval", 5000, INT_MAX);
	if (!config->wake_up_ms)
		config->wake_up_ms = 1;
	sizes->inline_max = read_number(folder, "inline_default", 64, RS_QUEUE_MAX);
	sizes->send_queue = read_number(folder, "sqsize_default", 384, RS_QUEUE_MAX);
	sizes->recv_queue = read_number(folder, "rqsize_default", 384, RS_QUEUE_MAX);
	sizes->recv_buf = read_number(folder, "mem_default", 1 << 17, INT_MAX);
	if (sizes->recv_buf < 2)
		sizes->recv_buf = 2;
	sizes->send_buf = read_number(folder, "wmem_default", 1 << 17, INT_MAX);
	if (sizes->send_buf < RS_SEND_LOW)
		sizes->send_buf = 2 * RS_SEND_LOW;
	/* To a number that the connection data can carry. */
	sizes->iomap = rs_iomap_size_unpack(
		rs_iomap_size_pack(read_number(folder, "iomap_size", 0, UINT16_MAX)));
}
