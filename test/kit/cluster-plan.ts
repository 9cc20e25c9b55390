import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { planText } from "./plan-text.ts";

/** What is to be done about a snapshot, and by whose decision. */
export interface PlanCase {
  readonly name: string;
  readonly given: ClusterSnapshot;
  /** The plan in a few words. */
  readonly expect: string;
}

/**
 * Tests what the whole plan is, all rules and guards together. Every rule of the folder must decide one of the cases, or make a remark.
 * @param folder of src/cluster/rules
 */
export function testPlans(folder: string, cases: readonly PlanCase[]): void {
  for (const { name, given, expect: wanted } of cases)
    test(`cluster plan: ${name}`, () => expect(planText(planCluster(given), stepText)).toBe(wanted));

  test(`cluster plan: every rule about ${folder} decides one of its cases`, () => {
    const deciding = new Set(cases.flatMap(({ given }) => deciders(given)));
    const rules = CLUSTER_RULES.filter(({ name }) => existsSync(`src/cluster/rules/${folder}/${name}.ts`));
    expect(rules).not.toEqual([]);
    expect(rules.map(({ name }) => name).filter((name) => !deciding.has(name))).toEqual([]);
  });
}

function deciders(snapshot: ClusterSnapshot): readonly string[] {
  const plan = planCluster(snapshot);
  const remarks = (plan.aside ?? []).map(({ rule }) => rule);
  if (plan.next !== "settled") return [...remarks, plan.rule];
  // `deleting` decides by settling, which leaves no name.
  return snapshot.cluster.metadata.deletionTimestamp === undefined ? remarks : [...remarks, "deleting"];
}

function stepText(step: ClusterStep): string {
  if (step.do === "createPeer" || step.do === "replacePeer") {
    return `${step.do} ${step.peer.metadata.name} ${step.peer.spec?.bootstrap?.initialClusterState ?? "fenced"}`;
  }
  if (step.do === "markRemoval") return `markRemoval ${step.peer.metadata.name} ${step.removal ?? "none"}`;
  if (step.do === "releaseClaim") return `releaseClaim ${step.peer.metadata.name} ${step.finalizer.split("/")[1]}`;
  if (step.do === "deletePeer") return `deletePeer ${step.peer.metadata.name}`;
  if (step.do === "addLearner" || step.do === "updateMember") return `${step.do} ${step.peerUrl}`;
  if (step.do === "promote" || step.do === "removeMember") return `${step.do} ${step.name}`;
  if (step.do === "moveLeader") return `moveLeader ${step.from} to ${step.to}`;
  if (step.do === "recordJoined") return `recordJoined ${step.names.join(" ")}`;
  if (step.do === "createService" || step.do === "replaceService") return `${step.do} ${step.service.metadata.name}`;
  if (step.do === "createRestore") return `createRestore ${step.restore.metadata.name}`;
  if (step.do === "issueAuthority") return `${step.do} ${step.side}`;
  if (step.do === "rotateAuthority") return `${step.do} ${step.side} ${step.phase}`;
  if (step.do === "addUser" || step.do === "grantRole")
    return `${step.do} ${step.user}${step.asRoot ? " as root" : ""}`;
  if (step.do === "disableAuth") return step.asRoot ? "disableAuth as root" : "disableAuth";
  if (step.do === "setRootPassword") return step.isNew ? "setRootPassword new" : "setRootPassword";
  if ("purpose" in step) return `${step.do} ${step.purpose}`;
  return step.do;
}
