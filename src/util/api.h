/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks what the public libraries may call in libverbena. Everything else stays hidden.
 */
#ifndef UTIL_API_H
#define UTIL_API_H

#define VB_API __attribute__((visibility("default")))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - __builtin_offsetof(type, member)))

/* 1 in a build with the thread sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define VB_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VB_TSAN 1
#endif
#endif
#ifndef VB_TSAN
#define VB_TSAN 0
#endif

#define array_size(a) (sizeof(a) / sizeof((a)[0]))

#endif
