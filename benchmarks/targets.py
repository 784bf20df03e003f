# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks have measured, beside their targets, as a table."""
import os


def row(rows, target, wanted, measured, reached):
    rows.append((target, wanted, measured, {True: "yes", False: "NO", None: ""}[reached]))


def at_most(rows, target, wanted, value, text):
    row(rows, target, f"at most {wanted:g}", text, value <= wanted)


def at_least(rows, target, wanted, value, text):
    row(rows, target, f"at least {wanted:g}", text, value >= wanted)


def put_rows(rows, put):
    cores = os.cpu_count() or 1
    for ranks, result in sorted(put.items()):
        if not result:
            continue
        large = [r for r in result["results"] if r["bytes_per_put"] >= 1 << 20]
        if not large:
            continue
        worst = min(large, key=lambda r: r["put_to_memcpy"])
        text = (f"{worst['put_to_memcpy']:.2f} at {worst['bytes_per_put'] >> 20} MiB "
                f"({worst['put_gb_per_s']:.1f} of {worst['memcpy_gb_per_s']:.1f} GB/s)")
        name = f"put / memcpy from 1 MiB, {ranks} ranks"
        if ranks == cores:
            at_least(rows, name, 0.8, worst["put_to_memcpy"], text)
        else:
            row(rows, name, "", text, None)


def journal_rows(rows, journal):
    for ranks, result in sorted(journal.items()):
        large = [r for r in result["results"] if r["bytes_per_put"] >= 1 << 20] if result else []
        if large:
            worst = max(large, key=lambda r: r["journal_share"])
            at_most(rows, f"journal / copy from 1 MiB, {ranks} ranks", 0.03, worst["journal_share"],
                    f"{worst['journal_share']:+.3f} at {worst['bytes_per_put'] >> 20} MiB "
                    f"({worst['journal_nanoseconds_per_put']:.0f} ns a put)")


def plan_rows(rows, plan):
    for result in plan["results"] if plan else []:
        ranks = result["ranks"]
        if ranks == 1 << 17:
            at_most(rows, f"planning of a rank, {ranks} ranks: ms", 50, result["seconds"] * 1e3, f"{result['seconds'] * 1e3:.2f}")
            at_most(rows, f"planning of a rank, {ranks} ranks: MiB", 1, result["memory_bytes"] / 2**20,
                    f"{result['memory_bytes'] / 2**20:.3f}")


def start_rows(rows, start):
    for ranks, result in sorted(start.items()):
        if not result:
            continue
        name = f"a session with {result['pool_bytes'] >> 20} MiB, {ranks} ranks"
        at_most(rows, f"{name}: seconds to open", 0.1, result["open_seconds"],
                f"{result['open_seconds']:.3f} (zeroing as much memory: {result['zeroing_seconds']:.3f})")
        at_least(rows, f"{name}: first speed / steady", 0.7, result["first_to_steady"], f"{result['first_to_steady']:.2f}")


def compute_rows(rows, compute):
    for ranks, result in sorted(compute.items()):
        for each in result["results"] if result else []:
            row(rows, f"steps of {ranks} ranks while the drain writes {each['contender']}: longer by", "",
                f"{each['lost_share']:.2f} (the drain's share of the cores {each['drain_share']:.2f})", None)


def recover_rows(rows, recover):
    if not recover:
        return
    glean, *fio = recover["results"]
    for other in fio:
        ratio = other["glean_to_this"]
        at_least(rows, f"recovery / {other['contender']}", 0.9, ratio,
                 f"{ratio:.2f} ({glean['seconds_per_gib']:.2f} s/GiB, {other['seconds_per_gib']:.2f} s/GiB)")


def drain_rows(rows, drain):
    for ranks, result in sorted(drain.items()):
        if not result:
            continue
        glean, summed, *rest = result["results"]
        fio = [each for each in rest if each["contender"] != "glean, hdf5"]
        for hdf5 in (each for each in rest if each not in fio):
            at_most(rows, f"drain into HDF5 / into NetCDF, {ranks} ranks", 1.05, hdf5["glean_to_this"],
                    f"{hdf5['glean_to_this']:.2f} ({hdf5['seconds']:.2f} s, {glean['seconds']:.2f} s)")
        row(rows, f"drain with checksums / without, {ranks} ranks", "", f"{summed['gb_per_s'] / glean['gb_per_s']:.2f} "
            f"({summed['gb_per_s']:.2f} of {glean['gb_per_s']:.2f} GB/s)", None)
        for other in fio:
            ratio = other["glean_to_this"]
            at_least(rows, f"drain / {other['contender']}, {ranks} ranks", 0.9, ratio,
                     f"{ratio:.2f} ({glean['gb_per_s']:.2f} of {other['gb_per_s']:.2f} GB/s)")


def contender(result, name):
    return next(r for r in result["results"] if r["contender"] == name)


def better_layer(checkpoint, workload):
    """Of the plain disk's results the one in which PnetCDF blocking was faster."""
    found = {layer: result for (name, store, layer), result in checkpoint.items() if (name, store) == (workload, "plain") and result}
    if not found:
        return None, None
    layer = min(found, key=lambda key: contender(found[key], "PnetCDF blocking")["blocked_seconds"])
    return layer, found[layer]


def checkpoint_rows(rows, checkpoint):
    for workload in ("flash", "s3d"):
        layer, plain = better_layer(checkpoint, workload)
        cases = [(f"{workload}, plain disk, {layer}", plain, 10, None)]
        cases += [(f"{workload}, {rate} MB/s store", checkpoint.get((workload, rate, "romio")), factor, rate)
                  for rate, factor in ((200, 30), (50, 100))]
        for name, result, factor, rate in cases:
            if not result:
                continue
            glean, other = contender(result, "GLEAN"), contender(result, "PnetCDF blocking")
            at_least(rows, f"{name}: blocked shorter by", factor, glean["blocked_shorter_by"],
                     f"{glean['blocked_shorter_by']:.1f} ({glean['blocked_seconds']:.3f} s, "
                     f"{other['blocked_seconds']:.3f} s)")
            if rate is None:
                at_most(rows, f"{name}: time to durable / PnetCDF + fsync", 1, glean["durable_to_reference"],
                        f"{glean['durable_to_reference']:.2f} ({glean['durable_seconds']:.3f} s, "
                        f"{other['durable_seconds']:.3f} s)")
            else:
                share = glean["raw_mb_per_s"] / rate
                at_least(rows, f"{name}: raw rate / rate of the store", 0.95, share,
                         f"{share:.3f} ({glean['raw_mb_per_s']:.0f} MB/s)")
            at_most(rows, f"{name}: CPU time / PnetCDF", 1.05, glean["cpu_to_reference"],
                    f"{glean['cpu_to_reference']:.2f} ({glean['cpu_seconds']:.2f} s, {other['cpu_seconds']:.2f} s)")
            row(rows, f"{name}: files identical", "yes", "yes" if result["identical_files"] else "no",
                result["identical_files"])


def mode_rows(rows, modes):
    for layer, result in modes.items():
        if not result:
            continue
        by_mode = {r["variant"]: r for r in result["results"]}
        baseline = by_mode.pop("passthrough")["blocked_seconds"]
        for mode, r in by_mode.items():
            text = f"{r['blocked_shorter_by']:.1f} ({r['blocked_seconds']:.3f} s, {baseline:.3f} s)"
            row(rows, f"mode {mode}, {layer}: blocked shorter than passthrough by", "", text, None)


def transfer_rows(rows, transfer):
    for where, result in transfer.items():
        for r in result["results"] if result else []:
            row(rows, f"exchange blocks of {r['piece_bytes'] >> 10} KiB, {where}: one-sided / two-sided", "",
                f"{r['one_sided_to_two_sided']:.2f} "
                f"({r['one_sided_mb_per_s']:.0f}, {r['two_sided_mb_per_s']:.0f} MB/s)", None)


def hosts_text(hosts):
    text = f"{hosts['count']} hosts, links of {hosts['link']}"
    if hosts["between_switches"]:
        text += f", {hosts['between_switches']} between switches"
    if hosts["store_mb_per_s"]:
        text += f", store of {hosts['store_mb_per_s']} MB/s"
    return text


def group_rows(rows, groups):
    for result in groups.values():
        if not result:
            continue
        name = hosts_text(result["hosts"])
        for r in result["results"]:
            row(rows, f"{name}: {r['variant']}: blocked s, durable s", "",
                f"{r['blocked_seconds']:.3f}, {r['durable_seconds']:.3f}", None)
        row(rows, f"{name}: files identical", "yes", "yes" if result["identical_files"] else "no", result["identical_files"])


def exchange_rows(rows, exchange):
    for where, result in exchange.items():
        if not result:
            continue
        for each in result["results"]:
            row(rows, f"blocks over {each['exchange']}, {where}: blocked, then left to wait for", "",
                f"{each['blocked_seconds']:.3f} s, {each['rest_seconds']:.3f} s", None)
        row(rows, f"blocks over tcp and mpi, {where}: files identical", "yes", "yes" if result["identical_files"] else "no",
            result["identical_files"])


def staging_rows(rows, staging):
    def parts(kind):   # none where it was left out, or not asked for
        found = (staging or {}).get(kind, [])
        return [] if "left_out" in found else found

    for each in parts("loopback"):
        ratio = each["staged_to_iperf3"]
        at_least(rows, f"into the pools of {each['stagers']} stager(s): beside iperf3", 0.6, ratio, f"{ratio:.2f}")
    for store in parts("disk"):
        each = staging["disk"][store]
        ratio = each["staged_to_threaded"]
        target = f"staged until durable, {store}: beside threaded"
        if store == "plain disk":   # there the processors are the limit
            row(rows, target, "", f"{ratio:.2f}", None)
        else:
            at_least(rows, target, 0.9, ratio, f"{ratio:.2f}")
        blocked = [each[mode]["blocked_seconds"]["median"] for mode in ("staged", "threaded")]
        row(rows, f"blocked staged and threaded, {store}", "", "{:.3f} s, {:.3f} s".format(*blocked), None)
    for each in parts("hosts"):
        ratio = each["efficiency"]
        at_least(rows, f"{each['compute_hosts']} hosts to {each['staging_hosts']} stagers: of the links", 0.9, ratio, f"{ratio:.2f}")


def pattern_rows(rows, patterns):
    """How much shorter than through collective HDF5 a program is to be blocked, by what limits the storage."""
    factors = {"plain": 5, 200: 30, 50: 117}
    for store, result in patterns.items():
        for each in result["patterns"] if result else ():
            reference = each["results"][0]
            for one in each["results"]:
                if "GLEAN" not in one["way"] and "glean run" not in one["way"]:
                    continue
                name = f"{each['pattern']}, {result['storage']}: {one['way']} beside {each['reference']}: blocked shorter by"
                text = f"{one['blocked_shorter_by']:.1f} ({one['blocked_seconds']:.3f} s, {reference['blocked_seconds']:.3f} s)"
                if each["reference"] == "collective HDF5":
                    at_least(rows, name, factors[store], one["blocked_shorter_by"], text)
                else:
                    row(rows, name, "", text, None)


def restart_rows(rows, result):
    """Reading a restart file beside collective reads of the same data."""
    for each in result["results"] if result else ():
        for of_cache in each["caches"]:
            of = {one["reader"]: one for one in of_cache["results"]}
            for name in ("PnetCDF collective", "HDF5 collective"):
                if name in of:
                    at_most(rows, f"{each['pattern']}, {each['recipe']['ranks']} ranks read it, {of_cache['cache']}: GLEAN beside {name}",
                            1, of[name]["glean_to_this"],
                            f"{of[name]['glean_to_this']:.2f} ({of['GLEAN']['seconds']:.3f} s, {of[name]['seconds']:.3f} s)")


def nodes_rows(rows, nodes):
    for result in nodes.values():
        if not result:
            continue
        name = hosts_text(result["hosts"])
        glean, other = contender(result, "GLEAN"), contender(result, "PnetCDF blocking")
        row(rows, f"{name}: blocked shorter by", "", f"{glean['blocked_shorter_by']:.1f} ({glean['blocked_seconds']:.3f} s, "
            f"{other['blocked_seconds']:.3f} s)", None)
        row(rows, f"{name}: time to durable / PnetCDF + fsync", "", f"{glean['durable_to_reference']:.2f} "
            f"({glean['durable_seconds']:.3f} s, {other['durable_seconds']:.3f} s)", None)
        row(rows, f"{name}: files identical", "yes", "yes" if result["identical_files"] else "no", result["identical_files"])


def print_table(rows):
    head = ("target", "wanted", "measured", "reached")
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(4)]
    for line in [head, tuple("-" * width for width in widths), *rows]:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def print_contenders(checkpoint):
    print(f"\n{'':34}{'blocked':>10}{'observed':>12}{'durable':>10}{'raw':>12}{'CPU':>9}")
    for (workload, store, layer), result in checkpoint.items():
        if not result:
            continue
        where = "plain disk" if store == "plain" else f"{store} MB/s store"
        print(f"{workload}, {where}, {layer}, {result['bytes'] / 2**20:.0f} MiB in {result['files']} file(s)")
        for r in result["results"]:
            print(f"    {r['contender']:30}{r['blocked_seconds']:8.3f} s{r['observed_mb_per_s']:7.0f} MB/s"
                  f"{r['durable_seconds']:8.3f} s{r['raw_mb_per_s']:7.0f} MB/s{r['cpu_seconds']:7.2f} s")
