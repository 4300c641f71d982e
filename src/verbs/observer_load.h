/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_OBSERVER_LOAD_H
#define VERBS_OBSERVER_LOAD_H

/* Loads the checker if the environment asks for it; before the first context is opened. */
void vb_observer_load(void);

#endif
