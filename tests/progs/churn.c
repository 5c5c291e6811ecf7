// SPDX-License-Identifier: MIT
/*
 * Creates and joins threads, and forks, all the time. Each thread and each process reads a file over
 * and over; from the moment on when a byte came in on stdin, the n-th read of a thread is at offset n,
 * from 1 on, before that at 0. At its end it tells how many such reads it made:
 *
 *   PID TID N BORN
 *
 * BORN is when the process was about to be forked, in microseconds since 1970. A second byte on stdin
 * ends it all. `churn FILE`, the file being of more than 100,000 bytes.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READS 40

static struct {
	int counted, over;
} *shared; /* also by the children */

static int fd;
static long long born;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static int counted(void)
{
	return __atomic_load_n(&shared->counted, __ATOMIC_SEQ_CST);
}

static int over(void)
{
	return __atomic_load_n(&shared->over, __ATOMIC_SEQ_CST);
}

static void *reader(void *arg)
{
	char byte, line[96];
	int n = 0, len;

	(void)arg;
	for (int i = 0; i < READS; i++) {
		if (counted())
			n++;
		if (pread(fd, &byte, 1, n) != 1)
			abort();
	}
	len = snprintf(line, sizeof(line), "%d %d %d %lld\n", getpid(), gettid(), n, born);
	if (write(1, line, (size_t)len) != len)
		abort();
	return NULL;
}

static void *with_threads(void *arg)
{
	pthread_t two[2];

	(void)arg;
	while (!over()) {
		for (int i = 0; i < 2; i++)
			if (pthread_create(&two[i], NULL, reader, NULL))
				abort();
		for (int i = 0; i < 2; i++)
			pthread_join(two[i], NULL);
	}
	return NULL;
}

static void *with_processes(void *arg)
{
	(void)arg;
	while (!over()) {
		long long before = now();
		pid_t child = fork();
		int status = -1;

		if (!child) {
			pthread_t thread;

			born = before;
			if (pthread_create(&thread, NULL, reader, NULL))
				abort();
			reader(NULL);
			pthread_join(thread, NULL);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			abort();
	}
	return NULL;
}

/* Lives through it all. */
static void *for_ever(void *arg)
{
	char byte, line[96];
	int n = 0, len;

	(void)arg;
	while (!over()) {
		if (counted() && n < 100000)
			n++;
		if (pread(fd, &byte, 1, n) != 1)
			abort();
		if (n == 100000)
			break;
		sched_yield();
	}
	len = snprintf(line, sizeof(line), "%d %d %d %lld\n", getpid(), gettid(), n, born);
	if (write(1, line, (size_t)len) != len)
		abort();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];
	char byte;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDONLY);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	if (pthread_create(&thread[0], NULL, with_threads, NULL) ||
	    pthread_create(&thread[1], NULL, with_processes, NULL) ||
	    pthread_create(&thread[2], NULL, for_ever, NULL) ||
	    pthread_create(&thread[3], NULL, with_threads, NULL))
		return 1;
	if (read(0, &byte, 1) != 1)
		return 1;
	__atomic_store_n(&shared->counted, 1, __ATOMIC_SEQ_CST);
	if (read(0, &byte, 1) != 1)
		return 1;
	__atomic_store_n(&shared->over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
