// SPDX-License-Identifier: MIT
#include "export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "out.h"

int dft_export_open(struct dft_export_file *e, const struct dft_export_opts *opts)
{
	int rc;

	memset(e, 0, sizeof(*e));
	e->whole.fd = -1;
	e->f = stdout;
	if (!opts->out || strcmp(opts->out, "-") == 0)
		return 0;
	rc = dft_whole_open(&e->whole, opts->out, opts->force);
	if (rc)
		return rc;
	e->f = fdopen(e->whole.fd, "w");
	if (e->f)
		return 0;
	rc = -errno;
	dft_error("%s", strerror(-rc));
	return dft_whole_close(&e->whole, rc);
}

int dft_export_close(struct dft_export_file *e, int rc)
{
	int err = 0;

	/* Of standard output dft_out_finish() tells. */
	if (e->f == stdout)
		return rc;
	errno = 0;
	if (ferror(e->f))
		err = EIO;
	if (fclose(e->f) || err)
		err = errno ? errno : EIO;
	e->whole.fd = -1;
	if (err && !rc) {
		char safe[1024];

		dft_error("%s: cannot be written: %s", dft_safe_z(safe, sizeof(safe), e->whole.path),
			  strerror(err));
		rc = -err;
	}
	return dft_whole_close(&e->whole, rc);
}

int dft_export_failed(const char *what, int rc)
{
	if (rc)
		dft_error("export: %s: %s (nothing of the result is to be used)", what,
			  strerror(-rc));
	return rc;
}
