/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ncurses, loaded when the live view begins, so that no other command loads it. A build without its headers has no live
 * view (VB_CURSES is not defined).
 */
#ifndef VERBENA_TOP_CURSES_H
#define VERBENA_TOP_CURSES_H

#ifdef VB_CURSES

#define NCURSES_NOMACROS 1
#include <ncurses.h>

/* X-macro: each function that is called. */
#define TOP_CURSES(X)                                                                              \
	X(newterm)                                                                                 \
	X(endwin)                                                                                  \
	X(newwin)                                                                                  \
	X(delwin)                                                                                  \
	X(cbreak)                                                                                  \
	X(noecho)                                                                                  \
	X(curs_set)                                                                                \
	X(keypad)                                                                                  \
	X(nodelay)                                                                                 \
	X(wgetch)                                                                                  \
	X(werase)                                                                                  \
	X(wrefresh)                                                                                \
	X(wmove)                                                                                   \
	X(waddnstr)                                                                                \
	X(wattrset)                                                                                \
	X(getmaxx)                                                                                 \
	X(getmaxy)                                                                                 \
	X(has_colors)                                                                              \
	X(start_color)                                                                             \
	X(use_default_colors)                                                                      \
	X(init_pair)

struct curses {
#define X(name) __typeof__(&name) name;
	TOP_CURSES(X)
#undef X
};

/* 0, or -errno, explained. Once. */
int top_curses_load(struct curses *c);

#endif
#endif
