/* SPDX-License-Identifier: BSD-2-Clause */
#include "scenario.h"

#include <string.h>

const struct part scenario_parts[] = {
	{ "open", part_open, PART_MLX4 | PART_OPENS },
	{ "rc", part_rc, PART_MLX4 },
	{ "uc", part_uc, PART_MLX4 | PART_LOSSY },
	{ "ud", part_ud, PART_MLX4 | PART_LOSSY },
	{ "srq", part_srq, PART_MLX4 },
	{ "xrc", part_xrc, PART_MLX4 },
	{ "dc", part_dc, 0 },
	{ "other-process", part_other_process, PART_MLX4 | PART_FAR },
	{ "queries", part_queries, PART_MLX4 },
	{ "import", part_import, PART_MLX4 },
	{ "memory", part_memory, PART_MLX4 },
	{ "comp-cntr", part_comp_cntr, 0 },
	{ "qp", part_qp, PART_MLX4 },
	{ "async-event", part_async_event, PART_MLX4 },
	{ "windows", part_windows, PART_MLX4 },
	{ "wr", part_wr, 0 },
	{ "wr-ud", part_wr_ud, PART_LOSSY },
	{ "mcast", part_mcast, PART_MLX4 },
	{ "cq", part_cq, PART_MLX4 },
	{ "tags", part_tags, 0 },
	{ "xrc-calls", part_xrc_calls, PART_MLX4 },
	{ "frames", part_frames, 0 },
	{ "matchers", part_matchers, 0 },
	{ "commands", part_commands, 0 },
	{ "commands-on-verbs", part_commands_on_verbs, 0 },
	{ "direct", part_direct, 0 },
	{ "rings", part_rings, 0 },
	{ "mkeys", part_mkeys, 0 },
	{ "crypto", part_crypto, PART_WARM },
	{ "rules", part_rules, 0 },
	{ "mlx4", part_mlx4, PART_ONLY4 },
	{ "connection", part_connection, PART_IPV4 },
	{ "rejection", part_rejection, PART_IPV4 },
	{ "endpoints", part_endpoints, PART_IPV4 },
	{ "groups", part_groups, PART_IPV4 },
	{ "ids", part_ids, PART_IPV4 },
	{ "streams", part_streams, PART_IPV4 },
	{ "dgram-sockets", part_dgram_sockets, PART_IPV4 | PART_LOSSY },
};
const unsigned int scenario_part_count = sizeof(scenario_parts) / sizeof(scenario_parts[0]);

void part_open(void)
{
	if (open_adapter(a.name))
		open_queues();
	close_queues();
}

void scenario_prepare(const struct part *part, const char *adapter)
{
	a.name = adapter;
	if (part->flags & PART_FAR)
		far_ends_start(adapter);
}

void scenario_open(const struct part *part, const char *adapter)
{
	a.strict = true;
	if (!(part->flags & PART_OPENS) && open_adapter(adapter))
		open_queues();
	if (part->flags & PART_WARM)
		part->run();
}

void scenario_close(const struct part *part)
{
	if (!(part->flags & PART_OPENS))
		close_queues();
	far_ends_stop();
}

int scenario_run(const struct part *part, enum scenario_mode mode)
{
	int problems;

	a.strict = mode != SCENARIO_WEAK;
	a.faulty = mode == SCENARIO_FAULTY;
	a.lossy = a.faulty && part->flags & PART_LOSSY;
	if ((part->flags & (PART_OPENS | PART_IPV4)) != PART_IPV4 || a.gid.raw[10] == 0xff)
		part->run();
	problems = a.problems;
	a.problems = 0;
	return problems;
}
