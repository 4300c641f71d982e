/* SPDX-License-Identifier: BSD-2-Clause */
/* Stories of queue pairs in words: for the command and for dumps. */
#ifndef HCA_STORY_TEXT_H
#define HCA_STORY_TEXT_H

#include <stdio.h>

#include "hca/inspect/story.h"
#include "util/api.h"

/* "QP 0x000123 (RC) of server (pid 12) on mlx5_0" */
VB_API void story_name(FILE *to, const struct hca_story *s);
/* Its state and its queues, a line each. */
VB_API void story_facts(FILE *to, const struct hca_story *s);
/* A failure, or what a live queue pair waits for; a sentence a line. */
VB_API void story_tell(FILE *to, const struct hca_story *s);
/* It has requests that wait for something, or is in an error state. */
VB_API bool story_is_stuck(const struct hca_story *s);

#endif
