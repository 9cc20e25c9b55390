import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { CLUSTER_RULES, planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { planText } from "./plan-text.ts";

/** A snapshot, and the expected step with the rule that decides it. */
export interface PlanCase {
  readonly name: string;
  readonly given: ClusterSnapshot;
  /** The plan as `planText` prints it. */
  readonly expect: string;
}

/**
 * Tests the whole plan, with all rules and guards. Each of the rules must decide one of the cases, or give a notice in
 * one.
 * @param folder of the subject, such as src/cluster/members
 * @param rules that these cases cover; by default all rules of the folder
 */
export function testPlans(folder: string, cases: readonly PlanCase[], rules = rulesIn(folder)): void {
  for (const { name, given, expect: wanted } of cases)
    test(`cluster plan: ${name}`, () => expect(planText(planCluster(given), stepText)).toBe(wanted));

  test(`cluster plan: each rule of ${folder} decides at least one case: ${rules.join(", ")}`, () => {
    const deciding = new Set(cases.flatMap(({ given }) => deciders(given)));
    expect(rules).not.toEqual([]);
    expect(rules.filter((name) => !deciding.has(name))).toEqual([]);
  });
}

/** Names of the rules in this folder and its subfolders. */
export function rulesIn(folder: string): readonly string[] {
  const files = globSync(`${folder}/**/rules/*.ts`).map((path) => path.split("/").at(-1)?.replace(".ts", ""));
  return CLUSTER_RULES.map(({ name }) => name).filter((name) => files.includes(name));
}

function deciders(snapshot: ClusterSnapshot): readonly string[] {
  const plan = planCluster(snapshot);
  const notices = (plan.reports ?? []).map(({ rule }) => rule);
  if (plan.next !== "settled") return [...notices, plan.rule];
  // The rule `deleting` returns `settled`, and a settled plan names no rule.
  return snapshot.cluster.metadata.deletionTimestamp === undefined ? notices : [...notices, "deleting"];
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
