/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/symbol.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/state.h"
#include "util/api.h"
#include "util/library.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool check_symbol_is_ours(void *pc, bool with_cm)
{
	static const char *const names[] = { "libverbena-check.so", "libibverbs.so", "libmlx5.so",
					     "libmlx4.so", "libverbena.so" };
	const char *name;
	Dl_info info;

	if (!dladdr((char *)pc - 1, &info) || !info.dli_fname)
		return false;
	name = base_name(info.dli_fname);
	for (size_t i = 0; i < array_size(names); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return with_cm && !strncmp(name, "librdmacm.so", strlen("librdmacm.so"));
}

static bool dw_open(struct check_dw *dw)
{
	static const char *const names[] = {
		"dwfl_begin",
		"dwfl_linux_proc_report",
		"dwfl_report_end",
		"dwfl_addrmodule",
		"dwfl_module_addrname",
		"dwfl_module_nextcu",
		"dwarf_haspc",
		"dwarf_getsrc_die",
		"dwarf_linesrc",
		"dwarf_lineno",
		"dwfl_end",
		"dwfl_module_addrdie",
		"dwarf_getscopes",
		"dwarf_getscopes_die",
		"dwarf_tag",
		"dwarf_diename",
		"dwarf_attr",
		"dwarf_formudata",
		"dwarf_getsrcfiles",
		"dwarf_filesrc",
		"dwfl_linux_proc_find_elf",
		"dwfl_standard_find_debuginfo",
	};
	void *functions[array_size(names)], **next = functions;

	if (library_open("libdw.so.1", names, functions, array_size(names)))
		return false;
#define TAKE(member) dw->member = (__typeof__(dw->member))*next++
	TAKE(begin);
	TAKE(proc_report);
	TAKE(report_end);
	TAKE(addrmodule);
	TAKE(addrname);
	TAKE(nextcu);
	TAKE(haspc);
	TAKE(getsrc);
	TAKE(linesrc);
	TAKE(lineno);
	TAKE(end);
	TAKE(addrdie);
	TAKE(getscopes);
	TAKE(getscopes_die);
	TAKE(tag);
	TAKE(diename);
	TAKE(attr);
	TAKE(formudata);
	TAKE(getsrcfiles);
	TAKE(filesrc);
	TAKE(callbacks.find_elf);
	TAKE(callbacks.find_debuginfo);
#undef TAKE
	return true;
}

void check_symbols_open(struct check_dw *dw)
{
	*dw = (struct check_dw){ 0 };
	if (!dw_open(dw))
		return;
	dw->session = dw->begin(&dw->callbacks);
	if (!dw->session)
		return;
	if (dw->proc_report(dw->session, getpid()) || dw->report_end(dw->session, NULL, NULL))
		check_symbols_close(dw);
}

void check_symbols_close(struct check_dw *dw)
{
	if (dw->session)
		dw->end(dw->session);
	dw->session = NULL;
}

struct line {
	const char *file;
	int number;
};

/* The line of the call that was inlined as this scope. */
static void take_call(const struct check_dw *dw, Dwarf_Die *unit, Dwarf_Die *scope,
		      struct line *line)
{
	Dwarf_Attribute file, number;
	Dwarf_Word file_index, line_number;
	Dwarf_Files *files;
	size_t count;

	if (!dw->attr(scope, DW_AT_call_file, &file) || dw->formudata(&file, &file_index) ||
	    !dw->attr(scope, DW_AT_call_line, &number) || dw->formudata(&number, &line_number) ||
	    dw->getsrcfiles(unit, &files, &count) || file_index >= count)
		return;
	line->file = dw->filesrc(files, file_index, NULL, NULL);
	line->number = (int)line_number;
}

/* From the innermost inlined function to the one that has code of its own. */
static size_t put_scopes(const struct check_dw *dw, Dwarf_Die *unit, Dwarf_Die *scopes, int count,
			 struct line line, char *out, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < count && used < size; i++) {
		int tag = dw->tag(&scopes[i]);
		const char *name = dw->diename(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		if (name && line.file &&
		    (tag == DW_TAG_subprogram ||
		     (strncmp(name, "ibv_", 4) && strncmp(name, "___ibv_", 7) &&
		      strncmp(name, "__ibv_", 6))))
			used += (size_t)snprintf(out + used, size - used, "%s%s (%s:%d)",
						 used ? ", in " : "", name, base_name(line.file),
						 line.number);
		if (tag == DW_TAG_subprogram)
			break;
		take_call(dw, unit, &scopes[i], &line);
	}
	return used;
}

/* Compilers other than gcc leave out the table from addresses to units: then each is asked. */
static Dwarf_Die *find_unit(const struct check_dw *dw, Dwfl_Module *module, uintptr_t pc,
			    Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dw->addrdie(module, pc, bias);

	if (unit)
		return unit;
	while ((unit = dw->nextcu(module, unit, bias)))
		if (dw->haspc(unit, pc - *bias) > 0)
			return unit;
	return NULL;
}

static struct line find_line(const struct check_dw *dw, Dwarf_Die *unit, uintptr_t pc)
{
	Dwarf_Line *source = dw->getsrc(unit, pc);
	struct line line = { 0 };

	if (source && !dw->lineno(source, &line.number))
		line.file = dw->linesrc(source, NULL, NULL);
	return line;
}

/* False: there is no line for the address; `out` may have a name. */
static bool from_debug_info(const struct check_dw *dw, uintptr_t pc, char *out, size_t size)
{
	Dwarf_Die *innermost = NULL, *scopes = NULL, *unit;
	struct line line = { 0 };
	Dwarf_Addr bias = 0;
	Dwfl_Module *module;
	const char *name;
	size_t used = 0;
	int count;

	module = dw->session ? dw->addrmodule(dw->session, pc) : NULL;
	name = module ? dw->addrname(module, pc) : NULL;
	if (!name)
		return false;
	snprintf(out, size, "%s", name);
	unit = find_unit(dw, module, pc, &bias);
	if (unit)
		line = find_line(dw, unit, pc - bias);
	count = line.file ? dw->getscopes(unit, pc - bias, &innermost) : 0;
	/* The other scopes there are those of the text; these are those of the code: */
	if (count > 0)
		count = dw->getscopes_die(&innermost[0], &scopes);
	if (count > 0)
		used = put_scopes(dw, unit, scopes, count, line, out, size);
	free(innermost);
	free(scopes);
	if (line.file && !used)
		snprintf(out, size, "%s (%s:%d)", name, base_name(line.file), line.number);
	return line.file;
}

static void from_loader(void *pc, char *out, size_t size)
{
	Dl_info info;

	if (!dladdr((char *)pc - 1, &info) || !info.dli_fname)
		snprintf(out, size, "%p", pc);
	else if (info.dli_sname)
		snprintf(out, size, "%s (%s+0x%zx)", info.dli_sname, base_name(info.dli_fname),
			 (size_t)((char *)pc - (char *)info.dli_fbase));
	else
		snprintf(out, size, "%s+0x%zx", base_name(info.dli_fname),
			 (size_t)((char *)pc - (char *)info.dli_fbase));
}

void check_symbol_text(const struct check_dw *dw, void *pc, char *out, size_t size)
{
	char name[256] = "", where[256];

	if (from_debug_info(dw, (uintptr_t)pc - 1, name, sizeof(name))) {
		snprintf(out, size, "%s", name);
		return;
	}
	from_loader(pc, where, sizeof(where));
	/* A symbol table without lines: the name is libdw's, the offset the loader's. */
	if (*name && !strchr(where, ' '))
		snprintf(out, size, "%s (%s)", name, where);
	else
		snprintf(out, size, "%s", where);
}
