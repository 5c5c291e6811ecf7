// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arm.h"
#include "clock.h"
#include "log.h"
#include "mappings.h"
#include "tracer.h"

#include "tests/lib/elfmake.h"

/* ---- the tracer's part, which only writes down what it is asked ----------------------------- */

struct dft_armed {
	ino_t ino;
	size_t n;
	struct dft_site first;
};

static struct dft_armed armed[16]; /* n = 0: free */
static unsigned int arms;	   /* calls, also those that failed */
static int arm_error;

int dft_tracer_arm(struct dft_tracer *tracer, const char *path, const struct dft_site *sites,
		   size_t n, struct dft_armed **out)
{
	struct stat st;

	(void)tracer;
	arms++;
	if (arm_error)
		return arm_error;
	if (stat(path, &st) || !n)
		return -EINVAL;
	for (size_t i = 0; i < 16; i++) {
		if (armed[i].n)
			continue;
		armed[i] = (struct dft_armed){ st.st_ino, n, sites[0] };
		*out = &armed[i];
		return 0;
	}
	return -EBUSY;
}

void dft_tracer_disarm(struct dft_tracer *tracer, struct dft_armed *one)
{
	(void)tracer;
	if (one)
		one->n = 0;
}

void dft_tracer_disarm_all(struct dft_tracer *tracer, struct dft_armed **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dft_tracer_disarm(tracer, list[i]);
}

void dft_tracer_images_unseen(struct dft_tracer *tracer)
{
	(void)tracer;
}

/* File systems without leases: then changes are only noticed afterwards, which most tests are about. */
static bool leases;

int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	if (cmd == F_SETLEASE && !leases) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_fcntl, fd, cmd, arg);
}

static const struct dft_armed *armed_as(ino_t ino)
{
	const struct dft_armed *found = NULL;

	for (size_t i = 0; i < 16; i++) {
		if (!armed[i].n || armed[i].ino != ino)
			continue;
		assert_null(found); /* not twice */
		found = &armed[i];
	}
	return found;
}

static unsigned int armed_now(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < 16; i++)
		n += armed[i].n != 0;
	return n;
}

/* ---- each test: a directory to be in, and what was said ------------------------------------- */

static struct dft_arm *arm;
static char dir[64], old_cwd[PATH_MAX], words[8192];
static int old_stderr, said_fd, fds_before;

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
	memset(armed, 0, sizeof(armed));
	arms = 0;
	arm_error = 0;
	fds_before = open_fds();
	strcpy(dir, "/tmp/dft-arm-XXXXXX");
	if (!getcwd(old_cwd, sizeof(old_cwd)) || !mkdtemp(dir) || chdir(dir))
		return -1;
	arm = dft_arm_new(NULL);
	old_stderr = dup(2);
	said_fd = memfd_create("said", MFD_CLOEXEC);
	return !arm || dup2(said_fd, 2) < 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	dup2(old_stderr, 2);
	close(old_stderr);
	close(said_fd);
	dft_arm_free(arm);
	if (armed_now() || open_fds() != fds_before)
		return -1;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) || chdir(old_cwd);
}

/* What was said since the last call. */
static const char *said(void)
{
	ssize_t n = pread(said_fd, words, sizeof(words) - 1, 0);

	assert_true(n >= 0);
	words[n] = '\0';
	assert_int_equal(ftruncate(said_fd, 0), 0);
	assert_int_equal(lseek(2, 0, SEEK_SET), 0);
	return words;
}

static ino_t ino_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* A program with `n` probes of which the first is at `address`. */
static void program(const char *path, size_t n, uint64_t address)
{
	struct make m;

	make_begin(&m, 1 << 16);
	for (size_t i = 0; i < n; i++)
		make_probe(&m, "event", address + i * 16, MAKE_DATA);
	make_end(&m);
	write_bytes(path, m.b, m.size);
	make_free(&m);
}

static struct dft_arm_result look(const char *path)
{
	struct dft_arm_result result;
	int fd = open(path, O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	dft_arm_fd(arm, fd, path, &result);
	close(fd);
	return result;
}

static void want_armed(const struct dft_arm_result *result)
{
	assert_int_equal(result->err, 0);
	assert_true(result->probes);
	assert_true(result->since_ns > 0 && result->since_ns <= dft_clock_mono_ns());
}

static void want_plain(const struct dft_arm_result *result)
{
	assert_int_equal(result->err, 0);
	assert_false(result->probes);
	assert_true(result->since_ns == 0);
}

static void want_failed(const struct dft_arm_result *result, bool probes, int err)
{
	assert_int_equal(result->err, err);
	assert_int_equal(result->probes, probes);
	assert_true(result->since_ns == 0);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void once(void **state)
{
	struct dft_arm_result first, again;
	uint64_t before = dft_clock_mono_ns();

	(void)state;
	program("a", 3, MAKE_CODE + 0x40);
	first = look("a");
	want_armed(&first);
	assert_true(first.since_ns >= before);
	assert_non_null(armed_as(ino_of("a")));
	assert_int_equal(armed_as(ino_of("a"))->n, 3);
	assert_int_equal(armed_as(ino_of("a"))->first.offset, MAKE_CODE_OFF + 0x40);
	assert_int_equal(armed_as(ino_of("a"))->first.sem_offset, MAKE_DATA_OFF);
	/* By the same name, another, and when it has none. */
	again = look("a");
	assert_memory_equal(&again, &first, sizeof(first));
	assert_int_equal(link("a", "b"), 0);
	again = look("b");
	assert_memory_equal(&again, &first, sizeof(first));
	assert_int_equal(unlink("a") || chmod("b", 0700), 0);
	again = look("b");
	assert_memory_equal(&again, &first, sizeof(first));
	assert_int_equal(arms, 1);
	/* A copy is another file. */
	program("c", 3, MAKE_CODE + 0x40);
	again = look("c");
	want_armed(&again);
	assert_true(again.since_ns > first.since_ns);
	assert_int_equal(arms, 2);
	assert_string_equal(said(), "");
}

static void plain(void **state)
{
	struct dft_arm_result result;

	(void)state;
	program("a", 0, 0);
	write_bytes("b", "#!/bin/sh\n", 10);
	write_bytes("c", "", 0);
	assert_int_equal(mkfifo("d", 0600), 0);
	for (const char *path = "a\0b\0c\0d\0/\0/dev/null\0"; *path; path += strlen(path) + 1) {
		result = look(path);
		want_plain(&result);
		result = look(path);
		want_plain(&result);
		assert_int_equal(dft_arm_file(arm, path, false), 0);
	}
	assert_int_equal(dft_arm_file(arm, "none", false), -ENOENT);
	assert_string_equal(said(), "");
	assert_int_equal(arms + dft_arm_failures(arm), 0);
	/* It gets some. */
	program("c", 1, MAKE_CODE);
	result = look("c");
	want_armed(&result);
	assert_string_equal(said(), "");
}

static void asked_for(void **state)
{
	struct make m;

	(void)state;
	program("good", 1, MAKE_CODE);
	assert_int_equal(dft_arm_file(arm, "good", true), 0);
	assert_int_equal(dft_arm_file(arm, "good", true), 0);
	assert_string_equal(said(), "");
	assert_int_equal(dft_arm_file(arm, "none", true), -ENOENT);
	assert_string_equal(said(),
			    "dftrace-bpf: --usdt none: cannot be opened: No such file or directory "
			    "(check the path)\n");
	assert_int_equal(dft_arm_file(arm, "good/x", true), -ENOTDIR);
	said();
	program("plain", 0, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(dft_arm_file(arm, "plain", true), -ENODATA);
		assert_string_equal(said(),
				    "dftrace-bpf: --usdt plain: it has no dftracer probes (build "
				    "it with dftracer/dftracer.h)\n");
	}
	assert_int_equal(dft_arm_file(arm, "/", true), -ENOEXEC);
	assert_string_equal(said(),
			    "dftrace-bpf: --usdt /: not an ELF program or library (name one that "
			    "has dftracer probes)\n");
	write_bytes("text", "hello", 5);
	assert_int_equal(dft_arm_file(arm, "text", true), -ENOEXEC);
	assert_non_null(strstr(said(), "--usdt text: not an ELF program"));

	make_begin(&m, 4096);
	make_note(&m, "event", MAKE_CODE, 0); /* no nop there */
	make_note(&m, "other", MAKE_CODE, 0);
	make_end(&m);
	write_bytes("refused", m.b, m.size);
	assert_int_equal(dft_arm_file(arm, "refused", true), -ENODATA);
	assert_non_null(
		strstr(said(), "--usdt refused: its dftracer probes are not in its code (name"));
	m.notes = MAKE_NOTES;
	make_note(&m, "other", MAKE_CODE, 0);
	make_end(&m);
	write_bytes("foreign", m.b, m.size);
	assert_int_equal(dft_arm_file(arm, "foreign", true), -ENODATA);
	assert_non_null(
		strstr(said(), "--usdt foreign: its dftracer probes are not of this version"));
	m.eh->e_ident[EI_CLASS] = ELFCLASS32;
	write_bytes("small", m.b, m.size);
	assert_int_equal(dft_arm_file(arm, "small", true), -EMEDIUMTYPE);
	assert_non_null(strstr(said(), "--usdt small: for another processor, or of 32 bits (name"));
	make_free(&m);

	arm_error = -EPERM;
	program("bad", 1, MAKE_CODE);
	assert_int_equal(dft_arm_file(arm, "bad", true), -EPERM);
	assert_string_equal(said(),
			    "dftrace-bpf: --usdt bad: its probes cannot be armed: Operation not "
			    "permitted (run dftrace-bpf as root)\n");
	arm_error = 0;
	assert_int_equal(dft_arm_file(arm, "bad", true), 0);
	assert_int_equal(armed_now(), 2);
}

static void failing(void **state)
{
	struct dft_arm_result result;
	struct make m;

	(void)state;
	program("a", 1, MAKE_CODE);
	program("b", 1, MAKE_CODE);
	arm_error = -EINVAL;
	result = look("a");
	want_failed(&result, true, -EINVAL);
	assert_non_null(
		strstr(said(), "dftrace-bpf: a: its probes cannot be armed: Invalid argument ("));
	/* Not tried again, nor said. */
	arm_error = 0;
	result = look("a");
	want_failed(&result, true, -EINVAL);
	assert_string_equal(said(), "");
	assert_int_equal(arms, 1);
	assert_int_equal(dft_arm_failures(arm), 1);
	/* Nor when it cannot even be looked at: more sections than anybody has. */
	make_begin(&m, 4096);
	make_end(&m);
	m.eh->e_shnum = 0;
	m.sh[0].sh_size = 1 << 30;
	write_bytes("huge", m.b, m.size);
	make_free(&m);
	for (int i = 0; i < 2; i++) {
		result = look("huge");
		want_failed(&result, false, -E2BIG);
		assert_int_equal(strstr(said(), "dftrace-bpf: huge: cannot be looked at: Argument "
						"list too long (") != NULL,
				 i == 0);
	}
	assert_int_equal(dft_arm_file(arm, "huge", true), -E2BIG);
	assert_non_null(strstr(said(), "dftrace-bpf: --usdt huge: cannot be looked at: "));
	assert_int_equal(dft_arm_failures(arm), 3);
	/* What is short may be there later. */
	arm_error = -EMFILE;
	result = look("b");
	want_failed(&result, true, -EMFILE);
	assert_non_null(strstr(said(),
			       "dftrace-bpf: b: its probes cannot be armed: Too many open files "
			       "(raise ulimit -n or fs.inotify.max_user_instances)"));
	result = look("b");
	want_failed(&result, true, -EMFILE);
	assert_string_equal(said(), "");
	assert_int_equal(dft_arm_failures(arm), 5);
	arm_error = 0;
	result = look("b");
	want_armed(&result);
	assert_int_equal(armed_now(), 1);
	/* As is a descriptor to look with. */
	dft_arm_fd(arm, -EMFILE, "c", &result);
	want_failed(&result, false, -EMFILE);
	assert_int_equal(dft_arm_failures(arm), 6);
	dft_arm_fd(arm, -ENOENT, "c", &result);
	want_failed(&result, false, -ENOENT);
	assert_int_equal(dft_arm_failures(arm), 6);
	assert_string_equal(said(), "");
}

/* ---- files that change ---------------------------------------------------------------------- */

static void written_to(void **state)
{
	struct dft_arm_result result;

	(void)state;
	assert_true(dft_arm_watch_fd(arm) >= 0);
	program("a", 2, MAKE_CODE);
	program("b", 1, MAKE_CODE);
	look("a");
	look("b");
	assert_int_equal(dft_arm_on_watch(arm), 0);
	assert_int_equal(armed_now(), 2);
	program("a", 1, MAKE_CODE + 0x80);
	assert_int_equal(dft_arm_on_watch(arm), 1);
	assert_string_equal(said(),
			    "dftrace-bpf: a: it has changed: its probes are disarmed while it is written "
			    "to\n");
	assert_int_equal(armed_now(), 1);
	assert_null(armed_as(ino_of("a")));
	assert_int_equal(dft_arm_on_watch(arm), 0);
	result = look("a");
	want_armed(&result);
	assert_int_equal(armed_as(ino_of("a"))->first.offset, MAKE_CODE_OFF + 0x80);
	/* Opened for writing, and nothing written. */
	close(open("a", O_WRONLY | O_CLOEXEC));
	assert_int_equal(dft_arm_on_watch(arm), 0);
	assert_int_equal(armed_now(), 2);
	assert_string_equal(said(), "");
	/* What was without probes is not watched. */
	program("c", 0, 0);
	look("c");
	program("c", 0, 0);
	assert_int_equal(dft_arm_on_watch(arm), 0);
}

/* Who opens it for writing waits until it is disarmed. */
static void leased(void **state)
{
	struct dft_arm_result result;
	sigset_t set;
	int pipe_fds[2], signal, status, fd;
	char byte = 0;
	pid_t pid;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	program("a", 2, MAKE_CODE);
	fd = open("a", O_WRONLY | O_CLOEXEC);
	leases = true;
	result = look("a");
	assert_int_equal(result.err, -ETXTBSY); /* who has it open already cannot be made to wait */
	close(fd);
	result = look("a");
	want_armed(&result);
	said();
	dft_arm_on_lease(arm);
	assert_int_equal(armed_now(), 1);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		fd = open("a", O_WRONLY | O_TRUNC | O_CLOEXEC);
		_exit(fd < 0 || write(pipe_fds[1], "w", 1) != 1);
	}
	assert_int_equal(sigwait(&set, &signal), 0);
	assert_int_equal(read(pipe_fds[0], &byte, 1), -1); /* it waits */
	assert_int_equal(armed_now(), 1);
	dft_arm_on_lease(arm);
	assert_int_equal(armed_now(), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	assert_string_equal(said(), "dftrace-bpf: a: it has changed: its probes are disarmed while it is written "
			    "to\n");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	leases = false;
}

/* Whoever writes through a mapping is noticed when the file is closed, by its time. */
static void written_by_mapping(void **state)
{
	char *at;
	int fd;

	(void)state;
	program("a", 1, MAKE_CODE);
	look("a");
	fd = open("a", O_RDWR | O_CLOEXEC);
	at = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	at[MAKE_CODE_OFF] = 0x55;
	assert_int_equal(msync(at, 0x2000, MS_SYNC), 0);
	munmap(at, 0x2000);
	futimens(fd, NULL); /* the clock of files may be too coarse to show it */
	close(fd);
	assert_int_equal(dft_arm_on_watch(arm), 1);
	assert_int_equal(armed_now(), 0);
}

/* Noticed when it is looked at, before the events are. */
static void looked_at_first(void **state)
{
	const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct dft_arm_result first, result;

	(void)state;
	program("a", 2, MAKE_CODE);
	first = look("a");
	/* Its time alone, and its size too: the probes are where they were. */
	assert_int_equal(utimensat(AT_FDCWD, "a", old, 0), 0);
	result = look("a");
	assert_memory_equal(&first, &result, sizeof(first));
	program("a", 2, MAKE_CODE + 0x100);
	result = look("a");
	want_armed(&result);
	assert_true(result.since_ns > first.since_ns);
	assert_int_equal(armed_now(), 1);
	assert_int_equal(armed_as(ino_of("a"))->first.offset, MAKE_CODE_OFF + 0x100);
	assert_non_null(strstr(said(), "dftrace-bpf: a: it has changed: its probes are disarmed"));
	/* The event is of the one that was disarmed. */
	assert_int_equal(dft_arm_on_watch(arm), 0);
	assert_int_equal(armed_now(), 1);
	program("a", 0, 0);
	result = look("a");
	want_plain(&result);
	assert_int_equal(armed_now(), 0);
}

static void many_plain(void **state)
{
	struct dft_arm_result result;

	(void)state;
	program("a", 1, MAKE_CODE);
	look("a");
	for (int i = 0; i < 66000; i++) {
		int fd = memfd_create("plain", MFD_CLOEXEC);

		assert_true(fd >= 0);
		dft_arm_fd(arm, fd, "plain", &result);
		want_plain(&result);
		close(fd);
	}
	result = look("a");
	want_armed(&result);
	assert_int_equal(arms, 1);
}

/* ---- processes ------------------------------------------------------------------------------ */

/* A child that maps files to be executed and waits. */
struct child {
	pid_t pid;
	int wait_fd; /* closing it ends the child */
};

static void *wait_for_end(void *ctx)
{
	char byte;

	_exit(read(*(int *)ctx, &byte, 1) != 0);
}

/* `paths` are joined by '|'. With `leave`, the first thread ends and another one stays. */
static struct child child_with(const char *paths, bool leave)
{
	int ready[2], wait[2];
	struct child child;
	pthread_t thread;
	char byte;

	assert_int_equal(pipe(ready) || pipe(wait), 0);
	child.pid = fork();
	if (child.pid == 0) {
		char copy[1024], *rest = copy, *path;

		close(wait[1]);
		snprintf(copy, sizeof(copy), "%s", paths);
		while ((path = strsep(&rest, "|"))) {
			int fd = open(path, O_RDONLY);

			if (mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000) ==
			    MAP_FAILED)
				_exit(1);
			close(fd);
		}
		if (leave) {
			pthread_create(&thread, NULL, wait_for_end, &wait[0]);
			if (write(ready[1], "r", 1) != 1)
				_exit(1);
			pthread_exit(NULL);
		}
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		wait_for_end(&wait[0]);
	}
	assert_true(child.pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(wait[0]);
	child.wait_fd = wait[1];
	return child;
}

static void end_child(struct child *child)
{
	int status;

	close(child->wait_fd);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

/* map_files takes a capability; without it, names must do. */
static bool can_see_deleted(void)
{
	return geteuid() == 0;
}

static void mapped(void **state)
{
	struct child child;
	ino_t gone;

	(void)state;
	program("a", 1, MAKE_CODE);
	program("b b\n", 1, MAKE_CODE);
	program("plain", 0, 0);
	program("unused", 1, MAKE_CODE);
	program("gone", 1, MAKE_CODE);
	gone = ino_of("gone");
	child = child_with("a|plain|gone|b b\n", false);
	assert_int_equal(unlink("gone"), 0);
	program("gone", 1, MAKE_CODE); /* another one */
	assert_int_equal(dft_arm_process(arm, child.pid), 0);
	assert_non_null(armed_as(ino_of("a")));
	if (can_see_deleted()) {
		assert_non_null(armed_as(ino_of("b b\n")));
		assert_non_null(armed_as(gone));
		assert_int_equal(armed_now(), 3);
	} else {
		assert_int_equal(armed_now(), 1);
	}
	assert_int_equal(dft_arm_process(arm, child.pid), 0);
	assert_null(armed_as(ino_of("gone")));
	assert_null(armed_as(ino_of("unused")));
	end_child(&child);
	assert_int_equal(dft_arm_process(arm, child.pid), 0);
}

static void first_thread_gone(void **state)
{
	char path[64], line[256] = "";
	struct child child;
	FILE *f;

	(void)state;
	program("a", 1, MAKE_CODE);
	child = child_with("a", true);
	/* Until it is a zombie: there is no event for that. */
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child.pid);
	while (!strstr(line, ") Z")) {
		f = fopen(path, "re");
		assert_non_null(f);
		assert_non_null(fgets(line, sizeof(line), f));
		fclose(f);
	}
	assert_int_equal(dft_arm_process(arm, child.pid), 0);
	assert_int_equal(armed_now(), 1);
	end_child(&child);
}

static void everybody(void **state)
{
	struct child one, two;
	void *own;
	int fd;

	(void)state;
	program("a", 1, MAKE_CODE);
	program("b", 1, MAKE_CODE);
	program("own", 1, MAKE_CODE);
	one = child_with("a", false);
	two = child_with("b|a", false);
	fd = open("own", O_RDONLY | O_CLOEXEC);
	own = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0x1000);
	assert_ptr_not_equal(own, MAP_FAILED);
	close(fd);
	assert_int_equal(dft_arm_all(arm), 0);
	assert_non_null(armed_as(ino_of("a")));
	assert_non_null(armed_as(ino_of("b")));
	assert_null(armed_as(ino_of("own")));
	munmap(own, 0x1000);
	end_child(&two); /* which has the first one's pipe, too */
	end_child(&one);
}

static struct dft_image_key key_of_file(const char *path)
{
	struct dft_image_key key = { 0 };
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	key.ino = st.st_ino;
	key.size = (uint64_t)st.st_size;
	key.dev = major(st.st_dev) << 20 | minor(st.st_dev);
	return key;
}

static void reported(void **state)
{
	struct dft_arm_result result, first;
	struct dft_image_key key, other;
	char path[PATH_MAX];
	struct child child;

	(void)state;
	program("a", 1, MAKE_CODE);
	program("b", 1, MAKE_CODE);
	program("plain", 0, 0);
	program("unmapped", 1, MAKE_CODE);
	child = child_with("a|plain|b", false);
	/* The one that is meant, and no other. */
	key = key_of_file("plain");
	dft_arm_image(arm, child.pid, &key, NULL, &result);
	want_plain(&result);
	assert_int_equal(arms, 0);
	key = key_of_file("b");
	dft_arm_image(arm, child.pid, &key, "/nowhere", &first);
	want_armed(&first);
	assert_int_equal(arms, 1);
	assert_non_null(armed_as(ino_of("b")));
	dft_arm_image(arm, child.pid, &key, "/nowhere", &result);
	assert_memory_equal(&first, &result, sizeof(first));
	/* By name, which must be of the file that is meant. */
	snprintf(path, sizeof(path), "%s/b", dir);
	dft_arm_image(arm, child.pid, NULL, path, &result);
	assert_memory_equal(&first, &result, sizeof(first));
	other = key;
	other.dev++;
	dft_arm_image(arm, child.pid, &other, path, &result);
	assert_memory_equal(&first, &result, sizeof(first));
	other.ino += 1000000;
	dft_arm_image(arm, child.pid, &other, path, &result);
	want_failed(&result, false, -ENOENT);
	other = key;
	other.dev++;
	other.size++;
	dft_arm_image(arm, child.pid, &other, path, &result);
	want_failed(&result, false, -ENOENT);
	assert_int_equal(arms, 1);
	/* Not mapped any more, but there. */
	snprintf(path, sizeof(path), "%s/unmapped", dir);
	dft_arm_image(arm, child.pid, &key, path, &result);
	want_armed(&result); /* that of b, which is mapped */
	assert_null(armed_as(ino_of("unmapped")));
	key = key_of_file("unmapped");
	dft_arm_image(arm, child.pid, &key, path, &result);
	want_armed(&result);
	assert_non_null(armed_as(ino_of("unmapped")));
	assert_null(armed_as(ino_of("a")));
	assert_int_equal(arms, 2);
	end_child(&child);
}

/* The process has another root by now, where the path stands for another file. */
static void reported_in_another_root(void **state)
{
	struct dft_arm_result result;
	char path[PATH_MAX], inside[PATH_MAX], command[2 * PATH_MAX];
	struct dft_image_key key;
	int ready[2], go[2];
	char byte;
	pid_t pid;

	(void)state;
	if (geteuid())
		return; /* for root alone */
	program("a", 1, MAKE_CODE);
	snprintf(path, sizeof(path), "%s/a", dir);
	snprintf(inside, sizeof(inside), "%s/jail%s/a", dir, dir);
	snprintf(command, sizeof(command), "mkdir -p %s/jail%s", dir, dir);
	assert_int_equal(system(command), 0);
	program(inside, 1, MAKE_CODE + 0x10);
	assert_int_equal(pipe(ready) || pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		_exit(chroot("jail") || write(ready[1], "r", 1) != 1 || read(go[0], &byte, 1));
	}
	close(go[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	key = key_of_file("a");
	key.dev++; /* numbers that maps would not have, either */
	dft_arm_image(arm, pid, &key, path, &result);
	want_armed(&result);
	assert_non_null(armed_as(ino_of("a")));
	key = key_of_file(inside);
	dft_arm_image(arm, pid, &key, path, &result);
	want_armed(&result);
	assert_non_null(armed_as(ino_of(inside)));
	key.ino++;
	dft_arm_image(arm, pid, &key, path, &result);
	want_failed(&result, false, -ENOENT);
	assert_int_equal(arms, 2);
	close(go[1]);
	assert_int_equal(waitpid(pid, &(int){ 0 }, 0), pid);
}

static void reported_and_gone(void **state)
{
	struct dft_arm_result result, again;
	struct dft_image_key key;
	char path[PATH_MAX];
	struct child child;

	(void)state;
	program("a", 1, MAKE_CODE);
	child = child_with("a", false);
	end_child(&child);
	key = key_of_file("a");
	dft_arm_image(arm, child.pid, &key, NULL, &result);
	want_failed(&result, false, -ENOENT);
	dft_arm_image(arm, child.pid, &key, "/nowhere", &result);
	want_failed(&result, false, -ENOENT);
	dft_arm_image(arm, child.pid, &key, "a", &result); /* relative to what? */
	want_failed(&result, false, -ENOENT);
	snprintf(path, sizeof(path), "%s/a", dir);
	dft_arm_image(arm, child.pid, &key, path, &result);
	want_armed(&result);
	assert_int_equal(armed_now(), 1);
	/* Known by its numbers from now on, while nothing of it has changed. */
	assert_int_equal(rename("a", "b"), 0);
	dft_arm_image(arm, child.pid, &key, "/nowhere", &again);
	assert_memory_equal(&again, &result, sizeof(result));
	dft_arm_image(arm, child.pid, &key, NULL, &again);
	assert_memory_equal(&again, &result, sizeof(result));
	program("b", 1, MAKE_CODE + 0x30);
	dft_arm_image(arm, child.pid, &key, NULL, &again);
	want_armed(&again);
	assert_true(again.since_ns > result.since_ns);
	assert_int_equal(armed_as(ino_of("b"))->first.offset, MAKE_CODE_OFF + 0x30);
	key.size++;
	dft_arm_image(arm, child.pid, &key, NULL, &again);
	want_failed(&again, false, -ENOENT);
	/* Those without probes are not. */
	program("plain", 0, 0);
	look("plain");
	key = key_of_file("plain");
	dft_arm_image(arm, child.pid, &key, NULL, &again);
	want_failed(&again, false, -ENOENT);
}

static void commands(void **state)
{
	char name[PATH_MAX], *argv[] = { name, NULL };

	(void)state;
	program("a", 1, MAKE_CODE);
	snprintf(name, sizeof(name), "%s/a", dir);
	assert_int_equal(dft_arm_command(arm, argv), 0);
	assert_non_null(armed_as(ino_of("a")));
	snprintf(name, sizeof(name), "./none");
	assert_int_equal(dft_arm_command(arm, argv), 0);
	program("libdftracer.so", 1, MAKE_CODE);
	setenv("DFTRACER_LIBRARY", "./libdftracer.so", 1);
	assert_int_equal(dft_arm_command(arm, NULL), 0);
	unsetenv("DFTRACER_LIBRARY");
	assert_non_null(armed_as(ino_of("libdftracer.so")));
}

static void lines_of_maps(void **state)
{
	static const struct {
		const char *line, *path; /* NULL: not ours */
		uint64_t start, end, ino;
		uint32_t dev;
	} cases[] = {
		{ "55d0c8a3c000-55d0c8a3e000 r-xp 00002000 fe:01 1234          /usr/bin/cat\n",
		  "/usr/bin/cat", 0x55d0c8a3c000, 0x55d0c8a3e000, 1234, 0xfe << 20 | 1 },
		{ "00400000-00401000 --xp 00000000 103:fffff 18446744073709551615 /a b (deleted)\n",
		  "/a b (deleted)", 0x400000, 0x401000, UINT64_MAX, 0x103 << 20 | 0xfffff },
		{ "00400000-00401000 rwxs 00000000 00:01 7 /x", "/x", 0x400000, 0x401000, 7, 1 },
		{ .line = "00400000-00401000 r--p 00000000 fe:01 1234 /usr/bin/cat\n" },
		{ .line = "00400000-00401000 r-xp 00000000 00:00 0 \n" },
		{ .line = "7ffe-7fff r-xp 00000000 00:00 0                  [vdso]\n" },
		{ .line = "00400000-00401000 r-xp 00000000 00:0e 99 anon_inode:[perf_event]\n" },
		{ .line = "00400000-00401000 r-xp 00000000 00:0e 99\n" },
		{ .line = "00400000-00401000 r-xp 00000000\n" },
		{ .line = "\n" },
		{ .line = "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *line = strdup(cases[i].line);
		struct dft_mapping m;
		bool is = dft_mapping_parse(line, &m);

		assert_int_equal(is, cases[i].path != NULL);
		if (is) {
			assert_string_equal(m.path, cases[i].path);
			assert_true(m.start == cases[i].start && m.end == cases[i].end);
			assert_true(m.ino == cases[i].ino && m.dev == cases[i].dev);
		}
		free(line);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(once),
		T(plain),
		T(asked_for),
		T(failing),
		T(written_to),
		T(leased),
		T(written_by_mapping),
		T(looked_at_first),
		T(many_plain),
		T(mapped),
		T(first_thread_gone),
		T(everybody),
		T(reported),
		T(reported_in_another_root),
		T(reported_and_gone),
		T(commands),
		T(lines_of_maps),
	};

	dft_log_init("dftrace-bpf", DFT_LOG_NORMAL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
