// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "listen.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_PROBES = 4096, MAX_HITS = 65536, MAX_STRING = 384, MAX_CHUNK = 512 };

struct probe {
	unsigned char *at;
	volatile unsigned short *semaphore;
	char name[24];
	unsigned char was;
};

struct hit {
	const struct probe *probe;
	uint64_t arg[6];
	char text[2][MAX_STRING];
	unsigned char chunk[MAX_CHUNK];
	int tid;
};

static struct probe probes[MAX_PROBES];
static int probe_count;
static struct hit *hits;
static int hit_count;

static void die(const char *what)
{
	fprintf(stderr, "listen: %s\n", what);
	exit(3);
}

static const struct probe *probe_at(const unsigned char *at)
{
	for (int i = 0; i < probe_count; i++)
		if (probes[i].at == at)
			return &probes[i];
	return NULL;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const struct probe *p = probe_at((unsigned char *)(uintptr_t)(r[REG_RIP] - 1));
	int n = __atomic_fetch_add(&hit_count, 1, __ATOMIC_RELAXED);
	struct hit *h = &hits[n];

	(void)sig;
	(void)info;
	if (!p || n >= MAX_HITS)
		abort();
	h->probe = p;
	h->arg[0] = (uint64_t)r[REG_RDI];
	h->arg[1] = (uint64_t)r[REG_RSI];
	h->arg[2] = (uint64_t)r[REG_RDX];
	h->arg[3] = (uint64_t)r[REG_RCX];
	h->arg[4] = (uint64_t)r[REG_R8];
	h->arg[5] = (uint64_t)r[REG_R9];
	for (int i = 0; i < 2; i++)
		if (h->arg[i])
			strncpy(h->text[i], (const char *)(uintptr_t)h->arg[i], MAX_STRING - 1);
	if (h->arg[5] > MAX_CHUNK)
		abort();
	if (h->arg[5])
		memcpy(h->chunk, (const void *)(uintptr_t)h->arg[4], h->arg[5]);
	h->tid = (int)syscall(SYS_gettid);
#ifdef DFTRACER_USDT_NOP5
	r[REG_RIP] += 4; /* over the rest of the nop */
#endif
}

/* ---- finding them ---------------------------------------------------------------------------- */

static void add_note(uintptr_t bias, const unsigned char *desc)
{
	uint64_t address[3];
	const char *provider = (const char *)desc + sizeof(address);
	const char *name = provider + strlen(provider) + 1;
	struct probe *p = &probes[probe_count];

	memcpy(address, desc, sizeof(address));
	if (strcmp(provider, "dftracer") != 0)
		return;
	if (probe_count == MAX_PROBES)
		die("too many probes");
	p->at = (unsigned char *)(bias + address[0]);
	p->semaphore = (volatile unsigned short *)(bias + address[2]);
	snprintf(p->name, sizeof(p->name), "%s", name);
	probe_count++;
}

static void read_notes(uintptr_t bias, const unsigned char *at, const unsigned char *end)
{
	while (at < end) {
		Elf64_Nhdr n;

		memcpy(&n, at, sizeof(n));
		at += sizeof(n);
		if (n.n_type == 3 && !strcmp((const char *)at, "stapsdt"))
			add_note(bias, at + ((n.n_namesz + 3) & ~3u));
		at += ((n.n_namesz + 3) & ~3u) + ((n.n_descsz + 3) & ~3u);
	}
}

static int read_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const unsigned char *file;
	const Elf64_Ehdr *eh;
	const Elf64_Shdr *sh;

	(void)size;
	(void)arg;
	if (fd < 0) /* the vDSO */
		return 0;
	if (fstat(fd, &st))
		die("fstat");
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		die("mmap");
	eh = (const void *)file;
	sh = (const void *)(file + eh->e_shoff);
	for (int i = 0; i < eh->e_shnum; i++) {
		const char *name = (const char *)file + sh[eh->e_shstrndx].sh_offset + sh[i].sh_name;

		if (sh[i].sh_type == SHT_NOTE && !strcmp(name, ".note.stapsdt"))
			read_notes(info->dlpi_addr, file + sh[i].sh_offset,
				   file + sh[i].sh_offset + sh[i].sh_size);
	}
	munmap((void *)(uintptr_t)file, (size_t)st.st_size);
	return 0;
}

static void poke(unsigned char *at, unsigned char byte)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;

	if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		die("mprotect");
	*at = byte;
	if (mprotect((void *)page, 4096, PROT_READ | PROT_EXEC))
		die("mprotect");
}

int listen_begin(void)
{
	struct sigaction sa;

	if (!hits)
		hits = mmap(NULL, MAX_HITS * sizeof(*hits), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (hits == MAP_FAILED)
		die("mmap");
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_trap;
	sa.sa_flags = SA_SIGINFO | SA_NODEFER;
	if (sigaction(SIGTRAP, &sa, NULL))
		die("sigaction");
	probe_count = 0;
	dl_iterate_phdr(read_file, NULL);
	for (int i = 0; i < probe_count; i++)
		if (*probes[i].semaphore)
			die("a tracer listens to all programs: end it before this test");
	for (int i = 0; i < probe_count; i++) {
		probes[i].was = *probes[i].at;
		poke(probes[i].at, 0xcc);
	}
	for (int i = 0; i < probe_count; i++)
		++*probes[i].semaphore;
	return probe_count;
}

void listen_end(void)
{
	for (int i = 0; i < probe_count; i++)
		--*probes[i].semaphore;
	for (int i = 0; i < probe_count; i++)
		poke(probes[i].at, probes[i].was);
	for (int i = 0; i < probe_count; i++)
		if (*probes[i].semaphore)
			die("a semaphore is not 0 in the end");
}

static void print_hex(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	printf(" +");
	for (size_t i = 0; i < n; i++)
		printf("%02x", p[i]);
}

void listen_print(void)
{
	for (int i = 0; i < hit_count; i++) {
		struct hit *h = &hits[i];

		printf("probe %s", h->probe->name);
		for (int j = 0; j < 2; j++) {
			if (h->arg[j])
				print_hex(h->text[j], strlen(h->text[j]));
			else
				printf(" -");
		}
		printf(" %llu %llu %llu %llu", (unsigned long long)h->arg[2],
		       (unsigned long long)h->arg[3], (unsigned long long)h->arg[4],
		       (unsigned long long)h->arg[5]);
		print_hex(h->chunk, h->arg[5]);
		printf(" %d\n", h->tid);
	}
	hit_count = 0;
}
