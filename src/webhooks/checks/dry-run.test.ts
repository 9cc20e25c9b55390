import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { dryRunRefusals } from "#webhooks/checks/dry-run.ts";

function asking(text?: string): EtcdCluster {
  return cluster(text === undefined ? {} : { annotations: { [DRY_RUN_ANNOTATION]: text } }).cluster;
}

describe("the annotation for a dry run", () => {
  const cases: readonly (readonly [string, EtcdCluster | undefined, string | undefined, string | undefined])[] = [
    ["with an edit is accepted", asking(), '{"replicas":5}', undefined],
    ["without an edit is refused", asking(), "true", 'it is "true"; it must be a JSON object'],
    ["without an edit is refused on a new cluster", undefined, "true", 'it is "true"; it must be a JSON object'],
    ["without an edit is accepted when it is unchanged", asking("true"), "true", undefined],
    ["without an edit is refused when it changes", asking("true"), "5", 'it is "5"; it must be'],
    ["may be removed", asking("true"), undefined, undefined],
  ];
  test.each(cases)("%s", (_, before, now, why) => {
    const [refusal] = dryRunRefusals(asking(now), before);
    expect(refusal?.message.slice(0, why?.length)).toBe(why);
    if (why !== undefined) expect(refusal?.field).toBe("metadata.annotations[etcd.improbable.io/dry-run]");
  });
});
