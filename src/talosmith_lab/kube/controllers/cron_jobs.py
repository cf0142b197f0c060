"""CronJobs: a Job at each time of the schedule."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.cluster import seconds_of, stamp
from talosmith_lab.kube.controllers import schedules
from talosmith_lab.kube.controllers.objects import (
    CRON_JOB,
    JOB,
    annotations_of,
    controller_of,
    going,
    has,
    key_of,
    reference,
    split,
)
from talosmith_lab.kube.controllers.work import MANAGER, Controller
from talosmith_lab.kube.kinds import Kind, Obj

_SOURCE = "cronjob-controller"
_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class CronJobs(Controller):
    name = "cron-jobs"
    watches = (CRON_JOB, JOB)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == CRON_JOB.root:
            if now is not None:
                yield key_of(now)
            return
        job = now or before or {}
        owner = controller_of(job)
        if owner is not None and owner["kind"] == "CronJob":
            yield f"{job['metadata']['namespace']}/{owner['name']}"

    def reconcile(self, key: str) -> None:
        found = self.api.find(CRON_JOB, *split(key))
        if found is None or going(found):
            return
        jobs = self._jobs(found)
        self._forget(found, jobs)
        self._report(found, jobs)
        self.work.cancel(self, "due", key)
        due = self._due(found)
        if due is not None and not found["spec"].get("suspend"):
            self.work.wait(self, "due", key, max(0.0, due - self.work.world.now()))

    def _due(self, found: Obj) -> float | None:
        """The first time that has not been taken."""
        last = (found.get("status") or {}).get("lastScheduleTime") or found["metadata"]["creationTimestamp"]
        try:
            schedule = schedules.read(found["spec"]["schedule"])
        except ValueError:
            return None
        due = schedule.after(seconds_of(last))
        now = self.work.world.now()
        while due is not None and (later := schedule.after(due)) is not None and later <= now:
            due = later  # those that were missed are made up for once
        return due

    def elapsed(self, what: str, key: str) -> None:
        found = self.api.find(CRON_JOB, *split(key))
        due = self._due(found) if found is not None else None
        if found is None or due is None or found["spec"].get("suspend") or due > self.work.world.now():
            self.reconcile(key)
            return
        active = [job for job in self._jobs(found) if not _is_over(job)]
        policy = found["spec"].get("concurrencyPolicy", "Allow")
        if active and policy == "Forbid":
            told = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self.work.event(found, "JobAlreadyActive", told, source=_SOURCE)
        else:
            for job in active if policy == "Replace" else ():
                self._delete(job)
            self._make(found, due)
        status = {**(found.get("status") or {}), "lastScheduleTime": stamp(due)}
        self.work.set_status(CRON_JOB, self.api.find(CRON_JOB, *split(key)) or found, status)

    def _make(self, found: Obj, due: float) -> None:
        metadata, template = found["metadata"], found["spec"]["jobTemplate"]
        given = template.get("metadata") or {}
        name = f"{metadata['name']}-{int(due) // 60}"
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "labels": given.get("labels") or {},
                "annotations": {**(given.get("annotations") or {}), _AT: stamp(due)},
                "ownerReferences": [reference(CRON_JOB, found)],
            },
            "spec": template["spec"],
        }
        if self.api.find(JOB, name, metadata["namespace"]) is None:
            self.api.create(JOB, job, metadata["namespace"], how=MANAGER)
            self.work.event(found, "SuccessfulCreate", f"Created job {name}", source=_SOURCE)

    def _jobs(self, found: Obj) -> list[Obj]:
        """Oldest first."""
        storage = self.work.kubernetes.storage
        places = self.work.index.dependents.get(found["metadata"]["uid"], {})
        jobs = [stored.obj for place in places if (stored := storage.get(place)) and stored.obj["kind"] == "Job"]
        return sorted(jobs, key=lambda job: (annotations_of(job).get(_AT, ""), job["metadata"]["name"]))

    def _forget(self, found: Obj, jobs: list[Obj]) -> None:
        for kind, limit, usual in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            done = [job for job in jobs if has(job, kind) and not going(job)]
            for job in done[: max(0, len(done) - int(found["spec"].get(limit, usual)))]:
                self._delete(job)
                self.work.event(found, "SuccessfulDelete", f"Deleted job {job['metadata']['name']}", source=_SOURCE)

    def _delete(self, job: Obj) -> None:
        options = {"propagationPolicy": "Background"}
        self.api.delete(JOB, job["metadata"]["name"], job["metadata"]["namespace"], options=options, how=MANAGER)

    def _report(self, found: Obj, jobs: list[Obj]) -> None:
        before = found.get("status") or {}
        active = [
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": job["metadata"]["name"],
                "namespace": job["metadata"]["namespace"],
                "uid": job["metadata"]["uid"],
            }
            for job in jobs
            if not _is_over(job) and not going(job)
        ]
        status = {name: value for name, value in before.items() if name != "active"}
        if active:
            status["active"] = active
        ends = [job["status"]["completionTime"] for job in jobs if has(job, "Complete")]
        if ends:
            status["lastSuccessfulTime"] = max(ends)
        self.work.set_status(CRON_JOB, found, status)


def _is_over(job: Obj) -> bool:
    return has(job, "Complete") or has(job, "Failed")
