/* SPDX-License-Identifier: MIT */
#include "viewer/symbols.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "viewer/memory.h"

/* Every module gets a Dwfl of its own: modules of one run may have lain at the same addresses one
 * after the other (dlclose, dlopen). */
struct opened {
    bool tried;
    Dwfl *dwfl;
    Dwfl_Module *module;
    enum gv_module_state state;
};

struct gv_symbols {
    struct opened *modules; /* by module_key */
    uint32_t capacity;
    char **texts; /* made here, freed at the end */
    uint32_t text_count, text_capacity;
    char *(*demangle)(const char *mangled, char *buffer, size_t *length, int *status);
};

static char *default_debug_path; /* NULL: elfutils' own search path */
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &default_debug_path,
};

struct gv_symbols *gv_symbols_create(void)
{
    struct gv_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return NULL;
    /* C++ names are only demangled where a C++ runtime is installed at all */
    void *runtime = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    void *demangle = runtime ? dlsym(runtime, "__cxa_demangle") : NULL;
    memcpy(&symbols->demangle, &demangle, sizeof(demangle));
    return symbols;
}

void gv_symbols_destroy(struct gv_symbols *symbols)
{
    if (!symbols)
        return;
    for (uint32_t i = 0; i < symbols->capacity; i++)
        if (symbols->modules[i].dwfl)
            dwfl_end(symbols->modules[i].dwfl);
    for (uint32_t i = 0; i < symbols->text_count; i++)
        free(symbols->texts[i]);
    free(symbols->texts);
    free(symbols->modules);
    free(symbols);
}

static bool same_build(Dwfl_Module *opened, const struct gv_module *module)
{
    const unsigned char *bits;
    GElf_Addr address;
    int length = dwfl_module_build_id(opened, &bits, &address);
    if (length <= 0 || module->build_id_bytes == 0)
        return true; /* nothing to compare */
    return (size_t)length == module->build_id_bytes &&
           memcmp(bits, module->build_id, module->build_id_bytes) == 0;
}

static void open_module(struct opened *opened, const struct gv_module *module)
{
    opened->tried = true;
    opened->state = GV_MODULE_MISSING;
    opened->dwfl = module->path ? dwfl_begin(&callbacks) : NULL;
    if (!opened->dwfl)
        return;
    dwfl_report_begin(opened->dwfl);
    opened->module =
        dwfl_report_elf(opened->dwfl, module->path, module->path, -1, module->base, false);
    dwfl_report_end(opened->dwfl, NULL, NULL);
    if (!opened->module)
        return;
    Dwarf_Addr bias;
    if (!same_build(opened->module, module))
        opened->state = GV_MODULE_CHANGED;
    else
        opened->state =
            dwfl_module_getdwarf(opened->module, &bias) ? GV_MODULE_OK : GV_MODULE_NO_LINES;
}

static struct opened *find_module(struct gv_symbols *symbols, uint32_t key,
                                  const struct gv_module *module)
{
    if (key >= symbols->capacity) {
        uint32_t capacity = key + 64;
        struct opened *larger = realloc(symbols->modules, capacity * sizeof(*larger));
        if (!larger)
            return NULL;
        memset(larger + symbols->capacity, 0, (capacity - symbols->capacity) * sizeof(*larger));
        symbols->modules = larger;
        symbols->capacity = capacity;
    }
    struct opened *opened = &symbols->modules[key];
    if (!opened->tried)
        open_module(opened, module);
    return opened;
}

/* Takes ownership of `text`. */
static const char *keep(struct gv_symbols *symbols, char *text)
{
    if (text && gv_reserve(&symbols->texts, &symbols->text_capacity, symbols->text_count,
                           sizeof(*symbols->texts)) < 0) {
        free(text);
        return NULL;
    }
    if (text)
        symbols->texts[symbols->text_count++] = text;
    return text;
}

static const char *readable(struct gv_symbols *symbols, const char *name)
{
    int status = -1;
    if (name && strncmp(name, "_Z", 2) == 0 && symbols->demangle) {
        char *plain = symbols->demangle(name, NULL, NULL, &status);
        if (status == 0 && plain)
            return keep(symbols, plain);
    }
    return name;
}

/* "../samples/x.c" compiled in "/home/u/build" -> "/home/u/samples/x.c". */
static const char *absolute(struct gv_symbols *symbols, const char *file, const char *folder)
{
    if (!file)
        return NULL;
    char joined[4096];
    bool relative = file[0] != '/' && folder && folder[0] == '/';
    int length = relative ? snprintf(joined, sizeof(joined), "%s/%s", folder, file)
                          : snprintf(joined, sizeof(joined), "%s", file);
    if (length < 0 || (size_t)length >= sizeof(joined))
        return file;
    if (joined[0] != '/')
        return keep(symbols, strdup(joined));
    char *out = joined;
    for (char *in = joined; *in;) {
        size_t part = 1 + strcspn(in + 1, "/");
        if (part == 3 && strncmp(in, "/..", 3) == 0) {
            while (out > joined && *--out != '/') /* drop the last part */
                ;
        } else if (part > 1 && !(part == 2 && in[1] == '.')) {
            memmove(out, in, part);
            out += part;
        }
        in += part;
    }
    *out = '\0';
    return keep(symbols, strdup(joined));
}

static const char *linkage_name(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Attribute *found = dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute);
    return found ? dwarf_formstring(found) : dwarf_diename(die);
}

static struct gv_symbol line_of(struct gv_symbols *symbols, struct opened *opened, uint64_t address)
{
    struct gv_symbol symbol = {0};
    int line = 0;
    Dwfl_Line *found = dwfl_module_getsrc(opened->module, address);
    const char *file = found ? dwfl_lineinfo(found, NULL, &line, NULL, NULL, NULL) : NULL;
    if (file) {
        symbol.file = absolute(symbols, file, dwfl_line_comp_dir(found));
        symbol.line = line > 0 ? (uint32_t)line : 0;
    }
    return symbol;
}

/* Where the inlined function `die` was called from. */
static struct gv_symbol call_site(struct gv_symbols *symbols, Dwarf_Die *unit, Dwarf_Die *die)
{
    struct gv_symbol symbol = {0};
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(unit, &files, &count) == 0) {
        Dwarf_Attribute folder;
        symbol.file = absolute(symbols, dwarf_filesrc(files, value, NULL, NULL),
                               dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &folder)));
    }
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &value) == 0)
        symbol.line = (uint32_t)value;
    return symbol;
}

/* The entries around `address` as they are nested in the code. dwarf_getscopes alone leaves that
 * nesting at the first inlined function and goes on with the function's definition. */
static int scopes_of(Dwarf_Die *unit, Dwarf_Addr address, Dwarf_Die **ret_scopes)
{
    Dwarf_Die *lexical;
    int depth = dwarf_getscopes(unit, address, &lexical);
    if (depth <= 0)
        return 0;
    depth = dwarf_getscopes_die(&lexical[0], ret_scopes);
    free(lexical);
    return depth > 0 ? depth : 0;
}

/* Functions around `address`, innermost first: each named by its own entry, each placed by the call
 * site of the one before it. */
static int functions_of(struct gv_symbols *symbols, struct opened *opened, uint64_t address,
                        struct gv_symbol *ret)
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = dwfl_module_addrdie(opened->module, address, &bias);
    Dwarf_Die *scopes;
    int depth = unit ? scopes_of(unit, address - bias, &scopes) : 0;
    struct gv_symbol place = line_of(symbols, opened, address);
    int count = 0;
    for (int i = 0; i < depth && count < GV_INLINE_MAX; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        ret[count] = place;
        ret[count++].function = readable(symbols, linkage_name(&scopes[i]));
        if (tag == DW_TAG_subprogram)
            break;
        place = call_site(symbols, unit, &scopes[i]);
    }
    if (depth > 0)
        free(scopes);
    if (count == 0 && place.file)
        ret[count++] = place;
    return count;
}

int gv_symbols_find(struct gv_symbols *symbols, uint32_t module_key, const struct gv_module *module,
                    uint64_t address, struct gv_symbol ret[GV_INLINE_MAX],
                    enum gv_module_state *ret_state)
{
    *ret_state = GV_MODULE_MISSING;
    struct opened *opened = symbols ? find_module(symbols, module_key, module) : NULL;
    if (!opened)
        return 0;
    *ret_state = opened->state;
    if (opened->state == GV_MODULE_MISSING || opened->state == GV_MODULE_CHANGED)
        return 0;
    int count = opened->state == GV_MODULE_OK ? functions_of(symbols, opened, address, ret) : 0;
    if (count == 0 || !ret[count - 1].function) {
        const char *name = readable(symbols, dwfl_module_addrname(opened->module, address));
        if (count == 0 && name)
            ret[count++] = (struct gv_symbol){.function = name};
        else if (count > 0)
            ret[count - 1].function = name;
    }
    return count;
}
