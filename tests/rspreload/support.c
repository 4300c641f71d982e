/* SPDX-License-Identifier: BSD-2-Clause */
#include "support.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "fake_rsocket.h"
#include "rspreload/state.h"

struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

struct ends connected(void)
{
	struct ends ends = { .addr = loopback(0) };
	socklen_t len = sizeof(ends.addr);

	ends.listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(ends.listener >= 0);
	assert_return_code(bind(ends.listener, (struct sockaddr *)&ends.addr, len), 0);
	assert_return_code(listen(ends.listener, 5), 0);
	assert_return_code(getsockname(ends.listener, (struct sockaddr *)&ends.addr, &len), 0);
	ends.client = socket(AF_INET, SOCK_STREAM, 0);
	assert_return_code(connect(ends.client, (struct sockaddr *)&ends.addr, len), 0);
	ends.server = accept(ends.listener, NULL, NULL);
	assert_true(ends.server >= 0);
	return ends;
}

void close_ends(struct ends *ends)
{
	assert_return_code(close(ends->client), 0);
	assert_return_code(close(ends->server), 0);
	assert_return_code(close(ends->listener), 0);
}

int begin(void **state)
{
	rsp_state_start();
	/* A file of this machine, or its environment, decides nothing here. */
	rsp_config_fini(&rsp.config);
	rsp.late = false;
	/* rsocket() and the test are of the same file. */
	rsp.own[0] = NULL;
	memset(&fake, 0, sizeof(fake));
	return 0;
}

int all_closed(void **state)
{
	return fake.open;
}
