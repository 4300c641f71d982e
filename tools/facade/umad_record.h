/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ioctl() on /dev/infiniband/umadN, from the preload library to the command. The library sends it with the
 * descriptor of a socket for the answer; a message without a descriptor is a MAD that the program has written.
 */
#ifndef FACADE_UMAD_RECORD_H
#define FACADE_UMAD_RECORD_H

#include <stdint.h>

#define UMAD_ARGUMENT_MAX 64

struct umad_request {
	uint32_t request; /* of ioctl() */
	uint8_t argument[UMAD_ARGUMENT_MAX];
};

struct umad_answer {
	int32_t err; /* 0 or -errno */
	uint8_t argument[UMAD_ARGUMENT_MAX];
};

#endif
