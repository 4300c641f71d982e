/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/share_threads.h"

#include <errno.h>
#include <time.h>

#include "fabric/thread.h"

#define STOP_TIMEOUT_NS 20000000

void share_threads_init(struct share_threads *threads)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&threads->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&threads->changed, &attr);
	pthread_condattr_destroy(&attr);
	for (unsigned int i = 0; i < SHARE_THREADS_MAX; i++)
		threads->state[i] = SHARE_THREAD_NONE;
	threads->moving = false;
}

void share_threads_add(struct share_threads *threads)
{
	pthread_mutex_lock(&threads->lock);
	/* One too many counts as a thread of the program. */
	for (unsigned int i = 0; i < SHARE_THREADS_MAX && !fabric_thread.share_index_1; i++)
		if (threads->state[i] == SHARE_THREAD_NONE) {
			threads->state[i] = SHARE_THREAD_BUSY;
			fabric_thread.share_index_1 = i + 1;
		}
	pthread_mutex_unlock(&threads->lock);
}

static void change(struct share_threads *threads, enum share_thread_state to)
{
	pthread_mutex_lock(&threads->lock);
	while (to == SHARE_THREAD_BUSY && threads->moving)
		pthread_cond_wait(&threads->changed, &threads->lock);
	threads->state[fabric_thread.share_index_1 - 1] = to;
	if (to != SHARE_THREAD_BUSY)
		pthread_cond_broadcast(&threads->changed);
	pthread_mutex_unlock(&threads->lock);
}

void share_threads_remove(struct share_threads *threads)
{
	if (fabric_thread.share_index_1)
		change(threads, SHARE_THREAD_NONE);
	fabric_thread.share_index_1 = 0;
}

void share_threads_set_idle(struct share_threads *threads, bool idle)
{
	if (fabric_thread.share_index_1)
		change(threads, idle ? SHARE_THREAD_IDLE : SHARE_THREAD_BUSY);
}

/* How many busy threads there are beside the caller; *all: idle ones, too. */
static unsigned int count_busy(const struct share_threads *threads, unsigned int *all)
{
	unsigned int n = 0;

	*all = 0;
	for (unsigned int i = 0; i < SHARE_THREADS_MAX; i++)
		if (threads->state[i] != SHARE_THREAD_NONE &&
		    i + 1 != fabric_thread.share_index_1) {
			(*all)++;
			n += threads->state[i] == SHARE_THREAD_BUSY;
		}
	return n;
}

bool share_threads_stop(struct share_threads *threads, unsigned int thread_count)
{
	struct timespec until;
	unsigned int all;
	bool alone;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += STOP_TIMEOUT_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&threads->lock);
	while (count_busy(threads, &all) && thread_count == 1 + all)
		if (pthread_cond_timedwait(&threads->changed, &threads->lock, &until) == ETIMEDOUT)
			break;
	alone = !count_busy(threads, &all) && thread_count == 1 + all;
	threads->moving = alone;
	pthread_mutex_unlock(&threads->lock);
	return alone;
}

void share_threads_resume(struct share_threads *threads)
{
	pthread_mutex_lock(&threads->lock);
	threads->moving = false;
	pthread_cond_broadcast(&threads->changed);
	pthread_mutex_unlock(&threads->lock);
}
