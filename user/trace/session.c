// SPDX-License-Identifier: MIT
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroups.h"
#include "child.h"
#include "clock.h"
#include "engine.h"
#include "hash.h"
#include "listen.h"
#include "log.h"
#include "probe.h"
#include "pump.h"
#include "resolve.h"
#include "retire.h"
#include "select.h"
#include "sink.h"
#include "target.h"
#include "tracer.h"

#define TICK_NS	     5000000
#define AGAIN_TICKS  20  /* annotations that could not be listened to */
#define SECOND_TICKS 200

#define PUMP_NICE   (-5)      /* on a machine with nothing idle the ring would fill */

enum { SOURCE_TICK = 1, SOURCE_SIGNAL, SOURCE_CHILD, SOURCE_DURATION, SOURCE_RING, SOURCE_FILES };

struct session {
	const struct dft_config *cfg;
	struct dft_identity id;
	struct dft_cgroups cgroups;
	struct dft_select select;
	struct dft_child *child;
	struct dft_tracer *tracer;
	struct dft_listen listen;
	struct dft_sink *sink;
	struct dft_engine engine;
	struct dft_pump pump;
	struct dft_retire retire;
	struct dft_resolver resolver;
	int epoll_fd, tick_fd, signal_fd, duration_fd;
	uint64_t ticks;
	int child_status;
	bool child_done;
	bool tracing;
	bool quit;        /* leave the loop now */
	bool said_waiting;
	int signals[NSIG];
	int fatal_signal; /* the tracer ends as if by it */
};

/* ---- callbacks of the engine ---------------------------------------------------------------- */

/* NAME-PID-HEX.pfw.gz, of characters that need no quoting anywhere. */
static char *file_name(const struct session *s, const struct dft_proc *proc)
{
	struct dft_buf name = DFT_BUF_INIT, key = DFT_BUF_INIT;
	const char *program = proc->program ? proc->program : "unknown";

	for (size_t i = 0; program[i] && i < 64; i++) {
		bool plain = (program[i] >= 'a' && program[i] <= 'z') ||
			     (program[i] >= 'A' && program[i] <= 'Z') ||
			     (program[i] >= '0' && program[i] <= '9') ||
			     (i && strchr("_.+-", program[i]));

		dft_buf_putc(&name, plain ? program[i] : '_');
	}
	/*
	 * Host, pid and time of birth tell processes apart, also when a pid is used again; the time of
	 * the first record, runs that trace the same process.
	 */
	dft_buf_puts(&key, s->engine.host);
	dft_buf_putc(&key, '-');
	dft_buf_u64(&key, proc->pid);
	dft_buf_putc(&key, '-');
	dft_buf_u64(&key, proc->start_ns);
	dft_buf_putc(&key, '-');
	dft_buf_u64(&key, proc->seen_ns);
	dft_buf_putc(&name, '-');
	dft_buf_u64(&name, proc->pid);
	dft_buf_putc(&name, '-');
	dft_buf_hex16(&name, key.failed ? 0 : dft_hash(key.data, key.len));
	dft_buf_puts(&name, ".pfw.gz");
	dft_buf_putc(&name, '\0');
	if (key.failed)
		name.failed = true;
	dft_buf_free(&key);
	if (name.failed) {
		dft_buf_free(&name);
		return NULL;
	}
	return name.data;
}

static int on_output(void *ctx, struct dft_proc *proc, bool last)
{
	struct session *s = ctx;

	if (!proc->sink) {
		char *name = file_name(s, proc);

		if (!name)
			return -ENOMEM;
		proc->sink = dft_sink_file_new(s->sink, name);
		free(name);
		if (!proc->sink)
			return -ENOMEM;
	}
	return dft_sink_write(s->sink, proc->sink, &proc->lines, last);
}

static void on_exclude(void *ctx, uint64_t name_id)
{
	struct session *s = ctx;
	int err = dft_tracer_exclude(s->tracer, name_id);

	/* Not pushed down: the engine leaves the calls out just the same. */
	if (err)
		dft_verbose("exclude: %s", strerror(-err));
}

static void on_describe(void *ctx, uint32_t pid, struct dft_described *out)
{
	(void)ctx;
	dft_target_describe(pid, out);
}

static const char *on_cgroup(void *ctx, uint64_t id)
{
	struct session *s = ctx;

	return dft_cgroups_path(&s->cgroups, id);
}

static void on_image(void *ctx, const struct dft_rec_image *rec, const char *path,
		     struct dft_image_found *out)
{
	struct session *s = ctx;

	dft_listen_image(&s->listen, rec, path, out);
}

static int on_resolve(void *ctx, const struct dft_proc *proc, enum dft_resolve how, const char *path,
		      size_t len, struct dft_resolved *out)
{
	struct session *s = ctx;

	return dft_resolver_look(&s->resolver, proc, s->engine.home.mnt_ns, how, path, len, out);
}

static int on_record(void *ctx, const void *data, size_t size)
{
	struct session *s = ctx;

	return dft_engine_record(&s->engine, data, size);
}

static void fail(struct session *s, int err)
{
	dft_pump_fail(&s->pump, err);
}

/* ---- start ---------------------------------------------------------------------------------- */

static int watch(struct session *s, int fd, uint32_t source)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = source };

	/* The ring is hardly ever empty: only a wake-up that was asked for counts. */
	if (source == SOURCE_RING)
		event.events |= EPOLLET;
	return fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int new_timer(uint64_t first_ns, uint64_t interval_ns)
{
	struct itimerspec spec = {
		.it_value = { (time_t)(first_ns / 1000000000), (long)(first_ns % 1000000000) },
		.it_interval = { (time_t)(interval_ns / 1000000000),
				 (long)(interval_ns % 1000000000) },
	};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd >= 0 && timerfd_settime(fd, 0, &spec, NULL)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int setup_events(struct session *s)
{
	sigset_t set;
	int err;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGIO);
	/*
	 * A reader of --ready-fd that has gone must not end the tracer, nor a line written from the
	 * background stop it, and CMD with it. CMD has been forked already and keeps its own.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	err = watch(s, s->signal_fd, SOURCE_SIGNAL);
	if (!err) {
		s->tick_fd = new_timer(TICK_NS, TICK_NS);
		err = watch(s, s->tick_fd, SOURCE_TICK);
	}
	if (!err && s->child)
		err = watch(s, dft_child_pidfd(s->child), SOURCE_CHILD);
	return err;
}

static int setup_engine(struct session *s)
{
	struct dft_engine_ops ops = {
		.ctx = s,
		.output = on_output,
		.exclude = on_exclude,
		.describe = on_describe,
		.cgroup = on_cgroup,
		.image = on_image,
		.resolve = on_resolve,
	};
	char host[HOST_NAME_MAX + 1];
	int err;

	if (gethostname(host, sizeof(host)))
		return -errno;
	host[sizeof(host) - 1] = '\0';
	err = dft_engine_init(&s->engine, s->cfg, &ops, host, dft_clock_offset_ns());
	return err ? err : dft_target_home(&s->engine.home);
}

/* Annotations of files known by now, before tracing is live. 0, or -errno after one line. */
static int listen_before(struct session *s)
{
	int fd, err = dft_listen_start(&s->listen, s->cfg, s->tracer, &s->engine);

	if (err)
		return err;
	err = watch(s, dft_tracer_wake_fd(s->tracer), SOURCE_RING);
	/* None: there are too many such already. Then nothing is armed, and that has been said. */
	fd = dft_listen_fd(&s->listen);
	if (!err && fd >= 0)
		err = watch(s, fd, SOURCE_FILES);
	if (err)
		dft_probe_explain("looking for annotations", err);
	return err;
}

/* Each armed file costs descriptors. Not before CMD is forked, whose limits are its own. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		dft_verbose("limit of open files: %s", strerror(errno));
}

static int add_targets(struct session *s)
{
	int err = 0;

	for (size_t i = 0; i < s->cfg->npids && !err; i++)
		err = dft_tracer_add_target(s->tracer, s->cfg->pids[i], DFT_TARGET_TRACE);
	if (!err && s->child)
		err = dft_tracer_add_target(s->tracer, dft_child_pid(s->child),
					    DFT_TARGET_TRACE | DFT_TARGET_BEFORE_EXEC);
	if (err)
		dft_probe_explain("naming the processes to trace", err);
	return err;
}

/*
 * Every process of -p is known now from the record that marking it has sent. One that is not cannot be
 * traced, and saying so beats an empty trace.
 */
static int check_targets(struct session *s)
{
	if (!s->cfg->npids)
		return 0;
	dft_pump_catch_up(&s->pump);
	if (s->pump.error)
		return s->pump.error;
	for (size_t i = 0; i < s->cfg->npids; i++) {
		uint32_t pid = (uint32_t)s->cfg->pids[i];

		if (dft_procs_get(&s->engine.procs, pid))
			continue;
		if (dft_target_is_gone(pid, 0))
			continue; /* it has ended just now, as it might a moment later */
		dft_error("-p %u: cannot be attached: no thread of it is visible to the tracer (is it "
			  "outside of this container or pid namespace?)", pid);
		return -ESRCH;
	}
	return 0;
}

static int say_ready(struct session *s)
{
	int err = 0;

	if (s->cfg->ready_fd < 0)
		return 0;
	/* Nobody there to read it is no reason to stop. */
	if (write(s->cfg->ready_fd, "r", 1) != 1 && errno != EPIPE) {
		err = -errno;
		dft_error("--ready-fd %d: %s (pass a pipe open for writing)", s->cfg->ready_fd,
			  strerror(errno));
	}
	close(s->cfg->ready_fd);
	return err;
}

/* Names of cgroups, which there may be none of, and who is asked for by --cgroup and the like. */
static int find_processes(struct session *s)
{
	int err = dft_cgroups_open(&s->cgroups);

	if (err)
		dft_verbose("cgroups have no names: %s", strerror(-err));
	return dft_select_resolve(&s->select, s->cfg, &s->cgroups);
}

/* Everything up to live tracing. 0, or -errno after one line. */
static int start(struct session *s)
{
	int err = dft_probe_preflight();

	for (size_t i = 0; i < s->cfg->npids && !err; i++)
		err = dft_target_check(s->cfg->pids[i]);
	if (!err)
		err = dft_identity_resolve(&s->id, s->cfg);
	if (!err)
		err = find_processes(s);
	if (err)
		return err;
	if (s->cfg->argv) {
		/* First of all, so that nothing opened here is there to leak into it. */
		s->child = dft_child_start(s->cfg, &s->id);
		if (!s->child)
			return -errno;
	}
	raise_limit();
	err = setup_events(s);
	if (!err)
		err = setup_engine(s);
	if (err) {
		dft_probe_explain("starting", err);
		return err;
	}
	s->sink = dft_sink_new(s->cfg, &s->id);
	if (!s->sink)
		return -EIO;
	/* This thread alone, which needs a small part of a processor, but that in time. */
	if (setpriority(PRIO_PROCESS, 0, PUMP_NICE))
		dft_verbose("priority: %s", strerror(errno));
	s->tracer = dft_tracer_new(s->cfg, &s->select, on_record, s);
	if (!s->tracer)
		return -EIO;
	dft_pump_init(&s->pump, s->cfg, s->tracer, &s->engine, s->sink);
	dft_retire_init(&s->retire, s->tracer, &s->engine.names);
	err = listen_before(s);
	if (!err)
		err = add_targets(s);
	if (!err)
		err = dft_tracer_attach(s->tracer);
	s->engine.mmap = dft_tracer_faults(s->tracer);
	if (!err)
		err = dft_listen_running(&s->listen);
	if (!err)
		err = check_targets(s);
	if (!err)
		err = say_ready(s);
	if (!err && s->cfg->duration_ns) {
		s->duration_fd = new_timer(s->cfg->duration_ns, 0);
		err = watch(s, s->duration_fd, SOURCE_DURATION);
		if (err)
			dft_probe_explain("-d", err);
	}
	s->tracing = !err;
	return err;
}

/* ---- running -------------------------------------------------------------------------------- */

static void human(char *text, size_t cap, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t i = 0;

	while (value >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1024;
		i++;
	}
	snprintf(text, cap, i ? "%.1f %s" : "%.0f %s", value, units[i]);
}

static void live_line(struct session *s, bool last)
{
	const struct dft_engine *engine = &s->engine;
	char bytes[32], line[160];
	int n;

	if (s->cfg->quiet || !isatty(STDERR_FILENO) || tcgetpgrp(STDERR_FILENO) != getpgrp())
		return; /* the terminal is somebody else's now */
	human(bytes, sizeof(bytes), dft_sink_bytes(s->sink));
	n = last ? snprintf(line, sizeof(line), "\r\033[K") :
		   snprintf(line, sizeof(line),
			    "\r\033[K%" PRIu64 " events, %zu processes, %s written, %" PRIu64
			    " aggregated, %" PRIu64 " lost", engine->events, engine->procs.live.len,
			    bytes, engine->aggregated + engine->chosen, engine->lost);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		dft_verbose("live line: %s", strerror(errno));
}

/*
 * Nobody reads signals any more, and writing what is left may take long: one that comes from now on ends
 * the tracer at once. Not one that is here already, as when ^C has ended CMD.
 */
static void let_signals_kill(struct session *s)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct signalfd_siginfo info;
	sigset_t set;

	if (s->child && !s->child_done && !s->fatal_signal)
		return; /* they are CMD's */
	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		signal(numbers[i], SIG_DFL);
		sigaddset(&set, numbers[i]);
	}
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Stops tracing and writes all that is known. */
static void finish_tracing(struct session *s)
{
	int err;

	if (!s->tracing)
		return;
	s->tracing = false;
	let_signals_kill(s);
	s->engine.uncounted = dft_tracer_missed(s->tracer);
	err = dft_tracer_detach_calls(s->tracer);
	if (err)
		s->engine.failed = true;
	dft_listen_stop(&s->listen);
	dft_pump_finish(&s->pump);
	live_line(s, true);
	if (!err)
		return;
	dft_error("calls in progress could not be waited for: %s (the last ones may be missing from the "
		  "trace)", strerror(-err));
	/* Only now: with an error the pump would have left out what it could still have had. */
	if (!s->pump.error)
		s->pump.error = err;
}

/*
 * Known processes have all ended; and the kernel side, which knows also those whose birth record was
 * lost, says the same.
 */
static bool nobody_left(struct session *s)
{
	int alive;

	if (s->cfg->all || s->engine.procs.live.len || (s->child && !s->child_done))
		return false;
	alive = dft_tracer_census(s->tracer);
	if (alive < 0)
		fail(s, alive);
	return alive == 0;
}

/* Names of files that nothing refers to any more. */
static void retire_names(struct session *s)
{
	int ready = dft_retire_step(&s->retire, dft_clock_mono_ns());

	if (ready > 0)
		ready = dft_pump_note_names(&s->pump) ? dft_retire_finish(&s->retire) : 0;
	fail(s, ready);
}

static void on_tick(struct session *s)
{
	uint64_t expired;

	if (read(s->tick_fd, &expired, sizeof(expired)) < 0 && errno != EAGAIN)
		fail(s, -errno);
	s->ticks++;
	if (!s->tracing)
		return;
	dft_pump_turn(&s->pump);
	fail(s, dft_tracer_catch_up(s->tracer));
	if (!s->pump.error)
		retire_names(s);
	if (!s->pump.error && s->pump.empty && nobody_left(s)) {
		finish_tracing(s);
		s->quit = true;
		return;
	}
	if (s->ticks % AGAIN_TICKS == 0)
		fail(s, dft_listen_again(&s->listen));
	if (s->ticks % SECOND_TICKS == 0)
		live_line(s, false);
	if (s->pump.error)
		finish_tracing(s);
}

static void on_child(struct session *s)
{
	int n = dft_child_reap(s->child, &s->child_status);

	if (n < 0)
		fail(s, n);
	if (n == 0)
		return;
	s->child_done = true;
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, dft_child_pidfd(s->child), NULL);
	if (!s->tracing) {
		s->quit = true;
		return;
	}
	if (s->cfg->all) {
		finish_tracing(s);
		s->quit = true;
	}
}

/*
 * A signal to the tracer. With CMD it is CMD's to react: the terminal has sent ^C to it as well,
 * others are passed on; the tracer goes on until CMD ends. The same signal again ends the tracer.
 */
static void on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGIO) {
		dft_listen_on_lease(&s->listen);
		return;
	}
	if (info.ssi_signo >= NSIG)
		return;
	s->signals[info.ssi_signo]++;
	if (s->child && !s->child_done && s->signals[info.ssi_signo] == 1) {
		if (info.ssi_signo != SIGINT || info.ssi_code <= 0)
			dft_child_forward(s->child, (int)info.ssi_signo);
		return;
	}
	if (s->child)
		s->fatal_signal = (int)info.ssi_signo;
	finish_tracing(s);
	s->quit = true;
}

static void on_duration(struct session *s)
{
	finish_tracing(s);
	if (!s->child || s->child_done)
		s->quit = true;
	else
		dft_info("tracing has ended after -d; waiting for CMD");
}

static void say_waiting(struct session *s)
{
	/* CMD's own end may be in the ring still. */
	if (!s->child_done || s->said_waiting || !s->tracing || !s->engine.procs.live.len ||
	    !s->pump.empty || s->ticks % SECOND_TICKS)
		return;
	s->said_waiting = true;
	dft_info("CMD has ended; tracing goes on for %zu other %s (^C stops)",
		 s->engine.procs.live.len,
		 s->engine.procs.live.len == 1 ? "process" : "processes");
}

static void run(struct session *s)
{
	while (!s->quit) {
		struct epoll_event events[8];
		int n = epoll_wait(s->epoll_fd, events, 8, -1);

		if (n < 0 && errno != EINTR) {
			fail(s, -errno);
			finish_tracing(s);
			return;
		}
		for (int i = 0; i < n && !s->quit; i++) {
			switch (events[i].data.u32) {
			case SOURCE_TICK:
				on_tick(s);
				break;
			case SOURCE_SIGNAL:
				on_signal(s);
				break;
			case SOURCE_CHILD:
				on_child(s);
				break;
			case SOURCE_DURATION:
				on_duration(s);
				break;
			case SOURCE_RING:
				if (s->tracing)
					dft_pump_turn(&s->pump);
				break;
			case SOURCE_FILES:
				dft_listen_on_files(&s->listen);
				break;
			}
		}
		say_waiting(s);
		if (s->pump.error && !s->tracing && (!s->child || s->child_done))
			s->quit = true;
	}
}

/* ---- end ------------------------------------------------------------------------------------ */

static void summary(struct session *s)
{
	const struct dft_engine *engine = &s->engine;
	uint64_t lost = engine->lost + engine->uncounted;
	uint64_t aggregated = engine->aggregated + engine->chosen;
	char bytes[32];

	human(bytes, sizeof(bytes), dft_sink_bytes(s->sink));
	dft_info("%" PRIu64 " events of %" PRIu64 " %s in %s (%s), %" PRIu64 " aggregated, %" PRIu64
		 "%s lost", engine->events, engine->processes,
		 engine->processes == 1 ? "process" : "processes", s->cfg->out_dir, bytes, aggregated,
		 lost, engine->failed ? " or more" : "");
	if (!engine->events && !aggregated)
		dft_warn("nothing was captured: no traced process made a call that is an event%s",
			 s->cfg->include.n || s->cfg->only.n || s->cfg->min_dur_ns ?
				 " (see --include, --only and --min-dur)" : "");
	if (engine->aggregated)
		dft_warn("%" PRIu64 " calls came too fast to be recorded one by one and are in the trace "
			 "as sums (a larger --ring keeps more of them; the totals are complete)",
			 engine->aggregated);
	if (lost)
		dft_warn("%" PRIu64 " records were lost: the trace is incomplete (a larger --ring helps; "
			 "the counts are in each file's end record)", lost);
	if (engine->bad_records)
		dft_warn("%" PRIu64 " records could not be understood (kernel side and program differ?)",
			 engine->bad_records);
}

static void cleanup(struct session *s)
{
	dft_listen_stop(&s->listen);
	dft_pump_free(&s->pump);
	dft_retire_stop(&s->retire);
	dft_tracer_free(s->tracer);
	dft_engine_free(&s->engine);
	dft_resolver_free(&s->resolver);
	dft_select_close(&s->select);
	dft_cgroups_close(&s->cgroups);
	dft_sink_free(s->sink);
	dft_child_free(s->child);
	dft_identity_free(&s->id);
	if (s->duration_fd >= 0)
		close(s->duration_fd);
	if (s->tick_fd >= 0)
		close(s->tick_fd);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}

int dft_session_run(const struct dft_config *cfg)
{
	struct session s = { .cfg = cfg, .epoll_fd = -1, .tick_fd = -1, .signal_fd = -1,
			     .duration_fd = -1, .cgroups.fd = -1, .select.cgroup = -1 };
	int status = DFT_EXIT_TRACER;
	bool output_failed;

	if (start(&s)) {
		cleanup(&s);
		return status;
	}
	if (s.child) {
		status = dft_child_release(s.child);
		if (status) {
			finish_tracing(&s);
			cleanup(&s);
			return status;
		}
	}
	run(&s);
	let_signals_kill(&s);
	output_failed = dft_sink_finish(s.sink) || s.pump.error;
	summary(&s);
	status = s.child_status;
	bool pass_on = s.child && s.child_done && !(output_failed && status == 0);
	int fatal = s.fatal_signal;

	cleanup(&s);
	if (fatal)
		dft_child_exit_as(fatal); /* a wait status that says killed by it */
	if (pass_on)
		dft_child_exit_as(status);
	return output_failed ? DFT_EXIT_OUTPUT : DFT_EXIT_OK;
}
