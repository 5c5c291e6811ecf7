# SPDX-License-Identifier: MIT
"""The Python package: its API, and which calls of the library come of it.

The package runs in a process of its own (DFT_PYTHON names another interpreter than the usual one),
over a library that only writes down how it was called and that can be told whether anybody listens.
What it wrote is what the package did. The real library is held to the ids, and to being accepted.
"""
import ast
import atexit
import collections
import functools
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))
from dfttest import *  # noqa: E402,F403

PACKAGE = ROOT / "user/annotate/python"
INTERPRETER = os.environ.get("DFT_PYTHON", PYTHON)

STUB = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned short listeners;
static long handles;
static int inert;

void stub_listen(int n) { listeners = n; }
const volatile unsigned short *dftracer_listeners(void) { return &listeners; }

/* Line: pid tid WHAT, and its arguments; each call is one write. s: string in hex, or - for NULL. */
static void note(const char *what, const char *form, ...)
{
    static const char digit[] = "0123456789abcdef";
    size_t room = 1 << 20, n;
    char *line = malloc(room);
    va_list args;
    int fd = open(getenv("STUB_LOG"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    n = sprintf(line, "%d %ld %s", getpid(), syscall(SYS_gettid), what);
    va_start(args, form);
    for (; *form; form++) {
        const char *s;

        line[n++] = ' ';
        switch (*form) {
        case 's':
            s = va_arg(args, const char *);
            line[n++] = s ? 'x' : '-';
            for (; s && *s && n < room - 8; s++) {
                line[n++] = digit[*(const unsigned char *)s >> 4];
                line[n++] = digit[*s & 15];
            }
            break;
        case 'p':
            n += sprintf(line + n, "%ld", (long)va_arg(args, void *));
            break;
        case 'i':
            n += sprintf(line + n, "%d", va_arg(args, int));
            break;
        case 'l':
            n += sprintf(line + n, "%lld", va_arg(args, long long));
            break;
        case 'u':
            n += sprintf(line + n, "%llu", va_arg(args, unsigned long long));
            break;
        default:
            n += sprintf(line + n, "%.17g", va_arg(args, double));
        }
    }
    va_end(args);
    line[n++] = '\n';
    if (fd < 0 || write(fd, line, n) != (ssize_t)n)
        abort();
    close(fd);
    free(line);
}

static uint64_t fake_id(const char *type, const char *key)
{
    return type && key ? 1000 * (strlen(type) + 1) + strlen(key) : 0;
}

void *dftracer_region_open(const char *name, const char *cat, int api)
{
    void *h = listeners ? (void *)__atomic_add_fetch(&handles, 1, __ATOMIC_RELAXED) : &inert;

    note(h != &inert ? "open" : "idle", "pssi", h, name, cat, api);
    return h;
}
void dftracer_region_int(void *h, const char *k, int64_t v, int mt) { if (h != &inert) note("int", "psli", h, k, (long long)v, mt); }
void dftracer_region_float(void *h, const char *k, double v, int mt) { if (h != &inert) note("float", "psfi", h, k, v, mt); }
void update_metadata_string_type(void *h, const char *k, const char *v, int mt) { if (h != &inert) note("str", "pssi", h, k, v, mt); }
void dftracer_region_times(void *h, uint64_t s, uint64_t d) { if (h != &inert) note("times", "puu", h, (unsigned long long)s, (unsigned long long)d); }
void update_relation(void *h, int rel, uint64_t id) { if (h != &inert) note("rel", "piu", h, rel, (unsigned long long)id); }
uint64_t update_relation_entity(void *h, int rel, const char *t, const char *k, int store, const char *uri)
{
    if (h != &inert)
        note("relent", "pissis", h, rel, t, k, store, uri);
    return fake_id(t, k);
}
void finalize_region(void *h) { if (h != &inert) note("close", "p", h); }
void dftracer_region_drop(void *h) { if (h != &inert) note("drop", "p", h); }
void dftracer_metadata_str(int form, int api, const char *k, const char *v) { note("metastr", "iiss", form, api, k, v); }
void dftracer_metadata_int(int form, int api, const char *k, int64_t v) { note("metaint", "iisl", form, api, k, (long long)v); }
uint64_t dftracer_declare_entity(const char *t, const char *k, int store, const char *uri)
{
    note("entity", "ssis", t, k, store, uri);
    return fake_id(t, k);
}
void dftracer_declare_entity_type(const char *t, int role, const char *d) { note("type", "sis", t, role, d); }
void dftracer_relate_entities(int rel, uint64_t s, uint64_t o) { note("relate", "iuu", rel, (unsigned long long)s, (unsigned long long)o); }
uint64_t dftracer_entity_id(const char *t, const char *k) { return fake_id(t, k); }
unsigned long long get_time(void) { return 5000000; }
"""

PRELUDE = """
import ctypes, os, sys
sys.path.insert(0, {package!r})
import dftracer.python.library as library
from dftracer.python import *
def listen(n=1):
    ctypes.CDLL(os.environ["DFTRACER_LIBRARY"]).stub_listen(n)
if os.environ.get("STUB_LISTEN"):
    listen()
"""

VECTORS = [
    ("protein_structure", "MGYP0001", "8f0de68c04eea0bf"),
    ("sequence", "MGYP0001", "d824b0bb91487885"),
    ("structure_tar", "MGYP0001", "6e6d650dd131e83b"),
    ("file", "/data/a.bin", "83b05a10328e7590"),
    ("checkpoint", "step=120", "bab6475a3dba6198"),
    ("", "", "44bd44d473cd2214"),
    ("a", "b" * 5000, "3afdedd377e3657b"),
]


@functools.lru_cache(None)
def built(what):
    """Path of a library: the stub, or the real one."""
    need_program("gcc")
    place = Path(tempfile.mkdtemp(prefix="dft-python-api-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    if what == "stub":
        (place / "stub.c").write_text(STUB)
        sources = [place / "stub.c"]
    else:
        sources = sorted((ROOT / "user/annotate").glob("*.c"))
        check(sources, "there are no sources of libdftracer.so")
    out = place / "libdftracer.so"
    run(["gcc", "-shared", "-fPIC", "-O1", *(["-fvisibility=hidden"] if what != "stub" else []),
         "-I", ROOT / "include", "-I", ROOT / "user/annotate", *sources, "-o", out]).want(0)
    return out


class Span:
    """An event as the library saw it."""

    def __init__(self, pid, tid, name, cat, api, opened):
        self.pid, self.tid, self.name, self.cat, self.api = pid, tid, name, cat, api
        self.args, self.kinds, self.tags = {}, {}, {}
        self.relations, self.times = [], None
        self.opened, self.closed, self.closed_by, self.dropped = opened, None, None, False

    def __repr__(self):
        return f"<{self.name} {self.cat} {self.args} {self.relations}>"


class Calls:
    """What the library was called for."""

    def __init__(self, path):
        self.lines = []
        self.spans = []    # those that were reported, in the order in which they ended
        self.open = {}     # those that were not closed
        self.others = []   # what is of no event: (what, *arguments)
        self.threads = collections.Counter()
        for number, line in enumerate(path.read_text().splitlines() if path.exists() else ()):
            pid, tid, what, *words = line.split(" ")
            self._call(number, int(pid), int(tid), what, [self._value(w) for w in words])

    @staticmethod
    def _value(word):
        if word == "-":
            return None
        if word[0] == "x":
            return bytes.fromhex(word[1:]).decode("utf-8", "surrogateescape")
        return int(word) if word.lstrip("-").isdigit() else float(word)

    def _call(self, number, pid, tid, what, a):
        self.lines.append((what, *a))
        if what == "open":
            self.open[pid, a[0]] = Span(pid, tid, *a[1:], number)
            return
        if what not in ("int", "float", "str", "times", "rel", "relent", "close", "drop"):
            self.others.append((what, *a))
            return
        span = self.open.get((pid, a[0]))
        check(span, f"{what} of a region that is not open: {a}")
        if what in ("int", "float", "str"):
            check(a[1] not in span.args, f"{a[1]} of {span} twice")
            span.args[a[1]], span.kinds[a[1]], span.tags[a[1]] = a[2], what, a[3]
        elif what == "times":
            check(not span.args and not span.relations, "times after arguments")
            span.times = a[1], a[2]
        elif what in ("rel", "relent"):
            span.relations.append(tuple(a[1:]))
        else:
            span.closed, span.closed_by = number, tid
            span.dropped = what == "drop"
            del self.open[pid, a[0]]
            if what == "close":
                self.spans.append(span)

    def names(self):
        return [s.name for s in self.spans]

    def named(self, name):
        return [s for s in self.spans if s.name == name]

    def one(self, name):
        hits = self.named(name)
        equal(len(hits), 1, f"events named {name} of {self.names()}")
        return hits[0]


def python(tmp, code, *, library="stub", listen=True, options=(), status=0, quiet=True, env=None,
           package=PACKAGE):
    """Runs code after `from dftracer.python import *`; returns what it printed, and the calls."""
    log = tmp / "calls"
    log.unlink(missing_ok=True)
    script = tmp / "script.py"
    script.write_text(PRELUDE.format(package=str(package)) + code)
    settings = {"STUB_LOG": str(log), **({"STUB_LISTEN": "1"} if listen else {}), **(env or {})}
    if library:
        settings["DFTRACER_LIBRARY"] = str(built(library))
    r = run([INTERPRETER, "-B", *options, script], cwd=tmp, env=clean_env(**settings)).want(status)
    if quiet:
        equal(r.text, "", "stderr")
    return r.out.decode("utf-8", "surrogateescape"), Calls(log)


def printed(tmp, code, **kw):
    """The value that the code printed."""
    return ast.literal_eval(python(tmp, code, **kw)[0])


# ---- what there is ---------------------------------------------------------------------------

@test
def test_names_and_signatures(tmp):
    code = """
import inspect
import dftracer.logger, dftracer.python, dftracer.python.dbg
for module in (dftracer.logger, dftracer.python.dbg):
    for name in dftracer.python.__all__:
        assert getattr(module, name) is getattr(dftracer.python, name), name
from dftracer.logger import dftracer as one, dft_fn as two, ai as three, DFTRACER_ENABLE
from dftracer.python.logger import dftracer as four, dft_fn as five
from dftracer.python.common import dftracer as six, EntityStore, TagValue
from dftracer.python.ai_common import AI, ai as seven
assert one is four is six and two is five and three is seven and type(three) is AI
def show(f):
    return str(inspect.signature(f).replace(return_annotation=inspect.Signature.empty, parameters=[
        p.replace(annotation=p.empty) for p in inspect.signature(f).parameters.values()]))
print({name: show(getattr(kind, name)) for kind, names in ((one, (
    "get_instance initialize_log get_time get_config enter_event exit_event log_event "
    "log_metadata_event declare_entity declare_entity_type relate_entities set_app_metadata_int "
    "set_app_metadata_string mark_used finalize")), (two, "__init__ log log_init log_static iter update "
    "flush reset log_metadata relate relate_entity uses generates __enter__ __exit__"),
    (type(three.compute.forward), "__call__ start stop derive init enable disable"))
    for name in names.split()})
"""
    found = printed(tmp, code)
    store = "<EntityStore.MEMORY: 0>"
    uri = ", uri='')"
    given = "epoch=None, step=None, image_idx=None, image_size=None"
    for name, want in {
            "get_instance": "()",
            "initialize_log": "(logfile=None, data_dir=None, process_id=-1)",
            "get_config": "(self, key)",
            "log_event": "(self, name, cat, start_time, duration, int_args=None, float_args=None, "
                         "string_args=None, relations=None)",
            "log_metadata_event": "(self, key, value)",
            "declare_entity": f"(self, type, key, store={store}{uri}",
            "declare_entity_type": "(self, type, role=<EntityRole.UNKNOWN: 0>, description='')",
            "relate_entities": "(self, relation, subject, object)",
            "__init__": f"(self, cat, name=None, {given}, enable=True)",
            "log": "(self, func=None, name=None)",
            "log_init": "(self, init=None, name=None)",
            "log_static": "(self, func=None, name=None)",
            "iter": "(self, func, name='loop', iter_name='step')",
            "update": f"(self, {given}, args=None)",
            "relate": "(self, relation, entity)",
            "relate_entity": f"(self, relation, type, key, store={store}{uri}",
            "uses": f"(self, type, key, store={store}{uri}",
            "generates": f"(self, type, key, store={store}{uri}",
            "__call__": f"(self, fn=None, *, enable=None, {given}, args=None)",
            "start": "(self, metadata=False)",
            "stop": "(self, metadata=False)",
            "derive": "(self, name)"}.items():
        equal(found[name], want, name)


@test
def test_numbers_of_enums(tmp):
    found = printed(tmp, """
print({k.__name__: {m.name: int(m) for m in k} for k in
       (EntityStore, EntityRole, EntityRelation, TagType, TagDType)})
assert TagValue(5, TagDType.INT, TagType.VALUE).value() == (1, 5)
assert TagValue("1.5", TagDType.FLOAT).value() == (0, 1.5)
assert TagValue(7).value() == (0, "7")
""")
    header = (ROOT / "include/dftracer/types.h").read_text()
    for kind, prefix in (("EntityStore", "STORE"), ("EntityRole", "ROLE"), ("EntityRelation", "REL")):
        want = {name: int(number) for name, number in
                re.findall(rf"\bDFT_{prefix}_([A-Z_]+) = (\d+)", header)}
        check(len(want) > 5, f"the header's values of {kind} were not found")
        equal(found[kind], want, kind)
    equal(found["TagType"], {"KEY": 0, "VALUE": 1, "IGNORE": 2})
    equal(found["TagDType"], {"INT": 0, "FLOAT": 1, "STRING": 2})


IDS = """
import sys
print([entity_hex(entity_hash(*p)) for p in {pairs!r}])
"""


@test
def test_id_vectors(tmp):
    pairs = [(t, k) for t, k, _ in VECTORS]
    want = [v for _, _, v in VECTORS]
    for library in (None, "real"):
        equal(printed(tmp, IDS.format(pairs=pairs), library=library, listen=False), want,
              f"ids with library {library}")


@test
def test_ids_are_those_of_c(tmp):
    """Whatever type and key are, as long as C can be given them."""
    rng = random.Random(7)
    pairs = [(None, "k"), ("t", None), (b"a\0b", b"c\0d"), ("é" * 20, "é\udcff"), ("x" * 40, 5), (3, 4.5),
             ("\ud800", "\ud800"), ("a|b\"c\\d\x01", "\r\n"), (" _-.:/@+=,~", bytearray(b"\x1f"))]
    pairs += [(bytes(rng.randrange(256) for _ in range(rng.randrange(50))),
               bytes(rng.randrange(256) for _ in range(rng.randrange(50)))) for _ in range(500)]
    pure = printed(tmp, IDS.format(pairs=pairs), library=None, listen=False)
    real = printed(tmp, IDS.format(pairs=pairs), library="real", listen=False)
    for pair, a, b in zip(pairs, pure, real):
        equal(a, b, f"id of {pair} without and with the library")
    equal(pure[:2], ["0" * 16] * 2, "ids of None")
    code = IDS.format(pairs=[("a", "c"), ("a\0b", "c\0d"), ("a" * 31 + "bc", "k"), ("a" * 31, "k"),
                             ("a|\x01é", "k"), ("a____", "k"), ("", b"\xff"), ("", "\udcff"), (b"t", 7),
                             ("t", "7")])
    ids = printed(tmp, code, library=None, listen=False)
    for i in range(0, len(ids), 2):
        equal(ids[i], ids[i + 1], f"ids {i} and {i + 1} of those that are the same")
    equal(len(set(ids)), len(ids) // 2, "different ids")


# ---- the library -----------------------------------------------------------------------------

TOUR = """
import signal
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGABRT)]
log = dftracer.initialize_log("/nonexistent/x/y", None, None)
assert log is dftracer.get_instance() and log.get_time() > 0 and log.get_config("NO_SUCH") == ""
fn = dft_fn("C", epoch=1)
def plain(step): return step
called = fn.log(plain)
assert called(3) == 3 and called.__name__ == "plain"
class K:
    @fn.log_init
    def __init__(self): self.x = 1
    @fn.log_static
    @staticmethod
    def s(x): return x
    @fn.log
    @classmethod
    def c(cls): return cls
assert K().x == 1 and K.s(4) == 4 and K().s(4) == 4 and K.c() is K
with fn as f:
    assert f is fn
    fn.update(step=1, args={"a": 1}).flush().reset()
    assert fn.uses("t", "k") == fn.generates("t", "k") == entity_hash("t", "k") != 0
    assert fn.relate_entity(EntityRelation.USED, "t", "k") == log.declare_entity("t", "k")
    fn.relate(EntityRelation.UPDATED, 5)
assert list(fn.iter([1, 2])) == [1, 2] and list(ai.compute.iter(iter("ab"))) == ["a", "b"]
fn.log_metadata("k", "v")
log.log_event("n", "c", 1, 2, {"a": 1}, {"b": 2.0}, {"c": "d"}, {EntityRelation.USED: [1]})
log.log_metadata_event("k", "v"); log.declare_entity_type("t"); log.mark_used("x")
log.relate_entities(EntityRelation.CONTAINS, 1, 2)
log.set_app_metadata_int("k", 1); log.set_app_metadata_string("k", "v")
log.enter_event(); log.exit_event()
@ai.compute.forward
def forward(): return 5
@ai.compute.backward(epoch=1)
def backward(): return 6
assert forward() == 5 and backward() == 6
with ai.comm.all_reduce: pass
with ai.comm.all_reduce(enable=False): pass
ai.compute.step.start(); ai.compute.step.stop()
ai.pipeline.epoch.start(metadata=True); ai.pipeline.epoch.stop(metadata=True)
ai.update(epoch=1); ai.disable(); ai.enable(); ai.reset()
assert ai.init(plain)(2) == 2 and ai.derive("x").name == "ai_root.x"
log.finalize()
try:
    fn.log(lambda: 1 // 0)()
except ZeroDivisionError:
    pass
else:
    raise SystemExit("no exception")
assert before == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGABRT)]
print((library.lib is not None, DFTRACER_ENABLE, called is plain))
"""


def nothing_left(tmp):
    equal(sorted(p.name for p in tmp.iterdir()), ["script.py"], "files after a quiet run")


@test
def test_without_library(tmp):
    """The dynamic linker may have one: where it looks is said first, and there is another thing."""
    (tmp / "links").mkdir()
    for name in ("libdftracer.so", "libdftracer.so.0"):
        (tmp / "links" / name).write_text("no library\n")
    out, calls = python(tmp, TOUR, library=None, listen=False,
                        env={"LD_LIBRARY_PATH": str(tmp / "links")})
    equal(ast.literal_eval(out), (False, False, True), "library, DFTRACER_ENABLE, undecorated")
    equal(calls.lines, [], "calls")
    shutil.rmtree(tmp / "links")
    nothing_left(tmp)


@test
def test_without_ctypes(tmp):
    script = "import sys; sys.modules['ctypes'] = None\n"
    (tmp / "no_ctypes.py").write_text(script)
    code = TOUR.replace("import signal", "import signal", 1)
    path = tmp / "s.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(PACKAGE)!r})\nsys.modules['ctypes'] = None\n"
                    "import dftracer.python.library as library\nfrom dftracer.python import *\n" + code)
    r = run([INTERPRETER, "-B", path], cwd=tmp, env=clean_env()).want(0)
    equal((r.out.decode().strip(), r.text), ("(False, False, True)", ""))


@test
def test_unusable_library_is_one_warning(tmp):
    (tmp / "text").write_text("no library\n")
    for path in (tmp / "none", tmp / "text", "libm.so.6"):
        out, _ = python(tmp, TOUR, library=None, listen=False, quiet=False,
                        env={"DFTRACER_LIBRARY": str(path)})
        equal(out.strip(), "(False, False, True)", f"with {path}")
        r = run([INTERPRETER, "-B", tmp / "script.py"], cwd=tmp,
                env=clean_env(DFTRACER_LIBRARY=str(path)))
        warned = [line for line in r.text.splitlines() if "RuntimeWarning" in line]
        equal(len(warned), 1, f"warnings with {path}: {r.text}")
        check(f"DFTRACER_LIBRARY={path}" in warned[0], f"the warning: {warned[0]}")


@test
def test_library_is_found(tmp):
    """In the package, beside it, by the linker; the first of these counts."""
    stub = built("stub")
    places = {"package": tmp / "p/dftracer/libdftracer.so", "beside": tmp / "p/libdftracer.so",
              "linker": tmp / "links/libdftracer.so.0", "linker2": tmp / "links/libdftracer.so"}
    shutil.copytree(PACKAGE / "dftracer", tmp / "p/dftracer",
                    ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (tmp / "links").mkdir()
    code = ("print(sorted({l.split()[-1] for l in open('/proc/self/maps') if 'libdftracer' in l}), "
            "DFTRACER_ENABLE)\n")
    for place in reversed(places):
        shutil.copy(stub, places[place])
        out, _ = python(tmp, code, library=None, listen=False, package=tmp / "p",
                        env={"LD_LIBRARY_PATH": str(tmp / "links")})
        equal(out.strip(), f"{[str(places[place])]} True", f"library, with that of {place} in place")


@test
def test_real_library(tmp):
    """It is accepted, and what is done while the semaphore says that somebody listens works."""
    out, _ = python(tmp, "library.listeners[0] = 1\n" + TOUR + "library.listeners[0] = 0\n",
                    library="real", listen=False)
    equal(out.strip(), "(True, True, False)")


@test
def test_nobody_listens(tmp):
    """Then the library is asked for ids, and for nothing else."""
    out, calls = python(tmp, TOUR.replace("entity_hash(\"t\", \"k\")", "2001"), listen=False)
    equal(out.strip(), "(True, True, False)")
    equal(calls.lines, [], "calls of the library")
    nothing_left(tmp)


# ---- events ----------------------------------------------------------------------------------

@test
def test_decorators(tmp):
    _, calls = python(tmp, """
import functools, inspect
fn = dft_fn("APP", name="unused")
@fn.log
def first(a, b=2):
    "doc"
    return a + b
assert first(1) == 3 and first.__doc__ == "doc" and first.__wrapped__
@fn.log(name="renamed")
def second(): return 5
@fn.log()
def third(): return 6
assert (second(), third()) == (5, 6)
class K:
    @fn.log_init
    def __init__(self, v): self.v = v
    @fn.log_init(name="other")
    def again(self): pass
    @fn.log_static
    @staticmethod
    def inside(x): return x
    @staticmethod
    @fn.log_static
    def outside(x): return x
    @fn.log
    def method(self): return self.v
    @fn.log
    @classmethod
    def klass(cls): return cls
k = K(3); k.again()
assert k.method() == 3 and K.inside(1) == k.inside(1) == K.outside(1) == 1 and k.klass() is K
@fn.log
def outer():
    def local(): pass
    fn.log(local)()
outer()
fn.log(functools.partial(lambda: 0))()
class Callable:
    def __call__(self): return 9
assert fn.log(Callable())() == 9
assert dft_fn("APP", enable=False).log(first) is first
""")
    equal(calls.names(), ["first", "renamed", "third", "K.__init__", "other", "K.method", "K.inside",
                          "K.inside", "K.outside", "K.klass", "outer.<locals>.local", "outer",
                          "partial", "Callable"], "names in order of ending")
    equal({(s.cat, s.api) for s in calls.spans}, {("APP", 6)}, "category and type")
    check(not calls.open and not calls.others, f"left: {calls.open}, {calls.others}")
    check(all(s.opened < s.closed and s.tid == s.closed_by for s in calls.spans), "open before close")


@test
def test_exceptions_pass_and_events_stay(tmp):
    _, calls = python(tmp, """
import asyncio
fn = dft_fn("C")
class Mine(BaseException): pass
def failing():
    fn.update(args={"before": 1})
    raise Mine("x")
def generator():
    yield 1
    raise Mine("x")
async def coroutine():
    await asyncio.sleep(0)
    raise Mine("x")
async def agen():
    yield 1
    raise Mine("x")
async def consume():
    async for _ in fn.log(agen)(): pass
def block():
    with dft_fn("C", name="block"): raise Mine("x")
def bad_iterable():
    yield 1
    raise Mine("x")
def body():
    for _ in fn.iter([1, 2], name="body"): raise Mine("x")
class K:
    @fn.log_init
    def __init__(self): raise Mine("x")
for call in (fn.log(failing), lambda: list(fn.log(generator)()), lambda: asyncio.run(fn.log(coroutine)()),
             lambda: asyncio.run(consume()), block, lambda: list(fn.iter(bad_iterable(), name="it")), body,
             K, ai.compute.forward(failing)):
    try:
        call()
    except Mine as e:
        assert e.args == ("x",)
    else:
        raise SystemExit(f"{call}: no exception")
""")
    equal(calls.names(), ["failing", "generator", "coroutine", "agen", "block", "it.iter", "it.yield",
                          "it.iter", "body.iter", "body.yield", "K.__init__", "forward"])
    equal([s.args for s in calls.spans if s.args], [{"before": 1}] + [{"step": n} for n in (1, 1, 2, 1, 1)])
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_arguments_of_calls(tmp):
    """epoch, step, image_idx and image_size are taken from the call, or from the object."""
    _, calls = python(tmp, """
fn = dft_fn("C", step=9)
@fn.log
def a(epoch, x, *, image_size=3): pass
a(1, 2); a(x=1, epoch=2, image_size=2.5); a(None, 0)
class K:
    def __init__(self): self.epoch, self.step, self.image_idx = 4, 5, None
    @property
    def image_size(self): raise RuntimeError("asked")
    @fn.log
    def m(self, step=6): pass
K().m(); K().m(7)
class Slots:
    __slots__ = ("epoch",)
    @fn.log
    def n(self): pass
Slots().n()
class Odd:
    def __getattribute__(self, name): raise RuntimeError("asked")
    @fn.log
    def o(self): pass
Odd.o(Odd())
@fn.log_static
def s(epoch): pass
s(1)
@fn.log
def unprintable(epoch): pass
class U:
    def __str__(self): raise RuntimeError("asked")
    __int__ = __index__ = __float__ = __repr__ = __str__
unprintable(U())
""")
    equal([s.args for s in calls.spans],
          [{"step": 9, "epoch": 1, "image_size": 3.0}, {"step": 9, "epoch": 2, "image_size": 2.5},
           {"step": 9, "image_size": 3.0}, {"step": 6, "epoch": 4}, {"step": 7, "epoch": 4}, {"step": 9},
           {"step": 9}, {"step": 9}, {"step": 9, "epoch": "<U>"}])


@test
def test_values_of_arguments(tmp):
    _, calls = python(tmp, r"""
from fractions import Fraction
with dft_fn("C", name="n") as f:
    f.update(args={
        "true": True, "max": 2**63 - 1, "min": -2**63, "above": 2**63, "below": -2**63 - 1,
        "huge": 10**5000, "float": 1.5, "inf": float("-inf"), "none": None, "list": [1, "a"],
        "str": 'q"\\|\x01', "nul": "a\0b", "surrogate": "a\udcffb", "lone": "\ud800", "bytes": b"x",
        "long": "y" * 5000, "empty": "", "fraction": Fraction(1, 4), "too big": Fraction(10**400),
        "value": TagValue(5, TagDType.INT, TagType.VALUE), "ignore": TagValue("s", tag_type=TagType.IGNORE),
        "tagged": (TagType.VALUE, 2.5), "pair": (1, 5), 7: 8, "é": 1})
with dft_fn("C", name="named", epoch=True, step=2.0, image_idx="three", image_size=(2, 3)): pass
with dft_fn("C", name="sizes", image_size=4, step=2.5): pass
""")
    n = calls.one("n")
    equal(n.args, {"true": 1, "max": 2**63 - 1, "min": -2**63, "above": str(2**63),
                   "below": str(-2**63 - 1), "huge": hex(10**5000), "float": 1.5, "inf": float("-inf"),
                   "none": "None", "list": "[1, 'a']", "str": 'q"\\|\x01', "nul": "a",
                   "surrogate": "a\udcffb", "lone": "\udced\udca0\udc80", "bytes": "b'x'",
                   "long": "y" * 5000, "empty": "", "fraction": 0.25, "too big": "1" + "0" * 400,
                   "value": 5, "ignore": "s", "tagged": 2.5, "pair": "(1, 5)", "7": 8, "é": 1}
          | ({} if n.args["huge"].startswith("0x") else {"huge": "1" + "0" * 5000}))
    equal({k: t for k, t in n.tags.items() if t}, {"value": 1, "ignore": 2, "tagged": 1}, "tags")
    equal({k for k, kind in n.kinds.items() if kind == "int"}, {"true", "max", "min", "value", "7", "é"})
    equal({k for k, kind in n.kinds.items() if kind == "float"}, {"float", "inf", "fraction", "tagged"})
    named = calls.one("named")
    equal(named.args, {"epoch": 1, "step": 2, "image_idx": "three", "image_size": "(2, 3)"})
    equal(named.kinds, {"epoch": "int", "step": "int", "image_idx": "str", "image_size": "str"})
    equal(calls.one("sizes").kinds, {"image_size": "float", "step": "float"})


@test
def test_blocks(tmp):
    _, calls = python(tmp, """
def somewhere():
    with dft_fn("C") as f:
        f.update(step=1).update(step=2, args={"a": 1})
        with dft_fn("D", name="inner", epoch=5): pass
somewhere()
shared = dft_fn("C", name="shared")
with shared:
    with shared:
        shared.update(step=2)
    shared.update(step=1)
shared.update(epoch=7)
with shared: pass
with dft_fn("C", name="off", enable=False) as f:
    f.update(step=1); f.uses("t", "k")
""")
    equal([(s.name, s.cat, s.args) for s in calls.spans],
          [("inner", "D", {"epoch": 5}), ("somewhere", "C", {"step": 2, "a": 1}),
           ("shared", "C", {"step": 2}), ("shared", "C", {"step": 1}), ("shared", "C", {"epoch": 7})])
    check(not calls.open and not calls.others, f"left: {calls.open}, {calls.others}")


@test
def test_flush_and_reset(tmp):
    _, calls = python(tmp, """
def manual():
    f = dft_fn("C")
    f.uses("t", "k"); f.update(step=1)
    f.flush()                       # from the making of the object
    f.reset(); f.relate(EntityRelation.GENERATED, 5)
    f.reset()                       # what was said is dropped
    f.flush()
    f.flush()                       # from the flush before
manual()
with dft_fn("C", name="block") as f:
    f.update(args={"part": 1})
    f.flush()                       # ends here
with dft_fn("C", name="two") as f:
    f.flush(); f.reset()            # and a second one, to the end of the block
with dft_fn("C", name="again") as f:
    f.relate(EntityRelation.USED, 7)
    f.reset()                       # begins here
f = dft_fn("C", name="early")
f.relate(EntityRelation.USED, 9)
with f: pass
f.flush()                           # nothing is open
""")
    equal(calls.names(), ["manual"] * 3 + ["block", "two", "two", "again", "early"])
    manual = calls.named("manual")
    equal([s.relations for s in manual], [[(0, 2001)], [], []], "relations")
    equal([s.args for s in manual], [{"step": 1}] * 3, "arguments")
    for s in manual:
        check(s.times and s.times[0] + s.times[1] == 5000000, f"times {s.times}")
    equal(calls.one("again").relations, [], "relations from before reset()")
    equal(calls.one("early").relations, [(0, 9)], "relations told before the block")
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_loops(tmp):
    _, calls = python(tmp, """
fn = dft_fn("C")
def gen():
    try:
        for v in "abc": yield v
    finally:
        with dft_fn("C", name="cleanup"): pass
seen = []
for v in fn.iter(gen()):
    seen.append(v)
    fn.update(args={"v": v}); fn.relate(EntityRelation.USED, 3)
assert seen == ["a", "b", "c"]
for v in fn.iter([1, 2, 3], name="other", iter_name="n"):
    if v == 2: break
with dft_fn("C", name="after"): pass
fn.update(epoch=5)
for v in ai.dataloader.fetch.iter(range(2), block_name="mine"):
    with dft_fn("C", name=f"body{v}"): pass
list(ai.dataloader.fetch.iter([0], include_iter=False))
list(ai.dataloader.fetch.iter([0], include_block=False, iter_name="just"))
assert list(fn.iter([])) == []
""")
    equal([(s.name, s.args) for s in calls.spans],
          [(f"loop.{k}", a) for n, v in ((1, "a"), (2, "b"), (3, "c"))
           for k, a in (("iter", {"step": n}), ("yield", {"step": n, "v": v}))] +
          [("cleanup", {}), ("other.iter", {"n": 1}), ("other.yield", {"n": 1}), ("other.iter", {"n": 2}),
           ("other.yield", {"n": 2}), ("after", {}),
           ("fetch.iter", {"count": 1}), ("body0", {}), ("mine", {"count": 1}),
           ("fetch.iter", {"count": 2}), ("body1", {}), ("mine", {"count": 2}),
           ("fetch.block", {"count": 1}), ("just", {"count": 1})])
    equal([s.relations for s in calls.named("loop.yield")], [[(0, 3)]] * 3, "relations in the loop")
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_log_event_and_metadata(tmp):
    out, calls = python(tmp, """
log = dftracer.initialize_log(logfile="x", data_dir="y", process_id=3)
log.log_event("n", "c", 1000, 20, int_args={"a": 1, "b": (1, 2), "c": 2**64, "d": 3.0},
              float_args={"e": (2, 5), "f": 1.5}, string_args={"g": (0, 7), "h": "x"},
              relations={EntityRelation.GENERATED: [5, 0, 6], EntityRelation.CONTAINS: [7], 0: [8]})
log.log_event("plain", "c", -5, 1.9)
log.log_metadata_event("k", "v")
log.set_app_metadata_int("i", 5); log.set_app_metadata_int("no", "text"); log.set_app_metadata_int("big", 2**70)
log.set_app_metadata_string("s", "t"); log.mark_used("hdf5")
dft_fn("C").log_metadata("k2", 3)
dft_fn("C", enable=False).log_metadata("k3", 3)
log.finalize()
print(log.get_time(), log.get_config("DFTRACER_TIME_METRIC"), log.get_config("STUB_LISTEN"))
""")
    n = calls.one("n")
    equal((n.times, n.cat, n.api), ((1000, 20), "c", 6))
    equal(n.args, {"a": 1, "b": 2, "c": str(2**64), "d": 3, "e": 5.0, "f": 1.5, "g": "7", "h": "x"})
    equal(n.kinds, {"a": "int", "b": "int", "c": "str", "d": "int", "e": "float", "f": "float",
                    "g": "str", "h": "str"})
    equal(n.tags, {"a": 0, "b": 1, "c": 0, "d": 0, "e": 2, "f": 0, "g": 0, "h": 0})
    equal(n.relations, [(1, 5), (1, 6), (0, 8)], "relations")
    equal(calls.one("plain").times, (0, 1))
    equal(calls.others, [("metaint", 2, 6, "PYTHON", 1), ("metastr", 0, 6, "k", "v"),
                         ("metaint", 1, 6, "i", 5), ("metastr", 1, 6, "no", "text"), ("metastr", 1, 6, "big", str(2**70)),
                         ("metastr", 1, 6, "s", "t"), ("metaint", 2, 6, "hdf5", 1),
                         ("metastr", 0, 6, "k2", "3")])
    equal(out.split(), ["5000000", "US", "1"])


@test
def test_entities_and_relations(tmp):
    _, calls = python(tmp, """
log = dftracer.get_instance()
assert log.declare_entity("tt", "kkk") == 3003
log.declare_entity("t", 7, EntityStore.DATABASE, "/u")
assert log.declare_entity(None, "k") == 0 and log.declare_entity("t", None, uri=None) == 0
log.declare_entity_type("t"); log.declare_entity_type("t", EntityRole.OUTPUT, "d")
log.relate_entities(EntityRelation.CONTAINS, 11, 2**64 - 1)
log.relate_entities(EntityRelation.USED, 11, 22)
log.relate_entities(EntityRelation.CONTAINS, 0, 22); log.relate_entities(EntityRelation.CONTAINS, 11, 0)
with dft_fn("PROV", name="step") as f:
    assert f.uses("in", "key1") == 3004 and f.generates("out", b"k", EntityStore.BURST_BUFFER, "/o") == 4001
    assert f.relate_entity(EntityRelation.INVALIDATED, "in", "key1", uri=None) == 3004
    f.relate(EntityRelation.UPDATED, 5).relate(EntityRelation.USED, 0).relate(EntityRelation.PART_OF, 5)
    assert f.relate_entity(EntityRelation.PART_OF, "x", "y") == 2001      # of entities: not of the event
    assert f.uses("a", None) == 0
outside = dft_fn("PROV", name="n")
outside.log(lambda: 0)
assert outside.uses("late", "k") == 5001
assert not outside._loose, "kept for an event that never comes"
""")
    equal(calls.one("step").relations,
          [(0, "in", "key1", 0, ""), (1, "out", "k", 4, "/o"), (2, "in", "key1", 0, ""), (3, 5),
           (0, "a", None, 0, "")])
    equal(calls.others, [("entity", "tt", "kkk", 0, ""), ("entity", "t", "7", 6, "/u"),
                         ("entity", None, "k", 0, ""), ("entity", "t", None, 0, ""),
                         ("type", "t", 0, ""), ("type", "t", 2, "d"), ("relate", 18, 11, 2**64 - 1),
                         ("entity", "x", "y", 0, ""), ("entity", "late", "k", 0, "")])


# ---- several at once -------------------------------------------------------------------------

def nested(spans):
    """Whether the spans of each thread lie in each other or apart; returns how deep they went."""
    deepest = 0
    for key in {(s.pid, s.tid) for s in spans}:
        stack = []
        for s in sorted((s for s in spans if (s.pid, s.tid) == key), key=lambda s: s.opened):
            while stack and stack[-1].closed < s.opened:
                stack.pop()
            check(not stack or s.closed < stack[-1].closed, f"{s} and {stack[-1:]} overlap")
            stack.append(s)
            deepest = max(deepest, len(stack))
    return deepest


@test
def test_threads_and_recursion(tmp):
    """One dft_fn, one function, 8 threads in it at once, each 5 deep: nobody gets another's words."""
    _, calls = python(tmp, """
import sys, threading
sys.setswitchinterval(1e-5)
fn = dft_fn("C")
gate = threading.Barrier(8)
@fn.log
def f(who, depth):
    if depth == 4: gate.wait()
    fn.update(args={"who": who, "depth": depth})
    if depth: f(who, depth - 1)
    fn.relate(EntityRelation.USED, 100 * who + depth + 1)
    fn.update(args={"again": depth})
    with fn:
        fn.update(args={"block": who})
def work(who):
    for i in range(20): f(who, 4)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
""")
    spans = calls.named("f")
    equal(collections.Counter((s.args["who"], s.args["depth"]) for s in spans),
          collections.Counter({(w, d): 20 for w in range(8) for d in range(5)}))
    for s in spans:
        equal(s.args, {"who": s.args["who"], "depth": s.args["depth"], "again": s.args["depth"]})
        equal(s.relations, [(0, 100 * s.args["who"] + s.args["depth"] + 1)], f"relations of {s}")
    equal(len({(s.tid, s.args["who"]) for s in spans}), 8, "threads and their numbers")
    check(all(s.tid == s.closed_by for s in calls.spans), "an event ended in another thread")
    equal(nested(calls.spans), 6, "depth")
    equal(collections.Counter(s.args["block"] for s in calls.named("<module>")),
          collections.Counter({w: 100 for w in range(8)}))


@test
def test_contexts_in_other_threads(tmp):
    """A copy of the context in another thread does not give it the events of this one."""
    _, calls = python(tmp, """
import contextvars, threading
fn = dft_fn("C")
def other():
    fn.relate(EntityRelation.USED, 1); fn.update(args={"other": 1})
    with fn: fn.relate(EntityRelation.USED, 2)
@fn.log
def outer():
    copy = contextvars.copy_context()
    t = threading.Thread(target=copy.run, args=(other,)); t.start(); t.join()
    fn.relate(EntityRelation.USED, 3)
outer()
""")
    equal(calls.one("outer").relations, [(0, 3)])
    equal(calls.one("<module>").relations, [(0, 2)])
    check("other" not in calls.one("outer").args, "arguments of another thread")


@test
def test_coroutines_and_tasks(tmp):
    _, calls = python(tmp, """
import asyncio, inspect
fn = dft_fn("C")
async def child(n):
    fn.update(args={"n": n, "kind": "child"})
    await asyncio.sleep(0)
    fn.relate(EntityRelation.USED, n + 1)
    await grand(n)
    fn.relate(EntityRelation.USED, n + 101)
async def grand(n):
    for _ in range(n % 3): await asyncio.sleep(0)
    fn.update(args={"n": n, "kind": "grand"})
    return n
grand, child = fn.log(grand), fn.log(child)
assert inspect.iscoroutinefunction(child) and asyncio.iscoroutinefunction(grand)
@fn.log
async def main():
    fn.update(args={"kind": "main"})
    await asyncio.gather(*(child(n) for n in range(9)))
    fn.relate(EntityRelation.GENERATED, 7)
asyncio.run(main())
""", options=("-W", "ignore::DeprecationWarning"))
    equal(collections.Counter(s.name for s in calls.spans),
          collections.Counter(child=9, grand=9, main=1))
    for s in calls.named("child"):
        n = s.args["n"]
        equal((s.args, s.relations), ({"n": n, "kind": "child"}, [(0, n + 1), (0, n + 101)]))
    equal(sorted(s.args["n"] for s in calls.named("child")), list(range(9)))
    equal(sorted(s.args["n"] for s in calls.named("grand")), list(range(9)))
    check(all(s.args["kind"] == "grand" and not s.relations for s in calls.named("grand")), "grand")
    equal((calls.one("main").args, calls.one("main").relations), ({"kind": "main"}, [(1, 7)]))


@test
def test_generators(tmp):
    """They are handed through as they are, and what is said while they wait is not of their event."""
    for listen in (True, False):
        out, calls = python(tmp, """
import asyncio, contextlib, inspect, types
fn = dft_fn("C")
got = []
@fn.log
def gen(n):
    fn.update(args={"n": n})
    try:
        sent = yield n
        fn.update(args={"sent": sent})
        try:
            yield "more"
        except KeyError as e:
            yield e.args[0]
        return "end"
    finally:
        fn.update(args={"last": 1})
        got.append("closed")
assert inspect.isgeneratorfunction(gen)
@fn.log
def consumer():
    a, b = gen(1), gen(2)
    got.append((next(a), next(b), a.send("x"), b.send("y")))
    fn.update(args={"consumer": 1})
    got.append(a.throw(KeyError("thrown")))
    try:
        next(a)
    except StopIteration as e:
        got.append(e.value)
    b.close()
    c = gen(3); next(c); del c
    gen(4)                           # never run
    def outer(): got.append((yield from gen(5)))
    list(outer())
consumer()
@contextlib.contextmanager
@fn.log
def manager():
    yield 5
with manager() as v: got.append(v)
@types.coroutine
def old(): yield
@fn.log
async def agen():
    try:
        x = yield 1
        fn.update(args={"x": x})
        await asyncio.sleep(0)
        try:
            yield 2
        except KeyError:
            yield 3
    finally:
        got.append("aclosed")
assert inspect.isasyncgenfunction(agen)
async def run():
    await fn.log(old)()
    a = agen()
    got.append((await a.asend(None), await a.asend("v"), await a.athrow(KeyError())))
    got.append([v async for v in a])
    b = agen(); await b.asend(None); await b.aclose(); got.append("after")
asyncio.run(run())
print(got)
""", listen=listen)
        equal(ast.literal_eval(out),
              [(1, 2, "more", "more"), "thrown", "closed", "end", "closed", "closed", "closed", "end", 5,
               (1, 2, 3), "aclosed", [], "aclosed", "after"], f"what came, listening {listen}")
        if not listen:
            equal(calls.lines, [], "calls while nobody listens")
            continue
        equal([s.args for s in calls.named("gen")],
              [{"n": 1, "sent": "x", "last": 1}, {"n": 2, "sent": "y", "last": 1}, {"n": 3, "last": 1},
               {"n": 5, "sent": "None", "last": 1}])
        equal(calls.one("consumer").args, {"consumer": 1})
        equal([s.args for s in calls.named("agen")], [{"x": "v"}, {}])
        equal((len(calls.named("manager")), len(calls.named("old"))), (1, 1))
        check(not calls.open, f"not closed: {calls.open}")


@test
def test_interleaved_blocks(tmp):
    """Blocks in generators end in any order, and stop() finds what start() began."""
    _, calls = python(tmp, """
def held(name):
    with dft_fn("C", name=name) as f:
        yield
        f.relate(EntityRelation.USED, ord(name))
a, b, c = held("a"), held("b"), held("c")
next(a); next(b); next(c)
next(a, None); next(c, None); next(b, None)
step = ai.compute.step
step.start(); step.start()
with ai.compute.forward:
    step.stop()
step.stop()
step.stop()
with step:
    step.start()
    step.profiler.relate(EntityRelation.USED, 1)
step.stop()                          # the block has ended before what began in it
with dft_fn("C", name="after"): pass
""")
    equal(calls.names(), ["a", "c", "b", "step", "forward", "step", "step", "step", "after"])
    equal([s.relations for s in calls.spans[6:8]], [[], [(0, 1)]], "relations of block and start()")
    equal([s.relations for s in calls.spans[:3]], [[(0, ord(n))] for n in "acb"])
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_events_end_in_other_contexts(tmp):
    """What has ended in a copy of the context is neither found here any more nor kept for ever."""
    _, calls = python(tmp, """
import contextvars, gc
from dftracer.python.event import Event
fn = dft_fn("C", name="n")
with fn:
    for i in range(100):
        fn.__enter__()
        contextvars.copy_context().run(fn.__exit__)
    fn.relate(EntityRelation.USED, 1)
    kept = sum(type(o) is Event for o in gc.get_objects())
    assert kept <= 2, kept
with fn:
    fn.log(lambda: None)()
    kept = sum(type(o) is Event for o in gc.get_objects())
    assert kept == 1, kept
""")
    equal([s.relations for s in calls.spans[:101]], [[]] * 100 + [[(0, 1)]], "relations")


@test
def test_forgotten_starts_are_bounded(tmp):
    _, calls = python(tmp, """
for i in range(1200): ai.compute.step.start()
for i in range(1200): ai.compute.step.stop()
""")
    equal(len(calls.spans), 1000, "events of 1,200 starts")
    check(not calls.open, "not closed")


@test
def test_processes(tmp):
    """Processes made by fork and by spawn report what they did, and nothing of their parent's."""
    _, calls = python(tmp, """
import multiprocessing
fn = dft_fn("C")
@fn.log
def child(n):
    if not library.listeners[0]: listen()
    fn.update(args={"n": n})
    return n
@fn.log
def parent(method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(child_name, [1, 2, 3], chunksize=1) == [1, 2, 3]
        pool.close(); pool.join()
    fn.update(args={"method": method})
child_name = child
if __name__ == "__main__":
    parent("fork"); parent("spawn")
    import copy, pickle
    assert pickle.loads(pickle.dumps(fn))._cat == "C" and pickle.loads(pickle.dumps(ai.data)).item.name == "item"
    assert pickle.loads(pickle.dumps(child)) is child
""", options=("-W", "ignore::DeprecationWarning"))
    equal(sorted(s.args["n"] for s in calls.named("child")), [1, 1, 2, 2, 3, 3])
    parents = calls.named("parent")
    equal([s.args for s in parents], [{"method": "fork"}, {"method": "spawn"}])
    equal(len({s.pid for s in parents}), 1, "processes of the parent's events")
    check(parents[0].pid not in {s.pid for s in calls.named("child")}, "child in the parent")


# ---- coming and going ------------------------------------------------------------------------

@test
def test_listener_comes_in_the_middle(tmp):
    """What began before is not reported, nor is what is said of it given to something else."""
    _, calls = python(tmp, """
fn = dft_fn("C", name="shared")
@fn.log
def inner(): fn.update(args={"inner": 1})
@fn.log
def outer():
    with fn:
        ai.compute.step.start()
        for n in fn.iter([1, 2, 3]):
            if n == 2: listen()
            assert fn.uses("t", "k") == 2001
            inner()
        ai.compute.step.stop()
ai.update(epoch=5)
outer()
with ai.compute.forward: pass
outer()
""", listen=False)
    equal([s.name for s in calls.spans[:5]], ["inner", "loop.iter", "inner", "loop.yield", "forward"])
    equal([s.args for s in calls.spans[:5]],
          [{"inner": 1}, {"step": 3}, {"inner": 1}, {"step": 3}, {"epoch": 5}])
    equal(calls.others, [("entity", "t", "k", 0, "")], "declared, where the event is not reported")
    equal(collections.Counter(s.name for s in calls.spans[5:]),
          collections.Counter({"inner": 3, "loop.iter": 3, "loop.yield": 3, "shared": 1, "step": 1,
                               "outer": 1}))
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_listener_goes_and_another_comes(tmp):
    _, calls = python(tmp, """
fn = dft_fn("C", name="shared")
fn.update(epoch=1)
with fn:                             # 1
    listen(0)
    with fn:                         # not seen: its end must not end 1
        fn.update(args={"unseen": 1})
        listen(1)
        fn.update(args={"unseen": 2})
        assert fn.uses("t", "k") == 2001
    fn.update(args={"first": 1})
listen(0)
fn.update(epoch=2)
ai.update(epoch=2)
listen(1)
with fn: pass                        # epoch 1 is not true any more
with ai.compute.forward: pass
ai.compute.step.start(); listen(0); ai.compute.step.start(); listen(1)
ai.compute.step.stop(); ai.compute.step.update(step=1); ai.compute.step.stop()
""")
    equal([(s.name, s.args) for s in calls.spans],
          [("shared", {"epoch": 1, "first": 1}), ("shared", {}), ("forward", {"epoch": 2}),
           ("step", {"epoch": 2, "step": 1})])
    check(not any(s.relations for s in calls.spans), "relations of what was not seen")
    equal(calls.others, [("entity", "t", "k", 0, "")], "declared, where the event is not reported")
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_end_of_the_interpreter(tmp):
    """What is open then is dropped without a word, whatever of the modules is gone already."""
    python(tmp, """
import asyncio
fn = dft_fn("C")
@fn.log
def gen():
    yield 1
    yield 2
keep = [gen(), fn.iter([1, 2]), ai.compute.iter([1, 2])]
for g in keep: next(g)
class Cycle: pass
cycle = Cycle(); cycle.me = cycle; cycle.g = gen(); next(cycle.g)
fn.__enter__(); ai.compute.step.start()
sys.modules["kept"] = keep
""")
    out, calls = python(tmp, """
import atexit, threading
fn = dft_fn("C")
atexit.register(fn.log(lambda: None, name="at exit"))
raise SystemExit(fn.log(lambda: 3, name="status")())
""", status=3)
    equal(calls.names(), ["status", "at exit"])


# ---- ai --------------------------------------------------------------------------------------

TREE = {
    "compute": "forward backward step", "data": "preprocess item io", "dataloader": "fetch",
    "comm": "send receive barrier bcast reduce all_reduce gather all_gather scatter reduce_scatter "
            "all_to_all",
    "device": "transfer", "checkpoint": "capture restart io", "pipeline": "epoch train evaluate test",
    "other": "log io",
}


@test
def test_ai_tree(tmp):
    want = [("ai_root", "ai_root")]
    for group, leaves in TREE.items():
        want.append((group, group))
        for leaf in leaves.split():
            want.append((f"{group}.io" if leaf == "io" else leaf, group))
            if leaf == "io":
                want += [(f"{group}.io.{op}", group) for op in ("open", "read", "write", "close")]
    _, calls = python(tmp, f"""
with ai: pass
for group, leaves in {TREE!r}.items():
    with getattr(ai, group): pass
    assert globals()[group] is getattr(ai, group)
    for leaf in leaves.split():
        node = getattr(getattr(ai, group), leaf)
        with node: pass
        if leaf == "io":
            for op in ("open", "read", "write", "close"):
                node = getattr(getattr(ai, group).io, op)
                assert node(lambda: op)() == op
""")
    equal([(s.name, s.cat) for s in calls.spans], want)


@test
def test_ai_forms(tmp):
    _, calls = python(tmp, """
import inspect
@ai
def main(): return "m"
@ai.compute.forward
def f(x): return x
@ai.compute.backward(epoch=1, step=2, image_idx=3, image_size=4, args={"a": "b"})
def b(): return 2
assert (main(), f(1), b()) == ("m", 1, 2) and f.__name__ == "f"
with ai.comm.all_reduce(args={"n": 1}) as node:
    node.update(step=5); ai.comm.all_reduce.update(epoch=6)
    ai.comm.all_reduce.profiler.relate(EntityRelation.USED, 1)
with ai.comm.all_reduce:
    with ai.comm.all_reduce(enable=False): ai.comm.bcast.update(step=1)
    ai.comm.all_reduce.update(image_idx=1)
class K:
    @ai.checkpoint.init
    def __init__(self): pass
    @ai.checkpoint.init(step=3)
    def again(self): pass
    @ai.data.io.open
    def method(self): pass
k = K(); k.again(); k.method()
@ai.data.preprocess.derive(name="collate")
def collate(): pass
collate()
assert ai.data.preprocess.derive("collate") is ai.data.preprocess.derive("collate")
@ai.dataloader.fetch
def fetch():
    yield 1
assert list(fetch()) == [1] and inspect.isgeneratorfunction(fetch)
ai.compute.step.start(); ai.compute.step.stop()
ai.pipeline.epoch.start(metadata=True); ai.pipeline.epoch.stop(metadata=True)
own = DFTracerAI(cat="mine", name="own", epoch=4)
with own: pass
with DFTracerAI("only"): pass
assert (own.name, own.cat, str(ProfileCategory.COMM), ComputeEvent.STEP == "step") == ("own", "mine", "comm", True)
assert isinstance(ai.init(enable=True), DFTracerAI)
class Mine(DFTracerAI):
    note: int
with Mine("subclass"): pass
""")
    equal([(s.name, s.args) for s in calls.spans],
          [("ai_root", {}), ("forward", {}),
           ("backward", {"epoch": 1, "step": 2, "image_idx": 3, "image_size": 4.0, "a": "b"}),
           ("all_reduce", {"n": 1, "step": 5, "epoch": 6}), ("all_reduce", {"epoch": 6, "image_idx": 1}),
           ("checkpoint.init", {}), ("checkpoint.init", {"step": 3}), ("data.io.open", {}),
           ("preprocess.collate", {}), ("fetch", {}), ("step", {}), ("own", {"epoch": 4}), ("only", {}),
           ("subclass", {})])
    equal([s.relations for s in calls.named("all_reduce")], [[(0, 1)], []], "relations of a variant")
    equal(calls.others, [("metastr", 0, 6, "epoch.start", "5000000"), ("metastr", 0, 6, "epoch.end", "5000000")])
    check(not calls.open, f"not closed: {calls.open}")


@test
def test_ai_update_reaches_what_is_below(tmp):
    _, calls = python(tmp, """
import threading
@ai.compute.forward
def f(): pass
@ai.compute.backward(epoch=0)
def b(): pass
@ai.pipeline.train
def train():
    ai.compute.update(step=1)
    f(); b()
    ai.update(step=2, epoch=7)       # later: it counts, also for what was told before to one below
    f(); b()
    t = threading.Thread(target=f); t.start(); t.join()
    ai.compute.forward.update(step=3)
    f()
train()
@ai.comm.send
def recurse(depth):
    if depth: recurse(depth - 1)
    else: ai.comm.update(args={"depth": depth})
recurse(2)
""")
    equal([(s.name, s.args) for s in calls.spans],
          [("forward", {"step": 1}), ("backward", {"epoch": 0, "step": 1}),
           ("forward", {"step": 2, "epoch": 7}), ("backward", {"step": 2, "epoch": 7}),
           ("forward", {"step": 2, "epoch": 7}), ("forward", {"step": 3, "epoch": 7}),
           ("train", {"step": 2, "epoch": 7}), ("send", {"step": 2, "epoch": 7, "depth": 0}),
           ("send", {"step": 2, "epoch": 7}), ("send", {"step": 2, "epoch": 7})])


@test
def test_ai_switches(tmp):
    _, calls = python(tmp, """
@ai.compute.forward
def f(): pass
@ai.compute.backward(step=1)
def b(): pass
@ai.data.io.read
def r(): pass
@ai.comm.send(enable=True)
def always(): pass
derived = ai.compute.derive("x")
def all():
    f(); b(); r(); always()
    with derived: pass
    for _ in ai.compute.iter([1]): pass
    ai.compute.step.start(); ai.compute.step.stop()
    with ai.device.transfer: pass
ai.disable(); all()
ai.enable(); ai.compute.disable(); all()
ai.compute.enable(); ai.data.disable(); all()
ai.enable(); ai.compute.forward.disable(); f(); ai.compute.forward.enable(); f()
off = AI(enable=False)
with off.compute.forward: pass
""")
    equal(calls.names(), ["send"] + ["data.io.read", "send", "transfer"] +
          ["forward", "backward", "send", "compute.x", "compute.iter", "compute.block", "step",
           "transfer"] + ["forward"])


if __name__ == "__main__":
    main()
