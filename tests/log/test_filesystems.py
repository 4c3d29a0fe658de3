"""Detection of file systems on which appends are not safe, from a mount table."""

import pytest

from branchline.log import filesystem_warning

TABLE = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw,nosuid - proc proc rw
30 22 0:40 / /mnt/nfs rw shared:5 - nfs4 server:/export rw,vers=4.2
31 22 0:41 / /mnt/share rw - cifs //server/share rw
32 22 0:42 / /mnt/ssh rw - fuse.sshfs me@host: rw
33 22 0:43 / /mnt/disk rw - fuseblk /dev/sdb1 rw
34 22 0:44 / /mnt/with\\040space rw - nfs server:/x rw
35 30 0:45 / /mnt/nfs/local rw - xfs /dev/sdc rw
36 22 0:46 / /mnt/covered rw - nfs server:/y rw
37 36 0:47 / /mnt/covered rw - tmpfs tmpfs rw
38 22 0:48 / /sys/fs/fuse/connections rw - fusectl fusectl rw
nonsense
39 22 0:49
"""


@pytest.fixture
def mounts(tmp_path):
    path = tmp_path / "mountinfo"
    path.write_text(TABLE)
    return path


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/mnt/nfs/s.jsonl", "NFS"),
        ("/mnt/nfs", "NFS"),
        ("/mnt/share/a/b/s.jsonl", "SMB"),
        ("/mnt/ssh/s.jsonl", "FUSE (fuse.sshfs)"),
        ("/mnt/disk/s.jsonl", "FUSE (fuseblk)"),
        ("/mnt/with space/s.jsonl", "NFS"),
    ],
)
def test_a_session_on_a_network_or_user_space_file_system_gets_a_warning(mounts, path, title):
    warning = filesystem_warning(path, mountinfo=mounts)

    assert warning.startswith(f"{path} is on {title}, mounted at /mnt/")
    assert "one machine at a time" in warning


@pytest.mark.parametrize(
    "path",
    [
        "/home/s.jsonl",
        "/mnt/nfsx/s.jsonl",
        "/mnt/nfs/local/s.jsonl",
        "/mnt/covered/s.jsonl",
        "/sys/fs/fuse/connections/1",
    ],
)
def test_a_session_on_a_local_file_system_gets_none(mounts, path):
    assert filesystem_warning(path, mountinfo=mounts) is None


def test_where_there_is_no_table_of_mounts_nothing_is_said(tmp_path):
    assert filesystem_warning(tmp_path, mountinfo=tmp_path / "none") is None


def test_the_table_of_this_machine_can_be_read(tmp_path):
    warning = filesystem_warning(tmp_path)

    assert warning is None or " is on " in warning
