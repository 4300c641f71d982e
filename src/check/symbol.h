/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of code addresses: function, file and line by libdw (elfutils), which reads the debugging information
 * of the program and is loaded with the first finding; without it or without debugging information, what
 * dladdr() knows. Called under report_lock: libdw is not reentrant.
 */
#ifndef CHECK_SYMBOL_H
#define CHECK_SYMBOL_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>

/* libdw, and what it knows of this process. */
struct check_dw {
	__typeof__(&dwfl_begin) begin;
	__typeof__(&dwfl_linux_proc_report) proc_report;
	__typeof__(&dwfl_report_end) report_end;
	__typeof__(&dwfl_addrmodule) addrmodule;
	__typeof__(&dwfl_module_addrname) addrname;
	__typeof__(&dwfl_module_nextcu) nextcu;
	__typeof__(&dwarf_haspc) haspc;
	__typeof__(&dwarf_getsrc_die) getsrc;
	__typeof__(&dwarf_linesrc) linesrc;
	__typeof__(&dwarf_lineno) lineno;
	__typeof__(&dwfl_end) end;
	__typeof__(&dwfl_module_addrdie) addrdie;
	__typeof__(&dwarf_getscopes) getscopes;
	__typeof__(&dwarf_getscopes_die) getscopes_die;
	__typeof__(&dwarf_tag) tag;
	__typeof__(&dwarf_diename) diename;
	__typeof__(&dwarf_attr) attr;
	__typeof__(&dwarf_formudata) formudata;
	__typeof__(&dwarf_getsrcfiles) getsrcfiles;
	__typeof__(&dwarf_filesrc) filesrc;
	Dwfl_Callbacks callbacks;
	Dwfl *session; /* NULL: libdw is not there */
};

void check_symbols_open(struct check_dw *dw);
void check_symbols_close(struct check_dw *dw);
/*
 * "main (send.c:42)", "help (send.c:7), in main (send.c:42)" or "libfoo.so.1+0x1234". `pc` is a return address.
 * Inline functions of the public headers count as the calls that they look like.
 */
void check_symbol_text(const struct check_dw *dw, void *pc, char *out, size_t size);
/* The address lies in one of Verbena's libraries; with_cm: in librdmacm, too. */
bool check_symbol_is_ours(void *pc, bool with_cm);

#endif
