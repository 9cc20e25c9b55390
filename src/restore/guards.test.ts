import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import {
  broughtWith,
  claimAt,
  clusterOf,
  foreignClaim,
  jobOf,
  restore,
  succeeded,
  withMember,
} from "#kit/etcd-restore.ts";
import type { Job } from "#kube/kinds.ts";
import { restoredCluster } from "#restore/desired/cluster.ts";
import { restoredClaim } from "#restore/desired/member.ts";
import { RESTORE_GUARDS } from "#restore/guards.ts";
import { identityAnnotations } from "#restore/identity.ts";
import type { RestoreSnapshot } from "#restore/snapshot.ts";
import type { RestoreStep } from "#restore/step.ts";

const running = restore();
const filled = restore({ stage: "filled" });
const told = restore({ stage: "told" });
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
  tellClaim: { do: "tellClaim", claim, annotations },
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
/** Somebody else has made it, and nothing of it is known yet. */
const bare: EtcdCluster = { ...live, metadata: { ...live.metadata, annotations: {} }, status: {} };
const foreign = foreignClaim("restored-0", "old");
const last = claimAt(running, "restored-2", true);
const going = { ...last, metadata: { ...last.metadata, deletionTimestamp: "2026-01-01T12:00:00Z" } };

const cases: Record<string, readonly [name: string, given: RestoreSnapshot, step: RestoreStep, is: "forbidden" | "allowed"][]> = {
  "own-only": [
    ["ending its own Job", running, STEPS.deleteJob, "allowed"],
    ["ending somebody else's Job", running, { do: "deleteJob", job: theirs }, "forbidden"],
    ["deleting its own claim", running, STEPS.deleteClaim, "allowed"],
    ["deleting a claim of an earlier restore", running, { do: "deleteClaim", claim: foreign }, "forbidden"],
    ["telling its own claim", running, STEPS.tellClaim, "allowed"],
    ["telling a claim of an earlier restore", running, { do: "tellClaim", claim: foreign, annotations }, "forbidden"],
  ],
  "once-only": [
    ["a claim", started("new"), STEPS.createClaim, "allowed"],
    ["a claim for what has failed", started("new", { status: FAILED }), STEPS.createClaim, "forbidden"],
    ["a Job for what is completed", started("claims", { status: COMPLETED }), STEPS.createJob, "forbidden"],
    ["a cluster for what is being deleted", restore({ stage: "told", deleting: true }), STEPS.createCluster, "forbidden"],
    ["the end of a Job of what has failed", restore({ status: FAILED }), STEPS.deleteJob, "allowed"],
    ["telling a claim of what is being deleted", restore({ stage: "told", deleting: true }), STEPS.tellClaim, "allowed"],
  ],
  "held-first": [
    ["a claim of what is held", started("new"), STEPS.createClaim, "allowed"],
    ["a claim of what is not", restore({ stage: "new" }), STEPS.createClaim, "forbidden"],
    ["a Job of what is not", restore({ stage: "claims", held: false }), STEPS.createJob, "allowed"],
  ],
  "never-over": [
    ["a claim where nothing is", started("new"), STEPS.createClaim, "allowed"],
    ["a claim where a cluster is", started("new", { with: { cluster: live } }), STEPS.createClaim, "forbidden"],
    ["a claim where its own cluster has lost them all", started("new", { with: { cluster: clusterOf(running, true) } }), STEPS.createClaim, "forbidden"],
    ["a Job where the cluster is that it has made", started("claims", { with: { cluster: clusterOf(running) } }), STEPS.createJob, "forbidden"],
    ["a claim for the cluster that asks for them", started("new", { askedBy: "uid-of-restored", with: { cluster: bare } }), STEPS.createClaim, "allowed"],
    ["a claim where another cluster is being made", started("new", { with: { cluster: bare } }), STEPS.createClaim, "forbidden"],
    ["a claim beside somebody else's", withMember(started("new"), 1, { claim: foreignClaim("restored-1") }), STEPS.createClaim, "forbidden"],
    ["a claim when others are filled", told, STEPS.createClaim, "forbidden"],
    ["a Job for a claim of its own", started("claims"), STEPS.createJob, "allowed"],
    ["a Job for a claim that is not there", withMember(started("claims"), 0, { claim: undefined }), STEPS.createJob, "forbidden"],
    ["a Job for somebody else's claim", withMember(started("claims"), 0, { claim: foreign }), STEPS.createJob, "forbidden"],
    ["a Job for a claim that says whose data it holds", told, STEPS.createJob, "forbidden"],
    ["a Job for a claim that was complete once", started("claims", { status: { begun: true } }), STEPS.createJob, "forbidden"],
    ["a Job where a cluster is", started("claims", { with: { cluster: live } }), STEPS.createJob, "forbidden"],
    ["telling a claim", filled, STEPS.tellClaim, "allowed"],
  ],
  "told-last": [
    ["telling a claim when all are filled", filled, STEPS.tellClaim, "allowed"],
    ["telling a claim when one is not", withMember(filled, 2, { filling: running.members[2]!.filling }), STEPS.tellClaim, "forbidden"],
    ["telling the others when one has been told", withMember(withMember(filled, 0, { claim: claimAt(filled, "restored-0", true) }), 1, { filling: undefined }), STEPS.tellClaim, "allowed"],
    ["telling a claim of what was given up", restore({ stage: "filled", status: FAILED }), STEPS.tellClaim, "forbidden"],
    ["telling a claim where a cluster is by now", { ...filled, cluster: live }, STEPS.tellClaim, "forbidden"],
    ["telling a claim that is filled with another snapshot than the others", withMember(filled, 1, { filling: succeeded(job, broughtWith({ sha256: "cd" })) }), STEPS.tellClaim, "forbidden"],
    ["telling a claim while the word of one is awaited", withMember(filled, 1, { filling: { job: succeeded(job).job, pods: [] } }), STEPS.tellClaim, "forbidden"],
    ["telling a claim that is filled with what its members cannot read", withMember(filled, 1, { filling: succeeded(job, broughtWith({ etcdVersion: "3.7.0" })) }), STEPS.tellClaim, "forbidden"],
    ["telling a claim again of those that a cluster may have lived on", restore({ stage: "filled", status: { begun: true } }), STEPS.tellClaim, "forbidden"],
    ["telling the first claim where a cluster is being made by now", { ...filled, cluster: bare }, STEPS.tellClaim, "forbidden"],
    ["telling the others where one is by now", { ...withMember(filled, 0, { claim: claimAt(filled, "restored-0", true) }), cluster: live }, STEPS.tellClaim, "allowed"],
    ["telling a claim that a cluster has taken, and that has lost its words", withMember(restore({ stage: "ready" }), 0, { claim }), STEPS.tellClaim, "forbidden"],
    ["a cluster", filled, STEPS.createCluster, "allowed"],
    ["telling a claim when one is gone", withMember(filled, 2, { claim: undefined }), STEPS.tellClaim, "forbidden"],
    ["telling a claim when one is being deleted", withMember(filled, 2, { claim: { ...going, metadata: { ...going.metadata, annotations: {} } } }), STEPS.tellClaim, "forbidden"],
    ["telling the others when one is lost since", withMember(withMember(filled, 0, { claim: claimAt(filled, "restored-0", true) }), 2, { claim: going }), STEPS.tellClaim, "allowed"],
  ],
  "whole-only": [
    ["a cluster when all claims are told", told, STEPS.createCluster, "allowed"],
    ["a cluster when one is not", withMember(told, 1, { claim: claimAt(told, "restored-1") }), STEPS.createCluster, "forbidden"],
    ["a cluster when one is gone", withMember(told, 1, { claim: undefined }), STEPS.createCluster, "forbidden"],
    ["a cluster when one is somebody else's", withMember(told, 1, { claim: { ...foreignClaim("restored-1", "old"), metadata: { ...foreignClaim("restored-1", "old").metadata, annotations } } }), STEPS.createCluster, "forbidden"],
    ["a cluster beside another one", { ...told, cluster: live }, STEPS.createCluster, "forbidden"],
    ["a cluster beside one that may take the claims", { ...told, cluster: bare }, STEPS.createCluster, "forbidden"],
    ["a claim", told, STEPS.createClaim, "allowed"],
    ["a cluster when a claim is being deleted", withMember(told, 2, { claim: going }), STEPS.createCluster, "forbidden"],
  ],
  "nobodys-data": [
    ["deleting a claim of what has failed", restore({ status: FAILED }), STEPS.deleteClaim, "allowed"],
    ["deleting a claim of what is being deleted", restore({ deleting: true }), STEPS.deleteClaim, "allowed"],
    ["deleting a claim that its cluster has taken, and that has lost its words", restore({ status: FAILED, with: { cluster: clusterOf(running, true) } }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim of which its cluster was made, and that has lost its words", restore({ deleting: true, with: { cluster: clusterOf(running) } }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim where another cluster is by now", restore({ status: FAILED, with: { cluster: { ...clusterOf(running), status: live.status! } } }), STEPS.deleteClaim, "allowed"],
    ["deleting a claim that was complete once, and has lost its words, of what has failed", restore({ status: { ...FAILED, begun: true } }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim that was complete once, and has lost its words, of what is being deleted", restore({ status: COMPLETED, deleting: true }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim of what goes on", running, STEPS.deleteClaim, "forbidden"],
    ["deleting a claim of what is completed", restore({ stage: "filled", status: COMPLETED }), STEPS.deleteClaim, "forbidden"],
    ["deleting a claim that says whose data it holds", restore({ stage: "told", status: FAILED }), { do: "deleteClaim", claim: claimAt(running, "restored-0", true) }, "forbidden"],
    ["deleting one that does not, beside others that do", withMember(restore({ stage: "told", status: FAILED }), 0, { claim }), STEPS.deleteClaim, "forbidden"],
    ["deleting one that does, of what was given up otherwise", restore({ status: FAILED }), { do: "deleteClaim", claim: claimAt(running, "restored-0", true) }, "forbidden"],
  ],
}; // biome-ignore format: a table

for (const [name, rows] of Object.entries(cases)) {
  const guard = RESTORE_GUARDS.find((each) => each.name === name)!;
  for (const [what, given, step, is] of rows)
    test(`restore guards: ${name}: ${what} is ${is}`, () => {
      expect(guard.forbids(given, step) === undefined ? "allowed" : "forbidden").toBe(is);
    });
}

test("restore guards: every guard has its cases, and lets a step pass that it does not know", () => {
  expect(RESTORE_GUARDS.map(({ name }) => name)).toEqual(Object.keys(cases));
  for (const guard of RESTORE_GUARDS) expect(guard.forbids(running, STEPS.holdRestore)).toBeUndefined();
});

test("restore guards: the words name what is in the way", () => {
  const words = (name: string, given: RestoreSnapshot, step: RestoreStep) =>
    RESTORE_GUARDS.find((each) => each.name === name)!.forbids(given, step);
  expect(words("own-only", running, { do: "deleteJob", job: theirs })).toBe(
    `Job ${job.metadata.name} is not this restore's`,
  );
  expect(words("own-only", running, { do: "deleteClaim", claim: foreign })).toBe(
    "claim restored-0 is not this restore's",
  );
  expect(words("once-only", started("new", { status: FAILED }), STEPS.createClaim)).toBe("the restore has ended");
  expect(words("once-only", restore({ stage: "new", deleting: true }), STEPS.createClaim)).toBe(
    "the restore is being deleted",
  );
  expect(words("never-over", started("new", { with: { cluster: live } }), STEPS.createClaim)).toContain(
    "etcd cluster b0b",
  );
  expect(words("told-last", withMember(filled, 2, { filling: undefined }), STEPS.tellClaim)).toBe(
    "claim restored-2 is not filled",
  );
  const taken = withMember(filled, 2, { claim: foreignClaim("restored-2", "old") });
  expect(words("told-last", taken, STEPS.tellClaim)).toBe("claim restored-2 is not filled");
  expect(words("whole-only", withMember(told, 1, { claim: undefined }), STEPS.createCluster)).toBe(
    "claim restored-1 is not filled",
  );
  expect(words("nobodys-data", running, STEPS.deleteClaim)).toBe("the restore was not given up");
});
