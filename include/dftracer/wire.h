/* SPDX-License-Identifier: MIT */
/*
 * What the probes of provider `dftracer` carry: the contract between dftracer.h and whoever listens.
 * Numbers are part of it and never change their meaning; new ones are added at the end.
 *
 * Every probe has the same six operands, always in the same registers (those of the first six
 * arguments of a function call, x86-64: rdi rsi rdx rcx r8 r9, AArch64: x0 .. x5), 8 bytes each:
 *
 *   probe        0 name     1 text         2 value        3 code         4 data      5 len
 *   event        name       category       start, ns      DFT_TYPE_*     chunk       its bytes
 *   part         (as the event of which it is an earlier part)
 *   metadata     key        -              4 x ns + META  DFT_TYPE_*     chunk       its bytes
 *   entity       type       uri            id             store          -           -
 *   entity_type  type       description    hash of type   role           -           -
 *   relation     -          -              subject id     relation       object id   -
 *
 * 0, 1: C strings, or NULL. Times are of CLOCK_MONOTONIC. An event ends when its probe fires, unless
 * it holds DFT_ITEM_DUR.
 *
 * The value of metadata is the time it was made, times 4, plus DFT_META_*: so no two that come from
 * the same memory can be mistaken for parts of one.
 *
 * A chunk is 4 bytes (how many bytes of the same stream went before in `part` probes, native byte
 * order) and then up to DFT_CHUNK_MAX - 4 bytes of a stream of items. The chunks of one event or
 * metadata, joined, are its stream; an item may lie across two of them. Those of one event have the
 * same `value` and process, and the same `data` address unless the region was moved meanwhile, which
 * C++ objects can be. A chunk with 0 bytes before begins a new stream.
 *
 * An item is one byte (DFT_ITEM_*) and what follows, unaligned, in native byte order. A `string` is
 * 4 bytes of length and the bytes.
 */
#ifndef DFTRACER_WIRE_H
#define DFTRACER_WIRE_H

#define DFT_CHUNK_MAX 448 /* bytes of a chunk, with its first 4 */
/* Sizes with the NUL: a name (category) that needs more is in the stream as well, whole. */
#define DFT_NAME_SENT 128 /* DFT_ITEM_NAME; a key of metadata is there in any case */
#define DFT_TEXT_SENT 256 /* DFT_ITEM_CAT; uri and description are never longer */

enum dft_item {
	DFT_ITEM_INT = 1,   /* 1 byte MetadataType, string key, 8 bytes signed */
	DFT_ITEM_STR = 2,   /* 1 byte MetadataType, string key, string value */
	DFT_ITEM_FLOAT = 3, /* 1 byte MetadataType, string key, 8 bytes IEEE double */
	DFT_ITEM_REL = 4,   /* 1 byte EntityRelation (below 16), 8 bytes entity id */
	DFT_ITEM_DUR = 5,   /* 8 bytes: the event took this long, ns, whenever the probe fires */
	DFT_ITEM_NAME = 6,  /* string: the whole name */
	DFT_ITEM_CAT = 7    /* string: the whole category */
};

#define DFT_META_OF(value) ((value) & 3)

/* What a `metadata` probe says. Its stream is one DFT_ITEM_INT or DFT_ITEM_STR with the whole key. */
enum dft_meta {
	DFT_META_CM = 0,   /* name and value, a record of its own */
	DFT_META_APP = 1,  /* of the whole process: `app` of the end record; the last value counts */
	DFT_META_USED = 2  /* the key is the name of a layer in use; value 1 */
};

/* Which API made it: `type` of the trace's records. */
enum dft_api {
	DFT_TYPE_C_APP = 2,
	DFT_TYPE_PYTHON = 6,
	DFT_TYPE_CPP_APP = 9
};

#endif
