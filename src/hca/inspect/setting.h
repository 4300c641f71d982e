/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Settings of the host's processes: a file in the fabric's folder with lines of key=value. The `verbena`
 * command writes it, and processes that have joined the fabric watch it (control.h).
 */
#ifndef HCA_SETTING_H
#define HCA_SETTING_H

#include <stddef.h>

#include "util/api.h"

#define SETTING_MAX 8192 /* bytes of the file */

/*
 * Changes a setting for running and for later processes. The value "" removes the setting. -errno,
 * explained.
 */
VB_API int hca_setting_set(const char *key, const char *value);
/* Makes the new value of the old one, in place; "": none. */
typedef void setting_edit(char value[SETTING_MAX], const void *arg);
/* Likewise, where the new value depends on the old one: no other writer comes between. */
int setting_change(const char *key, setting_edit *edit, const void *arg);
/* The value now; "": none. The process need not have joined the fabric. */
void hca_setting_get(const char *key, char *value, size_t size);

/* All settings in the folder's file; "" without one. */
void setting_read(const char *folder, char *text, size_t size);
/* The value of one of them. */
void setting_find(const char *text, const char *key, char *value, size_t size);

#endif
