#!/usr/bin/env bash
# Tries array.sh and GNU parallel on this machine: bash examples/slurm/try.sh,
# as root on Debian, with Go. It installs Slurm, munge and parallel where they
# are missing, runs a cluster of one node in a temporary directory, and ends it
# again. One task of a small array is told to stop, another is requeued while
# it runs; in the end all runs must have the bytes of those of "qta sweep".
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! { command -v slurmctld && command -v slurmd && command -v munged && command -v parallel; } >/dev/null; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		slurmctld slurmd slurm-client munge parallel >/dev/null
fi

dir=$(mktemp -d)
chmod 755 "$dir"
pids=()
finish() {
	code=$?
	if [ -n "${job:-}" ]; then # what is left of it after a failure
		scancel "$job" 2>/dev/null || true
		for _ in {1..100}; do [ -z "$(squeue -h -j "$job" 2>/dev/null)" ] && break; sleep 0.2; done
	fi
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
	done
	wait
	if [ "$code" -ne 0 ]; then
		tail -n 20 "$dir"/*.log "$dir"/slurm-*.out 2>/dev/null || true
		echo "FAILED (exit $code); the files are in $dir"
	else
		rm -rf "$dir"
	fi
}
trap finish EXIT

go build -o "$dir/qta" ./cmd/qta
cp examples/slurm/array.sh "$dir"
for seed in 1 2 3 4; do
	echo "-maze 1U5 -params small -set Horizon=20 -set InitialSteps=200 -steps ${STEPS:-1500} -eval 250 -stop never -checkpoint 100 -seed $seed -out seed$seed"
done >"$dir/cells.txt"

# A cluster of one node, with ports and files of its own.
node=$(hostname -s)
mkdir "$dir/munge" "$dir/state" "$dir/spool"
head -c 1024 /dev/urandom >"$dir/munge/key"
chmod 400 "$dir/munge/key"
chown -R munge: "$dir/munge"
cat >"$dir/slurm.conf" <<CONF
ClusterName=try
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
SlurmUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$(awk '/^MemTotal/ {print int($2 / 1024) - 1}' /proc/meminfo) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$dir/slurm.conf
runuser -u munge -- munged --foreground --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
	--pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" >"$dir/munged.log" 2>&1 &
pids+=($!)
for _ in {1..100}; do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
slurmctld -D -f "$SLURM_CONF" >"$dir/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$node" >"$dir/slurmd.log" 2>&1 &
pids+=($!)
for _ in {1..300}; do sinfo -h -o %t 2>/dev/null | grep -q idle && break; sleep 0.2; done
sinfo

cd "$dir"
echo "== qta sweep"
./qta sweep cells.txt -jobs "$(nproc)" -out whole

echo "== Slurm"
job=$(QTA=$dir/qta sbatch --parsable --array=0-3 array.sh cells.txt slurm)
# begun SEED waits until a run has a checkpoint.
begun() {
	for _ in {1..3000}; do
		[ -e "slurm/seed$1/agent.qta" ] && return
		sleep 0.1
	done
	echo "seed$1 has not begun"
	return 1
}
begun 2
scontrol requeue "${job}_1" # as an administrator, or a node that fails
begun 1
# As before a time limit: it requeues itself, sometimes before scancel has looked
# whether the signal has arrived, which is then an error.
scancel --signal=TERM "${job}_0" || true
for _ in {1..3000}; do
	left=$(squeue -h -j "$job" -r -o '%i' 2>/dev/null || true)
	[ -z "$left" ] && break
	for task in $left; do # do not wait the two minutes after a requeue
		scontrol update JobId="$task" StartTime=now 2>/dev/null || true
	done
	sleep 0.5
done
cat slurm-*.out | grep -E 'Stopped|Continues|budget|slurmstepd|srun' || true

echo "== GNU parallel"
seq 0 3 | parallel -j "$(nproc)" ./qta sweep cells.txt -index {} -out parallel '>' parallel-{}.out

./qta status slurm parallel
for engine in slurm parallel; do
	for seed in 1 2 3 4; do
		cmp "whole/seed$seed/log.csv" "$engine/seed$seed/log.csv"
		cmp "whole/seed$seed/agent.qta" "$engine/seed$seed/agent.qta"
		for field in steps solved_at digest; do
			diff <(grep "\"$field\"" "whole/seed$seed/run.json") <(grep "\"$field\"" "$engine/seed$seed/run.json")
		done
	done
done
grep -q 'Stopped (' slurm-"${job}"_0.out
grep -q 'Continues after' slurm-"${job}"_0.out
grep -q 'Continues after' slurm-"${job}"_1.out
echo "== equal: qta sweep, Slurm with a stop and a requeue, GNU parallel"
