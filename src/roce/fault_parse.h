/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser of fault scripts (fault.h describes them), and the rules that it makes. */
#ifndef ROCE_FAULT_PARSE_H
#define ROCE_FAULT_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/fault_types.h"

#define ROCE_FAULT_RULES 64

struct roce_rule {
	enum roce_fault_action action;
	char *text; /* as written in the script */

	/* conditions */
	uint8_t dirs; /* enum roce_dir */
	bool has_op, any_transport;
	uint8_t op;
	bool has_psn;
	uint32_t psn_first, psn_last;
	bool has_qp, has_sqp, has_peer;
	uint32_t qp, sqp;
	struct roce_addr peer;
	uint64_t from_ns, to_ns; /* since the script was loaded */
	uint64_t after, nth, every, limit;
	bool has_chance;
	uint64_t chance; /* of 2^32 */
	bool again;      /* also packets that are sent again without having been lost */

	/* parameters of the action */
	uint64_t delay_ns;
	bool has_bit, has_syndrome;
	uint32_t bit;
	uint8_t syndrome;

	/* state; written by fault.c */
	uint64_t met, fired;
	uint64_t random;
	uint64_t seed;
};

struct roce_rules {
	uint32_t count;
	struct roce_rule rule[ROCE_FAULT_RULES];
};

/* -EINVAL, with an explanation that says where and why. */
int roce_rules_parse(const char *script, struct roce_rules **out);
void roce_rules_free(struct roce_rules *rules);

const char *roce_fault_action_name(enum roce_fault_action action);

#endif
