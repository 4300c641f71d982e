/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/memory.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "cmocka_all.h"
#include "util/api.h"

enum { RINGS = VB_SPARE_PAGES + 20 };

static struct vb_buf ring(struct vb_memory *memory, size_t size)
{
	struct vb_buf buf;

	assert_int_equal(verbena_buf_alloc(memory, NULL, size, 0, &buf), 0);
	for (size_t i = 0; i < buf.size; i++)
		assert_int_equal(((uint8_t *)buf.addr)[i], 0);
	memset(buf.addr, 0xa5, buf.size);
	return buf;
}

static bool is_mapped(void *page)
{
	return !msync(page, VB_PAGE_SIZE, MS_ASYNC);
}

static void a_small_ring_has_a_page_that_was_freed_and_it_is_zeroed(void **state)
{
	struct vb_memory memory;
	struct vb_buf a, b;
	void *page;

	verbena_memory_init(&memory);
	a = ring(&memory, 100);
	page = a.addr;
	verbena_buf_free(&memory, &a);
	assert_null(a.addr);
	a = ring(&memory, VB_PAGE_SIZE);
	assert_ptr_equal(a.addr, page);
	b = ring(&memory, VB_PAGE_SIZE);
	assert_ptr_not_equal(b.addr, page);
	verbena_buf_free(&memory, &a);
	verbena_buf_free(&memory, &b);
	verbena_memory_fini(&memory);
}

static void some_pages_are_kept_and_none_after_the_context(void **state)
{
	struct vb_memory memory;
	struct vb_buf buf[RINGS], large;
	void *page[RINGS], *large_addr;
	unsigned int kept = 0;

	verbena_memory_init(&memory);
	for (size_t i = 0; i < RINGS; i++) {
		buf[i] = ring(&memory, VB_PAGE_SIZE);
		page[i] = buf[i].addr;
	}
	large = ring(&memory, 2 * VB_PAGE_SIZE);
	large_addr = large.addr;
	for (size_t i = 0; i < RINGS; i++)
		verbena_buf_free(&memory, &buf[i]);
	verbena_buf_free(&memory, &large);
	assert_false(is_mapped(large_addr));
	for (size_t i = 0; i < RINGS; i++)
		kept += is_mapped(page[i]);
	assert_int_equal(kept, VB_SPARE_PAGES);
	verbena_memory_fini(&memory);
	for (size_t i = 0; i < RINGS; i++)
		assert_false(is_mapped(page[i]));
}

static void one_page_of_records_is_kept(void **state)
{
	struct vb_memory memory;
	struct vb_buf record[100];
	void *first, *last;

	verbena_memory_init(&memory);
	for (size_t i = 0; i < array_size(record); i++)
		assert_int_equal(verbena_record_alloc(&memory, NULL, 0, &record[i]), 0);
	first = (void *)((uintptr_t)record[0].addr & -(uintptr_t)VB_PAGE_SIZE);
	last = (void *)((uintptr_t)record[99].addr & -(uintptr_t)VB_PAGE_SIZE);
	assert_ptr_not_equal(first, last);
	for (size_t i = 0; i < array_size(record); i++)
		verbena_buf_free(&memory, &record[i]);
	assert_int_equal(is_mapped(first) + is_mapped(last), 1);
	verbena_memory_fini(&memory);
	assert_int_equal(is_mapped(first) + is_mapped(last), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_ring_has_a_page_that_was_freed_and_it_is_zeroed),
		cmocka_unit_test(some_pages_are_kept_and_none_after_the_context),
		cmocka_unit_test(one_page_of_records_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
