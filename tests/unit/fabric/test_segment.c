/* SPDX-License-Identifier: BSD-2-Clause */
/* The segment belongs to its owner: what a peer gets of it is its descriptor, and that is good for reading. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>

#include "fabric/mailbox.h"
#include "fabric/peer.h"
#include "fabric/segment.h"

static void expect_unwritable(int fd)
{
	uint64_t size = fabric_segment_size();
	char byte = 1;
	void *map;

	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(errno, EPERM);
	assert_int_equal(pwrite(fd, &byte, 1, 0), -1);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, (off_t)size + 4096), -1);
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map, 4096, PROT_READ | PROT_WRITE), -1);
	assert_memory_equal(map, fabric_segment_self(), 8);
	munmap(map, 4096);
}

static void nobody_but_the_owner_can_write_to_a_segment(void **state)
{
	const struct fabric_config config = { 0 };
	char path[64];
	int fd;

	assert_int_equal(fabric_init(&config), 0);
	expect_unwritable(fabric_segment_fd());
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fabric_segment_fd());
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		expect_unwritable(fd);
		close(fd);
	}
	fabric_fini();
}

static void a_mailbox_can_be_written_and_not_cut(void **state)
{
	const struct fabric_config config = { .mailbox_size = 8192 };
	volatile uint8_t *own;
	void *map = NULL;

	assert_int_equal(fabric_init(&config), 0);
	own = fabric_mailbox_self();
	assert_int_equal(fabric_mailbox_map(fabric_mailbox_fd(), &map), 0);
	((volatile uint8_t *)map)[5000] = 42;
	assert_int_equal(own[5000], 42);
	assert_int_equal(ftruncate(fabric_mailbox_fd(), 4096), -1);
	fabric_mailbox_unmap(map, 8192);
	/* One of another size, or one that could be cut, is not mapped. */
	assert_int_equal(fabric_mailbox_map(fabric_segment_fd(), &map), -EPROTO);
	fabric_fini();
	assert_null(fabric_mailbox_self());
}

/* The program may keep pointers into the segment. */
static void the_child_of_a_fork_has_a_copy_that_it_can_write(void **state)
{
	const struct fabric_config config = { 0 };
	volatile uint8_t *byte;
	int status;
	pid_t pid;

	assert_int_equal(fabric_init(&config), 0);
	byte = (uint8_t *)fabric_segment_self() + FABRIC_SEGMENT_RESERVED - 1;
	*byte = 1;
	pid = fork();
	if (!pid) {
		*byte += 1;
		_exit(*byte == 2 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(*byte, 1);
	fabric_fini();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_but_the_owner_can_write_to_a_segment),
		cmocka_unit_test(a_mailbox_can_be_written_and_not_cut),
		cmocka_unit_test(the_child_of_a_fork_has_a_copy_that_it_can_write),
	};

	peer_main(argc);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
