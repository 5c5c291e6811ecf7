# SPDX-License-Identifier: MIT
"""Names for what AI programs do, so that traces of different ones can be compared.

`ai` is a tree. Each of its nodes records events of its own name and of its group's category:

    @ai.compute.forward                     # decorator, also with arguments: (epoch=1)
    with ai.comm.all_reduce:                # block, also with arguments: (enable=False)
    ai.compute.step.start(), .stop()
    for batch in ai.dataloader.fetch.iter(batches):
    @ai.checkpoint.init                     # of a constructor
    ai.data.preprocess.derive("collate")    # a node below, named preprocess.collate

update(), enable() and disable() of a node concern all nodes below as well.
"""
from __future__ import annotations

from enum import Enum
from typing import (Any, Callable, Dict, Iterable, Iterator, Optional, Tuple, Type, TypeVar, Union,
                    get_type_hints, overload)

from dftracer.python.event import Event, Kind, held, innermost
from dftracer.python.library import lib, listeners
from dftracer.python.logger import dft_fn, dftracer
from dftracer.python.values import c_text, named_items
from dftracer.python.wrap import loop, recorded

__all__ = ["AI", "DFTracerAI", "ai", "compute", "data", "dataloader", "comm", "device",
           "checkpoint", "pipeline", "other", "ProfileCategory", "ComputeEvent", "DataEvent",
           "DataLoaderEvent", "CommunicationEvent", "DeviceEvent", "CheckpointEvent",
           "PipelineEvent", "OtherEvent", "IOEvent", "ITER_COUNT_NAME", "INIT_NAME", "BLOCK_NAME",
           "ITER_NAME", "ROOT_NAME", "ROOT_CAT", "get_iter_block_name", "get_iter_handle_name"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
K = TypeVar("K", bound="Type[DFTracerAI]")

ROOT_NAME = ROOT_CAT = "ai_root"
ITER_COUNT_NAME = "count"
INIT_NAME = "init"
ITER_NAME = "iter"
BLOCK_NAME = "block"
# More start() than this without a stop() are not recursion but forgotten: the last takes the place
# of the one before, so that memory is bounded.
STARTS_MAX = 1000


def get_iter_handle_name(name: str) -> str:
    return name if name.endswith(f".{ITER_NAME}") else f"{name}.{ITER_NAME}"


def get_iter_block_name(name: str) -> str:
    return name if name.endswith(f".{BLOCK_NAME}") else f"{name}.{BLOCK_NAME}"


class _Recorder(dft_fn):
    """The dft_fn of a node. It can be switched on and off, and made with other arguments for one
    use: a variant shares the events of the one it was made from, and its switch unless it has its
    own."""

    _enable: Optional[bool]  # type: ignore[assignment]
    _above: Optional["_Recorder"]  # type: ignore[assignment]

    def below(self, cat: str, name: str) -> "_Recorder":
        recorder = _Recorder(cat, name, enable=self.enabled())
        recorder._above = self
        return recorder

    def variant(self, enable: Optional[bool]) -> "_Recorder":
        recorder = _Recorder(self._cat, self._name)
        recorder._above = self
        recorder.root = self.root
        recorder._enable = enable
        return recorder

    def enabled(self) -> bool:
        if self._enable is None and self._above is not None:
            return self._above.enabled()
        return bool(self._enable)

    def governs(self, owner: dft_fn) -> bool:
        """Whether it is this node's, or that of one below it."""
        place: Optional[dft_fn] = owner
        while place is not None and place is not self.root:
            place = place._above
        return place is not None

    def recorded(self, func: Any, name: str, capture: bool) -> Any:
        # Also while it is switched off: it may be switched on later.
        return recorded(self, func, c_text(name) or b"", capture)


class DFTracerAI:
    """A node of the tree, or one of your own."""

    _declared = {}  # type: ignore[var-annotated]  # the nodes below: see _group()

    def __init__(self, cat: str, name: Optional[str] = None, epoch: Optional[int] = None,
                 step: Optional[int] = None, image_idx: Optional[int] = None,
                 image_size: Optional[Any] = None, enable: bool = True) -> None:
        self._plant(_Recorder(cat, name or cat, epoch, step, image_idx, image_size, enable))

    def _plant(self, recorder: _Recorder) -> None:
        self.profiler = recorder
        self._children: Dict[str, DFTracerAI] = {}
        for attribute, kind in self._declared.items():
            setattr(self, attribute, self._add(attribute, *self._naming(attribute), kind))

    def _naming(self, attribute: str) -> Tuple[str, str]:
        """Category and name of a node below."""
        return self.cat, f"{self.name}.{attribute}" if attribute == "io" else attribute

    def _add(self, key: str, cat: str, name: str, kind: Type["DFTracerAI"]) -> "DFTracerAI":
        self._children[key] = node = kind.__new__(kind)
        node._plant(self.profiler.below(cat, name))
        return node

    @property
    def cat(self) -> str:
        return self.profiler._cat

    @property
    def name(self) -> str:
        return self.profiler._name

    @overload
    def __call__(self, fn: F, *, enable: Optional[bool] = None, epoch: Optional[int] = None,
                 step: Optional[int] = None, image_idx: Optional[int] = None,
                 image_size: Optional[Any] = None, args: Optional[Dict[str, Any]] = None) -> F: ...

    @overload
    def __call__(self, fn: None = None, *, enable: Optional[bool] = None,
                 epoch: Optional[int] = None, step: Optional[int] = None,
                 image_idx: Optional[int] = None, image_size: Optional[Any] = None,
                 args: Optional[Dict[str, Any]] = None) -> "DFTracerAI": ...

    def __call__(self, fn: Optional[F] = None, *, enable: Optional[bool] = None,
                 epoch: Optional[int] = None, step: Optional[int] = None,
                 image_idx: Optional[int] = None, image_size: Optional[Any] = None,
                 args: Optional[Dict[str, Any]] = None) -> Union[F, "DFTracerAI"]:
        """Decorates a function; without one, this node with other arguments, to decorate, or for a
        with statement."""
        recorder = self.profiler
        items = named_items(epoch, step, image_idx, image_size, args)
        if fn is None or items or enable is not None:
            recorder = recorder.variant(enable)
            recorder.stick(items)
        if fn is not None:
            return recorder.recorded(fn, self.name, False)
        node = DFTracerAI.__new__(DFTracerAI)
        node._plant(recorder)
        return node

    def __enter__(self) -> "DFTracerAI":
        self.profiler.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.profiler.__exit__(*exc)

    def start(self, metadata: bool = False) -> None:
        """Begins an event that stop() ends, or only records when that was."""
        if metadata:
            self._log_time("start")
            return
        if listeners[0] and held(self.profiler.root, Kind.START) >= STARTS_MAX:
            self.profiler.end(Kind.START, Event.drop)
        self.profiler.begin(Kind.START)

    def stop(self, metadata: bool = False) -> None:
        """Ends the last event of this thread, or task, that start() began and that is open."""
        if metadata:
            self._log_time("end")
        else:
            self.profiler.end(Kind.START)

    def _log_time(self, what: str) -> None:
        if listeners[0]:
            self.profiler.log_metadata(f"{self.name}.{what}", str(self.get_time()))

    def get_time(self) -> int:
        return dftracer.get_instance().get_time()

    def reset(self) -> None:
        self.profiler.reset()

    def iter(self, iterator: Iterable[T], *, include_block: bool = True, include_iter: bool = True,
             iter_name: Optional[str] = None, block_name: Optional[str] = None) -> Iterator[T]:
        """The values of an iterable, for a loop. Each has an event `<name>.iter`, of getting it,
        and `<name>.block`, of what the loop does with it; both have its number, from 1 on, as
        count."""
        return loop(self.profiler, iterator,
                    c_text(iter_name or get_iter_handle_name(self.name)) if include_iter else None,
                    c_text(block_name or get_iter_block_name(self.name)) if include_block else None,
                    ITER_COUNT_NAME.encode())

    def derive(self, name: str) -> "DFTracerAI":
        """The node below of this name, named `<name of this one>.<name>`."""
        full = f"{self.name}.{name}"
        return self._children.get(full) or self._add(full, self.cat, full, DFTracerAI)

    @overload
    def init(self, fn: F, *, enable: Optional[bool] = None, epoch: Optional[int] = None,
             step: Optional[int] = None, image_idx: Optional[int] = None,
             image_size: Optional[Any] = None, args: Optional[Dict[str, Any]] = None) -> F: ...

    @overload
    def init(self, fn: None = None, *, enable: Optional[bool] = None, epoch: Optional[int] = None,
             step: Optional[int] = None, image_idx: Optional[int] = None,
             image_size: Optional[Any] = None,
             args: Optional[Dict[str, Any]] = None) -> "DFTracerAI": ...

    def init(self, fn: Optional[F] = None, **given: Any) -> Union[F, "DFTracerAI"]:
        """As a call of the node, for a constructor: the event is `<name>.init`."""
        return self.derive(INIT_NAME)(fn, **given)  # type: ignore[call-overload]

    def update(self, epoch: Optional[int] = None, step: Optional[int] = None,
               image_idx: Optional[int] = None, image_size: Optional[Any] = None,
               args: Optional[Dict[str, Any]] = None) -> "DFTracerAI":
        """Sets arguments of the events that this node and those below it begin from now on, in any
        thread, and of those that are open in this thread or task. Also while nobody listens, for
        what is said once an epoch must be right for whoever comes in the middle of it."""
        if lib is not None:
            items = named_items(epoch, step, image_idx, image_size, args)
            self.profiler.stick(items)
            if listeners[0]:
                for event in innermost(self.profiler.governs):
                    event.items.update(items)
        return self

    def enable(self) -> None:
        self._switch(True)

    def disable(self) -> None:
        self._switch(False)

    def _switch(self, enable: bool) -> None:
        self.profiler._enable = enable
        for node in list(self._children.values()):
            node._switch(enable)


def _group(kind: K) -> K:
    """Decorates a class whose annotations are the nodes below its node."""
    kind._declared = get_type_hints(kind)
    return kind


@_group
class IO(DFTracerAI):
    open: DFTracerAI
    read: DFTracerAI
    write: DFTracerAI
    close: DFTracerAI

    def _naming(self, attribute: str) -> Tuple[str, str]:
        return self.cat, f"{self.name}.{attribute}"


@_group
class Compute(DFTracerAI):
    forward: DFTracerAI
    backward: DFTracerAI
    step: DFTracerAI


@_group
class Data(DFTracerAI):
    preprocess: DFTracerAI
    item: DFTracerAI
    io: IO


@_group
class DataLoader(DFTracerAI):
    fetch: DFTracerAI


@_group
class Communication(DFTracerAI):
    send: DFTracerAI
    receive: DFTracerAI
    barrier: DFTracerAI
    bcast: DFTracerAI
    reduce: DFTracerAI
    all_reduce: DFTracerAI
    gather: DFTracerAI
    all_gather: DFTracerAI
    scatter: DFTracerAI
    reduce_scatter: DFTracerAI
    all_to_all: DFTracerAI


@_group
class Device(DFTracerAI):
    transfer: DFTracerAI


@_group
class Checkpoint(DFTracerAI):
    capture: DFTracerAI
    restart: DFTracerAI
    io: IO


@_group
class Pipeline(DFTracerAI):
    epoch: DFTracerAI
    train: DFTracerAI
    evaluate: DFTracerAI
    test: DFTracerAI


@_group
class Other(DFTracerAI):
    log: DFTracerAI
    io: IO


@_group
class AI(DFTracerAI):
    """The whole tree. Each group is a category of its own."""

    compute: Compute
    data: Data
    dataloader: DataLoader
    comm: Communication
    device: Device
    checkpoint: Checkpoint
    pipeline: Pipeline
    other: Other

    def __init__(self, epoch: Optional[int] = None, step: Optional[int] = None,
                 image_idx: Optional[int] = None, image_size: Optional[Any] = None,
                 enable: bool = True) -> None:
        super().__init__(ROOT_CAT, ROOT_NAME, epoch, step, image_idx, image_size, enable)

    def _naming(self, attribute: str) -> Tuple[str, str]:
        return attribute, attribute


class _Name(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


def _names(title: str, kind: Type[DFTracerAI]) -> Any:
    """The names of what is below a group, as an enumeration."""
    return _Name(title, {name.upper(): name for name in kind._declared if name != "io"},
                 module=__name__)


ProfileCategory = _names("ProfileCategory", AI)
ComputeEvent = _names("ComputeEvent", Compute)
DataEvent = _names("DataEvent", Data)
DataLoaderEvent = _names("DataLoaderEvent", DataLoader)
CommunicationEvent = _names("CommunicationEvent", Communication)
DeviceEvent = _names("DeviceEvent", Device)
CheckpointEvent = _names("CheckpointEvent", Checkpoint)
PipelineEvent = _names("PipelineEvent", Pipeline)
OtherEvent = _names("OtherEvent", Other)
IOEvent = _names("IOEvent", IO)

ai = AI()
compute = ai.compute
data = ai.data
dataloader = ai.dataloader
comm = ai.comm
device = ai.device
checkpoint = ai.checkpoint
pipeline = ai.pipeline
other = ai.other
