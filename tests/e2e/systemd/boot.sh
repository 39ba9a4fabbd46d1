# Boots systemd as the first process of namespaces of its own (machine.py), with a copy of this machine's files: what is written
# in there is in memory, and gone when it ends. Run it as root under unshare --fork --kill-child with namespaces of its own for
# mounts, processes, control groups, network, names and IPC.
#
#   boot.sh SCRATCH
#
# SCRATCH: an empty folder. What systemd writes before its journal runs is in SCRATCH/console.
set -eu
scratch=$1
root=$scratch/memory/root
: >"$scratch/console"
mkdir "$scratch/memory"
mount -t tmpfs -o mode=0755 none "$scratch/memory"
mkdir "$scratch/memory/upper" "$scratch/memory/work" "$root"
mount -t overlay -o "lowerdir=/,upperdir=$scratch/memory/upper,workdir=$scratch/memory/work" none "$root"
cd "$root"

# The file systems of the kernel. The kernel's settings can only be read, as in a container, so that systemd changes none.
mount -t proc none proc
mount -t sysfs -o ro none sys
mount -t cgroup2 none sys/fs/cgroup
mount --bind proc/sys proc/sys
mount -o remount,bind,ro none proc/sys
mount -t tmpfs -o mode=0755 none dev
mkdir dev/pts dev/shm
for name in null zero full random urandom tty; do
  : >dev/$name
  mount --bind /dev/$name dev/$name
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 none dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for number in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${number%:*}" "dev/${number#*:}"; done
: >dev/console
mount --bind "$scratch/console" dev/console
for place in dev/shm tmp; do mount -t tmpfs -o mode=1777 none $place; done
mount -t tmpfs -o mode=0755 none run
mkdir -p run/lock var/lib/syncd
mount -t tmpfs -o mode=0755 none var/lib/syncd # a lease can be had there, but not on an overlay

# A machine without the past and the services of the one around it.
rm -rf etc/systemd/system/*.wants etc/systemd/system/default.target etc/rc?.d var/log/journal etc/machine-id
: >etc/fstab
systemd-machine-id-setup --root=. 2>>"$scratch/console"
for unit in console-getty.service getty.target getty-static.service systemd-logind.service systemd-firstboot.service \
  systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udev-trigger.service \
  systemd-udev-settle.service systemd-hwdb-update.service systemd-modules-load.service kmod-static-nodes.service \
  systemd-sysctl.service systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-remount-fs.service \
  systemd-random-seed.service systemd-timesyncd.service ldconfig.service e2scrub_reap.service dev-hugepages.mount \
  dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount sys-fs-fuse-connections.mount; do
  ln -sf /dev/null etc/systemd/system/$unit
done
hostname machine
ip link set lo up

mkdir -p mnt/outside
pivot_root . mnt/outside
cd /
umount -l /mnt/outside
mount --make-rshared / # else the folder of credentials cannot be made
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 container=test \
  /lib/systemd/systemd --system --unit=multi-user.target --log-target=journal --show-status=0 </dev/null >/dev/null 2>&1
