#!/bin/sh
# Makes a service of the syncd that is in /opt/syncd: user, folders, settings, units, and the command syncd. Run it as root in a
# clone of the repository, also after an upgrade: it keeps the settings and feed files that are there (docs/deploy/debian.md).
set -eu
cd "$(dirname "$0")/.."

install -m 0644 systemd/syncd.service systemd/syncd.socket /etc/systemd/system/
install -D -m 0644 systemd/sysusers.d/syncd.conf /etc/sysusers.d/syncd.conf
install -D -m 0644 systemd/tmpfiles.d/syncd.conf /etc/tmpfiles.d/syncd.conf
install -D -m 0644 docs/operations.md /opt/syncd/docs/operations.md
systemd-sysusers /etc/sysusers.d/syncd.conf
systemd-tmpfiles --create /etc/tmpfiles.d/syncd.conf
[ -e /etc/syncd/syncd.toml ] || install -m 0644 config/syncd.toml /etc/syncd/syncd.toml

mkdir -p /usr/local/bin /usr/share/bash-completion/completions
ln -sf /opt/syncd/bin/syncd /usr/local/bin/syncd
ln -sf /opt/syncd/share/bash-completion/completions/syncd /usr/share/bash-completion/completions/syncd

if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable syncd.service
  systemctl restart syncd.service
fi
