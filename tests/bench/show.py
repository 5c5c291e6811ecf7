# SPDX-License-Identifier: MIT
"""Medians of the runs, and their tables."""
import statistics


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def per_call(report, key):
    return report[key] / report["calls"]


def summed_up(runs, startup_cpu_ns):
    """What the runs of one mode come to. runs: [(the bare run before, the run)], equal for the mode
    that is bare."""
    out = {"calls": runs[0][1]["calls"], "rounds": len(runs)}
    for key in ("wall_ns", "cpu_ns"):
        what = key.removesuffix("_ns")
        out[key] = spread([per_call(r, key) for _, r in runs])
        out[f"{what}_ratio"] = spread([per_call(r, key) / per_call(b, key) for b, r in runs])
        out[f"{what}_added_ns"] = spread([per_call(r, key) - per_call(b, key) for b, r in runs])
    reports = [r for _, r in runs]
    if "kept" in reports[0]:
        for key in ("kept", "lost", "shed"):
            out[key] = sum(r[key] for r in reports)
    sized = [r["out_bytes"] / r["kept"] for r in reports if r.get("out_bytes") and r["kept"]]
    if sized:
        out["bytes_per_event"] = spread(sized)
    if "used" in reports[0]:
        used = spread([r["used"]["cpu_ns"] - startup_cpu_ns for r in reports])
        out["tracer_startup_cpu_s"] = startup_cpu_ns / 1e9
        # Beside a long start-up, which varies, a short loop cannot be told.
        if used["median"] > startup_cpu_ns / 4:
            out["tracer_cpu_s_per_million"] = {k: v / out["calls"] / 1e3 for k, v in used.items()}
        out["tracer_maxrss_mib"] = max(r["used"]["maxrss_kib"] for r in reports) / 1024
    return out


def over(runs, base):
    """The ratios of two modes, round by round."""
    return {key: spread([per_call(r, key) / per_call(b, key)
                         for (_, r), (_, b) in zip(runs, base)])
            for key in ("wall_ns", "cpu_ns")}


# ---- tables ----------------------------------------------------------------------------------

def table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(row, widths))).rstrip())


def ns(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"


def times(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def ratio(s):
    return f"{times(s['median'])} ({times(s['min'])}-{times(s['max'])})"


HEAD = ["", "calls", "wall ns", "wall x", "cpu ns", "added", "cpu x (range)", "lost", "summed",
        "tracer s/M", "B/event", "MiB"]


def row(title, m):
    def opt(key, form):
        value = m.get(key)
        if isinstance(value, dict):
            value = value["median"]
        return "-" if value is None else form.format(value)

    return [title, str(m["calls"]), ns(m["wall_ns"]["median"]), times(m["wall_ratio"]["median"]),
            ns(m["cpu_ns"]["median"]), ns(m["cpu_added_ns"]["median"]), ratio(m["cpu_ratio"]),
            opt("lost", "{}"), opt("shed", "{}"), opt("tracer_cpu_s_per_million", "{:.2f}"),
            opt("bytes_per_event", "{:.1f}"), opt("tracer_maxrss_mib", "{:.0f}")]


def workload(title, result):
    print(f"\n{title}")
    table([HEAD] + [row(m["title"], m) for m in result["modes"].values()])
    if "untraced_over_empty_pair" in result:
        o = result["untraced_over_empty_pair"]
        print(f"not traced, over the empty pair: cpu {ratio(o['cpu_ns'])}, "
              f"wall {ratio(o['wall_ns'])}")
    if result["disturbed"]:
        print(f"{result['disturbed']} of {result['modes']['bare']['rounds']} bare runs were not: "
              "another tracer was attached to all system calls")
    for mode, why in result["left_out"].items():
        print(f"left out: {mode}: {why}")


def figures(f):
    print("\nThe tracer by itself")
    s = f["startup"]
    rows = [["start-up, until tracing is live (-p)", f"{s['live_s']['median'] * 1e3:.0f} ms"],
            ["start-up and end, processor time (--, nothing traced)",
             f"{s['cpu_s']['median'] * 1e3:.0f} ms"]]
    for what, speed in f["decode"].items():
        rows.append([f"decoding and formatting, {what}", f"{speed['median']:.2f} M events/s"])
    for c in f["compression"]:
        rows.append([f"compression, {c['with']}",
                     f"{c['lines'] / c['cpu_ns'] * 1e3:.2f} M lines/s, "
                     f"{c['bytes_out'] / c['lines']:.1f} B/line"])
    table(rows)


def reading(r):
    print("\nReading")
    rows = [["", "lines", "text GB", "wall s (range)", "cpu s", "M lines/s", "of zcat", "MiB"]]
    zcat = next(m for m in r["runs"].values() if m.get("is_base"))
    for title, m in r["runs"].items():
        per_line = m["wall_s"]["median"] / m["lines"]
        share = per_line / (zcat["wall_s"]["median"] / zcat["lines"])
        rows.append([title, str(m["lines"]), f"{m['bytes'] / 1e9:.2f}",
                     f"{m['wall_s']['median']:.2f} ({m['wall_s']['min']:.2f}-{m['wall_s']['max']:.2f})",
                     f"{m['cpu_s']['median']:.2f}", f"{1e-6 / per_line:.2f}", times(share), f"{m['maxrss_mib']:.0f}"])
    table(rows)
    for what, why in r["left_out"].items():
        print(f"left out: {what}: {why}")
