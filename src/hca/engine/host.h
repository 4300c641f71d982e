/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter in its host: the fabric is joined by the first open context, and left when the
 * process ends.
 */
#ifndef HCA_HOST_H
#define HCA_HOST_H

/* Joins the fabric; once per process, and again in a forked child. */
int hca_host_join(void);

#endif
