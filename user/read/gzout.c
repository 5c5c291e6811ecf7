// SPDX-License-Identifier: MIT
#include "gzout.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "out.h"

#define MEMBER (1u << 20)
#define LEVEL  5

int dft_gzout_open(struct dft_gzout *o, const char *path, bool force)
{
	size_t n = strlen(path);
	int rc;

	memset(o, 0, sizeof(*o));
	rc = dft_whole_open(&o->file, path, force);
	if (rc)
		return rc;
	if (n < 3 || strcmp(path + n - 3, ".gz") != 0)
		return 0;
	o->packer = libdeflate_alloc_compressor(LEVEL);
	if (o->packer)
		return 0;
	dft_error("%s", strerror(ENOMEM));
	return dft_gzout_close(o, -ENOMEM);
}

static int write_all(struct dft_gzout *o, const char *s, size_t n)
{
	char safe[1024];

	while (n) {
		ssize_t done = write(o->file.fd, s, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			int err = done ? errno : ENOSPC;

			dft_error("%s: cannot be written: %s",
				  dft_safe_z(safe, sizeof(safe), o->file.path), strerror(err));
			return -err;
		}
		s += done;
		n -= (size_t)done;
	}
	return 0;
}

int dft_gzout_flush(struct dft_gzout *o)
{
	size_t bound, n;
	int rc;

	if (o->text.failed)
		return -ENOMEM;
	if (!o->text.len)
		return 0;
	if (!o->packer) {
		rc = write_all(o, o->text.data, o->text.len);
		o->text.len = 0;
		return rc;
	}
	bound = libdeflate_gzip_compress_bound(o->packer, o->text.len);
	if (bound > o->member_cap) {
		free(o->member);
		o->member = malloc(bound);
		o->member_cap = o->member ? bound : 0;
		if (!o->member)
			return -ENOMEM;
	}
	n = libdeflate_gzip_compress(o->packer, o->text.data, o->text.len, o->member,
				     o->member_cap);
	if (!n)
		return -EIO;
	rc = write_all(o, o->member, n);
	o->text.len = 0;
	return rc;
}

int dft_gzout_tail(struct dft_gzout *o, const char *s, size_t n)
{
	dft_buf_append(&o->text, s, n);
	o->bytes += n;
	return o->text.failed ? -ENOMEM : 0;
}

int dft_gzout_line(struct dft_gzout *o, const char *s, size_t n)
{
	dft_buf_append(&o->text, s, n);
	dft_buf_putc(&o->text, '\n');
	o->bytes += n + 1;
	if (o->text.failed)
		return -ENOMEM;
	return o->text.len >= MEMBER ? dft_gzout_flush(o) : 0;
}

int dft_gzout_close(struct dft_gzout *o, int rc)
{
	if (!rc)
		rc = dft_gzout_flush(o);
	rc = dft_whole_close(&o->file, rc);
	libdeflate_free_compressor(o->packer);
	free(o->member);
	dft_buf_free(&o->text);
	memset(o, 0, sizeof(*o));
	o->file.fd = -1;
	return rc;
}
