import assert from "node:assert/strict";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import { PEER_RULES } from "#peer/plan.ts";
import { excusedTooOften, inWords, type Report, together } from "./campaign.ts";
import { shrink } from "./shrink.ts";
import { campaigns } from "./side-by-side.ts";
import { story } from "./story.ts";

/** Rules that decide in none of these histories, and why. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  ...named("it settles, and leaves no name", "cluster: deleting", "peer: deleting"),
  ...named("nobody has a schedule of backups", "cluster: backup-first"),
  ...named(
    "nobody asks for a monitor or a policy",
    "cluster: pod-monitor",
    "cluster: network-policy",
    "cluster: await-network-policy",
  ),
  ...named(
    "no cluster begins with a backup",
    "cluster: create-restore",
    "cluster: await-restore",
    "cluster: restore-failed",
  ),
  ...named("nobody leaves open whether there is TLS, and all have the operator issue", "cluster: default-tls"),
  ...named("nobody asks cert-manager", "cluster: certificate-request"),
  ...named(
    "people switch TLS in histories of their own (test/simulation/simulation-tls-switch.test.ts)",
    "cluster: member-url",
    "cluster: switch-tls",
    "peer: annotate-claim",
  ),
};

function named(why: string, ...rules: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rules.map((rule) => [rule, why]));
}

/** Every rule, as reports name it. */
export const RULES: readonly string[] = [
  ...CLUSTER_RULES.map(({ name }) => `cluster: ${name}`),
  ...PEER_RULES.map(({ name }) => `peer: ${name}`),
];

/** Tells `count` histories from `firstSeed` on. @throws AssertionError with the story of one that breaks a promise, and how to tell it again */
export async function keepEveryPromise(count: number, firstSeed: number): Promise<Report> {
  const report = together(await campaigns(count, firstSeed));
  console.log(`seeds ${firstSeed} to ${firstSeed + count - 1}: ${inWords(report)}`);
  if (report.broken !== undefined) {
    const { broken } = report;
    const words = await story(broken);
    const smaller = await shrink(broken);
    const again = smaller === broken ? "" : `\n\nThe same in fewer steps:\n${await story(smaller)}`;
    assert.fail(`seed ${broken.profile.seed}; replay it with SIMULATION_SEED=${broken.profile.seed}\n${words}${again}`);
  }
  assert.deepEqual(excusedTooOften(report), [], "what is not asked is bounded: see MOST_EXCUSED");
  return report;
}

/** The rules that decided in none of these histories, and should in so many. */
export function silentRules({ decided }: Report): readonly string[] {
  return RULES.filter((rule) => !decided.has(rule) && ELSEWHERE[rule] === undefined);
}
