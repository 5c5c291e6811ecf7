// SPDX-License-Identifier: MIT
#include "ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Two pieces are with the reader at most: the one it reads, and the next while it moves on. */
#define PIECES	 6
#define PIECE_SZ (512u << 10)
/* A call of the decompressor has its price: with less room than this the piece counts as full. */
#define ENOUGH	 (64u << 10)

struct slot {
	struct dft_ahead_piece piece; /* first: the reader's pointer leads back to the slot */
	struct slot *next;
};

struct queue {
	struct slot *first, **last;
};

struct dft_ahead {
	struct dft_gzin *gz;
	struct slot slots[PIECES];
	char *mem;
	int stop_fd;
	int err; /* of a step, of which the reader is told behind the bytes before it */
	bool stop;
	struct queue full, empty; /* these and `stop`: under the lock */
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	pthread_t thread;
};

static void put(struct queue *q, struct slot *s)
{
	s->next = NULL;
	*q->last = s;
	q->last = &s->next;
}

static struct slot *get(struct queue *q)
{
	struct slot *s = q->first;

	if (s && !(q->first = s->next))
		q->last = &q->first;
	return s;
}

/* An empty slot; NULL when all is to end. */
static struct slot *next_empty(struct dft_ahead *a)
{
	struct slot *s = NULL;

	pthread_mutex_lock(&a->lock);
	while (!a->stop && !(s = get(&a->empty)))
		pthread_cond_wait(&a->emptied, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return s;
}

static void hand_over(struct dft_ahead *a, struct slot *s)
{
	pthread_mutex_lock(&a->lock);
	put(&a->full, s);
	pthread_cond_signal(&a->filled);
	pthread_mutex_unlock(&a->lock);
}

/* So that what comes slowly, over a pipe, is not kept back until there is much of it. */
static bool reader_waits(struct dft_ahead *a)
{
	bool waits;

	pthread_mutex_lock(&a->lock);
	waits = !a->full.first;
	pthread_mutex_unlock(&a->lock);
	return waits;
}

/* Steps, until there is something to tell or the piece is full. Returns whether more may follow. */
static bool fill(struct dft_ahead *a, struct dft_ahead_piece *p)
{
	size_t got = 0;

	p->step.event = DFT_GZ_DATA;
	while (!a->err && p->step.event == DFT_GZ_DATA && PIECE_SZ - got >= ENOUGH &&
	       !(got && reader_waits(a))) {
		a->err = dft_gzin_step(a->gz, p->data + got, PIECE_SZ - got, &p->step);
		got += a->err ? 0 : p->step.got;
	}
	p->step.got = got;
	p->err = got ? 0 : a->err;
	p->plain = dft_gzin_is_plain(a->gz);
	p->offset = dft_gzin_offset(a->gz);
	return !p->err && p->step.event != DFT_GZ_END;
}

static void *run(void *ahead)
{
	struct dft_ahead *a = ahead;
	struct slot *s;
	bool more = true;

	while (more && (s = next_empty(a))) {
		more = fill(a, &s->piece);
		hand_over(a, s);
	}
	return NULL;
}

static void release(struct dft_ahead *a)
{
	if (a->stop_fd >= 0)
		close(a->stop_fd);
	pthread_cond_destroy(&a->filled);
	pthread_cond_destroy(&a->emptied);
	pthread_mutex_destroy(&a->lock);
	free(a->mem);
	free(a);
}

struct dft_ahead *dft_ahead_start(struct dft_gzin *gz)
{
	struct dft_ahead *a = calloc(1, sizeof(*a));
	size_t each = DFT_AHEAD_ROOM + PIECE_SZ;

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->filled, NULL);
	pthread_cond_init(&a->emptied, NULL);
	a->gz = gz;
	a->full.last = &a->full.first;
	a->empty.last = &a->empty.first;
	a->mem = malloc(PIECES * each);
	a->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (!a->mem || a->stop_fd < 0) {
		release(a);
		return NULL;
	}
	for (size_t i = 0; i < PIECES; i++) {
		a->slots[i].piece.data = a->mem + i * each + DFT_AHEAD_ROOM;
		put(&a->empty, &a->slots[i]);
	}
	dft_gzin_stop_at(gz, a->stop_fd);
	if (pthread_create(&a->thread, NULL, run, a)) {
		dft_gzin_stop_at(gz, -1);
		release(a);
		return NULL;
	}
	return a;
}

struct dft_ahead_piece *dft_ahead_take(struct dft_ahead *a)
{
	struct slot *s;

	pthread_mutex_lock(&a->lock);
	while (!(s = get(&a->full)))
		pthread_cond_wait(&a->filled, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return &s->piece;
}

void dft_ahead_give(struct dft_ahead *a, struct dft_ahead_piece *piece)
{
	pthread_mutex_lock(&a->lock);
	put(&a->empty, (struct slot *)piece);
	pthread_cond_signal(&a->emptied);
	pthread_mutex_unlock(&a->lock);
}

void dft_ahead_stop(struct dft_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->emptied);
	pthread_mutex_unlock(&a->lock);
	/* The thread may be waiting for the next bytes of a pipe, which may never come. This cannot fail. */
	eventfd_write(a->stop_fd, 1);
	pthread_join(a->thread, NULL);
	dft_gzin_stop_at(a->gz, -1);
	release(a);
}
