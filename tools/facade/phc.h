/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FACADE_PHC_H
#define FACADE_PHC_H

#include <stdbool.h>

bool phc_is(int fd);
/* 0 or -errno. */
int phc_ioctl(unsigned long request, void *arg);

#endif
