// SPDX-License-Identifier: MIT
/*
 * Makes and uses files with every kind of name, and says what the trace must call them. Runs in an
 * empty directory, as root. The names of deep directories exist in a root of our own, where nothing
 * of the temporary directory's name is in the way.
 */
#include "say.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char cwd[4096];

static char *join(const char *a, const char *b)
{
	char *out = malloc(strlen(a) + strlen(b) + 2);

	sprintf(out, "%s/%s", a, b);
	return out;
}

/* A file below the current directory, whose name in the trace is NAME. */
static void use(const char *given, const char *name)
{
	struct stat st;
	char *there = join(name, "none");
	char *below = join(given, "none");
	long fd;

	ev("open", bad(CALL(SYS_openat, AT_FDCWD, L(given), O_RDONLY), ENOENT), F(name),
	   D("flags", O_RDONLY));
	fd = ok(CALL(SYS_openat, AT_FDCWD, L(given), O_CREAT | O_EXCL | O_RDWR, 0600));
	ev("open", fd, F(name), D("flags", O_CREAT | O_EXCL | O_RDWR), U("mode", 0600));
	ev("write", ok(CALL(SYS_write, fd, L("data"), 4)), F(name), U("count", 4), D("offset", 0));
	ev("fstat", ok(CALL(SYS_fstat, fd, L(&st))), F(name));
	ev("lstat", ok(CALL(SYS_newfstatat, AT_FDCWD, L(given), L(&st), AT_SYMLINK_NOFOLLOW)),
	   F(name), D("flags", AT_SYMLINK_NOFOLLOW));
	if (strlen(below) < 4096)
		ev("open", bad(CALL(SYS_openat, AT_FDCWD, L(below), O_RDONLY), ENOTDIR), F(there),
		   D("flags", O_RDONLY));
	else
		ev("open", bad(CALL(SYS_openat, AT_FDCWD, L(below), O_RDONLY), ENAMETOOLONG),
		   D("flags", O_RDONLY), RET, TEXT("unresolved", "too long"));
	ev("unlink", ok(CALL(SYS_unlinkat, AT_FDCWD, L(given), 0)), F(name));
	ev("close", ok(CALL(SYS_close, fd)), F(name), RET, D("deleted", 1));
	free(there);
	free(below);
}

static void odd_bytes(void)
{
	static const char *const names[] = {
		"plain", "quote\"quote", "back\\slash", "new\nline", "tab\there", "\x01", "\xff\xfe",
		"\x01\x1f\x7f", "\xc3\xa9", "\xe9", "cut \xc3", "cut \xe2\x82", "cut \xf0\x9f\x98",
		"\xf0\x9f\x98\x80", "\xed\xa0\x80 surrogate", "\xf4\x90\x80\x80 beyond",
		"\xc0\xaf overlong", "\xe0\x80\xaf overlong", "\x80 lone", "mix \xc3\xa9\xff\xe9 \xe2\x82\xac",
		" space ", "%s%n%d", "{\"a\":1}", "a;b", "(deleted)", "x (deleted)", "\xef\xbf\xbd",
		"\xe2\x80\xa8", "$HOME `id`", "-rf", "~", "\r\n", "\b\f\v", "...", "anon_inode:[x]",
	};
	char all[256], longest[256], half[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		use(names[i], join(cwd, names[i]));
	for (int b = 1, n = 0; b < 256; b++) {
		if (b != '/') {
			all[n++] = (char)b;
			all[n] = '\0';
		}
	}
	use(all, join(cwd, all));
	memset(longest, 'n', 255);
	longest[255] = '\0';
	use(longest, join(cwd, longest));
	memset(half, '\xff', 255);
	half[255] = '\0';
	use(half, join(cwd, half));
	/* The same prefix of 200 bytes: two names. */
	longest[200] = '\0';
	use(longest, join(cwd, longest));
	longest[199] = 'N';
	use(longest, join(cwd, longest));
}

static void odd_bytes_twice(void)
{
	/* As second names, and as what a link points to. */
	static const char *const names[] = { "q\"\\\n\t", "\x01\xff\xfe", "\xe9" };
	long fd = ok(CALL(SYS_openat, AT_FDCWD, L("base"), O_CREAT | O_RDWR, 0600));

	ev("open", fd, F(join(cwd, "base")), D("flags", O_CREAT | O_RDWR), U("mode", 0600));
	for (size_t i = 0; i < 3; i++) {
		char *name = join(cwd, names[i]);

		ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L("base"), AT_FDCWD, L(names[i]), 0)),
		   F(join(cwd, "base")), FILE_AS("newpath_hash", name), U("flags", 0));
		/* The descriptor has the new name now. */
		ev("fsync", ok(CALL(SYS_fsync, fd)), F(name));
		ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L(names[i]), AT_FDCWD, L("base"), 0)),
		   F(name), FILE_AS("newpath_hash", join(cwd, "base")), U("flags", 0));
		ev("symlink", ok(CALL(SYS_symlinkat, L(names[i]), AT_FDCWD, L(names[i]))), F(name),
		   STRING("target_hash", names[i]));
	}
	ev("close", ok(CALL(SYS_close, fd)), F(join(cwd, "base")));
}

/* dir/dir/dir/file of the length wanted, each component but the last LEN bytes; made here. */
static char *deep(int len, int total)
{
	char *path = calloc(1, 8192), part[256];
	int left = total;

	while (left > 0) {
		int n = left > len + 1 ? len : left;

		if (left == len + 1)
			n = len - 1; /* no slash may be last */
		if (left == n + 1)
			n--;
		memset(part, 'a' + (int)strlen(path) % 26, (size_t)n);
		part[n] = '\0';
		strcat(path, part);
		left -= n;
		if (left > 0) {
			if (mkdir(path, 0700) && errno != EEXIST)
				_exit(90);
			strcat(path, "/");
			left--;
		}
	}
	return path;
}

/* mkdir is an event as well: what makes deep directories is done before the marks. */
static void long_relative(void)
{
	char *path[3] = { deep(100, 300), deep(149, 300), deep(7, 300) };

	begin();
	for (int i = 0; i < 3; i++)
		use(path[i], join(cwd, path[i]));
	end();
}

/* COUNT components of LEN bytes, the last one longer by MORE: made step by step, then named at once. */
static char *absolute(int count, int len, int more)
{
	char *path = calloc(1, 8192), part[256];

	if (chdir("/"))
		_exit(90);
	for (int i = 0; i < count; i++) {
		int n = i == count - 1 ? len + more : len;

		memset(part, 'a' + i % 26, (size_t)n);
		part[n] = '\0';
		strcat(path, "/");
		strcat(path, part);
		if (i == count - 1)
			break;
		if (mkdir(part, 0700) && errno != EEXIST)
			_exit(90);
		if (chdir(part))
			_exit(90);
	}
	if (chdir("/"))
		_exit(90);
	return path;
}

/* In the last directory of a path, by names relative to it. */
static void from_below(char *path)
{
	char *last = strrchr(path, '/') + 1, *dir = strdup(path), *name;
	struct stat st;
	long fd;

	*strrchr(dir, '/') = '\0';
	ev("chdir", ok(CALL(SYS_chdir, L(dir))), F(dir));
	use(last, path);
	/* Longer than any name can be: the kernel takes it, and the trace says that it cannot. */
	name = join(dir, "0123456789");
	if (strlen(name) > 4095) {
		fd = ok(CALL(SYS_openat, AT_FDCWD, L("0123456789"), O_CREAT | O_RDWR, 0600));
		ev("open", fd, D("flags", O_CREAT | O_RDWR), U("mode", 0600), RET,
		   TEXT("unresolved", "too long"));
		ev("write", ok(CALL(SYS_write, fd, L("data"), 4)), U("count", 4), D("offset", 0),
		   RET, TEXT("unresolved", "too long"));
		ev("close", ok(CALL(SYS_close, fd)), RET, TEXT("unresolved", "too long"));
	}
	/* A name that is joined may be longer: both parts are known. */
	ev("stat", CALL(SYS_newfstatat, AT_FDCWD, L("0123456789"), L(&st), 0), F(name),
	   D("flags", 0));
	ev("chdir", ok(CALL(SYS_chdir, L("/"))), F("/"));
}

/* Nothing beyond these two calls may be on the path: what is there is as long as allowed. */
static void below_the_deepest(const char *path)
{
	struct stat st;
	long at;

	if (mkdir(path, 0700))
		_exit(90);
	begin();
	ev("chdir", ok(CALL(SYS_chdir, L(path))), F(path));
	at = ok(CALL(SYS_openat, AT_FDCWD, L("."), O_RDONLY | O_DIRECTORY));
	ev("open", at, F(path), D("flags", O_RDONLY | O_DIRECTORY));
	ev("stat", bad(CALL(SYS_newfstatat, at, L("x"), L(&st), 0), ENOENT), F(join(path, "x")),
	   D("flags", 0));
	ev("close", ok(CALL(SYS_close, at)), F(path));
	ev("mkdir", ok(CALL(SYS_mkdirat, AT_FDCWD, L("d"), 0700)), F(join(path, "d")),
	   U("mode", 0700));
	ev("chdir", ok(CALL(SYS_chdir, L("d"))), F(join(path, "d")));
	/* Here even the base has no name. */
	ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, L("x"), L(&st), 0), ENOENT), D("flags", 0),
	   RET, TEXT("unresolved", "too long"), TEXT("path", "x"));
	end();
}

static void in_own_root(void (*work)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		if (chroot("root") || chdir("/"))
			_exit(90);
		work();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		_exit(90);
}

static void long_components(void)
{
	char *path = absolute(16, 255, -1); /* 15 * 256 + 255 */

	if (strlen(path) != 4095)
		_exit(91);
	begin();
	use(path, path);
	from_below(path);
	end();
}

static void short_components(void)
{
	char *path = absolute(2047, 1, 1); /* 2046 * 2 + 3 */

	if (strlen(path) != 4095)
		_exit(91);
	begin();
	use(path, path);
	from_below(path);
	end();
}

static void deepest_directory(void)
{
	below_the_deepest(absolute(16, 255, -1));
}

/* Strings where reading them is not so simple. */
static void odd_places(void)
{
	static const char never_touched[] __attribute__((aligned(4096))) = "in/rodata";
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct stat st;
	char *edge;

	begin();
	ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, L(never_touched), L(&st), 0), ENOENT),
	   F(join(cwd, "in/rodata")), D("flags", 0));
	munmap(two + 4096, 4096);
	edge = two + 4096 - sizeof("edge");
	memcpy(edge, "edge", sizeof("edge"));
	ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, L(edge), L(&st), 0), ENOENT),
	   F(join(cwd, "edge")), D("flags", 0));
	/* The same without its end. */
	edge[4] = '!';
	ev("stat", bad(CALL(SYS_newfstatat, AT_FDCWD, L(edge), L(&st), 0), EFAULT), D("flags", 0),
	   RET, TEXT("unresolved", "fault"));
	end();
	_exit(0);
}

static void in_child(void (*work)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		work();
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		_exit(90);
}

int main(void)
{
	if (!getcwd(cwd, sizeof(cwd)) || mkdir("root", 0700))
		return 1;
	begin();
	odd_bytes();
	odd_bytes_twice();
	end();
	in_child(long_relative);
	in_own_root(long_components);
	in_own_root(short_components);
	in_own_root(deepest_directory);
	in_child(odd_places);
	return 0;
}
