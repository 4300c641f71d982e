/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow engine uses the device's layout, so that conversion is mostly checking. Called when
 * matchers, rules and actions are made.
 */
#include "mlx5/flow_match.h"

#include <errno.h>
#include <string.h>

#include "hca/raw/flow.h"
#include "util/explain.h"

#define PART 64u

int mlx5_match_read(const struct mlx5dv_flow_match_parameters *match, size_t most, uint8_t criteria,
		    struct flow_key *out)
{
	size_t size = match ? match->match_sz : 0;
	const uint8_t *bytes = match ? (const uint8_t *)match->match_buf : NULL;

	if (size > most)
		return explain(EINVAL, "match parameters of %zu bytes; there are %zu", size, most);
	if (criteria >> FLOW_KEY_PARTS)
		return explain(EINVAL, "match criteria 0x%x; 0x%x are known", criteria,
			       (1u << FLOW_KEY_PARTS) - 1);
	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < FLOW_KEY_PARTS; i++) {
		size_t from = i * PART;

		if (criteria & 1u << i && size > from)
			memcpy(out->bytes + from, bytes + from,
			       size - from < PART ? size - from : PART);
	}
	return 0;
}

int mlx5_reformat_create(enum flow_domain domain, unsigned int type, const void *data, size_t len,
			 struct flow_edit **out)
{
	static const struct {
		enum flow_reformat kind;
		enum flow_domain only; /* and FDB */
	} kinds[] = {
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2] = { FLOW_DECAP_L2,
									      FLOW_RX },
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L2_TUNNEL] = { FLOW_ENCAP_L2,
									      FLOW_TX },
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L3_TUNNEL_TO_L2] = { FLOW_DECAP_L3,
									      FLOW_RX },
		[MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TO_L3_TUNNEL] = { FLOW_ENCAP_L3,
									      FLOW_TX },
	};

	if (type >= array_size(kinds))
		return explain(EINVAL, "reformat type %u is not known", type);
	if (domain != FLOW_FDB && domain != kinds[type].only)
		return explain(EINVAL, "reformat type %u is for what %s", type,
			       kinds[type].only == FLOW_RX ? "arrives" : "leaves");
	if (!data != !len)
		return explain(EINVAL, "reformat data at %p of %zu bytes", data, len);
	return flow_edit_reformat(kinds[type].kind, data, len, out);
}

int mlx5_modify_create(const void *actions, size_t size, struct flow_edit **out)
{
	if (!actions || !size || size % 8)
		return explain(EINVAL, "%zu bytes of modify-header actions; each has 8", size);
	return flow_edit_modify(actions, size / 8, out);
}
