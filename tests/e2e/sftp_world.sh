# A machine of its own for tests/e2e/test_sftp.py, as far as files go: what is written below /etc, /opt, /srv, /run and /var/lib
# is seen in here only. Run it as root under unshare --mount --pid --fork --kill-child --mount-proc --propagation private.
#
#   sftp_world.sh SCRATCH [CLOSED ...]
#
# SCRATCH: an empty folder. CLOSED: folders that only root can enter on this machine and that lead to Python; here all users can.
set -eu
scratch=$1
shift
mount -t tmpfs -o mode=0755 none "$scratch"
over() {
  layer="$scratch/$(echo "$1" | tr / _)"
  mkdir -p "$layer/upper" "$layer/work"
  chmod --reference="$1" "$layer/upper"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$layer/upper,workdir=$layer/work" "$1"
}
for folder in /etc /opt /srv /var/lib; do over "$folder"; done
for folder in "$@"; do
  over "$folder"
  chmod o+x "$folder"
done
mkdir -p /var/lib/syncd
mount -t tmpfs -o mode=0755 none /var/lib/syncd # a lease can be had there, but not on an overlay
mount -t tmpfs -o mode=0755 none /run
mkdir /run/sshd
echo ready
exec sleep infinity
