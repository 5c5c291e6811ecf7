/* SPDX-License-Identifier: MIT */
/*
 * For workload programs: they make system calls by number and say, as lines of JSON on their stdout
 * (a pipe), what each was given and what the kernel returned. Strings are said in hex, so that they
 * may hold any byte.
 *
 *   {"pid":1,"tid":1,"nr":0,"cls":"","name":"read","args":[["F","fhash","2f61"],["i","count",5],...]}
 *
 * Kinds of arguments: F hash of a file's name, S hash of a string, s string, i integer.
 */
#ifndef DFT_TESTS_SAY_H
#define DFT_TESTS_SAY_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAY_FD 1

struct say_buf {
	char text[65536];
	size_t len;
};

static __thread struct say_buf say_buf;
static __thread long say_nr; /* the last call made */

static inline void say_raw(const char *text, size_t len)
{
	if (say_buf.len + len > sizeof(say_buf.text))
		abort();
	memcpy(say_buf.text + say_buf.len, text, len);
	say_buf.len += len;
}

__attribute__((format(printf, 1, 2))) static inline void say_fmt(const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text))
		abort();
	say_raw(text, (size_t)n);
}

static inline void say_hex(const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++) {
		char two[2] = { digits[p[i] >> 4], digits[p[i] & 15] };

		say_raw(two, 2);
	}
}

/* A pipe keeps writes apart up to PIPE_BUF only: longer lines of two threads would mix. */
static pthread_mutex_t say_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void say_flush(void)
{
	size_t at = 0;

	say_raw("\n", 1);
	pthread_mutex_lock(&say_lock);
	while (at < say_buf.len) {
		ssize_t n = write(SAY_FD, say_buf.text + at, say_buf.len - at);

		if (n <= 0)
			_exit(99);
		at += (size_t)n;
	}
	pthread_mutex_unlock(&say_lock);
	say_buf.len = 0;
}

/* One line with one word and, where given, text in hex: {"pid":..,"tid":..,"say":WORD,"text":HEX} */
static inline void say_word(const char *word, const char *text)
{
	say_fmt("{\"pid\":%ld,\"tid\":%ld,\"say\":\"%s\",\"text\":\"", syscall(SYS_getpid),
		syscall(SYS_gettid), word);
	if (text)
		say_hex(text, strlen(text));
	say_raw("\"}", 2);
	say_flush();
}

/* ---- arguments ---- */

struct say_arg {
	char kind; /* F S s i; r: here comes the return value; 0 end */
	bool is_unsigned;
	const char *key;
	long value;
	const char *text;
};

#define F(text_)	   { .kind = 'F', .key = "fhash", .text = (text_) }
#define FILE_AS(key_, text_) { .kind = 'F', .key = (key_), .text = (text_) }
#define STRING(key_, text_)  { .kind = 'S', .key = (key_), .text = (text_) }
#define TEXT(key_, text_)    { .kind = 's', .key = (key_), .text = (text_) }
#define D(key_, value_)	   { .kind = 'i', .key = (key_), .value = (long)(value_) }
#define U(key_, value_)	   { .kind = 'i', .key = (key_), .value = (long)(value_), .is_unsigned = true }
#define RET		   { .kind = 'r' }

static inline void say_ret(long ret)
{
	if (ret < 0 && ret >= -4095)
		say_fmt(",[\"i\",\"ret\",-1],[\"i\",\"errno\",%ld]", -ret);
	else
		say_fmt(",[\"i\",\"ret\",%ld]", ret);
}

static inline void say_one(const struct say_arg *a)
{
	say_fmt(",[\"%c\",\"%s\",", a->kind, a->key);
	if (a->kind == 'i') {
		if (a->is_unsigned)
			say_fmt("%lu]", (unsigned long)a->value);
		else
			say_fmt("%ld]", a->value);
		return;
	}
	say_raw("\"", 1);
	say_hex(a->text, strlen(a->text));
	say_raw("\"]", 2);
}

/* An event that the trace must hold. args[0] is a placeholder. */
static inline void say_event(const char *cls, const char *name, long ret, const struct say_arg *args)
{
	bool ret_said = false;

	say_fmt("{\"pid\":%ld,\"tid\":%ld,\"nr\":%ld,\"cls\":\"%s\",\"name\":\"%s\",\"args\":[[]",
		syscall(SYS_getpid), syscall(SYS_gettid), say_nr, cls, name);
	for (const struct say_arg *a = args + 1; a->kind; a++) {
		if (a->kind == 'r') {
			say_ret(ret);
			ret_said = true;
		} else {
			say_one(a);
		}
	}
	if (!ret_said)
		say_ret(ret);
	say_raw("]}", 2);
	say_flush();
}

/* ev(name, ret, arguments...); evc() is a call on a file of a class that is left out by default. */
#define ev(name_, ret_, ...) \
	say_event("", name_, ret_, (struct say_arg[]){ { 0 }, ##__VA_ARGS__, { 0 } })
#define evc(cls_, name_, ret_, ...) \
	say_event(cls_, name_, ret_, (struct say_arg[]){ { 0 }, ##__VA_ARGS__, { 0 } })

/* ---- calls ---- */

#define L(pointer) ((long)(pointer))

static inline long say_call(long nr, const long *a)
{
	long ret;

	say_nr = nr;
	ret = syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	return ret == -1 ? -errno : ret;
}

/* The call by its number; arguments are longs (pointers by L()). Negative: -errno. */
#define CALL(nr_, ...) say_call(nr_, (const long[6]){ __VA_ARGS__ })

static inline long say_ok(long ret, const char *file, int line)
{
	if (ret < 0 && ret >= -4095) {
		fprintf(stderr, "%s:%d: %s\n", file, line, strerror((int)-ret));
		_exit(98);
	}
	return ret;
}

static inline long say_bad(long ret, int want, const char *file, int line)
{
	if (ret != -want) {
		fprintf(stderr, "%s:%d: returned %ld, not -%s\n", file, line, ret,
			strerrorname_np(want));
		_exit(98);
	}
	return ret;
}

/* That it goes well; that it fails just so; either that or that the kernel lacks the call. */
#define ok(ret_)	    say_ok(ret_, __FILE__, __LINE__)
#define bad(ret_, errno_)   say_bad(ret_, errno_, __FILE__, __LINE__)

static inline long say_maybe(long ret, int want, const char *file, int line)
{
	if (ret == -ENOSYS)
		return ret;
	return want ? say_bad(ret, want, file, line) : say_ok(ret, file, line);
}
#define new_ok(ret_)	      say_maybe(ret_, 0, __FILE__, __LINE__)
#define new_bad(ret_, errno_) say_maybe(ret_, errno_, __FILE__, __LINE__)

/* Between begin() and end(), every event of this thread is told by ev(). */
static inline void say_mark(const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/dft-%s", what);
	syscall(SYS_faccessat, AT_FDCWD, path, 0);
	say_word(what, NULL);
}
#define begin() say_mark("begin")
#define end()	say_mark("end")

#endif
