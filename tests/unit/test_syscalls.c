// SPDX-License-Identifier: MIT
/* The table as the decoder sees it: what its parts promise each other. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "json.h"
#include "syscalls.h"

#define for_each_decoded(sys)                                                                      \
	for (unsigned int nr = 0; nr < DFT_NR_MAX; nr++)                                           \
		if ((sys = dft_sys_find(nr)) && sys->desc.kind == DFT_KIND_DECODED)

static void numbers(void **state)
{
	(void)state;
	assert_string_equal(dft_sys_find(SYS_read)->name, "read");
	assert_string_equal(dft_sys_find(SYS_pread64)->event, "pread");
	assert_string_equal(dft_sys_find(SYS_openat2)->event, "open");
	assert_string_equal(dft_sys_find(SYS_io_uring_enter)->name, "io_uring_enter");
	assert_null(dft_sys_find(SYS_io_uring_enter)->event);
	assert_null(dft_sys_find(DFT_NR_MAX - 1));
	assert_null(dft_sys_find(DFT_NR_MAX));
	assert_null(dft_sys_find(UINT32_MAX));
}

static void lines_are_complete(void **state)
{
	const struct dft_sys *sys;
	unsigned int lines = 0;

	(void)state;
	for (unsigned int nr = 0; nr < DFT_NR_MAX; nr++) {
		sys = dft_sys_find(nr);
		if (!sys)
			continue;
		lines++;
		assert_true(sys->desc.kind >= DFT_KIND_DECODED && sys->desc.kind <= DFT_KIND_NOTIO);
		assert_int_equal(sys->event != NULL, sys->desc.kind == DFT_KIND_DECODED);
	}
	assert_true(lines > 300);
}

/* No key twice in one event, and none that the formatter writes itself. */
static void keys_are_distinct_and_short(void **state)
{
	static const char *const taken[] = { "hhash",   "fhash",	 "ret",		"errno",
					     "restarted", "offset_shared", "lexical",	"deleted",
					     "other_deleted", "unreachable", "unresolved", "path",
					     "unresolved2", "via",	 "dur_ns",	"cmd_len",
					     "unfinished", "unseen" };
	const struct dft_sys *sys;

	(void)state;
	for_each_decoded(sys) {
		for (int i = 0; i < (int)DFT_MAX_VALS; i++) {
			const char *name = sys->vals[i].name;

			if (!name)
				continue;
			assert_int_equal(sys->vals[i].name_len, strlen(name));
			assert_true(sys->vals[i].name_len <= DFT_PEN_KEY);
			for (size_t t = 0; t < sizeof(taken) / sizeof(taken[0]); t++)
				assert_string_not_equal(name, taken[t]);
			for (int k = 0; k < i; k++)
				if (sys->vals[k].name)
					assert_string_not_equal(name, sys->vals[k].name);
		}
	}
}

/* The values end at the first that is not used: the loops over them stop there. */
static void values_have_no_gap(void **state)
{
	const struct dft_sys *sys;

	(void)state;
	for_each_decoded(sys) {
		bool ended = false;

		for (int i = 0; i < (int)DFT_MAX_VALS; i++) {
			ended = ended || !sys->vals[i].src;
			assert_int_equal(ended, !sys->vals[i].src);
			assert_int_equal(ended, sys->vals[i].fmt == DFT_FMT_NONE);
		}
	}
}

/* AT_* flags choose the event's name: the line must carry them. MODE looks at `flags`. */
static void flags_are_carried(void **state)
{
	const struct dft_sys *sys;

	(void)state;
	for_each_decoded(sys) {
		bool at_flags = false, flags = false, mode = false;

		for (int i = 0; i < (int)DFT_MAX_VALS; i++) {
			at_flags |= sys->desc.at_flags &&
				    sys->vals[i].src == DFT_SRC_A0 + sys->desc.at_flags - 1;
			flags |= sys->vals[i].name && !strcmp(sys->vals[i].name, "flags");
			mode |= sys->vals[i].fmt == DFT_FMT_MODE;
		}
		if (sys->desc.alt != DFT_ALT_NONE)
			assert_true(at_flags);
		if (mode)
			assert_true(flags);
	}
}

/* A string or name that a value shows must be read by the kernel side, and the other way round. */
static void strings_are_sent(void **state)
{
	const struct dft_sys *sys;

	(void)state;
	for_each_decoded(sys) {
		bool shown = false, other = false;

		for (int i = 0; i < (int)DFT_MAX_VALS; i++) {
			shown |= sys->vals[i].src == DFT_SRC_TEXT2;
			other |= sys->vals[i].src == DFT_SRC_NAME2;
			if (sys->vals[i].src == DFT_SRC_TEXT1)
				assert_true(sys->desc.path);
		}
		/* Of an exec it is the interpreter of a script, which the exec hook sends. */
		assert_int_equal(shown, sys->desc.path2 || sys->desc.special == DFT_SPECIAL_EXEC);
		assert_int_equal(other, sys->desc.fd2 && !sys->desc.closes);
	}
}

/* The event of a call whose AT_* flags, where its line has any, are `at_flags`. */
static const char *event(long nr, uint64_t at_flags, uint16_t flags)
{
	const struct dft_sys *sys = dft_sys_find((unsigned int)nr);
	uint64_t words[sizeof(struct dft_rec_call) / 8 + DFT_MAX_VALS] = { 0 };
	struct dft_rec_call *rec = (struct dft_rec_call *)words;

	rec->flags = flags;
	for (unsigned int i = 0; i < DFT_MAX_VALS; i++) {
		if (!sys->desc.at_flags || sys->vals[i].src != DFT_SRC_A0 + sys->desc.at_flags - 1)
			continue;
		rec->val[i] = at_flags;
		rec->present = (uint8_t)(1u << i);
		rec->nvals = (uint8_t)(i + 1);
	}
	return dft_sys_event_of(sys, rec);
}

static void flags_turn_the_name(void **state)
{
	(void)state;
	assert_string_equal(event(SYS_newfstatat, 0, 0), "stat");
	assert_string_equal(event(SYS_newfstatat, AT_SYMLINK_NOFOLLOW, 0), "lstat");
	assert_string_equal(event(SYS_newfstatat, AT_SYMLINK_NOFOLLOW, DFT_CALL_SELF), "fstat");
	assert_string_equal(event(SYS_statx, AT_EMPTY_PATH, DFT_CALL_SELF), "fstat");
	assert_string_equal(event(SYS_statx, AT_EMPTY_PATH, 0), "stat");
	assert_string_equal(event(SYS_unlinkat, 0, 0), "unlink");
	assert_string_equal(event(SYS_unlinkat, AT_REMOVEDIR, 0), "rmdir");
	assert_string_equal(event(SYS_fchownat, AT_SYMLINK_NOFOLLOW, 0), "lchown");
	assert_string_equal(event(SYS_fchownat, AT_EMPTY_PATH, DFT_CALL_SELF), "fchown");
	assert_string_equal(event(SYS_linkat, AT_SYMLINK_FOLLOW, 0), "link");
	assert_string_equal(event(SYS_faccessat2, AT_SYMLINK_NOFOLLOW, DFT_CALL_SELF), "access");
	assert_string_equal(event(SYS_read, 0, DFT_CALL_SELF), "read");
	assert_string_equal(event(SYS_dup3, 0, 0), "dup3");
	assert_string_equal(event(SYS_dup3, 0, DFT_CALL_VIA), "close");
	assert_string_equal(event(463 /* setxattrat */, AT_SYMLINK_NOFOLLOW, 0), "lsetxattr");
	assert_string_equal(event(466 /* removexattrat */, 0, DFT_CALL_SELF), "fremovexattr");
}

/* Tallies keep the flag and the form, and must come to the same names. */
static void tallies_have_the_same_names(void **state)
{
	const struct dft_sys *sys;

	(void)state;
	for_each_decoded(sys) {
		for (int self = 0; self < 2; self++) {
			uint64_t flag = dft_alt_flag(sys->desc.alt);

			assert_string_equal(dft_sys_event(sys, false, self),
					    event(nr, 0, self ? DFT_CALL_SELF : 0));
			if (sys->desc.alt != DFT_ALT_NONE)
				assert_string_equal(dft_sys_event(sys, true, self),
						    event(nr, flag, self ? DFT_CALL_SELF : 0));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(lines_are_complete),
		cmocka_unit_test(keys_are_distinct_and_short),
		cmocka_unit_test(values_have_no_gap),
		cmocka_unit_test(flags_are_carried),
		cmocka_unit_test(strings_are_sent),
		cmocka_unit_test(flags_turn_the_name),
		cmocka_unit_test(tallies_have_the_same_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
