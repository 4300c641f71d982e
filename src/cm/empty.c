/* SPDX-License-Identifier: BSD-2-Clause */
typedef int verbena_empty_cm;
