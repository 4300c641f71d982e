/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rule is an action and conditions, which are key=value words. The table `keys` says which keys there are
 * and which actions take them.
 */
#include "roce/fault_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce/header.h"
#include "roce/opcode.h"
#include "roce/packet.h"
#include "util/api.h"
#include "util/explain.h"

#define REORDER_NS 1000000ull

static const char *const action_names[] = {
	[ROCE_FAULT_NONE] = "none",   [ROCE_FAULT_DROP] = "drop",
	[ROCE_FAULT_DUP] = "dup",     [ROCE_FAULT_CORRUPT] = "corrupt",
	[ROCE_FAULT_DELAY] = "delay", [ROCE_FAULT_REORDER] = "reorder",
	[ROCE_FAULT_RNR] = "rnr",     [ROCE_FAULT_NAK] = "nak",
	[ROCE_FAULT_PASS] = "pass",
};

const char *roce_fault_action_name(enum roce_fault_action action)
{
	return (size_t)action < array_size(action_names) ? action_names[action] : "?";
}

struct parser {
	const char *script;
	const char *at; /* current word */
	size_t len;
};

static int wrong(const struct parser *p, const char *why)
{
	size_t line = 1, column = 1;

	for (const char *c = p->script; c < p->at; c++) {
		column = *c == '\n' ? 1 : column + 1;
		line += *c == '\n';
	}
	if (line > 1)
		return explain(EINVAL, "fault script, line %zu, character %zu: '%.*s' %s", line,
			       column, (int)p->len, p->at, why);
	return explain(EINVAL, "fault script, character %zu: '%.*s' %s", column, (int)p->len, p->at,
		       why);
}

/* ---- values ---- */

static bool parse_number(const char *text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*out = strtoull(text, &end, 0);
	return !errno && !*end;
}

/* A value of a key. Parsers return NULL, or what is wrong with it, perhaps in `why`. */
struct value {
	const char *text;
	char why[64];
};

static const char *number_to(struct value *v, uint64_t most, uint64_t *out)
{
	if (parse_number(v->text, out) && *out <= most)
		return NULL;
	snprintf(v->why, sizeof(v->why), "is no number from 0 to %llu", (unsigned long long)most);
	return v->why;
}

static const char *positive(struct value *v, uint64_t *out)
{
	return parse_number(v->text, out) && *out ? NULL : "is no number from 1 on";
}

/* Not by strtod(), whose decimal point depends on the program's locale. */
static const char *set_chance(struct roce_rule *r, struct value *v)
{
	static const char why[] = "is no probability; write 0.01 or 1%";
	const char *c = v->text;
	double chance = 0, digit = 1;

	while (isdigit((unsigned char)*c))
		chance = chance * 10 + (*c++ - '0');
	if (*c == '.')
		for (c++; isdigit((unsigned char)*c); c++)
			chance += (digit /= 10) * (*c - '0');
	if (c == v->text || (c == v->text + 1 && v->text[0] == '.'))
		return why;
	if (*c == '%') {
		chance /= 100;
		c++;
	}
	if (*c || chance > 1)
		return why;
	r->has_chance = true;
	r->chance = (uint64_t)(chance * 4294967296.0 + 0.5);
	return NULL;
}

static const char *set_dir(struct roce_rule *r, struct value *v)
{
	if (!strcmp(v->text, "in"))
		r->dirs = ROCE_DIR_IN;
	else if (!strcmp(v->text, "out"))
		r->dirs = ROCE_DIR_OUT;
	else
		return "is no direction; in or out";
	return NULL;
}

static const char *set_opcode(struct roce_rule *r, struct value *v)
{
	uint64_t n;

	r->has_op = true;
	if (!roce_opcode_parse(v->text, &r->op, &r->any_transport))
		return NULL;
	if (!parse_number(v->text, &n) || n > 255 || !roce_opcode_find(n))
		return "is no opcode; write SEND_ONLY, UC_WRITE_FIRST, 0x64, ...";
	r->op = n;
	return NULL;
}

static const char *set_psn(struct roce_rule *r, struct value *v)
{
	char first[32];
	const char *dash = strchr(v->text, '-');
	uint64_t a, b;

	snprintf(first, sizeof(first), "%.*s", dash ? (int)(dash - v->text) : 31, v->text);
	if (!parse_number(first, &a) || a > PSN_MASK)
		return "is no packet number; write 100, 0x64 or 100-199";
	b = a;
	if (dash && (!parse_number(dash + 1, &b) || b > PSN_MASK))
		return "is no range of packet numbers; write 100-199";
	r->has_psn = true;
	r->psn_first = a;
	r->psn_last = b;
	return NULL;
}

static const char *set_qp(struct roce_rule *r, struct value *v)
{
	uint64_t n = 0;
	const char *why = number_to(v, 0xffffff, &n);

	r->has_qp = true;
	r->qp = n;
	return why;
}

static const char *set_sqp(struct roce_rule *r, struct value *v)
{
	uint64_t n = 0;
	const char *why = number_to(v, 0xffffff, &n);

	r->has_sqp = true;
	r->sqp = n;
	return why;
}

static const char *set_peer(struct roce_rule *r, struct value *v)
{
	r->has_peer = true;
	return roce_addr_parse(v->text, &r->peer) ? "is no IP address" : NULL;
}

static const char *milliseconds(struct value *v, uint64_t *ns)
{
	uint64_t n = 0;
	const char *why = number_to(v, 1000000000, &n);

	*ns = n * 1000000;
	return why;
}

static const char *set_from(struct roce_rule *r, struct value *v)
{
	return milliseconds(v, &r->from_ns);
}

static const char *set_to(struct roce_rule *r, struct value *v)
{
	return milliseconds(v, &r->to_ns);
}

static const char *set_after(struct roce_rule *r, struct value *v)
{
	return number_to(v, INT64_MAX, &r->after);
}

static const char *set_nth(struct roce_rule *r, struct value *v)
{
	return positive(v, &r->nth);
}

static const char *set_every(struct roce_rule *r, struct value *v)
{
	return positive(v, &r->every);
}

static const char *set_count(struct roce_rule *r, struct value *v)
{
	return positive(v, &r->limit);
}

static const char *set_again(struct roce_rule *r, struct value *v)
{
	r->again = !strcmp(v->text, "yes");
	return r->again || !strcmp(v->text, "no") ? NULL : "is yes or no";
}

static const char *set_us(struct roce_rule *r, struct value *v)
{
	uint64_t n = 0;
	const char *why = number_to(v, 60000000, &n);

	r->delay_ns = n * 1000;
	return why;
}

static const char *set_ms(struct roce_rule *r, struct value *v)
{
	uint64_t n = 0;
	const char *why = number_to(v, 60000, &n);

	r->delay_ns = n * 1000000;
	return why;
}

static const char *set_bit(struct roce_rule *r, struct value *v)
{
	uint64_t n = 0;
	const char *why = number_to(v, ROCE_MAX_PACKET * 8, &n);

	r->has_bit = true;
	r->bit = n;
	return why;
}

static const char *set_timer(struct roce_rule *r, struct value *v)
{
	uint64_t n = 0;
	const char *why = number_to(v, 31, &n);

	r->has_syndrome = true;
	r->syndrome = ROCE_SYN_RNR | n;
	return why;
}

static const char *set_code(struct roce_rule *r, struct value *v)
{
	static const char *const names[] = { "seq", "invalid", "access", "op" };

	for (unsigned int i = 0; i < array_size(names); i++) {
		if (strcmp(v->text, names[i]))
			continue;
		r->has_syndrome = true;
		r->syndrome = ROCE_SYN_NAK_SEQ + i;
		return NULL;
	}
	return "is no refusal; one of seq, invalid, access, op";
}

static const struct key {
	const char *name;
	const char *(*set)(struct roce_rule *r, struct value *v);
	uint32_t actions; /* bits of the actions that take it; 0: all */
} keys[] = {
	{ "dir", set_dir, 0 },
	{ "opcode", set_opcode, 0 },
	{ "psn", set_psn, 0 },
	{ "qp", set_qp, 0 },
	{ "sqp", set_sqp, 0 },
	{ "peer", set_peer, 0 },
	{ "after", set_after, 0 },
	{ "from_ms", set_from, 0 },
	{ "to_ms", set_to, 0 },
	{ "nth", set_nth, 0 },
	{ "every", set_every, 0 },
	{ "p", set_chance, 0 },
	{ "count", set_count, 0 },
	{ "again", set_again, 0 },
	{ "us", set_us, 1u << ROCE_FAULT_DELAY },
	{ "ms", set_ms, 1u << ROCE_FAULT_DELAY },
	{ "bit", set_bit, 1u << ROCE_FAULT_CORRUPT },
	{ "timer", set_timer, 1u << ROCE_FAULT_RNR },
	{ "code", set_code, 1u << ROCE_FAULT_NAK },
};

_Static_assert(array_size(keys) <= 32, "parse_key() has a bit per key");

/* ---- rules ---- */

static int parse_action(const struct parser *p, struct roce_rule *r)
{
	for (unsigned int i = ROCE_FAULT_DROP; i < array_size(action_names); i++) {
		if (strlen(action_names[i]) != p->len || memcmp(action_names[i], p->at, p->len))
			continue;
		r->action = i;
		r->dirs = i == ROCE_FAULT_RNR || i == ROCE_FAULT_NAK ? ROCE_DIR_IN
								     : ROCE_DIR_IN | ROCE_DIR_OUT;
		return 0;
	}
	return wrong(p, "is no action; one of drop, dup, corrupt, delay, reorder, rnr, nak, pass");
}

static int parse_key(struct parser *p, struct roce_rule *r, uint32_t *seen)
{
	const char *equals = memchr(p->at, '=', p->len);
	char text[64];
	struct value value = { .text = text };
	const char *why;
	size_t name_len;

	if (!equals)
		return wrong(p, "has no value; conditions are written key=value");
	name_len = equals - p->at;
	if (p->len - name_len - 1 >= sizeof(text))
		return wrong(p, "is too long");
	memcpy(text, equals + 1, p->len - name_len - 1);
	text[p->len - name_len - 1] = 0;
	for (unsigned int i = 0; i < array_size(keys); i++) {
		if (strlen(keys[i].name) != name_len || memcmp(keys[i].name, p->at, name_len))
			continue;
		if (keys[i].actions && !(keys[i].actions & 1u << r->action))
			return wrong(p, "does not apply to this action");
		if (*seen & 1u << i)
			return wrong(p, "appears twice in one rule");
		*seen |= 1u << i;
		why = keys[i].set(r, &value);
		return why ? wrong(p, why) : 0;
	}
	return wrong(p, "is no condition; one of dir, opcode, psn, qp, sqp, peer, after, from_ms, "
			"to_ms, nth, every, p, count, again (and us, ms, bit, timer, code)");
}

/* Checks a rule as a whole, and sets defaults. */
static int finish_rule(const struct parser *p, struct roce_rule *r)
{
	if (r->action == ROCE_FAULT_DELAY && !r->delay_ns)
		return wrong(p, "needs a time: us=50 or ms=2");
	if (r->action == ROCE_FAULT_NAK && !r->has_syndrome)
		return wrong(p, "needs code=seq, invalid, access or op");
	if (r->action == ROCE_FAULT_RNR && !r->has_syndrome)
		r->syndrome = ROCE_SYN_RNR | 12; /* 0.64 ms */
	if ((r->action == ROCE_FAULT_NAK || r->action == ROCE_FAULT_RNR) && r->dirs != ROCE_DIR_IN)
		return wrong(p, "applies to received packets only");
	if (r->action == ROCE_FAULT_REORDER)
		r->delay_ns = REORDER_NS;
	if (r->to_ns && r->to_ns <= r->from_ns)
		return wrong(p, "ends (to_ms) before it starts (from_ms)");
	return 0;
}

static size_t word_length(const char *s)
{
	return strcspn(s, " \t\r\n;#");
}

static void skip_blanks(const char **s)
{
	for (;;) {
		*s += strspn(*s, " \t\r");
		if (**s != '#')
			return;
		*s += strcspn(*s, "\n");
	}
}

/* Parses one rule, up to its `;` or the end of its line. */
static int parse_rule(const char *script, const char **s, struct roce_rule *r)
{
	struct parser p = { .script = script, .at = *s, .len = word_length(*s) };
	const char *start = *s, *end = *s + p.len;
	struct parser action = p;
	uint32_t seen = 0;
	int err = parse_action(&p, r);

	*s += p.len;
	while (!err) {
		skip_blanks(s);
		p.at = *s;
		p.len = word_length(*s);
		if (!p.len)
			break;
		err = parse_key(&p, r, &seen);
		*s += p.len;
		end = *s;
	}
	if (!err)
		err = finish_rule(&action, r);
	if (err)
		return err;
	r->text = strndup(start, end - start);
	return r->text ? 0 : -ENOMEM;
}

int roce_rules_parse(const char *script, struct roce_rules **out)
{
	struct roce_rules *rules = calloc(1, sizeof(*rules));
	const char *s = script;
	int err = 0;

	if (!rules)
		return -ENOMEM;
	while (!err) {
		struct parser p = { .script = script };

		skip_blanks(&s);
		if (*s == ';' || *s == '\n') {
			s++;
			continue;
		}
		if (!*s)
			break;
		p.at = s;
		p.len = word_length(s);
		if (rules->count == ROCE_FAULT_RULES)
			err = wrong(&p, "is one rule too many; 64 are the most");
		else
			err = parse_rule(script, &s, &rules->rule[rules->count++]);
	}
	if (err) {
		roce_rules_free(rules);
		return err;
	}
	*out = rules;
	return 0;
}

void roce_rules_free(struct roce_rules *rules)
{
	for (uint32_t i = 0; rules && i < rules->count; i++)
		free(rules->rule[i].text);
	free(rules);
}
