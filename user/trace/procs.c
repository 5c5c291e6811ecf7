// SPDX-License-Identifier: MIT
#include "procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t dft_procs_key(uint32_t pid, uint64_t start_ns)
{
	return start_ns ^ (uint64_t)pid * 0xd6e8feb86659fd93ull;
}

struct dft_proc *dft_procs_get(const struct dft_procs *procs, uint32_t pid)
{
	return dft_map_get(&procs->live, pid);
}

/* Births whose records were lost look alike: each is kept, the first gets the tallies. */
static int put_dying(struct dft_procs *procs, struct dft_proc *proc)
{
	uint64_t key = dft_procs_key(proc->pid, proc->start_ns);

	while (dft_map_get(&procs->dying, key))
		key++;
	return dft_map_put(&procs->dying, key, proc);
}

int dft_procs_retire(struct dft_procs *procs, struct dft_proc *proc)
{
	int err = put_dying(procs, proc);

	if (err)
		return err;
	proc->ended = true;
	proc->unsettled = false;
	if (dft_map_get(&procs->live, proc->pid) == proc)
		dft_map_remove(&procs->live, proc->pid);
	return 0;
}

int dft_procs_retire_all(struct dft_procs *procs, uint64_t now_ns)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(&procs->live, &at))) {
		struct dft_proc *proc = slot->value;
		int err = put_dying(procs, proc);

		if (err)
			return err;
		proc->end_ns = now_ns;
	}
	dft_map_free(&procs->live);
	at = 0;
	while ((slot = dft_map_next(&procs->dying, &at)))
		((struct dft_proc *)slot->value)->unsettled = false;
	return 0;
}

static struct dft_proc *new_proc(uint32_t pid, uint64_t start_ns)
{
	struct dft_proc *proc = calloc(1, sizeof(*proc));

	if (proc) {
		proc->pid = pid;
		proc->start_ns = start_ns;
	}
	return proc;
}

struct dft_proc *dft_procs_add(struct dft_procs *procs, uint32_t pid, uint64_t start_ns)
{
	struct dft_proc *old = dft_procs_get(procs, pid);
	struct dft_proc *proc;

	if (old && dft_procs_retire(procs, old))
		return NULL;
	proc = new_proc(pid, start_ns);
	if (proc && dft_map_put(&procs->live, pid, proc)) {
		free(proc);
		return NULL;
	}
	return proc;
}

struct dft_proc *dft_procs_orphan(struct dft_procs *procs, uint32_t pid, uint64_t start_ns)
{
	struct dft_proc *proc = new_proc(pid, start_ns);

	if (proc && put_dying(procs, proc)) {
		free(proc);
		return NULL;
	}
	if (proc)
		proc->ended = true;
	return proc;
}

int dft_proc_set(char **field, size_t *field_len, const char *text, size_t len)
{
	char *copy = NULL;

	if (text) {
		copy = malloc(len + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, text, len);
		copy[len] = '\0';
	}
	free(*field);
	*field = copy;
	if (field_len)
		*field_len = len;
	return 0;
}

struct dft_text *dft_proc_take_text(struct dft_proc *proc, uint32_t tid, uint8_t slot)
{
	struct dft_text **at = &proc->texts;

	for (; *at; at = &(*at)->next) {
		if ((*at)->tid == tid && (*at)->slot == slot) {
			struct dft_text *text = *at;

			*at = text->next;
			return text;
		}
	}
	return NULL;
}

int dft_proc_keep_text(struct dft_proc *proc, const struct dft_rec_text *rec)
{
	struct dft_text *text;

	/* Its call was lost, or its thread was killed in the call. */
	free(dft_proc_take_text(proc, rec->tid, rec->slot));
	text = malloc(sizeof(*text) + rec->len);
	if (!text)
		return -ENOMEM;
	text->tid = rec->tid;
	text->slot = rec->slot;
	text->nr = rec->nr;
	text->base = rec->base;
	text->len = rec->len;
	memcpy(text->bytes, rec->text, rec->len);
	text->next = proc->texts;
	proc->texts = text;
	return 0;
}

int dft_proc_count_excluded(struct dft_proc *proc, const char *event, uint64_t calls)
{
	struct dft_event_count *more;

	for (size_t i = 0; i < proc->nexcluded; i++) {
		if (!strcmp(proc->excluded[i].event, event)) {
			proc->excluded[i].calls += calls;
			return 0;
		}
	}
	more = realloc(proc->excluded, (proc->nexcluded + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	proc->excluded = more;
	more[proc->nexcluded].event = event;
	more[proc->nexcluded++].calls = calls;
	return 0;
}

/* All but the process, which is the same for all. */
static uint64_t tally_hash(const struct dft_tally_key *key)
{
	uint64_t what = (uint64_t)key->nr << 16 | (uint64_t)key->kind << 8 | key->cls;

	return key->id ^ what * 0xd6e8feb86659fd93ull;
}

static bool same_tally(const struct dft_tally_key *a, const struct dft_tally_key *b)
{
	return a->id == b->id && a->nr == b->nr && a->kind == b->kind && a->cls == b->cls;
}

struct dft_tally_entry *dft_proc_tally(struct dft_proc *proc, const struct dft_tally_key *key)
{
	struct dft_tallies *t = &proc->tallies;
	uint64_t hash = tally_hash(key);
	struct dft_tally_entry *more;
	uintptr_t i;

	/* Two keys of one hash: the second is found at the next free one. */
	while ((i = (uintptr_t)dft_map_get(&t->at, hash)) && !same_tally(&t->v[i - 1].key, key))
		hash++;
	if (i)
		return &t->v[i - 1];
	if ((t->n & (t->n - 1)) == 0) {
		more = realloc(t->v, (t->n ? t->n * 2 : 1) * sizeof(*more));
		if (!more)
			return NULL;
		t->v = more;
	}
	if (dft_map_put(&t->at, hash, (void *)(uintptr_t)(t->n + 1)))
		return NULL;
	t->v[t->n] = (struct dft_tally_entry){ .key = *key };
	return &t->v[t->n++];
}

void dft_proc_free(struct dft_proc *proc)
{
	if (!proc)
		return;
	while (proc->texts) {
		struct dft_text *next = proc->texts->next;

		free(proc->texts);
		proc->texts = next;
	}
	free(proc->program);
	free(proc->cmd);
	free(proc->cwd);
	free(proc->excluded);
	for (size_t i = 0; i < proc->tallies.n; i++)
		if (proc->tallies.v[i].of)
			dft_run_file_put(proc->runs.run->files, proc->tallies.v[i].of);
	dft_runs_free(&proc->runs);
	free(proc->tallies.v);
	dft_map_free(&proc->tallies.at);
	dft_buf_free(&proc->env);
	dft_buf_free(&proc->lines);
	dft_map_free(&proc->seen);
	dft_annots_free(&proc->annots);
	free(proc);
}

static void free_all(struct dft_map *map)
{
	struct dft_map_slot *slot;
	size_t at = 0;

	while ((slot = dft_map_next(map, &at)))
		dft_proc_free(slot->value);
	dft_map_free(map);
}

void dft_procs_free(struct dft_procs *procs)
{
	free_all(&procs->live);
	free_all(&procs->dying);
}
