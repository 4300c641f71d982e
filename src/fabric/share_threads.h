/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own threads, as far as moving memory is concerned: whether they are idle.
 */
#ifndef FABRIC_SHARE_THREADS_H
#define FABRIC_SHARE_THREADS_H

#include "fabric/share_types.h"

void share_threads_init(struct share_threads *threads);
/* The calling thread is the library's, and busy. */
void share_threads_add(struct share_threads *threads);
void share_threads_remove(struct share_threads *threads);
/* To busy: waits for a move to end. */
void share_threads_set_idle(struct share_threads *threads, bool idle);
/* Waits, not for long, until all threads of the library but the caller are idle; keeps them so. */
bool share_threads_stop(struct share_threads *threads, unsigned int thread_count);
void share_threads_resume(struct share_threads *threads);

#endif
