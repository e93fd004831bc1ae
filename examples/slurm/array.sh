#!/bin/bash
# One cell of a sweep for each task of a Slurm job array. With as many tasks as
# the sweep file has cells, 50 of them at a time:
#
#   cells=$(qta sweep sweep.txt -dry-run | grep -c '^[0-9]')
#   sbatch --array=0-$((cells - 1))%50 array.sh sweep.txt runs
#
# Two minutes before its time limit, and when it is preempted, a task gets
# SIGTERM: it saves its run, ends with exit code 75 and queues itself again,
# until the run is done. A task that is killed or requeued from outside goes on
# from its last checkpoint. All nodes must see the directory of the runs.
#
#SBATCH --job-name=qta
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=08:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=slurm-%A_%a.out

# srun makes it a step of the job, and only steps get the signal.
srun "${QTA:-qta}" sweep "$1" -index "$SLURM_ARRAY_TASK_ID" -out "$2"
code=$?
if [ "$code" -eq 75 ]; then
	scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
fi
exit "$code"
