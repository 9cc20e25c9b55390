import { describe, expect, test } from "vitest";
import { DRY_RUN_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/cluster.ts";
import { dryRunRefusals } from "#webhooks/checks/dry-run.ts";

function asking(text?: string): EtcdCluster {
  return cluster(text === undefined ? {} : { annotations: { [DRY_RUN_ANNOTATION]: text } }).cluster;
}

describe("an edit that is to be explained", () => {
  const cases: readonly (readonly [string, EtcdCluster | undefined, string | undefined, string | undefined])[] = [
    ["that is one", asking(), '{"replicas":5}', undefined],
    ["that is none", asking(), "true", 'it is "true"; it must be a JSON object'],
    ["that is none, on a new cluster", undefined, "true", 'it is "true"; it must be a JSON object'],
    ["that was none before", asking("true"), "true", undefined],
    ["that is none in another way", asking("true"), "5", 'it is "5"; it must be'],
    ["that nobody asks for any more", asking("true"), undefined, undefined],
  ];
  test.each(cases)("%s", (_, before, now, why) => {
    const [refusal] = dryRunRefusals(asking(now), before);
    expect(refusal?.message.slice(0, why?.length)).toBe(why);
    if (why !== undefined) expect(refusal?.field).toBe("metadata.annotations[etcd.improbable.io/dry-run]");
  });
});
