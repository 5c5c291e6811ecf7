// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ldcache.h"
#include "libs.h"

#include "tests/lib/elfmake.h"

/* Each test has a directory of its own, `dir`, and is in it. */
static char dir[64], old_cwd[PATH_MAX];
static struct dft_libs_env env;
static char said[8192]; /* the paths, joined by '|', with "D" for the directory */
static int result, fds_before;

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static int setup(void **state)
{
	(void)state;
	fds_before = open_fds();
	strcpy(dir, "/tmp/dft-libs-XXXXXX");
	env = (struct dft_libs_env){ 0 };
	if (!getcwd(old_cwd, sizeof(old_cwd)) || !mkdtemp(dir))
		return -1;
	return chdir(dir);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	if (open_fds() != fds_before)
		return -1;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) || chdir(old_cwd);
}

/* "D/x": x in the directory. The text is good for the rest of a test. */
static const char *in(const char *text)
{
	static char texts[256][1024];
	static unsigned int next;
	char *out = texts[next++ % 256];
	size_t n = 0;

	for (; *text; text++)
		if (text[0] == 'D' && text[1] == '/')
			n += (size_t)snprintf(out + n, 1024 - n, "%s", dir);
		else
			n += (size_t)snprintf(out + n, 1024 - n, "%c", *text);
	return out;
}

static void write_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
	char *slash, copy[PATH_MAX];
	int fd;

	snprintf(copy, sizeof(copy), "%s", path);
	for (slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0755))
			assert_int_equal(errno, EEXIST);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void text_file(const char *path, const char *text)
{
	write_file(path, text, strlen(text), 0755);
}

/*
 * An ELF file. Each of `tags` says what the string at its place is: i interp, n needed, r rpath,
 * R runpath, s soname; m: another machine.
 */
static void elf_file(const char *path, const char *tags, ...)
{
	struct make m;
	va_list ap;

	make_begin(&m, 4096);
	va_start(ap, tags);
	for (; *tags; tags++) {
		const char *text = *tags == 'm' ? NULL : in(va_arg(ap, const char *));

		if (*tags == 'i')
			make_interp(&m, text);
		else if (*tags == 'm')
			m.eh->e_machine = MAKE_OTHER_MACHINE;
		else
			make_dyn_string(&m,
					*tags == 'n' ? DT_NEEDED :
					*tags == 'r' ? DT_RPATH :
					*tags == 'R' ? DT_RUNPATH :
						       DT_SONAME,
					text);
	}
	va_end(ap);
	make_end(&m);
	write_file(path, m.b, m.size, 0755);
	make_free(&m);
}

static void on_path(void *ctx, const char *path)
{
	size_t n = strlen(said), len = strlen(dir);

	assert_ptr_equal(ctx, said);
	if (!strncmp(path, dir, len))
		snprintf(said + n, sizeof(said) - n, "%sD%s", n ? "|" : "", path + len);
	else
		snprintf(said + n, sizeof(said) - n, "%s%s", n ? "|" : "", path);
}

static void want(const char *command, const char *paths)
{
	said[0] = '\0';
	result = dft_libs_each(command, &env, on_path, said);
	assert_string_equal(said, paths);
	assert_int_equal(result, 0);
}

/* ---- libraries ------------------------------------------------------------------------------- */

static void breadth_first(void **state)
{
	(void)state;
	elf_file("prog", "iRnn", "D/ld.so", "D/l", "libdfta.so", "libdftb.so");
	elf_file("ld.so", "s", "ld-name.so");
	elf_file("l/libdfta.so", "Rnn", "D/l", "libdftc.so", "libdftb.so");
	elf_file("l/libdftb.so", "Rnnn", "D/l", "libdftd.so", "ld-name.so", "libmissing.so");
	elf_file("l/libdftc.so", "Rn", "D/l", "libdfta.so");
	elf_file("l/libdftd.so", "");
	want("./prog",
	     "./prog|D/ld.so|D/l/libdfta.so|D/l/libdftb.so|D/l/libdftc.so|D/l/libdftd.so");
	want(in("D/prog"),
	     "D/prog|D/ld.so|D/l/libdfta.so|D/l/libdftb.so|D/l/libdftc.so|D/l/libdftd.so");
}

static void statically_linked(void **state)
{
	(void)state;
	elf_file("prog", "");
	elf_file("libdftp.so", "");
	env.preload = "./libdftp.so";
	want("./prog", "./prog");
	/* The program loader is there, and is not where it should be. */
	elf_file("prog", "i", "D/ld.so");
	want("./prog", "./prog|./libdftp.so");
}

/* Each directory has the library; who is asked first? */
static void order(void **state)
{
	static const char *const dirs[] = { "rpath", "env", "runpath", "lrpath", "lrunpath" };

	(void)state;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/libdftx.so", dirs[i]);
		elf_file(path, "");
	}
	env.library_path = in("D/nowhere:D/env");
	elf_file("prog", "irn", "/none", "D/rpath", "libdftx.so");
	want("./prog", "./prog|D/rpath/libdftx.so");
	elf_file("prog", "irRn", "/none", "D/rpath", "D/runpath", "libdftx.so");
	want("./prog", "./prog|D/env/libdftx.so");
	env.library_path = NULL;
	want("./prog", "./prog|D/runpath/libdftx.so");
	env.library_path = "";
	want("./prog", "./prog|D/runpath/libdftx.so");

	/* A library's own, then its loader's; RUNPATH is for those that it is written in. */
	elf_file("rpath/libdfty.so", "rn", "D/lrpath", "libdftx.so");
	elf_file("prog", "irn", "/none", "D/rpath", "libdfty.so");
	want("./prog", "./prog|D/rpath/libdfty.so|D/lrpath/libdftx.so");
	elf_file("rpath/libdfty.so", "n", "libdftx.so");
	want("./prog", "./prog|D/rpath/libdfty.so|D/rpath/libdftx.so");
	elf_file("rpath/libdfty.so", "Rn", "D/lrunpath", "libdftx.so");
	want("./prog", "./prog|D/rpath/libdfty.so|D/lrunpath/libdftx.so");
	elf_file("rpath/libdfty.so", "n", "libdftx.so");
	elf_file("prog", "iRn", "/none", "D/rpath", "libdfty.so");
	want("./prog", "./prog|D/rpath/libdfty.so");
	env.library_path = in("D/env");
	want("./prog", "./prog|D/rpath/libdfty.so|D/env/libdftx.so");
}

/* What is loaded under a name, or says that it is its own, is what the next one gets. */
static void loaded_already(void **state)
{
	(void)state;
	elf_file("prog", "iRnnn", "/none", "D/a", "libdftx.so", "libdftz.so", "libdfty.so");
	elf_file("a/libdftx.so", "");
	elf_file("a/libdftz.so", "s", "libdfts.so");
	elf_file("a/libdfty.so", "Rnn", "D/b", "libdftx.so", "libdfts.so");
	elf_file("b/libdftx.so", "");
	elf_file("b/libdfts.so", "");
	want("./prog", "./prog|D/a/libdftx.so|D/a/libdftz.so|D/a/libdfty.so");
}

static void not_the_first(void **state)
{
	(void)state;
	elf_file("prog", "iRn", "/none", "D/a:D/b:D/c:D/d:D/e", "libdftx.so");
	text_file("a/libdftx.so", "INPUT(libx.a)");
	elf_file("b/libdftx.so", "m");
	assert_int_equal(mkdir("c", 0755) || mkdir("c/libdftx.so", 0755), 0);
	assert_int_equal(mkdir("d", 0755) || mkfifo("d/libdftx.so", 0644), 0);
	elf_file("e/libdftx.so", "");
	want("./prog", "./prog|D/e/libdftx.so");
	/* ':' alone: the current directory. */
	elf_file("libdftx.so", "");
	elf_file("prog", "iRn", "/none", "D/nowhere::D/e", "libdftx.so");
	want("./prog", "./prog|libdftx.so");
	env.library_path = in("D/e;D/a");
	want("./prog", "./prog|D/e/libdftx.so");
}

static void variables(void **state)
{
	(void)state;
	elf_file("bin/prog", "iRnnn", "/none", "$ORIGIN/../$LIB:${ORIGIN}/l$ORIGINX", "libdfta.so",
		 "libdftb.so", "libdftc.so");
	elf_file("lib64/libdfta.so", "Rn", "$ORIGIN/sub", "libdftd.so");
	elf_file("lib/libdftb.so", "");
	elf_file("bin/l$ORIGINX/libdftc.so", "");
	elf_file("lib64/sub/libdftd.so", "");
	/* The program's own place is where it is, not where it was called by. */
	assert_int_equal(symlink("bin/prog", "link"), 0);
	want("./link",
	     "./link|D/bin/../lib64/libdfta.so|D/bin/../lib/libdftb.so|D/bin/l$ORIGINX/libdftc.so|"
	     "D/bin/../lib64/sub/libdftd.so");
	elf_file("bin/prog", "in", "/none", "${ORIGIN}/../lib/libdftb.so");
	want("bin/prog", "bin/prog|D/bin/../lib/libdftb.so");
	elf_file("bin/prog", "iRn", "/none", "$:$UNKNOWN/${ORIGIN/$", "libdfta.so");
	want("bin/prog", "bin/prog");
	elf_file("bin/x86_64/libdfta.so", "");
	elf_file("bin/aarch64/libdfta.so", "");
	elf_file("bin/prog", "iRn", "/none", "$ORIGIN/$PLATFORM", "libdfta.so");
#if defined(__x86_64__)
	want("bin/prog", "bin/prog|D/bin/x86_64/libdfta.so");
#else
	want("bin/prog", "bin/prog|D/bin/aarch64/libdfta.so");
#endif
}

static void preloaded(void **state)
{
	(void)state;
	elf_file("prog", "iRn", "/none", "D/l", "libdfta.so");
	elf_file("l/libdfta.so", "");
	elf_file("l/libdftp.so", "Rn", "D/l", "libdftq.so");
	elf_file("l/libdftq.so", "");
	elf_file("l/libdftr.so", "");
	elf_file("l/libdfts.so", "");
	env.preload = in("libdftp.so  D/l/libdftr.so:libnone.so::");
	env.preloads = in("D/preloads");
	text_file("preloads", in("D/l/libdfts.so\n\tD/l/none\n"));
	/* Those of the environment first, then those of the file, then what is linked. */
	want("./prog",
	     "./prog|D/l/libdftp.so|D/l/libdftr.so|D/l/libdfts.so|D/l/libdfta.so|D/l/libdftq.so");
}

static void told_once(void **state)
{
	(void)state;
	elf_file("prog", "iRnnn", "D/l/libdfta.so", "D/l", "libdfta.so", "libdftb.so",
		 "libdftc.so");
	elf_file("l/libdfta.so", "s", "libdftc.so");
	assert_int_equal(
		link("l/libdfta.so", "l/libdftb.so") || symlink("libdftb.so", "l/libdftc.so"), 0);
	want("./prog", "./prog|D/l/libdfta.so");
}

/* ---- commands -------------------------------------------------------------------------------- */

static void found_in_path(void **state)
{
	(void)state;
	elf_file("a/prog", "");
	elf_file("b/prog", "");
	elf_file("here", "");
	assert_int_equal(chmod("a/prog", 0644), 0);
	assert_int_equal(mkdir("c", 0755) || mkdir("c/prog", 0755), 0);
	env.path = in("D/none:D/c:D/a:D/b:");
	want("prog", "D/b/prog");
	want("here", "here");
	assert_int_equal(chmod("a/prog", 0755), 0);
	want("prog", "D/a/prog");
	assert_int_equal(dft_libs_each("there", &env, on_path, said), -ENOENT);
	assert_int_equal(dft_libs_each("./there", &env, on_path, said), -ENOENT);
	assert_int_equal(dft_libs_each("", &env, on_path, said), -ENOENT);
	env.path = "";
	want("here", "here");
	assert_int_equal(dft_libs_each("prog", &env, on_path, said), -ENOENT);
}

static void scripts(void **state)
{
	(void)state;
	elf_file("bin/python9", "iRn", "/none", "D/l", "libdftpy.so");
	elf_file("bin/env", "");
	elf_file("l/libdftpy.so", "");
	env.path = in("D/bin");
	text_file("s", in("#!D/bin/python9\nimport os\n"));
	want("./s", "D/bin/python9|D/l/libdftpy.so");
	text_file("s", in("#! \tD/bin/python9 -u\t\n"));
	want("./s", "D/bin/python9|D/l/libdftpy.so");
	text_file("s", in("#!D/bin/python9"));
	want("./s", "D/bin/python9|D/l/libdftpy.so");
	text_file("s", in("#!D/bin/env python9\n"));
	want("./s", "D/bin/env|D/bin/python9|D/l/libdftpy.so");
	text_file("s", in("#!D/bin/env -S  A=1 -i python9 -u\n"));
	want("./s", "D/bin/env|D/bin/python9|D/l/libdftpy.so");
	text_file("s", in("#!D/bin/env\n"));
	want("./s", "D/bin/env");
	/* By way of another script; and by way of itself. */
	text_file("t", in("#!D/bin/python9\n"));
	text_file("s", in("#!D/t\n"));
	want("./s", "D/bin/python9|D/l/libdftpy.so");
	text_file("s", in("#!D/s\n"));
	want("./s", "");
	text_file("s", "#!\n");
	want("./s", "");
	text_file("s", "#!/nowhere/at/all\n");
	want("./s", "");
	elf_file("s", "m");
	want("./s", "");
	write_file("s", "", 0, 0755);
	want("./s", "");
}

/* A text without a first line that says more is run by the shell. */
static void shell_scripts(void **state)
{
	char first[256];

	(void)state;
	text_file("s", "echo hello\n");
	said[0] = '\0';
	assert_int_equal(dft_libs_each("./s", &env, on_path, said), 0);
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(said, "|"), said);
	assert_string_equal(first, "/bin/sh");
}

/* ---- libdftracer.so -------------------------------------------------------------------------- */

static void own_library(void **state)
{
	static const char first[] =
		"D/given.so|D/env/libdftracer.so.0|D/own/../lib/libdftracer.so.0|";

	(void)state;
	elf_file("own/libdftracer.so", "");
	elf_file("lib/libdftracer.so.0", "n", "libm.so");
	elf_file("env/libdftracer.so.0", "");
	elf_file("env/libdftracer.so", "");
	elf_file("given.so", "");
	env.library_path = in("D/none:D/env");
	env.dftracer = in("D/given.so");
	snprintf(env.own_dir, sizeof(env.own_dir), "%s", in("D/own"));
	said[0] = '\0';
	assert_int_equal(dft_libs_dftracer(&env, on_path, said), 0);
	/* More follow where the machine has it installed. */
	assert_memory_equal(said, first, sizeof(first) - 1);
	assert_non_null(strstr(said, "|D/env/libdftracer.so|D/own/libdftracer.so"));
}

/* ---- the linker's cache ---------------------------------------------------------------------- */

struct cache {
	char b[4096];
	size_t base, n, strings; /* new part, entries, end of strings */
};

#if defined(__x86_64__)
#define CACHE_KIND  0x303
#define CACHE_OTHER 0xa03
#else
#define CACHE_KIND  0xa03
#define CACHE_OTHER 0x303
#endif

static uint32_t cache_string(struct cache *c, const char *text)
{
	size_t at = c->strings;

	memcpy(c->b + at, text, strlen(text) + 1);
	c->strings += strlen(text) + 1;
	return (uint32_t)(at - c->base);
}

static void cache_add(struct cache *c, uint32_t kind, const char *name, const char *path)
{
	uint32_t entry[6] = { kind, cache_string(c, name), cache_string(c, path) };
	uint32_t count = (uint32_t)++c->n;

	memcpy(c->b + c->base + 48 + (c->n - 1) * 24, entry, sizeof(entry));
	memcpy(c->b + c->base + 20, &count, sizeof(count));
}

static void cache_begin(struct cache *c, size_t base)
{
	memset(c, 0, sizeof(*c));
	c->base = base;
	c->strings = base + 1024;
	memcpy(c->b + base, "glibc-ld.so.cache1.1", 20);
}

static bool on_cached(void *ctx, const char *path)
{
	on_path(said, path);
	return *(bool *)ctx;
}

static void look_up(const struct cache *c, size_t size, const char *name, bool first)
{
	char *exact = malloc(size ? size : 1);

	assert_non_null(exact);
	memcpy(exact, c->b, size);
	said[0] = '\0';
	dft_ldcache_find(exact, size, name, on_cached, &first);
	free(exact);
}

static void cached(void **state)
{
	/* Alone; or behind the old format with two entries of 12 bytes, at a multiple of 8. */
	static const size_t bases[] = { 0, 40 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct cache c;
		size_t seen = 0;

		cache_begin(&c, bases[i]);
		if (bases[i])
			memcpy(c.b, "ld.so-1.7.0\0\2\0\0\0", 16);
		cache_add(&c, CACHE_KIND, "libdfta.so", "/x/libdfta.so");
		cache_add(&c, CACHE_OTHER, "libdfta.so", "/other/libdfta.so");
		cache_add(&c, CACHE_KIND & 0xff, "libdfta.so", "/32/libdfta.so");
		cache_add(&c, CACHE_KIND - 2, "libdfta.so", "/libc5/libdfta.so");
		cache_add(&c, CACHE_KIND, "libdfta.so.1", "/x/libdfta.so.1");
		cache_add(&c, CACHE_KIND, "libdfta.so", "/v3/libdfta.so");
		look_up(&c, c.strings, "libdfta.so", false);
		assert_string_equal(said, "/x/libdfta.so|/v3/libdfta.so");
		look_up(&c, c.strings, "libdfta.so", true);
		assert_string_equal(said, "/x/libdfta.so");
		look_up(&c, c.strings, "libdfta.so.1", false);
		assert_string_equal(said, "/x/libdfta.so.1");
		look_up(&c, c.strings, "libdfta", false);
		assert_string_equal(said, "");
		/* Cut anywhere: what is said is right. */
		for (size_t size = 0; size < c.strings; size++) {
			look_up(&c, size, "libdfta.so", true);
			assert_true(!*said || !strcmp(said, "/x/libdfta.so"));
			seen += *said != '\0';
		}
		assert_true(seen > 0);
	}
}

static void cache_damaged(void **state)
{
	struct cache c;
	size_t found = 0;

	(void)state;
	cache_begin(&c, 0);
	cache_add(&c, CACHE_KIND, "libdfta.so", "/x/libdfta.so");
	cache_add(&c, CACHE_KIND, "libdftb.so", "/x/libdftb.so");
	for (size_t at = 0; at < 48 + 24 * 2; at++) {
		char was = c.b[at];

		for (int value = 0; value < 256; value++) {
			c.b[at] = (char)value;
			look_up(&c, c.strings, "libdftb.so", false);
			found += *said != '\0';
		}
		c.b[at] = was;
	}
	assert_true(found > 10000);
	look_up(&c, c.strings, "libdftb.so", false);
	assert_string_equal(said, "/x/libdftb.so");
	memset(c.b + 20, 0xff, 4);
	look_up(&c, c.strings, "libdftb.so", false);
	assert_string_equal(said, "");
	/* The old format's number of entries leads nowhere. */
	memcpy(c.b, "ld.so-1.7.0\0\xff\xff\xff\xff", 16);
	look_up(&c, c.strings, "libdftb.so", false);
	assert_string_equal(said, "");
}

static void found_in_cache(void **state)
{
	struct cache c;

	(void)state;
	cache_begin(&c, 0);
	cache_add(&c, CACHE_KIND, "libdftx.so", in("D/none/libdftx.so"));
	cache_add(&c, CACHE_KIND, "libdftx.so", in("D/v2/libdftx.so"));
	cache_add(&c, CACHE_KIND, "libdftx.so", in("D/v1/libdftx.so"));
	cache_add(&c, CACHE_KIND, "libdftracer.so", in("D/v1/libdftracer.so"));
	write_file("cache", c.b, c.strings, 0644);
	elf_file("v1/libdftx.so", "");
	elf_file("v2/libdftx.so", "");
	elf_file("v1/libdftracer.so", "");
	elf_file("r/libdftx.so", "");
	elf_file("prog", "in", "/none", "libdftx.so");
	want("./prog", "./prog");
	env.cache = in("D/cache");
	want("./prog", "./prog|D/v2/libdftx.so|D/v1/libdftx.so");
	elf_file("prog", "iRn", "/none", "D/r", "libdftx.so");
	want("./prog", "./prog|D/r/libdftx.so");
	said[0] = '\0';
	assert_int_equal(dft_libs_dftracer(&env, on_path, said), 0);
	assert_non_null(strstr(said, "D/v1/libdftracer.so"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(breadth_first), T(statically_linked), T(order),	   T(loaded_already),
		T(not_the_first), T(variables),		T(preloaded),	   T(told_once),
		T(found_in_path), T(scripts),		T(shell_scripts),  T(own_library),
		T(cached),	  T(cache_damaged),	T(found_in_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
