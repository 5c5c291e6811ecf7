// SPDX-License-Identifier: MIT
// LDFLAGS: -lbpf
/*
 * Reads the tallies of a tracer over and over, as fast as it can, until its standard input ends.
 *
 *     map_poll PID
 *
 * It finds the maps among the descriptors of process PID, says "live" when it has them, "shed" as soon
 * as there is a tally of calls that found the ring full, and in the end one line of JSON:
 *
 *     {"rounds":..,"shed":..,"decreased":..}
 *
 * rounds: how often it has read all; shed: the most calls seen in tallies of that kind at a time;
 * decreased: how often a tally was smaller than before, which a process that lives does not allow.
 */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/types.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/abi.h"

#define BATCH 4096
#define SEEN  (1u << 20) /* tallies remembered, a power of two; further ones are only counted */

static struct {
	struct dft_tally_key key;
	uint64_t calls;
} *seen;

static struct dft_tally_key keys[BATCH];
static struct dft_tally values[BATCH];
static uint64_t rounds, shed, most_shed, decreased;

static void die(const char *what)
{
	fprintf(stderr, "map_poll: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t hash_of(const struct dft_tally_key *key)
{
	uint64_t hash = (key->start_ns ^ key->id ^ (uint64_t)key->pid << 32) * 0x9e3779b97f4a7c15u;

	hash ^= ((uint64_t)key->nr << 16 | key->kind << 8 | key->cls) * 0xff51afd7ed558ccdu;
	return hash ^ hash >> 31;
}

static void look(const struct dft_tally_key *key, const struct dft_tally *value)
{
	uint64_t at = hash_of(key) % SEEN;

	if (key->kind == DFT_TALLY_SHED)
		shed += value->calls;
	for (unsigned int i = 0; i < 64; i++, at = (at + 1) % SEEN) {
		if (seen[at].key.pid && memcmp(&seen[at].key, key, sizeof(*key)))
			continue;
		seen[at].key = *key;
		decreased += value->calls < seen[at].calls;
		seen[at].calls = value->calls;
		return;
	}
}

static void read_map(int fd)
{
	__u32 token = 0;
	bool first = true;

	for (;;) {
		__u32 n = BATCH;
		int err = bpf_map_lookup_batch(fd, first ? NULL : &token, &token, keys, values, &n, NULL);

		if (err && errno != ENOENT)
			die("looking a map up");
		for (__u32 i = 0; i < n; i++)
			look(&keys[i], &values[i]);
		if (err)
			return; /* that was the last of it */
		first = false;
	}
}

/* The map's descriptor if it has that name, else -1. */
static int open_map(__u32 id, const char *name)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);

	if (fd < 0)
		return -1;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, name) &&
	    info.key_size == sizeof(keys[0]) && info.value_size == sizeof(values[0]))
		return fd;
	close(fd);
	return -1;
}

static __u32 map_id(const char *fdinfo)
{
	FILE *f = fopen(fdinfo, "re");
	char line[256];
	__u32 id = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "map_id: %u", &id) == 1)
			break;
	fclose(f);
	return id;
}

static int find_map(const char *pid, const char *name)
{
	char dir[64], path[512];
	struct dirent *e;
	int fd = -1;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%s/fdinfo", pid);
	d = opendir(dir);
	if (!d)
		die(dir);
	while (fd < 0 && (e = readdir(d))) {
		__u32 id;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		id = map_id(path);
		if (id)
			fd = open_map(id, name);
	}
	closedir(d);
	if (fd < 0) {
		errno = ENOENT;
		die(name);
	}
	return fd;
}

static void say(const char *word)
{
	if (puts(word) == EOF || fflush(stdout))
		die("stdout");
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int fds[2];

	if (argc != 2)
		return 2;
	seen = calloc(SEEN, sizeof(*seen));
	if (!seen)
		die("calloc");
	fds[0] = find_map(argv[1], "totals");
	fds[1] = find_map(argv[1], "details");
	say("live");
	while (!poll(&input, 1, 0)) {
		shed = 0;
		read_map(fds[0]);
		read_map(fds[1]);
		if (shed && !most_shed)
			say("shed");
		if (shed > most_shed)
			most_shed = shed;
		rounds++;
	}
	printf("{\"rounds\":%" PRIu64 ",\"shed\":%" PRIu64 ",\"decreased\":%" PRIu64 "}\n", rounds,
	       most_shed, decreased);
	return fflush(stdout) ? 1 : 0;
}
