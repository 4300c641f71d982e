/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our own threads, as far as moving memory is concerned: who they are and whether they rest. Has a
 * mutex of its own, taken inside share's.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fabric/share_priv.h"

#define PATIENCE_NS 20000000

void share_own_init(struct share_own *own)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&own->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&own->changed, &attr);
	pthread_condattr_destroy(&attr);
	for (unsigned int i = 0; i < SHARE_OWN_MAX; i++)
		own->tid[i] = 0;
	own->moving = false;
}

static unsigned int find(const struct share_own *own, pid_t tid)
{
	unsigned int i = 0;

	while (i < SHARE_OWN_MAX && own->tid[i] != tid)
		i++;
	return i;
}

void share_own_enter(struct share_own *own)
{
	unsigned int i;

	pthread_mutex_lock(&own->lock);
	i = find(own, 0);
	/* One too many just counts as the program's. */
	if (i < SHARE_OWN_MAX) {
		own->tid[i] = (pid_t)syscall(SYS_gettid);
		own->resting[i] = false;
	}
	pthread_mutex_unlock(&own->lock);
}

void share_own_leave(struct share_own *own)
{
	unsigned int i;

	pthread_mutex_lock(&own->lock);
	i = find(own, (pid_t)syscall(SYS_gettid));
	if (i < SHARE_OWN_MAX)
		own->tid[i] = 0;
	pthread_cond_broadcast(&own->changed);
	pthread_mutex_unlock(&own->lock);
}

void share_own_rest(struct share_own *own, bool rest)
{
	unsigned int i;

	pthread_mutex_lock(&own->lock);
	while (!rest && own->moving)
		pthread_cond_wait(&own->changed, &own->lock);
	i = find(own, (pid_t)syscall(SYS_gettid));
	if (i < SHARE_OWN_MAX)
		own->resting[i] = rest;
	pthread_cond_broadcast(&own->changed);
	pthread_mutex_unlock(&own->lock);
}

/* Who works beside the caller; *all counts who is there at all, the caller not. */
static unsigned int at_work(const struct share_own *own, unsigned int *all)
{
	pid_t self = (pid_t)syscall(SYS_gettid);
	unsigned int n = 0;

	*all = 0;
	for (unsigned int i = 0; i < SHARE_OWN_MAX; i++)
		if (own->tid[i] && own->tid[i] != self) {
			(*all)++;
			n += !own->resting[i];
		}
	return n;
}

bool share_own_stop(struct share_own *own, unsigned int threads)
{
	struct timespec until;
	unsigned int all;
	bool alone;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += PATIENCE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&own->lock);
	while (at_work(own, &all) && threads == 1 + all)
		if (pthread_cond_timedwait(&own->changed, &own->lock, &until) == ETIMEDOUT)
			break;
	alone = !at_work(own, &all) && threads == 1 + all;
	own->moving = alone;
	pthread_mutex_unlock(&own->lock);
	return alone;
}

void share_own_resume(struct share_own *own)
{
	pthread_mutex_lock(&own->lock);
	own->moving = false;
	pthread_cond_broadcast(&own->changed);
	pthread_mutex_unlock(&own->lock);
}

/* ---- the interface ---- */

static struct share_own *own_of_process(void)
{
	struct share_state *state = share_lock();

	if (!state)
		return NULL;
	share_unlock(state);
	return &state->own;
}

void share_thread_begin(void)
{
	struct share_own *own = own_of_process();

	if (own)
		share_own_enter(own);
}

void share_thread_end(void)
{
	struct share_own *own = own_of_process();

	if (own)
		share_own_leave(own);
}

void share_thread_rest(void)
{
	struct share_state *state = share_state_if_any();

	if (state)
		share_own_rest(&state->own, true);
}

void share_thread_work(void)
{
	struct share_state *state = share_state_if_any();

	if (state)
		share_own_rest(&state->own, false);
}
