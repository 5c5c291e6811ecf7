# SPDX-License-Identifier: MIT
# dftrace-bpf: `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build

CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
STRIP   ?= llvm-strip
OPT     ?= -O2 -g
WERROR  ?=

ARCH    := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
TRIPLET := $(shell $(CC) -dumpmachine 2>/dev/null)

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	   -Wtype-limits -Wvla $(if $(WERROR),-Werror)
INC     := -I. -Iuser/lib -Iuser/trace -Iuser/read
CFLAGS_ALL := -std=gnu11 -D_GNU_SOURCE $(OPT) $(WARN) $(INC) $(CFLAGS)
DEPS     = -MMD -MP

LIB_SRC   := $(wildcard user/lib/*.c)
TRACE_SRC := $(wildcard user/trace/*.c)
READ_SRC  := $(wildcard user/read/*.c)
BPF_SRC   := $(wildcard bpf/*.bpf.c)

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJ   := $(call obj,$(LIB_SRC))
TRACE_OBJ := $(call obj,$(TRACE_SRC))
READ_OBJ  := $(call obj,$(READ_SRC))
BPF_OBJ   := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.bpf.o,$(BPF_SRC))
SKEL      := $(BUILD)/dftrace.skel.h

all: $(BUILD)/dftrace-bpf $(BUILD)/dftrace ## build both programs (the default)

$(BUILD)/dftrace-bpf: $(TRACE_OBJ) $(LIB_OBJ)
	$(CC) $(OPT) $(LDFLAGS) -o $@ $^ -lbpf -ldeflate -lmd -lpthread

$(BUILD)/dftrace: $(READ_OBJ) $(LIB_OBJ)
	$(CC) $(OPT) $(LDFLAGS) -o $@ $^ -lz -lmd -lpthread

# ---- kernel side ------------------------------------------------------------------------------

BPF_FLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Ibpf -Ivmlinux/$(ARCH) \
	     -idirafter /usr/include/$(TRIPLET) -Wall -Wextra -Wno-unused-parameter \
	     -Wno-sign-compare $(if $(WERROR),-Werror)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_FLAGS) $(DEPS) -c $< -o $@
	$(STRIP) -g $@

$(BUILD)/dftrace.bpf.o: $(BPF_OBJ)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/dftrace.bpf.o
	$(BPFTOOL) gen skeleton $< name dftrace_bpf > $@.tmp
	mv $@.tmp $@

# ---- user side --------------------------------------------------------------------------------

$(BUILD)/user/trace/tracer.o: $(SKEL)
$(BUILD)/user/trace/tracer.o: CFLAGS_ALL += -I$(BUILD)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(DEPS) -c $< -o $@

clean: ## remove what was built
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.DELETE_ON_ERROR:
.PHONY: all clean
