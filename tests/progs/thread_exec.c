// SPDX-License-Identifier: MIT
/*
 * A thread that is not the first one execs another program while further threads are blocked:
 * thread_exec PROGRAM ARGUMENTS
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static char **command;
static pthread_barrier_t all;

static void *blocked(void *arg)
{
	pthread_barrier_wait(&all);
	pause();
	return arg;
}

static void *executor(void *arg)
{
	pthread_barrier_wait(&all);
	access("/dft-before-exec", F_OK);
	close(open("/", O_RDONLY | O_DIRECTORY));
	execv(command[0], command);
	perror(command[0]);
	_exit(1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	command = argv + 1;
	pthread_barrier_init(&all, NULL, 4);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, i == 1 ? executor : blocked, NULL))
			return 1;
	blocked(NULL);
	return 1;
}
