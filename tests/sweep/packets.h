/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to the n-th packet that a process sends, by a rule of verbena-fault(7). The rule fires once; a packet
 * that is sent again is another one.
 */
#ifndef TESTS_PACKETS_H
#define TESTS_PACKETS_H

enum packet_fault {
	PACKET_DROP,
	PACKET_DUP,
	PACKET_CORRUPT,
	PACKET_DELAY,
	PACKET_REORDER,
	PACKET_FAULTS
};

extern const char *const packet_fault_names[PACKET_FAULTS];

/* Before an adapter is opened: the fault of this process. */
void packets_set_fault(enum packet_fault fault, long n);
/* Before an adapter is opened: packets are counted. */
void packets_count_begin(void);
/* How many were sent by the last process that counted and has ended. */
long packets_count(void);

#endif
