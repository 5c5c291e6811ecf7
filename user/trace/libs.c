// SPDX-License-Identifier: MIT
#include "libs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "elffile.h"
#include "ldcache.h"
#include "log.h"

#define SCRIPT_LINE  256 /* bytes of a first line that the kernel looks at */
#define SCRIPTS_MAX  5	 /* interpreters of interpreters */
#define FILES_MAX    4096
#define CACHE_MAX    (64u << 20)
#define DEFAULT_PATH "/bin:/usr/bin"
#define NOWHERE	     SIZE_MAX

#if defined(__x86_64__)
#define PLATFORM "x86_64"
#elif defined(__aarch64__)
#define PLATFORM "aarch64"
#else
#error "this processor is not supported"
#endif

/* What $LIB stands for differs between distributions: all are tried. */
static const char *const lib_dirs[] = { "lib/" PLATFORM "-linux-gnu", "lib64", "lib" };
#define LIB_DIRS (sizeof(lib_dirs) / sizeof(lib_dirs[0]))

static const char default_dirs[] = "/lib/" PLATFORM "-linux-gnu:/usr/lib/" PLATFORM "-linux-gnu:"
				   "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";

struct object {
	char *name;   /* under which it was asked for, or NULL */
	char *origin; /* its directory */
	struct dft_elf_needs needs;
	size_t loader; /* who asked for it, or NOWHERE */
	dev_t dev;
	ino_t ino;
};

struct libs {
	const struct dft_libs_env *env;
	dft_libs_fn fn;
	void *ctx;
	struct object *objects; /* of one program, in the order of loading */
	size_t n;
	struct object *told; /* files that fn has been called with; dev and ino only */
	size_t ntold;
	struct dft_buf cache;
	bool cache_read;
	int err; /* -ENOMEM */
};

static void out_of_memory(struct libs *libs)
{
	libs->err = -ENOMEM;
}

static char *copy(struct libs *libs, const char *text, size_t len)
{
	char *own = strndup(text, len);

	if (!own)
		out_of_memory(libs);
	return own;
}

/* The text of a buffer, NULL when there is no memory for it. */
static const char *text_of(struct libs *libs, struct dft_buf *buf)
{
	dft_buf_putc(buf, '\0');
	if (buf->failed) {
		out_of_memory(libs);
		return NULL;
	}
	return buf->data;
}

/* Room for one more at the end of an array that doubles. */
static struct object *one_more(struct libs *libs, struct object **v, size_t *n)
{
	if (!(*n & (*n - 1))) {
		struct object *more = realloc(*v, (*n ? *n * 2 : 1) * sizeof(*more));

		if (!more) {
			out_of_memory(libs);
			return NULL;
		}
		*v = more;
	}
	(*v)[*n] = (struct object){ .loader = NOWHERE };
	return &(*v)[(*n)++];
}

static const struct object *find_file(const struct object *v, size_t n, const struct stat *st)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].dev == st->st_dev && v[i].ino == st->st_ino)
			return &v[i];
	return NULL;
}

static void tell(struct libs *libs, const char *path, const struct stat *st)
{
	struct object *o;

	if (find_file(libs->told, libs->ntold, st))
		return;
	o = one_more(libs, &libs->told, &libs->ntold);
	if (!o)
		return;
	o->dev = st->st_dev;
	o->ino = st->st_ino;
	libs->fn(libs->ctx, path);
}

static void forget_objects(struct libs *libs)
{
	for (size_t i = 0; i < libs->n; i++) {
		free(libs->objects[i].name);
		free(libs->objects[i].origin);
		dft_elf_needs_free(&libs->objects[i].needs);
	}
	free(libs->objects);
	libs->objects = NULL;
	libs->n = 0;
}

static int end(struct libs *libs)
{
	forget_objects(libs);
	free(libs->told);
	dft_buf_free(&libs->cache);
	return libs->err;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The fd of a regular file, or -1. Never waits, whatever is there. */
static int open_regular(const char *path, struct stat *st)
{
	int fd;

	if (stat(path, st) || !S_ISREG(st->st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && (fstat(fd, st) || !S_ISREG(st->st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static char *dir_of(struct libs *libs, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return copy(libs, ".", 1);
	return copy(libs, path, slash == path ? 1 : (size_t)(slash - path));
}

static void add_object(struct libs *libs, const struct object *new, const char *name,
		       const char *path)
{
	struct object *o = one_more(libs, &libs->objects, &libs->n);

	if (!o)
		return;
	*o = *new;
	o->needs = (struct dft_elf_needs){ 0 };
	o->origin = dir_of(libs, path);
	if (name)
		o->name = copy(libs, name, strlen(name));
}

/*
 * Takes the file if it is one that could be loaded; otherwise the dynamic linker would go on
 * searching, and so do we.
 */
static bool add_file(struct libs *libs, const char *path, const char *name, size_t loader)
{
	struct object new = { .loader = loader };
	struct dft_elf elf;
	struct stat st;
	int fd, err;

	if (libs->err || libs->n == FILES_MAX)
		return true;
	fd = open_regular(path, &st);
	if (fd < 0)
		return false;
	err = dft_elf_open(&elf, fd);
	if (err)
		goto out;
	/* The same file under one more name. */
	if (!find_file(libs->objects, libs->n, &st)) {
		new.dev = st.st_dev;
		new.ino = st.st_ino;
		add_object(libs, &new, name, path);
		if (!libs->err && dft_elf_needs(&libs->objects[libs->n - 1].needs, &elf))
			out_of_memory(libs);
		if (!libs->err)
			tell(libs, path, &st);
	}
	dft_elf_close(&elf);
out:
	close(fd);
	return !err;
}

/* ---- search ---------------------------------------------------------------------------------- */

/* Is `token` what follows a '$', with or without braces? Its length, 0 = no. */
static size_t token_len(const char *text, size_t len, const char *token)
{
	size_t n = strlen(token);

	if (len >= n + 2 && text[0] == '{' && !memcmp(text + 1, token, n) && text[n + 1] == '}')
		return n + 2;
	if (len < n || memcmp(text, token, n) != 0)
		return 0;
	return len > n && (isalnum((unsigned char)text[n]) || text[n] == '_') ? 0 : n;
}

/* Appends with the linker's variables put in; true when $LIB is one of them. */
static bool expand(struct dft_buf *out, const char *text, size_t len, const char *origin,
		   const char *lib_dir)
{
	bool has_lib = false;

	for (size_t i = 0; i < len; i++) {
		const char *rest = text + i + 1;
		size_t left = len - i - 1, n = 0;

		if (text[i] != '$') {
			dft_buf_putc(out, text[i]);
		} else if ((n = token_len(rest, left, "ORIGIN"))) {
			dft_buf_puts(out, origin);
		} else if ((n = token_len(rest, left, "PLATFORM"))) {
			dft_buf_puts(out, PLATFORM);
		} else if ((n = token_len(rest, left, "LIB"))) {
			dft_buf_puts(out, lib_dir);
			has_lib = true;
		} else {
			dft_buf_putc(out, '$');
		}
		i += n;
	}
	return has_lib;
}

/* What is asked for, by whom, and where names begin that are relative to the asker. */
struct request {
	const char *name;
	size_t loader;
	const char *origin;
};

static bool try_dir(struct libs *libs, const struct request *req, const char *dir, size_t len)
{
	bool found = false, more = true;

	for (size_t i = 0; i < LIB_DIRS && more && !found; i++) {
		struct dft_buf path = DFT_BUF_INIT;
		const char *text;

		more = expand(&path, dir, len, req->origin, lib_dirs[i]);
		/* An empty one is the current directory. */
		if (path.len)
			dft_buf_putc(&path, '/');
		dft_buf_puts(&path, req->name);
		text = text_of(libs, &path);
		found = text && add_file(libs, text, req->name, req->loader);
		dft_buf_free(&path);
	}
	return found;
}

/*
 * Directories of variants for newer processors below these (glibc-hwcaps) are not looked into:
 * which of them is taken depends on the processor, and few have any outside of the cache.
 */
static bool try_dirs(struct libs *libs, const struct request *req, const char *dirs,
		     const char *separators)
{
	if (!dirs || !*dirs)
		return false;
	for (;;) {
		size_t len = strcspn(dirs, separators);

		if (try_dir(libs, req, dirs, len))
			return true;
		if (!dirs[len])
			return false;
		dirs += len + 1;
	}
}

struct cached {
	struct libs *libs;
	const struct request *req;
	bool found;
};

/* All variants of it are taken: one of them will be. */
static bool on_cached(void *ctx, const char *path)
{
	struct cached *c = ctx;

	if (add_file(c->libs, path, c->req->name, c->req->loader))
		c->found = true;
	return false;
}

static void read_file(struct libs *libs, const char *path, struct dft_buf *out)
{
	struct stat st;
	int fd = path ? open_regular(path, &st) : -1;

	if (fd < 0)
		return;
	while (out->len < CACHE_MAX) {
		char *to = dft_buf_reserve(out, 65536);
		ssize_t n = to ? read(fd, to, 65536) : 0;

		if (n <= 0)
			break;
		out->len += (size_t)n;
	}
	if (out->failed)
		out_of_memory(libs);
	close(fd);
}

static bool try_cache(struct libs *libs, const struct request *req)
{
	struct cached cached = { .libs = libs, .req = req };

	if (!libs->cache_read) {
		libs->cache_read = true;
		read_file(libs, libs->env->cache, &libs->cache);
	}
	if (libs->cache.len)
		dft_ldcache_find(libs->cache.data, libs->cache.len, req->name, on_cached, &cached);
	return cached.found;
}

static bool is_loaded(const struct libs *libs, const char *name)
{
	for (size_t i = 0; i < libs->n; i++) {
		const struct object *o = &libs->objects[i];

		if ((o->name && !strcmp(o->name, name)) ||
		    (o->needs.soname && !strcmp(o->needs.soname, name)))
			return true;
	}
	return false;
}

/* DT_RPATH of the asker and of those who asked for it, unless they have DT_RUNPATH, too. */
static bool try_rpaths(struct libs *libs, const char *name, size_t loader)
{
	if (libs->objects[loader].needs.runpath)
		return false;
	for (size_t at = loader; at != NOWHERE && !libs->err; at = libs->objects[at].loader) {
		const struct object *o = &libs->objects[at];
		struct request req = { .name = name, .loader = loader, .origin = o->origin };

		/* The list may move when one is added; then the search is over. */
		if (!o->needs.runpath && try_dirs(libs, &req, o->needs.rpath, ":"))
			return true;
	}
	return false;
}

static bool search(struct libs *libs, const char *name, size_t loader)
{
	struct request by_main = { name, loader, libs->objects[0].origin };
	struct request by_loader = { name, loader, libs->objects[loader].origin };

	return try_rpaths(libs, name, loader) ||
	       try_dirs(libs, &by_main, libs->env->library_path, ":;") ||
	       try_dirs(libs, &by_loader, libs->objects[loader].needs.runpath, ":") ||
	       try_cache(libs, &by_main) || try_dirs(libs, &by_main, default_dirs, ":");
}

static void resolve(struct libs *libs, const char *name, size_t loader)
{
	if (libs->err || is_loaded(libs, name))
		return;
	if (strchr(name, '/')) {
		struct dft_buf path = DFT_BUF_INIT;
		const char *text;

		expand(&path, name, strlen(name), libs->objects[loader].origin, lib_dirs[0]);
		text = text_of(libs, &path);
		if (text && !add_file(libs, text, NULL, loader))
			dft_verbose("%s: not found or not loadable", text);
		dft_buf_free(&path);
	} else if (!search(libs, name, loader)) {
		dft_verbose("%s: not found where libraries are looked for", name);
	}
}

static void preload(struct libs *libs, const char *names, const char *separators)
{
	while (names && *names) {
		size_t len = strcspn(names, separators);
		char *name = len ? copy(libs, names, len) : NULL;

		if (name)
			resolve(libs, name, 0);
		free(name);
		names += len + (names[len] != '\0');
	}
}

/* A program and what it links. False when it is no program that we know. */
static bool add_program(struct libs *libs, const char *path)
{
	struct dft_buf preloads = DFT_BUF_INIT;
	char *real = realpath(path, NULL);

	forget_objects(libs);
	if (!add_file(libs, path, NULL, NOWHERE)) {
		free(real);
		return false;
	}
	if (!libs->err && real) {
		free(libs->objects[0].origin);
		libs->objects[0].origin = dir_of(libs, real);
	}
	free(real);
	if (libs->err || !libs->objects[0].needs.interp)
		return true; /* static: nothing else is loaded, whatever the environment says */
	add_file(libs, libs->objects[0].needs.interp, NULL, 0);
	preload(libs, libs->env->preload, " :");
	read_file(libs, libs->env->preloads, &preloads);
	preload(libs, preloads.len ? text_of(libs, &preloads) : NULL, " \t\n:");
	dft_buf_free(&preloads);
	for (size_t i = 0; i < libs->n; i++)
		for (size_t k = 0; k < libs->objects[i].needs.nneeded; k++)
			resolve(libs, libs->objects[i].needs.needed[k], i);
	return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* The file that execvp() would execute; to be freed. NULL when there is none. */
static char *find_command(struct libs *libs, const char *name)
{
	const char *dirs = libs->env->path ? libs->env->path : DEFAULT_PATH;
	char *found = NULL;

	if (!*name)
		return NULL;
	if (strchr(name, '/'))
		return copy(libs, name, strlen(name));
	while (!found && !libs->err) {
		size_t len = strcspn(dirs, ":");
		struct dft_buf path = DFT_BUF_INIT;
		const char *text;
		struct stat st;

		dft_buf_append(&path, dirs, len);
		if (len)
			dft_buf_putc(&path, '/');
		dft_buf_puts(&path, name);
		text = text_of(libs, &path);
		if (text && !stat(text, &st) && S_ISREG(st.st_mode) && st.st_mode & 0111)
			found = copy(libs, text, path.len - 1);
		dft_buf_free(&path);
		if (!dirs[len])
			break;
		dirs += len + 1;
	}
	return found;
}

/* The next word of a line, cut off from what follows; NULL at the end. */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t");
	size_t len = strcspn(word, " \t");

	if (!len)
		return NULL;
	*line = word + len + (word[len] != '\0');
	word[len] = '\0';
	return word;
}

/* `env [-S] [NAME=VALUE...] COMMAND` as a script's first line has it. */
static char *env_command(char *line)
{
	char *word;

	do {
		word = next_word(&line);
	} while (word && (*word == '-' || strchr(word, '=')));
	return word;
}

/*
 * What executes the script, to be freed; NULL when nothing does. A text without a first line that
 * says so is one for the shell, as execvp() has it.
 */
static char *interpreter_of(struct libs *libs, const char *path)
{
	char line[SCRIPT_LINE + 1] = { 0 }, *at = line + 2, *word;
	struct stat st;
	int fd = open_regular(path, &st);
	const char *name;
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = pread(fd, line, SCRIPT_LINE, 0);
	close(fd);
	if (n < 2 || !memcmp(line, ELFMAG, SELFMAG))
		return NULL;
	if (memcmp(line, "#!", 2) != 0)
		return copy(libs, "/bin/sh", 7);
	line[strcspn(line, "\n")] = '\0';
	word = next_word(&at);
	if (!word)
		return NULL;
	name = strrchr(word, '/');
	if (strcmp(name ? name + 1 : word, "env") == 0) {
		char *command = env_command(at);

		add_program(libs, word);
		return command ? find_command(libs, command) : NULL;
	}
	return copy(libs, word, strlen(word));
}

int dft_libs_each(const char *command, const struct dft_libs_env *env, dft_libs_fn fn, void *ctx)
{
	struct libs libs = { .env = env, .fn = fn, .ctx = ctx };
	char *path = find_command(&libs, command), *next;
	struct stat st;
	int err;

	if (!path || stat(path, &st)) {
		free(path);
		err = end(&libs);
		return err ? err : -ENOENT;
	}
	for (int i = 0; path && i <= SCRIPTS_MAX && !libs.err; i++) {
		next = add_program(&libs, path) ? NULL : interpreter_of(&libs, path);
		free(path);
		path = next;
	}
	free(path);
	return end(&libs);
}

/* ---- libdftracer.so -------------------------------------------------------------------------- */

/*
 * Only looks whether it is there. Each place is asked, and not only the first that has it: a
 * program may come to the library by dlopen() or by a path of its own.
 */
static void tell_each(struct libs *libs, const struct request *req, const char *dirs)
{
	while (dirs && *dirs && !libs->err) {
		size_t len = strcspn(dirs, ":;");

		forget_objects(libs);
		try_dir(libs, req, dirs, len);
		dirs += len + (dirs[len] != '\0');
	}
}

int dft_libs_dftracer(const struct dft_libs_env *env, dft_libs_fn fn, void *ctx)
{
	static const char *const names[] = { "libdftracer.so.0", "libdftracer.so" };
	struct libs libs = { .env = env, .fn = fn, .ctx = ctx };

	if (env->dftracer && *env->dftracer)
		add_file(&libs, env->dftracer, NULL, NOWHERE);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct request req = { .name = names[i],
				       .loader = NOWHERE,
				       .origin = env->own_dir };

		tell_each(&libs, &req, env->library_path);
		if (*env->own_dir) {
			tell_each(&libs, &req, "$ORIGIN/../lib");
			tell_each(&libs, &req, "$ORIGIN");
		}
		forget_objects(&libs);
		try_cache(&libs, &req);
		tell_each(&libs, &req, default_dirs);
	}
	return end(&libs);
}

void dft_libs_environment(struct dft_libs_env *env)
{
	ssize_t n;
	char *slash;

	*env = (struct dft_libs_env){
		.path = getenv("PATH"),
		.library_path = getenv("LD_LIBRARY_PATH"),
		.preload = getenv("LD_PRELOAD"),
		.dftracer = getenv("DFTRACER_LIBRARY"),
		.cache = "/etc/ld.so.cache",
		.preloads = "/etc/ld.so.preload",
	};
	n = readlink("/proc/self/exe", env->own_dir, sizeof(env->own_dir) - 1);
	env->own_dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(env->own_dir, '/');
	if (slash)
		*slash = '\0';
}
