#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Staging beside what it competes with, each in turns in one run.

  staging.py BUILD_DIR [--only loopback,disk,hosts,connections,stopped,spill,liars,sst] [--repetitions N] [--quick] [--json FILE]

loopback     from a job's pool to the pools of 1 and 2 stagers, which write to memory, beside iperf3 with as many streams
disk         bytes until they are durable on a store of 200 MB/s and on the plain disk, staged beside threaded; what the ranks wait for
hosts        1, 2 and 4 compute hosts and two stagers on hosts of their own, which alone see the files, over limited links
connections  5,120 connections to one `glean stage`: its memory and processor time, and how long questions take beside them
stopped      a stager that is stopped for a minute under a job that computes
spill        a stager with little memory before a store of 50 MB/s, with and without a file on its node to go on in
liars        strangers at all ports of a stager (liars.py), 200 in a second, beside a job
sst          ADIOS2's SST, one writer and one reader, if its Python module is there

`disk` and `spill` need tools/slowstore for their slow store, `hosts` tools/hosts; elsewhere they are left out, with a message.
"""
import argparse
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SLOWSTORE, HOSTS = HERE.parent / "tools" / "slowstore", HERE.parent / "tools" / "hosts"
KINDS = ("loopback", "disk", "hosts", "connections", "stopped", "spill", "liars", "sst")
SECONDS_MAX = 600
COMPUTE_HOSTS, STAGING_HOSTS = 4, 2
# Of seed 000, section 5.2 and table 1: an I/O node sends 420 MiB/s, a staging node takes 680.
COMPUTE_LINK, STAGING_LINK = 400, 650   # Mbit/s


def mpirun(ranks):
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks)]


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values), "each": values}


def cpus():
    """Seconds that processors of this machine were busy since its start, all together."""
    user, nice, system, _idle, _wait, irq, soft = map(int, pathlib.Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, options):
        self.build, self.repetitions, self.quick = options.build.resolve(), options.repetitions, options.quick
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="bench-staging-", dir=self.build))
        self.recipe = None   # of the first program that has run
        self.key = self.place / "stage.key"
        self.key.touch(mode=0o600)
        self.key.write_text(os.urandom(32).hex() + "\n")
        self.memory = pathlib.Path(tempfile.mkdtemp(prefix="bench-staging-", dir="/dev/shm"))

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.rmtree(self.memory, ignore_errors=True)

    def file(self, name):
        return self.place / name

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GLEAN_")}
        return kept | {"GLEAN_STAGING_ADDRESS": str(self.file("stage.json")), "GLEAN_STAGING_KEY": str(self.key)} | more

    @contextlib.contextmanager
    def stagers(self, number, directory, job_mib, launch=lambda index: [], memory_mib=None, more=()):
        """So many processes of `glean stage` that write there; each is ended, and must have done all."""
        address_file = self.file("stage.json")
        if self.quick:
            job_mib, memory_mib = min(job_mib, 64), min(memory_mib or 128, 128)
        stage = [self.build / "bin" / "glean", "stage", "--directory", directory, "--address-file", address_file, "--key", self.key,
                 "--memory", f"{memory_mib or 2 * job_mib}MiB", "--job-memory", f"{job_mib}MiB", *more]
        with open(self.file("stage.log"), "a", encoding="utf-8") as log:
            running = [subprocess.Popen([*map(str, [*launch(index), *stage])], env=self.environment(OMPI_COMM_WORLD_SIZE=str(number)),
                                        stdout=log, stderr=log) for index in range(number)]
            try:
                begin = time.monotonic()
                while not (address_file.exists() and address_file.read_text().count("identity") == number):
                    if time.monotonic() - begin > 30:
                        raise RuntimeError("the stagers do not start:\n" + self.file("stage.log").read_text())
                    time.sleep(0.02)
                yield running
            finally:
                for process in running:
                    process.send_signal(signal.SIGTERM)
                ended = [process.wait(60) for process in running]
        if any(ended):
            raise RuntimeError(f"the stagers ended with {ended}:\n" + self.file("stage.log").read_text())

    def write(self, path, mode="staged", ranks=1, step_mib=256, steps=4, compute=0.0, budget_mib=0, launch=None):
        """What bench_staging says, and what the library has said meanwhile."""
        target = self.file("result.json")
        target.unlink(missing_ok=True)
        before = cpus()
        if self.quick:
            step_mib, compute, budget_mib = 1, min(compute, 0.1), 0
        command = [*(launch or mpirun(ranks)), self.build / "bin" / "bench_staging", "--mode", mode, "--path", path, "--json", target,
                   "--step-mib", step_mib, "--steps", steps, "--compute", compute, "--budget-mib", budget_mib]
        ran = subprocess.run([str(word) for word in command], env=self.environment(), capture_output=True, text=True,
                             timeout=SECONDS_MAX, check=False)
        if ran.returncode != 0:
            raise RuntimeError(f"bench_staging ended with {ran.returncode}: {ran.stderr}")
        said = json.loads(target.read_text())
        self.recipe = self.recipe or said.pop("recipe")
        return said | {"cpu_seconds": cpus() - before, "said": ran.stderr}

    def iperf(self, streams):
        """Bytes per second over loopback."""
        port = "5299"
        server = subprocess.Popen(["iperf3", "-s", "-1", "-p", port], stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        until = ["-n", "16M"] if self.quick else ["-t", "3"]
        said = subprocess.run(["iperf3", "-c", "127.0.0.1", "-p", port, "-P", str(streams), *until, "-J"],
                              capture_output=True, text=True, check=True, timeout=SECONDS_MAX)
        server.wait(30)
        return json.loads(said.stdout)["end"]["sum_received"]["bits_per_second"] / 8

    @staticmethod
    def can(tool):
        check = subprocess.run([tool, "check"], capture_output=True, text=True, check=False)
        if check.returncode != 0:
            print(f"    left out: {check.stderr.strip()}", flush=True)
        return check.returncode == 0

    # --- one kind each

    def loopback(self):
        if not shutil.which("iperf3"):
            return {"left_out": "iperf3 is not installed"}
        results = []
        for stagers in (2,) if self.quick else (1, 2):
            staged, iperf, blocked, puts, first = [], [], [], [], []
            with self.stagers(stagers, self.memory, 1792 // stagers):
                for _ in range(self.repetitions):
                    iperf.append(self.iperf(stagers))
                    out = self.write(self.memory / "out.nc")
                    staged.append(out["bytes"] / out["staged_seconds"])
                    blocked.append(out["blocked_seconds"])
                    puts.append(out["bytes"] / out["blocked_seconds"])
                    first.append(out["first_blocked_seconds"])
                    (self.memory / "out.nc").unlink()
            results.append({"stagers": stagers, "staged_bytes_per_second": spread(staged), "iperf3_bytes_per_second": spread(iperf),
                            "staged_to_iperf3": statistics.median(staged) / statistics.median(iperf),
                            "blocked_seconds": spread(blocked), "captured_bytes_per_second": spread(puts),
                            "first_blocked_seconds": spread(first)})
        return results

    def disk(self):
        results = {"plain disk": self.beside_threaded(self.file("files"), 256)}
        if self.can(SLOWSTORE):
            mount = self.file("slow")
            mount.mkdir()
            environment = os.environ | {"TMPDIR": str(self.place)}
            subprocess.run([SLOWSTORE, "up", mount, "200", "4G"], env=environment, check=True)
            try:
                results["200 MB/s"] = self.beside_threaded(mount / "files", 128)
            finally:
                subprocess.run([SLOWSTORE, "down", mount], check=False)
        return results

    def beside_threaded(self, files, step_mib):
        files.mkdir()
        outcomes = {"staged": [], "threaded": []}
        with self.stagers(1, files, 7 * step_mib):
            for repetition in range(self.repetitions):
                for mode in sorted(outcomes, reverse=repetition % 2 == 0):
                    outcomes[mode].append(self.write(files / f"{mode}.nc", mode, 2, step_mib // 2))
                    os.sync()
                if repetition == 0:
                    self.same(*(files / f"{mode}.nc" for mode in outcomes))
        shutil.rmtree(files)
        of = {mode: {"durable_bytes_per_second": spread([each["bytes"] / each["durable_seconds"] for each in all_]),
                     "blocked_seconds": spread([each["blocked_seconds"] for each in all_])} for mode, all_ in outcomes.items()}
        rates = {mode: each["durable_bytes_per_second"]["median"] for mode, each in of.items()}
        return of | {"staged_to_threaded": rates["staged"] / rates["threaded"]}

    @staticmethod
    def same(one, other):
        if subprocess.run(["cmp", one, other], check=False).returncode != 0:
            raise RuntimeError(f"{one} and {other} differ")

    def hosts(self):
        if not self.can(HOSTS):
            return {"left_out": "tools/hosts cannot work here"}
        name = f"bench{os.getpid() % 10000}s"
        files = self.file("files")
        files.mkdir()
        subprocess.run([HOSTS, "up", name, str(COMPUTE_HOSTS + STAGING_HOSTS), f"{COMPUTE_LINK}mbit"], check=True)
        try:
            for staging in range(COMPUTE_HOSTS, COMPUTE_HOSTS + STAGING_HOSTS):
                subprocess.run([HOSTS, "rate", name, str(staging), f"{STAGING_LINK}mbit"], check=True)
            return self.weak_scaling(name, files)
        finally:
            subprocess.run([HOSTS, "down", name], check=False)

    def weak_scaling(self, name, files):
        outcomes = {hosts: [] for hosts in ((2,) if self.quick else (1, 2, 4))}
        with self.stagers(STAGING_HOSTS, files, 768, lambda index: [HOSTS, "run", name, COMPUTE_HOSTS + index]):
            for _ in range(self.repetitions):
                for hosts, each in outcomes.items():
                    where = ",".join(f"{name}{host}:1" for host in range(hosts))
                    # The compute hosts see nothing where the files are.
                    launch = [HOSTS, "run", name, 0, *mpirun(hosts), "--host", where, "--mca", "plm", "rsh", "--mca", "plm_rsh_agent",
                              f"{HOSTS} agent {name}", "--mca", "pml", "ob1", "--mca", "btl", "self,vader,tcp",
                              "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24",
                              "-x", "GLEAN_STAGING_ADDRESS", "-x", "GLEAN_STAGING_KEY", "unshare", "--mount", "bash", "-c",
                              f'mount -t tmpfs none "{files}" && exec "$@"', "_"]
                    each.append(self.write(files / "out.nc", step_mib=64, launch=launch))
                    (files / "out.nc").unlink()
        rows = []
        for hosts, each in outcomes.items():
            links = min(hosts * COMPUTE_LINK, STAGING_HOSTS * STAGING_LINK) * 1e6 / 8
            staged = spread([one["bytes"] / one["staged_seconds"] for one in each])
            durable = spread([one["bytes"] / one["durable_seconds"] for one in each])
            rows.append({"compute_hosts": hosts, "staging_hosts": STAGING_HOSTS, "compute_links": hosts * COMPUTE_LINK * 1e6 / 8,
                         "staging_links": STAGING_HOSTS * STAGING_LINK * 1e6 / 8, "staged_bytes_per_second": staged,
                         "efficiency": staged["median"] / links, "durable_bytes_per_second": durable,
                         "durable_efficiency": durable["median"] / links,
                         "blocked_seconds": spread([one["blocked_seconds"] for one in each])})
        return rows

    def connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        number, seconds = (64, 1) if self.quick else (5120, 10)
        results = []
        try:
            for _ in range(1 if self.quick else min(3, self.repetitions)):
                with self.stagers(1, self.memory, 4, memory_mib=1024) as (stager,):
                    target = self.file("control.json")
                    subprocess.run([self.build / "bin" / "bench_control", "--address-file", self.file("stage.json"), "--key", self.key,
                                    "--pid", str(stager.pid), "--connections", str(number), "--idle", str(seconds), "--json", target,
                                    "--questions", "20"], check=True, timeout=SECONDS_MAX)
                    results.append(json.loads(target.read_text()))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return results

    def stopped(self):
        """A job of steps with a pause between them; the stager is stopped after some of them, and goes on after a minute. Once more
        with a pool that has room for three steps."""
        seconds = 0.5 if self.quick else 60
        results, steps = {"undisturbed": [], "stopped": [], "stopped, small pool": []}, 10
        files = self.file("files")
        files.mkdir(exist_ok=True)
        with self.stagers(1, files, 1024) as (stager,):
            for _ in range(1 if self.quick else min(3, self.repetitions)):
                for case, each in results.items():
                    stopping = threading.Thread(target=self.stop, args=(stager.pid, files, seconds))
                    if case != "undisturbed":
                        stopping.start()
                    out = self.write(files / f"{case}.nc", ranks=2, step_mib=32, steps=steps, compute=1,
                                     budget_mib=200 if "small" in case else 0)
                    each.append({"blocked_seconds": out["blocked_seconds"], "longest_step_seconds": max(out["each_blocked_seconds"]),
                                 "staged_seconds": out["staged_seconds"], "said": out["said"]})
                    if case != "undisturbed":
                        stopping.join()
                    self.same(files / "undisturbed.nc", files / f"{case}.nc")
        shutil.rmtree(files)
        of = {case: {key: spread([one[key] for one in each]) for key in ("blocked_seconds", "longest_step_seconds", "staged_seconds")}
              | {"said": sorted({one["said"] for one in each})} for case, each in results.items()}
        return {"stopped_seconds": seconds, "steps": steps, "identical_files": True} | of

    def spill(self):
        """Eight steps of 64 MiB without a pause, pools of 128 MiB on the node and at the stager."""
        if not self.can(SLOWSTORE):
            return {"left_out": "tools/slowstore cannot work here"}
        results = {"without": [], "with --spill": []}
        mount, spill = self.file("slow"), self.file("spill")
        mount.mkdir()
        spill.mkdir()
        subprocess.run([SLOWSTORE, "up", mount, "50", "4G"], env=os.environ | {"TMPDIR": str(self.place)}, check=True)
        try:
            for _ in range(1 if self.quick else min(3, self.repetitions)):
                for case, each in results.items():
                    more = ["--spill", spill, "--spill-budget", "1GiB"] if case != "without" else []
                    with self.stagers(1, mount, 128, more=more):
                        out = self.write(mount / f"{case.split()[0]}.nc", ranks=2, step_mib=32, steps=8, budget_mib=128)
                    each.append({key: out[key] for key in ("blocked_seconds", "staged_seconds", "durable_seconds")})
                self.same(mount / "without.nc", mount / "with.nc")
                os.sync()
        finally:
            subprocess.run([SLOWSTORE, "down", mount], check=False)
        return {case: {key: spread([one[key] for one in each]) for key in each[0]} for case, each in results.items()}

    def liars(self):
        """A job of steps with a pause between them, alone and beside strangers, in turns."""
        results, strangers = {"alone": [], "beside liars": []}, []
        with self.stagers(1, self.memory, 256) as (stager,):
            for _ in range(1 if self.quick else self.repetitions):
                for case, each in results.items():
                    liars = case != "alone" and subprocess.Popen([sys.executable, HERE / "liars.py", str(stager.pid), "200"],
                                                                 stdout=subprocess.PIPE, text=True)
                    out = self.write(self.memory / f"{case}.nc", ranks=2, step_mib=8, steps=8, compute=0.5)
                    each.append({key: out[key] for key in ("blocked_seconds", "staged_seconds")})
                    if liars:
                        liars.terminate()
                        strangers.append(int(liars.communicate(timeout=30)[0].split()[0]))
                self.same(self.memory / "alone.nc", self.memory / "beside liars.nc")
                for case in results:
                    (self.memory / f"{case}.nc").unlink()
            status = pathlib.Path(f"/proc/{stager.pid}/status").read_text()
        of = {case: {key: spread([one[key] for one in each]) for key in each[0]} for case, each in results.items()}
        return of | {"strangers": strangers, "identical_files": True, "stager_threads": int(status.split("Threads:")[1].split()[0])}

    @staticmethod
    def stop(process, files, seconds):
        """For so long, once it has made a file, and some steps are there."""
        while not any(name.endswith(".part") for name in os.listdir(files)):
            time.sleep(0.01)
        time.sleep(3 if seconds > 10 else 0.3)
        os.kill(process, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process, signal.SIGCONT)

    def sst(self):
        python = os.environ.get("ADIOS2_PYTHON", sys.executable)
        if subprocess.run([python, "-c", "import adios2"], capture_output=True, check=False).returncode != 0:
            return {"left_out": "no Python module adios2"}
        sst, staged = [], []
        step_mib, steps = (1, 4) if self.quick else (256, 4)
        with self.stagers(1, self.memory, 1792):
            for _ in range(self.repetitions):
                said = subprocess.run([python, HERE / "sst.py", self.file("stream"), str(step_mib), str(steps)],
                                      capture_output=True, text=True, check=True, timeout=SECONDS_MAX)
                sst.append(json.loads(said.stdout))
                staged.append(self.write(self.memory / "out.nc", step_mib=step_mib, steps=steps))
                (self.memory / "out.nc").unlink()
        of = {}
        for side, each in (("sst", sst), ("staged", staged)):
            of[side] = {"blocked_seconds": spread([one["blocked_seconds"] for one in each]),
                        "bytes_per_second": spread([one["bytes"] / one["staged_seconds"] for one in each])}
        return of | {"blocked_to_sst": of["staged"]["blocked_seconds"]["median"] / of["sst"]["blocked_seconds"]["median"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: do they run? The figures mean nothing")
    parser.add_argument("--json", type=pathlib.Path, help="write the results here, not to standard output")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))   # what was mounted and started is ended
    bench = Bench(options)
    result = {"benchmark": "staging", "quick": options.quick, "repetitions": options.repetitions, "cores": os.cpu_count(),
              "load_average": os.getloadavg()[0]}
    try:
        for kind in options.only.split(","):
            print(f"--- staging: {kind}", file=sys.stderr, flush=True)
            result[kind] = getattr(bench, kind)()
    finally:
        bench.close()
    result["recipe"] = bench.recipe
    text = json.dumps(result, indent=1) + "\n"
    if options.json:
        options.json.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
