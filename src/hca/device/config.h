/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the description of the adapters. Used by adapter.c and by tests.
 */
#ifndef HCA_CONFIG_H
#define HCA_CONFIG_H

#include "hca/device/adapter.h"

struct hca_config {
	int count;
	struct hca_adapter adapters[HCA_ADAPTERS_MAX];
};

/*
 * Text in the form of the configuration file; `where` names it in messages. On failure nothing in
 * *cfg is meaningful, and the sentence "where:line: reason" is in the explain facility.
 */
int hca_config_parse(const char *text, const char *where, struct hca_config *cfg);

/* "name,key=value,...;name,..." as VERBENA_ADAPTERS has it. */
int hca_config_parse_list(const char *list, const char *where, struct hca_config *cfg);

/* From VERBENA_ADAPTERS, else the file VERBENA_CONFIG, else the user's file, else the defaults. */
int hca_config_load(struct hca_config *cfg);

#endif
