// SPDX-License-Identifier: MIT
/*
 * `many_names ROUNDS`: files come, are renamed and go, as fast as they can, in processes and threads,
 * while other processes have been in calls since before, on files whose names have changed meanwhile.
 * Says what the trace must hold. Runs in an empty directory.
 */
#include "say.h"

#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define WORKERS 2 /* processes, with two threads each */

static char cwd[4096];
static int rounds;
static char byte[8];

#define NAME_SZ (sizeof(cwd) + 32)

/* DIR/WHATn, absolute. */
static void numbered(char *out, const char *dir, const char *what, int n)
{
	snprintf(out, NAME_SZ, "%s/%.8s/%.8s%d", cwd, dir, what, n);
}

static const char *P(const char *rel)
{
	char *out = malloc(strlen(cwd) + strlen(rel) + 2);

	sprintf(out, "%s/%s", cwd, rel);
	return out;
}

static void make(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd))
		_exit(90);
}

static void read_it(long fd, const char *name)
{
	ev("pread", ok(CALL(SYS_pread64, fd, L(byte), 1, 0)), F(name), U("count", 1),
	   D("offset", 0));
}

/* ---- calls that last ---- */

static int held[2];  /* locked by the parent */
static int pipes[2]; /* nothing comes out before the end */

static void on_signal(int sig)
{
	(void)sig;
}

static void in_flock(void)
{
	long fd = open("flock/file", O_RDWR);

	begin();
	ev("flock", ok(CALL(SYS_flock, fd, LOCK_EX)), F(P("flock/file")), D("operation", LOCK_EX));
	ev("flock", ok(CALL(SYS_flock, fd, LOCK_UN)), F(P("FLOCK/file")), D("operation", LOCK_UN));
	end();
}

/* Those before it wait in the batch of the thread. */
static void in_fcntl(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	long fd = open("fcntl/file", O_RDWR);

	begin();
	for (int i = 0; i < 5; i++)
		read_it(fd, P("fcntl/file"));
	ev("fcntl", ok(CALL(SYS_fcntl, fd, F_OFD_SETLKW, L(&lock))), F(P("fcntl/file")),
	   D("cmd", F_OFD_SETLKW), U("arg", L(&lock)));
	read_it(fd, P("FCNTL/file"));
	end();
}

static void in_splice(void)
{
	long fd = open("splice/file", O_RDWR);
	char name[64];
	struct stat st;

	if (fstat(pipes[0], &st))
		_exit(90);
	snprintf(name, sizeof(name), "pipe:[%lu]", (unsigned long)st.st_ino);
	begin();
	ev("splice", ok(CALL(SYS_splice, pipes[0], 0, fd, 0, 1, 0)), F(name),
	   FILE_AS("other_fhash", P("splice/file")), U("len", 1), U("flags", 0));
	end();
}

/* Opening a FIFO that nobody reads: the name is the string and the directory it is relative to. */
static void in_open(int dir, const char *name)
{
	begin();
	ev("open", bad(CALL(SYS_openat, dir, L("fifo"), O_WRONLY), EINTR), F(name),
	   D("flags", O_WRONLY), RET, D("restarted", 1));
	end();
}

static void in_open_by_cwd(void)
{
	if (chdir("bycwd"))
		_exit(90);
	in_open(AT_FDCWD, P("bycwd/fifo"));
}

static void in_open_by_dirfd(void)
{
	in_open(open("bydirfd", O_RDONLY | O_DIRECTORY), P("bydirfd/fifo"));
}

static const struct waiting {
	const char *dir, *renamed;
	long nr;
	void (*run)(void);
} waiting[] = {
	{ "flock", "FLOCK", SYS_flock, in_flock },
	{ "fcntl", "FCNTL", SYS_fcntl, in_fcntl },
	{ "splice", "SPLICE", SYS_splice, in_splice },
	{ "bycwd", "BYCWD", SYS_openat, in_open_by_cwd },
	{ "bydirfd", "BYDIRFD", SYS_openat, in_open_by_dirfd },
};
#define WAITING (sizeof(waiting) / sizeof(waiting[0]))

static void proc_line(pid_t pid, const char *what, char *line, int size)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	file = fopen(path, "r");
	if (!file || !fgets(line, size, file))
		_exit(91);
	fclose(file);
}

/* Asleep in a call of this number. */
static void until_in(pid_t pid, long nr)
{
	char line[256];
	long now = -1;

	for (;;) {
		proc_line(pid, "syscall", line, sizeof(line));
		if (sscanf(line, "%ld", &now) == 1 && now == nr) {
			proc_line(pid, "stat", line, sizeof(line));
			if (strstr(line, ") S "))
				return;
		}
		sched_yield();
	}
}

static void start_waiting(pid_t *pids)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	for (size_t i = 0; i < WAITING; i++) {
		char path[64];

		if (mkdir(waiting[i].dir, 0700))
			_exit(90);
		snprintf(path, sizeof(path), "%s/file", waiting[i].dir);
		make(path, "x");
		snprintf(path, sizeof(path), "%s/fifo", waiting[i].dir);
		if (mkfifo(path, 0600))
			_exit(90);
	}
	held[0] = open("flock/file", O_RDWR);
	held[1] = open("fcntl/file", O_RDWR);
	if (held[0] < 0 || held[1] < 0 || pipe(pipes) || flock(held[0], LOCK_EX) ||
	    fcntl(held[1], F_OFD_SETLK, &lock))
		_exit(90);
	for (size_t i = 0; i < WAITING; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			close(held[0]);
			close(held[1]);
			waiting[i].run();
			_exit(0);
		}
	}
	for (size_t i = 0; i < WAITING; i++) {
		until_in(pids[i], waiting[i].nr);
		if (rename(waiting[i].dir, waiting[i].renamed))
			_exit(90);
	}
}

static void end_waiting(const pid_t *pids)
{
	int status = -1;

	if (write(pipes[1], "x", 1) != 1)
		_exit(90);
	kill(pids[3], SIGUSR1);
	kill(pids[4], SIGUSR1);
	close(held[0]);
	close(held[1]);
	for (size_t i = 0; i < WAITING; i++)
		if (waitpid(pids[i], &status, 0) != pids[i] || status)
			_exit(92);
}

/* ---- calls that do not ---- */

/* A file is made, renamed, and removed while it is open. */
static void one_file(const char *dir, int i)
{
	char old[NAME_SZ], new[NAME_SZ];
	long fd;

	numbered(old, dir, "old", i);
	numbered(new, dir, "new", i);
	fd = ok(CALL(SYS_openat, AT_FDCWD, L(old), O_CREAT | O_RDWR, 0600));
	ev("open", fd, F(old), D("flags", O_CREAT | O_RDWR), U("mode", 0600));
	ev("pwrite", ok(CALL(SYS_pwrite64, fd, L("x"), 1, 0)), F(old), U("count", 1),
	   D("offset", 0));
	ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L(old), AT_FDCWD, L(new), 0)), F(old),
	   FILE_AS("newpath_hash", new), U("flags", 0));
	read_it(fd, new);
	ev("unlink", ok(CALL(SYS_unlinkat, AT_FDCWD, L(new), 0)), F(new));
	ev("close", ok(CALL(SYS_close, fd)), F(new), RET, D("deleted", 1));
}

static void *files(void *arg)
{
	const char *dir = arg;

	begin();
	for (int i = 0; i < rounds; i++)
		one_file(dir, i);
	end();
	return NULL;
}

/* A current directory whose name changes: paths relative to it, and a file that is open below it. */
static void *directories(void *arg)
{
	char was[NAME_SZ], is[NAME_SZ], path[NAME_SZ + 2];
	long fd;

	numbered(was, arg, "dir", 0);
	if (mkdir(was, 0700) || chdir(was))
		_exit(90);
	make("f", "x");
	fd = open("f", O_RDWR);
	begin();
	for (int i = 1; i <= rounds; i++) {
		numbered(is, arg, "dir", i);
		ev("rename", ok(CALL(SYS_renameat2, AT_FDCWD, L(was), AT_FDCWD, L(is), 0)), F(was),
		   FILE_AS("newpath_hash", is), U("flags", 0));
		snprintf(path, sizeof(path), "%s/f", is);
		read_it(fd, path);
		ev("access", ok(CALL(SYS_faccessat, AT_FDCWD, L("f"), F_OK)), F(path),
		   U("mode", F_OK));
		strcpy(was, is);
	}
	end();
	return NULL;
}

static void work(int n)
{
	void *(*run)(void *) = n < WORKERS ? files : directories;
	pthread_t thread;
	char dirs[2][16];

	for (int i = 0; i < 2; i++) {
		snprintf(dirs[i], sizeof(dirs[i]), "w%d", 2 * n + i);
		if (mkdir(dirs[i], 0700))
			_exit(90);
	}
	if (n < WORKERS && pthread_create(&thread, NULL, run, dirs[1]))
		_exit(90);
	run(dirs[0]);
	if (n < WORKERS)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	pid_t pids[WAITING], workers[WORKERS + 1];
	int status = -1;

	rounds = argc == 2 ? atoi(argv[1]) : 0;
	if (rounds < 1 || !getcwd(cwd, sizeof(cwd)) || sigaction(SIGUSR1, &action, NULL))
		return 1;
	start_waiting(pids);
	for (int i = 0; i <= WORKERS; i++) {
		workers[i] = fork();
		if (!workers[i]) {
			work(i);
			_exit(0);
		}
	}
	for (int i = 0; i <= WORKERS; i++)
		if (waitpid(workers[i], &status, 0) != workers[i] || status)
			return 1;
	end_waiting(pids);
	return 0;
}
