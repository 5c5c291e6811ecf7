/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Takes back what table.h defined. No include guard: it is made to be included again. */
#undef SPEC
#undef NOFILE
#undef FD
#undef FD2
#undef PATH
#undef AT
#undef AT_FLAGS
#undef PATH2
#undef AT2
#undef RAW2
#undef CLOSES
#undef EARLY
#undef EMPTY_OK
#undef NULL_OK
#undef NULL_EMPTY
#undef SPECIAL
#undef DFT_TABLE_NR
#undef DFT_SYS
#undef DFT_SYS_X86
#undef DFT_LINE
#undef DECODED
#undef UNDECODED
#undef NOTIO
#undef V
#undef NOVALS
