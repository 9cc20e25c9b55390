import assert from "node:assert/strict";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { excusedTooOften, inWords, type Report, together } from "./campaign.ts";
import { shrink } from "./shrink.ts";
import { campaigns } from "./side-by-side.ts";
import { story } from "./story.ts";

/** Rules that decide in none of these histories, with the reason. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  ...named("it ends the reconciliation without a recorded name", "cluster: deleting", "peer: deleting"),
  ...named("no cluster has a backup schedule", "cluster: backup-first"),
  ...named(
    "no cluster has a pod monitor or a network policy",
    "cluster: pod-monitor",
    "cluster: network-policy",
    "cluster: await-network-policy",
  ),
  ...named(
    "no cluster is restored from a backup",
    "cluster: create-restore",
    "cluster: await-restore",
    "cluster: restore-failed",
  ),
  ...named("every cluster has spec.tls, and its provider is the operator", "cluster: default-tls"),
  ...named("no cluster uses cert-manager", "cluster: certificate-request"),
  ...named(
    "TLS is switched in separate histories (test/simulation/simulation-tls-switch.test.ts)",
    "cluster: update-member-url",
    "cluster: switch-tls",
    "peer: annotate-claim",
  ),
};

function named(why: string, ...rules: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rules.map((rule) => [rule, why]));
}

/** Every rule by its name in reports. */
export const RULES: readonly string[] = [
  ...CLUSTER_RULES.map(({ name }) => `cluster: ${name}`),
  ...PEER_RULES.map(({ name }) => `peer: ${name}`),
];

/**
 * Runs `count` histories from `firstSeed` on.
 * @throws AssertionError with the trace of a history that breaks a promise, and how to replay it
 */
export async function keepEveryPromise(count: number, firstSeed: number): Promise<Report> {
  const report = together(await campaigns(count, firstSeed));
  console.log(`seeds ${firstSeed} to ${firstSeed + count - 1}: ${inWords(report)}`);
  if (report.broken !== undefined) {
    const { broken } = report;
    const words = await story(broken);
    const smaller = await shrink(broken);
    const again = smaller === broken ? "" : `\n\nThe same violation in fewer steps:\n${await story(smaller)}`;
    assert.fail(`seed ${broken.profile.seed}; replay it with SIMULATION_SEED=${broken.profile.seed}\n${words}${again}`);
  }
  assert.deepEqual(excusedTooOften(report), [], "the share of skipped checks is bounded: see MOST_EXCUSED");
  return report;
}

/** Rules that should have decided in so many histories, and did in none. */
export function silentRules({ decided }: Report): readonly string[] {
  return RULES.filter((rule) => !decided.has(rule) && ELSEWHERE[rule] === undefined);
}
