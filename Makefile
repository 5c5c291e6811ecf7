# SPDX-License-Identifier: MIT
# dftrace-bpf: `make help` lists the targets.

PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build

CC      ?= cc
CXX     ?= c++
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
# core first: the linker forgets where a map is if it meets a use before the definition.
BPF_SRC   := bpf/core.bpf.c $(filter-out bpf/core.bpf.c,$(wildcard bpf/*.bpf.c))

obj = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJ   := $(call obj,$(LIB_SRC))
TRACE_OBJ := $(call obj,$(TRACE_SRC))
READ_OBJ  := $(call obj,$(READ_SRC))
READ_LIBS := -lz -ldeflate -lsqlite3 -lmd -lm -lpthread
BPF_OBJ   := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.bpf.o,$(BPF_SRC))
SKEL      := $(BUILD)/dftrace.skel.h

all: $(BUILD)/dftrace-bpf $(BUILD)/dftrace $(BUILD)/libdftracer.so ## build everything (the default)

$(BUILD)/dftrace-bpf: $(TRACE_OBJ) $(LIB_OBJ)
	$(CC) $(OPT) $(LDFLAGS) -o $@ $^ -lbpf -ldeflate -lmd -lpthread

$(BUILD)/dftrace: $(READ_OBJ) $(LIB_OBJ)
	$(CC) $(OPT) $(LDFLAGS) -o $@ $^ $(READ_LIBS)

# ---- kernel side ------------------------------------------------------------------------------

bpf_flags = -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(1) -Ibpf -Ivmlinux/$(1) \
	    -idirafter /usr/include/$(TRIPLET) -Wall -Wextra -Wno-unused-parameter \
	    -Wno-sign-compare $(if $(WERROR),-Werror)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(call bpf_flags,$(ARCH)) $(DEPS) -c $< -o $@
	$(STRIP) -g $@

# The other processor's objects are not linked here, but they must always compile.
OTHER_ARCH := $(if $(filter x86,$(ARCH)),arm64,x86)
OTHER_OBJ  := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf-$(OTHER_ARCH)/%.bpf.o,$(BPF_SRC))

$(BUILD)/bpf-$(OTHER_ARCH)/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(call bpf_flags,$(OTHER_ARCH)) $(DEPS) -c $< -o $@

$(BUILD)/dftrace.bpf.o: $(BPF_OBJ)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/dftrace.bpf.o
	$(BPFTOOL) gen skeleton $< name dftrace_bpf > $@.tmp
	mv $@.tmp $@

# ---- user side --------------------------------------------------------------------------------

# Those that see the skeleton (user/trace/kernel.h).
KERNEL_OBJ := $(patsubst %,$(BUILD)/user/trace/%.o,tracer sites pagefault)

$(KERNEL_OBJ): $(SKEL)
$(KERNEL_OBJ): CFLAGS_ALL += -I$(BUILD)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(DEPS) -c $< -o $@

# ---- annotations ------------------------------------------------------------------------------

# The header is enough for C and C++; the library is for other languages, and for programs that were
# linked with DFTracer's.
ANNOT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard user/annotate/*.c))
SONAME    := libdftracer.so.0

$(BUILD)/user/annotate/%.o: CFLAGS_ALL += -fPIC -fvisibility=hidden -Iinclude -Iuser/annotate

$(BUILD)/$(SONAME): $(ANNOT_OBJ)
	$(CC) $(OPT) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs \
		-Wl,-Bsymbolic-functions -o $@ $^

$(BUILD)/libdftracer.so: $(BUILD)/$(SONAME)
	ln -sf $(SONAME) $@

# ---- tests ------------------------------------------------------------------------------------

SAN      := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_DIR  := $(BUILD)/san
# What needs no kernel side: the unit tests link all of it.
IMPURE   := main tracer sites pagefault session pump walk probe listen retire resolve
PURE_SRC := $(LIB_SRC) $(filter-out $(patsubst %,user/trace/%.c,$(IMPURE)),$(TRACE_SRC)) \
	    $(filter-out user/read/main.c,$(READ_SRC))
SAN_OBJ  := $(patsubst %.c,$(SAN_DIR)/%.o,$(PURE_SRC))
SAN_LIB  := $(SAN_DIR)/libpure.a
TEST_LIBS := -lcmocka -lz -lmd -ldeflate -lm -lpthread

UNIT   := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
REPLAY := $(patsubst tests/fuzz/fuzz_%.c,$(BUILD)/tests/fuzz/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
PROGS  := $(patsubst tests/progs/%.c,$(BUILD)/tests/progs/%,$(wildcard tests/progs/*.c))
PROGS_CXX := $(patsubst tests/progs/%.cpp,$(BUILD)/tests/progs/%,$(wildcard tests/progs/*.cpp))
GOLDEN := $(patsubst tests/golden/%.c,$(BUILD)/tests/golden/%,$(wildcard tests/golden/*.c))

$(SAN_DIR)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -O1 $(SAN) $(DEPS) -c $< -o $@

$(SAN_LIB): $(SAN_OBJ) Makefile # which names the objects
	rm -f $@
	ar rcs $@ $(SAN_OBJ)

# The reader as the tests of damaged files run it.
$(SAN_DIR)/dftrace: $(SAN_DIR)/user/read/main.o $(SAN_LIB)
	$(CC) $(OPT) $(SAN) $(LDFLAGS) -o $@ $^ $(READ_LIBS)

$(BUILD)/tests/unit/%: tests/unit/%.c $(SAN_LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -O1 $(SAN) $(DEPS) -MF $@.d $< -o $@ $(SAN_LIB) $(TEST_LIBS)

$(BUILD)/tests/golden/%: tests/golden/%.c $(SAN_LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -O1 $(SAN) $(DEPS) -MF $@.d $< -o $@ $(SAN_LIB) $(TEST_LIBS)

# The fuzz target with a main() that runs it over the corpus.
$(BUILD)/tests/fuzz/replay_%: tests/fuzz/fuzz_%.c $(SAN_LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -DDFT_FUZZ_REPLAY -O1 $(SAN) $(DEPS) -MF $@.d $< -o $@ $(SAN_LIB) \
		$(TEST_LIBS)

# Test programs may ask for flags of their own in a line `// CFLAGS: ...` or `// LDFLAGS: ...`.
$(BUILD)/tests/progs/%: tests/progs/%.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -I. -Iinclude \
		$$(sed -n 's,^// CFLAGS: ,,p' $<) $(DEPS) -MF $@.d $< -o $@ \
		$$(sed -n 's,^// LDFLAGS: ,,p' $<) -lpthread

# The example of docs/annotations.md: as a user would compile it.
EXAMPLE := $(BUILD)/tests/progs/pipeline/stage1 $(BUILD)/tests/progs/pipeline/stage2

$(BUILD)/tests/progs/pipeline/%: tests/progs/pipeline/%.c
	@mkdir -p $(@D)
	$(CC) -std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Iinclude $(DEPS) -MF $@.d $< -o $@

$(BUILD)/tests/progs/pipeline/%: tests/progs/pipeline/%.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -g -Wall -Wextra -Iinclude $(DEPS) -MF $@.d $< -o $@

$(BUILD)/tests/progs/%: tests/progs/%.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -g -Wall -Wextra -Iinclude -I. \
		$$(sed -n 's,^// CFLAGS: ,,p' $<) $(DEPS) -MF $@.d $< -o $@ \
		$$(sed -n 's,^// LDFLAGS: ,,p' $<) -lpthread

# What `make bench` runs beside the workloads among the test programs.
BENCH := $(patsubst %.c,$(BUILD)/%,$(filter-out %.bpf.c,$(wildcard tests/bench/*.c))) \
	 $(BUILD)/tests/bench/empty_pair.bpf.o
BENCH_PROGS := $(filter $(BUILD)/tests/progs/bench_%,$(PROGS))

$(BUILD)/tests/bench/%.bpf.o: tests/bench/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(call bpf_flags,$(ARCH)) $(DEPS) -c $< -o $@

# An archive: of what needs no kernel side only that is linked which does not refer to it either.
$(BUILD)/libpure.a: $(call obj,$(PURE_SRC)) Makefile
	rm -f $@
	ar rcs $@ $(filter %.o,$^)

$(BUILD)/tests/bench/decode_bench $(BUILD)/tests/bench/make_trace: $(BUILD)/libpure.a

$(BUILD)/tests/bench/%: tests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(DEPS) -MF $@.d $< -o $@ $(filter %.a,$^) -lbpf -ldeflate -lz -lmd \
		-lpthread

tests-build: all $(OTHER_OBJ) $(SAN_DIR)/dftrace $(UNIT) $(REPLAY) $(PROGS) $(PROGS_CXX) $(GOLDEN) $(EXAMPLE) $(BENCH) ## build everything that tests need

setup: ## install the distribution packages that are missing (root)
	scripts/setup

test: setup ## install what is missing, build, run every test (root)
	$(MAKE) -j$(shell nproc) WERROR=1 tests-build
	$(MAKE) lint
	python3 tests/run

check: tests-build lint ## quick tests, which need neither root nor the kernel side
	python3 tests/run --layer unit,golden,fuzz,cli

header-check: all ## the annotation header with all compilers, standards and ways to link
	python3 tests/run --layer header

lint: ## includes point down, licences, version, function sizes
	scripts/lint

demo: setup ## install what is missing, build, trace a real job and show its summary (root)
	$(MAKE) all
	scripts/demo

vmlinux-check: ## compare vmlinux/ with the running kernel's types
	scripts/vmlinux-check

FUZZ_SECS ?= 60
fuzz: ## fuzz each target for FUZZ_SECS seconds (clang)
	scripts/fuzz $(FUZZ_SECS)

soak: tests-build ## the tests that take long, on a machine of their own: more than an hour (root)
	bad=0; for t in tests/soak/*.py; do DFT_BUILD=$(abspath $(BUILD)) python3 $$t || bad=1; done; exit $$bad

apps: ## large programs, traced from start and by attach, against strace; fio in full (root)
	scripts/setup apps
	$(MAKE) tests-build
	DFT_BUILD=$(abspath $(BUILD)) python3 tests/run -v --layer apps --timeout 1800

bench: all $(BENCH) $(BENCH_PROGS) ## measure: bare, traced and beside other tracers, in pairs (root)
	DFT_BUILD=$(abspath $(BUILD)) python3 tests/bench/run.py

# ---- install ----------------------------------------------------------------------------------

install: all ## install below $(DESTDIR)$(PREFIX)
	install -Dm755 $(BUILD)/dftrace-bpf $(DESTDIR)$(PREFIX)/sbin/dftrace-bpf
	install -Dm755 $(BUILD)/dftrace $(DESTDIR)$(PREFIX)/bin/dftrace
	install -Dm755 $(BUILD)/$(SONAME) $(DESTDIR)$(PREFIX)/lib/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(PREFIX)/lib/libdftracer.so
	install -Dm644 docs/man/dftrace-bpf.8 $(DESTDIR)$(PREFIX)/share/man/man8/dftrace-bpf.8
	install -Dm644 docs/man/dftrace.1 $(DESTDIR)$(PREFIX)/share/man/man1/dftrace.1
	install -Dm644 completions/dftrace-bpf \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/dftrace-bpf
	install -Dm644 completions/dftrace \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/dftrace
	$(foreach h,$(wildcard include/dftracer/*.h),install -Dm644 $(h) $(DESTDIR)$(PREFIX)/$(h) &&) true

# Where Python looks for packages of the administrator; a package of pure Python: copying is all.
PYTHONDIR ?= $(shell python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

install-python: ## install the Python package `dftracer` below $(DESTDIR)$(PYTHONDIR)
	cd user/annotate/python && find dftracer -name '*.py' \
		-exec install -Dm644 {} $(DESTDIR)$(PYTHONDIR)/{} \;

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/sbin/dftrace-bpf $(DESTDIR)$(PREFIX)/bin/dftrace \
		$(DESTDIR)$(PREFIX)/lib/$(SONAME) $(DESTDIR)$(PREFIX)/lib/libdftracer.so \
		$(DESTDIR)$(PREFIX)/share/man/man8/dftrace-bpf.8 \
		$(DESTDIR)$(PREFIX)/share/man/man1/dftrace.1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/dftrace-bpf \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/dftrace
	rm -rf $(DESTDIR)$(PREFIX)/include/dftracer

clean: ## remove what was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all clean help setup test check header-check lint demo vmlinux-check fuzz bench soak apps install install-python uninstall \
	tests-build
