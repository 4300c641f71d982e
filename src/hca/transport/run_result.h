/* SPDX-License-Identifier: BSD-2-Clause */
/* The outcome of an attempt to run the request at the head of a send queue. */
#ifndef HCA_RUN_RESULT_H
#define HCA_RUN_RESULT_H

enum run_result {
	RUN_ON,   /* the request is sent or completed */
	RUN_WAIT, /* it stays at the head until something happens */
	RUN_STOP, /* it failed, and the queue pair's state has changed */
};

#endif
