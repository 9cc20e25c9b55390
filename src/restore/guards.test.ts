import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { begin } from "#kit/snapshots/begin.ts";
import {
  broughtWith,
  claimAt,
  clusterOf,
  foreignClaim,
  jobOf,
  restore,
  restorePod,
  succeeded,
  withMember,
} from "#kit/snapshots/etcd-restore.ts";
import { testJudged } from "#kit/tables/judged-kinds.ts";
import type { Job } from "#kube/kinds.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { restoredClaim } from "#restore/desired/member.ts";
import { RESTORE_GUARDS } from "#restore/guards.ts";
import { identityAnnotations } from "#restore/identity.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreStep } from "#restore/step.ts";

const running = restore();
const filled = restore({ stage: "filled" });
const identified = restore({ stage: "told" });
const job = jobOf(running, running.members[0]!);
const theirs = { ...job, metadata: { ...job.metadata, ownerReferences: [] } } as Job;
const annotations = identityAnnotations(running.restore, "restored-0");
const claim = claimAt(running, "restored-0");

/** One step of every kind. */
const STEPS: { readonly [Kind in RestoreStep["do"]]: Extract<RestoreStep, { do: Kind }> } = {
  holdRestore: { do: "holdRestore" },
  releaseRestore: { do: "releaseRestore" },
  createClaim: { do: "createClaim", claim: restoredClaim(running, "restored-0") },
  createJob: { do: "createJob", job, member: "restored-0" },
  deleteJob: { do: "deleteJob", job },
  deletePod: { do: "deletePod", pod: restorePod(job, "Running", []) },
  identifyClaim: { do: "identifyClaim", claim, annotations },
  deleteClaim: { do: "deleteClaim", claim },
  createCluster: { do: "createCluster", cluster: restoredCluster(running) },
};
const FAILED = { phase: "Failed" } as const;
const COMPLETED = { phase: "Completed" } as const;
const started = (stage: "new" | "claims", given: object = {}) => restore({ stage, held: true, ...given });
const live: EtcdCluster = {
  ...clusterOf(running, true),
  status: { identity: { clusterID: "b0b", token: "t", initialMembers: [] } },
};
/** Created by another owner; its content does not matter. */
const bare: EtcdCluster = { ...live, metadata: { ...live.metadata, annotations: {} }, status: {} };
const foreign = foreignClaim("restored-0", "old");
const last = claimAt(running, "restored-2", true);
const going = { ...last, metadata: { ...last.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };

const cases: Record<string, readonly [name: string, given: RestoreSnapshot, step: RestoreStep, is: "forbidden" | "allowed"][]> = {
  "own-only": [
    ["deleting a Job of the restore", running, STEPS.deleteJob, "allowed"],
    ["deleting a foreign Job", running, { do: "deleteJob", job: theirs }, "forbidden"],
    ["deleting a pod of its Job", running, STEPS.deletePod, "allowed"],
    ["deleting a pod of a foreign Job", withMember(running, 0, { filling: { job: theirs, pods: [] } }), STEPS.deletePod, "forbidden"],
    ["deleting a claim of the restore", running, STEPS.deleteClaim, "allowed"],
    ["deleting a claim of an earlier restore", running, { do: "deleteClaim", claim: foreign }, "forbidden"],
    ["identifying a claim of the restore", running, STEPS.identifyClaim, "allowed"],
    ["identifying a claim of an earlier restore", running, { do: "identifyClaim", claim: foreign, annotations }, "forbidden"],
  ],
  "once-only": [
    ["creating a claim for a running restore", started("new"), STEPS.createClaim, "allowed"],
    ["creating a claim for a failed restore", started("new", { status: FAILED }), STEPS.createClaim, "forbidden"],
    ["creating a Job for a completed restore", started("claims", { status: COMPLETED }), STEPS.createJob, "forbidden"],
    ["creating a cluster for a restore that is being deleted", restore({ stage: "told", deleting: true }), STEPS.createCluster, "forbidden"],
    ["deleting a Job of a failed restore", restore({ status: FAILED }), STEPS.deleteJob, "allowed"],
    ["identifying a claim of a restore that is being deleted", restore({ stage: "told", deleting: true }), STEPS.identifyClaim, "allowed"],
  ],
  "held-first": [
    ["creating a claim for a restore with the finalizer", started("new"), STEPS.createClaim, "allowed"],
    ["creating a claim for a restore without the finalizer", restore({ stage: "new" }), STEPS.createClaim, "forbidden"],
    ["creating a Job for a restore without the finalizer", restore({ stage: "claims", held: false }), STEPS.createJob, "allowed"],
  ],
  "never-over": [
    ["creating a claim while no cluster exists", started("new"), STEPS.createClaim, "allowed"],
    ["creating a claim while another cluster exists", started("new", { with: { cluster: live } }), STEPS.createClaim, "forbidden"],
    ["creating a claim after the restored cluster has lost all claims", started("new", { with: { cluster: clusterOf(running, true) } }), STEPS.createClaim, "forbidden"],
    ["creating a Job while the restored cluster exists", started("claims", { with: { cluster: clusterOf(running) } }), STEPS.createJob, "forbidden"],
    ["creating a claim for the cluster that asked for the restore", started("new", { askedBy: "uid-of-restored", with: { cluster: bare } }), STEPS.createClaim, "allowed"],
    ["creating a claim while another cluster is being created", started("new", { with: { cluster: bare } }), STEPS.createClaim, "forbidden"],
    ["creating a claim while another member's claim is foreign", withMember(started("new"), 1, { claim: foreignClaim("restored-1") }), STEPS.createClaim, "forbidden"],
    ["creating a claim when all claims have their identity", identified, STEPS.createClaim, "forbidden"],
    ["creating a Job for a claim of the restore", started("claims"), STEPS.createJob, "allowed"],
    ["creating a Job for a claim that does not exist", withMember(started("claims"), 0, { claim: undefined }), STEPS.createJob, "forbidden"],
    ["creating a Job for a foreign claim", withMember(started("claims"), 0, { claim: foreign }), STEPS.createJob, "forbidden"],
    ["creating a Job for a claim with its identity", identified, STEPS.createJob, "forbidden"],
    ["creating a Job for a claim after the status recorded that all claims were filled", started("claims", { status: { begun: true } }), STEPS.createJob, "forbidden"],
    ["creating a Job while another cluster exists", started("claims", { with: { cluster: live } }), STEPS.createJob, "forbidden"],
    ["identifying a filled claim", filled, STEPS.identifyClaim, "allowed"],
  ],
  "identified-last": [
    ["identifying a claim when all are filled", filled, STEPS.identifyClaim, "allowed"],
    ["identifying a claim when another is not filled", withMember(filled, 2, { filling: running.members[2]!.filling }), STEPS.identifyClaim, "forbidden"],
    ["identifying the remaining claims when one has its identity", begin(filled).apply(withMember, 0, { claim: claimAt(filled, "restored-0", true) }).apply(withMember, 1, { filling: undefined }).snapshot, STEPS.identifyClaim, "allowed"],
    ["identifying a claim of a failed restore", restore({ stage: "filled", status: FAILED }), STEPS.identifyClaim, "forbidden"],
    ["identifying a claim while another cluster exists", { ...filled, cluster: live }, STEPS.identifyClaim, "forbidden"],
    ["identifying a claim filled with another snapshot than the others", withMember(filled, 1, { filling: succeeded(job, broughtWith({ sha256: "cd" })) }), STEPS.identifyClaim, "forbidden"],
    ["identifying a claim while another claim's report is awaited", withMember(filled, 1, { filling: { job: succeeded(job).job, pods: [] } }), STEPS.identifyClaim, "forbidden"],
    ["identifying a claim when another is filled with data that the members cannot read", withMember(filled, 1, { filling: succeeded(job, broughtWith({ etcdVersion: "3.7.0" })) }), STEPS.identifyClaim, "forbidden"],
    ["identifying again a claim that a cluster may have used", restore({ stage: "filled", status: { begun: true } }), STEPS.identifyClaim, "forbidden"],
    ["identifying the first claim while another cluster is being created", { ...filled, cluster: bare }, STEPS.identifyClaim, "forbidden"],
    ["identifying the remaining claims while another cluster exists", { ...withMember(filled, 0, { claim: claimAt(filled, "restored-0", true) }), cluster: live }, STEPS.identifyClaim, "allowed"],
    ["identifying a claim that lost its identity after the cluster took it", withMember(restore({ stage: "ready" }), 0, { claim }), STEPS.identifyClaim, "forbidden"],
    ["creating a cluster", filled, STEPS.createCluster, "allowed"],
    ["identifying a claim when another is gone", withMember(filled, 2, { claim: undefined }), STEPS.identifyClaim, "forbidden"],
    ["identifying a claim when another is being deleted", withMember(filled, 2, { claim: { ...going, metadata: { ...going.metadata, annotations: {} } } }), STEPS.identifyClaim, "forbidden"],
    ["identifying the remaining claims when one with its identity is being deleted", begin(filled).apply(withMember, 0, { claim: claimAt(filled, "restored-0", true) }).apply(withMember, 2, { claim: going }).snapshot, STEPS.identifyClaim, "allowed"],
  ],
  "whole-only": [
    ["creating the cluster when all claims have their identity", identified, STEPS.createCluster, "allowed"],
    ["creating the cluster when a claim has no identity", withMember(identified, 1, { claim: claimAt(identified, "restored-1") }), STEPS.createCluster, "forbidden"],
    ["creating the cluster when a claim is gone", withMember(identified, 1, { claim: undefined }), STEPS.createCluster, "forbidden"],
    ["creating the cluster when a claim is foreign", withMember(identified, 1, { claim: { ...foreignClaim("restored-1", "old"), metadata: { ...foreignClaim("restored-1", "old").metadata, annotations } } }), STEPS.createCluster, "forbidden"],
    ["creating the cluster while another cluster exists", { ...identified, cluster: live }, STEPS.createCluster, "forbidden"],
    ["creating the cluster while another cluster is being created that may take the claims", { ...identified, cluster: bare }, STEPS.createCluster, "forbidden"],
    ["creating a claim", identified, STEPS.createClaim, "allowed"],
    ["creating the cluster when a claim is being deleted", withMember(identified, 2, { claim: going }), STEPS.createCluster, "forbidden"],
  ],
  "unclaimed-data": [
    ["deleting a claim of a failed restore", restore({ status: FAILED }), STEPS.deleteClaim, "allowed"],
    ["deleting a claim of a restore that is being deleted", restore({ deleting: true }), STEPS.deleteClaim, "allowed"],
    ["deleting a claim that lost its identity after the cluster took it", restore({ status: FAILED, with: { cluster: clusterOf(running, true) } }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim that lost its identity after the cluster was created", restore({ deleting: true, with: { cluster: clusterOf(running) } }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim while another cluster exists", restore({ status: FAILED, with: { cluster: { ...clusterOf(running), status: live.status! } } }), STEPS.deleteClaim, "allowed"],
    ["deleting a claim of a failed restore that lost its identity after all claims were filled", restore({ status: { ...FAILED, begun: true } }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim of a deleted restore that lost its identity after all claims were filled", restore({ status: COMPLETED, deleting: true }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim of a running restore", running, STEPS.deleteClaim, "forbidden"],
    ["deleting a claim of a completed restore", restore({ stage: "filled", status: COMPLETED }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim with its identity after all claims were filled", restore({ stage: "told", status: FAILED }), { do: "deleteClaim", claim: claimAt(running, "restored-0", true) }, "forbidden"],
    ["deleting a claim without its identity while the others have theirs", withMember(restore({ stage: "told", status: FAILED }), 0, { claim }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim with its identity although the other claims have none", restore({ status: FAILED }), { do: "deleteClaim", claim: claimAt(running, "restored-0", true) }, "forbidden"],
  ],
}; // biome-ignore format: a table

for (const [name, rows] of Object.entries(cases)) {
  const guard = RESTORE_GUARDS.find((each) => each.name === name)!;
  for (const [what, given, step, is] of rows)
    test(`restore guards: ${name}: ${what} is ${is}`, () => {
      expect(guard.forbids(given, step) === undefined ? "allowed" : "forbidden").toBe(is);
    });
}

test("restore guards: each has its cases, and allows the kinds of step that it does not judge", () => {
  expect(RESTORE_GUARDS.map(({ name }) => name)).toEqual(Object.keys(cases));
  for (const guard of RESTORE_GUARDS) expect(guard.forbids(running, STEPS.holdRestore)).toBeUndefined();
});

test("restore guards: a refusal names the object that prevents the step", () => {
  const words = (name: string, given: RestoreSnapshot, step: RestoreStep) =>
    RESTORE_GUARDS.find((each) => each.name === name)!.forbids(given, step);
  expect(words("own-only", running, { do: "deleteJob", job: theirs })).toBe(
    `Job ${job.metadata.name} does not belong to this restore`,
  );
  expect(words("own-only", running, { do: "deleteClaim", claim: foreign })).toBe(
    "claim restored-0 does not belong to this restore",
  );
  expect(words("once-only", started("new", { status: FAILED }), STEPS.createClaim)).toBe("the restore has ended");
  expect(words("once-only", restore({ stage: "new", deleting: true }), STEPS.createClaim)).toBe(
    "the restore is being deleted",
  );
  expect(words("never-over", started("new", { with: { cluster: live } }), STEPS.createClaim)).toContain(
    "etcd cluster b0b",
  );
  expect(words("identified-last", withMember(filled, 2, { filling: undefined }), STEPS.identifyClaim)).toBe(
    "claim restored-2 is not filled",
  );
  const taken = withMember(filled, 2, { claim: foreignClaim("restored-2", "old") });
  expect(words("identified-last", taken, STEPS.identifyClaim)).toBe("claim restored-2 is not filled");
  expect(words("whole-only", withMember(identified, 1, { claim: undefined }), STEPS.createCluster)).toBe(
    "claim restored-1 is not filled",
  );
  expect(words("unclaimed-data", running, STEPS.deleteClaim)).toBe("the restore was not given up");
});

/** Guards that judge each kind of step: every other guard permits it for any snapshot. */
const JUDGED_BY: Readonly<Record<RestoreStep["do"], readonly string[]>> = {
  holdRestore: [],
  releaseRestore: [],
  createClaim: ["once-only", "held-first", "never-over"],
  createJob: ["once-only", "never-over"],
  deleteJob: ["own-only"],
  deletePod: ["own-only"],
  identifyClaim: ["own-only", "identified-last"],
  deleteClaim: ["own-only", "unclaimed-data"],
  createCluster: ["once-only", "whole-only"],
};
testJudged(
  RESTORE_GUARDS,
  STEPS,
  JUDGED_BY,
  Object.entries(cases).flatMap(([guard, rows]) => rows.map(([, given, step, is]) => ({ guard, given, step, is }))),
);
