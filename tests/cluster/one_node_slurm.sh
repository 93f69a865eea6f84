#!/bin/bash
# Starts or stops a Slurm cluster of one node on this machine, with all its files in DIR. It needs root, munge and
# slurm-wlm (Debian: apt-get install slurm-wlm munge).
# usage: one_node_slurm.sh start DIR [CPUS]     then: export SLURM_CONF=DIR/slurm.conf
#        one_node_slurm.sh stop DIR
set -euo pipefail
action=$1
dir=$(mkdir -p "$2" && cd "$2" && pwd)
export SLURM_CONF=$dir/slurm.conf PATH=$PATH:/usr/sbin

stop() {
  for name in slurmd slurmctld munged; do
    [ -s "$dir/$name.pid" ] && kill "$(cat "$dir/$name.pid")" 2>/dev/null || true
  done
}

if [ "$action" = stop ]; then
  stop
  exit
fi

port=$((20000 + RANDOM % 10000))
mkdir -p "$dir/state" "$dir/spool"
head -c 128 /dev/urandom > "$dir/munge.key"
chmod 700 "$dir"
chmod 600 "$dir/munge.key"
cat > "$SLURM_CONF" <<END
ClusterName=lsmlab
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=2
MinJobAge=300
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=${3:-4} RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
END
trap stop ERR
munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
  --log-file="$dir/munged.log" --seed-file="$dir/munge.seed"
slurmctld -c
slurmd -c
for _ in $(seq 100); do
  state=$(sinfo -h -o %T 2>/dev/null || true)
  [ "$state" = idle ] && exit
  sleep 0.1
done
echo "one_node_slurm.sh: the node did not become idle (state: $state); see $dir/slurmctld.log and $dir/slurmd.log" >&2
stop
exit 1
