#!/bin/sh
# Takes away what install.sh made, and the program. What stays is data: /var/lib/syncd (store, feed files, reports), /etc/syncd
# (settings) and the user syncd, to whom they belong. Run it as root.
set -eu
if [ -d /run/systemd/system ]; then
  systemctl disable --now syncd.socket syncd.service
fi
if [ -e /etc/systemd/system/syncd-backup.timer ]; then
  [ ! -d /run/systemd/system ] || systemctl disable --now syncd-backup.timer
  rm -f /etc/systemd/system/syncd-backup.service /etc/systemd/system/syncd-backup.timer
fi
rm -f /etc/systemd/system/syncd.service /etc/systemd/system/syncd.socket
rm -rf /etc/systemd/system/syncd.service.d /etc/systemd/system/syncd.socket.d
rm -f /etc/sysusers.d/syncd.conf /etc/tmpfiles.d/syncd.conf
rm -f /usr/local/bin/syncd /usr/share/bash-completion/completions/syncd
rm -rf /opt/syncd
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
