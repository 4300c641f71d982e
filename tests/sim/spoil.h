/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that must fail, or must not be carried out. */
#ifndef TESTS_SIM_SPOIL_H
#define TESTS_SIM_SPOIL_H

struct draft;

/* A wrong key, range or right, here or there, if the operation has one. */
void spoil_request(struct draft *d);
/* A wrong key of the transport: datagrams are dropped, DC requests are not answered. */
void spoil_address(struct draft *d);
/* Expects a refusal if the receive has no room for the message. */
void spoil_too_long(struct draft *d);

#endif
