// SPDX-License-Identifier: MIT
#include "facts.h"

#include <string.h>
#include <strings.h>

#include "tables.h"

static const struct {
	const char *name;
	enum dft_dir dir;
} dirs[] = {
	{ "read", DFT_DIR_READ }, { "pread", DFT_DIR_READ }, { "pread64", DFT_DIR_READ },
	{ "readv", DFT_DIR_READ }, { "preadv", DFT_DIR_READ }, { "preadv2", DFT_DIR_READ },
	{ "preadv64", DFT_DIR_READ }, { "fread", DFT_DIR_READ }, { "recv", DFT_DIR_READ },
	{ "recvfrom", DFT_DIR_READ }, { "recvmsg", DFT_DIR_READ },
	{ "__read_chk", DFT_DIR_READ }, { "__pread_chk", DFT_DIR_READ },
	{ "__pread64_chk", DFT_DIR_READ }, { "__fread_chk", DFT_DIR_READ },
	{ "write", DFT_DIR_WRITE }, { "pwrite", DFT_DIR_WRITE }, { "pwrite64", DFT_DIR_WRITE },
	{ "writev", DFT_DIR_WRITE }, { "pwritev", DFT_DIR_WRITE }, { "pwritev2", DFT_DIR_WRITE },
	{ "pwritev64", DFT_DIR_WRITE }, { "fwrite", DFT_DIR_WRITE }, { "send", DFT_DIR_WRITE },
	{ "sendto", DFT_DIR_WRITE }, { "sendmsg", DFT_DIR_WRITE },
	{ "copy_file_range", DFT_DIR_FROM_FHASH }, { "splice", DFT_DIR_FROM_FHASH },
	{ "mmap_read", DFT_DIR_MAPPED }, { "mmap_write", DFT_DIR_MAPPED },
	{ "ficlone", DFT_DIR_TO_FHASH }, { "ficlonerange", DFT_DIR_TO_FHASH },
	{ "sendfile", DFT_DIR_TO_FHASH }, { "sendfile64", DFT_DIR_TO_FHASH },
};

bool dft_is_io_cat(struct dft_str cat)
{
	return cat.n == 5 && (strncasecmp(cat.s, "posix", 5) == 0 ||
			      strncasecmp(cat.s, "stdio", 5) == 0);
}

bool dft_is_pipe_name(struct dft_str name)
{
	return name.n > 6 && memcmp(name.s, "pipe:[", 6) == 0;
}

enum dft_dir dft_dir_of(struct dft_str cat, struct dft_str name)
{
	if (!dft_is_io_cat(cat))
		return DFT_DIR_NONE;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dft_str_eq(name, dirs[i].name, strlen(dirs[i].name)))
			return dirs[i].dir;
	return DFT_DIR_NONE;
}

/* One arg of an event. Keys are told apart by length first, because every event passes here. */
static void take_arg(struct dft_facts *f, struct dft_jsonr *j, bool old, struct dft_str k,
		     const struct dft_jsonr_node *v)
{
	uint64_t n;

	switch (k.n) {
	case 3:
		if (memcmp(k.s, "ret", 3) == 0)
			f->has_ret = dft_jsonr_i64(j, v, &f->ret);
		else if (memcmp(k.s, "len", 3) == 0)
			dft_jsonr_u64(j, v, &f->len);
		break;
	case 4:
		if (memcmp(k.s, "size", 4) == 0)
			dft_jsonr_u64(j, v, &f->size);
		else if (memcmp(k.s, "shed", 4) == 0)
			f->shed = dft_jsonr_u64(j, v, &n) && n;
		else if (memcmp(k.s, "last", 4) == 0)
			dft_jsonr_u64(j, v, &f->last);
		else if (memcmp(k.s, "pipe", 4) == 0)
			f->is_pipe = true;
		break;
	case 5:
		if (memcmp(k.s, "fhash", 5) == 0)
			f->has_file = dft_hash_value(j, v, old, &f->file);
		else if (memcmp(k.s, "errno", 5) == 0) {
			f->has_errno = true;
			dft_jsonr_i64(j, v, &f->err);
		}
		break;
	case 6:
		if (memcmp(k.s, "dur_ns", 6) == 0)
			f->has_dur_ns = dft_jsonr_u64(j, v, &f->dur_ns);
		else if (memcmp(k.s, "errors", 6) == 0)
			dft_jsonr_u64(j, v, &f->errors);
		else if (memcmp(k.s, "unseen", 6) == 0)
			f->unseen = dft_jsonr_u64(j, v, &n) && n;
		else if (memcmp(k.s, "off_in", 6) == 0)
			dft_jsonr_u64(j, v, &f->off_in);
		else if (memcmp(k.s, "offset", 6) == 0)
			f->has_offset = dft_jsonr_u64(j, v, &f->offset);
		break;
	case 7:
		if (memcmp(k.s, "dft_cnt", 7) == 0)
			f->has_cnt = dft_jsonr_u64(j, v, &f->cnt);
		else if (memcmp(k.s, "dur_sum", 7) == 0)
			dft_jsonr_u64(j, v, &f->dur_sum);
		else if (memcmp(k.s, "dur_max", 7) == 0)
			dft_jsonr_u64(j, v, &f->dur_max);
		else if (memcmp(k.s, "ret_sum", 7) == 0)
			dft_jsonr_u64(j, v, &f->ret_sum);
		break;
	case 8:
		if (memcmp(k.s, "size_sum", 8) == 0)
			f->has_size_sum = dft_jsonr_u64(j, v, &f->size_sum);
		else if (memcmp(k.s, "replaced", 8) == 0)
			f->replaced = dft_jsonr_u64(j, v, &n) && n;
		break;
	case 9:
		if (memcmp(k.s, "restarted", 9) == 0)
			f->restarted = dft_jsonr_u64(j, v, &n) && n;
		else if (memcmp(k.s, "relations", 9) == 0)
			f->relations = v;
		break;
	case 10:
		if (memcmp(k.s, "image_size", 10) == 0)
			dft_jsonr_u64(j, v, &f->image_size);
		else if (memcmp(k.s, "dur_sum_ns", 10) == 0)
			f->has_dur_ns = dft_jsonr_u64(j, v, &f->dur_ns);
		else if (memcmp(k.s, "unresolved", 10) == 0)
			f->unresolved = v;
		else if (memcmp(k.s, "unfinished", 10) == 0)
			f->unfinished = dft_jsonr_u64(j, v, &n) && n;
		break;
	case 11:
		if (memcmp(k.s, "other_fhash", 11) == 0)
			f->has_other = dft_hash_value(j, v, old, &f->other);
		else if (memcmp(k.s, "unresolved2", 11) == 0)
			f->unresolved2 = v;
		break;
	default:
		break;
	}
}

void dft_facts_take(struct dft_facts *f, struct dft_jsonr *j, const struct dft_record *r)
{
	const struct dft_jsonr_node *k;

	memset(f, 0, sizeof(*f));
	if (!r->args)
		return;
	for (k = dft_jsonr_first(j, r->args); k; k = dft_jsonr_next(j, r->args, k))
		take_arg(f, j, r->letter, dft_jsonr_str(j, k), dft_jsonr_value(k));
}

/* They return nothing; a length of 0 means up to the end of the file. */
static uint64_t shared_bytes(const struct dft_facts *f)
{
	if (!f->has_ret || f->ret < 0)
		return 0;
	if (f->len)
		return f->len;
	return f->size > f->off_in ? f->size - f->off_in : 0;
}

uint64_t dft_facts_bytes(const struct dft_facts *f, enum dft_dir dir, const struct dft_record *r)
{
	uint64_t n = f->has_ret && f->ret > 0 ? (uint64_t)f->ret : 0;

	if (f->has_size_sum)
		return f->size_sum;
	if (dir != DFT_DIR_NONE) {
		if (r->name.n >= 7 && memcmp(r->name.s, "ficlone", 7) == 0)
			return shared_bytes(f);
		/* fread and fwrite return items; nothing else with a direction has a `size`. */
		return f->size ? dft_mul_sat(n, f->size) : n;
	}
	if (dft_is_io_cat(r->cat) || memmem(r->name.s, r->name.n, "open", 4))
		return 0;
	return f->image_size;
}
