/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent for messages of the communication manager at queue pair 1.
 */
#ifndef CM_AGENT_H
#define CM_AGENT_H

/*
 * With cm.lock held: opens the agent with the first call, for the life of the process. An adapter
 * must be open.
 */
int cm_agent_need(void);

#endif
