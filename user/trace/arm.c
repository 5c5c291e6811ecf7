// SPDX-License-Identifier: MIT
#include "arm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "map.h"
#include "mappings.h"
#include "notes.h"
#include "tracer.h"

#define PLAIN_MAX      65536 /* files without probes that are remembered */
#define NAME_MAX_SHOWN 300

#if defined(__x86_64__)
#define BREAKPOINT_SZ 1
#else
#define BREAKPOINT_SZ 4
#endif

struct image {
	struct image *next; /* with the same key */
	struct stat st;
	char *name; /* for messages */
	bool probes;
	int err; /* why they are not armed */
	/* Of armed ones: */
	uint64_t since_ns;
	struct dft_site *sites;
	size_t nsites;
	struct dft_armed *armed;
	struct image *same; /* armed through this one, which has the same inode below */
	int fd;		    /* O_PATH; -1 */
	int wd;		    /* inotify; -1 */
	int lease_fd;	    /* with a read lease; -1 */
	bool overlay;
};

struct dft_arm {
	struct dft_tracer *tracer;
	struct dft_map images; /* by key_of() */
	size_t nplain, narmed;
	size_t failures;
	int watch_fd, watch_err;
	dft_arm_changed_fn changed;
	void *changed_ctx;
	bool said_scarce;
};

static void examine(struct dft_arm *arm, int path_fd, const char *name, bool explicit,
		    struct dft_arm_result *out);

/* ---- the table ------------------------------------------------------------------------------- */

static uint64_t key_of(dev_t dev, ino_t ino)
{
	return (uint64_t)dev * 0xff51afd7ed558ccdull + (uint64_t)ino;
}

static struct image *find(const struct dft_arm *arm, const struct stat *st)
{
	struct image *img = dft_map_get(&arm->images, key_of(st->st_dev, st->st_ino));

	while (img && (img->st.st_dev != st->st_dev || img->st.st_ino != st->st_ino))
		img = img->next;
	return img;
}

/* Gives the lease back. */
static void unlease(struct image *img)
{
	if (img->lease_fd >= 0) {
		/* Said, since a child might hold the descriptor as well. */
		if (fcntl(img->lease_fd, F_SETLEASE, F_UNLCK))
			dft_verbose("%s: lease: %s", img->name, strerror(errno));
		close(img->lease_fd);
	}
	img->lease_fd = -1;
}

static void image_free(struct image *img)
{
	unlease(img);
	if (img->fd >= 0)
		close(img->fd);
	free(img->sites);
	free(img->name);
	free(img);
}

static bool is_plain(const struct image *img)
{
	return !img->since_ns;
}

static void unlink_image(struct dft_arm *arm, struct image *img)
{
	uint64_t key = key_of(img->st.st_dev, img->st.st_ino);
	struct image *at = dft_map_get(&arm->images, key);

	if (at != img) {
		while (at->next != img)
			at = at->next;
		at->next = img->next;
	} else if (img->next) {
		dft_map_put(&arm->images, key, img->next); /* replaces: needs no memory */
	} else {
		dft_map_remove(&arm->images, key);
	}
	arm->nplain -= is_plain(img);
	arm->narmed -= img->armed != NULL;
}

/* One that can be forgotten, or NULL. They come in no order. */
static struct image *any_plain(const struct dft_arm *arm)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&arm->images, &at)))
		for (struct image *img = slot->value; img; img = img->next)
			if (is_plain(img))
				return img;
	return NULL;
}

static int link_image(struct dft_arm *arm, struct image *img)
{
	uint64_t key = key_of(img->st.st_dev, img->st.st_ino);
	struct image *old;
	int err;

	/* A machine that builds programs all day never ends having new ones. */
	while (is_plain(img) && arm->nplain >= PLAIN_MAX && (old = any_plain(arm))) {
		unlink_image(arm, old);
		image_free(old);
	}
	img->next = dft_map_get(&arm->images, key);
	err = dft_map_put(&arm->images, key, img);
	if (!err) {
		arm->nplain += is_plain(img);
		arm->narmed += img->armed != NULL;
	}
	return err;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static bool is_scarce(int err)
{
	return err == -ETXTBSY || err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOSPC;
}

static const char *remedy(int err)
{
	switch (err) {
	case -EMFILE:
	case -ENFILE:
		return "raise ulimit -n or fs.inotify.max_user_instances";
	case -ENOSPC:
		return "raise fs.inotify.max_user_watches";
	case -ENOMEM:
		return "free some memory";
	case -ETXTBSY:
		return "somebody is writing to it: it is armed when it is used after that";
	case -EPERM:
	case -EACCES:
		return "run dftrace-bpf as root";
	case -ENOENT:
	case -ENOTDIR:
		return "check the path";
	default:
		return "run with -v to see more";
	}
}

/* What is short will be so for the next files, too: said once. */
static void say_failed(struct dft_arm *arm, const char *name, const char *what, int err,
		       bool explicit)
{
	arm->failures++;
	if (explicit) {
		dft_error("--usdt %.*s: %s: %s (%s)", NAME_MAX_SHOWN, name, what, strerror(-err),
			  remedy(err));
	} else if (!is_scarce(err)) {
		dft_warn("%.*s: %s: %s (%s)", NAME_MAX_SHOWN, name, what, strerror(-err),
			 remedy(err));
	} else if (!arm->said_scarce) {
		arm->said_scarce = true;
		dft_warn("%.*s: %s: %s (%s); others like it will not be named", NAME_MAX_SHOWN,
			 name, what, strerror(-err), remedy(err));
	}
}

/* Nothing to arm in a file that was asked for. Returns what dft_arm_file() returns. */
static int say_nothing(const char *name, const struct dft_notes *notes, int err)
{
	const char *why = "it has no dftracer probes (build it with dftracer/dftracer.h)";

	if (err == -ENOEXEC)
		why = "not an ELF program or library (name one that has dftracer probes)";
	else if (err == -EMEDIUMTYPE)
		why = "for another processor, or of 32 bits (name one of this machine's)";
	else if (notes->refused)
		why = "its dftracer probes are not in its code (name the program itself, not its "
		      "debugging information)";
	else if (notes->foreign)
		why = "its dftracer probes are not of this version (build it with the "
		      "dftracer/dftracer.h that came with dftrace-bpf)";
	dft_error("--usdt %.*s: %s", NAME_MAX_SHOWN, name, why);
	return err ? err : -ENODATA;
}

static void say_left_out(const char *name, const struct dft_notes *notes)
{
	if (notes->foreign)
		dft_verbose("%.*s: %zu probes are left out: not of this version", NAME_MAX_SHOWN,
			    name, notes->foreign);
	if (notes->refused)
		dft_verbose("%.*s: %zu probes are left out: not at a nop in its code",
			    NAME_MAX_SHOWN, name, notes->refused);
}

/* ---- arming ---------------------------------------------------------------------------------- */

static int read_sites(int fd, struct dft_notes *notes)
{
	struct dft_elf elf;
	int err = dft_elf_open(&elf, fd);

	*notes = (struct dft_notes){ 0 };
	if (err)
		return err;
	err = dft_notes_read(notes, &elf);
	dft_elf_close(&elf);
	return err;
}

static bool same_content(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
	return same_content(a, b) && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool same_sites(const struct image *img, const struct dft_site *sites, size_t n)
{
	if (img->nsites != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (img->sites[i].offset != sites[i].offset ||
		    img->sites[i].kind != sites[i].kind ||
		    img->sites[i].sem_offset != sites[i].sem_offset)
			return false;
	return true;
}

/*
 * Whether the kernel has a breakpoint at this place of the file: it puts it into every mapping that
 * could be executed, so also into one of our own. Read by a call that fails if the file has been
 * cut.
 */
static bool has_breakpoint(int fd, uint64_t offset)
{
	unsigned char mapped[BREAKPOINT_SZ], stored[BREAKPOINT_SZ];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), into = offset % page;
	char *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, (off_t)(offset - into));
	struct iovec to = { mapped, sizeof(mapped) }, from = { at + into, sizeof(mapped) };
	bool differs;

	if (at == MAP_FAILED)
		return false;
	differs = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof(mapped) &&
		  pread(fd, stored, sizeof(stored), (off_t)offset) == (ssize_t)sizeof(stored) &&
		  memcmp(mapped, stored, sizeof(mapped)) != 0;
	munmap(at, page);
	return differs;
}

/*
 * Two containers made from one image see one file of a lower file system under two devices, and
 * armed twice it would tell each hit twice. No call tells what is below an overlay. But if the file
 * has a breakpoint already and looks just like one that we have armed, it is that one.
 */
static struct image *find_same(const struct dft_arm *arm, const struct image *img, int fd)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&arm->images, &at)))
		for (struct image *other = slot->value; other; other = other->next)
			if (other->armed && (other->overlay || img->overlay) &&
			    same_content(&other->st, &img->st) &&
			    same_sites(other, img->sites, img->nsites))
				return has_breakpoint(fd, img->sites[0].offset) ? other : NULL;
	return NULL;
}

static bool is_overlay(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static int watch(struct dft_arm *arm, struct image *img, const char *path)
{
	if (arm->watch_fd < 0)
		return arm->watch_err;
	img->wd = inotify_add_watch(arm->watch_fd, path, IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB);
	return img->wd < 0 ? -errno : 0;
}

static void unwatch(struct dft_arm *arm, struct image *img)
{
	/* It fails when the file system has gone, and the watch with it. */
	if (img->wd >= 0 && inotify_rm_watch(arm->watch_fd, img->wd) && errno != EINVAL)
		dft_verbose("%s: inotify: %s", img->name, strerror(errno));
	img->wd = -1;
}

/*
 * Who opens the file for writing waits in open() until the lease is given back, which is when no
 * breakpoint is in it any more. Without a lease, where the file system has none, we hear of it only
 * afterwards. Who has it open already cannot be made to wait: then it is not armed.
 */
static int lease(struct image *img, int fd)
{
	img->lease_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (img->lease_fd < 0)
		return -errno;
	if (!fcntl(img->lease_fd, F_SETLEASE, F_RDLCK))
		return 0;
	if (errno == EAGAIN)
		return -ETXTBSY;
	dft_verbose("%s: no lease: %s", img->name, strerror(errno));
	unlease(img);
	return 0;
}

/* Of a file that is watched, and so cannot change unnoticed any more. 0 or -errno. */
static int look_again(struct image *img, int fd)
{
	struct dft_notes notes;
	int err = read_sites(fd, &notes);

	if (!err && fstat(fd, &img->st))
		err = -errno;
	if (err) {
		dft_notes_free(&notes);
		return err;
	}
	img->sites = notes.sites;
	img->nsites = notes.n;
	return notes.n ? 0 : -ENODATA;
}

static int try_to_arm(struct dft_arm *arm, struct image *img, int fd, int path_fd)
{
	char path[64];
	int err;

	/* Whatever its name stands for by now, or in another mount namespace: it is this file. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = watch(arm, img, path);
	if (!err)
		err = lease(img, fd);
	if (!err)
		err = look_again(img, fd);
	if (err)
		return err;
	img->fd = fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
	if (img->fd < 0)
		return -errno;
	img->overlay = is_overlay(fd);
	img->same = find_same(arm, img, fd);
	if (img->same) {
		img->since_ns = img->same->since_ns;
		dft_verbose("%s: its probes are those of %s", img->name, img->same->name);
		return 0;
	}
	err = dft_tracer_arm(arm->tracer, path, img->sites, img->nsites, &img->armed);
	if (err) {
		img->armed = NULL;
		return err;
	}
	img->since_ns = dft_clock_mono_ns();
	dft_verbose("%s: %zu probes armed", img->name, img->nsites);
	return 0;
}

static void arm_image(struct dft_arm *arm, struct image *img, int fd, int path_fd, bool explicit)
{
	img->probes = true;
	img->err = try_to_arm(arm, img, fd, path_fd);
	if (!img->err)
		return;
	unwatch(arm, img);
	unlease(img);
	if (img->fd >= 0)
		close(img->fd);
	img->fd = -1;
	free(img->sites);
	img->sites = NULL;
	img->nsites = 0;
	say_failed(arm, img->name, "its probes cannot be armed", img->err, explicit);
}

static struct image *image_new(const struct stat *st, const char *name)
{
	struct image *img = calloc(1, sizeof(*img));

	if (!img)
		return NULL;
	img->st = *st;
	img->fd = -1;
	img->wd = -1;
	img->lease_fd = -1;
	img->name = strdup(name);
	if (!img->name) {
		free(img);
		return NULL;
	}
	return img;
}

static void give(const struct image *img, struct dft_arm_result *out)
{
	out->probes = img->probes;
	out->since_ns = img->since_ns;
	out->err = img->err;
}

/* Aliases of one that is not armed any more stand for themselves again. */
static struct image *find_alias(const struct dft_arm *arm, const struct image *of)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&arm->images, &at)))
		for (struct image *img = slot->value; img; img = img->next)
			if (img->same == of)
				return img;
	return NULL;
}

static void drop(struct dft_arm *arm, struct image *img)
{
	struct image *alias;

	unlink_image(arm, img);
	unwatch(arm, img);
	dft_tracer_disarm(arm->tracer, img->armed);
	while (img->armed && (alias = find_alias(arm, img))) {
		struct dft_arm_result result;

		unlink_image(arm, alias);
		unwatch(arm, alias);
		examine(arm, alias->fd, alias->name, false, &result);
		image_free(alias);
	}
	image_free(img);
}

static void say_changed(struct dft_arm *arm, const struct image *img)
{
	dft_warn("%.*s: it has changed: its probes are disarmed while it is written to",
		 NAME_MAX_SHOWN, img->name);
	if (arm->changed)
		arm->changed(arm->changed_ctx, &img->st, img->name);
}

/* ---- examining ------------------------------------------------------------------------------- */

static int reopen(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return again < 0 ? -errno : again;
}

/* A file that is not in the table, or not any more. Takes `img`. */
static void look_at(struct dft_arm *arm, struct image *img, int path_fd, bool explicit,
		    struct dft_arm_result *out)
{
	struct dft_notes notes = { 0 };
	int fd = reopen(path_fd), err = fd < 0 ? fd : read_sites(fd, &notes);
	bool other = err == -ENOEXEC || err == -EMEDIUMTYPE;

	if (err && !other) {
		img->err = err;
		say_failed(arm, img->name, "cannot be looked at", err, explicit);
	}
	say_left_out(img->name, &notes);
	if (notes.n)
		arm_image(arm, img, fd, path_fd, explicit);
	give(img, out);
	if (!notes.n && explicit && !img->err)
		out->err = say_nothing(img->name, &notes, err);
	/* What was short is perhaps there the next time. */
	err = is_scarce(img->err) ? img->err : link_image(arm, img);
	if (err && !img->err) {
		say_failed(arm, img->name, "cannot be remembered", err, explicit);
		*out = (struct dft_arm_result){ .probes = img->probes, .err = err };
		unwatch(arm, img);
		dft_tracer_disarm(arm->tracer, img->armed);
	}
	if (err)
		image_free(img);
	dft_notes_free(&notes);
	if (fd >= 0)
		close(fd);
}

/*
 * The times of a file change also when it is renamed, linked, removed or given to somebody else. It
 * is the same for us if its probes are where they were.
 */
static bool still_armed(struct image *img, int path_fd, const struct stat *st)
{
	struct dft_notes notes = { 0 };
	int fd = reopen(path_fd);
	bool same = fd >= 0 && !read_sites(fd, &notes) && same_sites(img, notes.sites, notes.n);

	if (same)
		img->st = *st;
	dft_notes_free(&notes);
	if (fd >= 0)
		close(fd);
	return same;
}

static void examine(struct dft_arm *arm, int path_fd, const char *name, bool explicit,
		    struct dft_arm_result *out)
{
	struct image *img, *new;
	struct stat st;

	*out = (struct dft_arm_result){ 0 };
	if (fstat(path_fd, &st)) {
		out->err = -errno;
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		if (explicit)
			out->err = say_nothing(name, NULL, -ENOEXEC);
		return;
	}
	img = find(arm, &st);
	if (img && img->since_ns) {
		if (unchanged(&img->st, &st) || still_armed(img, path_fd, &st)) {
			give(img, out);
			return;
		}
		say_changed(arm, img);
	} else if (img && unchanged(&img->st, &st) && !explicit) {
		give(img, out);
		return;
	}
	/* First the new one: `name` may be that of the old one. */
	new = image_new(&st, name);
	if (img)
		drop(arm, img);
	if (new)
		look_at(arm, new, path_fd, explicit, out);
	else
		out->err = -ENOMEM;
}

void dft_arm_fd(struct dft_arm *arm, int fd, const char *name, struct dft_arm_result *out)
{
	if (fd >= 0) {
		examine(arm, fd, name, false, out);
		return;
	}
	*out = (struct dft_arm_result){ .err = fd };
	if (is_scarce(fd))
		say_failed(arm, name, "cannot be opened", fd, false);
}

bool dft_arm_known(struct dft_arm *arm, const struct dft_image_key *key, struct dft_arm_result *out)
{
	struct stat st = { .st_dev = makedev(key->dev >> 20, key->dev & 0xfffff),
			   .st_ino = key->ino };
	struct image *img = find(arm, &st);
	int fd;

	/* Those without probes are not held open: their numbers may be another file's by now. */
	if (!img || img->fd < 0 || (uint64_t)img->st.st_size != key->size)
		return false;
	fd = fcntl(img->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return false;
	examine(arm, fd, img->name, false, out);
	close(fd);
	return true;
}

int dft_arm_file(struct dft_arm *arm, const char *path, bool explicit)
{
	struct dft_arm_result result;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0) {
		fd = -errno;
		if (explicit || is_scarce(fd))
			say_failed(arm, path, "cannot be opened", fd, explicit);
		return fd;
	}
	examine(arm, fd, path, explicit, &result);
	close(fd);
	return result.err;
}

/* ---- watching -------------------------------------------------------------------------------- */

static struct image *find_watch(const struct dft_arm *arm, int wd, bool any)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&arm->images, &at)))
		for (struct image *img = slot->value; img; img = img->next)
			if (img->wd >= 0 && (any || img->wd == wd))
				return img;
	return NULL;
}

/* Without a name and not in use: it is the job's to have its space back. */
static bool is_left(const struct image *img)
{
	struct stat st;

	return !fstat(img->fd, &st) && !st.st_nlink &&
	       !dft_mappings_used(major(st.st_dev) << 20 | minor(st.st_dev), st.st_ino);
}

static unsigned int on_event(struct dft_arm *arm, const struct inotify_event *event)
{
	bool all = event->mask & IN_Q_OVERFLOW;
	unsigned int dropped = 0;
	struct image *img;
	struct stat st;

	while ((img = find_watch(arm, event->wd, all))) {
		/* Other changes of what is known of it are none of what is in it. */
		if (event->mask == IN_ATTRIB && !is_left(img))
			break;
		if (event->mask == IN_ATTRIB) {
			dft_verbose("%s: deleted, and nobody runs it: disarmed", img->name);
			drop(arm, img);
			dropped++;
			continue;
		}
		/* Closed by somebody who might have written, through a mapping perhaps. */
		if (event->mask == IN_CLOSE_WRITE && !fstat(img->fd, &st) &&
		    same_content(&img->st, &st))
			break;
		say_changed(arm, img);
		drop(arm, img);
		dropped++;
	}
	return dropped;
}

static struct image *find_breaking(const struct dft_arm *arm)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&arm->images, &at)))
		for (struct image *img = slot->value; img; img = img->next)
			if (img->lease_fd >= 0 && fcntl(img->lease_fd, F_GETLEASE) != F_RDLCK)
				return img;
	return NULL;
}

void dft_arm_on_lease(struct dft_arm *arm)
{
	struct image *img;

	while ((img = find_breaking(arm))) {
		say_changed(arm, img);
		/* Before somebody can execute it again: that must be told. */
		dft_tracer_images_unseen(arm->tracer);
		drop(arm, img);
	}
}

unsigned int dft_arm_on_watch(struct dft_arm *arm)
{
	char bytes[4096] __attribute__((aligned(8)));
	unsigned int dropped = 0;
	ssize_t n;

	while (arm->watch_fd >= 0 && (n = read(arm->watch_fd, bytes, sizeof(bytes))) > 0) {
		struct inotify_event event;

		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(event) + event.len)) {
			memcpy(&event, bytes + at, sizeof(event));
			dropped += on_event(arm, &event);
		}
	}
	return dropped;
}

void dft_arm_on_change(struct dft_arm *arm, dft_arm_changed_fn fn, void *ctx)
{
	arm->changed = fn;
	arm->changed_ctx = ctx;
}

int dft_arm_watch_fd(const struct dft_arm *arm)
{
	return arm->watch_fd;
}

size_t dft_arm_failures(const struct dft_arm *arm)
{
	return arm->failures;
}

struct dft_arm *dft_arm_new(struct dft_tracer *tracer)
{
	struct dft_arm *arm = calloc(1, sizeof(*arm));

	if (!arm)
		return NULL;
	arm->tracer = tracer;
	arm->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* What cannot be watched is not armed, and told so; system calls are traced anyway. */
	if (arm->watch_fd < 0)
		arm->watch_err = -errno;
	return arm;
}

/* Without memory for the list they are disarmed one by one, later. */
static void disarm_all(struct dft_arm *arm)
{
	struct dft_armed **armed = calloc(arm->narmed + 1, sizeof(struct dft_armed *));
	struct dft_map_slot *slot;
	size_t at = 0, n = 0;

	while (armed && (slot = dft_map_next(&arm->images, &at))) {
		for (struct image *img = slot->value; img; img = img->next) {
			if (img->armed)
				armed[n++] = img->armed;
			img->armed = NULL;
		}
	}
	dft_tracer_disarm_all(arm->tracer, armed, n);
	free(armed);
}

void dft_arm_free(struct dft_arm *arm)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	if (!arm)
		return;
	disarm_all(arm);
	while ((slot = dft_map_next(&arm->images, &at))) {
		struct image *img = slot->value, *next;

		for (; img; img = next) {
			next = img->next;
			dft_tracer_disarm(arm->tracer, img->armed);
			image_free(img);
		}
	}
	dft_map_free(&arm->images);
	if (arm->watch_fd >= 0)
		close(arm->watch_fd);
	free(arm);
}
