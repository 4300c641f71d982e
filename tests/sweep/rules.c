/* SPDX-License-Identifier: BSD-2-Clause */
/* Direct rules of mlx5: domains, tables, matchers and every action. */
#include "scenario.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/mlx5dv.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

enum { OUTER = 1, PORT_UDP = 30, SIZE = 192, REG = 1 };

struct match {
	union {
		struct mlx5dv_flow_match_parameters p;
		uint8_t bytes[sizeof(struct mlx5dv_flow_match_parameters) + SIZE];
	};
};

static struct match match_of(uint16_t value)
{
	struct match m = { .p.match_sz = SIZE };

	m.bytes[sizeof(m.p) + PORT_UDP] = value >> 8;
	m.bytes[sizeof(m.p) + PORT_UDP + 1] = value;
	return m;
}

/* Ends an action, if it was made. */
static void end(struct mlx5dv_dr_action *action)
{
	if (action)
		END(mlx5dv_dr_action_destroy(action));
}

static struct mlx5dv_devx_obj *object_of(unsigned int type)
{
	uint8_t in[IFC_LEN_general_obj_in_cmd_hdr + IFC_LEN_aso_object] = { 0 }, out[16] = { 0 };
	uint8_t *body = in + IFC_LEN_general_obj_in_cmd_hdr;
	struct mlx5dv_pd pd;
	struct mlx5dv_obj obj = { .pd = { .in = a.pd, .out = &pd } };
	struct mlx5dv_devx_obj *made;

	if (!DO(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD)))
		return NULL;
	ifc_set(in, cmd_in, opcode, IFC_OP_CREATE_GENERAL_OBJECT);
	ifc_set(in, general_obj_in_cmd_hdr, obj_type, type);
	ifc_set(body, aso_object, access_pd, pd.pdn);
	made = mlx5dv_devx_obj_create(a.ctx, in, sizeof(in), out, sizeof(out));
	did(made, "an object of DEVX");
	return made;
}

static void simple_actions(struct mlx5dv_dr_domain *domain, struct mlx5dv_dr_table *root)
{
	__be64 set = htobe64(0x1002001000008888);
	struct mlx5dv_dr_action *made[] = {
		mlx5dv_dr_action_create_drop(),
		mlx5dv_dr_action_create_tag(5),
		mlx5dv_dr_action_create_pop_vlan(),
		mlx5dv_dr_action_create_push_vlan(domain, htobe32(0x81000005)),
		mlx5dv_dr_action_create_default_miss(),
		mlx5dv_dr_action_create_dest_root_table(root, 5),
		mlx5dv_dr_action_create_modify_header(domain, 0, sizeof(set), &set),
		mlx5dv_dr_action_create_packet_reformat(
			domain, 0, MLX5DV_FLOW_ACTION_PACKET_REFORMAT_TYPE_L2_TUNNEL_TO_L2, 0,
			NULL),
	};

	for (unsigned int i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		did(made[i], "an action");
		end(made[i]);
	}
	/* Of a switch's domain, of an object of another kind: these refuse here. */
	end(mlx5dv_dr_action_create_dest_vport(domain, 1));
	end(mlx5dv_dr_action_create_dest_ib_port(domain, 1));
}

static void counter_actions(void)
{
	uint8_t in[ifc_len(alloc_flow_counter_in)] = { 0 }, out[64];
	struct mlx5dv_devx_obj *counter;
	struct mlx5dv_dr_action *action;

	ifc_set(in, cmd_in, opcode, IFC_OP_ALLOC_FLOW_COUNTER);
	counter = mlx5dv_devx_obj_create(a.ctx, in, sizeof(in), out, sizeof(out));
	if (!MAKE(counter))
		return;
	action = mlx5dv_dr_action_create_flow_counter(counter, 0);
	did(action, "mlx5dv_dr_action_create_flow_counter");
	end(action);
	if (mlx5dv_dr_action_create_dest_devx_tir(counter))
		problem("mlx5dv_dr_action_create_dest_devx_tir", "takes a counter");
	END(mlx5dv_devx_obj_destroy(counter));
}

static void meter_actions(struct mlx5dv_dr_domain *domain, struct mlx5dv_dr_table *next)
{
	uint8_t meter[32] = { 0x80 | 2 << 4 | 3, [8] = 7, [9] = 3 };
	struct mlx5dv_dr_flow_meter_attr attr = { .next_table = next,
						  .active = 1,
						  .reg_c_index = REG,
						  .flow_meter_parameter_sz = sizeof(meter),
						  .flow_meter_parameter = meter };
	struct mlx5dv_dr_action *action = mlx5dv_dr_action_create_flow_meter(&attr);
	struct mlx5dv_devx_obj *obj = object_of(IFC_OBJ_ASO_FIRST_HIT);

	if (MAKE(action))
		DO(mlx5dv_dr_action_modify_flow_meter(action, &attr, htobe64(1)));
	end(action);
	if (!obj)
		return;
	action = mlx5dv_dr_action_create_aso(domain, obj, 3,
					     MLX5DV_DR_ACTION_FLAGS_ASO_FIRST_HIT_SET, REG);
	if (MAKE(action))
		DO(mlx5dv_dr_action_modify_aso(action, 4, 0, REG));
	end(action);
	END(mlx5dv_devx_obj_destroy(obj));
}

/* A connection that is tracked in two domains. */
static void linked_domains(struct mlx5dv_dr_domain *domain)
{
	const uint32_t flags = MLX5DV_DR_ACTION_FLAGS_ASO_CT_DIRECTION_INITIATOR;
	struct mlx5dv_dr_domain *tx = mlx5dv_dr_domain_create(a.ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_TX);
	struct mlx5dv_devx_obj *obj = object_of(IFC_OBJ_ASO_CT);

	if (MAKE(tx) && obj && DO(mlx5dv_dr_aso_other_domain_link(obj, domain, tx, flags, REG)))
		END(mlx5dv_dr_aso_other_domain_unlink(obj, tx));
	if (obj)
		END(mlx5dv_devx_obj_destroy(obj));
	if (tx)
		END(mlx5dv_dr_domain_destroy(tx));
}

static void rule_in(struct mlx5dv_dr_domain *domain, struct mlx5dv_dr_table *table)
{
	struct match mask = match_of(0xffff), value = match_of(2);
	struct mlx5dv_dr_matcher *matcher = mlx5dv_dr_matcher_create(table, 7, OUTER, &mask.p);
	struct mlx5dv_dr_matcher_layout layout = { .flags = MLX5DV_DR_MATCHER_LAYOUT_NUM_RULE,
						   .log_num_of_rules_hint = 4 };
	struct mlx5dv_dr_action *drop = mlx5dv_dr_action_create_drop();
	struct mlx5dv_dr_rule *rule;
	FILE *file = OWN(fopen("/dev/null", "we"));

	if (MAKE(matcher)) {
		mlx5dv_dr_matcher_set_layout(matcher, &layout);
		rule = drop ? mlx5dv_dr_rule_create(matcher, &value.p, 1, &drop) : NULL;
		if (MAKE(rule)) {
			DO(mlx5dv_dump_dr_rule(file, rule));
			END(mlx5dv_dr_rule_destroy(rule));
		}
		DO(mlx5dv_dump_dr_matcher(file, matcher));
		DO(mlx5dv_dump_dr_table(file, table));
		DO(mlx5dv_dump_dr_domain(file, domain));
		END(mlx5dv_dr_matcher_destroy(matcher));
	}
	end(drop);
	OWN(fclose(file));
}

/* Actions that lead somewhere. */
static void destinations(struct mlx5dv_dr_domain *domain, struct mlx5dv_dr_table *table)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RAW_PACKET, NULL);
	struct mlx5dv_dr_action *to = mlx5dv_dr_action_create_dest_table(table);
	struct mlx5dv_dr_action *to_qp = qp ? mlx5dv_dr_action_create_dest_ibv_qp(qp) : NULL;
	struct mlx5dv_dr_action_dest_attr dests[2] = { { MLX5DV_DR_ACTION_DEST, { to } },
						       { MLX5DV_DR_ACTION_DEST, { to_qp } } };
	struct mlx5dv_dr_action_dest_attr *list[2] = { &dests[0], &dests[1] };
	struct mlx5dv_dr_flow_sampler_attr sampler = { .sample_ratio = 2,
						       .default_next_table = table,
						       .num_sample_actions = 1,
						       .sample_actions = &to_qp };
	struct mlx5dv_dr_action *array = NULL;

	did(to && to_qp, "a destination");
	if (to && to_qp) {
		array = mlx5dv_dr_action_create_dest_array(domain, 2, list);
		did(array, "mlx5dv_dr_action_create_dest_array");
		end(array);
		array = mlx5dv_dr_action_create_flow_sampler(&sampler);
		did(array, "mlx5dv_dr_action_create_flow_sampler");
		end(array);
	}
	end(to_qp);
	end(to);
	end_qps(qp, NULL);
}

void part_rules(void)
{
	struct mlx5dv_dr_domain *domain =
		mlx5dv_dr_domain_create(a.ctx, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	struct mlx5dv_dr_table *root, *table;

	if (!MAKE(domain))
		return;
	mlx5dv_dr_domain_allow_duplicate_rules(domain, true);
	mlx5dv_dr_domain_set_reclaim_device_memory(domain, true);
	root = mlx5dv_dr_table_create(domain, 0);
	table = mlx5dv_dr_table_create(domain, 1);
	if (MAKE(root) & MAKE(table)) {
		rule_in(domain, table);
		simple_actions(domain, root);
		destinations(domain, table);
		meter_actions(domain, table);
		DO(mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW));
	}
	counter_actions();
	linked_domains(domain);
	if (table)
		END(mlx5dv_dr_table_destroy(table));
	if (root)
		END(mlx5dv_dr_table_destroy(root));
	END(mlx5dv_dr_domain_destroy(domain));
}
