/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/thread.h"

_Thread_local struct fabric_thread fabric_thread;
