#!/bin/bash
# Process 1 of one host of the testbed: HOST STATE LIFE. Sets the host up, starts its daemons, reaps, and powers off
# after LIFE seconds whatever happens.
set -eu
host=$1 state=$2 life=$3
home=$state/$host
hostname "$host"
mkdir -p "$home"/{log,controller,mysql}

mount --bind "$state/hosts" /etc/hosts
mkdir -p /etc/slurm
mount --bind "$state/etc" /etc/slurm
mount --bind "$home/log" /var/log
mount -t tmpfs -o mode=1777,size=512m tmpfs /dev/shm

# `ip netns exec` mounted /sys anew, which hides the control groups; slurmd refuses to start without them.
mount -t tmpfs tmpfs /sys/fs/cgroup
for controller in cpu cpuacct cpuset memory devices freezer blkio pids; do
  mkdir -p "/sys/fs/cgroup/$controller"
  mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" 2>/dev/null || true
done

# A /run of its own in which the shared state stays visible.
mkdir -p /mnt
mount --bind "$state" /mnt
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$state"
mount --move /mnt "$state"

install -d -o munge -g munge -m 755 /run/munge
install -d -o munge -g munge -m 700 "$home/log/munge" "$home/munge"
install -o munge -g munge -m 400 "$state/munge.key" "$home/munge/munge.key"
chown -R slurm: "$home/controller"
/usr/sbin/runuser -u munge -- /usr/sbin/munged --key-file="$home/munge/munge.key" \
  --log-file="$home/log/munge/munged.log" --seed-file="$home/munge/seed"

mkdir -p /var/lib/slurm
mount -t tmpfs tmpfs /var/lib/slurm
mkdir -p /var/lib/slurm/state /var/lib/slurm/slurmd
if [ "$host" = ctl ]; then
  mount --bind "$home/controller" /var/lib/slurm/state
  if [ -e /etc/slurm/slurmdbd.conf ]; then "$state/accounting.sh" "$home"; fi
  /usr/sbin/slurmctld
else
  # The spool is new at each boot: a step that died with the power would stand in the way of its successor.
  /usr/sbin/slurmd -b
fi
echo ok >"$home/ready"

# bash as process 1 reaps what is orphaned; killing it from outside is the power cut.
end=$((SECONDS + life))
while [ "$SECONDS" -lt "$end" ]; do
  sleep 5 &
  wait $! || true
done
