// SPDX-License-Identifier: MIT
/* dftrace-bpf: parse, then do what was asked. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"
#include "log.h"
#include "probe.h"
#include "session.h"
#include "syscalls.h"
#include "version.h"

/*
 * When started with descriptor 0, 1 or 2 closed, the next thing opened would get that number, and a
 * message would be written into, say, a trace file. The stand-ins are close-on-exec, so that CMD
 * finds the descriptor closed as it was.
 */
static int fill_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return -1;
	}
	return 0;
}

/* What goes to stdout was wanted by somebody: a full disk must not pass for success. */
static int flush_stdout(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	dft_error("standard output: %s (what was printed is incomplete)", strerror(errno));
	return DFT_EXIT_OUTPUT;
}

static int dispatch(const struct dft_config *cfg)
{
	switch (cfg->action) {
	case DFT_ACTION_HELP:
		dft_cli_help();
		return flush_stdout(DFT_EXIT_OK);
	case DFT_ACTION_VERSION:
		printf("dftrace-bpf %s\n", DFT_VERSION);
		return flush_stdout(DFT_EXIT_OK);
	case DFT_ACTION_INFO:
		return flush_stdout(dft_probe_info(cfg->json));
	case DFT_ACTION_LIST_SYSCALLS:
		return flush_stdout(dft_list_syscalls());
	case DFT_ACTION_TRACE:
		break;
	}
	return dft_session_run(cfg);
}

int main(int argc, char **argv)
{
	struct dft_config cfg;
	int status = DFT_EXIT_USAGE;

	if (fill_standard_fds())
		return DFT_EXIT_TRACER; /* there may be nowhere to say it */
	dft_log_init("dftrace-bpf", DFT_LOG_NORMAL);
	if (dft_cli_parse(&cfg, argc, argv) == 0) {
		if (cfg.quiet)
			dft_log_set_level(DFT_LOG_QUIET);
		else if (cfg.verbose)
			dft_log_set_level(DFT_LOG_VERBOSE);
		status = dispatch(&cfg);
	}
	dft_cli_free(&cfg);
	return status;
}
