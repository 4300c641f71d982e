/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rsockets for tests: UNIX sockets with abstract names made of the port, so that their ports are apart
 * from those of TCP, as RDMA's are. They reach the kernel without the calls that are tested.
 */
#ifndef FAKE_RSOCKET_H
#define FAKE_RSOCKET_H

struct fake {
	int socket_error, bind_error, connect_error; /* errno of the next such call, once */
	int open;                                    /* rsockets that are not closed */
	int calls;                                   /* r-calls so far */
	int shutdowns;
};

extern struct fake fake;

#endif
