"""Jobs: pods until enough of them have succeeded, or too many have failed."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.controllers.making_pods import delete_pod, make_pod
from talosmith_lab.kube.controllers.objects import (
    JOB,
    POD,
    annotations_of,
    controller_of,
    going,
    has,
    is_active,
    is_ready,
    key_of,
    phase,
    split,
    with_condition,
)
from talosmith_lab.kube.controllers.work import MANAGER, Controller
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj

_SOURCE = "job-controller"
_INDEX = "batch.kubernetes.io/job-completion-index"


class Jobs(Controller):
    name = "jobs"
    watches = (JOB, POD)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == JOB.root:
            if now is not None:
                yield key_of(now)
            return
        pod = now or before or {}
        owner = controller_of(pod)
        if owner is not None and owner["kind"] == "Job":
            yield f"{pod['metadata']['namespace']}/{owner['name']}"

    def elapsed(self, what: str, key: str) -> None:
        job = self.api.find(JOB, *split(key))
        if job is None:
            return
        if what == "ttl" and _is_over(job):
            options = {"propagationPolicy": "Foreground"}
            self.api.delete(JOB, *split(key), options=options, how=MANAGER)
        elif what == "deadline" and not _is_over(job):
            self._finish(job, "DeadlineExceeded", "Job was active longer than specified deadline")
        elif what == "retry":
            self.reconcile(key)

    def reconcile(self, key: str) -> None:
        job = self.api.find(JOB, *split(key))
        if job is None or going(job):
            return
        if _is_over(job):
            self._end_of_life(job, key)
            return
        spec, status = job["spec"], job.get("status") or {}
        if spec.get("suspend"):
            self._suspended(job)
            return
        if "startTime" not in status:
            self.work.set_status(JOB, job, {**status, "startTime": self.work.now})
            job = self.api.find(JOB, *split(key)) or job
        pods = list(self.work.index.pods_of(job["metadata"]["uid"]).all.values())
        done, failed = _done(job, pods), sum(1 for pod in pods if phase(pod) == "Failed")
        restarts = sum(_restarts(pod) for pod in pods)
        if spec.get("activeDeadlineSeconds"):
            self.work.after(
                self, "deadline", key, "rollout-deadline", factor=float(spec["activeDeadlineSeconds"]) / 600
            )
        if failed > spec.get("backoffLimit", 6) or restarts > spec.get("backoffLimit", 6):
            self._finish(job, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
            return
        wanted = spec.get("completions")
        enough = done >= wanted if wanted is not None else done > 0 and not any(map(is_active, pods))
        if enough:
            self._finish(job)
            return
        self._keep_running(job, key, pods, done, failed)
        self._report(key)

    # Running

    def _keep_running(self, job: Obj, key: str, pods: list[Obj], done: int, failed: int) -> None:
        spec = job["spec"]
        active, wanted = [pod for pod in pods if is_active(pod)], spec.get("completions")
        most = int(spec.get("parallelism", 1))
        at_once = min(most, wanted - done) if wanted is not None else 0 if done else most
        more = at_once - len(active)
        for pod in active[len(active) + more :] if more < 0 else ():
            delete_pod(self.work, pod)
        if failed > (job.get("status") or {}).get("failed", 0):  # then it waits for a while, longer each time
            self.work.after(self, "retry", key, "pod-restart", failed, factor=float(2 ** (failed - 1)))
        if self.work.waits(self, "retry", key):
            return
        for _ in range(max(0, more)):
            self._make(job)

    def _make(self, job: Obj) -> None:
        index = _next_index(job, self.work.index.pods_of(job["metadata"]["uid"]).all.values())
        labels, notes, changes = {}, {}, {}
        if index is not None:
            labels[_INDEX] = notes[_INDEX] = str(index)
            changes["hostname"] = f"{job['metadata']['name']}-{index}"
        try:
            made = make_pod(self.work, JOB, job, labels=labels, annotations=notes, spec=changes)
        except ApiError as refused:
            told = f"Error creating: {refused.message}"
            self.work.event(job, "FailedCreate", told, source=_SOURCE, type="Warning")
            return
        self.work.event(job, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}", source=_SOURCE)

    def _suspended(self, job: Obj) -> None:
        for pod in list(self.work.index.pods_of(job["metadata"]["uid"]).all.values()):
            if is_active(pod):
                delete_pod(self.work, pod)
        status = {name: one for name, one in (job.get("status") or {}).items() if name != "startTime"}
        told = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
        status["conditions"] = with_condition(status.get("conditions"), told, self.work.now)
        self.work.set_status(JOB, job, status)

    # How it goes

    def _report(self, key: str) -> None:
        job = self.api.find(JOB, *split(key))
        if job is not None:
            self.work.set_status(JOB, job, self._counted(job))

    def _counted(self, job: Obj) -> Obj:
        pods = list(self.work.index.pods_of(job["metadata"]["uid"]).all.values())
        before = job.get("status") or {}
        active = [pod for pod in pods if is_active(pod)]
        counts = {
            "active": len(active),
            "succeeded": max(before.get("succeeded", 0), sum(1 for pod in pods if phase(pod) == "Succeeded")),
            "failed": max(before.get("failed", 0), sum(1 for pod in pods if phase(pod) == "Failed")),
        }
        status = {name: one for name, one in before.items() if name not in counts}
        status |= {name: count for name, count in counts.items() if count}
        status |= {"terminating": sum(map(going, pods)), "ready": sum(map(is_ready, active))}
        status["uncountedTerminatedPods"] = {}
        if job["spec"].get("completionMode") == "Indexed":
            indexes = sorted(_index(pod) for pod in pods if phase(pod) == "Succeeded")
            if indexes:
                status["completedIndexes"] = ",".join(map(str, dict.fromkeys(indexes)))
        return status

    def _finish(self, job: Obj, reason: str = "", message: str = "") -> None:
        failed = bool(reason)
        for pod in list(self.work.index.pods_of(job["metadata"]["uid"]).all.values()):
            if is_active(pod):
                delete_pod(self.work, pod)
        status, now = self._counted(job), self.work.now
        if failed:
            kinds = ("FailureTarget", "Failed")
            words = {"reason": reason, "message": message}
            self.work.event(job, reason, message, source=_SOURCE, type="Warning")
        else:
            kinds = ("SuccessCriteriaMet", "Complete")
            words = {"reason": "CompletionsReached", "message": "Reached expected number of succeeded pods"}
            status["completionTime"] = now
            self.work.event(job, "Completed", "Job completed", source=_SOURCE)
        for kind in kinds:
            told = {"type": kind, "status": "True", "lastProbeTime": now, **words}
            status["conditions"] = with_condition(status.get("conditions"), told, now)
        status.pop("active", None)
        status["ready"] = 0
        self.work.set_status(JOB, job, status)

    def _end_of_life(self, job: Obj, key: str) -> None:
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is not None:
            self.work.wait(self, "ttl", key, float(seconds))


def _is_over(job: Obj) -> bool:
    return has(job, "Complete") or has(job, "Failed")


def _done(job: Obj, pods: list[Obj]) -> int:
    finished = [pod for pod in pods if phase(pod) == "Succeeded"]
    if job["spec"].get("completionMode") == "Indexed":
        return len({_index(pod) for pod in finished})
    return len(finished)


def _index(pod: Obj) -> int:
    return int(annotations_of(pod).get(_INDEX, 0))


def _next_index(job: Obj, pods: Iterable[Obj]) -> int | None:
    if job["spec"].get("completionMode") != "Indexed":
        return None
    taken = {_index(pod) for pod in pods if phase(pod) != "Failed" and not going(pod)}
    return next(number for number in range(len(taken) + 1) if number not in taken)


def _restarts(pod: Obj) -> int:
    return sum(one["restartCount"] for one in (pod.get("status") or {}).get("containerStatuses") or ())
