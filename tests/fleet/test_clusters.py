"""The same look over a real object store and over a cluster of two processes: the tables of the folder.

Both need packages that a plain install has not, and threads of their own: each runs in a process apart.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from samples import SAMPLES

_STORE = """
import os, sys
os.environ |= {"AWS_ACCESS_KEY_ID": "u", "AWS_SECRET_ACCESS_KEY": "p", "AWS_DEFAULT_REGION": "us-east-1"}
from moto.server import ThreadedMotoServer
import pandas as pd, s3fs
from recovery_kit.fleet.catalogue import catalogue
from recovery_kit.fleet.scan import scan

server = ThreadedMotoServer("127.0.0.1", port=0)
server.start()
host, port = server.get_host_and_port()
os.environ["AWS_ENDPOINT_URL"] = f"http://{host}:{port}"
files = s3fs.S3FileSystem()
files.mkdir("fleet")
files.put(sys.argv[1] + "/", "fleet/runs/", recursive=True)
near, far = scan(sys.argv[1], "serial"), scan("s3://fleet/runs", "serial")
pd.testing.assert_frame_equal(near.runs_df, far.runs_df)
assert 0 < far.fetched <= near.fetched, (far.fetched, near.fetched)
with catalogue("s3://fleet/runs", executor="serial") as runs:
    assert runs.refresh().fetched == 0
    name = near.summaries[0].source
    files.pipe(f"fleet/runs/{name}/run.lvr", b"")
    found = runs.refresh()
    assert found.changed == (name,) and 0 < found.fetched < near.fetched // 4
server.stop()
print("equal")
"""

_CLUSTER = """
import os, sys
from pathlib import Path
import pandas as pd
from distributed import Client, LocalCluster
from recovery_kit.fleet.scan import scan, scan_distributed

if __name__ == "__main__":
    source, to = sys.argv[1:]
    here = scan(source, "serial")
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            there = scan(source, client, batch_bytes=60_000)
            assert there.summaries == here.summaries
            parts = scan_distributed(source, batch_bytes=60_000)
            whole = parts.compute().reset_index(drop=True)  # its texts are pyarrow's
            pd.testing.assert_frame_equal(whole.astype(here.runs_df.dtypes.to_dict()), here.runs_df)
            parts.to_parquet(to)
            assert len(pd.read_parquet(to)) == len(here)
            killed = client.submit(os.kill, int(next(iter(client.run(os.getpid).values()))), 9, retries=0)
            again = scan(source, client, batch_bytes=60_000)
            assert again.summaries == here.summaries
            killed.cancel()
    print("equal")
"""


def _said(script: Path, *words: str) -> str:
    done = subprocess.run([sys.executable, str(script), *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.skipif(not all(map(find_spec, ("moto", "s3fs", "flask"))), reason="needs moto's server and s3fs")
def test_an_object_store(tmp_path: Path) -> None:
    """A real one, started here: equal tables, the bytes counted, and only what changed is fetched again."""
    (tmp_path / "store.py").write_text(_STORE)
    assert "equal" in _said(tmp_path / "store.py", str(SAMPLES))


@pytest.mark.skipif(not all(map(find_spec, ("distributed", "pyarrow"))), reason="needs dask and pyarrow")
def test_a_cluster_of_two_processes(tmp_path: Path) -> None:
    """Equal tables, one that stays distributed, and a killed worker that costs a retry."""
    (tmp_path / "cluster.py").write_text(_CLUSTER)
    assert "equal" in _said(tmp_path / "cluster.py", str(SAMPLES), str(tmp_path / "parts"))
