/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Meters: two token buckets, which give a packet its colour (RFC 2697, 2698 and 4115). A meter is 32
 * bytes in the device's layout, its state included.
 */
#ifndef ETHER_ASO_METER_H
#define ETHER_ASO_METER_H

#include <stdint.h>

#include "ether/frame.h"

#define ASO_METER_BYTES 32u

enum aso_colour {
	ASO_RED,
	ASO_YELLOW,
	ASO_GREEN,
	ASO_NO_COLOUR, /* before the meter: its start colour */
};

/* The colour of a packet that comes with a colour; takes its tokens. */
enum aso_colour aso_meter_run(uint8_t *meter, enum aso_colour before, struct ether_frame *frame,
			      uint64_t now_ns);

#endif
