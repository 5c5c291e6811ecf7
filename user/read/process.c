// SPDX-License-Identifier: MIT
#include "process.h"

#include "marker.h"

#define AT(p, nr) ((struct dft_process *)(p)->v.v + (nr) - 1)

void dft_processes_begin_file(struct dft_processes *p)
{
	p->goes_on = false;
	p->now = 0;
	if (p->alone) {
		p->v.n = 0;
		dft_index_clear(&p->by_host);
		dft_index_clear(&p->by_pid);
	}
	p->first = p->v.n;
}

void dft_processes_free(struct dft_processes *p)
{
	dft_rows_free(&p->v);
	dft_index_free(&p->by_host);
	dft_index_free(&p->by_pid);
}

static uint64_t host_key(uint64_t host, uint64_t pid)
{
	return dft_hash_bytes(host, &pid, sizeof(pid));
}

uint64_t dft_process_key(const struct dft_processes *p, size_t nr, uint64_t file)
{
	const uint64_t own[2] = { file, nr - p->first };

	/* All parts of a process are one, in whichever files they are. */
	return p->goes_on ? host_key(AT(p, nr)->host, AT(p, nr)->pid) : dft_hash_bytes(0, own, sizeof(own));
}

/* These come first of a process. */
static bool begins(const struct dft_record *r)
{
	return dft_is_start(r) || (r->ph == DFT_PH_METADATA && DFT_STR_IS(r->name, "thread_name") &&
			       !dft_is_of_app(r));
}

/* What `at` says, if it is of this file; a process without a host is any host's. */
static size_t known(const struct dft_processes *p, const struct dft_index *by, uint64_t key, bool any)
{
	const uint64_t *at = dft_index_get(by, key);

	if (!at || (*at <= p->first && !p->goes_on))
		return 0;
	return !any || !AT(p, *at)->has_host ? *at : 0;
}

static int name_it(struct dft_processes *p, const struct dft_whose *w, size_t nr)
{
	bool fresh;
	uint64_t *at = dft_index_put(&p->by_pid, host_key(0, w->pid), &fresh);

	if (!at)
		return -ENOMEM;
	*at = nr;
	at = w->has_host ? dft_index_put(&p->by_host, host_key(w->hhash, w->pid), &fresh) : at;
	if (!at)
		return -ENOMEM;
	*at = nr;
	return 0;
}

static size_t add(struct dft_processes *p, const struct dft_whose *w)
{
	const uint64_t *was = w->has_host ? dft_index_get(&p->by_host, host_key(w->hhash, w->pid)) :
					    dft_index_get(&p->by_pid, host_key(0, w->pid));
	size_t before = was ? *was : 0;
	struct dft_process *one = dft_rows_add(&p->v, sizeof(*one));

	if (!one)
		return 0;
	*one = (struct dft_process){ .pid = w->pid, .host = w->has_host ? w->hhash : 0,
				     .has_host = w->has_host, .before = before };
	return name_it(p, w, p->v.n) ? 0 : p->v.n;
}

/*
 * The marker stands behind the first HH, for which a number was taken: it is not used, if the process
 * that went before is known.
 */
static int go_on(struct dft_processes *p)
{
	const struct dft_process *one = p->now ? AT(p, p->now) : NULL;
	const struct dft_whose w = { .pid = one ? one->pid : 0, .hhash = one ? one->host : 0,
				     .has_host = one && one->has_host };

	p->goes_on = true;
	if (!one || p->v.n != p->first + 1 || !one->before)
		return 0;
	p->now = 0;
	return name_it(p, &w, one->before);
}

/* Nearly every record is of the same process as the one before. */
static bool is_as_before(const struct dft_processes *p, const struct dft_record *r, struct dft_str host)
{
	const struct dft_process *last = AT(p, p->now);

	return r->pid == last->pid && !(last->marked && begins(r)) &&
	       (!host.n || (host.n == p->host_n && memcmp(host.s, p->host, host.n) == 0));
}

static size_t look_up(struct dft_processes *p, const struct dft_record *r, struct dft_jsonr *json)
{
	struct dft_whose w;
	size_t nr;

	dft_whose_of(&w, r, json);
	nr = w.has_host ? known(p, &p->by_host, host_key(w.hhash, w.pid), false) :
			  known(p, &p->by_pid, host_key(0, w.pid), false);
	if (!nr && w.has_host)
		nr = known(p, &p->by_pid, host_key(0, w.pid), true);
	if (!nr || (AT(p, nr)->marked && begins(r)))
		nr = add(p, &w);
	if (!nr || name_it(p, &w, nr))
		return 0;
	if (w.has_host) {
		AT(p, nr)->host = w.hhash;
		AT(p, nr)->has_host = true;
	}
	return nr;
}

size_t dft_process_of(struct dft_processes *p, const struct dft_record *r, struct dft_jsonr *json)
{
	const struct dft_jsonr_node *h = r->args ? dft_jsonr_get(json, r->args, "hhash") : NULL;
	struct dft_str host = { "", 0 };

	if (h)
		host = dft_jsonr_raw(json, h);
	if (r->ph == DFT_PH_METADATA && dft_rearranged_of(r, json) == DFT_REARRANGED_SPLIT && go_on(p))
		return 0;
	if (!p->now || !is_as_before(p, r, host)) {
		p->now = look_up(p, r, json);
		p->host_n = host.n <= sizeof(p->host) ? host.n : 0;
		memcpy(p->host, host.s, p->host_n);
	}
	if (p->now)
		AT(p, p->now)->marked |= dft_is_start(r) || dft_is_end(r);
	return p->now;
}
