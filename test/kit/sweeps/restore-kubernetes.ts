import { RESTORED_FROM } from "#api/names.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { BROUGHT, ended, FINISHED, restorePod, WRONG_KEY } from "#kit/snapshots/etcd-restore.ts";
import { controllerOf, JOBS, type Job, type PersistentVolumeClaim, PODS, type Pod } from "#kube/kinds.ts";
import { CLAIMS, type RestoreWorld } from "./restore-world.ts";

// Kubernetes, as far as a restore depends on it: the Job controller, the scheduler, the kubelet with the agents, and
// the protection of claims.

const RUNNING = { running: { startedAt: "2026-01-01T12:00:00Z" } };

/** Pods are created, run, and end. */
export function runJobs(world: RestoreWorld): void {
  for (const job of world.all<Job>(JOBS.plural)) if (job.status?.conditions === undefined) run(world, job);
}

function run(world: RestoreWorld, job: Job): void {
  const pod = world.pods.find((each) => controllerOf(each)?.uid === job.metadata.uid);
  if (pod === undefined) {
    // Each attempt has a new name.
    const metadata = {
      name: `${job.metadata.name}-${world.tries}`,
      uid: `uid-of-pod-${job.metadata.uid}-${world.tries}`,
    };
    const { labels } = job.spec?.template.metadata ?? {};
    world.put(PODS.plural, {
      ...restorePod(job, "Pending", [], { ...metadata, labels }),
      spec: job.spec?.template.spec,
    } as Pod);
    return;
  }
  const claim = world.find<PersistentVolumeClaim>(CLAIMS, claimNameOf(pod) ?? "");
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  if (pod.status?.initContainerStatuses?.[0]?.state?.running === undefined) {
    world.put(CLAIMS, { ...claim, spec: { ...claim.spec, volumeName: `volume-of-${claim.metadata.uid}` } } as never);
    become(world, pod, restorePod(job, "Pending", [RUNNING]));
  } else end(world, job, pod, claim);
}

function end(world: RestoreWorld, job: Job, pod: Pod, { metadata: { uid, name } }: PersistentVolumeClaim): void {
  const finished = { status: "True", lastTransitionTime: rfc3339(world.clock.wallMs()) };
  if (world.isUnreadable) {
    become(world, pod, restorePod(job, "Failed", [ended(2, WRONG_KEY)]));
    const conditions = [{ ...finished, type: "Failed", reason: "PodFailurePolicy", message: "m" }];
    world.put(JOBS.plural, { ...job, status: { conditions } } as Job);
    return;
  }
  const restoreUID = job.metadata.labels?.[RESTORED_FROM] ?? "";
  // The agent leaves data alone that an earlier attempt has restored.
  if (world.taken.has(uid) && world.filled.get(uid) !== restoreUID)
    world.wrong.push(`${name} is overwritten although a cluster has adopted it`);
  world.filled.set(uid, restoreUID);
  become(world, pod, restorePod(job, "Succeeded", [ended(0, BROUGHT), ended(0), ended(0, FINISHED)]));
  world.put(JOBS.plural, { ...job, status: { conditions: [{ ...finished, type: "Complete" }] } } as Job);
}

function become(world: RestoreWorld, pod: Pod, { status }: Pod): void {
  world.put(PODS.plural, { ...pod, status } as Pod);
}

function claimNameOf({ spec }: Pod): string | undefined {
  return spec?.volumes?.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? [])[0];
}

/** A deleted claim remains as long as a pod mounts it. */
export function letClaimsGo(world: RestoreWorld): void {
  const mounted = new Set(world.pods.map(claimNameOf));
  for (const claim of world.claims)
    if (claim.metadata.deletionTimestamp !== undefined && !mounted.has(claim.metadata.name))
      world.put(CLAIMS, { ...claim, metadata: { ...claim.metadata, finalizers: [] } } as never);
}
