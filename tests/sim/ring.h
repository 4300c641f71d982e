/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring format of the simulation: requests, receives and completions are arrays of structs. */
#ifndef TESTS_SIM_RING_H
#define TESTS_SIM_RING_H

#include "hca/device/format.h"

extern const struct hca_format ring_format;

#endif
