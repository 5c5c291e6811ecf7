// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names.h"
#include "procs.h"

static void keep(struct dft_proc *proc, uint32_t tid, uint8_t slot, const char *text)
{
	size_t len = strlen(text);
	struct dft_rec_text *rec = calloc(1, sizeof(*rec) + len);

	assert_non_null(rec);
	rec->tid = tid;
	rec->slot = slot;
	rec->len = (uint16_t)len;
	memcpy(rec->text, text, len);
	assert_int_equal(dft_proc_keep_text(proc, rec), 0);
	free(rec);
}

static void take(struct dft_proc *proc, uint32_t tid, uint8_t slot, const char *want)
{
	struct dft_text *text = dft_proc_take_text(proc, tid, slot);

	if (!want) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_int_equal(text->len, strlen(want));
	assert_memory_equal(text->bytes, want, text->len);
	free(text);
}

static void texts_by_thread_and_slot(void **state)
{
	struct dft_procs procs = { 0 };
	struct dft_proc *proc = dft_procs_add(&procs, 100, 5);

	(void)state;
	assert_non_null(proc);
	take(proc, 100, 1, NULL);
	keep(proc, 101, 1, "a");
	keep(proc, 102, 1, "b");
	keep(proc, 101, 2, "c");
	keep(proc, 101, 1, "d"); /* replaces the first */
	take(proc, 101, 2, "c");
	take(proc, 101, 2, NULL);
	take(proc, 101, 1, "d");
	take(proc, 101, 1, NULL);
	take(proc, 102, 1, "b");
	keep(proc, 103, 1, "left");
	keep(proc, 103, 2, "");
	dft_procs_free(&procs); /* and what is left */
}

static void a_pid_used_again(void **state)
{
	struct dft_procs procs = { 0 };
	struct dft_proc *first = dft_procs_add(&procs, 100, 5), *second;

	(void)state;
	assert_ptr_equal(dft_procs_get(&procs, 100), first);
	second = dft_procs_add(&procs, 100, 6);
	assert_non_null(second);
	assert_ptr_equal(dft_procs_get(&procs, 100), second);
	assert_true(first->ended && !second->ended);
	assert_int_equal(procs.live.len, 1);
	assert_ptr_equal(dft_map_get(&procs.dying, dft_procs_key(100, 5)), first);
	assert_int_equal(dft_procs_retire(&procs, second), 0);
	assert_int_equal(procs.live.len, 0);
	assert_int_equal(procs.dying.len, 2);
	assert_null(dft_procs_get(&procs, 100));
	dft_procs_free(&procs);
}

static void fields(void **state)
{
	char *field = NULL;
	size_t len = 9;

	(void)state;
	assert_int_equal(dft_proc_set(&field, &len, "a\0b", 3), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(field, "a\0b", 4);
	assert_int_equal(dft_proc_set(&field, NULL, "c", 1), 0);
	assert_string_equal(field, "c");
	assert_int_equal(dft_proc_set(&field, &len, NULL, 0), 0);
	assert_null(field);
	assert_int_equal(len, 0);
}

static struct dft_name *put(struct dft_names *names, uint64_t id, const char *path, uint32_t flags,
			    uint8_t cls, uint64_t ino)
{
	size_t len = strlen(path);
	struct dft_rec_name *rec = calloc(1, sizeof(*rec) + len);
	struct dft_name *name;

	assert_non_null(rec);
	rec->id = id;
	rec->len = (uint16_t)len;
	rec->flags = flags;
	rec->cls = cls;
	rec->ino = ino;
	memcpy(rec->path, path, len);
	name = dft_names_put(names, rec);
	free(rec);
	assert_non_null(name);
	return name;
}

static void is(const struct dft_name *name, const char *want)
{
	assert_int_equal(name->len, strlen(want));
	assert_memory_equal(name->text, want, name->len);
}

static void names_by_id(void **state)
{
	struct dft_names names = { 0 };

	(void)state;
	assert_null(dft_names_get(&names, 1));
	is(put(&names, 1, "/data/a", 0, DFT_CLASS_FILE, 0), "/data/a");
	is(put(&names, 2, "", 0, DFT_CLASS_DIR, 0), "/");
	is(put(&names, 3, "", DFT_NAME_FLOATING, DFT_CLASS_PIPE, 12), "pipe:[12]");
	is(put(&names, 4, "", DFT_NAME_FLOATING, DFT_CLASS_SOCKET, 13), "socket:[13]");
	is(put(&names, 5, "/[eventpoll]", DFT_NAME_FLOATING, DFT_CLASS_ANON, 1), "anon_inode:[eventpoll]");
	is(put(&names, 6, "", DFT_NAME_FLOATING, DFT_CLASS_ANON, 1), "anon_inode:");
	is(put(&names, 7, "/memfd:x", DFT_NAME_FLOATING, DFT_CLASS_FILE, 1), "/memfd:x");
	/* sent again, as something else: the last one counts */
	is(put(&names, 1, "/data/b", 0, DFT_CLASS_FILE, 0), "/data/b");
	is(dft_names_get(&names, 1), "/data/b");
	assert_true(dft_names_get(&names, 1)->fhash != dft_names_get(&names, 2)->fhash);
	/* 0 is no name, even if somebody sent one */
	put(&names, 0, "/zero", 0, DFT_CLASS_FILE, 0);
	assert_null(dft_names_get(&names, 0));
	dft_names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_by_thread_and_slot),
		cmocka_unit_test(a_pid_used_again),
		cmocka_unit_test(fields),
		cmocka_unit_test(names_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
