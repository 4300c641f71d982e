/* SPDX-License-Identifier: BSD-2-Clause */
/* How compressing or expanding a buffer ended. Types only. */
#ifndef HCA_CODEC_H
#define HCA_CODEC_H

enum codec_result {
	CODEC_DONE,
	CODEC_NO_SPACE,  /* the output does not fit */
	CODEC_TRUNCATED, /* the input ends before its last block does */
	CODEC_CORRUPT,
	CODEC_FAILED, /* no memory, or no library */
};

#endif
