import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { dryRunRefusals } from "#webhooks/checks/dry-run.ts";

function asking(text?: string): EtcdCluster {
  return cluster(text === undefined ? {} : { annotations: { [DRY_RUN_ANNOTATION]: text } }).cluster;
}

describe("the dry-run annotation", () => {
  const cases: readonly (readonly [string, EtcdCluster | undefined, string | undefined, string | undefined])[] = [
    ["is accepted when it is a JSON object", asking(), '{"replicas":5}', undefined],
    ["is refused when it is not a JSON object", asking(), "true", 'it is "true"; it must be a JSON object'],
    [
      "is refused on a new cluster when it is not a JSON object",
      undefined,
      "true",
      'it is "true"; it must be a JSON object',
    ],
    ["is accepted when it is invalid and unchanged", asking("true"), "true", undefined],
    ["is refused when it changes to another invalid value", asking("true"), "5", 'it is "5"; it must be'],
    ["may be removed", asking("true"), undefined, undefined],
  ];
  test.each(cases)("%s", (_, before, now, why) => {
    const [refusal] = dryRunRefusals(asking(now), before);
    expect(refusal?.message.slice(0, why?.length)).toBe(why);
    if (why !== undefined) expect(refusal?.field).toBe("metadata.annotations[etcd.improbable.io/dry-run]");
  });
});
