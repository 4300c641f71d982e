/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our own threads, as far as moving memory is concerned: who they are and whether they rest. Has a
 * mutex of its own, taken inside share's.
 */
#include <errno.h>
#include <time.h>

#include "fabric/share_priv.h"

#define PATIENCE_NS 20000000

/* 1 + the calling thread's place in the list, 0 when it is the program's. */
static __thread unsigned int own_place;

void share_own_init(struct share_own *own)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&own->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&own->changed, &attr);
	pthread_condattr_destroy(&attr);
	for (unsigned int i = 0; i < SHARE_OWN_MAX; i++)
		own->state[i] = SHARE_OWN_FREE;
	own->moving = false;
}

void share_own_enter(struct share_own *own)
{
	pthread_mutex_lock(&own->lock);
	/* One too many just counts as the program's. */
	for (unsigned int i = 0; i < SHARE_OWN_MAX && !own_place; i++)
		if (own->state[i] == SHARE_OWN_FREE) {
			own->state[i] = SHARE_OWN_WORKS;
			own_place = i + 1;
		}
	pthread_mutex_unlock(&own->lock);
}

static void change(struct share_own *own, enum share_own_state to)
{
	pthread_mutex_lock(&own->lock);
	while (to == SHARE_OWN_WORKS && own->moving)
		pthread_cond_wait(&own->changed, &own->lock);
	own->state[own_place - 1] = to;
	if (to != SHARE_OWN_WORKS)
		pthread_cond_broadcast(&own->changed);
	pthread_mutex_unlock(&own->lock);
}

void share_own_leave(struct share_own *own)
{
	if (own_place)
		change(own, SHARE_OWN_FREE);
	own_place = 0;
}

void share_own_rest(struct share_own *own, bool rest)
{
	if (own_place)
		change(own, rest ? SHARE_OWN_RESTS : SHARE_OWN_WORKS);
}

/* Who works beside the caller; *all counts who is there at all, the caller not. */
static unsigned int at_work(const struct share_own *own, unsigned int *all)
{
	unsigned int n = 0;

	*all = 0;
	for (unsigned int i = 0; i < SHARE_OWN_MAX; i++)
		if (own->state[i] != SHARE_OWN_FREE && i + 1 != own_place) {
			(*all)++;
			n += own->state[i] == SHARE_OWN_WORKS;
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
