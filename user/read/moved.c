// SPDX-License-Identifier: MIT
#include "moved.h"

#include <string.h>

bool dft_moved(struct dft_view *v, struct dft_tl_call *c)
{
	const struct dft_record *r = v->r;
	const struct dft_facts *f;
	enum dft_dir dir;
	struct dft_str name;
	uint64_t bytes;

	if (!(r->has & DFT_F_TS) || !dft_is_io_cat(r->cat) || dft_is_of_app(r) ||
	    (r->ph != DFT_PH_COMPLETE && r->ph != DFT_PH_AGGREGATED))
		return false;
	/* What went through a pipe is no I/O of files. */
	if (r->ph == DFT_PH_AGGREGATED && dft_view_file(v, &name) && dft_is_pipe_name(name))
		return false;
	memset(c, 0, sizeof(*c));
	f = dft_view_facts(v);
	dir = dft_view_dir(v);
	bytes = dft_view_bytes(v);
	c->from_ns = c->to_ns = dft_view_ts(v);
	c->ops = 1;
	if (r->ph == DFT_PH_AGGREGATED) {
		c->ops = f->cnt;
		c->to_ns = dft_mul_sat(f->last, v->unit_ns);
	} else {
		dft_add_sat(&c->to_ns, dft_view_dur(v));
	}
	switch (dir) {
	case DFT_DIR_READ:
		c->read = bytes;
		break;
	case DFT_DIR_WRITE:
		c->written = bytes;
		break;
	case DFT_DIR_FROM_FHASH:
	case DFT_DIR_TO_FHASH:
		c->read = c->written = bytes;
		break;
	case DFT_DIR_MAPPED:
		break;
	case DFT_DIR_NONE:
		c->meta = c->ops;
		break;
	}
	return true;
}
