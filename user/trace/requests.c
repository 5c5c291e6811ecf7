// SPDX-License-Identifier: MIT
/* Requests: what a program has the kernel do while it goes on. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

bool dft_request_is_sound(const struct dft_rec_request *rec, size_t size)
{
	return size >= sizeof(*rec) && size == sizeof(*rec) + rec->call.nvals * sizeof(uint64_t);
}

const char *dft_request_via(unsigned int nr)
{
	if (nr >= DFT_NR_URING && nr < DFT_NR_URING + DFT_NR_URING_MAX)
		return "io_uring";
	return nr >= DFT_NR_AIO && nr < DFT_NR_AIO + DFT_NR_AIO_MAX ? "aio" : NULL;
}

bool dft_result_is_known(int64_t ret)
{
	return ret != DFT_RESULT_UNFINISHED && ret != DFT_RESULT_UNSEEN;
}

/* Their request became a tally. */
static void forget_texts(struct dft_proc *proc, uint32_t serial)
{
	free(dft_proc_take_text(proc, serial, 1));
	free(dft_proc_take_text(proc, serial, 2));
}

int dft_request_record(struct dft_engine *engine, const struct dft_rec_request *rec)
{
	struct dft_proc *proc = dft_engine_proc(engine, rec->call.pid, rec->start_ns, rec->call.ts_ns);

	if (!proc)
		return -ENOMEM;
	if (rec->texts_only) {
		forget_texts(proc, rec->serial);
		return 0;
	}
	if (!dft_request_via(rec->call.nr)) {
		engine->bad_records++;
		return 0;
	}
	return dft_engine_call(engine, proc, &rec->call, rec->serial);
}
